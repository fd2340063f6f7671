// SPDX-License-Identifier: GPL-2.0

//! Memory of sub-buffers: whole pages of the node of the CPU that writes them.

use super::{
    c,
    raw_cell::RawCell,
    task, //
};
use crate::ring::{
    port::Memory,
    wire, //
};
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

/// 2^order pages, zeroed when they are allocated; or none, instead of pages that come from
/// elsewhere.
///
/// # Invariants
///
/// Unless `order` is `NONE`, `base` is the address of an allocation of that order, which this value
/// owns; else it is that of [`NO_PAGES`].
pub(crate) struct Pages {
    base: NonNull<u8>,
    order: u32,
}

/// The order of no pages.
const NONE: u32 = u32::MAX;

/// Where the header of a sub-buffer without pages is.
static NO_PAGES: RawCell<[u64; wire::HEADER / 8]> = RawCell::new([0; wire::HEADER / 8]);

// SAFETY: It is memory that the value owns, of no CPU in particular.
unsafe impl Send for Pages {}
// SAFETY: A shared reference gives addresses only; the user of the bytes says in its own contract
// why it may touch them.
unsafe impl Sync for Pages {}

impl Pages {
    /// Returns no pages.
    pub(crate) fn none() -> Self {
        // INVARIANT: The order says so, and the static is there for good.
        Self {
            base: NonNull::from(&NO_PAGES).cast(),
            order: NONE,
        }
    }

    /// Allocates 2^`order` pages near `cpu`, a possible one. Never makes the OOM killer look for
    /// memory. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(cpu: u32, order: u32) -> Result<Self> {
        let base = c::rt_subbuf_alloc(cpu, order);
        // INVARIANT: Just allocated.
        Ok(Self {
            base: NonNull::new(base.cast()).ok_or(ENOMEM)?,
            order,
        })
    }
}

impl Pages {
    /// Returns the order of memory of `size` bytes, a power of two and at least a page.
    pub(crate) fn order_of(size: usize) -> u32 {
        size.trailing_zeros()
            .saturating_sub(PAGE_SIZE.trailing_zeros())
    }

    /// Returns the number of pages.
    pub(super) fn count(&self) -> usize {
        self.size() / PAGE_SIZE
    }

    /// Returns the address of the first byte.
    pub(super) fn start(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Returns the page with that number, or the last one. The value keeps it alive.
    pub(super) fn page(&self, at: usize) -> *mut bindings::page {
        let at = at.min(self.count().saturating_sub(1));
        c::rt_page_of(
            self.start()
                .wrapping_add(at.saturating_mul(PAGE_SIZE))
                .cast(),
        )
    }

    /// Returns the first byte and the number of bytes; the caller owns the pages from now on.
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
        // SAFETY: `base` is an allocation of this order (by the invariant), and its owner goes.
        unsafe { bindings::free_pages(self.base.as_ptr() as usize, self.order) };
        // Hundreds of thousands may go one after the other. Rings are made and dropped in process
        // context, with nothing held that spins.
        c::rt_cond_resched();
    }
}

// SAFETY: The page allocator gives memory that is aligned to its size, and it was zeroed; no pages have
// a header in a static, of words. The address never changes.
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
/// No other code has an address of the bytes, unless it only loads from them.
pub(crate) struct Image(Pages);

impl Image {
    /// Returns one without bytes.
    pub(crate) fn none() -> Self {
        // INVARIANT: There are none.
        Self(Pages::none())
    }

    /// Returns the pages, of `size` bytes: those that it has, or fresh ones near `cpu`, a possible
    /// one. A caller that exchanges them gives others for which the invariant holds.
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

    /// Returns the pages.
    pub(crate) fn into_pages(self) -> Pages {
        self.0
    }

    /// Returns the bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: The allocation has `size()` initialised bytes (`Memory`), or there are none, and
        // no other code stores to them (by the invariant).
        unsafe { slice::from_raw_parts(self.0.base.as_ptr(), self.0.size()) }
    }
}

/// Pages that budgets have been promised and have not used yet.
static PROMISED: Atomic<i64> = Atomic::new(0);

/// Number of allocated pages after which `Budget::pages` checks again for free memory.
const LOOK_EVERY: i64 = 64;

/// Returns how many pages stay for the rest of the system: a sixteenth of the memory, at most 16
/// MiB.
fn reserve() -> i64 {
    i64::try_from(c::rt_totalram_pages() / 16)
        .unwrap_or(i64::MAX)
        .min(4096)
}

/// Returns how many pages can be allocated without making the system swap.
fn available() -> i64 {
    i64::try_from(c::si_mem_available()).unwrap_or(0)
}

/// A permission to allocate a number of pages, given only if there is memory for this one and all
/// others that have not been used up yet: several large requests at once must not wake the OOM
/// killer when each of them alone would not.
pub(crate) struct Budget {
    left: i64,
}

impl Budget {
    /// Returns a permission for `pages` pages. One for none is always given.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(pages: u64) -> Result<Self> {
        let left = i64::try_from(pages).map_err(|_| ENOMEM)?;
        if left == 0 {
            return Ok(Self { left });
        }
        let free = available().saturating_sub(reserve());
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
        task::go_on()?;
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

    /// Takes back the promise of `pages` pages, which have been allocated or are not needed any
    /// more.
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
