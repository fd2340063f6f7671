// SPDX-License-Identifier: GPL-2.0

//! The longest latency that a tracer has seen: what its trace is made of, and what the header tells of the task.

/// A latency, and the task that had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Maximum {
    /// When it began at the earliest and had ended, by the clock of the instance: the records between are its trace.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// How long it was, in the unit of the clock.
    pub(crate) latency: u64,
    /// The CPU on which it began.
    pub(crate) cpu: u32,
    pub(crate) task: MaximumTask,
}

/// The task that had the longest latency, as it was then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MaximumTask {
    /// Its name, as words.
    pub(crate) name: [u64; 2],
    pub(crate) pid: i32,
    /// Its user, as the kernel numbers users.
    pub(crate) user: u32,
    pub(crate) nice: i32,
    pub(crate) policy: u32,
    pub(crate) rt_priority: u32,
}

impl Maximum {
    /// Returns whether a record of this time is part of the trace.
    pub(crate) fn has(&self, stamp: u64) -> bool {
        stamp >= self.from && stamp <= self.to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_part_of_it() {
        let maximum = Maximum {
            from: 10,
            to: 14,
            latency: 4,
            cpu: 0,
            task: MaximumTask::default(),
        };
        for (stamp, expected) in [(9, false), (10, true), (14, true), (15, false)] {
            assert_eq!(maximum.has(stamp), expected, "{stamp}");
        }
    }
}
