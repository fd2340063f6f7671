// SPDX-License-Identifier: GPL-2.0

//! What is known of a task but not from the `kernel` crate: its name, what the scheduler knows of it, and the files
//! of the current one.

use super::c;
use crate::latency::{
    maximum::MaximumTask,
    wakeup::TaskWords, //
};
use core::mem::offset_of;
use kernel::{
    bindings::{
        self,
        task_struct, //
    },
    prelude::*,
    task::Task, //
};

/// Lets others run that have to, between two steps of something long. Process context; nothing is held that spins.
///
/// # Errors
///
/// `EINTR` when the current task is to be killed.
pub(crate) fn go_on() -> Result {
    if c::rt_fatal_signal_pending() {
        return Err(EINTR);
    }
    c::rt_cond_resched();
    Ok(())
}

/// Returns whether the current task may observe the system: it has `CAP_PERFMON` or `CAP_SYS_ADMIN`.
pub(crate) fn may_observe() -> bool {
    c::rt_may_observe()
}

/// Bytes of a name.
pub(crate) const COMM: usize = 16;

const _: () = assert!(COMM == bindings::TASK_COMM_LEN as usize);

/// Returns the name of `task`, as words. While another task changes it, it is a mix of both names, as in
/// ftrace. Any context.
#[inline(always)]
pub(crate) fn name(task: &Task) -> [u64; COMM / 8] {
    let name = task
        .as_ptr()
        .wrapping_byte_add(offset_of!(task_struct, comm))
        .cast::<[u64; COMM / 8]>();
    // SAFETY: The name is inside the task, which exists while it is borrowed, and has as many bytes.
    unsafe { name.read_unaligned() }
}

/// Returns the address of what `field` names, which is at that offset of `task`: this says what type it has.
#[inline(always)]
fn place_of<T: Copy>(task: &Task, offset: usize, _field: fn(&task_struct) -> T) -> *const T {
    task.as_ptr().wrapping_byte_add(offset).cast()
}

/// Loads a field of a [`Task`], which is a number or a pointer.
macro_rules! load {
    ($task:expr, $field:ident) => {{
        let place = place_of($task, offset_of!(task_struct, $field), |task| task.$field);
        // SAFETY: The field of that name and type is inside the task, which exists while it is borrowed. Volatile: another
        // CPU may change it.
        unsafe { place.read_volatile() }
    }};
}

/// Returns the priority by which the scheduler chooses `task`: the smaller, the more urgent. Any context.
#[inline(always)]
pub(crate) fn priority(task: &Task) -> i32 {
    load!(task, prio)
}

/// Returns a number that tells `task` from all others that there are at the time. Any context.
#[inline(always)]
pub(crate) fn identity(task: &Task) -> u64 {
    task.as_ptr().addr() as u64
}

/// Returns the CPU that `task` runs on, or is to run on. Any context.
pub(crate) fn cpu(task: &Task) -> u32 {
    c::rt_task_cpu(task)
}

/// Returns what a record says of `task`. Any context.
pub(crate) fn words(task: &Task) -> TaskWords {
    TaskWords {
        pid: task.pid() as u32,
        priority: priority(task),
        state: c::rt_task_state(task),
    }
}

/// Nice values are numbers from here on in the static priority.
const NICE_0: i32 = 120;

/// Returns what the header of a trace says of `task`. Any context but NMI.
pub(crate) fn of_maximum(task: &Task) -> MaximumTask {
    MaximumTask {
        name: name(task),
        pid: task.pid(),
        user: c::rt_task_user(task),
        nice: load!(task, static_prio).wrapping_sub(NICE_0),
        policy: load!(task, policy),
        rt_priority: load!(task, rt_priority),
    }
}

/// Returns the number of `user`, one of the kernel's, for the current task.
pub(crate) fn user_here(user: u32) -> u32 {
    c::rt_user_here(user)
}

/// Returns the address of the name of the current task. Any context.
pub(crate) fn comm_address() -> u64 {
    let task = kernel::current!().as_ptr();
    let name = task.wrapping_byte_add(offset_of!(task_struct, comm));
    name.addr() as u64
}

/// Returns the bytes of a name.
pub(crate) fn bytes_of(name: [u64; COMM / 8]) -> [u8; COMM] {
    let mut bytes = [0; COMM];
    for (to, word) in bytes.chunks_exact_mut(8).zip(name) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

/// Returns the file table of the calling program, as a number to be compared with the owner that
/// `flush` gets. All threads of a program have the same one.
pub(crate) fn file_table() -> usize {
    load!(kernel::current!(), files).addr()
}
