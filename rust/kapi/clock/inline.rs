// SPDX-License-Identifier: GPL-2.0

//! A clock that is made where it is read, and how a word remembers it.
//!
//! Which clocks there are, and what they are made of, is the parent module's business: there is another
//! one in tools/guest/native.

use super::{
    mono,
    now_at,
    place_of,
    sched_clock,
    tsc,
    word_of, //
};
use crate::{
    kapi::words::SharedU64,
    ring::{
        cpu::GateWord,
        port::SharedWord, //
    }, //
};

/// Left in the gates of rings whose clock is the function `sched_clock()`; that of new rings is.
pub(crate) const LEFT_CALLED: u64 = 0;
/// Left in the gates of rings whose clock is the cycle counter.
pub(crate) const LEFT_TSC: u64 = 1 << 6;
/// Left in the gates of rings whose clock is another function.
pub(crate) const LEFT_OTHER: u64 = 2 << 6;
/// Left in the gates of rings whose clock is the function `ktime_get_mono_fast_ns()`.
pub(crate) const LEFT_MONO: u64 = 3 << 6;

const _: () = assert!(GateWord::can_hold(LEFT_TSC) && GateWord::can_hold(LEFT_OTHER));
const _: () = assert!(GateWord::can_hold(LEFT_MONO));

/// What is left in the gates of rings, by which their writers find the clock.
///
/// # Invariants
///
/// With the highest bit it is [`InlineClock::word`] of a clock.
#[derive(Clone, Copy)]
pub(crate) struct GateClock(u64);

impl GateClock {
    /// Returns what is left of a clock that is made where it is read, if a gate can hold it.
    pub(super) fn here(clock: InlineClock) -> Option<Self> {
        // INVARIANT: It is that word.
        GateWord::can_hold(clock.word()).then_some(Self(clock.word()))
    }

    /// Returns what is left of a clock that is a function: `word`, one of the words above.
    pub(super) const fn function(word: u64) -> Self {
        // INVARIANT: It does not have the highest bit.
        Self(word & !GateWord::OPEN)
    }
}

impl From<GateClock> for u64 {
    fn from(left: GateClock) -> u64 {
        left.0
    }
}

/// Reads the clock that leaves `LEFT` in the gates of rings, which is a function: [`LEFT_CALLED`], [`LEFT_TSC`] or
/// [`LEFT_MONO`]. Any context.
#[inline(always)]
pub(crate) fn read_left<const LEFT: u64>() -> u64 {
    const { assert!(LEFT == LEFT_CALLED || LEFT == LEFT_TSC || LEFT == LEFT_MONO) };
    match LEFT {
        LEFT_TSC => tsc(),
        LEFT_MONO => mono(),
        _ => sched_clock(),
    }
}

/// A clock that is made here, without a call.
///
/// # Invariants
///
/// It is a place that [`now_at`] can be asked about.
#[derive(Clone, Copy)]
pub(crate) struct InlineClock(u64);

impl InlineClock {
    /// Returns the clock that is made of what is at `place`.
    ///
    /// # Safety
    ///
    /// [`now_at`] can be asked about it; it is not 0.
    #[inline(always)]
    pub(super) unsafe fn at(place: u64) -> Self {
        // INVARIANT: The caller promises such a place.
        Self(place)
    }

    /// Returns the word to be left in the gates of rings ([`GateWord`]).
    pub(crate) fn word(self) -> u64 {
        word_of(self.0)
    }

    /// Returns the clock that was left in a gate, if recording is on.
    #[inline(always)]
    pub(crate) fn left(gate: GateWord) -> Option<Self> {
        // INVARIANT: An open gate has the highest bit, so `word` made what was left: rings of the kernel's port take
        // nothing but a `GateClock`.
        gate.is_open().then(|| Self(place_of(gate.word())))
    }

    /// Returns the same, if `word` has the highest bit, too.
    #[inline(always)]
    pub(crate) fn left_when(gate: GateWord, word: &SharedU64) -> Option<Self> {
        // INVARIANT: The highest bit is that of an open gate, as in `left`.
        let both = gate.word() & word.load();
        (both & GateWord::OPEN != 0).then(|| Self(place_of(gate.word())))
    }

    /// Returns its time; nothing when what it is made of was changed, and then [`super::read`] is to be
    /// asked. As for that.
    #[inline(always)]
    pub(crate) fn now(self) -> Option<u64> {
        // SAFETY: It is a place that `now_at` can be asked about (invariant).
        unsafe { now_at(self.0) }
    }
}
