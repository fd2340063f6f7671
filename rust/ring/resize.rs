// SPDX-License-Identifier: GPL-2.0
//! Another number of sub-buffers, with the events that are in the ring.
//!
//! The memory of sub-buffers that hold unread events moves into the new parts, the oldest is lost
//! when there are too many. Nobody else uses the ring meanwhile, so this is plain code.

use core::mem;

use super::cpu::{CpuRing, Current, Parts, ReaderState};
use super::port::{LocalWord, Port, SharedWord};
use super::pos::{Pos, Seq};
use super::slot::{PageIndex, SlotWord, State};
use super::subbuf::SubBuf;

/// The new parts cannot be used; they are given back.
pub(crate) struct Unfit<P: Port>(pub(crate) Parts<P>);

/// A sub-buffer that survives.
struct Kept {
    old: PageIndex,
    seq: Seq,
}

impl<P: Port> CpuRing<P>
where
    P::Table<SubBuf<P>>: core::ops::DerefMut,
{
    /// Exchanges the parts of the ring for `parts`, whose sub-buffers are unused and of the same
    /// size; unread events are kept as far as they fit. Returns the old parts, with unused memory
    /// of the new ones where something was kept. A broken ring is emptied.
    ///
    /// # Safety
    ///
    /// As for [`CpuRing::reset`].
    pub(crate) unsafe fn resize(
        &self,
        state: &mut ReaderState,
        parts: Parts<P>,
    ) -> Result<Parts<P>, Unfit<P>> {
        if !self.fits(&parts) {
            return Err(Unfit(parts));
        }
        if self.is_broken() {
            // Its words say nothing about what could be kept.
            // SAFETY: by the contract.
            let old = unsafe { self.replace(parts) };
            // SAFETY: by the contract.
            unsafe { self.reset(state) };
            return Ok(old);
        }
        self.settle(state);
        let n = parts.slots.len() as u64;
        let first = self.unused_seq(n);
        let pos = Pos(self.w.pos.get());
        let last = self.layout.seq(pos);
        let own = state.current.filter(|c| !c.attached);
        // The oldest sub-buffer that stays in a slot.
        let oldest = self
            .oldest(state)
            .max((last.wrapping_add(1)).saturating_sub(n));
        self.lose_before(state, oldest);

        // SAFETY: by the contract nobody else uses the ring; the words are set below.
        let mut old = unsafe { self.replace(parts) };
        self.empty_slots(first);
        let mut to = 0u32;
        let mut seq = oldest;
        while seq <= last {
            let new_seq = first.wrapping_add(u64::from(to));
            let kept = slot_of(&old, seq);
            if let Some(word) = kept {
                let kept = Kept {
                    old: word.page(),
                    seq: new_seq,
                };
                // SAFETY: as above.
                unsafe { self.adopt(&mut old, kept, PageIndex(to)) };
                let fresh = if seq == last {
                    State::Open
                } else {
                    State::Full
                };
                let mut new = SlotWord::new(new_seq, PageIndex(to), fresh);
                if word.detached() {
                    new = new.attach().unwrap_or(new);
                }
                if let Some(slot) = self.slots().get(to as usize) {
                    slot.store(new.raw());
                }
            }
            to = to.wrapping_add(1);
            seq = seq.wrapping_add(1);
        }

        let spare = PageIndex(n as u32);
        if let Some(c) = own {
            let kept = Kept {
                old: c.page,
                seq: first.wrapping_sub(1),
            };
            // SAFETY: as above.
            unsafe { self.adopt(&mut old, kept, spare) };
            state.current = Some(Current {
                seq: first.wrapping_sub(1),
                page: spare,
                ..c
            });
        } else if let Some(c) = state.current {
            state.current = Some(Current {
                seq: first,
                page: PageIndex(0),
                ..c
            });
        }
        state.spare = spare;
        state.next = first;
        self.s.spare.store(u64::from(spare.0));
        let open = first.wrapping_add(u64::from(to)).wrapping_sub(1);
        self.w.closing.set(open);
        self.w.hint.set(0);
        self.w.stamps.reset();
        let pos = self
            .layout
            .pos(open, self.layout.count(pos), self.layout.offset(pos));
        self.w.pos.set(pos.0);
        Ok(old)
    }

    /// An attached sub-buffer that writers have left becomes the reader's own.
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
        state.current = Some(Current {
            attached: false,
            ..cur
        });
        state.next = cur.seq.wrapping_add(1);
    }

    /// Number of the oldest sub-buffer with unread events that is in a slot.
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
        while at < seq {
            let page = self
                .slot(at)
                .map(|s| SlotWord::from_raw(s.load()).page())
                .and_then(|i| self.page(i));
            if let Some(pos) = page.and_then(|p| self.committed_in(p, at)) {
                self.w.counters.overrun.add(self.layout.count(pos));
            }
            at = at.wrapping_add(1);
        }
    }

    /// Moves the sub-buffer `kept` of the old parts to place `to` of the new ones.
    ///
    /// # Safety
    ///
    /// Nobody else uses the ring.
    unsafe fn adopt(&self, old: &mut Parts<P>, kept: Kept, to: PageIndex) {
        // SAFETY: by the contract.
        let new = unsafe { self.page_mut(to) };
        if let (Some(from), Some(to)) = (old.pages.get_mut(kept.old.0 as usize), new) {
            mem::swap(from, to);
            let pos = Pos(to.commit.load());
            let pos = self
                .layout
                .pos(kept.seq, self.layout.count(pos), self.layout.offset(pos));
            to.commit.store_release(pos.0);
        }
    }
}

fn slot_of<P: Port>(parts: &Parts<P>, seq: Seq) -> Option<SlotWord> {
    let i = seq.checked_rem(parts.slots.len() as u64)?;
    let word = SlotWord::from_raw(parts.slots.get(i as usize)?.load());
    (word.seq() == seq).then_some(word)
}
