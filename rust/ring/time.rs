// SPDX-License-Identifier: GPL-2.0
//! Time of an event: which record carries it, and the words that say whether the time of the event
//! before is known.

use super::port::LocalWord;
use super::pos::Pos;
use super::wire;
use super::writer::MAX_NEST;

/// Bits of a level.
pub(super) const LEVEL_BITS: u32 = MAX_NEST.trailing_zeros();
const LEVEL_SHIFT: u32 = u64::BITS - LEVEL_BITS;
const LEVEL_MASK: u64 = MAX_NEST - 1;
const _: () = assert!(MAX_NEST.is_power_of_two());

/// Value of `own` and `inner` that names no position.
const NO_EVENT: u64 = u64::MAX;

/// How an event's time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// First event of a sub-buffer: the sub-buffer's own stamp is its time.
    First,
    /// Time since the event before, in the event header.
    Delta(u32),
    /// Time since the event before, in a record of its own.
    Extend(u64),
    /// The time itself, in a record of its own: the time of the event before is not known.
    Absolute,
}

impl Stamp {
    /// Returns the bytes of the record before the event.
    #[inline(always)]
    pub(crate) const fn record_size(self) -> u32 {
        match self {
            Stamp::First | Stamp::Delta(_) => 0,
            Stamp::Extend(_) | Stamp::Absolute => wire::STAMP_SIZE,
        }
    }
}

/// The clock as one writer saw it, and what it means for the event that it is about to reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockReading {
    /// Time of the event.
    pub(crate) time: u64,
    /// Time since the event before; `None` when the time of that is not known.
    pub(crate) delta: Option<u64>,
    /// The clock had gone back to before the time of the event before; `time` is that event's.
    pub(crate) went_back: bool,
}

/// The event whose time is known: the position where it ends, and the level of nesting of its
/// writer.
///
/// A position is met once: it goes back only when an event is given up, and then [`Times::forget`]
/// comes first. ftrace compares times instead, and a clock that gives one value twice then makes a
/// stale pair look valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeOwner(u64);

impl TimeOwner {
    #[inline(always)]
    fn new(end: Pos, level: u64) -> Self {
        Self(end.0 | level.wrapping_shl(LEVEL_SHIFT))
    }

    /// Returns the level of nesting.
    #[inline(always)]
    pub(crate) const fn level(self) -> u64 {
        self.0.wrapping_shr(LEVEL_SHIFT)
    }

    /// Returns the position where the event ends.
    #[inline(always)]
    pub(crate) const fn end(self) -> Pos {
        Pos(self.0 & (u64::MAX >> LEVEL_BITS))
    }
}

/// The times of the events that were reserved last, by the level of nesting of their writers, and
/// whether one of them is that of the event that ends at a position (I10).
///
/// A writer stores its time and then the position where its event ends: in `own` when it interrupts
/// no writer, else in `inner`, with the level. Until then that position is in neither, and the
/// event of a writer that comes in between has to carry its own time.
pub(crate) struct Times<L> {
    own: L,
    inner: L,
    times: [L; MAX_NEST as usize],
}

impl<L: LocalWord> Times<L> {
    /// Returns the times of an empty ring.
    pub(crate) fn new() -> Self {
        Self {
            own: L::new(NO_EVENT),
            inner: L::new(NO_EVENT),
            times: core::array::from_fn(|_| L::new(0)),
        }
    }

    /// Returns the owner of the time of the event that ends at `pos`, if it is known.
    pub(crate) fn named(&self, pos: Pos) -> Option<TimeOwner> {
        let named = [self.own.get(), self.inner.get()].map(TimeOwner);
        named.into_iter().find(|token| token.end() == pos)
    }

    /// Returns `own`, `inner` and the times of the levels.
    #[cfg(any(test, CONFIG_KUNIT = "y"))]
    pub(super) fn words(&self) -> ([&L; 2], &[L]) {
        ([&self.own, &self.inner], &self.times)
    }

    /// Returns the time of the event that the writer of `level` (0-based) reserved last.
    #[inline(always)]
    pub(crate) fn time_of(&self, level: u64) -> u64 {
        // The mask keeps the index in bounds; levels are below MAX_NEST.
        self.times
            .get((level & LEVEL_MASK) as usize)
            .map_or(0, L::get)
    }

    /// Returns the time of the event that ends at `pos`, if it is known.
    ///
    /// The caller has read the position first and moves it by `cmpxchg` afterwards. When that
    /// succeeds, the writers that came meanwhile gave up all that they wrote.
    #[inline(always)]
    pub(super) fn front(&self, pos: Pos) -> Option<u64> {
        if self.is_own(pos) {
            // Only a writer that interrupts none stores it, and the writers that come in between do
            // not.
            return Some(self.time_of(0));
        }
        let inner = TimeOwner(self.inner.get());
        let time = self.time_of(inner.level());
        // The time first: if a writer that gave up overwrote it, it overwrote the token, too.
        (inner.end() == pos && self.inner.get() == inner.0).then_some(time)
    }

    /// Returns whether the time of the event that ends at `pos` is known, and its writer
    /// interrupted none.
    #[inline(always)]
    pub(super) fn is_own(&self, pos: Pos) -> bool {
        self.own.get() == pos.0
    }

    /// Reads the time of the event that ends at `pos`, then the clock. As for [`Self::front`].
    #[inline(always)]
    pub(crate) fn read(&self, pos: Pos, clock: impl FnOnce() -> u64) -> ClockReading {
        let front = self.front(pos);
        let time = clock();
        let Some(last) = front else {
            return ClockReading {
                time,
                delta: None,
                went_back: false,
            };
        };
        // A clock that steps back, by however much, is held: `since` is then in the upper half.
        let since = time.wrapping_sub(last);
        if since > u64::MAX / 2 {
            return ClockReading {
                time: last,
                delta: Some(0),
                went_back: true,
            };
        }
        ClockReading {
            time,
            delta: Some(since),
            went_back: false,
        }
    }

    /// Returns the delta of an event at `time`, whose writer interrupts none; `None` unless the
    /// event before is not later, and in reach of a header.
    ///
    /// The caller knows by [`Nest::is_alone`](super::nest::Nest::is_alone) that the event before
    /// was that of such a writer, too.
    #[inline(always)]
    pub(crate) fn since_own(&self, time: u64) -> Option<u32> {
        let [last, ..] = &self.times;
        let since = time.wrapping_sub(last.get());
        (since <= wire::DELTA_MAX).then_some(since as u32)
    }

    /// Stores the time of a reservation that ends at `end`, by a writer that interrupts none.
    #[inline(always)]
    pub(crate) fn store_own(&self, end: Pos, time: u64) {
        let [word, ..] = &self.times;
        word.set(time);
        self.store_end(end);
    }

    /// Stores the time of a reservation that ends at `end`, by a writer of `level`.
    #[inline(always)]
    pub(crate) fn store(&self, end: Pos, level: u64, time: u64) {
        if level == 0 {
            return self.store_own(end, time);
        }
        if let Some(word) = self.times.get((level & LEVEL_MASK) as usize) {
            word.set(time);
        }
        self.inner.set(TimeOwner::new(end, level).0);
    }

    /// Makes the time of level 0 that of the event before, before the last reservation, `delta`
    /// later, is given back. Returns what it was.
    #[inline(always)]
    pub(crate) fn take_back(&self, delta: u32) -> u64 {
        // The event of a writer that comes before `store_end` carries its own time.
        self.own.set(NO_EVENT);
        let [word, ..] = &self.times;
        let time = word.get();
        word.set(time.wrapping_sub(u64::from(delta)));
        time
    }

    /// Undoes [`Self::take_back`] in part, when the reservation was not given back: restores the
    /// time, not its owner.
    pub(crate) fn put_again(&self, time: u64) {
        let [word, ..] = &self.times;
        word.set(time);
    }

    /// Says that the event that ends at `end` has the time of level 0.
    #[inline(always)]
    pub(crate) fn store_end(&self, end: Pos) {
        self.own.set(end.0);
    }

    /// Makes the next event carry its own time. Before a reservation is given back, or while no
    /// writer is active.
    #[inline(always)]
    pub(crate) fn forget(&self) {
        self.own.set(NO_EVENT);
        self.inner.set(NO_EVENT);
    }
}

#[cfg(test)]
mod tests {
    use super::super::pos::{Layout, MAX_ORDER, MIN_SIZE};
    use super::*;

    #[test]
    fn tokens_name_level_and_place() {
        for order in 0..=MAX_ORDER {
            let l = Layout::for_size(MIN_SIZE << order).unwrap();
            for seq in [1, 12345, l.max_seq()] {
                let end = l.pos(seq, u64::from(l.capacity()) / 8, l.capacity());
                for level in 0..MAX_NEST {
                    let token = TimeOwner::new(end, level);
                    assert_eq!((token.level(), token.end()), (level, end));
                    assert_ne!(token.0, NO_EVENT);
                }
                assert_ne!(TimeOwner(NO_EVENT).end(), end);
            }
        }
    }
}
