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
    /// Where a section of the CPU began and ended; the trace is of that CPU alone then.
    pub(crate) places: Option<[u64; 2]>,
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

    /// Returns whether records of this CPU can be part of the trace.
    pub(crate) fn has_cpu(&self, cpu: u32) -> bool {
        self.places.is_none() || cpu == self.cpu
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
            places: None,
        };
        for (stamp, expected) in [(9, false), (10, true), (14, true), (15, false)] {
            assert_eq!(maximum.has(stamp), expected, "{stamp}");
        }
    }

    #[test]
    fn a_section_is_of_one_cpu() {
        let mut maximum = Maximum {
            from: 10,
            to: 14,
            latency: 4,
            cpu: 1,
            task: MaximumTask::default(),
            places: None,
        };
        assert!(maximum.has_cpu(0) && maximum.has_cpu(1));
        maximum.places = Some([7, 8]);
        assert!(!maximum.has_cpu(0) && maximum.has_cpu(1));
    }
}
