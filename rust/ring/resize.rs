// SPDX-License-Identifier: GPL-2.0
//! How a ring gets another number of sub-buffers, with the events that are in it, or sub-buffers of
//! another size, without them.
//!
//! Sub-buffers that hold unread events move into the new parts, and the oldest are lost when there
//! are too many; unused ones follow where the new parts have no memory of their own, so that a ring
//! can shrink when no memory is free. What is lost is counted as overrun. The caller alone uses the
//! ring meanwhile, so this is plain code.

use core::mem;

use super::cpu::{CpuRing, CurrentSubBuf, Parts, ReaderState};
use super::idle::{FittingParts, IdleRing};
use super::port::{LocalWord, Memory as _, Port, SharedWord};
use super::pos::{Pos, Seq};
use super::reader::Reader;
use super::slot::{SlotWord, State, SubBufIndex};
use super::subbuf::SubBuf;

/// The new parts cannot be used; they are given back.
pub(crate) struct RejectedParts<P: Port>(pub(crate) Parts<P>);

/// A sub-buffer that survives.
struct KeptSubBuf {
    old: SubBufIndex,
    was: Seq,
    seq: Seq,
}

impl<P: Port> IdleRing<'_, P>
where
    P::Table<SubBuf<P>>: core::ops::DerefMut,
{
    /// Exchanges the parts of the ring for `parts`, whose sub-buffers are unused. Returns the old
    /// parts, with unused memory of the new ones where something was kept.
    ///
    /// When they have the size of those of the ring, unread events are kept as far as they fit, and
    /// some sub-buffers may have no memory (size 0): they get that of the ring's. Otherwise all
    /// have one other size, and unread events are lost. A broken ring is emptied.
    ///
    /// Fails with [`RejectedParts`] when the sub-buffers are neither, or their number is wrong; the
    /// ring is then as it was.
    pub(crate) fn resize(&mut self, parts: Parts<P>) -> Result<Parts<P>, RejectedParts<P>> {
        let parts = FittingParts::of(self.ring(), parts).map_err(RejectedParts)?;
        if self.ring().is_broken() {
            // Its words do not say what could be kept.
            self.reset();
        }
        if parts.layout() == *self.ring().layout {
            Ok(self.keep(parts))
        } else {
            Ok(self.begin_anew(parts))
        }
    }

    /// Makes the ring an empty one of `parts` that goes on counting where it was; returns the old
    /// parts.
    fn begin_anew(&mut self, parts: FittingParts<P>) -> Parts<P> {
        let (ring, state) = self.split();
        let first = ring.unused_seq(parts.slots(), parts.layout());
        let written = Reader { ring, state }.written();
        ring.w
            .counters
            .overrun
            .set(written.saturating_sub(state.read));
        // SAFETY: `begin_at` makes all words fit the new parts, all of which have memory, as their
        // layout is another one (invariant).
        let old = unsafe { self.replace(parts) };
        let (ring, state) = self.split();
        let spare = ring.last_index();
        ring.begin_at(first, written, spare);
        let untold = state.current.map_or(0, |c| c.lost);
        *state = ReaderState {
            current: None,
            next: first,
            serial: state.serial.wrapping_sub(untold),
            spare,
            read: state.read,
            // Those of the other size are not comparable.
            begun: first,
            skipped: 0,
        };
        old
    }

    /// Makes `parts`, which are for the layout of the ring, those of the ring, with its unread
    /// events; returns the old ones.
    fn keep(&mut self, parts: FittingParts<P>) -> Parts<P> {
        let (ring, state) = self.split();
        ring.settle(state);
        let n = parts.slots();
        let first = ring.unused_seq(n, *ring.layout);
        let pos = Pos(ring.w.pos.get());
        let last = ring.layout.seq(pos);
        let own = state.current.filter(|c| !c.attached);
        // The oldest sub-buffer that stays in a slot.
        let oldest = ring
            .oldest(state)
            .max((last.wrapping_add(1)).saturating_sub(n));
        let opened = Reader { ring, state }.turnover().opened;
        ring.lose_before(state, oldest);

        // SAFETY: the words are set below, and `fill_up` gives memory to sub-buffers without.
        let mut old = unsafe { self.replace(parts) };
        self.ring().empty_slots(first, self.ring().last_index());
        let mut to = 0u32;
        let mut seq = oldest;
        while seq <= last {
            let new_seq = first.wrapping_add(u64::from(to));
            let kept = slot_of(&old, seq);
            if let Some(word) = kept {
                let kept = KeptSubBuf {
                    old: word.index(),
                    was: seq,
                    seq: new_seq,
                };
                self.adopt(&mut old, kept, SubBufIndex(to));
                let fresh = if seq == last {
                    State::Open
                } else {
                    State::Full
                };
                let mut new = SlotWord::new(new_seq, SubBufIndex(to), fresh);
                if word.detached() {
                    new = new.attach().unwrap_or(new);
                }
                if let Some(slot) = self.ring().slots().get(to as usize) {
                    slot.store(new.raw());
                }
            }
            to = to.wrapping_add(1);
            seq = seq.wrapping_add(1);
        }

        let spare = SubBufIndex(n as u32);
        if let Some(c) = own {
            let kept = KeptSubBuf {
                old: c.index,
                was: c.seq,
                seq: first.wrapping_sub(1),
            };
            self.adopt(&mut old, kept, spare);
            self.state().current = Some(CurrentSubBuf {
                seq: first.wrapping_sub(1),
                index: spare,
                ..c
            });
        } else if let Some(c) = self.state().current {
            self.state().current = Some(CurrentSubBuf {
                seq: first,
                index: SubBufIndex(0),
                ..c
            });
        }
        let (ring, state) = self.split();
        state.spare = spare;
        state.next = first;
        ring.s.spare.store(u64::from(spare.0));
        ring.s.watermark.store(0);
        let open = first.wrapping_add(u64::from(to)).wrapping_sub(1);
        state.begun = open.wrapping_sub(opened);
        ring.w.closing.set(open);
        ring.begin_live(open, SubBufIndex(to.wrapping_sub(1)));
        ring.w.times.forget();
        let pos = ring
            .layout
            .pos(open, ring.layout.count(pos), ring.layout.offset(pos));
        ring.w.pos.set(pos.0);
        self.fill_up(&mut old);
        old
    }

    /// Gives sub-buffers without memory that of unused ones of `old`.
    fn fill_up(&mut self, old: &mut Parts<P>) {
        let mut unused = old.subbufs.iter_mut().filter(|p| p.memory().size() != 0);
        for to in 0..self.ring().subbufs().len() {
            let Some(subbuf) = self.subbuf(SubBufIndex(to as u32)) else {
                return;
            };
            if subbuf.memory().size() != 0 {
                continue;
            }
            if let Some(from) = unused.next() {
                mem::swap(from, subbuf);
                subbuf.begin(0);
            }
        }
    }

    /// Moves the sub-buffer `kept` of the old parts to place `to` of the new ones.
    fn adopt(&mut self, old: &mut Parts<P>, kept: KeptSubBuf, to: SubBufIndex) {
        let from = old.subbufs.get_mut(kept.old.0 as usize);
        let (Some(from), Some(new)) = (from, self.subbuf(to)) else {
            return;
        };
        mem::swap(from, new);
        let ring = self.ring();
        if let Some(to) = ring.subbuf(to) {
            // In a ring that was found broken the commit may be that of an earlier number.
            let pos = ring.committed_in(to, kept.was).unwrap_or(Pos(0));
            let pos = ring
                .layout
                .pos(kept.seq, ring.layout.count(pos), ring.layout.offset(pos));
            to.commit.store_release(pos.0);
        }
    }
}

impl<P: Port> CpuRing<P> {
    /// Makes an attached sub-buffer that writers have left the reader's own.
    fn settle(&self, state: &mut ReaderState) {
        let Some(cur) = state.current.filter(|c| c.attached) else {
            return;
        };
        let Some(slot) = self.slot(cur.seq) else {
            return;
        };
        let s = SlotWord::from_raw(slot.load());
        if s.seq() == cur.seq {
            match s.take(state.spare) {
                Some(taken) => slot.store(taken.raw()),
                None => return,
            }
        }
        state.current = Some(CurrentSubBuf {
            attached: false,
            ..cur
        });
        state.next = cur.seq.wrapping_add(1);
    }

    /// Returns the number of the oldest sub-buffer with unread events that is in a slot.
    fn oldest(&self, state: &ReaderState) -> Seq {
        let mut next = match state.current {
            Some(c) if c.attached => c.seq,
            Some(c) => c.seq.wrapping_add(1),
            None => state.next,
        };
        // The slot of a number that was lapped tells of one that may be lapped as well; each turn
        // is a slot nearer to the newest.
        for _ in 0..self.slot_count() {
            let held = self
                .slot(next)
                .map_or(0, |s| SlotWord::from_raw(s.load()).seq());
            if held <= next {
                break;
            }
            next = self.oldest_beside(held);
        }
        next
    }

    /// Counts the events of the sub-buffers in slots before `seq` as overrun.
    fn lose_before(&self, state: &mut ReaderState, seq: Seq) {
        let mut at = self.oldest(state);
        state.skipped = Reader { ring: self, state }
            .turnover()
            .lost
            .wrapping_add(seq.saturating_sub(at));
        while at < seq {
            let subbuf = self
                .slot(at)
                .map(|s| SlotWord::from_raw(s.load()).index())
                .and_then(|i| self.subbuf(i));
            if let Some(pos) = subbuf.and_then(|p| self.committed_in(p, at)) {
                self.w.counters.overrun.add(self.layout.count(pos));
            }
            at = at.wrapping_add(1);
        }
    }
}

fn slot_of<P: Port>(parts: &Parts<P>, seq: Seq) -> Option<SlotWord> {
    let i = seq.checked_rem(parts.slots.len() as u64)?;
    let word = SlotWord::from_raw(parts.slots.get(i as usize)?.load());
    (word.seq() == seq).then_some(word)
}
