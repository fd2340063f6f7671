// SPDX-License-Identifier: GPL-2.0

//! The size of the rings: the number of sub-buffers of each, and the number of pages of a
//! sub-buffer.
//!
//! A change allocates everything that it needs before it touches a ring, so that it either succeeds
//! or has no effect. Contexts: process context, under the lock of the shape.

use super::{
    banks::Bank,
    Buffers,
    CpuSel, //
};
use crate::{
    kapi::{
        pages::{
            Budget,
            Pages, //
        },
        port::{
            Kernel,
            Ring, //
        },
        words::SharedU64, //
    },
    ring::{
        cpu::{
            Parts,
            MOST_SLOTS, //
        },
        port::SharedWord,
        pos::Layout,
        subbuf::SubBuf, //
    },
    text::size::SizeKb, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};

/// KiB per CPU of buffers in use.
pub(crate) const EXPANDED_KB: u64 = 1408;
/// KiB per CPU of buffers before their first use: two sub-buffers.
const UNUSED_KB: u64 = 1;
/// Smallest number of sub-buffers of a ring.
pub(super) const FEWEST: u64 = 2;

/// The size of the rings and of their sub-buffers.
pub(super) struct BufferShape {
    /// Whether the size is [`EXPANDED_KB`] or one that a user chose.
    expanded: bool,
    /// Sub-buffers have 2^order pages.
    pub(super) order: u32,
    /// Set while there is a snapshot; the rings of both banks then have the same size. Holds the
    /// parts that the rings of the snapshot had before, and that they get back.
    pub(super) small: Option<KVec<(u32, Parts<Kernel>)>>,
    /// Whether writers may exchange the banks while the shape is not locked. There is a snapshot then.
    pub(super) writers_exchange: bool,
}

impl BufferShape {
    /// Returns the shape of new buffers.
    pub(super) fn new(expanded: bool) -> Self {
        Self {
            expanded,
            order: 0,
            small: None,
            writers_exchange: false,
        }
    }

    /// Returns the number of slots of a new ring.
    ///
    /// # Errors
    ///
    /// None in practice: `EINVAL` and `ENOMEM` are for other sizes.
    pub(super) fn slots(&self) -> Result<usize> {
        let kb = if self.expanded {
            EXPANDED_KB
        } else {
            UNUSED_KB
        };
        slots_for(kb, self.order)
    }
}

impl Buffers {
    /// Returns the number of bytes of a sub-buffer.
    pub(crate) fn subbuf_size(&self) -> usize {
        PAGE_SIZE.wrapping_shl(self.shape.lock().order)
    }

    /// Returns whether the buffers have got a size. Those of the top instance have none before
    /// their first use.
    pub(crate) fn expanded(&self) -> bool {
        self.shape.lock().expanded
    }

    /// Gives all rings [`EXPANDED_KB`] unless they have got a size before.
    ///
    /// # Errors
    ///
    /// As for [`Self::resize`].
    pub(crate) fn expand(&self) -> Result {
        self.expand_locked(&mut self.lock_shape())
    }

    /// Does what [`Self::expand`] does, with the lock of the shape held.
    ///
    /// # Errors
    ///
    /// Those of [`Self::resize`].
    pub(super) fn expand_locked(&self, shape: &mut BufferShape) -> Result {
        if shape.expanded {
            return Ok(());
        }
        let slots = slots_for(EXPANDED_KB, shape.order)?;
        self.unmapped(CpuSel::All)?;
        self.change(shape, CpuSel::All, shape.order, |_| slots)?;
        shape.expanded = true;
        Ok(())
    }

    /// Gives the rings of `cpus` room for `kb` KiB of events. Unread events stay, as far as there
    /// is room for them.
    ///
    /// # Errors
    ///
    /// `EBUSY` while a ring that would change is mapped (with all CPUs: any ring); `ENOMEM`,
    /// `EINTR` (the task is being killed). Nothing has changed then.
    pub(crate) fn resize(&self, cpus: CpuSel, kb: u64) -> Result {
        let mut shape = self.lock_shape();
        let slots = slots_for(kb, shape.order)?;
        let had = |(_, ring): (u32, &Ring)| ring.slot_count() as usize == slots;
        if cpus == CpuSel::All || !self.live_of(cpus).all(had) {
            self.unmapped(cpus)?;
        }
        self.change(&shape, cpus, shape.order, |_| slots)?;
        shape.expanded = true;
        drop(shape);
        self.wake_all();
        Ok(())
    }

    /// Sets the size of sub-buffers to 2^order pages; their number changes so that rings have room
    /// for as much as before. If the size differs, unread events are lost and counted as overrun.
    ///
    /// # Errors
    ///
    /// As for [`Self::resize`].
    pub(crate) fn set_order(&self, order: u32) -> Result {
        let mut shape = self.lock_shape();
        if shape.order != order {
            self.unmapped(CpuSel::All)?;
            let (old, new) = (capacity(shape.order)?, capacity(order)?);
            let slots = |ring: &Ring| {
                let bytes = ring.slot_count().saturating_mul(old);
                bytes.div_ceil(new).max(FEWEST) as usize
            };
            self.change(&shape, CpuSel::All, order, slots)?;
            shape.order = order;
        }
        drop(shape);
        self.wake_all();
        Ok(())
    }

    /// Gives the rings of `cpus`, and those of their snapshot, new parts where the order or the
    /// number of slots differs. Allocates everything first, then exchanges.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `EINTR` (the task is being killed). Nothing has changed then.
    fn change(
        &self,
        shape: &BufferShape,
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
        // The slots, and how many sub-buffers the ring lacks.
        let wanted = |ring: &Ring| {
            let (had, slots) = (ring.slot_count() as usize, slots(ring));
            match order == shape.order {
                true if had == slots => None,
                true => Some((slots, slots.saturating_sub(had))),
                false => Some((slots, slots.saturating_add(1))),
            }
        };
        // A ring that gets smaller asks for nothing: it must have that when memory is short.
        let pages = rings()
            .filter_map(|(_, _, ring)| wanted(ring))
            .filter(|(_, fresh)| *fresh != 0)
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
        self.quiesced(shape, cpus, |cpu, bank, ring| {
            let entry = fresh.iter_mut().find(|(of, _)| *of == (cpu, bank));
            let Some(parts) = entry.and_then(|(_, parts)| parts.take()) else {
                return;
            };
            // There is room for one per ring.
            let _ = old.push_within_capacity(ring.resize(parts));
        });
        Ok(())
    }

    /// Returns the size of the rings of `cpus`.
    pub(crate) fn size(&self, cpus: CpuSel) -> SizeKb {
        // Where writers exchange the banks, both have the same size.
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

    /// Returns the sum of the sizes of all rings, in KiB.
    pub(crate) fn total(&self) -> u64 {
        let shape = self.shape.lock();
        self.live_of(CpuSel::All)
            .map(|(_, ring)| kb_of(ring.slot_count(), shape.order))
            .fold(0, u64::saturating_add)
    }

    /// Returns the live rings of `cpus`. They stay live while the shape is locked.
    pub(super) fn live_of(&self, cpus: CpuSel) -> impl Iterator<Item = (u32, &Ring)> {
        let live = self.rings.live();
        let both = cpus
            .iter()
            .filter_map(|cpu| Some((cpu, self.rings.of(cpu)?)));
        both.map(move |(cpu, rings)| (cpu, rings.of(live)))
    }
}

/// Returns the number of bytes for events in a sub-buffer of 2^order pages.
///
/// # Errors
///
/// `EINVAL` for an order that no sub-buffer can have.
fn capacity(order: u32) -> Result<u64> {
    let layout = Layout::for_size(PAGE_SIZE.wrapping_shl(order)).ok_or(EINVAL)?;
    Ok(layout.capacity().into())
}

fn kb_of(slots: u64, order: u32) -> u64 {
    slots.saturating_mul(capacity(order).unwrap_or(0)) >> 10
}

/// Returns the number of sub-buffers of 2^order pages that `kb` KiB of events take.
///
/// # Errors
///
/// `ENOMEM` for more than can be counted, `EINVAL` for an order that no sub-buffer can have.
fn slots_for(kb: u64, order: u32) -> Result<usize> {
    let bytes = kb.checked_mul(1024).ok_or(ENOMEM)?;
    let slots = bytes.div_ceil(capacity(order)?).max(FEWEST);
    usize::try_from(slots).map_err(|_| ENOMEM)
}

/// Returns the number of pages that a ring of `slots` slots takes: its tables, and the memory of
/// `fresh` sub-buffers.
pub(super) fn pages_of(slots: usize, fresh: usize, order: u32) -> u64 {
    let entry = size_of::<SharedU64>().saturating_add(size_of::<SubBuf<Kernel>>());
    let tables = slots.saturating_add(1).saturating_mul(entry);
    let fresh = (fresh as u64).saturating_mul(1u64.wrapping_shl(order));
    fresh.saturating_add(tables.div_ceil(PAGE_SIZE) as u64)
}

/// Returns unused parts of a ring of `cpu`, with memory for `fresh` of its sub-buffers.
///
/// # Errors
///
/// `ENOMEM`, and `EINTR` (the task is being killed).
pub(super) fn parts(
    cpu: u32,
    slots: usize,
    fresh: usize,
    order: u32,
    budget: &mut Budget,
) -> Result<Parts<Kernel>> {
    if slots >= MOST_SLOTS {
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
        subbufs,
    })
}
