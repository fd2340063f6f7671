// SPDX-License-Identifier: GPL-2.0

//! Triggers: what an event of an instance does besides being recorded.
//!
//! A file has a list of them, or none. The list does not change: another one replaces it, and goes after
//! the probes that may have found it. What a trigger does is an [`Effect`], from `actions/`; whether it does
//! it is decided here, by its filter and its count.

use super::{
    in_place::FilledRecord,
    light::LightEnd,
    EventFile,
    Exit,
    Filter,
    Hit, //
};
use crate::{
    kapi::{
        percpu::{
            CpuPin,
            PinRef, //
        },
        scratch,
        words::SharedU64, //
    },
    ring::port::SharedWord,
    text::trigger::UNLIMITED, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// What a trigger does.
///
/// Contexts: any, NMI included, with preemption disabled. No lock, no allocation, no sleep.
pub(crate) trait Effect: Send + Sync {
    /// Returns whether it switches recording or an event; [`Self::is_due`] is asked of no other.
    fn switches(&self) -> bool {
        false
    }

    /// Returns whether it counts in a histogram.
    fn is_hist(&self) -> bool {
        false
    }

    /// Returns whether there is something to switch for an event of `file`; if not, the event does not count.
    fn is_due(&self, _file: &EventFile) -> bool {
        true
    }

    /// Returns what ends events by it, if it does nothing but what [`Self::act_lightly`] does as well.
    fn light_end(&self) -> Option<LightEnd> {
        None
    }

    /// Does it, for a record beside the ring that has no common fields but the number of the task. Called only if there
    /// is [`Self::light_end`].
    fn act_lightly(&self, _file: &EventFile, _record: scratch::RecordToRead<'_>, _pin: PinRef<'_>) {
    }

    /// Returns whether it looks for the callers of the probe.
    fn needs_callers(&self) -> bool {
        false
    }

    /// Returns where the last word of a record ends that it needs, if there is [`Self::light_end`] and it needs nothing but
    /// such words.
    fn words_end(&self) -> Option<usize> {
        None
    }

    /// Does it for a record in the ring that has so many bytes at least, and ends the event. Called only if there is
    /// [`Self::words_end`].
    fn end_in_place(&self, record: FilledRecord, file: &EventFile, exit: Exit) {
        record.commit_judged(file, exit);
    }

    /// Does it with all of the record, where [`Self::act_lightly`] cannot.
    #[cold]
    #[inline(never)]
    fn act_slowly(&self, file: &EventFile, record: scratch::RecordToRead<'_>, pin: PinRef<'_>)
    where
        Self: Sized,
    {
        self.act(&Hit::new(pin, file), record.bytes());
    }

    /// Is told of an event that has no record, because too many are inside each other: what is to be done for such
    /// records is not done. Any context.
    fn miss(&self, _pin: &CpuPin) {}

    /// Does it. `record` is whole; it is empty for a trigger that can act without one, and for one that acts
    /// after the event is in the ring.
    fn act(&self, hit: &Hit<'_>, record: &[u8]);
}

/// A trigger of an event.
///
/// # Invariants
///
/// `end` is [`LightEnd::NONE`], or that of `effect`.
#[repr(C)]
pub(crate) struct Trigger {
    /// How often it will still act; [`UNLIMITED`] is not counted. The first field: it is compared where it is.
    left: SharedU64,
    effect: KBox<dyn Effect>,
    filter: Option<KBox<Filter>>,
    /// Whether it acts after the event is in the ring.
    after: bool,
    /// Whether it switches something.
    switches: bool,
    /// Whether it acts after the event is in the ring, decides whether it gets there, or looks for the callers.
    judges: bool,
    /// Whether it looks for the callers of the probe.
    callers: bool,
    /// Whether it acts on all records, and lightly.
    light: bool,
    /// What ends events by it if it does.
    end: LightEnd,
}

impl Trigger {
    /// Returns one that acts `count` times, on records that `filter` lets through.
    pub(crate) fn new(
        effect: KBox<dyn Effect>,
        count: u64,
        filter: Option<KBox<Filter>>,
        after: bool,
    ) -> Self {
        let light = effect
            .light_end()
            .filter(|end| filter.is_none() && end.is_of(&*effect));
        // INVARIANT: It was just compared.
        Self {
            left: SharedWord::new(count),
            light: light.is_some(),
            end: light.unwrap_or(LightEnd::NONE),
            filter,
            after,
            switches: effect.switches(),
            judges: after || effect.switches() || effect.needs_callers(),
            callers: effect.needs_callers(),
            effect,
        }
    }

    /// Returns how often it will still act.
    pub(crate) fn left(&self) -> u64 {
        self.left.load()
    }

    /// Has it never act again. A probe that began before may still be in it until
    /// [`crate::events::synchronize`] has returned.
    pub(crate) fn disarm(&self) {
        self.left.store(0);
    }

    /// Has a trigger that was disarmed act without end. Any context.
    pub(crate) fn rearm(&self) {
        self.left.store(UNLIMITED);
    }

    /// Takes one of the times that are left. Returns false when none is left.
    #[inline(never)]
    fn take(&self) -> bool {
        loop {
            match self.left.load() {
                UNLIMITED => return true,
                0 => return false,
                left if self.left.cas(left, left.wrapping_sub(1)) => return true,
                _ => {}
            }
        }
    }

    /// Acts, if there is something to do, as often as it may.
    #[inline(always)]
    fn act(&self, hit: &Hit<'_>, record: &[u8]) {
        self.act_if(hit, record, || {
            !self.switches || self.effect.is_due(hit.file)
        });
    }

    /// Acts before there is a record. Most that do so switch something.
    #[inline(always)]
    fn act_early(&self, hit: &Hit<'_>) {
        self.act_if(hit, &[], || self.effect.is_due(hit.file));
    }

    /// Returns whether it would act now for an event of `file`, before there is a record.
    #[inline(always)]
    fn is_due(&self, file: &EventFile) -> bool {
        // As in `act_if`.
        self.left.load() != 0 && self.effect.is_due(file)
    }

    #[inline(always)]
    fn act_if(&self, hit: &Hit<'_>, record: &[u8], is_due: impl FnOnce() -> bool) {
        // First: what a disarmed trigger would look at may be gone.
        let left = self.left.load();
        if left != 0 && is_due() && (left == UNLIMITED || self.take()) {
            self.effect.act(hit, record);
        }
    }

    /// Returns whether the filter lets the record through, which is whole.
    #[inline(always)]
    fn is_meant(&self, pin: &CpuPin, record: &[u8]) -> bool {
        let filter = self.filter.as_ref();
        filter.is_none_or(|filter| filter.matches(pin, record))
    }

    /// Returns whether it may act, by what one number of the record says.
    #[inline(always)]
    pub(super) fn may_act(&self, record: &scratch::Record<'_>) -> bool {
        let filter = self.filter.as_ref();
        filter.is_none_or(|filter| filter.may_match(record))
    }

    /// Returns whether it acts after the event is in the ring, decides whether it gets there, or looks for the callers:
    /// then it acts as one of several does.
    #[inline(always)]
    pub(super) fn judges(&self) -> bool {
        self.judges
    }

    /// Acts on a record that has no common fields but the number of the task. Only for one that is light, if
    /// [`Self::is_unlimited`]. Any context.
    #[inline(always)]
    pub(super) fn act_lightly(
        &self,
        file: &EventFile,
        record: scratch::RecordToRead<'_>,
        pin: PinRef<'_>,
    ) {
        self.effect.act_lightly(file, record, pin);
    }

    /// Does the same, and ends the event: the last jump of the probe.
    #[inline(always)]
    pub(super) fn end_lightly(&self, file: &EventFile, record: scratch::Record<'_>, exit: Exit) {
        // SAFETY: The effect is that of this trigger (invariant).
        unsafe { self.end.end(file, record, self, exit) };
    }

    /// Returns where the last word of a record ends that it needs, if it needs nothing else and acts lightly.
    pub(super) fn words_end(&self) -> Option<usize> {
        self.effect.words_end()
    }

    /// Returns its filter.
    pub(super) fn filter(&self) -> Option<&Filter> {
        self.filter.as_deref()
    }

    /// Acts on a record in the ring, and ends the event: the last jump of the probe. Only for one that has
    /// [`Self::words_end`], if [`Self::is_unlimited`].
    #[inline(always)]
    pub(super) fn end_in_place(&self, record: FilledRecord, file: &EventFile, exit: Exit) {
        self.effect.end_in_place(record, file, exit);
    }

    /// Is told of an event that has no record, on which it might have acted.
    fn miss(&self, pin: &CpuPin) {
        if self.left.load() != 0 {
            self.effect.miss(pin);
        }
    }

    /// Returns whether it acts without end.
    #[inline(always)]
    pub(super) fn is_unlimited(&self) -> bool {
        const { assert!(UNLIMITED == u64::MAX) };
        self.left.is_full()
    }

    /// Acts on a record that the filter lets through. `record` is whole. Only for one that does not
    /// [`Self::judges`]. Any context.
    #[inline(always)]
    pub(super) fn act_on(&self, hit: &Hit<'_>, record: &[u8]) {
        if self.is_meant(hit.pin(), record) {
            self.act_if(hit, record, || true);
        }
    }
}

/// The triggers of an event, in the order in which they act.
pub(crate) struct TriggerList {
    triggers: KVec<Arc<Trigger>>,
    /// Whether one of them needs the record, or the event in the ring. As in ftrace, the others act so
    /// early that they decide about the event itself: it is recorded when one of them switches recording
    /// on.
    conditional: bool,
    /// Whether all of them can act before there is a record.
    early: bool,
    /// The trigger of a list of one, if that needs the record.
    sole: Option<Arc<Trigger>>,
    /// Whether all of them act on all records, and lightly.
    light: bool,
    /// Whether one of them looks for the callers of the probe.
    callers: bool,
}

impl TriggerList {
    /// Returns the list of these; `conditional` when one has a filter or needs the event in the ring.
    pub(crate) fn new(triggers: KVec<Arc<Trigger>>, conditional: bool) -> Self {
        let early = !conditional && triggers.iter().all(|trigger| !trigger.after);
        let sole = match &triggers[..] {
            [trigger] if conditional => Some(trigger.clone()),
            _ => None,
        };
        Self {
            light: triggers.iter().all(|trigger| trigger.light),
            callers: triggers.iter().any(|trigger| trigger.callers),
            triggers,
            conditional,
            early,
            sole,
        }
    }

    /// Returns the trigger of a list of one, if that needs the record.
    pub(super) fn sole(&self) -> Option<&Trigger> {
        self.sole.as_deref()
    }

    /// Returns the same, if it acts on all records and lightly.
    pub(super) fn light(&self) -> Option<&Trigger> {
        self.sole().filter(|trigger| trigger.light)
    }

    /// Returns whether all of them act on all records, and lightly.
    #[inline(always)]
    pub(super) fn is_light(&self) -> bool {
        self.light
    }

    /// Returns whether one of them looks for the callers of the probe.
    #[inline(always)]
    pub(super) fn needs_callers(&self) -> bool {
        self.callers
    }

    /// Has them act on a record that has no common fields but the number of the task, up to the first one that does not
    /// act without end. Returns the rest. Only for a list that [`Self::is_light`]. Any context.
    #[inline(always)]
    pub(super) fn act_lightly<'a>(
        &'a self,
        file: &EventFile,
        record: scratch::RecordToRead<'_>,
        pin: PinRef<'_>,
    ) -> RestOfTriggers<'a> {
        let mut rest = &self.triggers[..];
        while let Some((trigger, others)) = rest.split_first() {
            if !trigger.is_unlimited() {
                break;
            }
            trigger.act_lightly(file, record, pin);
            rest = others;
        }
        RestOfTriggers(rest)
    }

    /// Returns whether all of them can act before there is a record.
    #[inline(always)]
    pub(super) fn is_early(&self) -> bool {
        self.early
    }

    /// Returns whether one of them would act now for an event of `file`. Only for a list that is early. Any context.
    #[inline(always)]
    pub(super) fn is_due(&self, file: &EventFile) -> bool {
        match &self.triggers[..] {
            [trigger] => trigger.is_due(file),
            _ => self.is_any_due(file),
        }
    }

    #[inline(never)]
    fn is_any_due(&self, file: &EventFile) -> bool {
        self.triggers.iter().any(|trigger| trigger.is_due(file))
    }

    /// Has all of them act. Only for a list that is early. Any context.
    #[inline(always)]
    pub(super) fn act(&self, hit: &Hit<'_>) {
        self.triggers
            .iter()
            .for_each(|trigger| trigger.act_early(hit));
    }

    /// Returns whether one of them may act, by what one number of the record says: its common fields do
    /// not matter. Any context.
    #[inline(always)]
    pub(super) fn may_act(&self, record: &scratch::Record<'_>) -> bool {
        self.triggers.iter().any(|trigger| trigger.may_act(record))
    }

    /// Tells all of them of an event that has no record. Any context.
    #[cold]
    pub(super) fn miss(&self, pin: &CpuPin) {
        self.triggers.iter().for_each(|trigger| trigger.miss(pin));
    }

    /// Has the histograms count again or pause. Any context.
    pub(super) fn switch_hists(&self, on: bool) {
        let hists = self
            .triggers
            .iter()
            .filter(|trigger| trigger.effect.is_hist());
        hists.for_each(|trigger| match on {
            true => trigger.rearm(),
            false => trigger.disarm(),
        });
    }

    /// Returns whether the event that switches recording on is too late to be recorded.
    pub(super) fn is_conditional(&self) -> bool {
        self.conditional
    }

    /// Has those act that do so before the event is recorded. `record` is whole. Any context.
    pub(super) fn before<'a>(&'a self, hit: &Hit<'_>, record: &[u8]) -> PendingTriggers<'a> {
        let (mut chosen, mut bit) = (0, 1u64);
        for trigger in &self.triggers {
            let meant = trigger.is_meant(hit.pin(), record);
            if trigger.after {
                chosen |= if meant { bit } else { 0 };
                bit = bit.wrapping_shl(1);
            } else if meant {
                trigger.act(hit, record);
            }
        }
        PendingTriggers {
            list: Some(self),
            chosen,
        }
    }
}

/// Triggers of a list that act on all records, and have not acted yet.
#[derive(Clone, Copy)]
pub(super) struct RestOfTriggers<'a>(&'a [Arc<Trigger>]);

impl RestOfTriggers<'_> {
    /// Returns whether there are none.
    #[inline(always)]
    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Has them act as often as they may. `record` is whole. Any context.
    pub(super) fn act(self, hit: &Hit<'_>, record: &[u8]) {
        self.0.iter().for_each(|trigger| trigger.act(hit, record));
    }
}

/// Triggers that act after the event is recorded.
///
/// Few can: an event has at most one of each kind that does.
#[derive(Clone, Copy)]
pub(super) struct PendingTriggers<'a> {
    list: Option<&'a TriggerList>,
    /// One bit for each trigger of the list that acts afterwards: whether its filter let the record
    /// through.
    chosen: u64,
}

impl PendingTriggers<'_> {
    /// None.
    pub(super) const NONE: Self = Self {
        list: None,
        chosen: 0,
    };

    /// Has them act. Any context.
    pub(super) fn act(self, hit: &Hit<'_>) {
        let Some(list) = self.list.filter(|_| self.chosen != 0) else {
            return;
        };
        let mut rest = self.chosen;
        for trigger in list.triggers.iter().filter(|trigger| trigger.after) {
            if rest & 1 != 0 {
                trigger.act(hit, &[]);
            }
            rest >>= 1;
        }
    }
}
