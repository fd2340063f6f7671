// SPDX-License-Identifier: GPL-2.0

//! The definitions of dynamic events: `kprobe_events`, `uprobe_events` and `dynamic_events`.
//!
//! A definition is an event of the registry, the probe that it is hit by, and its line in the lists. It is
//! made and removed by lines that users write. A kind of them is a file in this folder and a row of
//! [`KINDS`]; synthetic events are apart from that. Called by `fs`, in process context.
//!
//! Locks: [`DEFINITIONS`], then those of an instance's events and files, then that of a probe. Enabling an
//! event locks the events and then the probe.

mod common;
mod eprobes;
mod fprobes;
mod kprobes;
mod refused;
mod tprobes;
mod uprobes;
mod wprobes;

pub(crate) use self::refused::RefusedLine;

use super::{
    defined::{
        DefinedProbe,
        DefinedSource, //
    },
    eprobe::FollowedEvent,
    probe_layout::ProbeLayout,
    siblings::SiblingProbes,
    synthetic,
    user_events, //
};
use crate::{
    events::{
        self,
        Event,
        Module,
        Recipient, //
    },
    fetch::{
        command::{
            words,
            DefiningLine,
            LineWord,
            ProbeNames, //
        },
        error::{
            Code,
            ProbeError,
            ProbeRefusal, //
        },
        user_command::path_of, //
    },
    kapi::{
        kprobe::LeavingProbes,
        text_buffer::TextBuffer, //
    },
    synthetic::command::SYSTEM,
    text::writer::ByteWrite, //
};
use core::{
    ops::Range,
    ptr, //
};
use kernel::{
    fmt::{
        self,
        Write, //
    },
    prelude::*,
    sync::Arc, //
};

crate::kapi::global::global_mutex! {
    static DEFINITIONS: Mutex<KVec<Definition>> = KVec::new();
}

/// The kinds, in the order in which they are asked.
static KINDS: &[&dyn DynamicKind] = &[
    &kprobes::Kprobes,
    &eprobes::Eprobes,
    &fprobes::Fprobes,
    &tprobes::Tprobes,
    &uprobes::Uprobes,
    &wprobes::Wprobes,
];

/// Returns whether the kernel has more than one function of a name.
type AmbiguityTest<'a> = &'a dyn Fn(&str) -> Result<bool>;

/// A kind of dynamic events.
///
/// Contexts: process context, with the definitions locked but for [`Self::create`].
pub(super) trait DynamicKind: Sync {
    /// Returns the author of its entries in `error_log`.
    fn author(&self) -> &'static str;

    /// Returns whether `file` has its definitions.
    fn is_in(&self, file: ControlledEvents) -> bool;

    /// Adds a definition as `line` says, by [`define`]; returns whether the line is of this kind.
    fn create(
        &self,
        line: DefiningLine<'_>,
        is_ambiguous: AmbiguityTest<'_>,
    ) -> Result<bool, RefusedLine>;

    /// Returns whether the word `given` of a line that deletes is the place `own` of a definition.
    fn is_place(&self, own: &str, given: &str) -> bool {
        own == given
    }

    /// Returns whether two words of lines that define are one place.
    fn is_same_place(&self, place: &str, other: &str) -> bool {
        place == other
    }

    /// Returns that a line is refused, with an entry for `error_log`.
    fn refused(&self, refusal: ProbeRefusal) -> RefusedLine {
        let error = match refusal.code {
            Code::Invalid => EINVAL,
            Code::Missing => ENOENT,
            Code::Range => ERANGE,
            Code::TooBig => E2BIG,
            Code::Exists => EEXIST,
            Code::Sequence => Error::from_errno(-(kernel::bindings::EILSEQ as i32)),
            Code::NoDevice => ENODEV,
            Code::Unsupported => Error::from_errno(-(kernel::bindings::EOPNOTSUPP as i32)),
        };
        RefusedLine::new(error, self.author(), refusal.error.text(), refusal.at)
    }
}

/// What the kinds learn when they make an event, with the definitions locked.
struct DefinitionContext<'a> {
    known: &'a [Definition],
}

impl DefinitionContext<'_> {
    /// Returns the probes of `event`, if a definition makes it.
    fn siblings_of(&self, event: &Event) -> Option<Arc<SiblingProbes>> {
        let mut known = self.known.iter();
        let known = known.find(|known| ptr::eq(known.event, event))?;
        Some(known.siblings.clone())
    }

    /// Returns a definition of the event of these names, to whose probes one by `line` can be added, which has compiled
    /// to `layout`; `None` if there is no such event.
    ///
    /// # Errors
    ///
    /// That the event is of another kind, or differs, or has this probe.
    fn sibling(
        &self,
        kind: &dyn DynamicKind,
        (group, name): (&str, &str),
        (line, layout): (&str, &ProbeLayout),
    ) -> Result<Option<&Definition>, ProbeRefusal> {
        let exists = ProbeRefusal::exists(ProbeError::EventExists, 0);
        let event = match events::by_name(group, name) {
            Some(event) => event,
            None if events::is_taken(group, name) => return Err(exists),
            None => return Ok(None),
        };
        let is_it = |known: &&Definition| {
            ptr::eq(known.event, event) && known.kind.author() == kind.author()
        };
        let mut siblings = self.known.iter().filter(is_it);
        let first = siblings.next().ok_or(exists)?;
        first.probe.layout().accepts(line, layout)?;
        match Iterator::chain([first].into_iter(), siblings)
            .any(|known| known.probe.layout().is_same_probe(layout, kind))
        {
            true => Err(ProbeRefusal::exists(ProbeError::SameProbe, 0)),
            false => Ok(Some(first)),
        }
    }
}

/// Where a definition is in its life.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DefinitionStage {
    Defined,
    /// Its probe is off; others of its event are there.
    Taken,
    /// Its probe was the last one: the event cannot be enabled any more.
    Last,
}

/// A definition.
pub(super) struct Definition {
    event: &'static Event,
    kind: &'static dyn DynamicKind,
    probe: Arc<dyn DefinedProbe>,
    /// All that the event has.
    siblings: Arc<SiblingProbes>,
    /// Its place in the order in which all were made.
    serial: u64,
    /// Its line in the list.
    shown: TextBuffer,
    stage: DefinitionStage,
    /// The event that it follows is kept.
    followed: Option<FollowedEvent>,
}

/// The file that a line was written to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlledEvents {
    /// `kprobe_events`.
    Kprobes,
    /// `uprobe_events`.
    Uprobes,
    /// `synthetic_events`.
    Synthetic,
    /// `dynamic_events`.
    All,
}

/// Frees the definitions; no event is enabled any more.
pub(super) fn exit() {
    let all = core::mem::take(&mut *DEFINITIONS.lock());
    let mut leaving = LeavingProbes::default();
    all.iter().for_each(|known| known.probe.clear(&mut leaving));
    // The kernel calls probes until then.
    drop(leaving);
}

/// Obeys a line that defines an event, and returns whether it is of a kind that `file` has. Its words are joined by one
/// blank each; `is_ambiguous` says whether the kernel has more than one function of a name.
pub(crate) fn obey(
    file: ControlledEvents,
    line: &str,
    is_ambiguous: AmbiguityTest<'_>,
) -> Result<bool, RefusedLine> {
    let line = DefiningLine::parse(line);
    for kind in KINDS.iter().filter(|kind| kind.is_in(file)) {
        if kind.create(line, is_ambiguous)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds the definition that `make` returns, which runs with the definitions locked.
fn define(
    make: impl FnOnce(&DefinitionContext<'_>) -> Result<Definition, RefusedLine>,
) -> Result<(), RefusedLine> {
    let mut make = Some(make);
    define_all(1, |making| match make.take() {
        Some(make) => make(making),
        None => Err(EINVAL.into()),
    })
}

/// Adds so many definitions that `make` returns, which runs with the definitions locked; all of them or none.
fn define_all(
    count: usize,
    mut make: impl FnMut(&DefinitionContext<'_>) -> Result<Definition, RefusedLine>,
) -> Result<(), RefusedLine> {
    let mut definitions = DEFINITIONS.lock();
    definitions
        .reserve(count, GFP_KERNEL)
        .map_err(Error::from)?;
    let before = definitions.len();
    for _ in 0..count {
        let known = &definitions;
        match make(&DefinitionContext { known }) {
            // There is room.
            Ok(definition) => {
                let _ = definitions.push_within_capacity(definition);
            }
            Err(refused) => {
                // One that was enabled meanwhile stays, and those before it.
                let first = definitions.get(before).map(|known| known.serial);
                let is_new = |known: &Definition| first.is_some_and(|first| known.serial >= first);
                let _ = remove(&mut definitions, is_new);
                return Err(refused);
            }
        }
    }
    Ok(())
}

impl Definition {
    /// Makes the event of these names, which is hit by `probe`, or adds the probe to the event that `sibling` has. Its
    /// line in the list begins with what `write` writes, and ends with the filter `condition`.
    ///
    /// # Errors
    ///
    /// What the probe says where the event is enabled, `EEXIST`, `ENOMEM`, `EINVAL` for a record that is too large, and `ENOSPC` when there are too many events.
    fn new(
        kind: &'static dyn DynamicKind,
        (group, name, sibling): (&str, &str, Option<&Self>),
        (probe, condition): (Arc<dyn DefinedProbe>, Option<LineWord<'_>>),
        followed: Option<FollowedEvent>,
        write: impl FnOnce(&mut TextBuffer) -> fmt::Result,
    ) -> Result<Self> {
        let mut shown = TextBuffer::new();
        let written = write(&mut shown);
        let written = written.and_then(|()| probe.layout().write_definition(&mut shown));
        let written = written.and_then(|()| match condition {
            Some(condition) => write!(shown, " if {}", condition.text),
            None => Ok(()),
        });
        written.map_err(|_| ENOMEM)?;
        let size = u32::try_from(probe.layout().size()).map_err(|_| EINVAL)?;
        let (event, siblings, serial) = match sibling {
            Some(sibling) => {
                sibling.siblings.add(probe.clone())?;
                let serial = events::dynamic::next_serial();
                (sibling.event, sibling.siblings.clone(), serial)
            }
            None => {
                let siblings = SiblingProbes::new(probe.clone())?;
                let event = events::dynamic::define((group, name), size, || {
                    Ok(KBox::new(DefinedSource(siblings.clone()), GFP_KERNEL)?)
                })?;
                (event, siblings, event.serial())
            }
        };
        Ok(Self {
            event,
            kind,
            probe,
            siblings,
            serial,
            shown,
            stage: DefinitionStage::Defined,
            followed,
        })
    }

    /// Returns whether a line selects it that begins with a name, and whose other words are `head`.
    fn is_selected<'a>(
        &self,
        names: &ProbeNames<'_>,
        mut head: impl Iterator<Item = LineWord<'a>>,
    ) -> bool {
        let mut own = words(self.shown.text()).skip(1);
        let is_place = head.next().is_none_or(|given| {
            let own = own.next();
            own.is_some_and(|own| self.kind.is_place(own.text, given.text))
        });
        names.group.is_none_or(|group| group == self.event.system())
            && names.event.is_none_or(|event| event == self.event.name())
            && is_place
            && head.all(|word| own.next().is_some_and(|own| own.text == word.text))
    }

    /// Returns whether the event is enabled somewhere, or followed: its last probe stays.
    fn is_used(&self) -> bool {
        self.probe.is_used() || self.siblings.is_followed()
    }

    /// Takes the probe off. Its calls may still run until `events::synchronize` has returned.
    ///
    /// # Errors
    ///
    /// `EBUSY` while the event is enabled or followed, for its last probe.
    fn take(&mut self) -> Result {
        self.stage = match self.siblings.take(&self.probe) {
            true => DefinitionStage::Taken,
            false if self.siblings.is_followed() => return Err(EBUSY),
            false => {
                self.probe.end()?;
                DefinitionStage::Last
            }
        };
        if let Some(followed) = &mut self.followed {
            followed.let_go();
        }
        Ok(())
    }
}

/// Removes the definitions that `is_meant` selects, from the last one on until one is busy, and the events that have
/// none any more, whose records stay: what follows another one was made after that. Waits once for all.
///
/// # Errors
///
/// `EBUSY` when one is enabled, or followed by what stays.
fn remove(
    definitions: &mut KVec<Definition>,
    mut is_meant: impl FnMut(&Definition) -> bool,
) -> Result {
    let mut meant = definitions.iter_mut().rev().filter(|known| is_meant(known));
    let result = meant.try_for_each(Definition::take);
    let has_ended = |known: &&Definition| known.stage != DefinitionStage::Defined;
    if !definitions.iter().any(|known| has_ended(&known)) {
        return result;
    }
    events::dynamic::withdraw(|| {
        let is_last = |known: &&Definition| known.stage == DefinitionStage::Last;
        definitions.iter().filter(is_last).map(|known| known.event)
    });
    let mut leaving = LeavingProbes::default();
    let ended = definitions.iter().filter(has_ended);
    ended.for_each(|known| known.probe.clear(&mut leaving));
    // The kernel calls probes until then.
    drop(leaving);
    definitions.retain(|known| known.stage == DefinitionStage::Defined);
    result
}

/// Deletes what a line of `file` selects, up to the first one that is enabled. Its words are joined by one blank each.
///
/// # Errors
///
/// `EINVAL` for a wrong line, `ENOENT` if it selects nothing, `EBUSY`.
pub(crate) fn delete(file: ControlledEvents, line: &str) -> Result {
    let all = file == ControlledEvents::All;
    let mut words = words(line);
    let first = words.next().ok_or(EINVAL)?;
    let name = first.text.split_once(':').ok_or(EINVAL)?.1;
    if first.text.starts_with('-') && !first.text.starts_with("-:") {
        return Err(EINVAL);
    }
    let names = ProbeNames::selected(name).ok_or(EINVAL)?;
    let mut definitions = DEFINITIONS.lock();
    let is_meant = |definition: &Definition| {
        definition.kind.is_in(file) && definition.is_selected(&names, words.clone())
    };
    // An event that is enabled keeps a probe: all, if all are meant.
    let is_busy = |definition: &&Definition| {
        let stays = |other: &Definition| ptr::eq(other.event, definition.event) && !is_meant(other);
        is_meant(definition) && definition.is_used() && !definitions.iter().any(stays)
    };
    let busy = definitions.iter().find(is_busy).map(|busy| busy.serial);
    let result = match definitions.iter().any(is_meant) {
        false => Err(ENOENT),
        true => {
            let is_before = |known: &Definition| busy.is_none_or(|busy| known.serial < busy);
            let removed = remove(&mut definitions, |known| {
                is_meant(known) && is_before(known)
            });
            removed.and(busy.map_or(Ok(()), |_| Err(EBUSY)))
        }
    };
    drop(definitions);
    let result = match names.event {
        Some(event)
            if all
                && !matches!(result, Err(EBUSY))
                && names.group.is_none_or(|group| group == SYSTEM) =>
        {
            match synthetic::remove(event.as_bytes()) {
                Err(ENOENT) => result,
                removed => removed,
            }
        }
        _ => result,
    };
    match names.event {
        Some(event) if all && !matches!(result, Err(EBUSY)) => {
            let fields = line.split_once(' ').map_or("", |(_, fields)| fields);
            match user_events::delete_line(names.group, event, fields) {
                Err(ENOENT) => result,
                removed => removed,
            }
        }
        _ => result,
    }
}

/// Removes all definitions of `file`, or none.
///
/// # Errors
///
/// `EBUSY` while one of the events is enabled.
pub(crate) fn delete_all(file: ControlledEvents) -> Result {
    let mut definitions = DEFINITIONS.lock();
    let is_busy = |known: &Definition| known.kind.is_in(file) && known.probe.is_used();
    if definitions.iter().any(is_busy) {
        return Err(EBUSY);
    }
    remove(&mut definitions, |known| known.kind.is_in(file))
}

/// Has the probes follow the code of the module `name`, which comes, before its init runs.
pub(super) fn code_comes(name: &str) {
    let definitions = DEFINITIONS.lock();
    definitions
        .iter()
        .for_each(|known| known.probe.code_comes(name));
}

/// Has them use nothing any more of the code of the module `name`, which goes.
pub(super) fn code_goes(name: &str) {
    let definitions = DEFINITIONS.lock();
    definitions
        .iter()
        .for_each(|known| known.probe.code_goes(name));
}

/// Has the probes follow a module with tracepoints that comes, before its init runs.
pub(super) fn module_comes(module: Module<'_>) {
    let definitions = DEFINITIONS.lock();
    let probes = definitions.iter().map(|known| &known.probe);
    probes.for_each(|probe| probe.module_comes(module));
}

/// Has them use nothing any more of such a module that goes.
pub(super) fn module_goes(module: Module<'_>) {
    let definitions = DEFINITIONS.lock();
    let probes = definitions.iter().map(|known| &known.probe);
    probes.for_each(|probe| probe.module_goes(module));
}

/// Calls `f` with the events that follow `event`, which belongs to a module that is being unloaded.
pub(crate) fn for_each_follower(event: &Event, f: impl Fn(&'static Event)) {
    // Others stay while they are followed, and who removes one has the definitions locked.
    if event.module().is_none() {
        return;
    }
    let is_meant = |followed: &Event| ptr::eq(followed, event);
    for known in DEFINITIONS.lock().iter() {
        if known.probe.followed().is_some_and(is_meant) {
            f(known.event);
        }
    }
}

/// Returns whether an event that the instance has enabled, which sources know as `recipient`, follows `event`.
pub(crate) fn is_followed(event: &Event, recipient: Recipient) -> bool {
    let definitions = DEFINITIONS.lock();
    let mut probes = definitions.iter().map(|known| &known.probe);
    probes.any(|probe| probe.is_following(event, recipient))
}

/// Writes the definitions of a file, in the order in which they were made. Fails when `out` does.
pub(crate) fn write_definitions(file: ControlledEvents, out: &mut dyn ByteWrite) -> fmt::Result {
    let mut from = 0;
    let mut others_until = |serial, out: &mut dyn ByteWrite| match file {
        ControlledEvents::All => {
            let range = from..serial;
            from = serial;
            write_others(range, out)
        }
        _ => Ok(()),
    };
    let definitions = DEFINITIONS.lock();
    for definition in definitions.iter().filter(|known| known.kind.is_in(file)) {
        others_until(definition.serial, out)?;
        writeln!(out, "{}", definition.shown.text())?;
    }
    others_until(u64::MAX, out)
}

/// Writes the definitions in `serials` of events that have no probe. Fails when `out` does.
fn write_others(serials: Range<u64>, out: &mut dyn ByteWrite) -> fmt::Result {
    let Range { mut start, end } = serials;
    loop {
        let user = user_events::next_serial(start).map_or(end, |serial| serial.min(end));
        synthetic::write_definitions(start..user, "s:synthetic/", out)?;
        if user >= end {
            return Ok(());
        }
        start = user.saturating_add(1);
        user_events::write_definitions(user..start, out)?;
    }
}

/// Writes the hits of the definitions of a file, and how many were missed or where they are. Fails when `out` does.
pub(crate) fn write_profile(file: ControlledEvents, out: &mut dyn ByteWrite) -> fmt::Result {
    let definitions = DEFINITIONS.lock();
    for definition in definitions.iter().filter(|known| known.kind.is_in(file)) {
        let sums = definition.probe.sums();
        let (name, hits) = (definition.event.name(), sums.hits);
        match file {
            ControlledEvents::Uprobes => {
                let place = words(definition.shown.text()).nth(1);
                let path = path_of(place.map_or("", |place| place.text));
                writeln!(out, "  {path} {name:<44} {hits:15}")?;
            }
            _ => {
                let missed = sums.missed.unwrap_or(0).wrapping_add(sums.own_calls);
                writeln!(out, "  {name:<44} {hits:15} {missed:15}")?;
            }
        }
    }
    Ok(())
}

/// Writes all that is counted of each definition, after its kind, its name and its place. Fails when `out` does.
pub(crate) fn write_counts(out: &mut dyn ByteWrite) -> fmt::Result {
    let definitions = DEFINITIONS.lock();
    for definition in definitions.iter() {
        for word in words(definition.shown.text()).take(2) {
            write!(out, "{} ", word.text)?;
        }
        let sums = definition.probe.sums();
        write!(out, "hits={} filtered={} ", sums.hits, sums.filtered)?;
        match sums.missed {
            Some(missed) => write!(out, "missed={missed} ")?,
            None => out.write_str("missed=- ")?,
        }
        let (own, deep) = (sums.own_calls, sums.too_deep);
        let (faults, cut) = (sums.faults, sums.cuts);
        writeln!(out, "own={own} deep={deep} faults={faults} cut={cut}")?;
    }
    Ok(())
}
