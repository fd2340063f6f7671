// SPDX-License-Identifier: GPL-2.0

//! What the writers of an instance record into: its rings, by its clock, and what follows an event.

use super::{
    given::fill_common,
    ActionList,
    COMMON, //
};
use crate::{
    buffers::Buffers,
    event::context::Base,
    kapi::{
        clock,
        percpu::CpuPin,
        port::Ring,
        publisher::{
            FollowedArc,
            RetiredBox, //
        },
        waker::Waker,
        words::SharedU64,
        worker::Worker, //
    },
    ring::{
        cpu::DISABLE_USER,
        port::SharedWord,
        watermark::Publication,
        writer::ReserveError, //
    },
    text::clock::ClockId, //
};
use core::{
    cell::Cell,
    convert::Infallible, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// What writers use of an instance.
#[pin_data]
pub(crate) struct Sink {
    #[pin]
    buffers: Buffers,
    clock: SharedU64,
    /// Whether the user, or a trigger, wants recording on.
    on: SharedU64,
    actions: FollowedArc<ActionList>,
    /// The longest latency that the tracer has seen, in nanoseconds.
    max_latency: SharedU64,
    /// The CPU whose records are to be dumped, plus one; 0 for none.
    dumped_cpu: SharedU64,
    /// Does what triggers want and only process context can do.
    #[pin]
    worker: Worker,
}

/// Bit of what is wanted of the worker: a snapshot.
pub(crate) const WANT_SNAPSHOT: u64 = 1;
/// Bit of what is wanted of the worker: to tell of recording that was switched on or off.
pub(crate) const WANT_NEWS: u64 = 2;
/// Bit of what is wanted of the worker: to have the banks ready for the next longest latency.
pub(crate) const WANT_MAXIMUM: u64 = 4;
/// Bit of what is wanted of the worker: to tell programs of a longest latency.
pub(crate) const WANT_TELLING: u64 = 8;
/// Bits of what is wanted of the worker: to dump all records, or those of one CPU.
pub(crate) const WANT_DUMP: u64 = 16;
pub(crate) const WANT_CPU_DUMP: u64 = 32;
/// Bit of what is wanted of the worker: more room for entries of histograms.
pub(crate) const WANT_ROOM: u64 = 64;

impl Sink {
    /// Returns one with these rings and this clock, where recording is on and `worker` does what triggers
    /// want.
    pub(crate) fn new<E>(
        buffers: impl PinInit<Buffers, E>,
        clock: ClockId,
        worker: impl PinInit<Worker>,
    ) -> impl PinInit<Self, E>
    where
        E: From<Infallible>,
    {
        pin_init!(Self {
            buffers <- buffers,
            clock: SharedWord::new(clock as u64),
            on: SharedWord::new(1),
            actions: FollowedArc::none(),
            max_latency: SharedU64::zero(),
            dumped_cpu: SharedU64::zero(),
            worker <- worker,
        }? E)
    }

    /// Returns the rings.
    #[inline(always)]
    pub(crate) fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// Returns what wakes the readers of the rings.
    #[inline(always)]
    pub(crate) fn waker(&self) -> &Waker {
        self.buffers.waker()
    }

    /// Returns whether recording is on. Any context.
    pub(crate) fn is_on(&self) -> bool {
        self.on.load() != 0
    }

    /// Says that recording is on or off, before [`Self::switch`] makes it so. Any context.
    pub(crate) fn announce(&self, on: bool) {
        // Not a plain store: the rings must not be looked at before other CPUs see the word.
        while !self.on.cas(self.on.load(), u64::from(on)) {}
    }

    /// Switches recording on or off. Any context, NMI included.
    ///
    /// Of callers that come together or interrupt each other, one that ends last leaves all rings as the
    /// word says: the word is stored before the rings, and each caller looks at it again afterwards.
    pub(crate) fn switch(&self, on: bool) {
        self.announce(on);
        loop {
            let now = self.is_on();
            self.buffers
                .each(|ring| ring.set_disabled(DISABLE_USER, !now));
            if self.is_on() == now {
                return;
            }
        }
    }

    /// Returns the longest latency that the tracer has seen, in nanoseconds. Any context.
    pub(crate) fn max_latency(&self) -> u64 {
        self.max_latency.load()
    }

    /// Has longer latencies than this one, in nanoseconds, be seen. Any context.
    pub(crate) fn set_max_latency(&self, ns: u64) {
        self.max_latency.store(ns);
    }

    /// Raises the longest latency to `ns`, if it is shorter, and tells of it. Any context.
    pub(crate) fn raise_max_latency(&self, ns: u64) {
        loop {
            let old = self.max_latency.load();
            if old >= ns {
                return;
            }
            if self.max_latency.cas(old, ns) {
                return self.want(WANT_TELLING);
            }
        }
    }

    /// Has `bits` of what only process context can do done soon. Any context, NMI included.
    pub(crate) fn want(&self, bits: u64) {
        self.worker.want(bits);
    }

    /// Has the records be dumped soon, or those of one CPU. Of several CPUs that come before the worker does it is
    /// the first. Any context.
    pub(super) fn want_dump(&self, cpu: Option<u32>) {
        match cpu {
            None => self.want(WANT_DUMP),
            Some(cpu) => {
                self.dumped_cpu.cas(0, u64::from(cpu).wrapping_add(1));
                self.want(WANT_CPU_DUMP);
            }
        }
    }

    /// Returns the CPU whose records are to be dumped, which is then forgotten.
    pub(crate) fn take_dumped_cpu(&self) -> Option<u32> {
        let cpu = self.dumped_cpu.load();
        self.dumped_cpu.store(0);
        cpu.checked_sub(1).map(|cpu| cpu as u32)
    }

    /// Returns when what was wanted before is done. Process context.
    pub(crate) fn settle(&self) {
        self.worker.wait();
    }

    /// Returns the clock.
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

    /// Chooses the clock. The rings are empty, and no writer writes before it was left in their gates.
    pub(crate) fn set_clock(&self, clock: ClockId) {
        self.clock.store(clock as u64);
    }

    /// Returns what follows an event, if something does.
    #[inline(always)]
    pub(super) fn actions<'p>(&'p self, pin: &'p CpuPin) -> Option<&'p ActionList> {
        self.actions.get(pin)
    }

    /// Returns whether something follows an event.
    #[inline(always)]
    pub(super) fn has_actions(&self) -> bool {
        !self.actions.is_none()
    }

    /// Chooses what follows an event. Returns the actions before, which a writer that began before may still run.
    pub(crate) fn set_actions(
        &self,
        actions: Option<Arc<ActionList>>,
    ) -> RetiredBox<Arc<ActionList>> {
        let is_any = actions.is_some();
        let before = self.actions.set(actions);
        // After the list is there: a writer that is told of more finds it.
        self.waker().set_more(is_any);
        before
    }

    /// Returns the most bytes of a record on this CPU, by the size of its sub-buffers; nothing while that is being
    /// changed, when no record is made. Any context.
    pub(crate) fn longest(&self, pin: &CpuPin) -> Option<usize> {
        let ring = self.buffers.rings().this(pin.by_value());
        ring.writer().longest()
    }

    /// Records an event of `len` bytes whose part after the common fields `fill` fills. Any context.
    ///
    /// # Errors
    ///
    /// Why it was not recorded.
    pub(crate) fn record(
        &self,
        pin: &CpuPin,
        base: Base,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), ReserveError> {
        self.record_whole(pin, base, len, |record| {
            if let Some(rest) = record.get_mut(COMMON..) {
                fill(rest);
            }
        })
    }

    /// Records an event of `len` bytes; `fill` gets all of it, with the common fields. Any context.
    ///
    /// # Errors
    ///
    /// Why it was not recorded.
    #[inline(always)]
    pub(super) fn record_whole(
        &self,
        pin: &CpuPin,
        base: Base,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), ReserveError> {
        let ring = self.buffers.rings().this(pin.by_value());
        let mut reserved = ring
            .writer()
            .reserve(len, || clock::read(self.clock()))
            .inspect_err(|why| self.refused(&ring, *why))?;
        fill_common(reserved.payload(), base);
        fill(reserved.payload());
        self.left(&ring, reserved.commit());
        Ok(())
    }

    /// Records an event of `len` bytes, which begins with `common` and whose rest `fill` fills, knowing its time.
    /// Any context.
    ///
    /// # Errors
    ///
    /// Why it was not recorded.
    pub(super) fn record_with(
        &self,
        pin: &CpuPin,
        common: [u8; COMMON],
        len: usize,
        fill: impl FnOnce(&mut [u8], u64),
    ) -> Result<(), ReserveError> {
        let ring = self.buffers.rings().this(pin.by_value());
        let time = Cell::new(0);
        let read = || {
            time.set(clock::read(self.clock()));
            time.get()
        };
        let mut reserved = ring
            .writer()
            .reserve(len, read)
            .inspect_err(|why| self.refused(&ring, *why))?;
        if let Some((head, rest)) = reserved.payload().split_first_chunk_mut() {
            *head = common;
            fill(rest, time.get());
        }
        self.left(&ring, reserved.commit());
        Ok(())
    }

    /// Wakes the readers that want to know `what` a writer published when it left `ring`. Any context.
    #[inline(always)]
    pub(super) fn left(&self, ring: &Ring, what: Publication) {
        match what {
            Publication::Nothing => {}
            Publication::Events => self.waker().published(),
            Publication::Watermark => {
                self.waker().published();
                self.buffers.watermark_reached(ring);
            }
        }
    }

    /// Tells whom it concerns that `ring` refused a writer. Any context.
    #[cold]
    pub(crate) fn refused(&self, ring: &Ring, why: ReserveError) {
        match why {
            ReserveError::Broken => self.buffers.refused(ring),
            _ => self.left(ring, Publication::of_refused(why)),
        }
    }
}
