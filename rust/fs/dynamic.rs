// SPDX-License-Identifier: GPL-2.0

//! `kprobe_events`, `dynamic_events` and `kprobe_profile`: events that users define.

use super::{
    file::{
        At,
        FileKind,
        Handler::{
            Own,
            Show, //
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
        EntryPlace::TopOnly,
        TreeEntry,
        What::File,
        WRITE, //
    },
};
use crate::{
    hooks,
    instance::Refused,
    output::Text,
    sources::dynamic::{
        self,
        ControlledEvents, //
    }, //
};
use kernel::{
    iov::IovIterDest,
    prelude::*,
    uaccess::UserSliceReader, //
};

/// A line has fewer bytes.
const LONGEST_LINE: usize = 4094;

/// The files.
static ENTRIES: &[TreeEntry] = &[
    entry(
        c"dynamic_events",
        TopOnly,
        File(Own(WRITE, FileKind::LinesRead, DynamicFile::open_all)),
    ),
    entry(
        c"kprobe_events",
        TopOnly,
        File(Own(WRITE, FileKind::LinesRead, DynamicFile::open_kprobes)),
    ),
    entry(c"kprobe_profile", TopOnly, File(Show(show_profile))),
];

/// Returns the files; none in a kernel without kprobes.
pub(super) fn entries() -> impl Iterator<Item = &'static TreeEntry> {
    ENTRIES.iter().filter(|_| cfg!(CONFIG_KPROBES))
}

/// `kprobe_profile`.
fn show_profile(_at: &At<'_>, text: &mut Text) -> Result {
    dynamic::write_profile(text).map_err(no_memory)
}

fn show_definitions(_at: &At<'_>, text: &mut Text) -> Result {
    dynamic::write_definitions(text).map_err(no_memory)
}

/// `kprobe_events` or `dynamic_events`, open: reads like a text; what is written are lines, of which each is
/// obeyed by itself.
struct DynamicFile {
    file: ControlledEvents,
    text: KBox<dyn TraceFile>,
}

/// Returns whether the kernel has more than one function `name` that can be traced.
fn is_ambiguous(name: &str) -> Result<bool> {
    let functions = match hooks::IS_THERE {
        true => hooks::current()?,
        false => return Ok(false),
    };
    let mut same = functions.list().iter();
    let found = same.find(|function| function.name == name.as_bytes() && function.module.is_none());
    Ok(found.is_some() && same.any(|function| function.name == name.as_bytes()))
}

impl DynamicFile {
    fn open_all(_at: &At<'_>) -> Result<KBox<dyn TraceFile>> {
        Self::open(ControlledEvents::All)
    }

    fn open_kprobes(_at: &At<'_>) -> Result<KBox<dyn TraceFile>> {
        Self::open(ControlledEvents::Kprobes)
    }

    fn open(file: ControlledEvents) -> Result<KBox<dyn TraceFile>> {
        let text = TextFile::show(show_definitions)?;
        Ok(KBox::new(Self { file, text }, GFP_KERNEL)?)
    }

    /// Obeys one line, if it has a word.
    fn obey(&self, at: &At<'_>, line: &[u8]) -> Result {
        let line = line.split(|byte| *byte == b'#').next().unwrap_or_default();
        let is_space = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0 | 0xb);
        let mut joined = KVec::new();
        for word in line.split(is_space).filter(|word| !word.is_empty()) {
            if !joined.is_empty() {
                joined.push(b' ', GFP_KERNEL)?;
            }
            joined.extend_from_slice(word, GFP_KERNEL)?;
        }
        if joined.is_empty() {
            return Ok(());
        }
        let text = core::str::from_utf8(&joined).map_err(|_| EINVAL)?;
        dynamic::obey(self.file, text, &is_ambiguous).map_err(|refused| {
            if let Some((author, error, place)) = refused.entry {
                let refused = Refused {
                    author,
                    error,
                    at: place,
                };
                at.inst.errors().add(refused, &joined);
            }
            refused.error
        })
    }
}

impl TraceFile for DynamicFile {
    fn read(&mut self, at: &At<'_>, out: &mut IovIterDest<'_>, pos: &mut i64) -> Result<Step> {
        self.text.read(at, out, pos)
    }

    /// Removes all that was defined.
    fn truncate(&mut self, _at: &At<'_>) -> Result {
        dynamic::delete_all()
    }

    /// Obeys lines up to the first one that is refused, whose error it returns.
    fn write(&mut self, at: &At<'_>, input: &mut UserSliceReader, pos: &mut i64) -> Result<usize> {
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
                let Some(end) = end.or(is_last.then_some(part.len())) else {
                    break;
                };
                if end >= LONGEST_LINE {
                    pr_warn!("Line length is too long: Should be less than {LONGEST_LINE}\n");
                    return Err(EINVAL);
                }
                self.obey(at, part.get(..end).unwrap_or_default())?;
                from = from.saturating_add(end).saturating_add(1);
                if from >= rest.len() {
                    break;
                }
            }
            done = done.saturating_add(more.len());
            let mut kept = KVec::new();
            kept.extend_from_slice(rest.get(from..).unwrap_or_default(), GFP_KERNEL)?;
            rest = kept;
            if rest.len() >= LONGEST_LINE {
                pr_warn!("Line length is too long: Should be less than {LONGEST_LINE}\n");
                return Err(EINVAL);
            }
        }
        *pos = pos.saturating_add_unsigned(done as u64);
        Ok(done)
    }
}
