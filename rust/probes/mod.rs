// SPDX-License-Identifier: GPL-2.0

//! Where events come in: what a probe in C calls, and what Rust calls to record.
//!
//! The functions here run in every context, NMI included, with preemption disabled. They take no
//! lock, allocate nothing and cannot panic.

mod chosen;
mod counts;
mod entry;
mod external;
mod filter;
mod pids;
mod raw;
mod stack;
mod steps;
mod syscalls;

pub(crate) use self::{
    filter::Filter,
    pids::{
        PidFilter,
        PidList,
        PidSet, //
    },
    stack::Stacks,
    syscalls::Calls, //
};

pub(crate) use counts::Counts;

use self::steps::{
    for_c,
    give_up,
    leave,
    token,
    ForC,
    NOTHING, //
};
use crate::{
    event::context::Base,
    instance::Buffers,
    kapi::{
        clock,
        context,
        events::Event,
        percpu::CpuPin,
        port::Ring,
        scratch,
        waker::Waker,
        words::SharedU64, //
    },
    ring::{
        mark::Published,
        port::SharedWord,
        writer::Refused, //
    },
    text::clock::ClockId, //
};
use core::ptr::NonNull;
use kernel::prelude::*;

/// Bytes of the common fields that every record begins with.
pub(crate) const COMMON: usize = 8;

/// Most bytes of a record.
pub(crate) const MOST_PAYLOAD: usize = 4072;

/// What the probes of an instance read of it besides the rings.
pub(crate) struct Recorder {
    clock: SharedU64,
    /// That clock as one that is made here, if it is.
    here: SharedU64,
    stacks: SharedU64,
    /// Address of the [`Counts`]; 0 while nobody wants to know.
    counts: SharedU64,
}

impl Recorder {
    /// With this clock.
    pub(crate) fn new(clock: ClockId) -> Self {
        Self {
            clock: SharedWord::new(clock as u64),
            here: SharedWord::new(clock::Here::word(clock::Here::of(clock))),
            stacks: SharedWord::new(Stacks::NONE.word()),
            counts: SharedWord::new(0),
        }
    }

    /// Is an event all that is recorded of it?
    pub(crate) fn is_simple(&self) -> bool {
        self.counts.load() == 0 && self.stacks() == Stacks::NONE
    }

    /// The clock.
    #[inline(always)]
    pub(crate) fn clock(&self) -> ClockId {
        let number = self.clock.load();
        if number == ClockId::Local as u64 {
            return ClockId::Local;
        }
        ClockId::ALL
            .get(number as usize)
            .copied()
            .unwrap_or(ClockId::Local)
    }

    /// The clock, if it is one that is made here.
    #[inline(always)]
    pub(crate) fn clock_here(&self) -> Option<clock::Here> {
        // SAFETY: The word holds nothing else.
        unsafe { clock::Here::of_word(self.here.load()) }
    }

    /// Where events are counted, if they are.
    #[inline(always)]
    pub(crate) fn counts(&self) -> Option<&Counts> {
        match self.counts.load() {
            0 => None,
            // SAFETY: By the contract of `set_counts`, which exposed the address.
            address => Some(unsafe { &*core::ptr::with_exposed_provenance(address as usize) }),
        }
    }

    /// Chooses where events are counted. Writers look once their [`Waker`] knows of it.
    ///
    /// # Safety
    ///
    /// The counts live as long as anybody may ask this recorder for them.
    pub(crate) unsafe fn set_counts(&self, counts: Option<&Counts>) {
        let address = counts.map_or(0, |counts| (&raw const *counts).expose_provenance());
        // Release: they are initialised.
        self.counts.store_release(address as u64);
    }

    /// What follows each event.
    #[inline(always)]
    pub(crate) fn stacks(&self) -> Stacks {
        Stacks::from_word(self.stacks.load())
    }

    /// Chooses what follows each event. The memory for stacks is there, unless it is nothing. Writers look
    /// once their [`Waker`] knows of it.
    pub(crate) fn set_stacks(&self, stacks: Stacks) {
        self.stacks.store(stacks.word());
    }

    /// Chooses the clock. The rings are empty and nobody writes.
    pub(crate) fn set_clock(&self, clock: ClockId) {
        self.clock.store(clock as u64);
        self.here.store(clock::Here::word(clock::Here::of(clock)));
    }
}

/// For who has to look closer: no clock is made here.
static NOWHERE: SharedU64 = SharedU64::zero();

/// [`Choice::All`] as a word.
const ALL: u64 = 0;
/// [`Choice::Some`] as a word; both are even.
const SOME: u64 = 2;

/// What a file records.
enum Choice {
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
    buffers: NonNull<Buffers>,
    recorder: NonNull<Recorder>,
    waker: NonNull<Waker>,
    id: u16,
    base: Base,
    /// Address of the [`Filter`]; 0 when everything is recorded.
    filter: SharedU64,
    /// Address of the [`PidFilter`]; 0 when tasks do not matter.
    pids: SharedU64,
    /// What that makes: [`ALL`], the word of the scratch places when there is only a filter, or [`SOME`].
    chosen: SharedU64,
    /// Address of the word that says where the clock is made: that of the recorder when all is recorded,
    /// else [`NOWHERE`].
    here: SharedU64,
    retired: bool,
    event: &'static Event,
}

// SAFETY: The pointers are to values that are `Sync`.
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
            buffers: buffers.into(),
            recorder: recorder.into(),
            waker: waker.into(),
            id: event.id(),
            base: Base::new(event.id(), entry::OWN),
            filter: SharedWord::new(0),
            pids: SharedWord::new(0),
            chosen: SharedWord::new(ALL),
            here: SharedWord::new(Self::word_of(&recorder.here)),
            retired: false,
            event,
        }
    }

    fn word_of(word: &SharedU64) -> u64 {
        (&raw const *word).expose_provenance() as u64
    }

    /// The clock, if all is recorded and it is a clock that is made here.
    #[inline(always)]
    fn clock_here(&self) -> Option<clock::Here> {
        let word: *const SharedU64 = core::ptr::with_exposed_provenance(self.here.load() as usize);
        // SAFETY: A word of the recorder, which lives longer than this, or a static.
        let word = unsafe { &*word };
        // SAFETY: The words hold nothing else.
        unsafe { clock::Here::of_word(word.load()) }
    }

    /// The event.
    pub(crate) fn event(&self) -> &'static Event {
        self.event
    }

    /// Is it the file of `event`?
    pub(crate) fn is_for(&self, event: &Event) -> bool {
        self.id == event.id()
    }

    /// What the probe gets.
    pub(crate) fn cookie(&self) -> *mut c_void {
        (&raw const *self).cast_mut().cast()
    }

    /// What is recorded?
    #[inline(always)]
    fn choice(&self) -> Choice {
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
        // SAFETY: By the invariant.
        let recorder = unsafe { self.recorder.as_ref() };
        let word = match chosen {
            ALL => &recorder.here,
            _ => &NOWHERE,
        };
        // Behind what is to be looked at then.
        self.here.store(Self::word_of(word));
    }

    /// Lets only records through that `filter` lets through. Not at the same time as
    /// [`Self::set_pids`].
    ///
    /// # Safety
    ///
    /// The filter stays where it is until another one, or none, was set and
    /// [`crate::kapi::events::synchronize`] has returned, or this has gone.
    pub(crate) unsafe fn set_filter(&self, filter: Option<&Filter>) {
        let address = filter.map_or(0, |filter| (&raw const *filter).expose_provenance());
        // Release: its contents come first.
        self.filter.store_release(address as u64);
        self.update();
    }

    /// Is there a filter?
    #[inline(always)]
    fn has_filter(&self) -> bool {
        self.filter.load() != 0
    }

    /// The filter.
    #[inline(always)]
    fn filter(&self) -> Option<&Filter> {
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
    fn ignores(&self, pin: &CpuPin) -> bool {
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

/// Fills the common fields of a record.
#[inline(always)]
fn fill_common(record: &mut [u8], base: Base) {
    let raw = context::raw();
    let words = record.chunks_exact_mut(size_of::<u32>());
    for (bytes, word) in words.zip([raw.word(base), raw.pid as u32]) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
}

/// Records an event of `len` bytes whose part behind the common fields `fill` fills.
///
/// # Errors
///
/// Why it was not recorded.
pub(crate) fn record(
    pin: &CpuPin,
    buffers: &Buffers,
    recorder: &Recorder,
    waker: &Waker,
    base: Base,
    len: usize,
    fill: impl FnOnce(&mut [u8]),
) -> Result<(), Refused> {
    let ring = buffers.rings().this(pin);
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    let mut reserved = writer
        .reserve(len, || clock::read(recorder.clock()))
        .inspect_err(|why| refused(ring, buffers, *why))?;
    fill_common(reserved.payload(), base);
    if let Some(rest) = reserved.payload().get_mut(COMMON..) {
        fill(rest);
    }
    tell(ring, buffers, waker, reserved.commit());
    Ok(())
}

/// A writer has left `ring`.
#[inline(always)]
fn tell(ring: &Ring, buffers: &Buffers, waker: &Waker, what: Published) {
    match what {
        Published::Nothing => {}
        Published::Events => waker.published(),
        Published::Mark => {
            waker.published();
            buffers.marked(ring);
        }
    }
}

/// A writer was refused by `ring`.
#[cold]
fn refused(ring: &Ring, buffers: &Buffers, why: Refused) {
    match why {
        Refused::Broken => buffers.refused(ring),
        // Those that interrupted it may have filled the ring, and it has published their events.
        Refused::Full | Refused::TooBig => buffers.marked(ring),
        _ => {}
    }
}
