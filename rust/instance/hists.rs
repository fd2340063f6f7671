// SPDX-License-Identifier: GPL-2.0

//! The histograms of an instance: `hist` triggers, and what the `hist` files of events show.

use super::{
    filter::errno as filter_errno,
    hist_links::{
        deeds,
        event_is_referred_to,
        is_referred_to,
        sources,
        takes_snapshots,
        EventNamed, //
    },
    triggers::{
        copied,
        EventTriggers,
        Row, //
    },
    Instance,
    Refused, //
};
use crate::{
    actions::{
        hist::{
            counter,
            Hist, //
        },
        linked::{
            linked_counter,
            HistDeed, //
        },
    },
    events::Event,
    hist::{
        action::Deed,
        command,
        error::{
            HistErrno,
            HistErrorKind, //
        },
        plan::Plan,
        print::{
            write_totals,
            HistLine,
            HistNames, //
        },
        sort::{
            sort,
            Rows, //
        },
        track::Track, //
    },
    kapi::scratch,
    probes::Filter,
    text::{
        clock,
        error_log::place,
        trigger::{
            condition,
            Verb,
            UNLIMITED, //
        },
        writer::ByteWrite, //
    }, //
};
use kernel::{
    prelude::*,
    str::CString,
    sync::Arc, //
};

/// How a command begins in `error_log`, whatever was written.
const BEGIN: &[u8] = b"hist:";

/// Returns the kernel's error.
pub(super) fn error_of(why: HistErrno) -> Error {
    match why {
        HistErrno::Inval => EINVAL,
        HistErrno::NoEnt => ENOENT,
        HistErrno::Dom => EDOM,
        HistErrno::Range => ERANGE,
        HistErrno::NoMem => ENOMEM,
        HistErrno::Exist => EEXIST,
    }
}

/// A command that was understood.
struct WantedHist<'a> {
    plan: KBox<Plan>,
    /// What the plan has parts of.
    items: KVec<u8>,
    filter: Option<(KBox<Filter>, &'a [u8])>,
}

impl WantedHist<'_> {
    fn is_for(&self, row: &Row) -> bool {
        let filter = self.filter.as_ref().map(|(_, text)| *text);
        let same = |hist: &Arc<Hist>| hist.plan().is_same(hist.text(), &self.plan, &self.items);
        row.filter.as_deref() == filter && row.hist.as_ref().is_some_and(same)
    }
}

impl Instance {
    /// Logs an error of a `hist` command.
    fn log_hist(&self, event: &Event, text: &[u8], kind: HistErrorKind, word: &[u8]) {
        let (Ok(mut whole), Ok(author)) = (
            copied(BEGIN),
            CString::try_from_fmt(fmt!("hist:{}:{}", event.system(), event.name())),
        ) else {
            return;
        };
        if whole.extend_from_slice(text, GFP_KERNEL).is_err() {
            return;
        }
        let at = place(&whole, word);
        let error = kind.text();
        self.errors.add_of(
            author,
            Refused {
                author: "",
                error,
                at,
            },
            &whole,
        );
    }

    /// Obeys a `hist` command, of which `text` is what follows the name.
    ///
    /// # Errors
    ///
    /// Those of ftrace, which `error_log` tells, and `ENOMEM`. Nothing has changed then.
    pub(super) fn set_hist(
        &self,
        all: &mut KVec<EventTriggers>,
        event: &'static Event,
        remove: bool,
        text: &[u8],
    ) -> Result {
        let mut log = |kind: HistErrorKind, word: &[u8]| self.log_hist(event, text, kind, word);
        if text.is_empty() {
            return Err(EINVAL);
        }
        let (items, filter) = command::split(text).map_err(error_of)?;
        let mut items = copied(items)?;
        command::hide_operators(&mut items);
        let parsed = command::parse(&items, &mut log).map_err(error_of)?;
        if parsed.name.is_some() {
            // No two events share a histogram yet.
            return Err(EINVAL);
        }
        let mut plan = KBox::<Plan>::new_uninit(GFP_KERNEL)?.write(Plan::new());
        let named = EventNamed { event, all };
        plan.resolve(&parsed, &items, &named, remove, &mut log)
            .map_err(error_of)?;
        let filter = match filter {
            None => None,
            Some(text) => {
                let text = condition(text).map_err(|_| EINVAL)?;
                match Filter::new(event, text)? {
                    Ok(filter) => Some((filter, text)),
                    Err(wrong) => {
                        self.log_refusal(&wrong, text);
                        return Err(filter_errno(&wrong));
                    }
                }
            }
        };
        let (pause, resume, clear) = (parsed.pause, parsed.resume, parsed.clear);
        let clock = parsed.clock.map(copied).transpose()?;
        let mut wanted = WantedHist {
            plan,
            items,
            filter,
        };
        let rows = all.iter().find(|of| of.event.id() == event.id());
        let mut rows = rows.into_iter().flat_map(|of| of.rows.iter());
        let found = rows.find(|row| wanted.is_for(row));
        let found = found.map(|row| (row.trigger.clone(), row.hist.clone()));
        match found {
            None if remove => Ok(()),
            Some((_, Some(hist))) if remove && is_referred_to(&hist, all) => Err(EBUSY),
            Some((trigger, _)) if remove => {
                self.remove_triggers(all, |_, row| Arc::ptr_eq(&row.trigger, &trigger));
                Ok(())
            }
            // As in ftrace, of several words the first of these counts.
            Some((trigger, _)) if pause => {
                trigger.disarm();
                Ok(())
            }
            Some((trigger, _)) if resume => {
                trigger.rearm();
                Ok(())
            }
            Some((_, Some(hist))) if clear => hist.clear(),
            Some(_) => {
                log(HistErrorKind::Exists, b"");
                Err(EEXIST)
            }
            None if resume || clear => {
                log(HistErrorKind::NothingToClear, b"");
                Err(ENOENT)
            }
            None => {
                let named = EventNamed { event, all };
                let plan = &mut wanted.plan;
                let deeds = deeds(plan, &wanted.items, &named, &mut log)?;
                let clock = match (plan.timestamps, &clock) {
                    (false, _) => None,
                    (true, None) => Some(clock::ClockId::Global),
                    (true, Some(name)) => match clock::parse(name) {
                        Ok(clock) => Some(clock),
                        Err(_) => {
                            log(HistErrorKind::ClockNotSet, name);
                            return Err(EINVAL);
                        }
                    },
                };
                self.add_hist(all, event, (wanted, deeds), clock, pause)
            }
        }
    }

    /// Adds a histogram.
    fn add_hist(
        &self,
        all: &mut KVec<EventTriggers>,
        event: &'static Event,
        (wanted, deeds): (WantedHist<'_>, KVec<HistDeed>),
        clock: Option<clock::ClockId>,
        paused: bool,
    ) -> Result {
        scratch::prepare_all_levels()?;
        let snaps = |track: &Track| track.deed == Deed::Snapshot;
        if wanted.plan.kept.tracks().iter().any(snaps) {
            self.buffers().arm_snapshot()?;
        }
        let sources = sources(&wanted.plan, all)?;
        let hist = Hist::new(&wanted.plan, wanted.items, event.id(), sources)?;
        let condition = (UNLIMITED, wanted.filter);
        let effect = match wanted.plan.is_linked() {
            true => linked_counter(&hist, deeds)?,
            false => counter(&hist)?,
        };
        let mut row = Row::new((Verb::Hist, None), condition, effect)?;
        row.hist = Some(hist);
        let trigger = row.trigger.clone();
        // Until it counts by the right clock.
        trigger.disarm();
        let held = self.hold(event)?;
        self.put_row(all, event, row)?;
        held.keep();
        // Unlike in ftrace the buffers stay full if it is their clock already.
        if let Some(clock) = clock.filter(|clock| *clock != self.clock()) {
            self.set_clock(clock).inspect_err(|_| {
                self.remove_triggers(all, |_, row| Arc::ptr_eq(&row.trigger, &trigger));
            })?;
        }
        if !paused {
            trigger.rearm();
        }
        Ok(())
    }

    /// Returns whether a histogram takes snapshots, which are its alone then.
    pub(crate) fn hist_takes_snapshots(&self) -> bool {
        takes_snapshots(&self.triggers.lock())
    }

    /// Removes the histograms of `event`, unless another one refers to a variable of one of them: its file was
    /// opened with truncation.
    pub(crate) fn remove_hists(&self, event: &Event) {
        let id = event.id();
        let mut all = self.triggers.lock();
        // As in ftrace they all stay then.
        if !event_is_referred_to(event, &all) {
            self.remove_triggers(&mut all, |of, row| of.id() == id && row.hist.is_some());
        }
    }

    /// Writes what the `hist` file of `event` shows.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn show_hists(
        &self,
        event: &Event,
        names: &dyn HistNames,
        out: &mut dyn ByteWrite,
    ) -> Result {
        // The text is made without the lock: it takes long.
        let mut shown = KVec::new();
        {
            let all = self.triggers.lock();
            let of = all.iter().find(|of| of.event.id() == event.id());
            for row in of.into_iter().flat_map(|of| of.rows.iter()) {
                if let Some(hist) = &row.hist {
                    let filter = row.filter.as_deref().map(copied).transpose()?;
                    let paused = row.trigger.left() == 0;
                    shown.push((hist.clone(), filter, paused), GFP_KERNEL)?;
                }
            }
        }
        for (index, (hist, filter, paused)) in shown.iter().enumerate() {
            if index != 0 {
                out.write_str("\n\n").map_err(|_| ENOMEM)?;
            }
            show(hist, filter.as_deref(), *paused, names, out)?;
        }
        Ok(())
    }
}

/// Returns the line of a histogram.
pub(super) fn line<'a>(hist: &'a Hist, filter: Option<&'a [u8]>, paused: bool) -> HistLine<'a> {
    HistLine {
        plan: hist.plan(),
        text: hist.text(),
        filter,
        paused,
    }
}

/// Writes one histogram.
fn show(
    hist: &Hist,
    filter: Option<&[u8]>,
    paused: bool,
    names: &dyn HistNames,
    out: &mut dyn ByteWrite,
) -> Result {
    let plan = hist.plan();
    // Copied before it is sorted: what is counted meanwhile moves no entry.
    let (words, totals) =
        hist.with_counts(|counts| -> Result<_> { Ok((counts.rows()?, counts.totals())) })?;
    let rows = Rows {
        words: &words,
        key_words: plan.key_words(),
        note_words: plan.note_words(),
        sums: plan.sums(),
        kept: plan.kept.row_words(),
    };
    let mut order = KVVec::with_capacity(rows.len(), GFP_KERNEL)?;
    for row in 0..rows.len() as u32 {
        order.push(row, GFP_KERNEL)?;
    }
    sort(plan, rows, &mut order);
    line(hist, filter, paused)
        .write_head(out)
        .and_then(|()| plan.write_rows(hist.text(), (rows, &order), names, out))
        .map_err(|_| ENOMEM)?;
    write_taken(hist, names, out)?;
    write_totals(totals, rows.len(), out).map_err(|_| ENOMEM)
}

/// Writes by which event `hist` took a snapshot, if it did.
fn write_taken(hist: &Hist, names: &dyn HistNames, out: &mut dyn ByteWrite) -> Result {
    let plan = hist.plan();
    let mut tracks = plan.kept.tracks().iter();
    let track = tracks.find(|track| track.deed == Deed::Snapshot);
    let (Some(track), Some(taken)) = (track, hist.taken()) else {
        return Ok(());
    };
    let mut words = KVec::from_elem(0, taken.record_words(), GFP_KERNEL)?;
    if !taken.read(0, &mut words) {
        return Ok(());
    }
    plan.write_taken((track, &words), hist.text(), names, out)
        .map_err(|_| ENOMEM)
}
