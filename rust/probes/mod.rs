// SPDX-License-Identifier: GPL-2.0

//! Where events come in: what a probe in C calls, and what Rust calls to record.
//!
//! The functions here run in every context, NMI included, with preemption disabled. They take no
//! lock, allocate nothing and cannot panic.

mod chosen;
mod counts;
mod entry;
mod file;
mod filter;
mod given;
mod pids;
mod stack;
mod steps;
mod ways;

pub(crate) use self::{
    entry::{
        rtrace_commit,
        rtrace_reserve, //
    },
    file::EventFile,
    filter::Filter,
    pids::{
        PidFilter,
        PidList,
        PidSet, //
    },
    stack::Stacks,
    steps::{
        for_c,
        give_up,
        leave,
        parts,
        token,
        ForC, //
    },
    ways::{
        reserve_by_other,
        reserve_in,
        Caller, //
    }, //
};

pub(crate) use counts::Counts;

use self::{
    file::Choice,
    given::fill_common,
    steps::NOTHING, //
};
use crate::{
    buffers::Buffers,
    event::context::Base,
    kapi::{
        clock,
        percpu::CpuPin,
        port::Ring,
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
use kernel::prelude::*;

/// Bytes of the common fields that every record begins with.
pub(crate) const COMMON: usize = 8;

/// Most bytes of a record.
pub(crate) const MOST_PAYLOAD: usize = 4072;

/// What the probes of an instance read of it besides the rings.
pub(crate) struct Recorder {
    clock: SharedU64,
    stacks: SharedU64,
    /// Address of the [`Counts`]; 0 while nobody wants to know.
    counts: SharedU64,
}

impl Recorder {
    /// With this clock.
    pub(crate) fn new(clock: ClockId) -> Self {
        Self {
            clock: SharedWord::new(clock as u64),
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

    /// Chooses the clock. The rings are empty and nobody writes before it was left in their gates.
    pub(crate) fn set_clock(&self, clock: ClockId) {
        self.clock.store(clock as u64);
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
            buffers.watermark_reached(ring);
        }
    }
}

/// A writer was refused by `ring`.
#[cold]
pub(crate) fn refused(ring: &Ring, buffers: &Buffers, why: Refused) {
    match why {
        Refused::Broken => buffers.refused(ring),
        // Those that interrupted it may have filled the ring, and it has published their events.
        Refused::Full | Refused::TooBig => buffers.watermark_reached(ring),
        _ => {}
    }
}
