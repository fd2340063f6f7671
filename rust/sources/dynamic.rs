// SPDX-License-Identifier: GPL-2.0

//! The definitions of dynamic events: `kprobe_events` and `dynamic_events`.
//!
//! A definition is an event of the registry, the probe that it is hit by, and its line in the lists. It is
//! made and removed by lines that users write. Called by `fs`, in process context.
//!
//! Locks: [`DEFINITIONS`], then those of an instance's events and files, then that of a probe. Enabling an
//! event locks the events and then the probe.

use super::{
    kprobe::{
        Kprobe,
        KprobeSource,
        ProbeLayout, //
    },
    synthetic, //
};
use crate::{
    events::{
        self,
        Event, //
    },
    fetch::{
        argument::{
            Argument,
            Compiler, //
        },
        command::{
            words,
            Head,
            LineWord,
            ProbeNames,
            ProbePlace,
            GROUP, //
        },
        error::{
            Code,
            ProbeError,
            ProbeRefusal, //
        },
        MOST_ARGUMENTS, //
    },
    kapi::{
        kprobe::{
            symbol_address,
            KernelProbe, //
        },
        text_buffer::TextBuffer, //
    },
    synthetic::command::SYSTEM,
    text::writer::ByteWrite, //
};
use kernel::{
    fmt::{
        self,
        Write, //
    },
    prelude::*,
    sync::Arc, //
};

kernel::sync::global_lock! {
    // SAFETY: `init` initialises it before there are files that define events.
    unsafe(uninit) static DEFINITIONS: Mutex<KVec<Definition>> = KVec::new();
}

/// A definition.
struct Definition {
    event: &'static Event,
    probe: Arc<Kprobe>,
    /// Its line in the list.
    shown: TextBuffer,
}

/// Why a line is refused.
pub(crate) struct RefusedLine {
    pub(crate) error: Error,
    /// Parser, text and offset of the caret, if there is an entry for `error_log`.
    pub(crate) entry: Option<(&'static str, &'static str, usize)>,
}

impl From<Error> for RefusedLine {
    fn from(error: Error) -> Self {
        Self { error, entry: None }
    }
}

impl From<ProbeRefusal> for RefusedLine {
    fn from(refusal: ProbeRefusal) -> Self {
        let error = match refusal.code {
            Code::Invalid => EINVAL,
            Code::Missing => ENOENT,
            Code::Range => ERANGE,
            Code::TooBig => E2BIG,
            Code::Exists => EEXIST,
            Code::Sequence => Error::from_errno(-(kernel::bindings::EILSEQ as i32)),
            Code::Unsupported => Error::from_errno(-(kernel::bindings::EOPNOTSUPP as i32)),
        };
        Self {
            error,
            entry: Some(("trace_kprobe", refusal.error.text(), refusal.at)),
        }
    }
}

/// The file that a line was written to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlledEvents {
    /// `kprobe_events`.
    Kprobes,
    /// `synthetic_events`.
    Synthetic,
    /// `dynamic_events`.
    All,
}

/// Prepares this file.
///
/// # Safety
///
/// Called once, before any other function of it.
pub(super) unsafe fn init() {
    // SAFETY: The caller promises that nothing has locked it, and that this is the only call.
    unsafe { DEFINITIONS.init() };
}

/// Frees the definitions; no event is enabled any more.
pub(super) fn exit() {
    let all = core::mem::take(&mut *DEFINITIONS.lock());
    drop(all);
}

/// Obeys a line, whose words are joined by one blank each. `is_ambiguous` says whether the kernel has more
/// than one function of a name.
pub(crate) fn obey(
    file: ControlledEvents,
    line: &str,
    is_ambiguous: &dyn Fn(&str) -> Result<bool>,
) -> Result<(), RefusedLine> {
    let all = file == ControlledEvents::All;
    if line.starts_with('-') || all && line.starts_with('!') {
        return delete(line, all).map_err(RefusedLine::from);
    }
    match Head::parse(line)? {
        Some(head) => create(line, head, is_ambiguous),
        None => Err(RefusedLine {
            error: EINVAL,
            entry: all.then_some(("dynevent", "No matching dynamic event type", 0)),
        }),
    }
}

/// Makes an event as `line` defines it.
fn create(
    line: &str,
    head: Head<'_>,
    is_ambiguous: &dyn Fn(&str) -> Result<bool>,
) -> Result<(), RefusedLine> {
    let mut definitions = DEFINITIONS.lock();
    let refuse = |error| RefusedLine::from(ProbeRefusal::new(error, head.place_at));
    let (symbol, address, offset) = match head.place {
        ProbePlace::Address(address) => (None, address, 0),
        ProbePlace::Symbol { name, offset } => (Some(name), 0, offset),
    };
    if let Some(name) = symbol {
        if symbol_address(name).is_none() {
            return Err(refuse(ProbeError::ProbeAddress));
        }
        if is_ambiguous(name)? {
            return Err(refuse(ProbeError::NotUnique));
        }
    }
    let max_active = head.returns.then_some(head.max_active);
    let probe = KernelProbe::register(symbol, address, offset, max_active);
    if let (true, true, Err(EINVAL)) = (head.returns, offset != 0, &probe) {
        return Err(refuse(ProbeError::ReturnPlace));
    }
    let names = head.names()?;
    let mut name = TextBuffer::new();
    match names.event {
        Some(event) => name.write_str(event),
        None => head.write_default_name(&mut name),
    }
    .map_err(|_| ENOMEM)?;
    let group = names.group.unwrap_or(GROUP);
    let mut compiler = Compiler {
        returns: head.returns,
        at_entry: match &probe {
            Ok(probe) => probe.is_at_entry(),
            Err(_) => offset == 0,
        },
        symbol: &symbol_address,
        lacks_symbol: false,
    };
    let layout = compile(line, head.returns, &mut compiler)?;
    if let Some(other) = events::by_name(group, name.text()) {
        let mut same = definitions
            .iter()
            .filter(|known| known.event.id() == other.id());
        let is_same = same.any(|known| known.probe.layout().line[..] == *line.as_bytes());
        let error = match is_same {
            true => ProbeError::SameProbe,
            false => ProbeError::EventExists,
        };
        return Err(ProbeRefusal::with(error, 0, Code::Exists).into());
    }
    if compiler.lacks_symbol {
        let code = Code::Missing;
        return Err(ProbeRefusal::with(ProbeError::ProbeAddress, head.place_at, code).into());
    }
    let probe = probe.map_err(|error| match error {
        ENOMEM | EPERM => error.into(),
        _ if error.to_errno() == -(kernel::bindings::EILSEQ as i32) => {
            ProbeRefusal::with(ProbeError::Boundary, head.place_at, Code::Sequence).into()
        }
        _ => RefusedLine {
            error,
            ..refuse(ProbeError::Registration)
        },
    })?;
    let shown = show(line, &head, (group, name.text()), &probe, &layout)?;
    let size = u32::try_from(layout.size()).map_err(|_| EINVAL)?;
    definitions.reserve(1, GFP_KERNEL).map_err(Error::from)?;
    let probe = Kprobe::new(layout, probe)?;
    let event = events::dynamic::define((group, name.text()), size, || {
        Ok(KBox::new(KprobeSource(probe.clone()), GFP_KERNEL)?)
    })?;
    let definition = Definition {
        event,
        probe,
        shown,
    };
    definitions
        .push(definition, GFP_KERNEL)
        .map_err(Error::from)?;
    Ok(())
}

/// Compiles the arguments of `line`.
fn compile(
    line: &str,
    returns: bool,
    compiler: &mut Compiler<'_>,
) -> Result<ProbeLayout, RefusedLine> {
    let mut copy = KVec::new();
    copy.extend_from_slice(line.as_bytes(), GFP_KERNEL)
        .map_err(Error::from)?;
    let mut arguments: KVec<Argument> = KVec::new();
    let mut names = TextBuffer::new();
    if words(line).nth(MOST_ARGUMENTS.saturating_add(2)).is_some() {
        let at = words(line).nth(2).map_or(0, |word| word.at);
        return Err(ProbeRefusal::with(ProbeError::TooManyArguments, at, Code::TooBig).into());
    }
    // As in ftrace, before the arguments are looked at one by one.
    let mut nameless = words(line).skip(2);
    if let (false, Some(word)) = (
        compiler.returns || compiler.at_entry,
        nameless.find(|word| word.text.starts_with("$arg")),
    ) {
        return Err(ProbeRefusal::new(ProbeError::NotAtEntry, word.at).into());
    }
    for (word, number) in words(line).skip(2).zip(1usize..) {
        let is_used = |name: &str| {
            name.starts_with("__probe_")
                || [
                    "common_type",
                    "common_flags",
                    "common_preempt_count",
                    "common_pid",
                ]
                .contains(&name)
                || names.text().split(' ').any(|other| other == name)
        };
        let argument = compiler.compile(word, number, is_used)?;
        match argument.name {
            Some(name) => write!(names, "{} ", name.of(line)),
            None => write!(names, "arg{number} "),
        }
        .map_err(|_| ENOMEM)?;
        arguments.push(argument, GFP_KERNEL).map_err(Error::from)?;
    }
    Ok(ProbeLayout {
        line: copy,
        arguments,
        names,
        returns,
    })
}

/// Returns the line of a definition in the list.
fn show(
    line: &str,
    head: &Head<'_>,
    (group, name): (&str, &str),
    probe: &KernelProbe,
    layout: &ProbeLayout,
) -> Result<TextBuffer> {
    let mut shown = TextBuffer::new();
    let mut write = || {
        match head.returns {
            true => write!(shown, "r{}:{group}/{name} ", probe.max_active())?,
            false => write!(shown, "p:{group}/{name} ")?,
        }
        head.write_place(&mut shown)?;
        for (name, argument) in layout.named() {
            write!(shown, " {name}={}", argument.body.of(line))?;
        }
        Ok::<_, fmt::Error>(())
    };
    write().map_err(|_| ENOMEM)?;
    Ok(shown)
}

impl Definition {
    /// Returns whether a line selects it that begins with a name, and whose other words are `head`.
    fn is_selected<'a>(
        &self,
        names: &ProbeNames<'_>,
        mut head: impl Iterator<Item = LineWord<'a>>,
    ) -> bool {
        let mut own = words(self.shown.text()).skip(1);
        names.group.is_none_or(|group| group == self.event.system())
            && names.event.is_none_or(|event| event == self.event.name())
            && head.all(|word| own.next().is_some_and(|own| own.text == word.text))
    }

    /// Takes the probe off and the event away, whose records stay.
    ///
    /// # Errors
    ///
    /// `EBUSY` while the event is enabled.
    fn remove(&self) -> Result {
        let probe = self.probe.take()?;
        events::dynamic::withdraw(self.event);
        drop(probe);
        Ok(())
    }
}

/// Deletes what a line selects, up to the first one that is enabled; `all` says whether synthetic events may be
/// selected, too.
///
/// # Errors
///
/// `EINVAL` for a wrong line, `ENOENT` if it selects nothing, `EBUSY`.
fn delete(line: &str, all: bool) -> Result {
    let mut words = words(line);
    let first = words.next().ok_or(EINVAL)?;
    let name = first.text.split_once(':').ok_or(EINVAL)?.1;
    if first.text.starts_with('-') && !first.text.starts_with("-:") {
        return Err(EINVAL);
    }
    let names = ProbeNames::selected(name).ok_or(EINVAL)?;
    let mut definitions = DEFINITIONS.lock();
    let mut result = Err(ENOENT);
    let mut stopped = false;
    definitions.retain(|definition| {
        if stopped || !definition.is_selected(&names, words.clone()) {
            return true;
        }
        result = definition.remove();
        stopped = result.is_err();
        stopped
    });
    drop(definitions);
    match names.event {
        Some(event) if all && !stopped && names.group.is_none_or(|group| group == SYSTEM) => {
            match synthetic::remove(event.as_bytes()) {
                Err(ENOENT) => result,
                removed => removed,
            }
        }
        _ => result,
    }
}

/// Removes all definitions, or none.
///
/// # Errors
///
/// `EBUSY` while one of the events is enabled.
pub(crate) fn delete_all() -> Result {
    let mut definitions = DEFINITIONS.lock();
    if definitions
        .iter()
        .any(|definition| definition.probe.is_used())
    {
        return Err(EBUSY);
    }
    let mut result = Ok(());
    definitions.retain(|definition| {
        if result.is_ok() {
            result = definition.remove();
        }
        result.is_err()
    });
    result
}

/// Writes the definitions of a file, in the order in which they were made. Fails when `out` does.
pub(crate) fn write_definitions(file: ControlledEvents, out: &mut dyn ByteWrite) -> fmt::Result {
    let mut from = 0;
    let mut synthetic_until = |serial, out: &mut dyn ByteWrite| match file {
        ControlledEvents::All => {
            let range = from..serial;
            from = serial;
            synthetic::write_definitions(range, "s:synthetic/", out)
        }
        _ => Ok(()),
    };
    for definition in DEFINITIONS.lock().iter() {
        synthetic_until(definition.event.serial(), out)?;
        writeln!(out, "{}", definition.shown.text())?;
    }
    synthetic_until(u64::MAX, out)
}

/// Writes the hits and misses of each. Fails when `out` does.
pub(crate) fn write_profile(out: &mut dyn ByteWrite) -> fmt::Result {
    for definition in DEFINITIONS.lock().iter() {
        let (hits, missed) = definition.probe.counts();
        writeln!(
            out,
            "  {:<44} {hits:15} {missed:15}",
            definition.event.name()
        )?;
    }
    Ok(())
}
