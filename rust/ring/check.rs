// SPDX-License-Identifier: GPL-2.0
//! Whether a ring in which no writer is active keeps its invariants.
//!
//! The host tests call it after every command, and so does the module's self-test. It changes
//! nothing, allocates nothing, and its turns are bounded by the slots and bytes of the ring,
//! whatever is in the words.
//!
//! I1 and I12 say what actors do, not what words hold: they cannot be seen here.

use super::cpu::{CpuRing, CurrentSubBuf, ReaderState};
use super::cursor::Cursor;
use super::port::{LocalWord, Memory, Port, SharedWord};
use super::pos::{Pos, Seq};
use super::slot::{SlotWord, State, SubBufIndex};
use super::subbuf::{HeadWord, SubBuf};
use super::violation::Violation;
use super::wire::{self, WireRecord};

/// What the clock promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// It never goes back, and by less than a time record holds forward.
    #[allow(
        dead_code,
        reason = "no clock of the kernel promises that in all contexts"
    )]
    Steady,
    /// Nothing.
    Any,
}

/// Number of sub-buffers that are looked for at once.
const MANY: usize = 4096;
/// Size of the smallest event, in bytes.
const SMALLEST: u64 = 8;

impl<P: Port> CpuRing<P> {
    /// Checks every word and every committed byte. Fails with the first violation.
    ///
    /// # Safety
    ///
    /// As for [`Self::idle`], but `state` may be shared.
    pub(crate) unsafe fn check(&self, state: &ReaderState, clock: Clock) -> Result<(), Violation> {
        let pos = Pos(self.w.pos.get());
        // INVARIANT: the caller promises both.
        let check = Check {
            ring: self,
            state,
            clock,
            pos,
            open: self.layout.seq(pos),
        };
        check.position()?;
        check.slots()?;
        check.places()?;
        check.contents()
    }
}

/// A check of a ring.
///
/// # Invariants
///
/// No writer is active during `'a`, and `state` is that of the ring.
struct Check<'a, P: Port> {
    ring: &'a CpuRing<P>,
    state: &'a ReaderState,
    clock: Clock,
    pos: Pos,
    /// The sub-buffer of the position.
    open: Seq,
}

/// What the sub-buffers so far add up to.
struct Chain {
    /// The sub-buffer after the last one.
    next: Option<Seq>,
    /// Number of the event after the last one; before the first sub-buffer, the least that its
    /// first event may have.
    serial: u64,
    /// Events that can still be read.
    remaining: u64,
    /// Time of the last event.
    time: Option<u64>,
}

/// The last event of a sub-buffer.
#[derive(Clone, Copy)]
struct LastEvent {
    next: u32,
    time: u64,
}

fn ensure(holds: bool, violation: Violation) -> Result<(), Violation> {
    if holds {
        Ok(())
    } else {
        Err(violation)
    }
}

impl<P: Port> Check<'_, P> {
    /// Checks I2, I3, I13, I14: the words of the writers.
    fn position(&self) -> Result<(), Violation> {
        let (w, layout) = (&self.ring.w, *self.ring.layout);
        ensure(w.nest.is_at_rest(), Violation::Nest)?;
        let inside = self.open <= layout.max_seq() && self.plausible(self.pos);
        ensure(inside, Violation::Position)?;
        ensure(w.closing.get() == self.open, Violation::Closing)?;
        // I14, less what `contents` checks.
        if w.nest.allows_fast() || w.times.named(self.pos).is_some() {
            let held = self
                .held(self.open)
                .and_then(|s| self.ring.subbuf(s.index()));
            let same = held.is_some_and(|subbuf| {
                core::ptr::eq(subbuf, self.ring.live_subbuf())
                    && subbuf.memory().base() == self.ring.live_base()
            });
            ensure(same || held.is_none(), Violation::Hint)?;
        }
        let hint = SlotWord::from_raw(w.hint.get());
        if hint.seq() < self.open {
            // No writer asks for that number any more.
            return Ok(());
        }
        // It may be that of `ahead`.
        let next = self.open.wrapping_add(1);
        let held = self.held(hint.seq()).filter(|_| hint.seq() <= next);
        let same = held.is_some_and(|s| s.index() == hint.index());
        ensure(same || self.held(self.open).is_none(), Violation::Hint)
    }

    /// Returns whether `pos` is inside a sub-buffer and has no more events than fit before it.
    fn plausible(&self, pos: Pos) -> bool {
        let layout = *self.ring.layout;
        let offset = layout.offset(pos);
        let most = u64::from(offset).checked_div(SMALLEST).unwrap_or(0);
        offset <= layout.capacity() && layout.count(pos) <= most
    }

    /// Returns the word of the slot that holds `seq`.
    fn held(&self, seq: Seq) -> Option<SlotWord> {
        let s = SlotWord::from_raw(self.ring.slot(seq)?.load_acquire());
        (s.seq() == seq).then_some(s)
    }

    /// Returns the slot word of the sub-buffer after the position's, if it is open: a writer may
    /// have opened it and then not gone there.
    fn ahead(&self) -> Option<SlotWord> {
        self.held(self.open.wrapping_add(1))
    }

    /// Returns the oldest sub-buffer in a slot.
    fn oldest(&self) -> Seq {
        let newest = self.open.wrapping_add(u64::from(self.ahead().is_some()));
        newest.wrapping_add(1).wrapping_sub(self.ring.slot_count())
    }

    /// Returns the first sub-buffer in a slot that the reader has not taken.
    fn untaken(&self) -> Seq {
        match self.state.current {
            Some(c) if c.attached => c.seq,
            Some(c) => c.seq.wrapping_add(1),
            None => self.state.next,
        }
    }

    /// Returns the reader's sub-buffer, when it is in no slot.
    fn taken(&self) -> Option<CurrentSubBuf> {
        let stays = |c: &CurrentSubBuf| c.attached && self.held(c.seq).is_some();
        self.state.current.filter(|c| !stays(c))
    }

    fn tag(&self, index: SubBufIndex) -> Result<Seq, Violation> {
        let subbuf = self.ring.subbuf(index).ok_or(Violation::Place)?;
        Ok(self.ring.layout.seq(Pos(subbuf.commit.load())))
    }

    /// Checks I3, I4, I6: the slots, from the oldest to the newest.
    fn slots(&self) -> Result<(), Violation> {
        let untaken = self.untaken();
        ensure(untaken <= self.open, Violation::State)?;
        if let Some(c) = self.state.current {
            let next = self.state.next;
            let follows = next == c.seq || (!c.attached && next == c.seq.wrapping_add(1));
            ensure(follows, Violation::Reader)?;
        }
        let mut seq = self.oldest();
        for _ in 0..self.ring.slot_count() {
            let s = self.held(seq).ok_or(Violation::Number)?;
            let expected = if seq >= self.open {
                State::Open
            } else if seq >= untaken {
                State::Full
            } else {
                State::Empty
            };
            ensure(s.state() == Some(expected), Violation::State)?;
            let attached = |c: CurrentSubBuf| c.attached && (c.seq, c.index) == (seq, s.index());
            let detached = self.state.current.is_some_and(attached);
            ensure(s.detached() == detached, Violation::Detach)?;
            if expected == State::Empty || seq > self.open {
                // What was in it before is older.
                ensure(self.tag(s.index())? < seq.min(self.open), Violation::Tag)?;
            }
            seq = seq.wrapping_add(1);
        }
        Ok(())
    }

    /// Checks I7: as many sub-buffers are in use as there are, none of them twice.
    fn places(&self) -> Result<(), Violation> {
        let ring = self.ring;
        let third = match self.taken() {
            Some(c) => c.index,
            None => {
                let spare = self.state.spare;
                ensure(ring.s.spare.load() == u64::from(spare.0), Violation::Spare)?;
                ensure(self.tag(spare)? < self.untaken(), Violation::Tag)?;
                spare
            }
        };
        let count = ring.subbufs().len();
        let mut from = 0usize;
        while from < count {
            let mut seen = [0u64; MANY / 64];
            let in_slots = ring.slots().iter();
            let in_slots = in_slots.map(|slot| SlotWord::from_raw(slot.load()).index());
            for index in in_slots.chain([third]) {
                let index = index.0 as usize;
                ensure(index < count, Violation::Place)?;
                let Some(at) = index.checked_sub(from).filter(|at| *at < MANY) else {
                    continue;
                };
                if let Some(word) = seen.get_mut(at >> 6) {
                    let bit = 1u64.wrapping_shl((at & 63) as u32);
                    ensure(*word & bit == 0, Violation::Place)?;
                    *word |= bit;
                }
            }
            from = from.saturating_add(MANY);
        }
        Ok(())
    }

    /// Checks I4, I5, I8 to I11: the sub-buffers with events that can be read.
    fn contents(&self) -> Result<(), Violation> {
        let (ring, state) = (self.ring, self.state);
        for subbuf in ring.subbufs() {
            let open = self.held(self.open).and_then(|s| ring.subbuf(s.index()));
            let here = open.is_some_and(|o| core::ptr::eq(o, subbuf));
            ensure(here || subbuf.padded.get() == 0, Violation::End)?;
        }
        let mut chain = Chain {
            next: None,
            serial: state.serial,
            remaining: 0,
            time: None,
        };
        if let Some(c) = self.taken() {
            self.sub_buffer(c.seq, c.index, &mut chain)?;
            // A resize may have lost events here without a gap in the numbers.
            chain.next = None;
        }
        let mut last = None;
        for seq in self.untaken().max(self.oldest())..=self.open {
            let s = self.held(seq).ok_or(Violation::Number)?;
            last = self.sub_buffer(seq, s.index(), &mut chain)?;
        }
        self.time_known(last)?;
        let overrun = ring.w.counters.overrun.get();
        let kept = chain.serial.checked_sub(chain.remaining);
        let gone = state.read.checked_add(overrun);
        ensure(kept.is_some() && kept == gone, Violation::Sum)
    }

    /// Checks one sub-buffer with events; returns its last one.
    fn sub_buffer(
        &self,
        seq: Seq,
        index: SubBufIndex,
        chain: &mut Chain,
    ) -> Result<Option<LastEvent>, Violation> {
        let (ring, layout) = (self.ring, *self.ring.layout);
        let subbuf = ring.subbuf(index).ok_or(Violation::Place)?;
        let commit = self.committed(seq, subbuf)?;
        let end = layout.offset(commit);
        // SAFETY: a sub-buffer of a ring has memory; the offset is at most the capacity
        // (`committed`); no writer is active (invariant), so the bytes are not stored to.
        let data = unsafe { subbuf.at_rest(end) };
        let events = records(data)?;
        ensure(events == layout.count(commit), Violation::Records)?;
        let stamp = subbuf.head(HeadWord::Stamp);
        let length = subbuf.head(HeadWord::Length);
        let same = end == 0 || stamp == subbuf.stamp.get();
        let long = length & wire::LENGTH_MASK == u64::from(end);
        ensure(same && long, Violation::Head)?;
        let base = subbuf.base.get();
        let read = match self.state.current.filter(|c| c.seq == seq) {
            Some(c) => self.reader(&c, subbuf, data)?,
            None => 0,
        };
        let follows = chain.next == Some(seq) && base == chain.serial;
        let later = chain.next != Some(seq) && base >= chain.serial.wrapping_sub(read);
        ensure(follows || later, Violation::Base)?;
        if seq == self.open {
            ensure(base == ring.w.total.get(), Violation::Base)?;
        }
        chain.next = Some(seq.wrapping_add(1));
        chain.serial = base.wrapping_add(events);
        chain.remaining = chain.remaining.wrapping_add(events.wrapping_sub(read));
        let mut last = None;
        for event in Cursor::at(data, 0, subbuf.stamp.get()) {
            let event = event.map_err(|_| Violation::Records)?;
            let back = chain.time.is_some_and(|t| event.time < t);
            ensure(!back || self.clock == Clock::Any, Violation::Time)?;
            chain.time = Some(event.time);
            last = Some(LastEvent {
                next: event.next as u32,
                time: event.time,
            });
        }
        Ok(last)
    }

    /// Checks I4, I5; returns how far a sub-buffer is final.
    fn committed(&self, seq: Seq, subbuf: &SubBuf<P>) -> Result<Pos, Violation> {
        let layout = *self.ring.layout;
        let commit = Pos(subbuf.commit.load_acquire());
        let padded = subbuf.padded.get();
        if seq == self.open {
            if commit.0 == 0 && self.pos == layout.pos(seq, 0, 0) && padded == 0 {
                // No writer has come since the ring was emptied.
                return Ok(self.pos);
            }
            ensure(layout.seq(commit) == seq, Violation::Tag)?;
            let left = layout.count(commit).wrapping_add(padded) == layout.count(self.pos)
                && layout.offset(commit) == layout.offset(self.pos);
            ensure(left && self.plausible(commit), Violation::Commit)?;
            ensure(
                padded == 0 || !self.ring.w.nest.allows_fast(),
                Violation::Nest,
            )?;
            return Ok(commit);
        }
        ensure(layout.seq(commit) == seq, Violation::Tag)?;
        let end = Pos(subbuf.end.get());
        // A resize gives another number only to the commit.
        let left = layout.count(commit) <= layout.count(end)
            && layout.offset(commit) == layout.offset(end);
        ensure(left && self.plausible(commit), Violation::End)?;
        Ok(commit)
    }

    /// Checks I8, I11: the reader in its sub-buffer; returns the number of events that it has read
    /// there.
    fn reader(&self, c: &CurrentSubBuf, subbuf: &SubBuf<P>, data: &[u8]) -> Result<u64, Violation> {
        let part = data.get(..c.offset as usize).ok_or(Violation::Reader)?;
        let events = records(part).map_err(|_| Violation::Reader)?;
        ensure(events == c.events, Violation::Reader)?;
        let mut cursor = Cursor::at(part, 0, subbuf.stamp.get());
        let mut time = None;
        for event in &mut cursor {
            time = event.ok().map(|e| e.time);
        }
        // It goes on at that time only if data follows or will follow.
        let more = c.attached || part.len() < data.len();
        let known = time == Some(c.time) || cursor.time() == c.time;
        ensure(part.is_empty() || !more || known, Violation::Reader)?;
        let base = subbuf.base.get();
        let right = if c.counted {
            // The events that no user has been told of are part of those known lost.
            let lost = self.state.serial.checked_sub(self.state.read);
            self.state.serial == base.wrapping_add(c.events) && lost >= Some(c.lost)
        } else {
            c.offset == 0 && c.lost == 0 && self.state.serial <= base
        };
        ensure(right, Violation::Serial)?;
        Ok(events)
    }

    /// Checks I10, I14: the event whose time is known is the last one.
    fn time_known(&self, last: Option<LastEvent>) -> Result<(), Violation> {
        let w = &self.ring.w;
        ensure(
            w.times.is_own(self.pos) || !w.nest.allows_fast(),
            Violation::Pair,
        )?;
        let Some(token) = w.times.named(self.pos) else {
            return Ok(());
        };
        let last = last.filter(|l| l.next == self.ring.layout.offset(self.pos));
        let last = last.ok_or(Violation::Pair)?;
        // A discarded event before it has left its own time in that many bits.
        let wrong = (w.times.time_of(token.level()) ^ last.time) & wire::STAMP_MAX;
        ensure(wrong == 0, Violation::Pair)
    }
}

/// Returns the number of events in `data`. Fails with [`Violation::Records`] unless that is made of
/// whole records and nothing else.
fn records(data: &[u8]) -> Result<u64, Violation> {
    let mut events = 0u64;
    let mut at = 0usize;
    while at < data.len() {
        let (record, size) = wire::record(data, at).map_err(|_| Violation::Records)?;
        match record {
            WireRecord::Data { .. } => events = events.wrapping_add(1),
            WireRecord::End => return Err(Violation::Records),
            WireRecord::Padding | WireRecord::Extend { .. } | WireRecord::Stamp { .. } => {}
        }
        // A record has at least 4 bytes and ends in the data.
        at = at.saturating_add(size);
    }
    Ok(events)
}
