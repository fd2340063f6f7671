// SPDX-License-Identifier: GPL-2.0

//! The files that show events and switch them on: `set_event`, `available_events` and what is in
//! `events/`.
//!
//! A file knows the id of its event, or that of one event of its system, never the event itself: a
//! module can take its events away while the file is open, which then gives ENODEV.

use super::{
    file::{
        Arg,
        FileIdentity,
        Step,
        TraceFile, //
    },
    text_file::{
        command,
        no_memory,
        refused,
        TextFile, //
    }, //
};
use crate::{
    event::{
        format, //
    },
    events::{
        self,
        Event, //
    },
    expr,
    output::Text,
    ring::wire,
    sources::dynamic::is_followed,
    text::{
        enable::{
            self,
            EnableState, //
        },
        number,
        set_event::next_word, //
    }, //
};
use core::fmt::Write;
use kernel::{
    iov::IovIterDest,
    prelude::*,
    uaccess::UserSliceReader, //
};

/// Returns the id of the event that a file in `events/SYSTEM/EVENT/` is about.
fn this_id(at: &FileIdentity<'_>) -> Result<u16> {
    match at.arg {
        Arg::Event(id) => Ok(id),
        _ => Err(EINVAL),
    }
}

/// Returns the event with this id, unless its module is gone.
fn offered(id: u16) -> Result<&'static Event> {
    events::by_id(id)
        .filter(|event| event.is_offered())
        .ok_or(ENODEV)
}

/// Returns the event that a file in `events/SYSTEM/EVENT/` is about; `ENODEV` when its module is
/// gone.
pub(super) fn this_event(at: &FileIdentity<'_>) -> Result<&'static Event> {
    offered(this_id(at)?)
}

/// Returns the events that an `enable` file is about: one, those of a system, or all.
fn these_events<'a>(at: &'a FileIdentity<'a>) -> Result<impl Iterator<Item = &'static Event> + 'a> {
    let (one, system) = match at.arg {
        Arg::Event(id) => (Some(offered(id)?.id()), None),
        Arg::System(id) => (None, Some(events::by_id(id).ok_or(ENODEV)?.system())),
        _ => (None, None),
    };
    Ok(events::all()
        .filter(move |event| one.is_none_or(|id| event.id() == id))
        .filter(move |event| system.is_none_or(|system| event.system() == system))
        .filter(move |event| one.is_some() || system.is_some() || at.inst.means(event)))
}

/// Returns whether `event` is enabled, or attached for triggers or for an event that follows it.
fn is_attached(at: &FileIdentity<'_>, event: &Event) -> bool {
    at.inst.event_enabled(event) || is_followed(event, at.inst.recipient())
}

/// `enable`, of an event, a system or all.
pub(crate) fn show_enable(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    if let Arg::Event(id) = at.arg {
        let event = offered(id)?;
        let (on, soft) = at.inst.event_state(event);
        let soft = soft || is_followed(event, at.inst.recipient());
        return enable::write_event(text, on, soft).map_err(no_memory);
    }
    let mut state = EnableState::default();
    for event in these_events(at)? {
        state.add(is_attached(at, event));
    }
    state.write_text(text).map_err(no_memory)
}

/// `enable`, of an event, a system or all.
pub(crate) fn store_enable(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    let on = number::parse_flag(command).map_err(refused)?;
    at.inst.switch_events(these_events(at)?, on)
}

/// `format` of an event.
pub(crate) fn show_format(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let id = this_id(at)?;
    match format::INTERNAL.iter().find(|entry| entry.id == id) {
        Some(entry) => entry.write_format(text),
        None => offered(id)?.write_format(text),
    }
    .map_err(no_memory)
}

/// `id` of an event.
pub(crate) fn show_id(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", this_id(at)?).map_err(no_memory)
}

/// `filter` of an event.
pub(crate) fn show_filter(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let event = this_event(at)?;
    at.inst.show_filter(event, text).map_err(no_memory)
}

/// `filter` of an event.
pub(crate) fn store_filter(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    let event = this_event(at)?;
    at.inst.set_filter(event, command)
}

/// `show_event_filters`.
pub(crate) fn show_all_filters(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    at.inst.show_all_filters(text).map_err(no_memory)
}

/// `filter` of a system. It says the same whatever was written.
pub(crate) fn show_system_filter(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    text.write_str(expr::SYSTEM_TEXT).map_err(no_memory)
}

/// `filter` of a system.
pub(crate) fn store_system_filter(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    let wanted = these_events(at)?;
    at.inst.set_filters(wanted, command)
}

/// `trigger` of an event.
struct Triggers {
    text: KBox<dyn TraceFile>,
}

/// Opens `trigger` of an event.
pub(crate) fn open_triggers(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
    let text = TextFile::line(show_triggers, store_trigger)?;
    Ok(KBox::new(Triggers { text }, GFP_KERNEL)?)
}

impl TraceFile for Triggers {
    fn read(
        &mut self,
        at: &FileIdentity<'_>,
        out: &mut IovIterDest<'_>,
        pos: &mut i64,
    ) -> Result<Step> {
        self.text.read(at, out, pos)
    }

    fn write(
        &mut self,
        at: &FileIdentity<'_>,
        input: &mut UserSliceReader,
        pos: &mut i64,
    ) -> Result<usize> {
        self.text.write(at, input, pos)
    }

    /// Removes the histograms, and no other trigger.
    fn truncate(&mut self, at: &FileIdentity<'_>) -> Result {
        at.inst.remove_hists(this_event(at)?);
        Ok(())
    }
}

/// `trigger` of an event.
fn show_triggers(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let event = this_event(at)?;
    at.inst.show_triggers(event, text).map_err(no_memory)
}

/// `trigger` of an event.
fn store_trigger(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    let event = this_event(at)?;
    at.inst.set_trigger(event, command)
}

/// `show_event_triggers`.
pub(crate) fn show_all_triggers(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    at.inst.show_all_triggers(text).map_err(no_memory)
}

/// `header_page`.
pub(crate) fn show_header_page(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let capacity = at.inst.buffers().subbuf_size().saturating_sub(wire::HEADER);
    format::write_header_page(text, capacity).map_err(no_memory)
}

/// `header_event`.
pub(crate) fn show_header_event(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    format::write_header_event(text).map_err(no_memory)
}

fn list(text: &mut Text, wanted: impl Iterator<Item = &'static Event>) -> Result {
    for event in wanted {
        writeln!(text, "{}:{}", event.system(), event.name()).map_err(no_memory)?;
    }
    Ok(())
}

/// `available_events`.
pub(crate) fn show_available(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    list(text, events::all())
}

fn show_enabled(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    list(text, events::all().filter(|event| is_attached(at, event)))?;
    at.inst.show_awaited(text).map_err(no_memory)
}

/// `set_event`: reads like a text; a write gives a list of words, one of which is obeyed.
pub(crate) struct SetEvent {
    text: KBox<dyn TraceFile>,
}

impl SetEvent {
    /// Opens it.
    pub(crate) fn open(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        let text = TextFile::show(show_enabled)?;
        Ok(KBox::new(Self { text }, GFP_KERNEL)?)
    }
}

impl TraceFile for SetEvent {
    fn read(
        &mut self,
        at: &FileIdentity<'_>,
        out: &mut IovIterDest<'_>,
        pos: &mut i64,
    ) -> Result<Step> {
        self.text.read(at, out, pos)
    }

    /// Switches all events off, and has none wait.
    fn truncate(&mut self, at: &FileIdentity<'_>) -> Result {
        let enabled = events::all().filter(|event| at.inst.event_enabled(event));
        at.inst.switch_events(enabled, false)?;
        at.inst.forget_awaited();
        Ok(())
    }

    /// Obeys the first word and returns how much of the write that was: the caller writes the rest
    /// again, so that each word has its own answer.
    fn write(
        &mut self,
        at: &FileIdentity<'_>,
        input: &mut UserSliceReader,
        pos: &mut i64,
    ) -> Result<usize> {
        let len = input.len();
        let command = command(input)?;
        let (word, mut used) = next_word(&command).map_err(refused)?;
        if command.ends_with(word) && used == command.len() && used < len {
            // The word may go on after what was copied: it comes first in the next write.
            used = used.saturating_sub(word.len());
        } else if !word.is_empty() {
            at.inst.obey_selection(word)?;
        }
        *pos = pos.saturating_add_unsigned(used as u64);
        Ok(used)
    }
}
