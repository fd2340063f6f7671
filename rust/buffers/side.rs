// SPDX-License-Identifier: GPL-2.0

//! The reader's side of the rings: what the reader of a CPU remembers, and the reader's lock.
//!
//! The rings of a CPU, in both banks, have one reader at a time. It finds out under its lock which
//! bank it reads, so that an exchange of the banks can wait for it.

use super::{
    banks::{
        Bank,
        Buf,
        Pair, //
    },
    mapping::MappingState,
    progress::RingHistory,
    rings::States,
    Buffers,
    CpuSel,
    PageCopy, //
};
use crate::{
    kapi::{
        port::{
            Kernel,
            Ring, //
        },
        waker::Waker, //
    },
    ring::{
        cpu::ReaderState,
        reader::Reader,
        view::RingStats, //
    },
    text::totals::CpuTotals, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Mutex,
        MutexGuard, //
    }, //
};

/// State under the reader's lock.
struct ReaderStates {
    states: States,
    pasts: Pair<RingHistory>,
    /// What both rings had counted when they were emptied.
    totals: CpuTotals,
    /// Set while the live ring is mapped. Changes only with the shape locked.
    mapped: Option<MappingState>,
}

/// A ring, and what is remembered of it, with the reader's lock held.
///
/// # Invariants
///
/// `state` was made with `ring`.
pub(super) struct OwnSide<'a> {
    /// The ring.
    pub(super) ring: &'a Ring,
    /// What its reader remembers.
    pub(super) state: &'a mut ReaderState,
    /// What the ring was before.
    pub(super) past: &'a mut RingHistory,
    /// What the rings of the CPU had counted when they were emptied.
    pub(super) totals: &'a mut CpuTotals,
    /// It is in the live bank.
    pub(super) live: bool,
}

impl<'a> OwnSide<'a> {
    /// Returns the number of events that were recorded since the ring was emptied.
    pub(super) fn written(&mut self) -> u64 {
        self.reader().counted().0
    }

    /// Returns what the ring has counted since it was emptied.
    pub(super) fn stats(&mut self) -> RingStats {
        self.reader().stats()
    }

    fn reader(&mut self) -> Reader<'_, Kernel> {
        let own = OwnSide {
            ring: self.ring,
            state: self.state,
            past: self.past,
            totals: self.totals,
            live: self.live,
        };
        own.into_reader()
    }

    /// Returns the reader of the ring.
    fn into_reader(self) -> Reader<'a, Kernel> {
        // SAFETY: The state was made with the ring (invariant).
        unsafe { self.ring.reader(self.state) }
    }
}

/// The rings of one CPU with the reader's lock held.
///
/// # Invariants
///
/// `Buffers::new` made the rings and the states together.
pub(super) struct LockedRings<'a> {
    rings: &'a Pair<Ring>,
    held: MutexGuard<'a, ReaderStates>,
}

impl LockedRings<'_> {
    /// Returns the ring in `bank`; `live` says whether that is the live bank.
    pub(super) fn own(&mut self, bank: Bank, live: bool) -> OwnSide<'_> {
        self.own_and_mapped(bank, live).0
    }

    /// Returns the same, and the programs that have the live ring mapped.
    fn own_and_mapped(
        &mut self,
        bank: Bank,
        live: bool,
    ) -> (OwnSide<'_>, &mut Option<MappingState>) {
        let held = &mut *self.held;
        // INVARIANT: The rings and the states were made together (invariant of `LockedRings`).
        let own = OwnSide {
            ring: self.rings.of(bank),
            state: held.states.of_mut(bank),
            past: held.pasts.of_mut(bank),
            totals: &mut held.totals,
            live,
        };
        (own, &mut held.mapped)
    }

    /// Returns the ring in `bank`.
    pub(super) fn ring(&self, bank: Bank) -> &Ring {
        self.rings.of(bank)
    }

    /// Returns the history of the ring in `bank`.
    pub(super) fn past(&self, bank: Bank) -> RingHistory {
        *self.held.pasts.of(bank)
    }

    /// Returns what both rings have counted since they were made.
    pub(super) fn totals(&mut self) -> CpuTotals {
        let mut totals = self.held.totals;
        for bank in Bank::BOTH {
            totals = totals.with(&self.reader(bank).0.stats());
        }
        totals
    }

    /// Returns the reader of the ring in `bank`, and the mapping of the live ring.
    pub(super) fn reader(&mut self, bank: Bank) -> (Reader<'_, Kernel>, &mut Option<MappingState>) {
        // A reader does not ask whether its bank is the live one.
        let (own, mapped) = self.own_and_mapped(bank, false);
        (own.into_reader(), mapped)
    }

    /// Returns the mapping of the live ring.
    pub(super) fn mapped(&mut self) -> &mut Option<MappingState> {
        &mut self.held.mapped
    }
}

/// The reader's side of the rings of one CPU.
#[pin_data]
pub(super) struct ReaderSide {
    pub(super) cpu: u32,
    #[pin]
    held: Mutex<ReaderStates>,
    /// Wakes readers that wait for the watermark of the live ring.
    #[pin]
    pub(super) watermark: Waker,
}

impl ReaderSide {
    /// Returns the reader's side of the rings of `cpu`, which were made together with `states`.
    pub(super) fn new(cpu: u32, states: States) -> impl PinInit<Self> {
        pin_init!(Self {
            cpu,
            held <- new_mutex!(ReaderStates {
                states,
                pasts: Pair::new(RingHistory::default(), RingHistory::default()),
                totals: CpuTotals::default(),
                mapped: None,
            }),
            watermark <- Waker::new(),
        })
    }
}

impl Buffers {
    /// Returns the reader's side of the rings of `cpu`.
    ///
    /// # Errors
    ///
    /// `ENODEV` without such a CPU.
    pub(super) fn side(&self, cpu: u32) -> Result<&ReaderSide> {
        // The index is the number of the CPU, unless some numbers are not possible CPUs.
        let likely = self.readers.get(cpu as usize);
        let side = match likely.filter(|side| side.cpu == cpu) {
            None => self.readers.iter().find(|side| side.cpu == cpu),
            found => found,
        };
        side.map(|side| &**side).ok_or(ENODEV)
    }

    /// Takes the reader's lock of `cpu` and returns the rings.
    ///
    /// # Errors
    ///
    /// `ENODEV` without such a CPU.
    pub(super) fn locked(&self, cpu: u32) -> Result<LockedRings<'_>> {
        let side = self.side(cpu)?;
        let rings = self.rings.of(cpu).ok_or(ENODEV)?;
        // INVARIANT: Both are of that CPU.
        Ok(LockedRings {
            rings,
            held: side.held.lock(),
        })
    }

    /// Runs `f` as the reader of `cpu` in the bank that `which` returns. `which` is called under
    /// the reader's lock, and `Self::exchange` waits for that lock; so the answer holds until `f`
    /// is done.
    ///
    /// # Errors
    ///
    /// Those of `f`, and `ENODEV` without such a CPU.
    fn read_from<R>(
        &self,
        which: impl FnOnce() -> Bank,
        cpu: u32,
        f: impl FnOnce(Bank, Reader<'_, Kernel>) -> Result<R>,
    ) -> Result<R> {
        let mut locked = self.locked(cpu)?;
        let bank = which();
        f(bank, locked.reader(bank).0)
    }

    /// Runs `f` as the reader of `buf` on `cpu`; `f` gets the bank that `buf` is.
    ///
    /// # Errors
    ///
    /// Those of `f`, and `ENODEV` without such a CPU.
    pub(crate) fn read_of<R>(
        &self,
        buf: Buf,
        cpu: u32,
        f: impl FnOnce(Bank, Reader<'_, Kernel>) -> Result<R>,
    ) -> Result<R> {
        self.read_from(|| self.rings.bank(buf), cpu, f)
    }

    /// Runs `f` as the reader of the live ring of `cpu`, with its mapping.
    ///
    /// # Errors
    ///
    /// Those of `f`, and `ENODEV` without such a CPU.
    pub(super) fn read_live<R>(
        &self,
        cpu: u32,
        f: impl FnOnce(&mut Option<MappingState>, Reader<'_, Kernel>) -> Result<R>,
    ) -> Result<R> {
        self.read_mapped(Buf::Live, cpu, f)
    }

    fn read_mapped<R>(
        &self,
        buf: Buf,
        cpu: u32,
        f: impl FnOnce(&mut Option<MappingState>, Reader<'_, Kernel>) -> Result<R>,
    ) -> Result<R> {
        let mut locked = self.locked(cpu)?;
        let (reader, mapped) = locked.reader(self.rings.bank(buf));
        f(mapped, reader)
    }

    /// Runs `f` as the reader of `buf` on `cpu` that takes memory out of the ring. `f` is told
    /// whether the memory has to stay there, because programs have mapped it.
    ///
    /// # Errors
    ///
    /// Those of `f`, and `ENODEV` without such a CPU.
    pub(super) fn take_from<R>(
        &self,
        buf: Buf,
        cpu: u32,
        f: impl FnOnce(bool, Reader<'_, Kernel>) -> Result<R>,
    ) -> Result<R> {
        self.read_mapped(buf, cpu, |mapped, reader| {
            f(buf == Buf::Live && mapped.is_some(), reader)
        })
    }

    /// Runs `f` as the reader of `cpu` in `bank`, whether that is live or not.
    ///
    /// # Errors
    ///
    /// Those of `f`, and `ENODEV` without such a CPU.
    pub(crate) fn read_in<R>(
        &self,
        bank: Bank,
        cpu: u32,
        f: impl FnOnce(Reader<'_, Kernel>) -> Result<R>,
    ) -> Result<R> {
        self.read_from(|| bank, cpu, |_, reader| f(reader))
    }

    /// Consumes everything before offset `rd` of the sub-buffer that `copy` was made of: `events`
    /// events, the last of them at `rd_ts`. Returns `false` if another reader has read further, or
    /// if a snapshot has taken the sub-buffer away.
    #[inline(always)]
    pub(super) fn consume(
        &self,
        cpu: u32,
        copy: &PageCopy,
        rd: usize,
        rd_ts: u64,
        events: u64,
    ) -> bool {
        let (Ok(rd), Ok(side)) = (u32::try_from(rd), self.side(cpu)) else {
            return false;
        };
        let mut held = side.held.lock();
        let state = held.states.of_mut(copy.bank);
        copy.bank == self.rings.live() && state.consume(copy.seq, rd, rd_ts, events)
    }

    /// As [`Self::consume`], two events one after the other, or neither: the offset after each, and its time.
    pub(super) fn consume_both(&self, cpu: u32, copy: &PageCopy, both: [(usize, u64); 2]) -> bool {
        let [(first, first_ts), (second, second_ts)] = both;
        let (Ok(first), Ok(second)) = (u32::try_from(first), u32::try_from(second)) else {
            return false;
        };
        let Ok(side) = self.side(cpu) else {
            return false;
        };
        let mut held = side.held.lock();
        let state = held.states.of_mut(copy.bank);
        // Who has read up to the second has read the first.
        copy.bank == self.rings.live()
            && state.consume(copy.seq, first, first_ts, 1)
            && state.consume(copy.seq, second, second_ts, 1)
    }

    /// Returns whether `buf` has unread events of `cpus`. A ring whose writers overwrite faster
    /// than this can look has some.
    pub(crate) fn any_unread(&self, buf: Buf, cpus: CpuSel) -> bool {
        cpus.iter()
            .any(|cpu| self.read_of(buf, cpu, |_, r| Ok(r.has_unread())) == Ok(true))
    }
}
