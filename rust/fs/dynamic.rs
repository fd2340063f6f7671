// SPDX-License-Identifier: GPL-2.0

//! `kprobe_events`, `uprobe_events`, `synthetic_events`, `dynamic_events`, `kprobe_profile`, `uprobe_profile` and
//! `dynamic_profile`: events that users define.

use super::{
    file::{
        FileIdentity,
        FileKind,
        Handler::{
            List, //
            Own,
        },
        Step,
        TraceFile, //
    },
    text_file::{
        command,
        no_memory,
        TextFile, //
    },
    tree::{
        entry,
        EntryKind::File,
        EntryPlace::TopOnly,
        TreeEntry,
        WRITE, //
    },
};
use crate::{
    hooks,
    instance::CommandRefusal,
    kapi::uprobe,
    output::Text,
    sources::{
        self,
        dynamic::{
            self,
            ControlledEvents, //
        },
        synthetic::{
            self,
            LineRefusal, //
        },
    },
    synthetic::command::{
        skip_spaces,
        MARK, //
    },
    text::word,
    user_events, //
};
use kernel::{
    iov::IovIterDest,
    prelude::*,
    uaccess::UserSliceReader, //
};

/// A line has at most so many bytes, with the one that ends it.
const LONGEST_LINE: usize = 4095;
/// Without that one.
const LONGEST_TEXT: usize = LONGEST_LINE - 1;
/// The author in `error_log` of what is of no kind.
const AUTHOR: &str = "dynevent";

/// The files of any kernel.
static ENTRIES: &[TreeEntry] = &[
    entry(
        c"dynamic_events",
        TopOnly,
        File(Own(WRITE, FileKind::Lines, DynamicFile::open_all)),
    ),
    entry(c"dynamic_profile", TopOnly, File(List(show_counts))),
    entry(
        c"synthetic_events",
        TopOnly,
        File(Own(WRITE, FileKind::Lines, DynamicFile::open_synthetic)),
    ),
];

/// Those of a kernel with kprobes.
static OF_KPROBES: &[TreeEntry] = &[
    entry(
        c"kprobe_events",
        TopOnly,
        File(Own(WRITE, FileKind::Lines, DynamicFile::open_kprobes)),
    ),
    entry(c"kprobe_profile", TopOnly, File(List(show_profile))),
];

/// Those of a kernel with probes in programs.
static OF_UPROBES: &[TreeEntry] = &[
    entry(
        c"uprobe_events",
        TopOnly,
        File(Own(WRITE, FileKind::Lines, DynamicFile::open_uprobes)),
    ),
    entry(c"uprobe_profile", TopOnly, File(List(show_user_profile))),
];

/// Returns the files.
pub(super) fn entries() -> impl Iterator<Item = &'static TreeEntry> {
    let of_kprobes = OF_KPROBES.iter().filter(|_| cfg!(CONFIG_KPROBES));
    let of_uprobes = OF_UPROBES.iter().filter(|_| uprobe::IS_THERE);
    let entries = Iterator::chain(ENTRIES.iter(), of_kprobes);
    Iterator::chain(entries, of_uprobes)
}

/// `dynamic_profile`.
fn show_counts(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    dynamic::write_counts(text).map_err(no_memory)
}

/// `kprobe_profile`.
fn show_profile(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    dynamic::write_profile(ControlledEvents::Kprobes, text).map_err(no_memory)
}

/// `uprobe_profile`.
fn show_user_profile(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    dynamic::write_profile(ControlledEvents::Uprobes, text).map_err(no_memory)
}

fn show_uprobes(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    dynamic::write_definitions(ControlledEvents::Uprobes, text).map_err(no_memory)
}

fn show_kprobes(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    dynamic::write_definitions(ControlledEvents::Kprobes, text).map_err(no_memory)
}

fn show_all(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    dynamic::write_definitions(ControlledEvents::All, text).map_err(no_memory)
}

fn show_synthetic(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    synthetic::write_definitions(0..u64::MAX, "", text).map_err(no_memory)
}

/// One of the files, open: reads like a text; what is written are lines, of which each is
/// obeyed by itself.
struct DynamicFile {
    file: ControlledEvents,
    text: TextFile,
}

/// Returns whether `name` means more than one function that can be traced.
fn is_ambiguous(name: &str) -> Result<bool> {
    let functions = match hooks::IS_THERE {
        true => hooks::current()?,
        false => return Ok(false),
    };
    Ok(functions.list().is_ambiguous(name.as_bytes()))
}

impl DynamicFile {
    fn open_all(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        Self::open(ControlledEvents::All, show_all)
    }

    fn open_kprobes(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        Self::open(ControlledEvents::Kprobes, show_kprobes)
    }

    fn open_uprobes(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        Self::open(ControlledEvents::Uprobes, show_uprobes)
    }

    fn open_synthetic(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        Self::open(ControlledEvents::Synthetic, show_synthetic)
    }

    fn open(
        file: ControlledEvents,
        show: fn(&FileIdentity<'_>, &mut Text) -> Result,
    ) -> Result<KBox<dyn TraceFile>> {
        let text = TextFile::part(show);
        Ok(KBox::new(Self { file, text }, GFP_KERNEL)?)
    }

    /// Obeys one line, if it has a word.
    fn obey(&self, at: &FileIdentity<'_>, line: &[u8]) -> Result {
        let line = line.split(|byte| *byte == b'#').next().unwrap_or_default();
        let command = skip_spaces(line);
        // As in ftrace, a blank before some lines makes others of them.
        let is_deletion = match line.first() {
            Some(b'!') => self.file == ControlledEvents::All,
            first => first == Some(&b'-'),
        };
        match self.file {
            ControlledEvents::Synthetic if command.is_empty() => return Ok(()),
            ControlledEvents::Synthetic => return told(at, command, synthetic::obey(command)),
            ControlledEvents::All if command.starts_with(MARK.as_bytes()) => {
                return told(at, command, synthetic::obey_dynamic(command));
            }
            ControlledEvents::All if line.starts_with(user_events::MARK.as_bytes()) => {
                return sources::user_events::obey_dynamic(line);
            }
            ControlledEvents::All | ControlledEvents::Kprobes | ControlledEvents::Uprobes => {}
        }
        let mut joined = KVec::new();
        let words = line.split(|byte| word::is_ascii_space(*byte));
        for word in words.filter(|word| !word.is_empty()) {
            if !joined.is_empty() {
                joined.push(b' ', GFP_KERNEL)?;
            }
            joined.extend_from_slice(word, GFP_KERNEL)?;
        }
        if joined.is_empty() {
            return Ok(());
        }
        let text = core::str::from_utf8(&joined).map_err(|wrong| {
            log(at, (AUTHOR, "Not UTF-8", wrong.valid_up_to()), &joined);
            EINVAL
        })?;
        if is_deletion {
            return dynamic::delete(self.file, text);
        }
        let obeyed = dynamic::obey(self.file, text, &is_ambiguous);
        let is_of_a_kind = obeyed.map_err(|refused| {
            for entry in refused.entries.into_iter().flatten() {
                let command = joined.get(entry.from..).unwrap_or_default();
                log(at, (entry.author, entry.error, entry.at), command);
            }
            refused.error
        })?;
        if is_of_a_kind {
            return Ok(());
        }
        if self.file == ControlledEvents::All {
            log(at, (AUTHOR, "No matching dynamic event type", 0), line);
        }
        Err(EINVAL)
    }
}

/// Says that a line is too long, and returns the error.
fn too_long() -> Error {
    pr_warn!("Line length is too long: Should be less than {LONGEST_TEXT}\n");
    EINVAL
}

/// Tells `error_log` that `command` was refused: the author, the error, and where the caret is.
fn log(
    at: &FileIdentity<'_>,
    (author, error, place): (&'static str, &'static str, usize),
    command: &[u8],
) {
    let refused = CommandRefusal {
        author,
        error,
        at: place,
    };
    at.inst.errors().add(refused, command);
}

/// Tells `error_log` why a line of a synthetic event was refused.
fn told(at: &FileIdentity<'_>, command: &[u8], result: Result<(), LineRefusal>) -> Result {
    let (error, refusal) = match result {
        Ok(()) => return Ok(()),
        Err(LineRefusal::Error(error)) => return Err(error),
        Err(LineRefusal::Refused(refusal)) => (EINVAL, refusal),
        Err(LineRefusal::Exists(refusal)) => (EEXIST, refusal),
    };
    log(
        at,
        ("synthetic_events", refusal.error.text(), refusal.at),
        command,
    );
    Err(error)
}

impl TraceFile for DynamicFile {
    fn read(
        &mut self,
        at: &FileIdentity<'_>,
        out: &mut IovIterDest<'_>,
        pos: &mut i64,
    ) -> Result<Step> {
        self.text.read(at, out, pos)
    }

    /// Removes all that was defined.
    fn truncate(&mut self, _at: &FileIdentity<'_>) -> Result {
        match self.file {
            ControlledEvents::Kprobes | ControlledEvents::Uprobes => dynamic::delete_all(self.file),
            ControlledEvents::Synthetic => synthetic::remove_all(),
            // All of them, or none.
            ControlledEvents::All if synthetic::is_busy() => Err(EBUSY),
            ControlledEvents::All if sources::user_events::is_busy() => Err(EBUSY),
            ControlledEvents::All => {
                dynamic::delete_all(self.file)?;
                synthetic::remove_all()?;
                sources::user_events::delete_all()
            }
        }
    }

    /// Obeys lines up to the first one that is refused, whose error it returns. As in ftrace the
    /// position stays: a read that follows gives all of them, or those that have come since.
    fn write(
        &mut self,
        at: &FileIdentity<'_>,
        input: &mut UserSliceReader,
        _pos: &mut i64,
    ) -> Result<usize> {
        self.text.forget();
        let mut done = 0usize;
        // What was copied last and has no end yet.
        let mut rest = KVec::new();
        while !input.is_empty() {
            let more = command(input)?;
            rest.extend_from_slice(&more, GFP_KERNEL)?;
            let is_last = input.is_empty();
            let mut from = 0usize;
            loop {
                let part = rest.get(from..).unwrap_or_default();
                let end = part.iter().position(|byte| *byte == b'\n');
                let (end, len) = match end {
                    Some(end) => (end, end.saturating_add(1)),
                    None if is_last => (part.len(), part.len()),
                    None => break,
                };
                if len > LONGEST_LINE {
                    return Err(too_long());
                }
                let line = part.get(..end).unwrap_or_default();
                if line.contains(&0) {
                    return Err(EINVAL);
                }
                self.obey(at, line)?;
                from = from.saturating_add(len);
                if from >= rest.len() {
                    break;
                }
            }
            done = done.saturating_add(more.len());
            let mut kept = KVec::new();
            kept.extend_from_slice(rest.get(from..).unwrap_or_default(), GFP_KERNEL)?;
            rest = kept;
            // More comes.
            if rest.len() >= LONGEST_LINE {
                return Err(too_long());
            }
        }
        Ok(done)
    }
}
