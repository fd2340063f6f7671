// SPDX-License-Identifier: GPL-2.0

//! Where events come in: what a probe in C calls, and what Rust calls to record.
//!
//! The functions here run in every context, NMI included, with preemption disabled. They take no
//! lock, allocate nothing and cannot panic.

mod entry;
mod external;

use crate::{
    instance::Buffers,
    kapi::{
        clock,
        context,
        events::Event,
        percpu::CpuPin,
        port::{
            Kernel,
            Ring, //
        },
        waker::Waker,
        words::SharedU64, //
    },
    ring::{
        port::SharedWord,
        reserved::Reserved,
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
}

impl Recorder {
    /// With this clock.
    pub(crate) fn new(clock: ClockId) -> Self {
        Self {
            clock: SharedWord::new(clock as u64),
        }
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

    /// Chooses the clock. The rings are empty and nobody writes.
    pub(crate) fn set_clock(&self, clock: ClockId) {
        self.clock.store(clock as u64);
    }
}

/// An enabled event of an instance: the cookie of its probe.
///
/// # Invariants
///
/// What the pointers name lives longer than this.
pub(crate) struct EventFile {
    buffers: NonNull<Buffers>,
    recorder: NonNull<Recorder>,
    waker: NonNull<Waker>,
    id: u16,
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
            retired: false,
            event,
        }
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

    /// Its probe is off.
    pub(crate) fn retire(&mut self) {
        self.retired = true;
    }

    /// Is its probe off?
    pub(crate) fn is_retired(&self) -> bool {
        self.retired
    }
}

/// Reserves a record of `len` bytes and fills its common fields. `own` is how often the caller has
/// disabled preemption for recording.
#[inline(always)]
fn reserve<'a>(
    _pin: &'a CpuPin,
    ring: &'a Ring,
    recorder: &Recorder,
    id: u16,
    own: u64,
    len: usize,
) -> Result<Reserved<'a, Kernel>, Refused> {
    // SAFETY: The ring is the one of the CPU that `_pin` keeps us on, and interrupts that write to it
    // do so through here and run to their end.
    let writer = unsafe { ring.writer() };
    let mut reserved = writer.reserve(len, || clock::read(recorder.clock()))?;
    if let Some(common) = reserved.payload().first_chunk_mut::<COMMON>() {
        *common = context::raw().word(id, own).to_le_bytes();
    }
    Ok(reserved)
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
    id: u16,
    len: usize,
    fill: impl FnOnce(&mut [u8]),
) -> Result<(), Refused> {
    let ring = buffers.rings().this(pin);
    let mut reserved = reserve(pin, ring, recorder, id, 0, len).inspect_err(|why| {
        if *why == Refused::Broken {
            buffers.refused(pin);
        }
    })?;
    if let Some(rest) = reserved.payload().get_mut(COMMON..) {
        fill(rest);
    }
    if reserved.commit() {
        waker.published();
    }
    Ok(())
}
