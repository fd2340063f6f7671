// SPDX-License-Identifier: GPL-2.0

//! Counts that each CPU adds to for itself, by one instruction without LOCK; their readers add them up.

use super::{
    cpus,
    percpu::PerCpu,
    words::LocalU64, //
};
use crate::ring::port::LocalWord;
#[cfg(CONFIG_SMP)]
use core::arch::asm;
use core::array;
use kernel::prelude::*;

/// `N` counts of each CPU.
pub(crate) struct PerCpuCounts<const N: usize>(PerCpu<[LocalU64; N]>);

impl<const N: usize> PerCpuCounts<N> {
    /// Returns counts that are all 0. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        PerCpu::new(|_| Ok(array::from_fn(|_| LocalWord::new(0)))).map(Self)
    }

    /// Adds one to the count `at` of the CPU that runs this. Any context: no interrupt splits it, and a task need not be
    /// kept on its CPU.
    #[cfg(CONFIG_SMP)]
    #[inline(always)]
    pub(crate) fn count(&self, at: usize) {
        if at >= N {
            return;
        }
        let place = self.0.base().cast::<u64>().wrapping_add(at);
        // SAFETY: The part of each CPU has `N` words there, as long as `self` is borrowed, of which this is one: the
        // segment has the offset of this CPU's part. No other CPU changes them.
        unsafe { asm!("inc qword ptr gs:[{p}]", p = in(reg) place, options(nostack)) };
    }

    /// As above, in a kernel for one CPU.
    #[cfg(not(CONFIG_SMP))]
    pub(crate) fn count(&self, at: usize) {
        super::percpu::CpuPin::with(|pin| {
            if let Some(count) = self.0.this(pin).get(at) {
                count.add(1);
            }
        });
    }

    /// Returns the sum of the counts `at` of all CPUs. What is counted meanwhile is in it or not.
    pub(crate) fn sum(&self, at: usize) -> u64 {
        cpus::possible()
            .filter_map(|cpu| self.0.of(cpu)?.get(at))
            .fold(0, |sum: u64, count| sum.wrapping_add(count.get()))
    }
}

#[kunit_tests(rtrace_kapi_cpu_counts)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_counted_for_itself() -> Result {
        let counts = PerCpuCounts::<3>::new()?;
        for (at, times) in [(0, 5), (2, 7), (3, 1)] {
            (0..times).for_each(|_| counts.count(at));
        }
        let sums: [u64; 4] = array::from_fn(|at| counts.sum(at));
        assert_eq!(sums, [5, 0, 7, 0]);
        Ok(())
    }
}
