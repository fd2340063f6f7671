// SPDX-License-Identifier: GPL-2.0

//! Memory of sub-buffers: whole pages of the node of the CPU that writes them.

use super::c;
use crate::ring::port::Memory;
use core::{
    mem::ManuallyDrop,
    ptr::NonNull,
    slice, //
};
use kernel::{
    bindings,
    page::PAGE_SIZE,
    prelude::*,
    sync::atomic::{
        Atomic,
        Full, //
    }, //
};

/// 2^order pages, zeroed when they are allocated; or none, in place of pages that come from elsewhere.
///
/// # Invariants
///
/// Unless `order` is `NONE`, `base` is the address of an allocation of that order, which this value
/// owns.
pub(crate) struct Pages {
    base: NonNull<u8>,
    order: u32,
}

/// The order of no pages.
const NONE: u32 = u32::MAX;

// SAFETY: It is memory that the value owns, of no CPU in particular.
unsafe impl Send for Pages {}
// SAFETY: Whoever uses the bytes says in its own contract why it may.
unsafe impl Sync for Pages {}

impl Pages {
    /// No pages.
    pub(crate) const fn none() -> Self {
        // INVARIANT: The order says so.
        Self {
            base: NonNull::dangling(),
            order: NONE,
        }
    }

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

impl Pages {
    /// The order of memory of `size` bytes, a power of two and at least a page.
    pub(crate) fn order_of(size: usize) -> u32 {
        size.trailing_zeros()
            .saturating_sub(PAGE_SIZE.trailing_zeros())
    }

    /// How many pages.
    pub(super) fn count(&self) -> usize {
        self.size() / PAGE_SIZE
    }

    /// The first byte.
    pub(super) fn start(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// The page with that number. The value keeps it alive.
    pub(super) fn page(&self, at: usize) -> *mut bindings::page {
        let at = at.min(self.count().saturating_sub(1));
        // SAFETY: Inside the allocation (by the invariant), or its dangling base.
        let byte = unsafe { self.base.add(at.saturating_mul(PAGE_SIZE)) };
        // SAFETY: Arithmetic on the address.
        unsafe { c::rt_page_of(byte.as_ptr().cast()) }
    }

    /// The first byte; the reference to the pages is the caller's.
    pub(super) fn into_raw(self) -> (NonNull<u8>, usize) {
        let this = ManuallyDrop::new(self);
        (this.base, this.size())
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if self.order == NONE {
            return;
        }
        // SAFETY: By the invariant.
        unsafe { bindings::free_pages(self.base.as_ptr() as usize, self.order) };
        // Hundreds of thousands may go one after the other.
        // SAFETY: Rings are made and dropped in process context, with nothing held that spins.
        unsafe { c::rt_cond_resched() };
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
        match self.order {
            NONE => 0,
            order => PAGE_SIZE.wrapping_shl(order),
        }
    }
}

/// Pages that are in no ring: the image of a sub-buffer, or what a ring gets for one.
///
/// # Invariants
///
/// Nobody else has an address of the bytes, unless it is only to load from them.
pub(crate) struct Image(Pages);

impl Image {
    /// One without bytes.
    pub(crate) const fn none() -> Self {
        // INVARIANT: There are none.
        Self(Pages::none())
    }

    /// The pages, of `size` bytes: those that it has, or fresh ones near `cpu`, a possible one. Whoever
    /// exchanges them gives others of which the invariant is true.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; it has the pages it had.
    pub(crate) fn of_size(&mut self, cpu: u32, size: usize) -> Result<&mut Pages> {
        if self.0.size() != size {
            // INVARIANT: Just allocated.
            self.0 = Pages::new(cpu, Pages::order_of(size))?;
        }
        Ok(&mut self.0)
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: So many initialised bytes (`Memory`), to which nobody stores (by the invariant).
        unsafe { slice::from_raw_parts(self.0.base.as_ptr(), self.0.size()) }
    }
}

/// Pages that budgets have been promised and have not used yet.
static PROMISED: Atomic<i64> = Atomic::new(0);

/// Pages after which it is looked again whether others have used what was there.
const LOOK_EVERY: i64 = 64;

/// Pages that stay for everybody else: a sixteenth of the memory, at most 16 MiB.
fn reserve() -> i64 {
    // SAFETY: No requirements.
    let total = unsafe { c::rt_totalram_pages() };
    i64::try_from(total / 16).unwrap_or(i64::MAX).min(4096)
}

/// Pages that could be had without making the system swap.
fn available() -> i64 {
    // SAFETY: No requirements.
    let pages = unsafe { bindings::si_mem_available() };
    i64::try_from(pages).unwrap_or(0)
}

/// Permission to allocate so many pages, given only if there is memory for this one and all others
/// that have not been used up yet: several large requests at once must not wake the OOM killer when
/// each of them alone would not.
pub(crate) struct Budget {
    left: i64,
}

impl Budget {
    /// A permission for `pages` pages.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(pages: u64) -> Result<Self> {
        let free = available().saturating_sub(reserve());
        let left = i64::try_from(pages).map_err(|_| ENOMEM)?;
        // A sum of numbers below this does not overflow.
        if left > free {
            return Err(ENOMEM);
        }
        let budget = Self { left };
        let promised = PROMISED.fetch_add(left, Full).saturating_add(left);
        // Dropped, it takes the promise back.
        match promised <= free {
            true => Ok(budget),
            false => Err(ENOMEM),
        }
    }

    /// Allocates 2^order pages near `cpu`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, also when others have used what was there. `EINTR` when the task is to be killed.
    pub(crate) fn pages(&mut self, cpu: u32, order: u32) -> Result<Pages> {
        // SAFETY: No requirements.
        if unsafe { c::rt_fatal_signal_pending() } {
            return Err(EINTR);
        }
        // SAFETY: Process context; nothing is held that spins.
        unsafe { c::rt_cond_resched() };
        let pages = Pages::new(cpu, order)?;
        let before = self.left;
        self.used(1i64.wrapping_shl(order));
        // Not for every page: the answer takes as long as to allocate one.
        let look = before / LOOK_EVERY != self.left / LOOK_EVERY;
        if look && available() < reserve() / 2 {
            return Err(ENOMEM);
        }
        Ok(pages)
    }

    /// So many pages have been allocated, or are not wanted any more.
    fn used(&mut self, pages: i64) {
        let pages = pages.min(self.left);
        self.left = self.left.saturating_sub(pages);
        PROMISED.fetch_sub(pages, Full);
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        self.used(self.left);
    }
}
