// SPDX-License-Identifier: GPL-2.0
//! The slot word: the one word where the writer and the reader of a ring meet.
//!
//! ```text
//!   Empty(q, B)     -> Open(q+N, B)        T1  writer crosses
//!   Full(q, A)      -> Open(q+N, A)        T2  writer crosses, overwrite mode: q is lost
//!   Full(q, A, D)   -> Open(q+N, spare)    T3  writer crosses, A stays with the reader
//!   Open(q, A[, D]) -> Full(q, A[, D])     T4  outermost writer closes
//!   Open(q, A)      -> Open(q, A, D)       T5  reader attaches
//!   Full(q, A[, D]) -> Empty(q, spare)     T6, T7  reader takes
//! ```
//!
//! No other transition is legal: each verb below returns `None` for the states it does not apply
//! to.

use super::pos::{Seq, SLOT_SEQ_BITS};

/// Index of a sub-buffer among those of its ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SubBufIndex(pub(crate) u32);

const INDEX_BITS: u32 = 20;
/// Largest number of sub-buffers of one ring, the reader's spare included.
pub(crate) const MAX_SUBBUFS: usize = 1 << INDEX_BITS;

/// State of the sub-buffer that a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// A sub-buffer that no writer has used since the reader gave it.
    Empty,
    /// A sub-buffer that writers fill.
    Open,
    /// A finished sub-buffer.
    Full,
}

/// The word of a slot, packed: `seq:41 index:20 state:2 detach:1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotWord(u64);

const DETACH: u64 = 1;
const STATE_SHIFT: u32 = 1;
const INDEX_SHIFT: u32 = 3;
const SEQ_SHIFT: u32 = INDEX_SHIFT + INDEX_BITS;
const _: () = assert!(SEQ_SHIFT + SLOT_SEQ_BITS == 64);

impl SlotWord {
    /// Returns the word with these parts, not detached.
    #[inline(always)]
    pub(crate) const fn new(seq: Seq, index: SubBufIndex, state: State) -> Self {
        let state = match state {
            State::Empty => 0,
            State::Open => 1,
            State::Full => 2,
        };
        Self((seq << SEQ_SHIFT) | ((index.0 as u64) << INDEX_SHIFT) | (state << STATE_SHIFT))
    }

    /// Returns the word as loaded.
    #[inline(always)]
    pub(crate) const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// Returns the value to store.
    #[inline(always)]
    pub(crate) const fn raw(self) -> u64 {
        self.0
    }

    /// Returns the sub-buffer number that the slot holds or held last.
    #[inline(always)]
    pub(crate) const fn seq(self) -> Seq {
        self.0 >> SEQ_SHIFT
    }

    /// Returns the sub-buffer in the slot.
    #[inline(always)]
    pub(crate) const fn index(self) -> SubBufIndex {
        SubBufIndex(((self.0 >> INDEX_SHIFT) as u32) & (MAX_SUBBUFS as u32).wrapping_sub(1))
    }

    /// Returns the state; `None` for the pattern that no transition makes.
    #[inline(always)]
    pub(crate) const fn state(self) -> Option<State> {
        match (self.0 >> STATE_SHIFT) & 3 {
            0 => Some(State::Empty),
            1 => Some(State::Open),
            2 => Some(State::Full),
            _ => None,
        }
    }

    /// Returns whether the reader owns the sub-buffer even while writers fill it.
    #[inline(always)]
    pub(crate) const fn detached(self) -> bool {
        self.0 & DETACH != 0
    }

    /// T1, T2: opens the same sub-buffer again, as number `seq`.
    pub(crate) const fn reopen(self, seq: Seq) -> Option<Self> {
        match (self.state(), self.detached()) {
            (Some(State::Empty | State::Full), false) => {
                Some(Self::new(seq, self.index(), State::Open))
            }
            _ => None,
        }
    }

    /// T3: opens the reader's spare as number `seq`.
    pub(crate) const fn steal(self, seq: Seq, spare: SubBufIndex) -> Option<Self> {
        match (self.state(), self.detached()) {
            (Some(State::Full), true) => Some(Self::new(seq, spare, State::Open)),
            _ => None,
        }
    }

    /// T4: closes a sub-buffer that all writers have left.
    pub(crate) const fn close(self) -> Option<Self> {
        match self.state() {
            Some(State::Open) => Some(Self(self.0.wrapping_add(1 << STATE_SHIFT))),
            _ => None,
        }
    }

    /// T5: says that the reader will keep the sub-buffer.
    pub(crate) const fn attach(self) -> Option<Self> {
        match (self.state(), self.detached()) {
            (Some(State::Open), false) => Some(Self(self.0 | DETACH)),
            _ => None,
        }
    }

    /// T6, T7: takes the sub-buffer for the reader and leaves `spare`.
    pub(crate) const fn take(self, spare: SubBufIndex) -> Option<Self> {
        match self.state() {
            Some(State::Full) => Some(Self::new(self.seq(), spare, State::Empty)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [State; 3] = [State::Empty, State::Open, State::Full];

    fn all() -> Vec<SlotWord> {
        let mut v = Vec::new();
        for state in STATES {
            for seq in [0, 5, (1 << SLOT_SEQ_BITS) - 1] {
                for index in [0, 7, MAX_SUBBUFS as u32 - 1] {
                    let w = SlotWord::new(seq, SubBufIndex(index), state);
                    v.push(w);
                    v.push(SlotWord(w.0 | DETACH));
                }
            }
        }
        v
    }

    #[test]
    fn every_verb_applies_to_its_states_only() {
        use State::{Empty, Full, Open};
        for w in all() {
            let s = w.state().unwrap();
            let d = w.detached();
            let spare = SubBufIndex(3);
            let reopened = matches!((s, d), (Empty | Full, false));
            assert_eq!(w.reopen(9).is_some(), reopened, "{w:?}");
            assert_eq!(w.steal(9, spare).is_some(), (s, d) == (Full, true), "{w:?}");
            assert_eq!(w.close().is_some(), s == Open, "{w:?}");
            assert_eq!(w.attach().is_some(), (s, d) == (Open, false), "{w:?}");
            assert_eq!(w.take(spare).is_some(), s == Full, "{w:?}");
        }
    }

    #[test]
    fn verbs_change_only_what_they_name() {
        for w in all() {
            if let Some(c) = w.close() {
                assert_eq!((c.seq(), c.index()), (w.seq(), w.index()));
                assert_eq!((c.state(), c.detached()), (Some(State::Full), w.detached()));
            }
            if let Some(a) = w.attach() {
                assert_eq!((a.seq(), a.index()), (w.seq(), w.index()));
                assert_eq!((a.state(), a.detached()), (Some(State::Open), true));
            }
            if let Some(t) = w.take(SubBufIndex(3)) {
                assert_eq!((t.seq(), t.index()), (w.seq(), SubBufIndex(3)));
                assert_eq!((t.state(), t.detached()), (Some(State::Empty), false));
            }
            if let Some(r) = w.reopen(4) {
                assert_eq!((r.seq(), r.index()), (4, w.index()));
                assert_eq!((r.state(), r.detached()), (Some(State::Open), false));
            }
            if let Some(t) = w.steal(4, SubBufIndex(3)) {
                assert_eq!((t.seq(), t.index()), (4, SubBufIndex(3)));
                assert_eq!((t.state(), t.detached()), (Some(State::Open), false));
            }
        }
    }

    #[test]
    fn the_fourth_state_is_none() {
        assert_eq!(SlotWord(3 << STATE_SHIFT).state(), None);
        assert_eq!(SlotWord(3 << STATE_SHIFT).close(), None);
    }
}
