// SPDX-License-Identifier: GPL-2.0

//! What differs between the kernels that the module is built for.
//!
//! Only this file, and `rust/shim/compat.h` for C, knows their versions: `scripts/check-deps` looks. All other code
//! is written for the newest, Linux 7.3, and asks here for what an older one has in another form. Kbuild sets
//! `before_linux_7_3` by the version of the kernel's folder.

use kernel::{
    bindings,
    module_param::ModuleParamAccess,
    prelude::*,
    task::Task, //
};

/// Returns the module that this code is, for tables whose files keep it loaded.
#[cfg(not(before_linux_7_3))]
#[inline(always)]
pub(crate) const fn this_module() -> *mut bindings::module {
    kernel::module::this_module::<crate::LocalModule>().as_ptr()
}

/// As above, where it is a variable that `module!` makes.
#[cfg(before_linux_7_3)]
#[inline(always)]
pub(crate) const fn this_module() -> *mut bindings::module {
    crate::THIS_MODULE.as_ptr()
}

/// Returns the value of a parameter of the module.
#[cfg(not(before_linux_7_3))]
pub(crate) fn parameter<T: Copy>(parameter: &ModuleParamAccess<T>) -> T {
    parameter.value()
}

/// As above, where the kernel lends it.
#[cfg(before_linux_7_3)]
pub(crate) fn parameter<T: Copy>(parameter: &ModuleParamAccess<T>) -> T {
    *parameter.value()
}

/// Allocates `len` bytes, all 0. Process context.
///
/// # Errors
///
/// `ENOMEM`.
#[cfg(not(before_linux_7_3))]
pub(crate) fn zeroed_bytes(len: usize) -> Result<KVec<u8>> {
    Ok(KVec::zeroed(len, GFP_KERNEL)?)
}

/// As above, where a vector cannot be allocated with zeros: they are written.
#[cfg(before_linux_7_3)]
pub(crate) fn zeroed_bytes(len: usize) -> Result<KVec<u8>> {
    Ok(KVec::from_elem(0, len, GFP_KERNEL)?)
}

/// Returns `EDEADLK`, which Linux 7.2 has no constant for.
#[cfg(rtrace_test)]
pub(crate) fn deadlock() -> Error {
    error(bindings::EDEADLK)
}

/// Returns `ENAMETOOLONG`, which Linux 7.2 has no constant for.
pub(crate) fn name_too_long() -> Error {
    error(bindings::ENAMETOOLONG)
}

/// Returns `EADDRINUSE`, which Linux 7.2 has no constant for.
pub(crate) fn address_in_use() -> Error {
    error(bindings::EADDRINUSE)
}

/// Returns the error of this number.
fn error(number: u32) -> Error {
    Error::from_errno((number as c_int).wrapping_neg())
}

/// Returns the number of the task's thread group.
#[cfg(not(before_linux_7_3))]
pub(crate) fn thread_group(task: &Task) -> i32 {
    task.tgid()
}

/// As above, where Rust has no function for it.
#[cfg(before_linux_7_3)]
pub(crate) fn thread_group(task: &Task) -> i32 {
    // SAFETY: The task exists as long as the reference, and its thread group stays the one that it was made in.
    unsafe { (*task.as_ptr()).tgid }
}

/// The instruction that does something with the preemption counter, for `asm!`: `load` into `c`, `inc` or `dec`. The
/// counter is the symbol `count`, and has 64 bits.
#[cfg(not(before_linux_7_3))]
macro_rules! preempt_count_asm {
    (load) => {
        "mov {c}, qword ptr gs:[rip + {count}]"
    };
    (inc) => {
        "inc qword ptr gs:[rip + {count}]"
    };
    (dec) => {
        "dec qword ptr gs:[rip + {count}]"
    };
}

/// As above, where the counter has 32 bits, and other variables follow it.
#[cfg(before_linux_7_3)]
macro_rules! preempt_count_asm {
    (load) => {
        "mov {c:e}, dword ptr gs:[rip + {count}]"
    };
    (inc) => {
        "inc dword ptr gs:[rip + {count}]"
    };
    (dec) => {
        "dec dword ptr gs:[rip + {count}]"
    };
}

pub(crate) use preempt_count_asm;

/// Returns a preemption counter that was loaded, with the bits that [`crate::event::context`] tells of.
#[cfg(not(before_linux_7_3))]
#[inline(always)]
pub(crate) const fn documented_count(loaded: u64) -> u64 {
    loaded
}

/// As above, where hard interrupts are counted in bits 16 to 20, NMIs in bits 20 to 24, and bit 31 is set while no
/// reschedule is wanted.
#[cfg(before_linux_7_3)]
#[inline(always)]
pub(crate) const fn documented_count(loaded: u64) -> u64 {
    loaded & 0xffff | (loaded & 0x00ff_0000) << 8 | (loaded & 0x8000_0000) << 32
}

#[cfg(before_linux_7_3)]
const _: () = {
    // An NMI in a hard interrupt in a soft one, in a task that disabled preemption twice; then what it looks like in
    // a task that a reschedule is wanted of.
    assert!(documented_count(0x8011_0102) == 1 << 63 | 0x1100_0102);
    assert!(documented_count(0x0000_0001) == 1);
};
