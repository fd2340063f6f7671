// SPDX-License-Identifier: GPL-2.0
//! The writer's side of a ring: reserve, commit, discard, publish. Probes call it, in any context.
//!
//! Instants of one write, named in the comments below:
//!
//! ```text
//!   A  load the position                 F  store header, payload
//!   B  whose time is known, the clock    G  publish (outermost writer only)
//!   D  cmpxchg the position              H  leave: no writer has come since before G
//!   E  store the time, and whose it is
//! ```
//!
//! An interrupt may run any number of complete writers between any two of them. One between A and D
//! makes D fail, unless it discarded all it wrote; one between D and E does not find the position
//! among those whose time is known. Proved by exhaustion in tools/ringtest (`nest`).

use core::marker::PhantomData;
use core::ptr::NonNull;

use super::cpu::CpuRing;
use super::packed::PackedSize;
use super::port::{LocalWord, Port, SharedWord};
use super::pos::{Pos, Seq};
use super::reservation::{EventPrefix, Reservation};
use super::slot::{SlotWord, State, SubBufIndex};
use super::subbuf::{begin_event, put, HeadWord, SubBuf};
use super::time::{ClockReading, Stamp};
use super::violation::Violation;
use super::watermark::Publication;
use super::wire::{self, EventSize};

/// Size of a word of the header, in bytes.
const WORD: usize = 4;

/// Writers that may be active at once on one CPU: four contexts, each with one event inside another
/// (a probe that hits a tracepoint).
pub(crate) const MAX_NEST: u64 = 8;

/// Turns after which a loop gives up; the event is then dropped and counted.
///
/// Theorem: in a call inside which k other writers run, `place` and `publish` make at most 1 + k
/// turns, after the one of each fast path; each call of `cross` makes at most 2, and so does
/// `close_until` for one sub-buffer.
///
/// - `place` repeats a turn when D fails or `cross` finds the position stale. Either way the
///   position has moved since A. Only writers move it (I1), each runs whole between A and D of one
///   turn (I2), and none of them causes two repetitions.
/// - `publish` repeats a turn when the position has moved since the turn began: the same.
/// - `cross` repeats a turn when a slot changed that still has the old number. Writers that change
///   a slot in that state give it a new number. The reader can only take the sub-buffer out of it
///   (T6, T7), and has no business with the Empty slot that it leaves.
/// - `close_until` repeats when an Open slot changed: the reader attached (T5), once (I6).
///
/// So a reader never makes `place` or `publish` repeat a turn, however fast it is (I12), and this
/// number stands for that many interrupts inside one reservation. `nest` in tools/ringtest asserts
/// all of it in every schedule.
const MAX_TURNS: u32 = 1000;

/// Why an event was not recorded. Each has its counter, `Disabled` excepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReserveError {
    /// Recording is off.
    Disabled,
    /// More than [`MAX_NEST`] writers.
    Recursion,
    /// It fits no sub-buffer.
    TooBig,
    /// The ring is full and keeps its oldest events.
    Full,
    /// The ring has come round to a sub-buffer that an interrupted writer is still in.
    CommitOverrun,
    /// The ring is disabled until it is emptied: an invariant does not hold.
    Broken,
}

/// Outcome of the reserve fast path when it has reserved nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FastReserve {
    /// Recording is off.
    Off,
    /// The writer has entered.
    Entered,
    /// The writer has entered and found no room, at the time that is here. The fast path never finds
    /// room for an event of another size than the usual ones.
    NoRoom(u64),
}

/// Outcome of the commit fast path when the slow path must follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FastCommit {
    /// The writer has not left.
    NotTried,
    /// The writer has left, and another one wrote before that.
    Raced,
}

enum CrossError {
    Stale,
    Refuse(ReserveError),
}

/// The right to write to the ring of this CPU, for as long as the CPU stays the same.
pub(crate) struct Writer<'a, P: Port> {
    pub(super) ring: &'a CpuRing<P>,
    not_send: PhantomData<*mut ()>,
}

impl<P: Port> Clone for Writer<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<P: Port> Copy for Writer<'_, P> {}

impl<P: Port> CpuRing<P> {
    /// Returns the right to write.
    ///
    /// # Safety
    ///
    /// For as long as the result is used the caller runs on the CPU that owns the ring and cannot
    /// migrate, and other writers of this ring run only as its interrupts, to their end (I1, I2).
    #[inline(always)]
    pub(crate) unsafe fn writer(&self) -> Writer<'_, P> {
        Writer {
            ring: self,
            not_send: PhantomData,
        }
    }
}

impl<'a, P: Port> Writer<'a, P> {
    /// Returns the most bytes of payload that an event can have; nothing while the ring is being changed, which
    /// refuses events. Any context.
    pub(crate) fn longest(self) -> Option<usize> {
        // As in a reservation: who changes the layout closes the gate and then waits for those that found it
        // open.
        if self.ring.gate().is_changing() {
            return None;
        }
        Some(EventSize::longest(self.ring.layout.capacity()))
    }

    /// Reserves `len` bytes of payload, stamped with the time that `clock` returns.
    ///
    /// Any context, NMI included. `clock` is called once per turn. Fails with the [`ReserveError`]
    /// that says why the event is not recorded; its counter, if any, has the event then.
    #[inline(always)]
    pub(crate) fn reserve(
        self,
        len: usize,
        clock: impl Fn() -> u64,
    ) -> Result<Reservation<'a, P>, ReserveError> {
        match self.try_reserve_fast(len, &clock) {
            Ok(reserved) => Ok(reserved),
            Err(declined) => self.reserve_slow(len, declined, clock),
        }
    }

    /// Tries [`Self::reserve_fast`] when recording is on.
    #[inline(always)]
    fn try_reserve_fast(
        self,
        len: usize,
        clock: impl FnOnce() -> u64,
    ) -> Result<Reservation<'a, P>, FastReserve> {
        if self.ring.is_disabled() {
            return Err(FastReserve::Off);
        }
        self.reserve_fast(len, PackedSize::new(len), || Some(clock()))
    }

    /// Reserves an event of the most frequent kind: its writer interrupts no other, the sub-buffer
    /// has been published into and has room, and the time since its last event is known and short,
    /// as is the payload. Everything else is declined after the writer has entered, and
    /// [`Self::reserve_slow`] must follow, directly or after [`Self::reserve_long`] or
    /// [`Self::refuse_full`]; so it is when `clock` has no time just now.
    ///
    /// The caller has found recording on. `size` is that of `len` bytes.
    #[inline(always)]
    pub(crate) fn reserve_fast(
        self,
        len: usize,
        size: PackedSize,
        clock: impl FnOnce() -> Option<u64>,
    ) -> Result<Reservation<'a, P>, FastReserve> {
        self.ring.w.nest.enter();
        self.place_alone(size.words(), clock, |payload, delta| {
            // F
            // SAFETY: the word before the payload is the event's header, in the same sub-buffer.
            let at = unsafe { payload.sub(WORD) };
            // SAFETY: the header is in the reservation, this writer's since D; aligned to 4, as all
            // events are.
            unsafe { put(at, [wire::header(size.type_len(), delta)]) };
            Reservation {
                writer: self,
                payload,
                len,
                prefix: EventPrefix::PLAIN,
            }
        })
    }

    /// Goes from A to E, after the writer has entered, for an event whose writer interrupts no
    /// other and which has `payload` 4-byte words after its header. `fill` gets the address after
    /// the header, and the delta.
    #[inline(always)]
    fn place_alone(
        self,
        payload: u64,
        clock: impl FnOnce() -> Option<u64>,
        fill: impl FnOnce(NonNull<u8>, u32) -> Reservation<'a, P>,
    ) -> Result<Reservation<'a, P>, FastReserve> {
        let ring = self.ring;
        let w = &ring.w;
        let layout = &*ring.layout;
        let declined = FastReserve::Entered;
        // B, the clock first: fewer registers stay live across its call.
        let time = clock().ok_or(declined)?;
        // A
        let from = Pos(w.pos.get());
        // No writer has come since we entered, so the clock might as well have been read here; we
        // interrupt none, so the writer that moved the position has also stored the sub-buffer of
        // it (I13); and the last one left everything in order (I14).
        if !w.nest.is_alone() {
            return Err(declined);
        }
        let delta = w.times.since_own(time).ok_or(declined)?;
        let used = layout.words(from);
        if used.wrapping_add(payload) > layout.payload_words() {
            return Err(FastReserve::NoRoom(time));
        }
        // Between A and D: the position is in that sub-buffer for as long as it stays the same.
        let base = ring.live_base();
        let next = layout.advance_plain(from, payload);
        // D
        if !w.pos.cmpxchg(from.0, next.0) {
            return Err(declined);
        }
        // E
        w.times.store_own(next, time);
        // SAFETY: `used + payload` words fit after the sub-buffer's header, so the byte after the
        // event's header is in the memory of the sub-buffer.
        let behind = unsafe { P::behind::<{ wire::HEADER + WORD }>(base, used) };
        Ok(fill(behind, delta))
    }

    /// Reserves `len` bytes, more than the usual sizes, as [`Self::reserve_fast`] does for those.
    /// That has just declined them with [`FastReserve::NoRoom`], which has `time`. `None` when this
    /// declines them, too.
    #[inline(always)]
    pub(crate) fn reserve_long(self, len: usize, time: u64) -> Option<Reservation<'a, P>> {
        let words = wire::long_words(len);
        // The writer has been alone since it entered if it is now, thus at that time as well.
        let reserved = self.place_alone(
            words,
            || Some(time),
            |behind, delta| {
                // F
                // SAFETY: The header of the event is the word before, in the same sub-buffer.
                let at = unsafe { behind.sub(WORD) };
                let head = [wire::header(0, delta), wire::length_of(words)];
                // SAFETY: both words are in the reservation, this writer's since D, as `words`
                // counts the second one; aligned to 4, as all events are.
                let payload = unsafe { put(at, head) };
                Reservation {
                    writer: self,
                    payload,
                    len,
                    prefix: EventPrefix::LONG_ALONE,
                }
            },
        );
        reserved.ok()
    }

    /// Does the same for `len` bytes, fewer than the usual sizes.
    #[inline(always)]
    pub(crate) fn reserve_short(self, len: usize, time: u64) -> Option<Reservation<'a, P>> {
        let size = EventSize::new(len, self.ring.layout.capacity())?;
        // The writer has been alone since it entered if it is now, thus at that time as well.
        let reserved = self.place_alone(
            size.words(),
            || Some(time),
            |behind, delta| {
                // F
                // SAFETY: The header of the event is the word before its payload, in the same
                // sub-buffer.
                let at = unsafe { behind.sub(WORD) };
                // SAFETY: the bytes that `size` says begin at the header and are this writer's
                // since D; aligned to 4, as all events are.
                let payload = unsafe { begin_event(at, size, delta) };
                Reservation {
                    writer: self,
                    payload,
                    len,
                    prefix: EventPrefix::new(size, Stamp::Delta(delta)),
                }
            },
        );
        reserved.ok()
    }

    /// Refuses an event of a usual size that a full ring has no room for, as [`Self::reserve_slow`]
    /// would, with one look at the slot after that of the position. The fast path has just declined
    /// it with [`FastReserve::NoRoom`]. `None` when the event may have to be recorded; then nothing
    /// has been done. Else the writer has left; if with an error, [`Self::commit_slow`] must follow.
    #[inline(always)]
    pub(crate) fn refuse_full(self) -> Option<Result<(), FastCommit>> {
        let ring = self.ring;
        let w = &ring.w;
        let layout = &*ring.layout;
        // A
        let from = Pos(w.pos.get());
        // No writer has come since the fast path looked, so there is still no room after the
        // position. All was published up to it: there is nothing to do but what writers leave that
        // come from here on, and H finds these.
        if !w.nest.is_alone() || !ring.keeps(layout.seq(from).wrapping_add(1)) {
            return None;
        }
        w.counters.dropped.increment();
        // H
        Some(match w.nest.leave() {
            true => Ok(()),
            false => Err(FastCommit::Raced),
        })
    }

    /// Reserves an event that the fast path declined; `declined` says how far that came.
    ///
    /// Any context. Fails as [`Self::reserve`] does; the writer has then left.
    #[inline(always)]
    pub(crate) fn reserve_slow(
        self,
        len: usize,
        declined: FastReserve,
        clock: impl Fn() -> u64,
    ) -> Result<Reservation<'a, P>, ReserveError> {
        let ring = self.ring;
        match declined {
            FastReserve::Off => return Err(ring.refusal()),
            FastReserve::Entered => {}
            FastReserve::NoRoom(_) if EventSize::usual(len).is_some() => {
                if let Some(left) = self.refuse_full() {
                    if let Err(outcome) = left {
                        self.exit_slow(outcome);
                    }
                    return Err(ReserveError::Full);
                }
            }
            FastReserve::NoRoom(time) => {
                let reserved = match EventSize::is_long(len) {
                    true => self.reserve_long(len, time),
                    false => self.reserve_short(len, time),
                };
                if let Some(reserved) = reserved {
                    return Ok(reserved);
                }
            }
        }
        let Some(size) = EventSize::new(len, ring.layout.capacity()) else {
            ring.w.counters.too_big.add(1);
            self.exit();
            return Err(ReserveError::TooBig);
        };
        let level = ring.w.nest.level();
        if level >= MAX_NEST {
            ring.w.counters.recursion.add(1);
            ring.w.nest.leave_inner();
            return Err(ReserveError::Recursion);
        }
        ring.w.nest.go_slow();
        match self.place(size, level, clock) {
            Ok((payload, prefix)) => Ok(Reservation {
                writer: self,
                payload,
                len,
                prefix,
            }),
            Err(refused) => {
                self.exit();
                Err(refused)
            }
        }
    }

    /// Returns how the event's time can be written, `None` if only the start of a sub-buffer can
    /// carry it.
    #[inline(always)]
    fn stamp(self, from: Pos, reading: ClockReading) -> Option<Stamp> {
        match reading.delta {
            _ if self.ring.layout.offset(from) == 0 => Some(Stamp::First),
            None => self.absolute(from, reading.time),
            Some(d) if d <= wire::DELTA_MAX => Some(Stamp::Delta(d as u32)),
            Some(d) if d <= wire::STAMP_MAX => Some(Stamp::Extend(d)),
            Some(_) => None,
        }
    }

    /// Returns [`Stamp::Absolute`] unless readers could not restore `time`: a record holds the low
    /// bits of a time; readers take the upper ones from the time so far, which lies between the
    /// sub-buffer's stamp and this time.
    ///
    /// A writer that we interrupted may not have stored the stamp yet. What is there instead is
    /// older still, so the answer errs to the safe side.
    #[cold]
    #[inline(never)]
    fn absolute(self, from: Pos, time: u64) -> Option<Stamp> {
        let subbuf = self.ring.open_subbuf(self.ring.layout.seq(from))?;
        let far = (time ^ subbuf.stamp.get()) > wire::STAMP_MAX;
        (!far).then_some(Stamp::Absolute)
    }

    #[inline(always)]
    fn place(
        self,
        size: EventSize,
        level: u64,
        clock: impl Fn() -> u64,
    ) -> Result<(NonNull<u8>, EventPrefix), ReserveError> {
        let ring = self.ring;
        let layout = &*ring.layout;
        let mut turns = 0u32;
        let (from, left, next, stamp, total, time) = loop {
            // A
            let from = Pos(ring.w.pos.get());
            // B
            let reading = ring.w.times.read(from, &clock);
            let used = layout.offset(from);
            let stamp = self.stamp(from, reading);
            let total = size.total.wrapping_add(stamp.map_or(0, Stamp::record_size));
            let fits = stamp.is_some() && used.wrapping_add(total) <= layout.capacity();
            let (left, next, stamp, total) = match stamp {
                Some(stamp) if fits => (None, layout.advance(from, total), stamp, total),
                _ => {
                    // It stays open while we are here (I3), and is the remembered one until `cross`.
                    let left = ring.open_subbuf(layout.seq(from));
                    let left = Some(left.ok_or(ReserveError::Broken)?);
                    let seq = layout.seq(from).wrapping_add(1);
                    match self.cross(seq) {
                        Ok(()) => {}
                        Err(CrossError::Stale) => {
                            turns = self.again(turns)?;
                            continue;
                        }
                        Err(CrossError::Refuse(r)) => return Err(r),
                    }
                    let next = layout.pos(seq, 1, size.total);
                    (left, next, Stamp::First, size.total)
                }
            };
            // D
            if ring.w.pos.cmpxchg(from.0, next.0) {
                if reading.went_back {
                    ring.w.counters.clock_back.add(1);
                }
                break (from, left, next, stamp, total, reading.time);
            }
            turns = self.again(turns)?;
        };
        // E
        ring.w.times.store(next, level, time);
        if let Some(left) = left {
            // The data of the old sub-buffer ends here. Stored before our own exit, and the
            // outermost writer closes the sub-buffer only when all others have left.
            left.end.set(from.0);
        }
        self.fill(size, next, stamp, total, time)
            .ok_or(ReserveError::Broken)
    }

    /// Counts a turn. Fails with [`ReserveError::Full`] after [`MAX_TURNS`].
    #[cold]
    fn again(self, turns: u32) -> Result<u32, ReserveError> {
        if turns >= MAX_TURNS {
            self.ring.w.counters.dropped.add(1);
            return Err(ReserveError::Full);
        }
        Ok(turns.wrapping_add(1))
    }

    /// F: stores what precedes the payload; returns the address of the payload. `None` when the
    /// ring is broken.
    #[inline(always)]
    fn fill(
        self,
        size: EventSize,
        next: Pos,
        stamp: Stamp,
        total: u32,
        time: u64,
    ) -> Option<(NonNull<u8>, EventPrefix)> {
        let ring = self.ring;
        let layout = &*ring.layout;
        let seq = layout.seq(next);
        let subbuf = ring.open_subbuf(seq)?;
        ring.enter_subbuf(seq, subbuf);
        let start = layout.offset(next).wrapping_sub(total);
        if start == 0 {
            subbuf.set_stamp(time);
        }
        let (record, delta) = match stamp {
            Stamp::First => (None, 0),
            Stamp::Delta(d) => (None, d),
            Stamp::Extend(d) => (Some(wire::time_record(wire::TIME_EXTEND, d)), 0),
            Stamp::Absolute => (Some(wire::time_record(wire::TIME_STAMP, time)), 0),
        };
        let mut at = start;
        if let Some(words) = record {
            // SAFETY: [start, start + total) is in the sub-buffer and this writer's since D; these
            // are its first 8 bytes, and `start` is a multiple of 4.
            unsafe { subbuf.put(at as usize, words) };
            at = at.wrapping_add(wire::STAMP_SIZE);
        }
        // SAFETY: `at` is in the reservation [start, start + total), thus at most the capacity.
        let at = unsafe { subbuf.at(at as usize) };
        // SAFETY: from `at` to the end of the reservation are the bytes that `size` says, this
        // writer's since D; aligned to 4, as all sizes of records are multiples of it.
        let payload = unsafe { begin_event(at, size, delta) };
        Some((payload, EventPrefix::new(size, stamp)))
    }

    /// Makes sub-buffer `seq` the open one in its slot, unless a nested writer has.
    ///
    /// Fails with `Stale` when the position must have moved meanwhile, else with the reason to
    /// refuse.
    #[cold]
    #[inline(never)]
    fn cross(self, seq: Seq) -> Result<(), CrossError> {
        let ring = self.ring;
        let counters = &ring.w.counters;
        let broken = CrossError::Refuse(ReserveError::Broken);
        if seq > ring.layout.max_seq() {
            counters.dropped.add(1);
            return Err(CrossError::Refuse(ReserveError::Full));
        }
        let Some(slot) = ring.slot(seq) else {
            ring.set_broken(Violation::Number);
            return Err(broken);
        };
        for _ in 0..MAX_TURNS {
            // Acquire: pairs with the reader's CAS; its last reads of a sub-buffer that it gave
            // back, and its store to `spare`, come before our stores to it and our load of it.
            let s = SlotWord::from_raw(slot.load_acquire());
            if s.seq() == seq && s.state() == Some(State::Open) {
                // A nested writer opened it, or an earlier turn of ours.
                return Ok(());
            }
            if s.seq() >= seq {
                return Err(CrossError::Stale);
            }
            if s.seq().wrapping_add(ring.slot_count()) != seq {
                ring.set_broken(Violation::Number);
                return Err(broken);
            }
            let full = s.state() == Some(State::Full);
            let target = match (s.state(), s.detached()) {
                (Some(State::Open), _) => {
                    counters.commit_overrun.add(1);
                    return Err(CrossError::Refuse(ReserveError::CommitOverrun));
                }
                (_, true) => s.steal(seq, SubBufIndex(ring.s.spare.load() as u32)),
                (_, false) if full && ring.s.overwrite.load() == 0 => {
                    counters.dropped.add(1);
                    return Err(CrossError::Refuse(ReserveError::Full));
                }
                (_, false) => s.reopen(seq),
            };
            let Some(target) = target else {
                ring.set_broken(Violation::State);
                return Err(broken);
            };
            if slot.cas(s.raw(), target.raw()) {
                if full && !s.detached() {
                    // After the CAS, or a reader that took the sub-buffer first would have read
                    // what is counted lost. It cannot be closed anew before we leave.
                    let lost = ring
                        .subbuf(s.index())
                        .map_or(0, |p| ring.layout.count(Pos(p.commit.load())));
                    counters.overrun.add(lost);
                }
                if let Some(subbuf) = ring.subbuf(target.index()) {
                    ring.w.hint.set(target.raw());
                    // The length there is that of its last number, and no writer publishes another
                    // before we leave. The stamp may be that of a nested writer by now.
                    subbuf.put_head(HeadWord::Length, 0);
                }
                return Ok(());
            }
            if SlotWord::from_raw(slot.load()).seq() != s.seq() {
                return Err(CrossError::Stale);
            }
            // The reader changed the slot: at most attach and take, then it has no business here.
        }
        counters.dropped.add(1);
        Err(CrossError::Refuse(ReserveError::Full))
    }

    /// Leaves; the outermost writer publishes what all of them wrote. Returns what the caller has
    /// to tell readers.
    #[inline(always)]
    pub(super) fn exit(self) -> Publication {
        match self.exit_fast() {
            Ok(()) => Publication::Events,
            Err(outcome) => self.exit_slow(outcome),
        }
    }

    /// Commits an event of the most frequent kind: its writer interrupted no other and came in by
    /// the fast path, and no writer interrupted it. Fails otherwise; the outcome says whether the
    /// writer has left already.
    #[inline(always)]
    fn exit_fast(self) -> Result<(), FastCommit> {
        let ring = self.ring;
        let w = &ring.w;
        let layout = &*ring.layout;
        let subbuf = ring.live_subbuf();
        let pos = Pos(w.pos.get());
        // After the loads: they are of one moment, and our event is the last one in that
        // sub-buffer.
        if !w.nest.is_alone() {
            return Err(FastCommit::NotTried);
        }
        // G: the sub-buffer is open, as this writer, the outermost one, has not left it.
        subbuf.publish(pos, layout.offset(pos));
        // H: a writer that came since was not the outermost and could not publish.
        match w.nest.leave() {
            true => Ok(()),
            false => Err(FastCommit::Raced),
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn exit_slow(self, outcome: FastCommit) -> Publication {
        let w = &self.ring.w;
        if outcome == FastCommit::NotTried && w.nest.level() != 0 {
            w.nest.leave_inner();
            return Publication::Nothing;
        }
        match self.publish() {
            Some(false) => Publication::Events,
            Some(true) => Publication::Watermark,
            None => {
                w.nest.leave_slow();
                Publication::Nothing
            }
        }
    }

    /// Commits by the fast path an event that [`Reservation::into_raw`] took apart; the caller then
    /// has [`Publication::Events`] to tell. If it fails, [`Self::commit_slow`] must follow.
    ///
    /// # Safety
    ///
    /// As for [`Reservation::from_raw`].
    #[inline(always)]
    pub(crate) unsafe fn commit_fast(self) -> Result<(), FastCommit> {
        self.exit_fast()
    }

    /// Commits an event that [`Self::commit_fast`] did not. Returns what the caller has to tell
    /// readers.
    ///
    /// # Safety
    ///
    /// `outcome` is what [`Self::commit_fast`] or [`Self::refuse_full`] has just failed with for
    /// this event.
    #[inline(always)]
    pub(crate) unsafe fn commit_slow(self, outcome: FastCommit) -> Publication {
        self.exit_slow(outcome)
    }

    /// Goes through G and H. Returns whether the watermark was reached; `None` when the ring is
    /// broken.
    #[inline(always)]
    fn publish(self) -> Option<bool> {
        let ring = self.ring;
        let w = &ring.w;
        let layout = &*ring.layout;
        if ring.is_broken() {
            return None;
        }
        let mut reached = false;
        // One turn for us and one for each interrupt that wrote between the start of a turn and its
        // H.
        loop {
            w.nest.begin_look();
            let pos = Pos(w.pos.get());
            let seq = layout.seq(pos);
            if w.closing.get() != seq {
                reached |= self.close_until(seq)?;
            }
            let subbuf = ring.open_subbuf(seq)?;
            let padded = subbuf.padded.get();
            if w.pos.get() != pos.0 {
                // `padded` may count an event that is not in `pos`.
                continue;
            }
            let count = layout.count(pos).wrapping_sub(padded);
            let len = layout.offset(pos);
            subbuf.publish(layout.pos(seq, count, len), len);
            // A writer that came since the load of `pos` was not the outermost and could not
            // publish.
            let all = if padded == 0 && w.times.is_own(pos) {
                w.nest.leave()
            } else {
                w.nest.leave_slow();
                w.pos.get() == pos.0
            };
            if all {
                return Some(reached);
            }
        }
    }

    /// Closes the sub-buffers before `seq`, which all writers have left. Returns whether the
    /// watermark was reached; `None` when the ring is broken.
    #[inline(always)]
    fn close_until(self, seq: Seq) -> Option<bool> {
        let ring = self.ring;
        let w = &ring.w;
        let layout = &*ring.layout;
        let mut at = w.closing.get();
        while at != seq {
            let Some(slot) = ring.slot(at) else {
                ring.set_broken(Violation::Number);
                return None;
            };
            let open = SlotWord::from_raw(slot.load());
            let subbuf = ring.held_open(open, at)?;
            let end = Pos(subbuf.end.get());
            if layout.seq(end) != at {
                ring.set_broken(Violation::End);
                return None;
            }
            let count = layout.count(end).wrapping_sub(subbuf.padded.get());
            let len = layout.offset(end);
            subbuf.publish(layout.pos(at, count, len), len);
            subbuf.padded.set(0);
            // The reader may attach in between, once.
            loop {
                let s = SlotWord::from_raw(slot.load());
                let Some(closed) = s.close() else {
                    ring.set_broken(Violation::State);
                    return None;
                };
                if slot.cas(s.raw(), closed.raw()) {
                    break;
                }
            }
            let total = w.total.get().wrapping_add(count);
            w.total.set(total);
            at = at.wrapping_add(1);
            w.closing.set(at);
            ring.open_subbuf(at)?.base.set(total);
        }
        Some(ring.watermark_reached(at))
    }
}

impl<P: Port> CpuRing<P> {
    /// Returns the sub-buffer that is open as number `seq`; `None` when the ring is broken. It
    /// cannot change while a writer is in it.
    #[inline(always)]
    pub(super) fn open_subbuf(&self, seq: Seq) -> Option<&SubBuf<P>> {
        let hint = SlotWord::from_raw(self.w.hint.get());
        if hint.seq() == seq {
            return self.subbuf(hint.index());
        }
        self.find_subbuf(seq)
    }

    #[cold]
    #[inline(never)]
    fn find_subbuf(&self, seq: Seq) -> Option<&SubBuf<P>> {
        let Some(slot) = self.slot(seq) else {
            self.set_broken(Violation::Number);
            return None;
        };
        let s = SlotWord::from_raw(slot.load());
        self.held_open(s, seq)
    }

    /// Returns the sub-buffer that `s`, the word of its slot, says is open as number `seq`. If it
    /// says otherwise, declares the ring broken and returns `None`.
    #[inline(always)]
    fn held_open(&self, s: SlotWord, seq: Seq) -> Option<&SubBuf<P>> {
        if s.seq() != seq || s.state() != Some(State::Open) {
            self.set_broken(Violation::State);
            return None;
        }
        let subbuf = self.subbuf(s.index());
        if subbuf.is_none() {
            self.set_broken(Violation::Place);
        }
        subbuf
    }
}
