// SPDX-License-Identifier: GPL-2.0

//! The triggers of an instance: what its events do besides being recorded.
//!
//! An event with triggers has its probe attached; if it is not enabled, softly: it is not recorded. So has
//! an event that a trigger of another one switches. Probes find the triggers of an event by one pointer to
//! a list, which is replaced as a whole. The lock of the triggers comes before all others of this folder
//! but that of the tracer.

use super::{
    commands,
    enable,
    filter::errno,
    hist_fields,
    hist_links,
    hists,
    registry,
    Instance, //
};
use crate::{
    actions::{
        self,
        hist::Hist,
        hist_names::NamedHist, //
    },
    buffers::CpuSel,
    events::{
        self,
        Event, //
    },
    kapi::scratch,
    probes::{
        Effect,
        EventFile,
        Filter,
        Trigger,
        TriggerList,
        WANT_CPU_DUMP,
        WANT_DUMP,
        WANT_MAXIMUM,
        WANT_NEWS,
        WANT_ROOM,
        WANT_SNAPSHOT,
        WANT_TELLING, //
    },
    text::{
        errno::Errno,
        set_event,
        trigger::{
            self,
            Line,
            Verb, //
        },
        writer::ByteWrite, //
    }, //
};
use core::fmt;
use kernel::{
    prelude::*,
    sync::{
        atomic::Relaxed,
        Arc, //
    }, //
};

/// The action of a histogram that takes snapshots.
const SNAPSHOT: &[u8] = b"snapshot";

/// A trigger, and what its file shows of it.
pub(super) struct Row {
    pub(super) verb: Verb,
    /// The event that it switches.
    pub(super) target: Option<&'static Event>,
    pub(super) filter: Option<KVec<u8>>,
    pub(super) trigger: Arc<Trigger>,
    /// What it counts in.
    pub(super) hist: Option<Arc<Hist>>,
    /// Keeps that among those of its name.
    pub(super) named: Option<NamedHist>,
    /// It was made for actions of other histograms, and goes with the last one that refers to it.
    pub(super) for_others: bool,
}

/// Returns a copy of `text`.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn copied(text: &[u8]) -> Result<KVec<u8>> {
    let mut copy = KVec::with_capacity(text.len(), GFP_KERNEL)?;
    copy.extend_from_slice(text, GFP_KERNEL)?;
    Ok(copy)
}

impl Row {
    /// Returns one with this effect.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(
        (verb, target): (Verb, Option<&'static Event>),
        (count, filter): Condition<'_>,
        effect: KBox<dyn Effect>,
    ) -> Result<Self> {
        let (filter, text) = match filter {
            None => (None, None),
            Some((filter, text)) => (Some(filter), Some(copied(text)?)),
        };
        let after = matches!(verb, Verb::TraceOff | Verb::Stacktrace | Verb::Snapshot);
        let trigger = Trigger::new(effect, count, filter, after);
        Ok(Self {
            verb,
            target,
            filter: text,
            trigger: Arc::new(trigger, GFP_KERNEL)?,
            hist: None,
            named: None,
            for_others: false,
        })
    }

    /// Returns whether an event that has this trigger can have no other one of this verb and target.
    fn excludes(&self, verb: Verb, target: Option<&'static Event>) -> bool {
        let id = |event: Option<&'static Event>| event.map(Event::id);
        self.verb.excludes(verb) && id(self.target) == id(target)
    }

    /// Returns whether it needs the record, or the event in the ring.
    fn is_conditional(&self) -> bool {
        let verbs = [Verb::TraceOff, Verb::Stacktrace, Verb::Hist];
        self.filter.is_some() || verbs.contains(&self.verb)
    }

    /// Writes its line.
    fn write_text(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        let filter = self.filter.as_deref();
        if let Some(hist) = &self.hist {
            let paused = self.trigger.left() == 0;
            return hists::line(hist, filter, paused).write_text(out);
        }
        Line {
            verb: self.verb,
            event: self.target.map(|event| (event.system(), event.name())),
            count: self.trigger.left(),
            filter,
        }
        .write_text(out)
    }
}

/// The triggers of one event.
pub(super) struct EventTriggers {
    pub(super) event: &'static Event,
    /// In the order in which they act: the newest first, and after these the histograms, the oldest first.
    pub(super) rows: KVec<Row>,
    /// What probes see of them.
    list: Option<KBox<TriggerList>>,
}

impl EventTriggers {
    /// Returns its histograms.
    pub(super) fn hists(&self) -> impl Iterator<Item = &Arc<Hist>> {
        self.rows.iter().filter_map(|row| row.hist.as_ref())
    }

    /// Returns the list of the rows; `None` if there are none.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn make_list(&self) -> Result<Option<KBox<TriggerList>>> {
        if self.rows.is_empty() {
            return Ok(None);
        }
        let mut triggers = KVec::with_capacity(self.rows.len(), GFP_KERNEL)?;
        for row in &self.rows {
            triggers.push(row.trigger.clone(), GFP_KERNEL)?;
        }
        let conditional = self.rows.iter().any(Row::is_conditional);
        let list = TriggerList::new(triggers, conditional);
        Ok(Some(KBox::new(list, GFP_KERNEL)?))
    }
}

/// The error of a text that is wrong.
pub(super) fn refused(why: Errno) -> Error {
    match why {
        Errno::Inval => EINVAL,
        Errno::Range => ERANGE,
    }
}

/// Returns the event of these names that can be enabled.
///
/// # Errors
///
/// `EINVAL` if there is none.
pub(super) fn find(system: &[u8], name: &[u8]) -> Result<&'static Event> {
    named(events::all(), system, name)
}

/// Returns the event of these names that can have triggers.
///
/// # Errors
///
/// `EINVAL` if there is none.
pub(super) fn find_with_triggers(system: &[u8], name: &[u8]) -> Result<&'static Event> {
    named(events::with_triggers(), system, name)
}

fn named(
    mut events: impl Iterator<Item = &'static Event>,
    system: &[u8],
    name: &[u8],
) -> Result<&'static Event> {
    events
        .find(|event| event.system().as_bytes() == system && event.name().as_bytes() == name)
        .ok_or(EINVAL)
}

/// Does what triggers of the instance `number` wanted and only process context can do.
pub(super) fn work(number: u64, wanted: u64) {
    let Some(inst) = registry::first(|inst| inst.number == number) else {
        // It is being unloaded.
        return;
    };
    if wanted & WANT_NEWS != 0 {
        enable::try_record_tasks();
        inst.buffers().wake_all();
    }
    if wanted & WANT_DUMP != 0 {
        commands::dump(&inst, CpuSel::All);
    }
    if wanted & WANT_CPU_DUMP != 0 {
        if let Some(cpu) = inst.sink.take_dumped_cpu() {
            commands::dump(&inst, CpuSel::One(cpu));
        }
    }
    if wanted & WANT_ROOM != 0 {
        inst.grow_hists();
    }
    if wanted & WANT_MAXIMUM != 0 {
        inst.keep_maximum();
    }
    if wanted & (WANT_MAXIMUM | WANT_TELLING) != 0 {
        inst.tell_maximum();
    }
    if wanted & WANT_SNAPSHOT != 0 && inst.keeps_maximum() {
        // As in ftrace the trace tells of it.
        for text in [
            &b"*** LATENCY TRACER ACTIVE ***\n"[..],
            b"*** Can not use snapshot (sorry) ***\n",
        ] {
            let _ = inst.marker(text, 0);
        }
    } else if wanted & WANT_SNAPSHOT != 0 {
        if let Err(why) = inst.buffers().take_snapshot() {
            let text: &[u8] = match why {
                EBUSY => b"*** BUFFER MEMORY MAPPED ***\n",
                _ => b"*** SNAPSHOT NOT ALLOCATED ***\n",
            };
            // As in ftrace the trace tells of it, if it can.
            let _ = inst.marker(text, 0);
        }
    }
}

/// How often a trigger acts, and its filter with the filter's text.
type Condition<'a> = (u64, Option<(KBox<Filter>, &'a [u8])>);

impl Instance {
    /// Writes what the `trigger` file of `event` shows.
    pub(crate) fn show_triggers(&self, event: &Event, out: &mut dyn ByteWrite) -> fmt::Result {
        let all = self.triggers.lock();
        match all.iter().find(|of| of.event.id() == event.id()) {
            Some(of) => of.rows.iter().try_for_each(|row| row.write_text(out)),
            None => trigger::write_available(out),
        }
    }

    /// Writes the triggers of all events, each with its event.
    pub(crate) fn show_all_triggers(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        let all = self.triggers.lock();
        for event in events::all() {
            let Some(of) = all.iter().find(|of| of.event.id() == event.id()) else {
                continue;
            };
            for row in &of.rows {
                set_event::write_column(out, event.system(), event.name())?;
                row.write_text(out)?;
            }
        }
        Ok(())
    }

    /// Obeys one write to the `trigger` file of `event`.
    ///
    /// # Errors
    ///
    /// `EINVAL` and `ERANGE` for what is no trigger, `EEXIST` if there is one of that kind, the errors of
    /// filters, of attaching the events and of allocating a snapshot, `ENOMEM`. Nothing has changed then,
    /// but that an instance may have got a snapshot.
    pub(crate) fn set_trigger(&self, event: &'static Event, text: &[u8]) -> Result {
        if text.is_empty() {
            return Ok(());
        }
        let command = trigger::parse(text).map_err(refused)?;
        let verb = command.verb;
        if verb == Verb::Hist {
            let text = command.items();
            let mut log = |kind, word: &[u8]| self.log_hist(event, text, kind, word);
            // Before the triggers: no tracer that keeps a maximum begins until a histogram that takes snapshots is seen.
            // Others keep no reader of what the tracer says waiting.
            let takes_snapshots = text.windows(SNAPSHOT.len()).any(|word| word == SNAPSHOT);
            let _tracer = takes_snapshots.then(|| self.tracer.lock());
            let mut all = self.triggers.lock();
            return self.set_hist(&mut all, event, command.remove, text, &mut log);
        }
        let mut all = self.triggers.lock();
        let target = match verb.names_event() {
            true => {
                let (system, name) = command.event().map_err(refused)?;
                Some(find(system, name)?)
            }
            false => None,
        };
        if command.remove {
            self.remove_triggers(&mut all, |of, row| {
                of.id() == event.id() && row.excludes(verb, target)
            });
            return Ok(());
        }
        let count = command.count().map_err(refused)?;
        let filter = match command.filter().map_err(refused)? {
            None => None,
            Some(text) => match Filter::new(event, text)? {
                Ok(filter) => Some((filter, text)),
                Err(wrong) => {
                    self.log_refusal(&wrong, text);
                    return Err(errno(&wrong));
                }
            },
        };
        if verb == Verb::Snapshot {
            self.buffers().arm_snapshot()?;
        }
        let rows = all.iter().find(|of| of.event.id() == event.id());
        if rows.is_some_and(|of| of.rows.iter().any(|row| row.excludes(verb, target))) {
            return Err(EEXIST);
        }
        scratch::prepare_all_levels()?;
        self.add_trigger(&mut all, event, (verb, target), (count, filter))
    }

    /// Adds a trigger.
    ///
    /// # Errors
    ///
    /// Those of attaching the events, and `ENOMEM`. Nothing has changed then.
    fn add_trigger(
        &self,
        all: &mut KVec<EventTriggers>,
        event: &'static Event,
        (verb, target): (Verb, Option<&'static Event>),
        (count, filter): Condition<'_>,
    ) -> Result {
        let held = self.hold(event)?;
        let effect: KBox<dyn Effect> = match (verb, target) {
            (Verb::TraceOn, _) => actions::trigger::recording(true)?,
            (Verb::TraceOff, _) => actions::trigger::recording(false)?,
            (Verb::Snapshot, _) => actions::trigger::snapshot()?,
            (Verb::Stacktrace, _) => actions::trigger::stacktrace()?,
            (_, None) | (Verb::Hist, _) => return Err(EINVAL),
            (
                Verb::EnableEvent | Verb::DisableEvent | Verb::EnableHist | Verb::DisableHist,
                Some(target),
            ) => {
                let held = self.hold(target)?;
                let on = matches!(verb, Verb::EnableEvent | Verb::EnableHist);
                let make = match verb {
                    Verb::EnableHist | Verb::DisableHist => actions::trigger::switch::<true>,
                    _ => actions::trigger::switch::<false>,
                };
                let effect = self.with_file(target, |file| {
                    // SAFETY: The file stays while it is held: until `remove_triggers` has disarmed the
                    // trigger and waited, or until the end of this function, when no probe has seen it.
                    unsafe { make(file, on) }
                })?;
                held.keep();
                effect
            }
        };
        if verb == Verb::TraceOn {
            // Before a probe sees it: a task that is recorded at once may end at once.
            self.may_turn_on.store(true, Relaxed);
            enable::try_record_tasks();
        }
        // From here on `target` is held by the row.
        let result = Row::new((verb, target), (count, filter), effect)
            .and_then(|row| self.put_row(all, event, row));
        match (&result, target) {
            (Ok(()), _) => held.keep(),
            (Err(_), Some(target)) => self.release(target),
            (Err(_), None) => {}
        }
        if result.is_err() && verb == Verb::TraceOn {
            self.note_turning_on(all);
        }
        result
    }

    /// Notes whether a trigger may switch recording on, after one of that kind has gone.
    fn note_turning_on(&self, all: &[EventTriggers]) {
        let turns_on = |row: &Row| row.verb == Verb::TraceOn;
        let any = all.iter().any(|of| of.rows.iter().any(turns_on));
        self.may_turn_on.store(any, Relaxed);
        enable::try_record_tasks();
    }

    /// Adds a row, and has probes see it.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    pub(super) fn put_row(
        &self,
        all: &mut KVec<EventTriggers>,
        event: &'static Event,
        row: Row,
    ) -> Result {
        let last = row.hist.is_some();
        let at = match all.iter().position(|of| of.event.id() == event.id()) {
            Some(at) => at,
            None => {
                let of = EventTriggers {
                    event,
                    rows: KVec::new(),
                    list: None,
                };
                all.push(of, GFP_KERNEL)?;
                all.len().saturating_sub(1)
            }
        };
        let result = match all.get_mut(at) {
            None => Err(EINVAL),
            Some(of) => of
                .rows
                .push(row, GFP_KERNEL)
                .map_err(Error::from)
                .and_then(|()| {
                    let at = match last {
                        true => of.rows.len().saturating_sub(1),
                        false => 0,
                    };
                    if !last {
                        of.rows.rotate_right(1);
                    }
                    let list = of.make_list().inspect_err(|_| drop(of.rows.remove(at)))?;
                    self.publish(of, list);
                    Ok(())
                }),
        };
        all.retain(|of| !of.rows.is_empty());
        result
    }

    /// Has probes see `list`, and frees the one that they saw before.
    fn publish(&self, of: &mut EventTriggers, list: Option<KBox<TriggerList>>) {
        if events::marker().is_some_and(|marker| marker.id() == of.event.id()) {
            self.markers_trigger.store(list.is_some(), Relaxed);
        }
        let _ = self.with_file(of.event, |file| {
            // SAFETY: The list that was there is freed below, after all probes that may have found it; the
            // new one is in a box that goes by the same way.
            unsafe { file.set_triggers(list.as_deref()) };
            Ok(())
        });
        if let Some(old) = core::mem::replace(&mut of.list, list) {
            events::synchronize();
            drop(old);
        }
    }

    /// Removes the triggers that `which` selects, by their event and themselves, and those histograms that were
    /// made for them or refer to them. When it returns no probe is in them.
    pub(super) fn remove_triggers(
        &self,
        all: &mut KVec<EventTriggers>,
        which: impl Fn(&'static Event, &Row) -> bool,
    ) {
        self.remove_rows(all, which);
        self.remove_idle(all);
    }

    /// Removes the histograms that were made for others of which none is left, and those whose references name one
    /// that is gone.
    pub(super) fn remove_idle(&self, all: &mut KVec<EventTriggers>) {
        loop {
            let seen: &[EventTriggers] = all;
            let row = hist_fields::idle(seen).or_else(|| hist_links::without_source(seen));
            let Some(trigger) = row.map(|row| row.trigger.clone()) else {
                return;
            };
            self.remove_rows(all, |_, row| Arc::ptr_eq(&row.trigger, &trigger));
        }
    }

    /// Removes the triggers that `which` selects. When it returns no probe is in them.
    fn remove_rows(
        &self,
        all: &mut KVec<EventTriggers>,
        which: impl Fn(&'static Event, &Row) -> bool,
    ) {
        let (mut turned_on, mut hists_went) = (false, false);
        for of in all.iter_mut() {
            let event = of.event;
            // Also when there is no memory for a shorter list: then probes still see it, but do nothing.
            let chosen = of.rows.iter().filter(|row| which(event, row));
            if chosen.inspect(|row| row.trigger.disarm()).count() == 0 {
                continue;
            }
            let mut own = 0usize;
            // What they point to may go.
            events::synchronize();
            while let Some(at) = of.rows.iter().position(|row| which(event, row)) {
                let Ok(row) = of.rows.remove(at) else {
                    break;
                };
                turned_on |= row.verb == Verb::TraceOn;
                hists_went |= row.hist.is_some();
                own = own.saturating_add(1);
                if let Some(target) = row.target {
                    self.release(target);
                }
            }
            if let Ok(list) = of.make_list() {
                self.publish(of, list);
            }
            (0..own).for_each(|_| self.release(event));
        }
        if hists_went {
            // Pollers do not wait for those.
            self.buffers().wake_all();
        }
        all.retain(|of| !of.rows.is_empty());
        if turned_on {
            self.note_turning_on(all);
        }
    }

    /// Forgets the triggers of `event`, those that switch it, and those that refer to its variables: its module is being unloaded.
    pub(super) fn forget_triggers_of(&self, event: &Event) {
        let id = event.id();
        self.remove_triggers(&mut self.triggers.lock(), |of, row| {
            let refers = |hist: &Arc<Hist>| hist_links::refers_to(hist, event);
            of.id() == id
                || row.target.is_some_and(|target| target.id() == id)
                || row.hist.as_ref().is_some_and(refers)
        });
    }

    /// Forgets all triggers, and returns when nothing of them is left to do.
    pub(super) fn forget_triggers(&self) {
        self.remove_triggers(&mut self.triggers.lock(), |_, _| true);
        self.settle();
    }

    /// Returns when what triggers wanted before is done: a snapshot. Process context.
    pub(crate) fn settle(&self) {
        self.sink.settle();
    }

    /// Calls `f` with the file of `event`, which the caller holds.
    ///
    /// # Errors
    ///
    /// Those of `f`, and `ENODEV` for an event that is not attached.
    pub(super) fn with_file<T>(
        &self,
        event: &Event,
        f: impl FnOnce(&EventFile) -> Result<T>,
    ) -> Result<T> {
        let files = self.events.lock();
        let file = files.iter().find(|file| file.is_for(event));
        f(file.ok_or(ENODEV)?)
    }
}
