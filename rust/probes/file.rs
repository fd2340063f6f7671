// SPDX-License-Identifier: GPL-2.0

//! An event that is enabled in an instance, and what of it is recorded.

use super::{
    entry,
    given::given,
    ways::{
        Caller,
        ReservedRecord, //
    },
    CReservation,
    Filter,
    Hit,
    PidFilter,
    RecordSize,
    Sink,
    Trigger,
    TriggerList,
    COMMON,
    MOST_PAYLOAD, //
};
use crate::{
    buffers::rings::OwnRing,
    event::context::Base,
    events::{
        Attachment,
        Event,
        Recipient, //
    },
    kapi::{
        clock,
        grace_either::{
            Either,
            GraceEither, //
        },
        grace_ref::GraceRef,
        percpu::{
            CpuPin,
            PinRef, //
        },
        scratch,
        words::SharedU64, //
    },
    ring::{
        cpu::{
            GateWord,
            DISABLE_BROKEN, //
        },
        packed::PackedSize,
        port::SharedWord,
        writer::ReserveError, //
    },
    text::clock::ClockId, //
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::prelude::*;

/// [`RecordChoice::InPlace`] as a word: the one that a writer compares with first.
const IN_PLACE: u64 = 0;
/// [`RecordChoice::Some`] as a word: the only one that is negative, which is known by the same comparison.
const SOME: u64 = 1 << 63;
/// [`RecordChoice::All`] as a word.
const ALL: u64 = 2;
/// [`RecordChoice::Triggered`] as a word; all four are even.
const TRIGGERED: u64 = 4;

/// Bit of [`EventFile::plain`]: a trigger, or the user while there is one, has the event not recorded.
const OFF: u64 = 1;
/// Bit of [`EventFile::plain`]: a writer has to look further.
const CHOOSES: u64 = 2;

/// What a file records.
pub(super) enum RecordChoice {
    /// Everything.
    All,
    /// What the filter or a trigger is asked about; to be filled in one of these places.
    Filtered(scratch::Places),
    /// Events of some tasks, and of these what the filter lets through, if there is one.
    Some,
    /// There are triggers, or triggers of other events switch this one.
    Triggered,
    /// Everything, and the only trigger looks at it in the ring.
    InPlace,
}

/// An enabled event of an instance: the cookie of its probe.
///
/// # Invariants
///
/// The sink lives longer than this, which stays where it is while its probe can run.
pub(crate) struct EventFile {
    /// [`GateWord::OPEN`] if every record is kept, so that a writer need not look further; else bits of
    /// [`OFF`] and [`CHOOSES`] that say why not.
    plain: SharedU64,
    sink: NonNull<Sink>,
    id: u16,
    /// That of the shortest record.
    least_size: RecordSize,
    pub(super) base: Base,
    /// None when everything is recorded.
    filter: GraceRef<Filter>,
    /// What is asked first about a record beside the ring: the filter, if there are no triggers; or the only trigger, if
    /// it acts on all records and lightly.
    gate: GraceEither<Filter, Trigger>,
    /// None when nothing but recording follows.
    triggers: GraceRef<TriggerList>,
    /// The only trigger, if it acts on all records and lightly, and needs nothing but words of the record, none of which ends after [`Self::least_size`].
    in_place: GraceRef<Trigger>,
    /// The only trigger, if that needs the record.
    sole: GraceRef<Trigger>,
    /// Its filter.
    sole_filter: GraceRef<Filter>,
    /// How many triggers need the probe: its own, and those that switch the event.
    soft: SharedU64,
    /// None when tasks do not matter.
    pids: GraceRef<PidFilter>,
    /// What that makes: [`TRIGGERED`], [`IN_PLACE`], [`ALL`], the word of the scratch places when there is only a filter
    /// or there are triggers that need the record, or [`SOME`].
    chosen: SharedU64,
    /// The bits of a gate that is disabled with which a writer has to look further: that of a broken ring;
    /// for a file that has triggers or is switched by some, any.
    heeded: SharedU64,
    retired: bool,
    event: &'static Event,
    /// What the source of the event wants its probe to find here.
    probe_data: *const c_void,
}

// SAFETY: The pointers are to values that are `Sync`; what the source has for its probe is for any context.
unsafe impl Send for EventFile {}
// SAFETY: Through `&self` only atomic words and `GraceRef`s change, and what the pointers name is
// `Sync` or for any context.
unsafe impl Sync for EventFile {}

impl EventFile {
    /// Returns one for `event`, recorded into `sink`.
    ///
    /// # Safety
    ///
    /// - The sink lives longer than the result.
    /// - From the first [`Self::attachment`] on the result stays where it is, until the source of the
    ///   event has taken the probe off, if it put it on, and after that
    ///   [`crate::events::synchronize`] has returned.
    pub(crate) unsafe fn new(event: &'static Event, sink: &Sink) -> Self {
        // INVARIANT: The caller promises both.
        Self {
            plain: SharedWord::new(GateWord::OPEN),
            sink: sink.into(),
            id: event.id(),
            least_size: RecordSize::with_len(event.size()).1,
            base: Base::new(
                event.id(),
                entry::OWN.saturating_add(event.source().own_depth()),
            ),
            filter: GraceRef::none(),
            gate: GraceEither::none(),
            triggers: GraceRef::none(),
            in_place: GraceRef::none(),
            sole: GraceRef::none(),
            sole_filter: GraceRef::none(),
            soft: SharedU64::zero(),
            pids: GraceRef::none(),
            chosen: SharedWord::new(ALL),
            heeded: SharedWord::new(DISABLE_BROKEN),
            retired: false,
            event,
            probe_data: event.source().probe_data(),
        }
    }

    /// Returns what is recorded into.
    #[inline(always)]
    pub(crate) fn sink(&self) -> &Sink {
        // SAFETY: It lives longer than this (invariant).
        unsafe { self.sink.as_ref() }
    }

    /// The clock, if all is recorded, recording is on, and it is a clock that is made here. The gate is
    /// that of a ring of this file.
    #[inline(always)]
    pub(super) fn clock_here(&self, gate: GateWord) -> Option<clock::InlineClock> {
        clock::InlineClock::left_when(gate, &self.plain)
    }

    /// Returns whether every record is kept.
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        self.plain.load() & GateWord::OPEN != 0
    }

    /// Returns the ring that its events of this CPU go into.
    #[inline(always)]
    pub(super) fn ring<'p>(&'p self, pin: PinRef<'p>) -> OwnRing<'p> {
        self.sink().buffers().rings().this(pin)
    }

    /// The event.
    pub(crate) fn event(&self) -> &'static Event {
        self.event
    }

    /// Returns what the source of the event has for its probe.
    #[inline(always)]
    pub(crate) fn probe_data(&self) -> *const c_void {
        self.probe_data
    }

    /// Returns what the source of the event is told, for an instance that records `user_bytes` of what an
    /// argument of a system call points to.
    pub(crate) fn attachment(&self, user_bytes: u64) -> Attachment {
        self.attachment_of(Recipient::at(self.sink()), user_bytes)
    }

    /// Returns the same for `recipient`.
    pub(super) fn attachment_of(&self, recipient: Recipient, user_bytes: u64) -> Attachment {
        // SAFETY: `rtrace_reserve()` expects the file of the event, which stays where it is while its
        // probe can run (invariant).
        unsafe { Attachment::new(self.event, self.cookie(), recipient, user_bytes) }
    }

    /// Returns the id of the event.
    #[inline(always)]
    pub(crate) fn id(&self) -> u16 {
        self.id
    }

    /// Returns whether this is the file of `event`.
    pub(crate) fn is_for(&self, event: &Event) -> bool {
        ptr::eq(self.event, event)
    }

    /// Returns the file for which a source puts a probe on.
    ///
    /// # Safety
    ///
    /// The probe is not taken off, or [`crate::events::synchronize`] still waits for the caller.
    pub(crate) unsafe fn of_attachment(to: &Attachment) -> &Self {
        // SAFETY: Its cookie is what `rtrace_reserve()` expects, a file that stays for so long (invariant).
        unsafe { &*to.cookie().cast::<Self>() }
    }

    /// Returns whether it is that for which a source puts a probe on.
    pub(crate) fn is_of(&self, attachment: &Attachment) -> bool {
        self.cookie() == attachment.cookie()
    }

    /// Counts an event that was not recorded because too many were inside each other. Any context.
    pub(crate) fn miss(&self, pin: &CpuPin) {
        if !self.is_off() {
            self.follow_refusal(pin, ReserveError::Recursion);
        }
    }

    /// Returns the most bytes that a record can have on this CPU in the instance; as many as each ring takes while that is
    /// being changed. Any context.
    pub(crate) fn longest(&self, pin: &CpuPin) -> usize {
        self.sink().longest(pin).unwrap_or(MOST_PAYLOAD)
    }

    /// Returns what the probe gets.
    fn cookie(&self) -> *mut c_void {
        (&raw const *self).cast_mut().cast()
    }

    /// Returns which records are kept.
    #[inline(always)]
    pub(super) fn choice(&self) -> RecordChoice {
        let word = self.chosen.load();
        // SAFETY: `update` stored it, or it is one of the even words there are without it.
        match unsafe { scratch::Places::of_word(word) } {
            Some(places) => RecordChoice::Filtered(places),
            None if word == IN_PLACE => RecordChoice::InPlace,
            None if (word as i64) < 0 => RecordChoice::Some,
            None if word == TRIGGERED => RecordChoice::Triggered,
            None => RecordChoice::All,
        }
    }

    /// Returns whether the file has triggers or is switched by some.
    #[inline(always)]
    pub(super) fn is_triggered(&self) -> bool {
        self.heeded.load() == u64::MAX
    }

    /// Returns whether a writer has to look further that found this gate, which is disabled.
    #[inline(always)]
    pub(super) fn heeds(&self, gate: GateWord) -> bool {
        gate.word() & self.heeded.load() != 0
    }

    /// Sets or clears `bit` of what keeps the file from being plain. Any context.
    fn change(&self, bit: u64, on: bool) {
        loop {
            let old = self.plain.load();
            let bits = old & !GateWord::OPEN;
            let new = match if on { bits | bit } else { bits & !bit } {
                0 => GateWord::OPEN,
                bits => bits,
            };
            if old == new || self.plain.cas(old, new) {
                return;
            }
        }
    }

    /// Returns whether the event is not recorded, though its probe is attached. Any context.
    #[inline(always)]
    pub(crate) fn is_off(&self) -> bool {
        self.plain.load() & OFF != 0
    }

    /// Has the event not be recorded any more, or be recorded again. Any context, NMI included.
    pub(crate) fn set_off(&self, off: bool) {
        self.change(OFF, off);
    }

    /// Has the event be recorded, as the user wants, or not any more. Callers take turns, also with
    /// [`Self::set_filter`].
    pub(crate) fn switch(&self, on: bool) {
        self.set_off(!on);
        self.update();
    }

    /// Returns whether a trigger needs the probe.
    pub(crate) fn is_soft(&self) -> bool {
        self.soft.load() != 0
    }

    /// Counts a trigger that needs the probe. Callers take turns, also with [`Self::set_filter`].
    pub(crate) fn add_soft(&self) {
        self.soft.store(self.soft.load().wrapping_add(1));
        self.update();
    }

    /// Counts one less. Likewise.
    pub(crate) fn drop_soft(&self) {
        self.soft.store(self.soft.load().saturating_sub(1));
        self.update();
    }

    /// Has `triggers` act from now on. Callers take turns, also with [`Self::set_filter`].
    ///
    /// # Safety
    ///
    /// The list stays where it is until another one, or none, was set and
    /// [`crate::events::synchronize`] has returned, or this has gone.
    pub(crate) unsafe fn set_triggers(&self, triggers: Option<&TriggerList>) {
        // SAFETY: The caller keeps it until probes that may have got it have ended.
        unsafe { self.triggers.set(triggers) };
        let light = triggers.and_then(TriggerList::light);
        let fits = |end: usize| end <= self.event.size();
        let in_place = light.filter(|trigger| trigger.words_end().is_some_and(fits));
        // SAFETY: It is in the list, which stays as before.
        unsafe { self.in_place.set(in_place) };
        let sole = triggers.and_then(TriggerList::sole);
        // SAFETY: It is in the list, which stays as before.
        unsafe { self.sole.set(sole) };
        // SAFETY: The trigger has it, which is in the list.
        unsafe { self.sole_filter.set(sole.and_then(Trigger::filter)) };
        self.update();
    }

    /// Returns the triggers.
    #[inline(always)]
    pub(super) fn triggers(&self) -> Option<&TriggerList> {
        self.triggers.get()
    }

    /// Returns the only trigger, if it looks at records in the ring.
    #[inline(always)]
    pub(super) fn trigger_in_place(&self) -> Option<&Trigger> {
        self.in_place.get()
    }

    /// Returns the size that each record has at least in which a trigger looks at words in the ring.
    #[inline(always)]
    pub(super) fn least_size(&self) -> PackedSize {
        self.least_size.into()
    }

    /// Returns the filter of the only trigger.
    #[inline(always)]
    pub(super) fn sole_filter(&self) -> Option<&Filter> {
        self.sole_filter.get()
    }

    /// Returns the only trigger, if that needs the record.
    #[inline(always)]
    pub(super) fn sole_trigger(&self) -> Option<&Trigger> {
        self.sole.get()
    }

    /// Has the histograms of the event count again or pause. Any context.
    pub(crate) fn switch_hists(&self, on: bool) {
        if let Some(triggers) = self.triggers.get() {
            triggers.switch_hists(on);
        }
    }

    /// Returns whether there are triggers.
    #[inline(always)]
    pub(super) fn has_triggers(&self) -> bool {
        !self.triggers.is_none()
    }

    /// Updates the words that writers look at after a change of the filter, of the pids or of the triggers.
    /// Callers take turns.
    fn update(&self) {
        // What is off and needed by no trigger any more is about to be detached.
        let triggered = self.has_triggers() || self.is_soft() || self.is_off();
        let gate = match (self.triggers().and_then(TriggerList::light), self.filter()) {
            (Some(light), _) => Either::Second(light),
            (None, Some(filter)) if !triggered => Either::First(filter),
            _ => Either::None,
        };
        // SAFETY: The caller of `set_filter` and that of `set_triggers`, whose list has the trigger, keep it until another
        // one was set, which comes here, too, and until probes that may have got it have ended.
        unsafe { self.gate.set(gate) };
        let places = |other| scratch::Places::get().map_or(other, scratch::Places::word);
        let chosen = match (self.filter.is_none(), self.pids.is_none()) {
            (true, true) if !self.in_place.is_none() && !self.is_off() => IN_PLACE,
            (_, true) if self.triggers().is_some_and(|list| !list.is_early()) => places(TRIGGERED),
            _ if triggered => TRIGGERED,
            (true, true) => ALL,
            (false, true) => places(SOME),
            _ => SOME,
        };
        self.heeded.store(match triggered {
            true => u64::MAX,
            false => DISABLE_BROKEN,
        });
        self.chosen.store(chosen);
        let all = !self.has_triggers() && self.filter.is_none() && self.pids.is_none();
        // After `chosen`, at which a writer looks next.
        self.change(CHOOSES, !all);
    }

    /// Lets only records through that `filter` lets through. Not at the same time as
    /// [`Self::set_pids`].
    ///
    /// # Safety
    ///
    /// The filter stays where it is until another one, or none, was set and
    /// [`crate::events::synchronize`] has returned, or this has gone.
    pub(crate) unsafe fn set_filter(&self, filter: Option<&Filter>) {
        // SAFETY: The caller keeps it until probes that may have got it have ended.
        unsafe { self.filter.set(filter) };
        self.update();
    }

    /// Returns whether there is a filter.
    #[inline(always)]
    pub(super) fn has_filter(&self) -> bool {
        !self.filter.is_none()
    }

    /// The filter.
    #[inline(always)]
    pub(super) fn filter(&self) -> Option<&Filter> {
        self.filter.get()
    }

    /// Returns what is asked first about a record beside the ring: the filter, where that can end by it alone; or the
    /// only trigger, if it acts on all records and lightly.
    #[inline(always)]
    pub(super) fn gate(&self) -> Either<'_, Filter, Trigger> {
        self.gate.get()
    }

    /// Records `record`, which is whole. Returns whether it was recorded. Any context.
    pub(super) fn put(&self, pin: &CpuPin, record: &[u8]) -> bool {
        let rest = record.get(COMMON..).unwrap_or_default();
        let fill = |room: &mut [u8]| {
            let len = room.len().min(rest.len());
            if let (Some(to), Some(from)) = (room.get_mut(..len), rest.get(..len)) {
                to.copy_from_slice(from);
            }
        };
        let result = self.sink().record(pin, self.base, record.len(), fill);
        if let Err(why) = result {
            self.follow_refusal(pin, why);
        }
        result.is_ok()
    }

    /// Runs what follows an event that a ring refused.
    fn follow_refusal(&self, pin: &CpuPin, why: ReserveError) {
        if let (true, Some(actions)) = (why != ReserveError::Disabled, self.sink().actions(pin)) {
            actions.refused(&Hit::new(pin.by_value(), self));
        }
    }

    /// Records only what `pids` does not ignore. Not at the same time as [`Self::set_filter`].
    ///
    /// # Safety
    ///
    /// It lives longer than this.
    pub(crate) unsafe fn set_pids(&self, pids: Option<&PidFilter>) {
        // SAFETY: The caller keeps it longer than this.
        unsafe { self.pids.set(pids) };
        self.update();
    }

    /// Returns whether the task that runs on this CPU is ignored.
    #[inline(always)]
    pub(super) fn ignores(&self, pin: PinRef<'_>) -> bool {
        self.pids.get().is_some_and(|pids| pids.ignores(pin.pin()))
    }

    /// Its probe is off.
    pub(crate) fn retire(&mut self) {
        self.retired = true;
    }

    /// Returns whether its probe is detached.
    pub(crate) fn is_retired(&self) -> bool {
        self.retired
    }
}

impl Caller for EventFile {
    type Size = RecordSize;

    #[inline(always)]
    fn clock(&self) -> ClockId {
        self.sink().clock()
    }

    #[inline(always)]
    fn given(&self, ring: OwnRing<'_>, reserved: ReservedRecord<'_, RecordSize>) -> CReservation {
        given::<0>(self, ring, reserved)
    }

    #[cold]
    fn refused(&self, ring: OwnRing<'_>, why: ReserveError) {
        self.sink().refused(&ring, why);
        self.follow_refusal(ring.pin().pin(), why);
    }

    #[inline(always)]
    fn follows_refusals(&self) -> bool {
        self.sink().has_actions()
    }
}
