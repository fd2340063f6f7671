// SPDX-License-Identifier: GPL-2.0

//! In which calls the calls are that an instance records: which functions are meant, and what is known of each task.

use super::{
    graph_rules::{
        Answer,
        Root, //
    },
    kept_watch::KeptWatch, //
};
use crate::{
    functions::table::{
        self,
        Place, //
    },
    kapi::{
        context,
        cpus,
        percpu::CpuPin,
        words::SharedU8, //
    },
    tasks::attached::{
        Probe,
        RECORDING, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    task::Task, //
};

/// One more than the largest number of a task: `PID_MAX_LIMIT`.
const TASKS: usize = 4 << 20;

/// In [`Levels::only`]: a hard interrupt has called it. The bits below are the level.
const OF_IRQ: u8 = 0x80;

/// What is known of a task: the level of the call that it is in, plus one; 0 for none. The exit of the call forgets it.
/// Where no hook saw that, a level that is not above what was noted shows that the call has ended.
struct Levels {
    /// Of a function that calls are to be in, and [`OF_IRQ`].
    only: SharedU8,
    /// Of one that they are not to be in.
    never: SharedU8,
}

/// The functions that calls are to be in, or not to be in.
pub(crate) struct GraphPlaces {
    /// `None` when they may be in any.
    only: Option<KVVec<Place>>,
    never: KVVec<Place>,
    tasks: KeptWatch<TaskLevels>,
}

/// What is known of each task.
struct TaskLevels {
    /// By pid; the idle tasks, which have one number, follow by their CPUs.
    levels: KVVec<Levels>,
}

impl TaskLevels {
    /// Returns that of tasks which are in no call.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn new() -> Result<Self> {
        let tasks = TASKS.saturating_add(cpus::most() as usize);
        let mut levels = KVVec::with_capacity(tasks, GFP_KERNEL)?;
        for _ in 0..tasks {
            let none = Levels {
                only: SharedU8::zero(),
                never: SharedU8::zero(),
            };
            levels.push(none, GFP_KERNEL)?;
        }
        Ok(Self { levels })
    }

    /// Returns what is known of the current task.
    fn current(&self, pin: &CpuPin) -> Option<&Levels> {
        let at = match usize::try_from(context::raw().pid) {
            Ok(pid @ 1..TASKS) => pid,
            _ => TASKS.saturating_add(pin.cpu() as usize),
        };
        self.levels.get(at)
    }
}

/// Forgets what is known of a task that had the number of a new one, which does not run yet: it may have ended in a
/// call.
extern "C" fn forked(tasks: &TaskLevels, _parent: &Task, child: &Task) {
    let pid = usize::try_from(child.pid());
    if let Some(levels) = pid.ok().and_then(|pid| tasks.levels.get(pid)) {
        levels.only.store(0);
        levels.never.store(0);
    }
}

/// Returns a table of functions.
///
/// # Errors
///
/// `ENOMEM`.
fn table_of(functions: &[u64]) -> Result<KVVec<Place>> {
    let places = table::places(functions.len()).ok_or(ENOMEM)?;
    let mut table = KVVec::from_elem(Place::default(), places, GFP_KERNEL)?;
    for address in functions {
        table::add(&mut table, *address, 1);
    }
    Ok(table)
}

impl GraphPlaces {
    /// Returns what is to be followed: calls in `only`, if given, and none in `never`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and `ENODEV` when the kernel does not tell of new tasks.
    pub(crate) fn new(only: Option<&[u64]>, never: Option<&[u64]>) -> Result<Self> {
        let tasks = Arc::new(TaskLevels::new()?, GFP_KERNEL)?;
        Ok(Self {
            only: only.map(table_of).transpose()?,
            never: table_of(never.unwrap_or_default())?,
            tasks: KeptWatch::new(tasks, &[Probe::on_fork(forked, RECORDING)])?,
        })
    }

    #[inline(never)]
    pub(super) fn ask(&self, pin: &CpuPin, address: u64, level: u64) -> Answer<'_> {
        let Some(levels) = self.tasks.current(pin) else {
            return Answer::Ignore;
        };
        let level = noted_level(level);
        if forget_ended(&levels.never, level) != 0 {
            return Answer::Ignore;
        }
        if table::word(&self.never, address) != 0 {
            levels.never.store(level);
            return Answer::Hold;
        }
        let Some(only) = &self.only else {
            return Answer::Take(Root::none(false));
        };
        let root = forget_ended(&levels.only, level);
        if root != 0 {
            return Answer::Take(Root::none(root & OF_IRQ != 0));
        }
        if table::word(only, address) == 0 {
            return Answer::Ignore;
        }
        let of_irq = context::raw().in_hardirq();
        let noted = if of_irq { level | OF_IRQ } else { level };
        Answer::Take(Root::noted_in(&levels.only, noted, of_irq))
    }

    /// Learns that a call at this level of the current task ends, and with it what is not above.
    pub(super) fn leave(&self, pin: &CpuPin, level: u64) {
        if let Some(levels) = self.tasks.current(pin) {
            let level = noted_level(level);
            forget_ended(&levels.only, level);
            forget_ended(&levels.never, level);
        }
    }
}

/// Returns what is noted of the level of a call. None is as high as the highest that can be noted: the stack of calls
/// ends before.
fn noted_level(level: u64) -> u8 {
    let highest = OF_IRQ.wrapping_sub(1);
    u8::try_from(level.saturating_add(1)).map_or(highest, |noted| noted.min(highest))
}

/// Forgets the call that was noted, if one at this level shows that it has ended. Returns what is noted; 0 for none.
fn forget_ended(noted: &SharedU8, level: u8) -> u8 {
    match noted.load() {
        root if level > root & !OF_IRQ => root,
        _ => {
            noted.store(0);
            0
        }
    }
}
