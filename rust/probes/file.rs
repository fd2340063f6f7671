// SPDX-License-Identifier: GPL-2.0

//! An event that is enabled in an instance, and what of it is recorded.

use super::{
    entry,
    given::given,
    refused,
    ways::Caller,
    Filter,
    ForC,
    PidFilter,
    Recorder, //
};
use crate::{
    buffers::Buffers,
    event::context::Base,
    events::{
        Attachment,
        Event,
        Recipient, //
    },
    kapi::{
        clock,
        percpu::CpuPin,
        port::{
            Kernel,
            Ring, //
        },
        scratch,
        waker::Waker,
        words::SharedU64, //
    },
    ring::{
        cpu::Gate,
        port::SharedWord,
        reserved::Reserved,
        writer::Refused, //
    },
    text::clock::ClockId, //
};
use core::ptr::NonNull;
use kernel::prelude::*;

/// [`Choice::All`] as a word.
const ALL: u64 = 0;
/// [`Choice::Some`] as a word; both are even.
const SOME: u64 = 2;

/// What a file records.
pub(super) enum Choice {
    /// Everything.
    All,
    /// What the filter lets through; to be filled in one of these places.
    Filtered(scratch::Places),
    /// Events of some tasks, and of these what the filter lets through, if there is one.
    Some,
}

/// An enabled event of an instance: the cookie of its probe.
///
/// # Invariants
///
/// - What the pointers name lives longer than this.
/// - The filter goes only after another one was set and all probes that began before have ended.
pub(crate) struct EventFile {
    /// [`Gate::OPEN`] when all is recorded, so that nobody has to look closer; else 0.
    plain: SharedU64,
    pub(super) buffers: NonNull<Buffers>,
    pub(super) recorder: NonNull<Recorder>,
    pub(super) waker: NonNull<Waker>,
    pub(super) id: u16,
    pub(super) base: Base,
    /// Address of the [`Filter`]; 0 when everything is recorded.
    filter: SharedU64,
    /// Address of the [`PidFilter`]; 0 when tasks do not matter.
    pids: SharedU64,
    /// What that makes: [`ALL`], the word of the scratch places when there is only a filter, or [`SOME`].
    chosen: SharedU64,
    retired: bool,
    event: &'static Event,
    /// What the source of the event wants its probe to find here.
    probe_data: *const c_void,
}

// SAFETY: The pointers are to values that are `Sync`; what the source has for its probe is for any context.
unsafe impl Send for EventFile {}
// SAFETY: As above.
unsafe impl Sync for EventFile {}

impl EventFile {
    /// For `event`, recorded into these rings.
    ///
    /// # Safety
    ///
    /// All of them live longer than the result.
    pub(crate) unsafe fn new(
        event: &'static Event,
        buffers: &Buffers,
        recorder: &Recorder,
        waker: &Waker,
    ) -> Self {
        // INVARIANT: By the contract.
        Self {
            plain: SharedWord::new(Gate::OPEN),
            buffers: buffers.into(),
            recorder: recorder.into(),
            waker: waker.into(),
            id: event.id(),
            base: Base::new(event.id(), entry::OWN),
            filter: SharedWord::new(0),
            pids: SharedWord::new(0),
            chosen: SharedWord::new(ALL),
            retired: false,
            event,
            probe_data: event.source().probe_data(),
        }
    }

    /// The clock, if all is recorded, recording is on, and it is a clock that is made here. The gate is
    /// that of a ring of this file.
    #[inline(always)]
    pub(super) fn clock_here(&self, gate: Gate) -> Option<clock::Here> {
        // SAFETY: `Instance` leaves nothing else there.
        unsafe { clock::Here::left_when(gate, &self.plain) }
    }

    /// Is all recorded?
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        self.plain.load() != 0
    }

    /// The ring that its events of this CPU go into.
    #[inline(always)]
    pub(super) fn ring(&self, pin: &CpuPin) -> &Ring {
        // SAFETY: By the invariant.
        unsafe { self.buffers.as_ref() }.rings().this(pin)
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
        Attachment {
            cookie: self.cookie(),
            // SAFETY: The recorder lives longer than this (invariant).
            recipient: Recipient::at(unsafe { self.recorder.as_ref() }),
            user_bytes,
        }
    }

    /// Is it the file of `event`?
    pub(crate) fn is_for(&self, event: &Event) -> bool {
        self.id == event.id()
    }

    /// What the probe gets.
    fn cookie(&self) -> *mut c_void {
        (&raw const *self).cast_mut().cast()
    }

    /// What is recorded?
    #[inline(always)]
    pub(super) fn choice(&self) -> Choice {
        let word = self.chosen.load();
        // SAFETY: `update` stored it, or it is one of the even words there are without it.
        match unsafe { scratch::Places::of_word(word) } {
            Some(places) => Choice::Filtered(places),
            None if word == ALL => Choice::All,
            None => Choice::Some,
        }
    }

    /// After a change of what is recorded. One caller at a time.
    fn update(&self) {
        let chosen = match (self.filter.load(), self.pids.load()) {
            (0, 0) => ALL,
            (_, 0) => scratch::Places::get().map_or(SOME, scratch::Places::word),
            _ => SOME,
        };
        self.chosen.store(chosen);
        // Behind what is to be looked at then.
        self.plain.store(match chosen {
            ALL => Gate::OPEN,
            _ => 0,
        });
    }

    /// Lets only records through that `filter` lets through. Not at the same time as
    /// [`Self::set_pids`].
    ///
    /// # Safety
    ///
    /// The filter stays where it is until another one, or none, was set and
    /// [`crate::events::synchronize`] has returned, or this has gone.
    pub(crate) unsafe fn set_filter(&self, filter: Option<&Filter>) {
        let address = filter.map_or(0, |filter| (&raw const *filter).expose_provenance());
        // Release: its contents come first.
        self.filter.store_release(address as u64);
        self.update();
    }

    /// Is there a filter?
    #[inline(always)]
    pub(super) fn has_filter(&self) -> bool {
        self.filter.load() != 0
    }

    /// The filter.
    #[inline(always)]
    pub(super) fn filter(&self) -> Option<&Filter> {
        match self.filter.load() {
            0 => None,
            // SAFETY: By the invariant; the address was exposed by `set_filter`. The loads through
            // it depend on the load of it.
            address => Some(unsafe { &*core::ptr::with_exposed_provenance(address as usize) }),
        }
    }

    /// Records only what `pids` does not ignore. Not at the same time as [`Self::set_filter`].
    ///
    /// # Safety
    ///
    /// It lives longer than this.
    pub(crate) unsafe fn set_pids(&self, pids: Option<&PidFilter>) {
        let address = pids.map_or(0, |pids| (&raw const *pids).expose_provenance());
        self.pids.store_release(address as u64);
        self.update();
    }

    /// Is the task that runs on this CPU not to be recorded?
    #[inline(always)]
    pub(super) fn ignores(&self, pin: &CpuPin) -> bool {
        match self.pids.load() {
            0 => false,
            address => {
                let pids = core::ptr::with_exposed_provenance::<PidFilter>(address as usize);
                // SAFETY: By the contract of `set_pids`, which exposed the address.
                unsafe { &*pids }.ignores(pin)
            }
        }
    }

    /// Its probe is off.
    pub(crate) fn retire(&mut self) {
        self.retired = true;
    }

    /// Is its probe off?
    pub(crate) fn is_retired(&self) -> bool {
        self.retired
    }
}

impl Caller for EventFile {
    #[inline(always)]
    fn clock(&self) -> ClockId {
        // SAFETY: By the invariant.
        unsafe { self.recorder.as_ref() }.clock()
    }

    #[inline(always)]
    fn given(&self, ring: &Ring, reserved: Reserved<'_, Kernel>) -> ForC {
        given(self, ring, reserved)
    }

    #[cold]
    fn refused(&self, pin: &CpuPin, ring: &Ring, why: Refused) {
        // SAFETY: By the invariant.
        let (buffers, recorder) = unsafe { (self.buffers.as_ref(), self.recorder.as_ref()) };
        refused(ring, buffers, why);
        if let (true, Some(counts)) = (why != Refused::Disabled, recorder.counts()) {
            counts.lost(pin, self.id);
        }
    }
}
