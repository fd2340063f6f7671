// SPDX-License-Identifier: GPL-2.0

//! The kernel as the ring sees it.

use super::{
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
use core::ptr::NonNull;
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

    #[inline(always)]
    fn read_barrier() {
        // x86 keeps loads in order; the compiler must, too.
        words::barrier();
    }

    #[inline(always)]
    unsafe fn behind<const BYTES: usize>(base: NonNull<u8>, words: u64) -> NonNull<u8> {
        words::behind::<BYTES>(base, words)
    }
}

// SAFETY: All words are `Sync`; the bytes of sub-buffers are shared by the rules of `ring`, and the
// parts are exchanged only while nobody else uses the ring (contract of `CpuRing::resize`).
unsafe impl Sync for CpuRing<Kernel> {}
// SAFETY: As above, nothing in it belongs to a thread.
unsafe impl Send for CpuRing<Kernel> {}
