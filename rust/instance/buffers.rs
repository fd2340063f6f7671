// SPDX-License-Identifier: GPL-2.0

//! The rings of an instance, two per possible CPU, and their readers.
//!
//! Lock order: `shape`, then one `reader` after the other in the order of CPUs. Writers take none.

use super::{
    banks::{
        Bank,
        Buf,
        Pair, //
    },
    mapping::Mapped,
    progress::{
        Count,
        Counts,
        Past, //
    },
    rings::{
        Rings,
        States, //
    },
    selftest, //
};
use crate::{
    kapi::{
        alarm::Alarm,
        cpus,
        grace,
        pages::{
            Budget,
            Pages, //
        },
        percpu::PerCpu,
        port::{
            Kernel,
            Ring, //
        },
        waker::Waker,
        words::SharedU64, //
    },
    ring::{
        cpu::{
            Parts,
            ReaderState,
            DISABLE_QUIESCE, //
        },
        mark::Ask,
        port::SharedWord,
        pos::Layout,
        reader::Reader,
        subbuf::SubBuf,
        view::CpuStats, //
    },
    text::size::SizeKb, //
};
use kernel::{
    new_mutex,
    page::PAGE_SIZE,
    prelude::*,
    str::CString,
    sync::{
        Mutex,
        MutexGuard, //
    }, //
};

/// Which CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpuSel {
    /// All that are possible.
    All,
    /// One.
    One(u32),
}

impl CpuSel {
    /// Their numbers.
    pub(crate) fn iter(self) -> impl Iterator<Item = u32> {
        cpus::possible().filter(move |cpu| self == CpuSel::All || self == CpuSel::One(*cpu))
    }
}

/// Fewest sub-buffers of a ring.
const FEWEST: u64 = 2;

/// What a user chose, or nobody yet.
pub(super) struct Shape {
    /// The size is the user's, or the one of an instance that was used.
    expanded: bool,
    /// Sub-buffers have 2^order pages.
    pub(super) order: u32,
    /// There is a snapshot: the rings of both banks have the same size. What is here its rings had
    /// before, and get again.
    pub(super) small: Option<KVec<(u32, Parts<Kernel>)>>,
}

/// What the reader's lock is around.
struct Held {
    states: States,
    pasts: Pair<Past>,
    /// The live ring is mapped. Changes with the shape locked.
    mapped: Option<Mapped>,
}

/// A ring, and what is remembered of it, with the reader's lock held.
pub(super) struct Own<'a> {
    /// The ring.
    pub(super) ring: &'a Ring,
    /// What its reader remembers.
    pub(super) state: &'a mut ReaderState,
    past: &'a mut Past,
    /// It is in the live bank.
    live: bool,
}

impl Own<'_> {
    /// Events that were recorded since the ring was emptied.
    fn written(&mut self) -> u64 {
        // SAFETY: They belong together ([`Locked::own`]).
        unsafe { self.ring.reader(self.state) }.counted().0
    }

    /// Empties the ring.
    ///
    /// # Safety
    ///
    /// Nobody writes to it.
    pub(super) unsafe fn empty(&mut self) {
        let written = self.written();
        self.past.empties(written, self.live);
        // SAFETY: By the contract; the state is the ring's and locked.
        unsafe { self.ring.reset(self.state) };
    }

    /// Gives the ring other parts. Returns those that are not used any more.
    ///
    /// # Safety
    ///
    /// As for [`Self::empty`]; whoever looks at the size holds the lock of the shape.
    pub(super) unsafe fn resize(&mut self, parts: Parts<Kernel>) -> Parts<Kernel> {
        if self.ring.is_broken() {
            // Its events would go anyway.
            // SAFETY: By the contract.
            unsafe { self.empty() };
        }
        // SAFETY: By the contract; the state is the ring's and locked.
        let left = unsafe { self.ring.resize(self.state, parts) };
        left.unwrap_or_else(|unfit| unfit.0)
    }

    /// The ring becomes live.
    pub(super) fn enter(&mut self) {
        let written = self.written();
        self.past.enters(written);
    }
}

/// The rings of one CPU with the reader's lock held.
///
/// # Invariants
///
/// `Buffers::new` made the rings and the states together.
pub(super) struct Locked<'a> {
    rings: &'a Pair<Ring>,
    held: MutexGuard<'a, Held>,
}

impl Locked<'_> {
    /// The ring in `bank`, which is the live one or not.
    pub(super) fn own(&mut self, bank: Bank, live: bool) -> Own<'_> {
        let held = &mut *self.held;
        Own {
            ring: self.rings.of(bank),
            state: held.states.of_mut(bank),
            past: held.pasts.of_mut(bank),
            live,
        }
    }

    /// What the ring in `bank` was before.
    pub(super) fn past(&self, bank: Bank) -> Past {
        *self.held.pasts.of(bank)
    }

    /// The reader of the ring in `bank`, and who has the live one mapped.
    pub(super) fn reader(&mut self, bank: Bank) -> (Reader<'_, Kernel>, &mut Option<Mapped>) {
        let held = &mut *self.held;
        // SAFETY: By the invariant.
        let reader = unsafe { self.rings.of(bank).reader(held.states.of_mut(bank)) };
        (reader, &mut held.mapped)
    }

    /// Who has the live ring mapped.
    pub(super) fn mapped(&mut self) -> &mut Option<Mapped> {
        &mut self.held.mapped
    }
}

/// The reader's side of the rings of one CPU.
#[pin_data]
struct ReaderSide {
    cpu: u32,
    #[pin]
    held: Mutex<Held>,
    /// Who waits for a share of the live ring.
    #[pin]
    mark: Waker,
}

/// The rings of an instance.
#[pin_data]
pub(crate) struct Buffers {
    rings: Rings,
    readers: KVec<Pin<KBox<ReaderSide>>>,
    /// Held while rings are emptied or change their size, while banks are exchanged, and while
    /// somebody looks at the size.
    #[pin]
    pub(super) shape: Mutex<Shape>,
    /// Tells that a ring is broken.
    #[pin]
    alarm: Alarm,
}

impl Buffers {
    /// Empty rings of the instance `name` with as many sub-buffers as `kb` KiB of events need. Those
    /// of the bank that is not live have the fewest that there can be.
    pub(crate) fn new(name: CString, kb: u64, expanded: bool) -> Result<impl PinInit<Self>> {
        let slots = slots_for(kb, 0)?;
        let cpus = CpuSel::All.iter().count() as u64;
        let pages = |slots: usize| pages_of(slots, slots.saturating_add(1), 0);
        let both = pages(slots).saturating_add(pages(FEWEST as usize));
        let mut budget = Budget::new(cpus.saturating_mul(both))?;
        let mut ring = |cpu, slots: usize| {
            let parts = parts(cpu, slots, slots.saturating_add(1), 0, &mut budget)?;
            Ring::new(parts, PAGE_SIZE).map_err(|_| EINVAL)
        };
        let mut readers = KVec::new();
        let rings = PerCpu::new(|cpu| {
            let (live, its) = ring(cpu, slots)?;
            let (other, others) = ring(cpu, FEWEST as usize)?;
            let side = KBox::pin_init(
                pin_init!(ReaderSide {
                    cpu,
                    held <- new_mutex!(Held {
                        states: Pair::new(its, others),
                        pasts: Pair::new(Past::default(), Past::default()),
                        mapped: None,
                    }),
                    mark <- Waker::new(),
                }),
                GFP_KERNEL,
            )?;
            readers.push(side, GFP_KERNEL)?;
            Ok(Pair::new(live, other))
        })?;
        let shape = Shape {
            expanded,
            order: 0,
            small: None,
        };
        Ok(pin_init!(Self {
            rings: Rings::new(rings),
            readers,
            shape <- new_mutex!(shape),
            alarm <- Alarm::new(name, selftest::tell),
        }))
    }

    /// The rings.
    pub(crate) fn rings(&self) -> &Rings {
        &self.rings
    }

    /// Tells that a ring is broken.
    pub(super) fn alarm(&self) -> &Alarm {
        &self.alarm
    }

    /// The reader's side of the rings of `cpu`.
    fn side(&self, cpu: u32) -> Result<&ReaderSide> {
        // Where it is unless numbers are left out.
        let likely = self.readers.get(cpu as usize);
        let side = match likely.filter(|side| side.cpu == cpu) {
            None => self.readers.iter().find(|side| side.cpu == cpu),
            found => found,
        };
        side.map(|side| &**side).ok_or(ENODEV)
    }

    /// The rings of `cpu` with their reader's lock held.
    pub(super) fn locked(&self, cpu: u32) -> Result<Locked<'_>> {
        let side = self.side(cpu)?;
        let rings = self.rings.of(cpu).ok_or(ENODEV)?;
        // INVARIANT: Both are of that CPU.
        Ok(Locked {
            rings,
            held: side.held.lock(),
        })
    }

    /// Runs `f` as the reader of `cpu` in the bank that `which` names under the reader's lock: it
    /// stays what it is until `f` is done, and [`Self::exchange`] waits for that.
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

    /// Runs `f` as the reader of `buf` on `cpu`, which is in the bank that `f` gets.
    pub(crate) fn read_of<R>(
        &self,
        buf: Buf,
        cpu: u32,
        f: impl FnOnce(Bank, Reader<'_, Kernel>) -> Result<R>,
    ) -> Result<R> {
        self.read_from(|| self.rings.bank(buf), cpu, f)
    }

    /// Runs `f` as the reader of the live ring of `cpu`, with those who have it mapped.
    pub(super) fn read_live<R>(
        &self,
        cpu: u32,
        f: impl FnOnce(&mut Option<Mapped>, Reader<'_, Kernel>) -> Result<R>,
    ) -> Result<R> {
        self.read_mapped(Buf::Live, cpu, f)
    }

    fn read_mapped<R>(
        &self,
        buf: Buf,
        cpu: u32,
        f: impl FnOnce(&mut Option<Mapped>, Reader<'_, Kernel>) -> Result<R>,
    ) -> Result<R> {
        let mut locked = self.locked(cpu)?;
        let (reader, mapped) = locked.reader(self.rings.bank(buf));
        f(mapped, reader)
    }

    /// Runs `f` as the reader of `buf` on `cpu`, who takes memory out of the ring; `f` is told whether
    /// the memory must stay there, because programs have it mapped.
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

    /// Runs `f` as the reader of `cpu` in `bank`, live or not.
    pub(crate) fn read_in<R>(
        &self,
        bank: Bank,
        cpu: u32,
        f: impl FnOnce(Reader<'_, Kernel>) -> Result<R>,
    ) -> Result<R> {
        self.read_from(|| bank, cpu, |_, reader| f(reader))
    }

    /// What [`ReaderState::consume`] does, if `bank` is still the live one.
    #[inline(always)]
    pub(super) fn consume(
        &self,
        bank: Bank,
        cpu: u32,
        seq: u64,
        offset: u32,
        time: u64,
        events: u64,
    ) -> bool {
        let Ok(side) = self.side(cpu) else {
            return false;
        };
        let mut held = side.held.lock();
        bank == self.rings.live() && held.states.of_mut(bank).consume(seq, offset, time, events)
    }

    /// Has `buf` anything of `cpus` that was not read? A ring whose writers are faster than we can
    /// look has.
    pub(crate) fn any_unread(&self, buf: Buf, cpus: CpuSel) -> bool {
        cpus.iter()
            .any(|cpu| self.read_of(buf, cpu, |_, r| Ok(r.has_unread())) == Ok(true))
    }

    /// Is that share of the live ring of `cpu` full?
    pub(super) fn reached(&self, cpu: u32, percent: u32) -> bool {
        self.read_of(Buf::Live, cpu, |_, r| Ok(r.reached(percent))) == Ok(true)
    }

    /// Asks for a wake-up when [`Self::reached`] becomes true. It comes from the result, or without
    /// one with the next event.
    ///
    /// # Errors
    ///
    /// `ENODEV`.
    pub(super) fn ask(&self, cpu: u32, percent: u32) -> Result<Option<&Waker>> {
        let side = self.side(cpu)?;
        match self.read_of(Buf::Live, cpu, |_, mut r| Ok(r.ask(percent)))? {
            Ask::Event => Ok(None),
            Ask::Mark { passed } => {
                if passed {
                    side.mark.wake_all();
                }
                Ok(Some(&side.mark))
            }
        }
    }

    /// Who waits for a share of the live ring of `cpu`.
    pub(super) fn mark(&self, cpu: u32) -> Result<&Waker> {
        Ok(&self.side(cpu)?.mark)
    }

    /// A writer has reached the mark of its `ring`. Any context, NMI included.
    #[cold]
    #[inline(never)]
    pub(crate) fn marked(&self, ring: &Ring) {
        let here = |side: &&Pin<KBox<ReaderSide>>| {
            self.rings.of(side.cpu).is_some_and(|own| {
                let is = |bank| core::ptr::eq(own.of(bank), ring);
                Bank::BOTH.into_iter().any(is)
            })
        };
        if let Some(side) = self.readers.iter().find(here) {
            side.mark.published();
        }
    }

    /// Makes all who wait for a share look again.
    pub(super) fn wake_marks(&self) {
        self.readers.iter().for_each(|side| side.mark.wake_all());
    }

    /// What the ring of `cpu` in `bank` has counted.
    pub(crate) fn stats(&self, bank: Bank, cpu: u32) -> Result<CpuStats> {
        self.read_in(bank, cpu, |r| Ok(r.stats()))
    }

    /// How far the rings of `cpu` are.
    pub(super) fn counts(&self, cpu: u32) -> Result<Counts> {
        let mut locked = self.locked(cpu)?;
        loop {
            let live = self.rings.live();
            let (_, overrun, read) = locked.reader(live).0.counted();
            let mut count = |bank| {
                let past = locked.past(bank);
                let written = locked.own(bank, bank == live).written();
                Count {
                    past,
                    next: past.number(written),
                }
            };
            let of = Pair::new(count(Bank::A), count(Bank::B));
            // Else they were exchanged meanwhile. They are not once more, for that waits for our lock:
            // see `Buffers::exchange`.
            if self.rings.live() == live {
                return Ok(Counts {
                    live,
                    oldest: of.of(live).past.number(overrun.saturating_add(read)),
                    of,
                });
            }
        }
    }

    /// Bytes of one sub-buffer.
    pub(crate) fn subbuf_size(&self) -> usize {
        PAGE_SIZE.wrapping_shl(self.shape.lock().order)
    }

    /// Applies `f` to each ring of both banks.
    pub(crate) fn each(&self, f: impl Fn(&Ring)) {
        for rings in cpus::possible().filter_map(|cpu| self.rings.of(cpu)) {
            for bank in Bank::BOTH {
                f(rings.of(bank));
            }
        }
    }

    /// Applies `f` to both rings of each CPU.
    pub(super) fn each_of_cpu(&self, f: impl Fn(u32, &Ring)) {
        for cpu in cpus::possible() {
            if let Some(rings) = self.rings.of(cpu) {
                for bank in Bank::BOTH {
                    f(cpu, rings.of(bank));
                }
            }
        }
    }

    /// Runs `change` for the rings of `cpus` in both banks, the live one first, while no writer is in
    /// them; what would be written meanwhile is not recorded.
    ///
    /// `shape` is locked, so that the banks stay what they are.
    fn quiesced(&self, cpus: CpuSel, mut change: impl FnMut(u32, Bank, &mut Own<'_>)) {
        let live = self.rings.live();
        for rings in cpus.iter().filter_map(|cpu| self.rings.of(cpu)) {
            rings.of(live).set_disabled(DISABLE_QUIESCE, true);
        }
        // The other bank has had no writer since the grace period in which it was exchanged.
        grace::writers_left();
        for cpu in cpus.iter() {
            let Ok(mut locked) = self.locked(cpu) else {
                continue;
            };
            for bank in [live, live.other()] {
                let mut own = locked.own(bank, bank == live);
                change(cpu, bank, &mut own);
                if selftest::ALWAYS {
                    // SAFETY: Nobody writes; the state is this ring's and locked.
                    unsafe { self.examine(cpu, own.ring, own.state) };
                }
            }
            if let (reader, Some(mapped)) = locked.reader(live) {
                mapped.tell(&reader);
            }
            locked.rings.of(live).set_disabled(DISABLE_QUIESCE, false);
        }
    }

    /// Looks at the rings of `cpus`; what they would record meanwhile is not recorded. Says how many
    /// are broken.
    pub(super) fn selftest(&self, cpus: CpuSel) -> usize {
        let _shape = self.shape.lock();
        let mut broken = 0usize;
        self.quiesced(cpus, |cpu, _, own| {
            // SAFETY: Nobody writes; the state is this ring's and locked.
            if !unsafe { self.examine(cpu, own.ring, own.state) } {
                broken = broken.saturating_add(1);
            }
        });
        broken
    }

    /// Empties the live rings of `cpus`.
    pub(crate) fn clear(&self, cpus: CpuSel) {
        let _shape = self.shape.lock();
        let live = self.rings.live();
        self.alarm.rearm();
        self.quiesced(cpus, |_, bank, own| {
            if bank == live {
                // SAFETY: Nobody writes.
                unsafe { own.empty() };
            }
        });
    }

    /// Empties all rings, and runs `meanwhile` when nobody writes.
    pub(crate) fn clear_all(&self, mut meanwhile: impl FnMut()) {
        let _shape = self.shape.lock();
        let mut first = true;
        self.alarm.rearm();
        self.quiesced(CpuSel::All, |_, _, own| {
            // SAFETY: Nobody writes.
            unsafe { own.empty() };
            if core::mem::take(&mut first) {
                meanwhile();
            }
        });
    }

    /// Whether the size is more than the one that an unused top instance has.
    pub(crate) fn expanded(&self) -> bool {
        self.shape.lock().expanded
    }

    /// Gives all rings `kb` KiB unless they have been given a size before.
    pub(crate) fn expand(&self, kb: u64) -> Result {
        self.expand_locked(&mut self.shape.lock(), kb)
    }

    /// The same with the lock of the shape held.
    pub(super) fn expand_locked(&self, shape: &mut Shape, kb: u64) -> Result {
        if shape.expanded {
            return Ok(());
        }
        let slots = slots_for(kb, shape.order)?;
        self.unmapped(CpuSel::All)?;
        self.change(shape, CpuSel::All, shape.order, |_| slots)?;
        shape.expanded = true;
        Ok(())
    }

    /// Gives the rings of `cpus` room for `kb` KiB of events. Unread events stay, as far as they
    /// fit.
    ///
    /// # Errors
    ///
    /// `EBUSY` while one that is to change is mapped, as it is of all CPUs; `ENOMEM` and `EINTR` (the
    /// task is to be killed). Nothing has changed.
    pub(crate) fn resize(&self, cpus: CpuSel, kb: u64) -> Result {
        let mut shape = self.shape.lock();
        let slots = slots_for(kb, shape.order)?;
        let had = |(_, ring): (u32, &Ring)| ring.slot_count() as usize == slots;
        if cpus == CpuSel::All || !self.live_of(cpus).all(had) {
            self.unmapped(cpus)?;
        }
        self.change(&shape, cpus, shape.order, |_| slots)?;
        shape.expanded = true;
        Ok(())
    }

    /// Makes sub-buffers of 2^order pages, as many as have room for as much as those before. Unread
    /// events are lost, and counted as overrun, if that is another size.
    ///
    /// # Errors
    ///
    /// As for [`Self::resize`].
    pub(crate) fn set_order(&self, order: u32) -> Result {
        let mut shape = self.shape.lock();
        if shape.order == order {
            return Ok(());
        }
        self.unmapped(CpuSel::All)?;
        let (old, new) = (capacity(shape.order)?, capacity(order)?);
        let slots = |ring: &Ring| {
            let bytes = ring.slot_count().saturating_mul(old);
            bytes.div_ceil(new).max(FEWEST) as usize
        };
        self.change(&shape, CpuSel::All, order, slots)?;
        shape.order = order;
        Ok(())
    }

    /// Gives those rings of `cpus`, and of their snapshot, other parts that do not have that order and
    /// so many slots: first allocates all that is needed, then exchanges.
    fn change(
        &self,
        shape: &Shape,
        cpus: CpuSel,
        order: u32,
        slots: impl Fn(&Ring) -> usize,
    ) -> Result {
        let live = self.rings.live();
        let banks = move || {
            let snapshot = shape.small.is_some();
            Bank::BOTH
                .into_iter()
                .filter(move |bank| snapshot || *bank == live)
        };
        let rings = || {
            let both = cpus
                .iter()
                .filter_map(|cpu| Some((cpu, self.rings.of(cpu)?)));
            both.flat_map(|(cpu, rings)| banks().map(move |bank| (cpu, bank, rings.of(bank))))
        };
        // Slots, and sub-buffers that the ring does not have yet.
        let wanted = |ring: &Ring| {
            let (had, slots) = (ring.slot_count() as usize, slots(ring));
            match order == shape.order {
                true if had == slots => None,
                true => Some((slots, slots.saturating_sub(had))),
                false => Some((slots, slots.saturating_add(1))),
            }
        };
        let pages = rings()
            .filter_map(|(_, _, ring)| wanted(ring))
            .fold(0u64, |sum, (slots, fresh)| {
                sum.saturating_add(pages_of(slots, fresh, order))
            });
        let mut budget = Budget::new(pages)?;
        let mut fresh = KVec::new();
        for (cpu, bank, ring) in rings() {
            if let Some((slots, count)) = wanted(ring) {
                let parts = parts(cpu, slots, count, order, &mut budget)?;
                fresh.push(((cpu, bank), Some(parts)), GFP_KERNEL)?;
            }
        }
        if fresh.is_empty() {
            return Ok(());
        }
        let mut old = KVec::with_capacity(fresh.len(), GFP_KERNEL)?;
        self.quiesced(cpus, |cpu, bank, own| {
            let entry = fresh.iter_mut().find(|(of, _)| *of == (cpu, bank));
            let Some(parts) = entry.and_then(|(_, parts)| parts.take()) else {
                return;
            };
            // SAFETY: Nobody writes; whoever looks at the size holds `shape`.
            let left = unsafe { own.resize(parts) };
            // There is room for one per ring.
            let _ = old.push_within_capacity(left);
        });
        Ok(())
    }

    /// The size of the rings of `cpus`.
    pub(crate) fn size(&self, cpus: CpuSel) -> SizeKb {
        let shape = self.shape.lock();
        let mut sizes = self
            .live_of(cpus)
            .map(|(_, ring)| kb_of(ring.slot_count(), shape.order));
        let first = sizes.next().unwrap_or(0);
        if sizes.all(|kb| kb == first) {
            SizeKb::Kb(first)
        } else {
            SizeKb::Mixed
        }
    }

    /// The sum of the sizes.
    pub(crate) fn total(&self) -> u64 {
        let shape = self.shape.lock();
        self.live_of(CpuSel::All)
            .map(|(_, ring)| kb_of(ring.slot_count(), shape.order))
            .fold(0, u64::saturating_add)
    }

    /// The live rings of `cpus`. They stay that while the shape is locked.
    pub(super) fn live_of(&self, cpus: CpuSel) -> impl Iterator<Item = (u32, &Ring)> {
        let live = self.rings.live();
        let both = cpus
            .iter()
            .filter_map(|cpu| Some((cpu, self.rings.of(cpu)?)));
        both.map(move |(cpu, rings)| (cpu, rings.of(live)))
    }
}

/// Bytes of events in a sub-buffer of 2^order pages.
fn capacity(order: u32) -> Result<u64> {
    let layout = Layout::for_size(PAGE_SIZE.wrapping_shl(order)).ok_or(EINVAL)?;
    Ok(layout.capacity().into())
}

fn kb_of(slots: u64, order: u32) -> u64 {
    slots.saturating_mul(capacity(order).unwrap_or(0)) >> 10
}

/// Sub-buffers of 2^order pages for `kb` KiB of events.
fn slots_for(kb: u64, order: u32) -> Result<usize> {
    let bytes = kb.checked_mul(1024).ok_or(ENOMEM)?;
    let slots = bytes.div_ceil(capacity(order)?).max(FEWEST);
    usize::try_from(slots).map_err(|_| ENOMEM)
}

/// Pages that a ring of `slots` slots takes, `fresh` of its sub-buffers and the tables.
pub(super) fn pages_of(slots: usize, fresh: usize, order: u32) -> u64 {
    let entry = size_of::<SharedU64>().saturating_add(size_of::<SubBuf<Kernel>>());
    let tables = slots.saturating_add(1).saturating_mul(entry);
    let fresh = (fresh as u64).saturating_mul(1u64.wrapping_shl(order));
    fresh.saturating_add(tables.div_ceil(PAGE_SIZE) as u64)
}

/// Unused parts of a ring of `cpu`, with memory for `fresh` of the sub-buffers.
pub(super) fn parts(
    cpu: u32,
    slots: usize,
    fresh: usize,
    order: u32,
    budget: &mut Budget,
) -> Result<Parts<Kernel>> {
    if slots >= crate::ring::cpu::MOST_SLOTS {
        return Err(ENOMEM);
    }
    let mut words = KVVec::with_capacity(slots, GFP_KERNEL | __GFP_NOWARN)?;
    for _ in 0..slots {
        words.push(SharedU64::new(0), GFP_KERNEL)?;
    }
    let count = slots.saturating_add(1);
    let mut subbufs = KVVec::with_capacity(count, GFP_KERNEL | __GFP_NOWARN)?;
    for at in 0..count {
        let memory = match at < count.saturating_sub(fresh) {
            true => Pages::none(),
            false => budget.pages(cpu, order)?,
        };
        subbufs.push(SubBuf::new(memory), GFP_KERNEL)?;
    }
    Ok(Parts {
        slots: words,
        pages: subbufs,
    })
}
