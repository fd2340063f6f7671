// SPDX-License-Identifier: GPL-2.0

//! The histograms of an instance: `hist` triggers.

use super::{
    filter::errno as filter_errno,
    hist_links::{
        event_is_referred_to,
        is_referred_to,
        sources,
        takes_snapshots,
        NamedEvent, //
    },
    triggers::{
        copied,
        EventTriggers,
        Row, //
    },
    CommandRefusal, //
    Instance,
};
use crate::{
    actions::{
        hist::{
            counter,
            Hist, //
        },
        hist_names::NamedHist,
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
            HistErrorKind,
            Log, //
        },
        plan::Plan,
        print::HistLine,
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
        }, //
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
    pause: bool,
    resume: bool,
    clear: bool,
    clock: Option<KVec<u8>>,
}

impl WantedHist<'_> {
    fn is_for(&self, row: &Row) -> bool {
        let filter = self.filter.as_ref().map(|(_, text)| *text);
        let name = self.plan.name.map(|name| name.text(&self.items));
        let same = |hist: &Arc<Hist>| {
            hist.name() == name && hist.plan().is_same(hist.text(), &self.plan, &self.items)
        };
        row.filter.as_deref() == filter && row.hist.as_ref().is_some_and(same)
    }
}

impl Instance {
    /// Logs an error of a `hist` command.
    pub(super) fn log_hist(&self, event: &Event, text: &[u8], kind: HistErrorKind, word: &[u8]) {
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
            CommandRefusal {
                author: "",
                error,
                at,
            },
            &whole,
        );
    }

    /// Obeys a `hist` command, of which `text` is what follows the name. `log` is told what is wrong.
    ///
    /// # Errors
    ///
    /// Those of ftrace, and `ENOMEM`. Nothing has changed then.
    pub(super) fn set_hist(
        &self,
        all: &mut KVec<EventTriggers>,
        event: &'static Event,
        remove: bool,
        text: &[u8],
        log: &mut Log<'_>,
    ) -> Result {
        let wanted = self.understand_hist((event, all), remove, text, log)?;
        let rows = all.iter().find(|of| of.event.id() == event.id());
        let mut rows = rows.into_iter().flat_map(|of| of.rows.iter());
        let found = rows.find(|row| wanted.is_for(row));
        let found = found.map(|row| (row.trigger.clone(), row.hist.clone()));
        let (pause, resume, clear) = (wanted.pause, wanted.resume, wanted.clear);
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
                let result = self.make_hist(all, event, wanted, log);
                if result.is_err() {
                    self.remove_idle(all);
                }
                result
            }
        }
    }

    /// Returns what a `hist` command says.
    ///
    /// # Errors
    ///
    /// As for [`Self::set_hist`].
    #[inline(never)]
    fn understand_hist<'a>(
        &self,
        (event, all): (&'static Event, &[EventTriggers]),
        remove: bool,
        text: &'a [u8],
        log: &mut Log<'_>,
    ) -> Result<WantedHist<'a>> {
        if text.is_empty() {
            return Err(EINVAL);
        }
        let (items, filter) = command::split(text).map_err(error_of)?;
        let mut items = copied(items)?;
        command::hide_operators(&mut items);
        let parsed = command::parse(&items, log).map_err(error_of)?;
        let mut plan = KBox::<Plan>::new_uninit(GFP_KERNEL)?.write(Plan::new());
        let named = NamedEvent { event, all };
        plan.resolve(&parsed, &items, &named, remove, log)
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
        Ok(WantedHist {
            plan,
            pause: parsed.pause,
            resume: parsed.resume,
            clear: parsed.clear,
            clock: parsed.clock.map(copied).transpose()?,
            items,
            filter,
        })
    }

    /// Makes a histogram, and those that its actions need.
    ///
    /// # Errors
    ///
    /// As for [`Self::set_hist`], but that other histograms may have been made, to which none refers.
    #[inline(never)]
    fn make_hist(
        &self,
        all: &mut KVec<EventTriggers>,
        event: &'static Event,
        mut wanted: WantedHist<'_>,
        log: &mut Log<'_>,
    ) -> Result {
        let deeds = self.deeds(&mut wanted.plan, &wanted.items, (event, all), log)?;
        let clock = match (wanted.plan.timestamps, &wanted.clock) {
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
        self.add_hist(all, event, (wanted, deeds), clock, log)
    }

    /// Adds a histogram.
    fn add_hist(
        &self,
        all: &mut KVec<EventTriggers>,
        event: &'static Event,
        (wanted, deeds): (WantedHist<'_>, KVec<HistDeed>),
        clock: Option<clock::ClockId>,
        log: &mut Log<'_>,
    ) -> Result {
        scratch::prepare_all_levels()?;
        let paused = wanted.pause;
        let snaps = |track: &Track| track.deed == Deed::Snapshot;
        if wanted.plan.kept.tracks().iter().any(snaps) {
            self.buffers().arm_snapshot()?;
        }
        let sources = sources(&wanted.plan, all)?;
        let linked = wanted.plan.is_linked();
        let (hist, named) = hist_of(wanted.plan, wanted.items, event, sources, log)?;
        let condition = (UNLIMITED, wanted.filter);
        let effect = match linked {
            true => linked_counter(&hist, deeds)?,
            false => counter(&hist)?,
        };
        let mut row = Row::new((Verb::Hist, None), condition, effect)?;
        (row.hist, row.named) = (Some(hist), named);
        let trigger = row.trigger.clone();
        // Until it counts by the right clock.
        trigger.disarm();
        let held = self.hold(event)?;
        self.put_row(all, event, row)?;
        held.keep();
        // Pollers watch the new one, too.
        self.buffers().wake_all();
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
}

/// Returns a new histogram; one with a name is among those of that name, as long as the latter is there.
///
/// # Errors
///
/// `EINVAL` if those of that name are not like it, which `log` is told, and `ENOMEM`.
fn hist_of(
    mut plan: KBox<Plan>,
    items: KVec<u8>,
    event: &Event,
    sources: KVec<Arc<Hist>>,
    log: &mut Log<'_>,
) -> Result<(Arc<Hist>, Option<NamedHist>)> {
    let Some(name) = plan.name else {
        return Ok((Hist::new(&plan, items, event.id(), sources, None)?, None));
    };
    let mut own_name = KVec::new();
    own_name.extend_from_slice(name.text(&items), GFP_KERNEL)?;
    let named = NamedHist::join(&own_name, |first| {
        if let Some(first) = first {
            if !plan.is_like(&items, first.plan(), first.text()) {
                log(HistErrorKind::NameMismatch, &own_name);
                return Err(EINVAL);
            }
            // What is shown is that of the first one.
            (plan.size_bits, plan.grows) = (first.plan().size_bits, first.plan().grows);
            plan.no_hitcount = first.plan().no_hitcount;
        }
        Hist::new(&plan, items, event.id(), sources, first)
    })?;
    Ok((named.hist().clone(), Some(named)))
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
