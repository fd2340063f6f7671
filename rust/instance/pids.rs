// SPDX-License-Identifier: GPL-2.0

//! The lists of tasks of an instance: who owns them, and when are they followed?
//!
//! What probes see of them is `probes::PidFilter`. A list is there from the first pid on until the file
//! is truncated; a further write adds to it in place, so that children that are added and tasks that
//! end meanwhile are not forgotten. Process context. Lock order: `events`, then `pids`.

use super::Instance;
use crate::{
    events,
    kapi::{
        cpus,
        percpu::CpuPin, //
    },
    probes::{
        EventFile,
        PidList,
        PidSet, //
    },
    tasks::watch::{
        self,
        Watch, //
    },
    text::options::Opt, //
};
use core::fmt::{
    self,
    Write, //
};
use kernel::prelude::*;

/// What a user wrote, one at least: pids of tasks, and numbers that no task can have.
pub(crate) struct Pids {
    set: PidSet,
    beyond: KVec<u32>,
}

impl Pids {
    /// The first.
    pub(crate) fn new(pid: u32) -> Result<Self> {
        let mut pids = Self {
            set: PidSet::new()?,
            beyond: KVec::new(),
        };
        pids.add(pid)?;
        Ok(pids)
    }

    /// One more.
    pub(crate) fn add(&mut self, pid: u32) -> Result {
        if PidSet::can_have(pid) {
            self.set.set(pid, true);
            return Ok(());
        }
        self.beyond.reserve(1, GFP_KERNEL)?;
        self.add_beyond(pid);
        Ok(())
    }

    /// All of `other`, or none.
    fn add_all(&mut self, other: &Self) -> Result {
        self.beyond.reserve(other.beyond.len(), GFP_KERNEL)?;
        for pid in other.set.iter() {
            self.set.set(pid, true);
        }
        for pid in &other.beyond {
            self.add_beyond(*pid);
        }
        Ok(())
    }

    /// Adds a number that no task can have; there is room. The file shows them in order.
    fn add_beyond(&mut self, pid: u32) {
        let at = self.beyond.partition_point(|other| *other < pid);
        if self.beyond.get(at) != Some(&pid) && self.beyond.push_within_capacity(pid).is_ok() {
            if let Some(behind) = self.beyond.get_mut(at..) {
                behind.rotate_right(1);
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        Iterator::chain(self.set.iter(), self.beyond.iter().copied())
    }
}

/// The lists of an instance, and who tells of tasks.
pub(super) struct PidLists {
    // Those who use the lists go first.
    switches: Option<Watch>,
    lives: Option<Watch>,
    only: Option<KBox<Pids>>,
    never: Option<KBox<Pids>>,
}

impl PidLists {
    /// Without a list.
    pub(super) const fn new() -> Self {
        Self {
            switches: None,
            lives: None,
            only: None,
            never: None,
        }
    }

    fn of(&mut self, list: PidList) -> &mut Option<KBox<Pids>> {
        match list {
            PidList::Only => &mut self.only,
            PidList::Never => &mut self.never,
        }
    }

    /// Is there any list?
    pub(super) fn any(&self) -> bool {
        self.only.is_some() || self.never.is_some()
    }
}

impl Instance {
    /// Writes the pids of a list, one per line.
    pub(crate) fn show_pids(&self, list: PidList, out: &mut dyn Write) -> fmt::Result {
        match self.pid_lists.lock().of(list) {
            Some(pids) => pids.iter().try_for_each(|pid| writeln!(out, "{pid}")),
            None => Ok(()),
        }
    }

    /// Adds `pids`, if there are any, to a list. One that has become empty goes.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed but that an unused instance may have got its size.
    pub(crate) fn add_pids(&self, list: PidList, pids: Option<Pids>) -> Result {
        self.buffers().expand()?;
        let files = self.events.lock();
        let mut lists = self.pid_lists.lock();
        if let Some(there) = lists.of(list) {
            if let Some(pids) = pids {
                there.add_all(&pids)?;
            }
            if there.iter().next().is_none() {
                self.drop_pids(list, &files, &mut lists);
            }
        } else if let Some(pids) = pids {
            let pids = KBox::new(pids, GFP_KERNEL)?;
            if lists.switches.is_none() {
                // SAFETY: The filter is a part of this instance, which does not move; the watch is
                // dropped by `drop_pids`, or by `forget_pids` before the instance goes.
                lists.switches = Some(unsafe { Watch::switches(&self.pids) }?);
            }
            let there = lists.of(list).insert(pids);
            // SAFETY: The box goes by way of `drop_pids`.
            unsafe { self.pids.set(list, Some(&there.set)) };
            for file in files.iter() {
                // SAFETY: The filter is a part of this instance, which outlives its files.
                unsafe { file.set_pids(Some(&self.pids)) };
            }
        }
        if lists.any() {
            watch::on_each_cpu(&|pin: &CpuPin, pid| self.pids.runs(pin, pid));
        }
        Ok(())
    }

    /// Forgets a list, and returns when nobody uses it.
    pub(crate) fn clear_pids(&self, list: PidList) {
        let files = self.events.lock();
        self.drop_pids(list, &files, &mut self.pid_lists.lock());
    }

    fn drop_pids(&self, list: PidList, files: &[KBox<EventFile>], lists: &mut PidLists) {
        let Some(gone) = lists.of(list).take() else {
            return;
        };
        // SAFETY: The list that was there is kept until all who can have it have ended.
        unsafe { self.pids.set(list, None) };
        if !lists.any() {
            lists.switches = None;
            for file in files {
                // SAFETY: No filter.
                unsafe { file.set_pids(None) };
            }
            for cpu in cpus::possible() {
                self.pids.forget(cpu);
            }
        }
        events::synchronize();
        drop(gone);
        if lists.any() {
            watch::on_each_cpu(&|pin: &CpuPin, pid| self.pids.runs(pin, pid));
        }
    }

    /// Follows births and deaths if the option `event-fork` says so, and else does not.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and it is as before.
    pub(super) fn follow_forks_again(&self) -> Result {
        let mut lists = self.pid_lists.lock();
        if !self.options().has(Opt::EventFork) {
            lists.lives = None;
        } else if lists.lives.is_none() {
            // SAFETY: As for the switches.
            lists.lives = Some(unsafe { Watch::lives(&self.pids) }?);
        }
        Ok(())
    }

    /// Gives the lists to `file`, whose probe is not attached yet. `events` is locked.
    pub(super) fn pids_again(&self, file: &EventFile) {
        if self.pid_lists.lock().any() {
            // SAFETY: The filter is a part of this instance, which outlives its files.
            unsafe { file.set_pids(Some(&self.pids)) };
        }
    }

    /// Forgets both lists, and follows nobody any more.
    pub(super) fn forget_pids(&self) {
        self.clear_pids(PidList::Only);
        self.clear_pids(PidList::Never);
        self.pid_lists.lock().lives = None;
    }
}
