// SPDX-License-Identifier: GPL-2.0

//! The steps of a writer, and what they share with rtrace's probes.

#[path = "../../../rust/probes/external.rs"]
mod external;

use crate::{
    instance::{
        Buffers,
        Place, //
    },
    kapi::{
        c::rt_reserved,
        clock::{
            ClockId,
            Here, //
        },
        percpu::CpuPin,
        port::Ring,
        words::SharedU64, //
    },
    ring::{
        mark::Published,
        port::SharedWord,
        reserved::Reserved,
        writer::{
            Left,
            Refused, //
        }, //
    }, //
};
use core::ptr::{
    null_mut,
    NonNull, //
};
use kernel::prelude::*;

/// What writers read of an instance besides the rings.
pub(crate) struct Recorder {
    clock: SharedU64,
    /// That clock as one that is made here, if it is.
    here: SharedU64,
}

impl Recorder {
    /// With this clock.
    pub(crate) fn new(clock: ClockId) -> Self {
        Self {
            clock: SharedWord::new(clock as u64),
            here: SharedWord::new(Here::word(Here::of(clock))),
        }
    }

    /// Chooses the clock.
    pub(crate) fn set_clock(&self, clock: ClockId) {
        self.clock.store(clock as u64);
        self.here.store(Here::word(Here::of(clock)));
    }

    /// The clock.
    #[inline(always)]
    pub(crate) fn clock(&self) -> ClockId {
        match self.clock.load() {
            0 => ClockId::Called,
            _ => ClockId::Inline,
        }
    }

    /// The clock, if it is one that is made here.
    #[inline(always)]
    fn clock_here(&self) -> Option<Here> {
        // SAFETY: The word holds nothing else.
        unsafe { Here::of_word(self.here.load()) }
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

const NOTHING: rt_reserved = rt_reserved {
    entry: null_mut(),
    token: 0,
};

#[inline(always)]
fn for_c(entry: NonNull<u8>, place: Place, bits: u64) -> rt_reserved {
    rt_reserved {
        entry: entry.as_ptr().cast(),
        token: place.token(bits),
    }
}

/// Goes the long way out of the ring at `place`.
///
/// # Safety
///
/// `place` is that of the reservation, and `left` what the short way out of that ring said.
#[inline(always)]
unsafe fn leave(pin: &CpuPin, buffers: &Buffers, waker: &Waker, place: Place, left: Left) {
    // SAFETY: By the contract.
    let ring = unsafe { buffers.rings().here(pin, place) };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    // SAFETY: By the contract.
    tell(waker, unsafe { writer.commit_long(left) });
}

/// Gives a reservation up.
///
/// # Safety
///
/// `entry` and `token` are those of the last reservation in this ring that is not over.
#[inline(always)]
unsafe fn give_up(pin: &CpuPin, buffers: &Buffers, waker: &Waker, entry: *mut c_void, token: u64) {
    let (place, bits) = Place::of_token(token);
    // SAFETY: By the contract.
    let ring = unsafe { buffers.rings().here(pin, place) };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    let Some(entry) = NonNull::new(entry.cast()) else {
        return;
    };
    // SAFETY: By the contract.
    let published = unsafe { Reserved::from_raw(writer, entry, bits) }.discard();
    tell(waker, published);
}

#[inline(always)]
fn tell(waker: &Waker, what: Published) {
    match what {
        Published::Nothing => {}
        Published::Events | Published::Mark => waker.published(),
    }
}

/// Nobody watches the rings here; the loops count what was refused.
#[cold]
fn refused(_ring: &Ring, _buffers: &Buffers, _why: Refused) {}
