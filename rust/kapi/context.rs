// SPDX-License-Identifier: GPL-2.0

//! The words of CPU and task that an event's common fields are made of.

use super::{
    compat::{
        documented_count,
        preempt_count_asm, //
    },
    task::COMM, //
};
#[cfg(CONFIG_PREEMPT_RT)]
use crate::event::context::SOFTIRQ_BITS;
use crate::event::context::{
    ContextWords,
    TIF_NEED_RESCHED,
    TIF_NEED_RESCHED_LAZY, //
};
use core::{
    arch::asm,
    mem::{
        align_of,
        offset_of,
        size_of, //
    }, //
};
use kernel::{
    bindings::{
        self,
        task_struct, //
    },
    transmute::FromBytes, //
};

const _: () = assert!(TIF_NEED_RESCHED == bindings::TIF_NEED_RESCHED);
const _: () = assert!(TIF_NEED_RESCHED_LAZY == bindings::TIF_NEED_RESCHED_LAZY);
// Both are read as one word.
const _: () = assert!(offset_of!(task_struct, migration_disabled) % 4 == 0);
const _: () = assert!(
    offset_of!(task_struct, migration_flags) == offset_of!(task_struct, migration_disabled) + 2
);

/// Reads them. Any context.
#[inline(always)]
pub(crate) fn raw() -> ContextWords {
    // With bit 63 the other way round, which it is for `ContextWords`, too, when it looks.
    let (flipped, rflags): (u64, u64);
    let task: *const u8;
    // SAFETY: It reads per-CPU variables of the kernel, the address with 64 bits, the counter with as many as `compat`
    // knows that it has, and pushes and pops the flags register.
    unsafe {
        asm!(preempt_count_asm!(load), "btc {c}, 63",
            "mov {t}, qword ptr gs:[rip + {task}]", "pushfq", "pop {f}", c = out(reg) flipped,
            count = sym bindings::__preempt_count, t = out(reg) task,
            task = sym bindings::current_task, f = lateout(reg) rflags)
    };
    // INVARIANT: The kernel keeps its address there.
    let task = CurrentTask(task);
    ContextWords {
        preempt_count: with_softirqs(documented_count(flipped ^ (1 << 63)), &task),
        rflags,
        // The first byte has the flags that count.
        thread_flags: task.read::<u8, { offset_of!(task_struct, thread_info.flags) }>(),
        migration: task.read::<u32, { offset_of!(task_struct, migration_disabled) }>(),
        pid: task.read::<i32, { offset_of!(task_struct, pid) }>(),
    }
}

/// Returns the preemption counter of this CPU. Any context.
#[inline(always)]
pub(crate) fn preempt_count() -> u64 {
    let count;
    // SAFETY: It reads a per-CPU variable of the kernel, of the width that `compat` knows.
    unsafe {
        asm!(preempt_count_asm!(load), c = out(reg) count,
            count = sym bindings::__preempt_count, options(nostack, preserves_flags, readonly))
    };
    documented_count(count)
}

/// Returns a preemption counter with the bits of soft interrupts that the current task has.
#[cfg(CONFIG_PREEMPT_RT)]
#[inline(always)]
fn with_softirqs(preempt_count: u64, task: &CurrentTask) -> u64 {
    let own = task.read::<u32, { offset_of!(task_struct, softirq_disable_cnt) }>();
    preempt_count & !SOFTIRQ_BITS | u64::from(own) & SOFTIRQ_BITS
}

/// As above, where the counter has them itself.
#[cfg(not(CONFIG_PREEMPT_RT))]
#[inline(always)]
fn with_softirqs(preempt_count: u64, _task: &CurrentTask) -> u64 {
    preempt_count
}

/// Returns how many calls of the current task the kernel follows to their ends, less one, and how many it
/// could not follow because there were too many. Any context.
#[cfg(CONFIG_FUNCTION_GRAPH_TRACER)]
#[inline(always)]
pub(crate) fn followed_calls() -> (i32, u32) {
    let task = current();
    (
        task.read::<i32, { offset_of!(task_struct, curr_ret_depth) }>(),
        task.read::<u32, { offset_of!(task_struct, trace_overrun) }>(),
    )
}

/// As above, where the kernel follows none.
#[cfg(not(CONFIG_FUNCTION_GRAPH_TRACER))]
pub(crate) fn followed_calls() -> (i32, u32) {
    (-1, 0)
}

/// Returns the first of [`followed_calls`]. Any context.
#[cfg(CONFIG_FUNCTION_GRAPH_TRACER)]
#[inline(always)]
pub(crate) fn call_depth() -> i32 {
    current().read::<i32, { offset_of!(task_struct, curr_ret_depth) }>()
}

/// As above, where the kernel follows none.
#[cfg(not(CONFIG_FUNCTION_GRAPH_TRACER))]
pub(crate) fn call_depth() -> i32 {
    -1
}

/// Returns the number of the current task. Any context.
#[inline(always)]
pub(crate) fn pid() -> i32 {
    current().read::<i32, { offset_of!(task_struct, pid) }>()
}

/// Returns the name of the current task, as words; see [`task::name`](super::task::name). Any context.
#[inline(always)]
pub(crate) fn name() -> [u64; COMM / 8] {
    const AT: usize = offset_of!(task_struct, comm);
    let task = current();
    [task.read::<u64, AT>(), task.read::<u64, { AT + 8 }>()]
}

/// Returns the address of the current task.
#[inline(always)]
fn current() -> CurrentTask {
    let task: *const u8;
    // SAFETY: It reads a per-CPU variable of the kernel, 64 bits wide.
    unsafe {
        asm!("mov {t}, qword ptr gs:[rip + {task}]", t = out(reg) task,
            task = sym bindings::current_task, options(nostack, preserves_flags, readonly))
    };
    // INVARIANT: The kernel keeps its address there.
    CurrentTask(task)
}

/// The address of the current task.
///
/// # Invariants
///
/// It is that.
struct CurrentTask(*const u8);

impl CurrentTask {
    /// Returns the `T` at `AT`. Other CPUs may change it meanwhile.
    #[inline(always)]
    fn read<T: FromBytes, const AT: usize>(&self) -> T {
        const {
            assert!(AT % align_of::<T>() == 0);
            assert!(AT + size_of::<T>() <= size_of::<task_struct>());
        };
        // SAFETY: The current task exists while it runs (invariant), the bytes are inside it (asserted), and
        // any bytes are a `T`. Volatile: one load.
        unsafe { self.0.wrapping_add(AT).cast::<T>().read_volatile() }
    }
}
