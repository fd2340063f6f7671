// SPDX-License-Identifier: GPL-2.0

//! Pages of ours in the memory of a program, and the page that tells the program about them. Called
//! by `buffers::mapping` and the `mmap` of `fs::raw_calls`.
//!
//! Each page that is shown has a reference for as long as it is shown, so no program can see memory
//! that has a new owner, whatever becomes of the old one.

use super::{
    c,
    pages::Pages, //
};
use core::mem;
use kernel::{
    bindings,
    error::to_result,
    ffi::c_ulong,
    mm::virt::{
        flags,
        VmaNew, //
    },
    page::PAGE_SIZE,
    prelude::*, //
};

/// Pages that are shown at once.
const BATCH: usize = 32;

/// The part of a program's memory that is about to show a file.
pub(crate) struct Area<'a> {
    vma: &'a VmaNew,
    /// Where the next page goes.
    next: usize,
}

impl Area<'_> {
    /// Wraps the area that the VFS passes to `mmap`.
    ///
    /// # Safety
    ///
    /// - `vma` is valid and being set up for the lifetime of the result, with the lock of the
    ///   program's
    ///   memory held for writing.
    /// - It shows nothing yet.
    pub(crate) unsafe fn new(vma: *mut bindings::vm_area_struct) -> Self {
        // SAFETY: The caller says that it is valid and being set up, with the lock held for
        // writing.
        let vma = unsafe { VmaNew::from_raw(vma) };
        Self {
            vma,
            next: vma.start(),
        }
    }

    /// Returns the number of the file's page that it begins with.
    pub(crate) fn offset(&self) -> usize {
        // SAFETY: The reference is valid, and only its owner changes an area that is being set up.
        unsafe { (*self.vma.as_ptr()).vm_pgoff }
    }

    /// Returns the number of pages that it still has room for.
    pub(crate) fn room(&self) -> usize {
        self.vma.end().saturating_sub(self.next) / PAGE_SIZE
    }

    /// Makes the area read-only, now and later, not inherited by children, unable to grow and
    /// absent from core dumps.
    ///
    /// # Errors
    ///
    /// `EPERM` for one that is writable, executable or private.
    pub(crate) fn restrict(&self) -> Result {
        let shared = self.vma.flags() & flags::MAYSHARE != 0;
        if !shared || self.vma.writable() || self.vma.executable() {
            return Err(EPERM);
        }
        self.vma.try_clear_maywrite()?;
        self.vma.try_clear_mayexec()?;
        self.vma.set_dontcopy();
        self.vma.set_dontexpand();
        self.vma.set_dontdump();
        self.vma.set_mixedmap();
        Ok(())
    }

    /// Sets what becomes of it when it is copied, split or unmapped.
    pub(crate) fn operate_by(&self, operations: &'static bindings::vm_operations_struct) {
        // SAFETY: The area is valid, and only its owner uses one that is being set up (`new`).
        unsafe { (*self.vma.as_ptr()).vm_ops = operations };
    }

    /// Shows `pages` next, as many of them as there is room for.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; the area may show a part of them.
    pub(crate) fn show(&mut self, pages: &Pages) -> Result {
        let end = pages.count().min(self.room());
        let mut at = 0usize;
        while at < end {
            let mut batch = [core::ptr::null_mut(); BATCH];
            let count = BATCH.min(end.saturating_sub(at));
            for (page, entry) in (at..end).zip(&mut batch) {
                *entry = pages.page(page);
            }
            let mut left = count as c_ulong;
            // SAFETY:
            // - The area is being set up, with the lock held for writing (`new`), and nothing is
            //   shown at `next` yet; `count` pages from there are in it.
            // - The first `count` entries are pages, which their owner keeps alive during the call.
            to_result(unsafe {
                bindings::vm_insert_pages(
                    self.vma.as_ptr(),
                    self.next,
                    batch.as_mut_ptr(),
                    &mut left,
                )
            })?;
            self.next = self.next.saturating_add(count.saturating_mul(PAGE_SIZE));
            at = at.saturating_add(count);
        }
        Ok(())
    }
}

/// The numbers that a program reads about a buffer that it has mapped.
pub(crate) struct MetaSnapshot {
    /// Bytes of a sub-buffer, and of the page that tells this.
    pub(crate) size: usize,
    /// Sub-buffers.
    pub(crate) count: u32,
    /// The name of the reader's sub-buffer.
    pub(crate) reader: u32,
    /// Bytes of it that were consumed.
    pub(crate) consumed: u32,
    /// Events lost before it.
    pub(crate) lost: u64,
    /// Events written.
    pub(crate) entries: u64,
    /// Events overwritten unread.
    pub(crate) overrun: u64,
    /// Events consumed.
    pub(crate) read: u64,
    /// Sub-buffers overwritten unread.
    pub(crate) subbufs_lost: u64,
    /// Sub-buffers that writers went on to.
    pub(crate) subbufs_used: u64,
}

/// The pages before the sub-buffers in a mapping, as large as one of them.
///
/// # Invariants
///
/// No other code in the kernel reads or writes them.
pub(crate) struct MetaPage(Pages);

const _: () = assert!(size_of::<c::trace_buffer_meta>() <= PAGE_SIZE);
/// The number of words that `trace_buffer_meta` is made of.
const META_WORDS: usize = size_of::<c::trace_buffer_meta>() / size_of::<u64>();

impl MetaPage {
    /// Allocates one that tells nothing yet, near `cpu`, a possible one.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(cpu: u32, order: u32) -> Result<Self> {
        // INVARIANT: They are new.
        Ok(Self(Pages::new(cpu, order)?))
    }

    /// Returns the pages.
    pub(crate) fn pages(&self) -> &Pages {
        &self.0
    }

    /// Publishes `told` to all programs that have the page mapped, which may read meanwhile: each
    /// pair of numbers of 32 bits and each number of 64 bits is the old or the new one.
    pub(crate) fn tell(&mut self, told: &MetaSnapshot) {
        let size = told.size as u32;
        let meta = c::trace_buffer_meta {
            meta_page_size: size,
            meta_struct_len: size_of::<c::trace_buffer_meta>() as u32,
            subbuf_size: size,
            nr_subbufs: told.count,
            reader: c::trace_buffer_meta__bindgen_ty_1 {
                lost_events: told.lost,
                id: told.reader,
                read: told.consumed,
            },
            flags: 0,
            entries: told.entries,
            overrun: told.overrun,
            read: told.read,
            pages_lost: told.subbufs_lost,
            pages_touched: told.subbufs_used,
        };
        // SAFETY: It has the size of the array (asserted by the transmutation), and is made of
        // numbers without a gap, so all its bytes are initialised.
        let words: [u64; META_WORDS] = unsafe { mem::transmute(meta) };
        let to = self.0.start().cast::<u64>();
        for (at, word) in words.into_iter().enumerate() {
            // SAFETY: The page has room for all words (asserted above), is aligned, and is ours to
            // write to (by the invariant). Volatile: a program may read them, one store each.
            unsafe { to.wrapping_add(at).write_volatile(word) };
        }
    }
}
