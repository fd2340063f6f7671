// SPDX-License-Identifier: GPL-2.0

//! The kernel as the ring sees it.

use super::{
    clock::GateClock,
    pages::Pages,
    words::{
        self,
        LocalU64,
        SharedU64, //
    }, //
};
use crate::ring::{
    cpu::CpuRing,
    port::Port, //
};
use core::{
    arch::asm,
    num::NonZero,
    ptr::NonNull, //
};
use kernel::prelude::*;

/// The platform of the rings in this module.
pub(crate) struct Kernel;

/// The ring of one CPU.
pub(crate) type Ring = CpuRing<Kernel>;

// SAFETY: A `KVVec` derefs to the one slice that it holds.
unsafe impl Port for Kernel {
    type Local = LocalU64;
    type Shared = SharedU64;
    type Memory = Pages;
    type Table<T> = KVVec<T>;
    type Left = GateClock;

    #[inline(always)]
    fn read_barrier() {
        // x86 keeps loads in order; the compiler must, too.
        words::barrier();
    }

    #[inline(always)]
    unsafe fn behind<const BYTES: usize>(base: NonNull<u8>, words: u64) -> NonNull<u8> {
        base.map_addr(|base| {
            let at: usize;
            // SAFETY: It makes a number and touches no memory.
            unsafe {
                asm!("lea {at}, [{base} + {words}*4 + {BYTES}]", at = lateout(reg) at,
                    base = in(reg) base.get(), words = in(reg) words, BYTES = const BYTES,
                    options(nomem, nostack, preserves_flags))
            };
            // SAFETY: The caller promises an address in the memory of `base` or at its end, which is not 0.
            unsafe { NonZero::new_unchecked(at) }
        })
    }
}

// SAFETY: All words are `Sync`; the bytes of sub-buffers are shared by the rules of `ring`, and the
// parts are exchanged only while the exchanger alone uses the ring (invariant of `IdleRing`).
unsafe impl Sync for CpuRing<Kernel> {}
