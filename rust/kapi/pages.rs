// SPDX-License-Identifier: GPL-2.0

//! Memory of sub-buffers: whole pages of the node of the CPU that writes them.

use super::c;
use crate::ring::port::Memory;
use core::ptr::NonNull;
use kernel::{
    bindings,
    page::PAGE_SIZE,
    prelude::*, //
};

/// 2^order pages, zeroed when they are allocated.
///
/// # Invariants
///
/// `base` is the address of an allocation of that order, which this value owns.
pub(crate) struct Pages {
    base: NonNull<u8>,
    order: u32,
}

// SAFETY: It is memory that the value owns, of no CPU in particular.
unsafe impl Send for Pages {}
// SAFETY: Whoever uses the bytes says in its own contract why it may.
unsafe impl Sync for Pages {}

impl Pages {
    /// Allocates near `cpu`, a possible one. Never makes the OOM killer look for memory.
    pub(crate) fn new(cpu: u32, order: u32) -> Result<Self> {
        // SAFETY: No pointers; `cpu` is a possible one, whose node the shim looks up.
        let base = unsafe { c::rt_subbuf_alloc(cpu, order) };
        // INVARIANT: Just allocated.
        Ok(Self {
            base: NonNull::new(base.cast()).ok_or(ENOMEM)?,
            order,
        })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: By the invariant.
        unsafe { bindings::free_pages(self.base.as_ptr() as usize, self.order) };
    }
}

// SAFETY: The page allocator gives memory that is aligned to its size, and it was zeroed; the
// address never changes.
unsafe impl Memory for Pages {
    #[inline(always)]
    fn base(&self) -> NonNull<u8> {
        self.base
    }

    fn size(&self) -> usize {
        PAGE_SIZE.wrapping_shl(self.order)
    }
}

/// Pages that could be had without making the system swap.
pub(crate) fn available() -> u64 {
    // SAFETY: No requirements.
    u64::try_from(unsafe { bindings::si_mem_available() }).unwrap_or(0)
}
