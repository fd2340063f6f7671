// SPDX-License-Identifier: GPL-2.0
//! Time of an event: which record carries it, and the pair of words that says whether the time of
//! the event in front is known.

use super::port::LocalWord;
use super::wire;
use super::writer::MAX_NEST;

/// Bits of a level.
pub(super) const LEVEL_BITS: u32 = MAX_NEST.trailing_zeros();
const LEVEL_MASK: u64 = MAX_NEST - 1;
const _: () = assert!(MAX_NEST.is_power_of_two());

/// Values of `before`, `write` and `inner` that name no event; they differ, so that no pair is valid.
const NO_BEFORE: u64 = u64::MAX;
const NO_WRITE: u64 = u64::MAX - 1;

/// How an event's time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// First event of a sub-buffer: the sub-buffer's own stamp is its time.
    First,
    /// Time since the event in front, in the event header.
    Delta(u32),
    /// Time since the event in front, in a record of its own.
    Extend(u64),
    /// The time itself, in a record of its own: the time of the event in front is not known.
    Absolute,
}

impl Stamp {
    /// Bytes of the record in front of the event.
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
pub(crate) struct Reading {
    /// Time of the event.
    pub(crate) time: u64,
    /// Time since the event in front; `None` when that is not known.
    pub(crate) delta: Option<u64>,
    /// The clock had gone back behind the event in front; `time` is that event's.
    pub(crate) went_back: bool,
}

/// The name of one attempt to reserve: the position it starts from and the level of nesting.
///
/// Unique as long as it can be met in the pair. An attempt that fails had its position taken by a
/// writer of a higher level, for good; one that succeeds and is discarded wipes the pair. ftrace
/// compares times instead, and a clock that gives one value twice then makes a stale pair look
/// valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) u64);

impl Token {
    /// The level of nesting.
    #[inline(always)]
    pub(crate) const fn level(self) -> u64 {
        self.0 & LEVEL_MASK
    }
}

/// ftrace's pair, of tokens. `before` is stored ahead of a reservation, `write` behind it, so that
/// `before == write` says: `write` names the event that ends at the position (I10). The time of
/// that event is in the word of its level; it stays there until a later event of the same level,
/// and that one has changed `before` first.
///
/// Who interrupts somebody stores `inner` instead of `write`: then most writers see by one comparison
/// that the event in front is of level 0. A token in `inner` may stay there for long, and tokens have no
/// room for all of a position, so [`Self::forget_inner`] ends its time.
pub(crate) struct StampPair<L> {
    before: L,
    write: L,
    inner: L,
    times: [L; MAX_NEST as usize],
}

impl<L: LocalWord> StampPair<L> {
    /// The pair of an empty ring.
    pub(crate) fn new() -> Self {
        Self {
            before: L::new(NO_BEFORE),
            write: L::new(NO_WRITE),
            inner: L::new(NO_WRITE),
            times: core::array::from_fn(|_| L::new(0)),
        }
    }

    /// Forgets everything; no writer is active.
    pub(crate) fn reset(&self) {
        self.invalidate();
    }

    /// The event that the pair names, if it is valid.
    pub(crate) fn named(&self) -> Option<Token> {
        let before = self.before.get();
        let named = self.write.get() == before || self.inner.get() == before;
        named.then_some(Token(before))
    }

    /// The event that `inner` names.
    pub(crate) fn inner(&self) -> Option<Token> {
        Some(self.inner.get())
            .filter(|inner| *inner != NO_WRITE)
            .map(Token)
    }

    /// `before`, `write`, `inner` and the times of the levels.
    #[allow(dead_code, reason = "only tests look at the words")]
    pub(super) fn words(&self) -> ([&L; 3], &[L]) {
        ([&self.before, &self.write, &self.inner], &self.times)
    }

    /// Time of the event that the writer of `level` (0-based) reserved last.
    #[inline(always)]
    pub(crate) fn time_of(&self, level: u64) -> u64 {
        // The mask keeps the index in bounds; levels are below MAX_NEST.
        self.times
            .get((level & LEVEL_MASK) as usize)
            .map_or(0, L::get)
    }

    /// Time of the event that the pair names, if it is valid.
    ///
    /// `before` is read last: had a writer come and discarded all it wrote, it is not valid any more.
    #[inline(always)]
    pub(super) fn front(&self) -> Option<u64> {
        let (write, inner) = (self.write.get(), self.inner.get());
        let (last, last_inner) = (self.time_of(0), self.time_of(Token(inner).level()));
        match self.before.get() {
            before if before == write => Some(last),
            before if before == inner => Some(last_inner),
            _ => None,
        }
    }

    /// Reads the pair, then the clock.
    ///
    /// The caller has read the position first and moves it by `cmpxchg` afterwards. When that
    /// succeeds no event was added since.
    #[inline(always)]
    pub(crate) fn read(&self, clock: impl FnOnce() -> u64) -> Reading {
        let front = self.front();
        let time = clock();
        let Some(last) = front else {
            return Reading {
                time,
                delta: None,
                went_back: false,
            };
        };
        // A clock that steps back, by however much, is held: `since` is then in the upper half.
        let since = time.wrapping_sub(last);
        if since > u64::MAX / 2 {
            return Reading {
                time: last,
                delta: Some(0),
                went_back: true,
            };
        }
        Reading {
            time,
            delta: Some(since),
            went_back: false,
        }
    }

    /// For most events, at `time`: the delta. Nothing unless the event in front interrupted nobody, its
    /// time is known, not later, and in reach of a header.
    ///
    /// The caller interrupts nobody either. It has read the position first and the clock, and moves the
    /// position by `cmpxchg` afterwards. When that succeeds the event in front is the same as at any time
    /// in between. Only the caller stores times of its level, so this one may be read behind `before`.
    #[inline(always)]
    pub(crate) fn since_front(&self, time: u64) -> Option<u32> {
        if self.write.get() != self.before.get() {
            return None;
        }
        let [last, ..] = &self.times;
        let since = time.wrapping_sub(last.get());
        (since <= wire::DELTA_MAX).then_some(since as u32)
    }

    /// Before the reservation.
    #[inline(always)]
    pub(crate) fn open(&self, token: Token) {
        self.before.set(token.0);
    }

    /// Before a reservation that interrupts nobody, at `time`.
    ///
    /// Until [`Self::close_at`] the pair names no event of this level, so that nobody looks at its time.
    #[inline(always)]
    pub(crate) fn open_at(&self, token: Token, time: u64) {
        self.open(token);
        let [word, ..] = &self.times;
        word.set(time);
    }

    /// After a reservation for which [`Self::open_at`] was called.
    #[inline(always)]
    pub(crate) fn close_at(&self, token: Token) {
        self.write.set(token.0);
    }

    /// After the reservation.
    #[inline(always)]
    pub(crate) fn close(&self, token: Token, level: u64, time: u64) {
        if let Some(word) = self.times.get((level & LEVEL_MASK) as usize) {
            word.set(time);
        }
        match level {
            0 => self.write.set(token.0),
            _ => self.inner.set(token.0),
        }
    }

    /// Before a reservation is given back: the next event must carry its own time.
    #[inline(always)]
    pub(crate) fn invalidate(&self) {
        self.before.set(NO_BEFORE);
        self.write.set(NO_WRITE);
        self.inner.set(NO_WRITE);
    }

    /// Forgets who interrupted somebody, unless that is the event that the pair names. Called for each
    /// sub-buffer, which is far less than it takes for a token to come again.
    ///
    /// Should somebody come in between, the next event must carry its own time.
    #[inline]
    pub(crate) fn forget_inner(&self) {
        if self.inner.get() != self.before.get() {
            self.inner.set(NO_WRITE);
        }
    }
}
