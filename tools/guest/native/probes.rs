// SPDX-License-Identifier: GPL-2.0

//! The steps of a writer, and what they share with rtrace's probes.

#![allow(improper_ctypes_definitions, reason = "see `fastcall`")]

#[path = "../../../rust/probes/exit.rs"]
mod exit;
#[path = "../../../rust/probes/fast_event.rs"]
mod fast_event;
#[path = "../../../rust/probes/fastcall.rs"]
mod fastcall;
#[path = "../../../rust/probes/ways.rs"]
mod ways;

pub(crate) use self::{
    exit::give_up,
    fast_event::{
        commit_last,
        EarlyLeave,
        RingPresence,
        UnfinishedCommit, //
    },
    fastcall::{
        for_c,
        token,
        CReservation, //
    },
    ways::{
        reserve_by_other,
        reserve_in,
        Caller,
        ReservedRecord, //
    }, //
};

use crate::{
    buffers::Buffers,
    kapi::{
        clock::ClockId,
        port::Ring,
        words::SharedU64, //
    },
    ring::{
        port::SharedWord,
        watermark::Publication,
        writer::ReserveError, //
    }, //
};
use kernel::prelude::*;

/// What writers use of an instance.
#[pin_data]
pub(crate) struct Sink {
    #[pin]
    buffers: Buffers,
    clock: SharedU64,
    waker: Waker,
}

impl Sink {
    /// Returns one with these rings.
    pub(crate) fn new(buffers: impl PinInit<Buffers>) -> impl PinInit<Self> {
        pin_init!(Self {
            buffers <- buffers,
            clock: SharedWord::new(ClockId::Called as u64),
            waker: Waker::new(),
        })
    }

    /// Returns the rings.
    #[inline(always)]
    pub(crate) fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// Returns what writers look at after an event.
    #[inline(always)]
    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Chooses the clock.
    pub(crate) fn set_clock(&self, clock: ClockId) {
        self.clock.store(clock as u64);
    }

    /// Returns the clock.
    #[inline(always)]
    pub(crate) fn clock(&self) -> ClockId {
        match self.clock.load() {
            0 => ClockId::Called,
            _ => ClockId::Inline,
        }
    }

    /// A writer has left `ring`.
    #[inline(always)]
    pub(crate) fn left(&self, _ring: &Ring, what: Publication) {
        match what {
            Publication::Nothing => {}
            Publication::Events | Publication::Watermark => self.waker.published(),
        }
    }

    /// There is no alarm here; the loops count refused events.
    #[cold]
    pub(crate) fn refused(&self, _ring: &Ring, _why: ReserveError) {}
}

/// The waker: no reader waits here, but writers look.
pub(crate) struct Waker {
    wanted: SharedU64,
    woken: SharedU64,
}

impl Waker {
    pub(crate) fn new() -> Self {
        Self {
            wanted: SharedWord::new(0),
            woken: SharedWord::new(0),
        }
    }

    /// Returns whether no reader waits.
    #[inline(always)]
    pub(crate) fn is_quiet(&self) -> bool {
        self.wanted.load() == 0
    }

    /// After an event was published.
    #[inline(always)]
    pub(crate) fn published(&self) {
        if !self.is_quiet() {
            self.queue();
        }
    }

    #[cold]
    #[inline(never)]
    fn queue(&self) {
        self.woken.store(1);
    }
}
