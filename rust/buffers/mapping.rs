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
    Buffers,
    CpuSel, //
};
use crate::{
    kapi::{
        mapping::{
            Area,
            MetaPage,
            Told, //
        },
        port::Kernel, //
    },
    ring::{
        lend::Ids,
        reader::{
            Busy,
            Reader, //
        }, //
    }, //
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
    pub(super) fn tell(&mut self, reader: &Reader<'_, Kernel>) {
        let (lent, turnover) = (reader.lent(), reader.turnover());
        let (entries, overrun, read) = reader.counted();
        self.meta.tell(&Told {
            size: reader.subbuf_size(),
            count: self.ids.count(),
            reader: self.ids.of(lent.index),
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

impl Buffers {
    /// Is the live ring of any of `cpus` mapped? It stays so while the shape is locked.
    pub(super) fn is_mapped(&self, cpus: CpuSel) -> bool {
        cpus.iter().any(|cpu| {
            let locked = self.locked(cpu);
            locked.is_ok_and(|mut locked| locked.mapped().is_some())
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

impl Buffers {
    /// Shows the live ring of `cpu` in `area`. [`Self::unmap`] ends it.
    ///
    /// # Errors
    ///
    /// `EPERM` for an area that could be written, executed or copied; `EINVAL` for one that does not
    /// begin with a sub-buffer or goes beyond the last; `ENOMEM`.
    pub(crate) fn map(&self, cpu: u32, area: &mut Area<'_>) -> Result {
        area.restrict()?;
        let shape = self.shape.lock();
        let order = shape.order;
        self.read_live(cpu, |shared, reader| {
            if let Some(mapped) = shared {
                mapped.show(area, &reader, order)?;
                mapped.areas = mapped.areas.saturating_add(1);
                return Ok(());
            }
            let mut mapped = Mapped::new(cpu, order, reader.ids())?;
            mapped.tell(&reader);
            mapped.show(area, &reader, order)?;
            mapped.areas = 1;
            *shared = Some(mapped);
            Ok(())
        })
    }

    /// The area of a mapping was moved or copied, so that there is one more.
    pub(crate) fn map_again(&self, cpu: u32) {
        if let Ok(mut locked) = self.locked(cpu) {
            if let Some(mapped) = locked.mapped() {
                mapped.areas = mapped.areas.saturating_add(1);
            }
        }
    }

    /// An area of a mapping is gone, and what it showed with it.
    pub(crate) fn unmap(&self, cpu: u32) {
        let shape = self.shape.lock();
        let mut last = None;
        if let Ok(mut locked) = self.locked(cpu) {
            let shared = locked.mapped();
            if let Some(mapped) = shared {
                mapped.areas = mapped.areas.saturating_sub(1);
                if mapped.areas == 0 {
                    last = shared.take();
                }
            }
        }
        drop(shape);
        drop(last);
    }

    /// Is there somebody whom [`Self::next_reader`] could tell?
    ///
    /// # Errors
    ///
    /// `ENODEV` while the ring of `cpu` is not mapped.
    pub(crate) fn mapped(&self, cpu: u32) -> Result {
        match self.is_mapped(CpuSel::One(cpu)) {
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
        self.read_live(cpu, |shared, mut reader| {
            let Some(mapped) = shared else {
                return Err(ENODEV);
            };
            // Busy: what there is now is the next caller's.
            let (Ok(_) | Err(Busy)) = reader.lend();
            mapped.tell(&reader);
            Ok(())
        })
    }
}
