// SPDX-License-Identifier: GPL-2.0

//! The memory of a program, in which other tasks set bits.
//!
//! What holds one keeps the kernel's structure and not the memory, which goes when the program ends or runs
//! another one. Process context.

use super::c;
use core::ptr;
use kernel::{
    error::to_result,
    mm::Mm,
    prelude::*,
    sync::aref::ARef,
    task::Task, //
};

/// The memory of a program.
#[derive(Clone)]
pub(crate) struct ProgramMemory(ARef<Mm>);

impl ProgramMemory {
    /// Returns that of the current task; `None` for one that has none of its own.
    pub(crate) fn of_current() -> Option<Self> {
        let current = kernel::current!();
        // SAFETY: Only the current task changes its memory for another one, and it is here.
        unsafe { Self::of(current) }
    }

    /// Returns that of `task`; `None` for one that has none of its own.
    ///
    /// # Safety
    ///
    /// The task is the current one, or has not run yet and cannot run during the call.
    pub(crate) unsafe fn of(task: &Task) -> Option<Self> {
        // SAFETY: The task exists while it is borrowed, and the caller promises that it does not change the field.
        let mm = unsafe { (*task.as_ptr()).mm };
        if mm.is_null() {
            return None;
        }
        // SAFETY: A task keeps its memory as long as it has it, which is to the end of the call by the caller's
        // promise; the result has a reference of its own.
        Some(Self(unsafe { Mm::from_raw(mm) }.into()))
    }

    /// Returns whether both are the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        ptr::eq(self.0.as_raw(), other.0.as_raw())
    }

    /// Returns whether no task has it any more.
    pub(crate) fn is_gone(&self) -> bool {
        c::rt_program_is_gone(&self.0)
    }

    /// Returns a bit of the 8 bytes at `address`, a multiple of 8, without a wait.
    ///
    /// # Errors
    ///
    /// `EAGAIN` when that would take one, `ESRCH` when the memory is gone.
    pub(crate) fn bit(&self, address: u64, bit: u8) -> Result<bool> {
        let (address, bit) = (address as usize, c_uint::from(bit & 63));
        match c::rt_program_bit(&self.0, address, bit) {
            error if error < 0 => Err(Error::from_errno(error)),
            bit => Ok(bit != 0),
        }
    }

    /// Sets such a bit, without a wait.
    ///
    /// # Errors
    ///
    /// As [`Self::bit`], also where the memory may not be written.
    pub(crate) fn set_bit(&self, address: u64, bit: u8, on: bool) -> Result {
        let (address, bit) = (address as usize, c_uint::from(bit & 63));
        to_result(c::rt_program_set_bit(&self.0, address, bit, on))
    }

    /// Has the memory at `address` be there, to be written, now or later. Sleeps only where a file system has it wait, for
    /// as long as that likes: one that is frozen, or that reads the page itself.
    ///
    /// # Errors
    ///
    /// `EAGAIN` when it is not there yet, and what the kernel says when that cannot be.
    pub(crate) fn ask_for(&self, address: u64) -> Result {
        to_result(c::rt_program_ask_for(&self.0, address as usize))
    }

    /// Has the memory at `address` be there, to be written. Sleeps, as long as that takes.
    ///
    /// # Errors
    ///
    /// What the kernel says when that cannot be.
    pub(crate) fn fault_in(&self, address: u64) -> Result {
        to_result(c::rt_program_fault_in(&self.0, address as usize))
    }
}
