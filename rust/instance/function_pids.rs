// SPDX-License-Identifier: GPL-2.0

//! `set_ftrace_pid` and `set_ftrace_notrace_pid`: the tasks whose functions an instance records.
//!
//! A list exists from the first pid until its file is truncated. The hook looks for the task that runs in
//! the sets themselves. Process context. Lock order: `function_pids`, then that of the functions.

use super::{
    Instance,
    PidSelection, //
};
use crate::{
    probes::{
        KeptWatch,
        PidList,
        TracedPids, //
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

/// The lists of an instance.
pub(super) struct FunctionPids {
    /// Has the lists follow births and deaths of tasks.
    lives: Option<KeptWatch<TracedPids>>,
    only: Option<PidSelection>,
    never: Option<PidSelection>,
}

impl FunctionPids {
    /// Returns no lists.
    pub(super) const fn new() -> Self {
        Self {
            lives: None,
            only: None,
            never: None,
        }
    }

    fn of(&mut self, list: PidList) -> &mut Option<PidSelection> {
        match list {
            PidList::Only => &mut self.only,
            PidList::Never => &mut self.never,
        }
    }

    /// Returns the lists as the hook sees them; `None` when there are none.
    fn traced(&self) -> Result<Option<Arc<TracedPids>>> {
        if self.only.is_none() && self.never.is_none() {
            return Ok(None);
        }
        let traced = TracedPids {
            only: self.only.as_ref().map(PidSelection::of_tasks),
            never: self.never.as_ref().map(PidSelection::of_tasks),
        };
        Ok(Some(Arc::new(traced, GFP_KERNEL)?))
    }
}

impl Instance {
    /// Writes the pids of `list`, one per line.
    pub(crate) fn show_function_pids(&self, list: PidList, out: &mut dyn Write) -> fmt::Result {
        match self.function_pids.lock().of(list) {
            Some(pids) => pids.iter().try_for_each(|pid| writeln!(out, "{pid}")),
            None => out.write_str("no pid\n"),
        }
    }

    /// Adds `pids`, if there are any, to `list`. Drops a list that has become empty.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    pub(crate) fn add_function_pids(&self, list: PidList, pids: Option<PidSelection>) -> Result {
        let mut lists = self.function_pids.lock();
        match (lists.of(list), pids) {
            (Some(there), pids) => {
                // The hook sees what is added.
                if let Some(pids) = &pids {
                    there.add_all(pids)?;
                }
                if there.iter().next().is_none() {
                    return self.put_function_pids(&mut lists, list, None);
                }
                Ok(())
            }
            (None, Some(pids)) => self.put_function_pids(&mut lists, list, Some(pids)),
            (None, None) => Ok(()),
        }
    }

    /// Drops `list`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    pub(crate) fn clear_function_pids(&self, list: PidList) -> Result {
        let mut lists = self.function_pids.lock();
        match lists.of(list) {
            Some(_) => self.put_function_pids(&mut lists, list, None),
            None => Ok(()),
        }
    }

    /// Replaces `list` and has the hook obey the lists.
    fn put_function_pids(
        &self,
        lists: &mut FunctionPids,
        list: PidList,
        pids: Option<PidSelection>,
    ) -> Result {
        let before = core::mem::replace(lists.of(list), pids);
        let result = self.obey_function_pids(lists);
        if result.is_err() {
            *lists.of(list) = before;
        }
        result
    }

    fn obey_function_pids(&self, lists: &mut FunctionPids) -> Result {
        let traced = lists.traced()?;
        let lives = match &traced {
            Some(traced) if self.options().has(Opt::FunctionFork) => {
                Some(KeptWatch::new(traced.clone(), &watch::lives())?)
            }
            _ => None,
        };
        self.functions.set_pids(&self.sink, traced)?;
        lists.lives = lives;
        Ok(())
    }

    /// Follows births and deaths of tasks if the option `function-fork` is set, and stops if it is not.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    pub(super) fn follow_function_forks(&self) -> Result {
        let mut lists = self.function_pids.lock();
        if !self.options().has(Opt::FunctionFork) {
            lists.lives = None;
        } else if lists.lives.is_none() {
            self.obey_function_pids(&mut lists)?;
        }
        Ok(())
    }

    /// Follows no task any more, for good.
    pub(super) fn forget_function_pids(&self) {
        *self.function_pids.lock() = FunctionPids::new();
    }
}
