// SPDX-License-Identifier: GPL-2.0

//! The pid lists of an instance: who owns them, and when births and deaths of tasks are followed.
//!
//! Probes see them as `probes::PidFilter`. A list exists from the first pid until its file is
//! truncated. A further write adds to the list in place, so that no child that is added and no task
//! that ends meanwhile is missed. Process context. Lock order: `events`, then `pid_lists`.

use super::Instance;
use crate::{
    events,
    kapi::{
        cpus,
        percpu::CpuPin, //
    },
    probes::{
        EventFile,
        KeptWatch,
        PidFilter,
        PidList,
        PidSet, //
    },
    tasks::watch,
    text::options::Opt, //
};
use core::fmt::{
    self,
    Write, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Pids that a user wrote, at least one: those that tasks can have, and larger numbers.
pub(crate) struct PidSelection {
    set: Arc<PidSet>,
    beyond: KVec<u32>,
}

impl PidSelection {
    /// Returns a list of one pid.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(pid: u32) -> Result<Self> {
        let mut pids = Self {
            set: Arc::new(PidSet::new()?, GFP_KERNEL)?,
            beyond: KVec::new(),
        };
        pids.add(pid)?;
        Ok(pids)
    }

    /// Adds a pid.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn add(&mut self, pid: u32) -> Result {
        if PidSet::can_have(pid) {
            self.set.set(pid, true);
            return Ok(());
        }
        self.beyond.reserve(1, GFP_KERNEL)?;
        self.add_beyond(pid);
        Ok(())
    }

    /// Adds all of `other`, or nothing.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    pub(super) fn add_all(&mut self, other: &Self) -> Result {
        self.beyond.reserve(other.beyond.len(), GFP_KERNEL)?;
        for pid in other.set.iter() {
            self.set.set(pid, true);
        }
        for pid in &other.beyond {
            self.add_beyond(*pid);
        }
        Ok(())
    }

    /// Returns those that tasks can have; further ones are added there.
    pub(super) fn of_tasks(&self) -> Arc<PidSet> {
        self.set.clone()
    }

    /// Adds a number that no task can have, in the order in which the file shows them. The caller
    /// has reserved room for it.
    fn add_beyond(&mut self, pid: u32) {
        let at = self.beyond.partition_point(|other| *other < pid);
        if self.beyond.get(at) != Some(&pid) && self.beyond.push_within_capacity(pid).is_ok() {
            if let Some(behind) = self.beyond.get_mut(at..) {
                behind.rotate_right(1);
            }
        }
    }

    /// Returns the numbers, in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        Iterator::chain(self.set.iter(), self.beyond.iter().copied())
    }
}

/// The lists of an instance, and what tells of tasks.
pub(super) struct PidLists {
    // What uses the lists goes first.
    switches: Option<KeptWatch<PidFilter>>,
    lives: Option<KeptWatch<PidFilter>>,
    only: Option<KBox<PidSelection>>,
    never: Option<KBox<PidSelection>>,
}

impl PidLists {
    /// Returns no lists.
    pub(super) const fn new() -> Self {
        Self {
            switches: None,
            lives: None,
            only: None,
            never: None,
        }
    }

    fn of(&mut self, list: PidList) -> &mut Option<KBox<PidSelection>> {
        match list {
            PidList::Only => &mut self.only,
            PidList::Never => &mut self.never,
        }
    }

    /// Returns whether there is a list.
    pub(super) fn any(&self) -> bool {
        self.only.is_some() || self.never.is_some()
    }
}

impl Instance {
    /// Writes the pids of `list`, one per line.
    pub(crate) fn show_pids(&self, list: PidList, out: &mut dyn Write) -> fmt::Result {
        match self.pid_lists.lock().of(list) {
            Some(pids) => pids.iter().try_for_each(|pid| writeln!(out, "{pid}")),
            None => Ok(()),
        }
    }

    /// Adds `pids`, if there are any, to `list`. Drops a list that has become empty.
    ///
    /// # Errors
    ///
    /// Those of [`Buffers::expand`](crate::buffers::Buffers::expand) and `ENOMEM`. Nothing has
    /// changed but that an unused instance may have got its size.
    pub(crate) fn add_pids(&self, list: PidList, pids: Option<PidSelection>) -> Result {
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
                let watch = KeptWatch::new(self.pids.clone(), &watch::switches())?;
                lists.switches = Some(watch);
            }
            let there = lists.of(list).insert(pids);
            self.obey_list(list, Some(&**there));
            for file in files.iter() {
                self.give_pids(file, true);
            }
        }
        if lists.any() {
            watch::on_each_cpu(&|pin: &CpuPin, pid| self.pids.runs(pin, pid));
        }
        Ok(())
    }

    /// Drops `list`, and returns when no probe uses it any more.
    pub(crate) fn clear_pids(&self, list: PidList) {
        let files = self.events.lock();
        self.drop_pids(list, &files, &mut self.pid_lists.lock());
    }

    fn drop_pids(&self, list: PidList, files: &[KBox<EventFile>], lists: &mut PidLists) {
        let Some(gone) = lists.of(list).take() else {
            return;
        };
        self.obey_list(list, None);
        if !lists.any() {
            lists.switches = None;
            for file in files {
                self.give_pids(file, false);
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

    /// Follows births and deaths of tasks if the option `event-fork` is set, and stops if it is
    /// not.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    pub(super) fn follow_forks_again(&self) -> Result {
        let mut lists = self.pid_lists.lock();
        if !self.options().has(Opt::EventFork) {
            lists.lives = None;
        } else if lists.lives.is_none() {
            lists.lives = Some(KeptWatch::new(self.pids.clone(), &watch::lives())?);
        }
        Ok(())
    }

    /// Gives the lists to `file`, whose probe is not attached yet. The caller holds `events`.
    pub(super) fn pids_again(&self, file: &EventFile) {
        if self.pid_lists.lock().any() {
            self.give_pids(file, true);
        }
    }

    /// Has the filter obey `pids` as this list, or none.
    fn obey_list(&self, list: PidList, pids: Option<&PidSelection>) {
        // SAFETY: The pids stay in their box, which goes by way of `drop_pids`: that sets none first,
        // and then waits for the probes that may have found them.
        unsafe { self.pids.set(list, pids.map(|pids| &*pids.set)) };
    }

    /// Has `file` obey the lists, or not.
    fn give_pids(&self, file: &EventFile, obeys: bool) {
        // SAFETY: The filter is a part of this instance, which outlives its files.
        unsafe { file.set_pids(obeys.then_some(&*self.pids)) };
    }

    /// Forgets both lists, and follows no task any more.
    pub(super) fn forget_pids(&self) {
        self.clear_pids(PidList::Only);
        self.clear_pids(PidList::Never);
        self.pid_lists.lock().lives = None;
    }
}
