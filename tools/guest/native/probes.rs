// SPDX-License-Identifier: GPL-2.0

//! The steps of a writer, and what they share with rtrace's probes.

#[path = "../../../rust/probes/steps.rs"]
mod steps;
#[path = "../../../rust/probes/ways.rs"]
mod ways;

pub(crate) use self::{
    steps::{
        for_c,
        give_up,
        leave,
        token,
        ForC, //
    },
    ways::{
        reserve_by_other,
        reserve_in,
        Caller, //
    }, //
};

use self::steps::NOTHING;
use crate::{
    buffers::Buffers,
    kapi::{
        clock::ClockId,
        port::Ring,
        words::SharedU64, //
    },
    ring::{
        mark::Published,
        port::SharedWord,
        writer::Refused, //
    }, //
};

/// What writers read of an instance besides the rings.
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

    /// Chooses the clock.
    pub(crate) fn set_clock(&self, clock: ClockId) {
        self.clock.store(clock as u64);
    }

    /// The clock.
    #[inline(always)]
    pub(crate) fn clock(&self) -> ClockId {
        match self.clock.load() {
            0 => ClockId::Called,
            _ => ClockId::Inline,
        }
    }
}

/// Who waits for events: nobody, but writers look.
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

    /// After an event was published.
    #[inline(always)]
    pub(crate) fn published(&self) {
        if self.wanted.load() != 0 {
            self.queue();
        }
    }

    #[cold]
    #[inline(never)]
    fn queue(&self) {
        self.woken.store(1);
    }
}

#[inline(always)]
fn tell(_ring: &Ring, _buffers: &Buffers, waker: &Waker, what: Published) {
    match what {
        Published::Nothing => {}
        Published::Events | Published::Mark => waker.published(),
    }
}

/// Nobody watches the rings here; the loops count what was refused.
#[cold]
pub(crate) fn refused(_ring: &Ring, _buffers: &Buffers, _why: Refused) {}
