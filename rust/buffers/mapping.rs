// SPDX-License-Identifier: GPL-2.0

//! Live rings that programs have mapped.
//!
//! A mapping shows a page that describes the ring, and after it the memory of all sub-buffers in
//! the order of their ids. While a ring is mapped its memory stays in place: the ring keeps its
//! size, the banks are not exchanged, and `splice` copies. Whether a ring is mapped is decided
//! under the lock of the shape, which is held when a mapping comes or goes.
//!
//! The VFS calls with the lock of a program's memory held; inside it the lock of the shape is
//! taken, then that of the reader. So code that holds one of these two must not touch a program's
//! memory.

use super::{
    Buffers,
    CpuSel, //
};
use crate::{
    kapi::{
        mapping::{
            Area,
            MetaPage,
            MetaSnapshot, //
        },
        port::Kernel, //
    },
    ring::{
        lend::Ids,
        reader::{
            BusyWriters,
            Reader, //
        }, //
    }, //
};
use kernel::prelude::*;

/// State that the mappings of one ring share.
pub(super) struct MappingState {
    meta: MetaPage,
    ids: Ids,
    /// Number of areas in which programs have mapped the ring or parts of it.
    areas: u64,
}

impl MappingState {
    fn new(cpu: u32, order: u32, ids: Ids) -> Result<Self> {
        Ok(Self {
            meta: MetaPage::new(cpu, order)?,
            ids,
            areas: 0,
        })
    }

    /// Updates the page that describes the ring.
    pub(super) fn tell(&mut self, reader: &Reader<'_, Kernel>) {
        let (lent, turnover) = (reader.lent(), reader.turnover());
        let (entries, overrun, read) = reader.counted();
        self.meta.tell(&MetaSnapshot {
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

    /// Maps into `area` the pages that its offset and size select.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the area does not begin at a sub-buffer or extends beyond the last one;
    /// `ENOMEM`.
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
    /// Returns whether the live ring of any of `cpus` is mapped. The answer holds while the shape
    /// is locked.
    pub(super) fn is_mapped(&self, cpus: CpuSel) -> bool {
        cpus.iter().any(|cpu| {
            let locked = self.locked(cpu);
            locked.is_ok_and(|mut locked| locked.mapped().is_some())
        })
    }

    /// Checks that the memory of the rings of `cpus` may be moved.
    ///
    /// # Errors
    ///
    /// `EBUSY` while one of them is mapped.
    pub(super) fn unmapped(&self, cpus: CpuSel) -> Result {
        match self.is_mapped(cpus) {
            true => Err(EBUSY),
            false => Ok(()),
        }
    }
}

impl Buffers {
    /// Maps the live ring of `cpu` into `area`. [`Self::unmap`] undoes it.
    ///
    /// # Errors
    ///
    /// `EPERM` for an area that is writable, executable or private; `EBUSY` while writers may exchange the
    /// banks; `EINVAL` for one that does not begin at a sub-buffer or extends beyond the last one; `ENOMEM`.
    pub(crate) fn map(&self, cpu: u32, area: &mut Area<'_>) -> Result {
        area.restrict()?;
        let shape = self.lock_shape();
        if shape.writers_exchange {
            return Err(EBUSY);
        }
        let order = shape.order;
        self.read_live(cpu, |shared, reader| {
            if let Some(mapped) = shared {
                mapped.show(area, &reader, order)?;
                mapped.areas = mapped.areas.saturating_add(1);
                return Ok(());
            }
            let mut mapped = MappingState::new(cpu, order, reader.ids())?;
            mapped.tell(&reader);
            mapped.show(area, &reader, order)?;
            mapped.areas = 1;
            *shared = Some(mapped);
            Ok(())
        })
    }

    /// Counts one more area: one was split or moved.
    pub(crate) fn map_again(&self, cpu: u32) {
        if let Ok(mut locked) = self.locked(cpu) {
            if let Some(mapped) = locked.mapped() {
                mapped.areas = mapped.areas.saturating_add(1);
            }
        }
    }

    /// Counts one area less. The state of the mapping goes with the last one.
    pub(crate) fn unmap(&self, cpu: u32) {
        let shape = self.lock_shape();
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

    /// Checks that the ring of `cpu` is mapped, so that [`Self::next_reader`] has programs to tell.
    ///
    /// # Errors
    ///
    /// `ENODEV` while it is not.
    pub(crate) fn mapped(&self, cpu: u32) -> Result {
        match self.is_mapped(CpuSel::One(cpu)) {
            true => Ok(()),
            false => Err(ENODEV),
        }
    }

    /// Consumes, for the programs that have mapped the ring of `cpu`, what is new in the reader's
    /// sub-buffer, or else moves to the next one; and updates the page that describes the ring.
    ///
    /// # Errors
    ///
    /// `ENODEV` while the ring is not mapped.
    pub(crate) fn next_reader(&self, cpu: u32) -> Result {
        self.read_live(cpu, |shared, mut reader| {
            let Some(mapped) = shared else {
                return Err(ENODEV);
            };
            // Busy: what is there now is left to the next call.
            let (Ok(_) | Err(BusyWriters)) = reader.lend();
            mapped.tell(&reader);
            Ok(())
        })
    }
}
