// SPDX-License-Identifier: GPL-2.0
//! The ring of one CPU: its words, grouped by their writers, and how it is made and emptied.

use super::idle::IdleRing;
use super::nest::Nest;
use super::port::{LocalWord, Memory as _, Port, SharedWord};
use core::cell::UnsafeCell;
use core::ops::Deref;
use core::ptr::NonNull;

use super::pos::{Layout, Pos, Seq};
use super::slot::{SlotWord, State, SubBufIndex, MAX_SUBBUFS};
use super::subbuf::SubBuf;
use super::time::Times;
use super::violation::Violation;
use super::writer::ReserveError;

/// Words of the writing CPU. Its interrupts write them too, each whole writer nested in the one
/// that it interrupted. What most events need comes first: one cache line.
#[repr(C)]
pub(super) struct WriterSide<P: Port> {
    /// Where the next event goes.
    pub(super) pos: P::Local,
    /// Writers active, the interrupted ones included. When there are none and the fast paths are
    /// free, the sub-buffer of the position has been published into, all before it are closed, no
    /// event in it became padding, and the event that ends at the position has the time of level 0
    /// (I14).
    pub(super) nest: Nest<P::Local>,
    /// Address of the [`SubBuf`] of the position (I13). The first writer in it stores it.
    pub(super) live_subbuf: P::Local,
    /// Address of the memory of that [`SubBuf`], likewise.
    pub(super) live_base: P::Local,
    pub(super) times: Times<P::Local>,
    /// The slot word of a sub-buffer opened of late, as it was then. It only saves a division: it
    /// is used when its sequence number is the wanted one.
    pub(super) hint: P::Local,
    /// First sub-buffer that is not closed yet.
    pub(super) closing: P::Local,
    /// Events in closed sub-buffers.
    pub(super) total: P::Local,
    /// The violation that disabled the ring, 0 without one.
    pub(super) fault: P::Local,
    pub(super) counters: Counters<P::Local>,
}

/// Events that did not get in or did not stay, one word per reason.
pub(super) struct Counters<L> {
    pub(super) overrun: L,
    pub(super) commit_overrun: L,
    pub(super) dropped: L,
    pub(super) recursion: L,
    pub(super) too_big: L,
    pub(super) clock_back: L,
    pub(super) broken: L,
}

impl<L: LocalWord> Counters<L> {
    fn new() -> Self {
        Self {
            overrun: L::new(0),
            commit_overrun: L::new(0),
            dropped: L::new(0),
            recursion: L::new(0),
            too_big: L::new(0),
            clock_back: L::new(0),
            broken: L::new(0),
        }
    }

    fn reset(&self) {
        for word in [
            &self.overrun,
            &self.commit_overrun,
            &self.dropped,
            &self.recursion,
            &self.too_big,
            &self.clock_back,
            &self.broken,
        ] {
            word.set(0);
        }
    }
}

/// Words that several CPUs write, apart from those of writers: see `lines.rs`.
#[repr(align(64))]
pub(super) struct SharedSide<P: Port> {
    /// See [`GateWord`].
    pub(super) gate: P::Shared,
    /// Bit 0: a full ring loses its oldest events instead of refusing new ones.
    pub(super) overwrite: P::Shared,
    /// The sub-buffer that a writer may take for a detached one. The reader writes it, and only
    /// while no slot is detached.
    pub(super) spare: P::Shared,
    /// The sub-buffer at whose opening the writer tells readers: see [`super::watermark`]. Readers
    /// store it, under their lock.
    pub(super) watermark: P::Shared,
    pub(super) parts: QuiescedCell<Parts<P>>,
}

/// A value that stays as it is while the ring is in use. A plain load for all users.
pub(super) struct QuiescedCell<T>(UnsafeCell<T>);

impl<T> QuiescedCell<T> {
    fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Returns the value, for change.
    ///
    /// # Safety
    ///
    /// No other reference to the value exists, and none is made while the result is used.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn get_mut(&self) -> &mut T {
        // SAFETY: there is no other reference to the value as long as this (precondition).
        unsafe { &mut *self.0.get() }
    }
}

impl<T> Deref for QuiescedCell<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: only callers of `get_mut` change the value, who promise that there is no reference
        // to it then.
        unsafe { &*self.0.get() }
    }
}

/// What a writer sees of a ring by one load, before it enters: whether recording is on, and the
/// word that the owner of the ring has left for its writers.
///
/// The lowest bits say why recording is off. While it is on they are 0, and the gate is the word
/// that was left. While it is off the highest bit is never set, so that a writer that wants a word
/// with that bit has only one test to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GateWord(u64);

/// The bits of a gate that say why recording is off.
const DISABLED: u64 = (DISABLE_CPU << 1) - 1;
/// Bit of a gate while recording is off: the word that was left has the highest bit.
const WAS_OPEN: u64 = DISABLE_CPU << 1;

impl GateWord {
    /// The highest bit.
    pub(crate) const OPEN: u64 = 1 << 63;

    /// Returns the gate that is off for these reasons, with this word left.
    const fn new(off: u64, left: u64) -> Self {
        match (off, left & Self::OPEN) {
            (0, _) => Self(left),
            (_, 0) => Self(left | off),
            _ => Self((left & !Self::OPEN) | WAS_OPEN | off),
        }
    }

    /// Returns the bits that say why recording is off.
    const fn off(self) -> u64 {
        self.0 & DISABLED
    }

    /// Returns the word that was left.
    const fn left(self) -> u64 {
        let left = self.0 & !(DISABLED | WAS_OPEN);
        match self.0 & WAS_OPEN {
            0 => left,
            _ => left | Self::OPEN,
        }
    }

    /// Returns whether recording is off.
    #[inline(always)]
    pub(crate) const fn is_disabled(self) -> bool {
        self.0 & DISABLED != 0
    }

    /// Returns whether it is off because the ring is being changed.
    #[inline(always)]
    pub(crate) const fn is_changing(self) -> bool {
        self.0 & DISABLE_QUIESCE != 0
    }

    /// Returns whether it is off because an invariant was found broken.
    #[inline(always)]
    pub(crate) const fn is_broken(self) -> bool {
        self.0 & DISABLE_BROKEN != 0
    }

    /// Returns whether recording is on and a word was left that has the highest bit.
    #[inline(always)]
    pub(crate) const fn is_open(self) -> bool {
        self.0 & Self::OPEN != 0
    }

    /// Returns the gate as a word: the one that was left, if recording is on; else none that can be
    /// left.
    #[inline(always)]
    pub(crate) const fn word(self) -> u64 {
        self.0
    }

    /// Returns whether `word` can be left.
    pub(crate) const fn can_hold(word: u64) -> bool {
        word & (DISABLED | WAS_OPEN) == 0
    }
}

/// Bit of a [`GateWord`]: the user switched recording off.
pub(crate) const DISABLE_USER: u64 = 1;
/// Bit of a [`GateWord`]: the ring is being changed.
pub(crate) const DISABLE_QUIESCE: u64 = 2;
/// Bit of a [`GateWord`]: a reader wants nothing to be recorded while it reads.
pub(crate) const DISABLE_PAUSE: u64 = 8;
/// Bit of a [`GateWord`]: the user does not want this CPU.
pub(crate) const DISABLE_CPU: u64 = 16;
/// Bit of a [`GateWord`]: an invariant was found broken.
pub(crate) const DISABLE_BROKEN: u64 = 4;

/// Returns the address of a sub-buffer, for a word.
pub(super) fn address<P: Port>(subbuf: &SubBuf<P>) -> u64 {
    (&raw const *subbuf).expose_provenance() as u64
}

/// Returns the address of the memory of a sub-buffer, for a word.
fn base<P: Port>(subbuf: &SubBuf<P>) -> u64 {
    subbuf.memory().base().as_ptr().expose_provenance() as u64
}

/// The ring of one CPU.
#[repr(C, align(64))]
pub(crate) struct CpuRing<P: Port> {
    pub(super) w: WriterSide<P>,
    pub(super) layout: QuiescedCell<Layout>,
    pub(super) s: SharedSide<P>,
}

/// What the reader of a ring remembers between two calls. It belongs to the ring, not to an open
/// file, and the reader's lock is around it.
#[derive(Debug)]
pub(crate) struct ReaderState {
    pub(super) current: Option<CurrentSubBuf>,
    /// The sub-buffer to look at when there is no current one.
    pub(super) next: Seq,
    /// Events read, cleared or known lost.
    pub(super) serial: u64,
    /// The sub-buffer that the reader has ready to give; meaningless while there is a current one
    /// that is owned.
    pub(super) spare: SubBufIndex,
    /// Events read.
    pub(super) read: u64,
    /// The first sub-buffer of the ring since it was emptied.
    pub(super) begun: Seq,
    /// Sub-buffers before `next` that were overwritten before the reader had them.
    pub(super) skipped: u64,
}

impl ReaderState {
    /// Returns the sub-buffer that is the reader's.
    pub(super) fn index(&self) -> SubBufIndex {
        self.current.map_or(self.spare, |c| c.index)
    }
}

/// The sub-buffer that the reader is in.
#[derive(Clone, Copy, Debug)]
pub(super) struct CurrentSubBuf {
    pub(super) seq: Seq,
    pub(super) index: SubBufIndex,
    /// Still in its slot, with DETACH.
    pub(super) attached: bool,
    /// Bytes read.
    pub(super) offset: u32,
    /// Events read.
    pub(super) events: u64,
    /// Time of the last event read; without meaning at offset 0.
    pub(super) time: u64,
    /// The loss before it has been established.
    pub(super) counted: bool,
    /// Events lost before it that no user has been told of.
    pub(super) lost: u64,
    /// Events lost before it that the user that has it mapped was told of.
    pub(super) told: u64,
}

/// Why no ring could be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartsError {
    /// Fewer than two slots, or more than a slot word can name, or not one more sub-buffer.
    Count,
    /// Sub-buffers of unequal or impossible size.
    Size,
}

/// Slots of a ring are fewer than this.
pub(crate) const MOST_SLOTS: usize = MAX_SUBBUFS;

/// What a ring is made of.
pub(crate) struct Parts<P: Port> {
    /// See [`super::slot`]. One word per slot, any value.
    pub(crate) slots: P::Table<P::Shared>,
    /// One more than slots: each is in a slot, or the spare, or the reader's current one (I7).
    pub(crate) subbufs: P::Table<SubBuf<P>>,
}

impl<P: Port> Parts<P> {
    /// Checks the numbers of slots and sub-buffers. Fails with [`PartsError::Count`].
    pub(super) fn check(&self) -> Result<(), PartsError> {
        let n = self.slots.len();
        if !(2..MAX_SUBBUFS).contains(&n) || self.subbufs.len().checked_sub(1) != Some(n) {
            return Err(PartsError::Count);
        }
        Ok(())
    }

    /// Returns how many sub-buffers have `size` bytes.
    pub(super) fn count_of(&self, size: usize) -> usize {
        let of_size = |subbuf: &&SubBuf<P>| subbuf.memory().size() == size;
        self.subbufs.iter().filter(of_size).count()
    }
}

impl<P: Port> CpuRing<P> {
    /// Returns an empty ring, and its reader's memory. Fails with [`PartsError::Size`] unless all
    /// sub-buffers have the `size` of a [`Layout`], and with [`PartsError::Count`].
    pub(crate) fn new(parts: Parts<P>, size: usize) -> Result<(Self, ReaderState), PartsError> {
        let layout = Layout::for_size(size).ok_or(PartsError::Size)?;
        parts.check()?;
        if parts.count_of(size) != parts.subbufs.len() {
            return Err(PartsError::Size);
        }
        let ring = Self {
            w: WriterSide {
                pos: P::Local::new(0),
                nest: Nest::new(),
                live_subbuf: P::Local::new(0),
                live_base: P::Local::new(0),
                times: Times::new(),
                hint: P::Local::new(0),
                closing: P::Local::new(0),
                total: P::Local::new(0),
                fault: P::Local::new(0),
                counters: Counters::new(),
            },
            layout: QuiescedCell::new(layout),
            s: SharedSide {
                gate: P::Shared::new(0),
                overwrite: P::Shared::new(1),
                spare: P::Shared::new(0),
                watermark: P::Shared::new(0),
                parts: QuiescedCell::new(parts),
            },
        };
        let spare = ring.last_index();
        let first = ring.slot_count();
        let state = ring.begin(first, spare);
        Ok((ring, state))
    }

    /// Makes the ring an empty one; sub-buffers are counted from `first`, which belongs in slot 0.
    /// Returns the memory of its reader, which has the sub-buffer `spare`.
    fn begin(&self, first: Seq, spare: SubBufIndex) -> ReaderState {
        // In a broken ring it may be no place at all.
        let spare = SubBufIndex(spare.0.min(self.last_index().0));
        self.w.counters.reset();
        self.begin_at(first, 0, spare);
        ReaderState {
            current: None,
            next: first,
            serial: 0,
            spare,
            read: 0,
            begun: first,
            skipped: 0,
        }
    }

    /// Sets all words but the counters for an empty ring whose next event is number `event` and
    /// goes into sub-buffer `first`, which belongs in slot 0.
    pub(super) fn begin_at(&self, first: Seq, event: u64, spare: SubBufIndex) {
        self.empty_slots(first, spare);
        if let Some(slot) = self.slots().first() {
            let index = SlotWord::from_raw(slot.load()).index();
            slot.store(SlotWord::new(first, index, State::Open).raw());
            self.begin_live(first, index);
        }
        for subbuf in self.subbufs().iter() {
            subbuf.begin(event);
        }
        self.w.times.forget();
        self.w.closing.set(first);
        self.w.total.set(event);
        self.w.fault.set(0);
        self.w.pos.set(self.layout.pos(first, 0, 0).0);
        self.s.spare.store_release(u64::from(spare.0));
        // Marks of earlier numbers mean nothing.
        self.s.watermark.store(0);
    }

    /// Says that the position is in this sub-buffer, which is open as number `seq` and which no
    /// writer has published into, as far as writers know.
    pub(super) fn begin_live(&self, seq: Seq, index: SubBufIndex) {
        self.w
            .hint
            .set(SlotWord::new(seq, index, State::Open).raw());
        self.w.nest.reset();
        if let Some(subbuf) = self.subbuf(index) {
            self.w.live_subbuf.set(address(subbuf));
            self.w.live_base.set(base(subbuf));
        }
    }

    /// Notes that an event begins in sub-buffer `seq`, which is `subbuf`. For the writer of that
    /// event.
    ///
    /// Writers that interrupt it may be in a later one already. The stored addresses then change,
    /// and do not become the same again: the sub-buffers from this writer's on are open until it
    /// has left.
    #[inline]
    pub(super) fn enter_subbuf(&self, seq: Seq, subbuf: &SubBuf<P>) {
        let w = &self.w;
        let before = (w.live_subbuf.get(), w.live_base.get());
        let now = (address(subbuf), base(subbuf));
        // After the loads of both.
        if before != now && self.layout.seq(Pos(w.pos.get())) == seq {
            w.live_subbuf.cmpxchg(before.0, now.0);
            w.live_base.cmpxchg(before.1, now.1);
        }
    }

    /// Returns the sub-buffer of the position, or one that the position has left meanwhile.
    #[inline(always)]
    pub(super) fn live_subbuf(&self) -> &SubBuf<P> {
        let address = self.w.live_subbuf.get() as usize;
        // SAFETY: the address of one of our sub-buffers, exposed by `address`: `begin_at` and
        // `keep` make it so when the ring gets its sub-buffers, and `enter_subbuf` is given one of
        // them. They go only while the ring is in no use.
        unsafe { &*core::ptr::with_exposed_provenance(address) }
    }

    /// Returns the memory of that sub-buffer, valid as long as the position stays in it.
    #[inline(always)]
    pub(super) fn live_base(&self) -> NonNull<u8> {
        let address = self.w.live_base.get() as usize;
        let base = core::ptr::with_exposed_provenance_mut(address);
        // SAFETY: the address of the memory of one of our sub-buffers, exposed by `base` and stored
        // where `live_subbuf` is; that of a `NonNull`, so never 0.
        unsafe { NonNull::new_unchecked(base) }
    }

    /// Returns the sub-buffer that no slot has in a ring that begins anew.
    pub(super) fn last_index(&self) -> SubBufIndex {
        SubBufIndex(self.slot_count() as u32)
    }

    /// Returns the number of the first sub-buffer of a ring that begins anew with `n` slots and
    /// this `layout`. Neither it nor the one before has been used, so that what a reader remembers
    /// of an earlier sub-buffer never names a later one. (A ring that has used up half of the
    /// numbers of the layout begins from the start.)
    pub(super) fn unused_seq(&self, n: u64, layout: Layout) -> Seq {
        let last = self.layout.seq(Pos(self.w.pos.get()));
        if last > layout.max_seq() >> 1 {
            return n;
        }
        last.wrapping_add(1)
            .checked_div(n)
            .unwrap_or(0)
            .wrapping_add(1)
            .wrapping_mul(n)
    }

    /// Makes all slots empty, as they are before number `first`, which belongs in slot 0. They get
    /// the sub-buffers after the spare in turn.
    pub(super) fn empty_slots(&self, first: Seq, spare: SubBufIndex) {
        let held = first.wrapping_sub(self.slot_count());
        let mut index = spare;
        for (i, slot) in (0u32..).zip(self.slots().iter()) {
            let seq = held.wrapping_add(u64::from(i));
            index = match index == self.last_index() {
                true => SubBufIndex(0),
                false => SubBufIndex(index.0.wrapping_add(1)),
            };
            slot.store(SlotWord::new(seq, index, State::Empty).raw());
        }
    }

    /// Returns the largest number that a sub-buffer can have.
    #[cfg(test)]
    pub(crate) fn last_seq(&self) -> Seq {
        self.layout.max_seq()
    }

    /// Returns the number of slots: sub-buffers that the ring holds, the reader's not counted.
    pub(crate) fn slot_count(&self) -> u64 {
        self.slots().len() as u64
    }

    /// Sets or clears bits of `DISABLE_*`. Takes effect for writers that begin later.
    pub(crate) fn set_disabled(&self, bits: u64, on: bool) {
        self.change_gate(|old| {
            let off = match on {
                true => old.off() | bits,
                false => old.off() & !bits,
            };
            GateWord::new(off, old.left())
        });
    }

    /// Leaves a word for writers, 0 if a gate cannot hold it. Takes effect as
    /// [`Self::set_disabled`].
    pub(crate) fn leave_word(&self, left: P::Left) {
        let word = match left.into() {
            word if GateWord::can_hold(word) => word,
            _ => 0,
        };
        self.change_gate(|old| GateWord::new(old.off(), word));
    }

    fn change_gate(&self, change: impl Fn(GateWord) -> GateWord) {
        loop {
            let old = self.s.gate.load();
            let new = change(GateWord(old)).0;
            if old == new || self.s.gate.cas(old, new) {
                return;
            }
        }
    }

    /// Returns the gate.
    #[inline(always)]
    pub(crate) fn gate(&self) -> GateWord {
        // Acquire: pairs with the CAS of `set_disabled` that ends a change of the ring. Without it
        // a writer that begins just then could use the old parts of the ring.
        GateWord(self.s.gate.load_acquire())
    }

    /// Returns whether recording is refused.
    #[inline(always)]
    pub(crate) fn is_disabled(&self) -> bool {
        self.gate().is_disabled()
    }

    /// Returns whether an invariant was found broken.
    pub(crate) fn is_broken(&self) -> bool {
        GateWord(self.s.gate.load()).is_broken()
    }

    /// Chooses between losing the oldest events (`on`) and refusing the newest when the ring is
    /// full.
    pub(crate) fn set_overwrite(&self, on: bool) {
        self.s.overwrite.store(u64::from(on));
    }

    /// Returns whether the ring keeps its oldest events and has one of them where sub-buffer `seq`
    /// would go: a writer that wants to open it is refused.
    #[inline(always)]
    pub(super) fn keeps(&self, seq: Seq) -> bool {
        if self.s.overwrite.load() != 0 {
            return false;
        }
        let Some(slot) = self.slot(seq) else {
            return false;
        };
        let held = SlotWord::from_raw(slot.load());
        let one_round_before = held.seq().wrapping_add(self.slot_count()) == seq;
        one_round_before && !held.detached() && held.state() == Some(State::Full)
    }

    /// Returns the slot of sub-buffer `seq`.
    #[inline(always)]
    pub(super) fn slot(&self, seq: Seq) -> Option<&P::Shared> {
        let i = seq.checked_rem(self.slot_count())?;
        self.slots().get(i as usize)
    }

    /// Returns a sub-buffer by its index.
    #[inline(always)]
    pub(super) fn subbuf(&self, index: SubBufIndex) -> Option<&SubBuf<P>> {
        self.subbufs().get(index.0 as usize)
    }

    /// Declares an invariant broken: disables this ring until it is emptied. The first violation
    /// stays.
    ///
    /// For writers; or while none is active.
    #[cold]
    #[inline(never)]
    pub(crate) fn set_broken(&self, violation: Violation) {
        self.w.fault.cmpxchg(0, violation.code());
        self.w.counters.broken.add(1);
        self.set_disabled(DISABLE_BROKEN, true);
    }

    /// Returns why the ring is broken, if it is.
    pub(crate) fn fault(&self) -> Option<Violation> {
        Violation::from_code(self.w.fault.get())
    }

    /// Returns the error of a writer that found the ring disabled, and counts the event if the ring
    /// is broken.
    #[cold]
    #[inline(never)]
    pub(crate) fn refusal(&self) -> ReserveError {
        if self.s.gate.load() & DISABLED == DISABLE_BROKEN {
            // Were the ring not broken, the event would have been recorded.
            self.w.counters.broken.add(1);
            return ReserveError::Broken;
        }
        ReserveError::Disabled
    }

    /// Returns the slots.
    #[inline(always)]
    pub(super) fn slots(&self) -> &[P::Shared] {
        &self.s.parts.slots
    }

    /// Returns the sub-buffers.
    #[inline(always)]
    pub(super) fn subbufs(&self) -> &[SubBuf<P>] {
        &self.s.parts.subbufs
    }

    /// Returns the oldest sub-buffer that can still be in a slot, when number `seen` was found in
    /// one.
    ///
    /// Slots hold consecutive numbers, and the newest is at least both `seen` and the one that is
    /// being written. Without the latter a reader that was lapped would go from slot to slot.
    pub(super) fn oldest_beside(&self, seen: Seq) -> Seq {
        let newest = seen.max(self.w.closing.get());
        newest.wrapping_sub(self.slot_count()).wrapping_add(1)
    }

    /// Returns the position up to which all of `subbuf` is final, if it is tagged with `seq`.
    pub(super) fn committed_in(&self, subbuf: &SubBuf<P>, seq: Seq) -> Option<Pos> {
        let c = subbuf.committed();
        (self.layout.seq(c) == seq).then_some(c)
    }
}

impl<P: Port> IdleRing<'_, P> {
    /// Empties the ring and sets its counters to 0. A ring that was broken is whole again. The
    /// reader keeps its sub-buffer, which users may have mapped, as the spare.
    pub(crate) fn reset(&mut self) {
        let (ring, state) = self.split();
        let first = ring.unused_seq(ring.slot_count(), *ring.layout);
        *state = ring.begin(first, state.index());
        ring.set_disabled(DISABLE_BROKEN, false);
    }

    /// Does what [`Self::reset`] does; sub-buffers are counted from `first`, which belongs in slot
    /// 0.
    #[cfg(test)]
    pub(crate) fn reset_to(&mut self, first: Seq) {
        let (ring, state) = self.split();
        *state = ring.begin(first, state.index());
    }
}
