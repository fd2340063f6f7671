// SPDX-License-Identifier: GPL-2.0

//! Live rings that programs have mapped, and those programs as readers.
//!
//! A mapping shows a page that tells about the ring, and behind it the memory of all its sub-buffers,
//! by their ids. While a ring is mapped its memory stays in it: it keeps its size, the banks are not
//! exchanged, and `splice` copies. That is decided under the lock of the shape, which is held
//! when a mapping comes or goes.
//!
//! The VFS calls with the lock of a program's memory held, inside which the lock of the shape is taken
//! and then the reader's. So nobody who has one of these touches a program's memory.

use super::{
    banks::{
        Bank,
        Pair, //
    },
    buffers::{
        Buffers,
        Held, //
    },
    CpuSel,
    Instance, //
};
use crate::{
    kapi::{
        mapping::{
            Area,
            MetaPage,
            Told, //
        },
        port::{
            Kernel,
            Ring, //
        },
    },
    ring::{
        lend::Ids,
        reader::{
            Busy,
            Reader, //
        }, //
    },
};
use kernel::prelude::*;

/// What the mappings of one ring share.
pub(super) struct Mapped {
    meta: MetaPage,
    ids: Ids,
    /// Areas of programs, parts of the ring or all of it.
    areas: u64,
}

impl Mapped {
    fn new(cpu: u32, order: u32, ids: Ids) -> Result<Self> {
        Ok(Self {
            meta: MetaPage::new(cpu, order)?,
            ids,
            areas: 0,
        })
    }

    /// Tells the programs how things are.
    fn tell(&mut self, reader: &Reader<'_, Kernel>) {
        let (lent, turnover) = (reader.lent(), reader.turnover());
        let (entries, overrun, read) = reader.counted();
        self.meta.tell(&Told {
            size: reader.subbuf_size(),
            count: self.ids.count(),
            reader: self.ids.of(lent.page),
            consumed: lent.read,
            lost: lent.lost,
            entries,
            overrun,
            read,
            subbufs_lost: turnover.lost,
            subbufs_used: turnover.opened,
        });
    }

    /// Shows in `area` what it asks for.
    ///
    /// # Errors
    ///
    /// `EINVAL` when it does not begin with a sub-buffer or goes beyond the last one; `ENOMEM`.
    fn show(&self, area: &mut Area<'_>, reader: &Reader<'_, Kernel>, order: u32) -> Result {
        let per = 1usize.wrapping_shl(order);
        let all = (self.ids.count() as usize)
            .saturating_add(1)
            .saturating_mul(per);
        let offset = area.offset();
        let left = all.checked_sub(offset).ok_or(EINVAL)?;
        if offset.checked_rem(per) != Some(0) || area.room() == 0 || area.room() > left {
            return Err(EINVAL);
        }
        let mut block = offset.checked_div(per).unwrap_or(0);
        while area.room() != 0 {
            match block.checked_sub(1) {
                None => area.show(self.meta.pages())?,
                Some(id) => {
                    let id = u32::try_from(id).map_err(|_| EINVAL)?;
                    area.show(reader.memory(self.ids, id).ok_or(EINVAL)?)?;
                }
            }
            block = block.saturating_add(1);
        }
        Ok(())
    }
}

impl Held {
    /// Maps the ring of `bank`, the live one; `order` is that of its sub-buffers.
    fn map(
        &mut self,
        cpu: u32,
        rings: &Pair<Ring>,
        bank: Bank,
        order: u32,
        area: &mut Area<'_>,
    ) -> Result {
        // SAFETY: `Buffers::new` made both together.
        let reader = unsafe { rings.of(bank).reader(self.states.of_mut(bank)) };
        if let Some(mapped) = &mut self.mapped {
            mapped.show(area, &reader, order)?;
            mapped.areas = mapped.areas.saturating_add(1);
            return Ok(());
        }
        let mut mapped = Mapped::new(cpu, order, reader.ids())?;
        mapped.tell(&reader);
        mapped.show(area, &reader, order)?;
        mapped.areas = 1;
        self.mapped = Some(mapped);
        Ok(())
    }

    /// Tells those who have the ring of `bank` mapped, the live one, how it is now.
    pub(super) fn tell(&mut self, rings: &Pair<Ring>, bank: Bank) {
        if let Some(mapped) = &mut self.mapped {
            // SAFETY: As above.
            let reader = unsafe { rings.of(bank).reader(self.states.of_mut(bank)) };
            mapped.tell(&reader);
        }
    }
}

impl Buffers {
    /// Is the live ring of any of `cpus` mapped? It stays so while the shape is locked.
    pub(super) fn is_mapped(&self, cpus: CpuSel) -> bool {
        cpus.iter().any(|cpu| {
            let held = self.locked(cpu);
            held.is_ok_and(|(_, held)| held.mapped.is_some())
        })
    }

    /// May the memory of the rings of `cpus` be moved?
    ///
    /// # Errors
    ///
    /// `EBUSY` while one is mapped.
    pub(super) fn unmapped(&self, cpus: CpuSel) -> Result {
        match self.is_mapped(cpus) {
            true => Err(EBUSY),
            false => Ok(()),
        }
    }
}

impl Instance {
    /// Shows the live ring of `cpu` in `area`. [`Self::unmap`] ends it.
    ///
    /// # Errors
    ///
    /// `EPERM` for an area that could be written, executed or copied; `EINVAL` for one that does not
    /// begin with a sub-buffer or goes beyond the last; `ENOMEM`.
    pub(crate) fn map(&self, cpu: u32, area: &mut Area<'_>) -> Result {
        area.restrict()?;
        let shape = self.buffers.shape.lock();
        let bank = self.buffers.rings().live();
        let (rings, mut held) = self.buffers.locked(cpu)?;
        held.map(cpu, rings, bank, shape.order, area)
    }

    /// The area of a mapping was moved or copied, so that there is one more.
    pub(crate) fn map_again(&self, cpu: u32) {
        if let Ok((_, mut held)) = self.buffers.locked(cpu) {
            if let Some(mapped) = &mut held.mapped {
                mapped.areas = mapped.areas.saturating_add(1);
            }
        }
    }

    /// An area of a mapping is gone, and what it showed with it.
    pub(crate) fn unmap(&self, cpu: u32) {
        let shape = self.buffers.shape.lock();
        let mut last = None;
        if let Ok((_, mut held)) = self.buffers.locked(cpu) {
            if let Some(mapped) = &mut held.mapped {
                mapped.areas = mapped.areas.saturating_sub(1);
                if mapped.areas == 0 {
                    last = held.mapped.take();
                }
            }
        }
        drop(shape);
        drop(last);
    }

    /// Is there something that [`Self::next_reader`] could tell of?
    ///
    /// # Errors
    ///
    /// `ENODEV` while the ring of `cpu` is not mapped.
    pub(crate) fn mapped(&self, cpu: u32) -> Result {
        match self.buffers.is_mapped(CpuSel::One(cpu)) {
            true => Ok(()),
            false => Err(ENODEV),
        }
    }

    /// Consumes, for those who have the ring of `cpu` mapped, what is new in the reader's sub-buffer
    /// or else in the next one, and tells them where that is.
    ///
    /// # Errors
    ///
    /// `ENODEV` while it is not mapped.
    pub(crate) fn next_reader(&self, cpu: u32) -> Result {
        // A bank stays live while it is mapped.
        let bank = self.buffers.rings().live();
        let (rings, mut held) = self.buffers.locked(cpu)?;
        if held.mapped.is_none() {
            return Err(ENODEV);
        }
        // SAFETY: `Buffers::new` made both together.
        let mut reader = unsafe { rings.of(bank).reader(held.states.of_mut(bank)) };
        // Busy: what there is now is the next caller's.
        let (Ok(_) | Err(Busy)) = reader.lend();
        held.tell(rings, bank);
        Ok(())
    }
}
