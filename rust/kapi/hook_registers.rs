// SPDX-License-Identifier: GPL-2.0

//! The registers of a function, as the kernel hands them to hooks.
//!
//! A hook that the kernel calls takes one of the types below as a parameter: what it promises about the pointer is
//! said once, where the kernel's promise is.

use super::c;
use core::marker::PhantomData;
use kernel::{
    ffi::c_uint,
    prelude::*, //
};

/// The words of a function's arguments: those in registers.
pub(crate) const ARGS: usize = 6;
/// Where they are among the registers.
const PLACES: [c_uint; ARGS] = [
    c::RT_REGS_DI,
    c::RT_REGS_SI,
    c::RT_REGS_DX,
    c::RT_REGS_CX,
    c::RT_REGS_R8,
    c::RT_REGS_R9,
];

/// The registers of a function that was called just now.
///
/// # Invariants
///
/// The kernel handed them to a hook at the beginning of the function, which does not return during `'h`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct EntryRegisters<'h>(*mut c_void, PhantomData<&'h c_void>);

impl EntryRegisters<'_> {
    /// Returns the words that the function got in registers. What it does not take is undefined. Any context.
    #[inline(always)]
    pub(crate) fn arguments(self) -> [u64; ARGS] {
        // SAFETY: Each of these is a register of 64 bits.
        PLACES.map(|place| unsafe { self.register(place) })
    }

    /// Returns the stack pointer of the function: where its return address is. Any context.
    #[inline(always)]
    pub(crate) fn stack_pointer(self) -> u64 {
        // SAFETY: That is where the kernel has this one, of 64 bits.
        unsafe { self.register(c::RT_REGS_SP) }
    }

    /// Returns the register at `place`.
    ///
    /// # Safety
    ///
    /// A register of 64 bits is there.
    #[inline(always)]
    unsafe fn register(self, place: c_uint) -> u64 {
        // SAFETY: They are readable (invariant), and the caller promises 64 bits, aligned as a structure of such.
        unsafe {
            self.0
                .wrapping_byte_add(place as usize)
                .cast::<u64>()
                .read()
        }
    }

    /// Returns where the function returns to. Any context.
    pub(crate) fn return_address(self) -> u64 {
        // SAFETY: They are those of a function that was called just now (invariant).
        unsafe { c::rt_return_address(self.0.cast()) as u64 }
    }
}

/// The registers of a function that returns.
///
/// # Invariants
///
/// The kernel handed them to a hook at the end of the function, which does not return during `'h`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct ExitRegisters<'h>(*mut c_void, PhantomData<&'h c_void>);

impl ExitRegisters<'_> {
    /// Returns what the function returns, in a register. Any context.
    pub(crate) fn return_value(self) -> u64 {
        // SAFETY: They are those of a function that returns (invariant).
        unsafe { c::rt_return_value(self.0.cast()) as u64 }
    }

    /// Returns where the function returns to. Any context.
    pub(crate) fn return_address(self) -> u64 {
        // SAFETY: They are those of a function that returns (invariant).
        unsafe { c::rt_returned_to(self.0.cast()) as u64 }
    }
}
