// SPDX-License-Identifier: GPL-2.0

//! The rings of an instance, one per possible CPU, and their readers.
//!
//! Lock order: `shape`, then one `reader` after the other in the order of CPUs. Writers take none.

use super::selftest;
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
        words::SharedU64, //
    },
    ring::{
        cpu::{
            Parts,
            ReaderState,
            DISABLE_QUIESCE, //
        },
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
struct Shape {
    /// The size is the user's, or the one of an instance that was used.
    expanded: bool,
    /// Sub-buffers have 2^order pages.
    order: u32,
}

/// The reader's side of one ring.
#[pin_data]
struct ReaderSide {
    cpu: u32,
    #[pin]
    state: Mutex<ReaderState>,
}

/// The rings of an instance.
#[pin_data]
pub(crate) struct Buffers {
    rings: PerCpu<Ring>,
    readers: KVec<Pin<KBox<ReaderSide>>>,
    /// Held while rings are emptied or change their size, and while somebody looks at their size.
    #[pin]
    shape: Mutex<Shape>,
    /// Tells that a ring is broken.
    #[pin]
    alarm: Alarm,
}

impl Buffers {
    /// Empty rings of the instance `name` with as many sub-buffers as `kb` KiB of events need.
    pub(crate) fn new(name: CString, kb: u64, expanded: bool) -> Result<impl PinInit<Self>> {
        let slots = slots_for(kb, 0)?;
        let cpus = CpuSel::All.iter().count() as u64;
        let mut budget =
            Budget::new(cpus.saturating_mul(pages_of(slots, slots.saturating_add(1), 0)))?;
        let mut readers = KVec::new();
        let rings = PerCpu::new(|cpu| {
            let parts = parts(cpu, slots, slots.saturating_add(1), 0, &mut budget)?;
            let (ring, state) = Ring::new(parts, PAGE_SIZE).map_err(|_| EINVAL)?;
            let side = KBox::pin_init(
                pin_init!(ReaderSide {
                    cpu,
                    state <- new_mutex!(state),
                }),
                GFP_KERNEL,
            )?;
            readers.push(side, GFP_KERNEL)?;
            Ok(ring)
        })?;
        Ok(pin_init!(Self {
            rings,
            readers,
            shape <- new_mutex!(Shape { expanded, order: 0 }),
            alarm <- Alarm::new(name, selftest::tell),
        }))
    }

    /// The rings.
    pub(crate) fn rings(&self) -> &PerCpu<Ring> {
        &self.rings
    }

    /// Tells that a ring is broken.
    pub(super) fn alarm(&self) -> &Alarm {
        &self.alarm
    }

    /// The ring of `cpu` with its reader's lock held.
    pub(super) fn locked(&self, cpu: u32) -> Result<(&Ring, MutexGuard<'_, ReaderState>)> {
        let side = self.readers.iter().find(|side| side.cpu == cpu);
        let side = side.ok_or(ENODEV)?;
        let ring = self.rings.of(cpu).ok_or(ENODEV)?;
        Ok((ring, side.state.lock()))
    }

    /// Runs `f` as the reader of `cpu`.
    pub(crate) fn read<R>(
        &self,
        cpu: u32,
        f: impl FnOnce(Reader<'_, Kernel>) -> Result<R>,
    ) -> Result<R> {
        let (ring, mut state) = self.locked(cpu)?;
        // SAFETY: `Buffers::new` made both together.
        f(unsafe { ring.reader(&mut state) })
    }

    /// Has `cpus` anything that was not read? A ring whose writers are faster than we can look has.
    pub(crate) fn any_unread(&self, cpus: CpuSel) -> bool {
        cpus.iter().any(|cpu| {
            matches!(
                self.read(cpu, |mut r| Ok(r.unread())),
                Ok(Ok(Some(_)) | Err(_))
            )
        })
    }

    /// What the ring of `cpu` has counted.
    pub(crate) fn stats(&self, cpu: u32) -> Result<CpuStats> {
        self.read(cpu, |r| Ok(r.stats()))
    }

    /// Bytes of one sub-buffer.
    pub(crate) fn subbuf_size(&self) -> usize {
        PAGE_SIZE.wrapping_shl(self.shape.lock().order)
    }

    /// Applies `f` to each ring.
    pub(crate) fn each(&self, f: impl Fn(&Ring)) {
        cpus::possible()
            .filter_map(|cpu| self.rings.of(cpu))
            .for_each(f);
    }

    /// Runs `change` while no writer is in the rings of `cpus`; what they would write meanwhile is
    /// not recorded.
    fn quiesced(&self, cpus: CpuSel, mut change: impl FnMut(u32, &Ring, &mut ReaderState)) {
        for ring in cpus.iter().filter_map(|cpu| self.rings.of(cpu)) {
            ring.set_disabled(DISABLE_QUIESCE, true);
        }
        grace::writers_left();
        for cpu in cpus.iter() {
            if let Ok((ring, mut state)) = self.locked(cpu) {
                change(cpu, ring, &mut state);
                if selftest::ALWAYS {
                    // SAFETY: Recording is disabled and a grace period has passed; the state is
                    // this ring's and locked.
                    unsafe { self.examine(cpu, ring, &state) };
                }
                ring.set_disabled(DISABLE_QUIESCE, false);
            }
        }
    }

    /// Looks at the rings of `cpus`; what they would record meanwhile is not recorded. Says how many
    /// are broken.
    pub(super) fn selftest(&self, cpus: CpuSel) -> usize {
        let _shape = self.shape.lock();
        let mut broken = 0usize;
        self.quiesced(cpus, |cpu, ring, state| {
            // SAFETY: Recording is disabled and a grace period has passed; the state is this
            // ring's and locked.
            if !unsafe { self.examine(cpu, ring, state) } {
                broken = broken.saturating_add(1);
            }
        });
        broken
    }

    /// Empties the rings of `cpus`, and runs `meanwhile` when they are empty and nobody writes.
    pub(crate) fn clear(&self, cpus: CpuSel, mut meanwhile: impl FnMut()) {
        let _shape = self.shape.lock();
        let mut first = true;
        self.alarm.rearm();
        self.quiesced(cpus, |_, ring, state| {
            // SAFETY: Recording is disabled and a grace period has passed; the state is this
            // ring's and locked.
            unsafe { ring.reset(state) };
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
        let mut shape = self.shape.lock();
        if shape.expanded {
            return Ok(());
        }
        let slots = slots_for(kb, shape.order)?;
        self.change(&shape, CpuSel::All, shape.order, |_| slots)?;
        shape.expanded = true;
        Ok(())
    }

    /// Gives the rings of `cpus` room for `kb` KiB of events. Unread events stay, as far as they
    /// fit.
    ///
    /// # Errors
    ///
    /// `ENOMEM` and `EINTR` (the task is to be killed), and nothing has changed.
    pub(crate) fn resize(&self, cpus: CpuSel, kb: u64) -> Result {
        let mut shape = self.shape.lock();
        let slots = slots_for(kb, shape.order)?;
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
        let (old, new) = (capacity(shape.order)?, capacity(order)?);
        let slots = |ring: &Ring| {
            let bytes = ring.slot_count().saturating_mul(old);
            bytes.div_ceil(new).max(FEWEST) as usize
        };
        self.change(&shape, CpuSel::All, order, slots)?;
        shape.order = order;
        Ok(())
    }

    /// Gives those rings of `cpus` other parts that do not have that order and so many slots: first
    /// allocates all that is needed, then exchanges.
    fn change(
        &self,
        shape: &Shape,
        cpus: CpuSel,
        order: u32,
        slots: impl Fn(&Ring) -> usize,
    ) -> Result {
        let rings = || {
            cpus.iter()
                .filter_map(|cpu| Some((cpu, self.rings.of(cpu)?)))
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
            .filter_map(|(_, ring)| wanted(ring))
            .fold(0u64, |sum, (slots, fresh)| {
                sum.saturating_add(pages_of(slots, fresh, order))
            });
        let mut budget = Budget::new(pages)?;
        let mut fresh = KVec::new();
        for (cpu, ring) in rings() {
            if let Some((slots, count)) = wanted(ring) {
                let parts = parts(cpu, slots, count, order, &mut budget)?;
                fresh.push((cpu, Some(parts)), GFP_KERNEL)?;
            }
        }
        if fresh.is_empty() {
            return Ok(());
        }
        let mut old = KVec::with_capacity(fresh.len(), GFP_KERNEL)?;
        self.quiesced(cpus, |cpu, ring, state| {
            let entry = fresh.iter_mut().find(|(of, _)| *of == cpu);
            let Some(parts) = entry.and_then(|(_, parts)| parts.take()) else {
                return;
            };
            // SAFETY: As in `clear`; whoever looks at the size holds `shape`.
            let left = unsafe { ring.resize(state, parts) };
            let left = left.unwrap_or_else(|unfit| unfit.0);
            // There is room for one per ring.
            let _ = old.push_within_capacity(left);
        });
        Ok(())
    }

    /// The size of the rings of `cpus`.
    pub(crate) fn size(&self, cpus: CpuSel) -> SizeKb {
        let shape = self.shape.lock();
        let mut sizes = cpus
            .iter()
            .filter_map(|cpu| self.rings.of(cpu))
            .map(|ring| kb_of(ring.slot_count(), shape.order));
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
        CpuSel::All
            .iter()
            .filter_map(|cpu| self.rings.of(cpu))
            .map(|ring| kb_of(ring.slot_count(), shape.order))
            .fold(0, u64::saturating_add)
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
fn pages_of(slots: usize, fresh: usize, order: u32) -> u64 {
    let entry = size_of::<SharedU64>().saturating_add(size_of::<SubBuf<Kernel>>());
    let tables = slots.saturating_add(1).saturating_mul(entry);
    let fresh = (fresh as u64).saturating_mul(1u64.wrapping_shl(order));
    fresh.saturating_add(tables.div_ceil(PAGE_SIZE) as u64)
}

/// Unused parts of a ring of `cpu`, with memory for `fresh` of the sub-buffers.
fn parts(
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
