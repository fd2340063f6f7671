// SPDX-License-Identifier: GPL-2.0

//! The words of CPU and task that an event's common fields are made of.

use crate::event::context::{
    Raw,
    TIF_NEED_RESCHED,
    TIF_NEED_RESCHED_LAZY, //
};
use core::{
    arch::asm,
    mem::offset_of, //
};
use kernel::bindings::{
    self,
    task_struct, //
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
pub(crate) fn raw() -> Raw {
    // With bit 63 the other way round, which it is for `Raw`, too, when it looks.
    let (flipped, rflags): (u64, u64);
    let task: *const u8;
    // SAFETY: Per-CPU variables of the kernel, 64 bits each (CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS
    // is always on for x86-64); the flags register is pushed and popped.
    unsafe {
        asm!("mov {r}, qword ptr gs:[rip + {s}]", "btc {r}, 63", r = out(reg) flipped,
            s = sym bindings::__preempt_count, options(nostack, readonly));
        asm!("mov {r}, qword ptr gs:[rip + {s}]", r = out(reg) task,
            s = sym bindings::current_task, options(nostack, preserves_flags, readonly));
        asm!("pushfq", "pop {r}", r = out(reg) rflags, options(preserves_flags));
    }
    // SAFETY: The current task exists while it runs; the fields are inside it, of these types, the two of
    // migration in one word. The flags, of which the first byte has those that count, and those of
    // migration are changed by others; the rest only by the task.
    unsafe {
        Raw {
            preempt_count: flipped ^ (1 << 63),
            rflags,
            thread_flags: task
                .add(offset_of!(task_struct, thread_info.flags))
                .cast::<u8>()
                .read_volatile(),
            migration: task
                .add(offset_of!(task_struct, migration_disabled))
                .cast::<u32>()
                .read_volatile(),
            pid: task.add(offset_of!(task_struct, pid)).cast::<i32>().read(),
        }
    }
}
