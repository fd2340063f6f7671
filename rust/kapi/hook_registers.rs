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
/// Where a register is among those that a hook gets.
///
/// # Invariants
///
/// The kernel has one of 64 bits there.
#[derive(Clone, Copy)]
struct RegisterPlace(c_uint);

/// Where those of the arguments are. INVARIANT: They are the kernel's own offsets.
const PLACES: [RegisterPlace; ARGS] = [
    RegisterPlace(c::RT_REGS_DI),
    RegisterPlace(c::RT_REGS_SI),
    RegisterPlace(c::RT_REGS_DX),
    RegisterPlace(c::RT_REGS_CX),
    RegisterPlace(c::RT_REGS_R8),
    RegisterPlace(c::RT_REGS_R9),
];
/// Where the stack pointer is. INVARIANT: Likewise, this is the kernel's offset.
const STACK_POINTER: RegisterPlace = RegisterPlace(c::RT_REGS_SP);

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
        PLACES.map(|place| self.register(place))
    }

    /// Returns the stack pointer of the function: where its return address is. Any context.
    #[inline(always)]
    pub(crate) fn stack_pointer(self) -> u64 {
        self.register(STACK_POINTER)
    }

    /// Returns the register at `place`.
    #[inline(always)]
    fn register(self, place: RegisterPlace) -> u64 {
        let register = self.0.wrapping_byte_add(place.0 as usize).cast::<u64>();
        // SAFETY: They are readable, and 64 bits are there (invariants), aligned as a structure of such.
        unsafe { register.read() }
    }

    /// Returns where the function returns to. Any context.
    pub(crate) fn return_address(self) -> u64 {
        c::rt_return_address(self) as u64
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
        c::rt_return_value(self) as u64
    }

    /// Returns where the function returns to. Any context.
    pub(crate) fn return_address(self) -> u64 {
        c::rt_returned_to(self) as u64
    }
}
