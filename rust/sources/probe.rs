// SPDX-License-Identifier: GPL-2.0

//! The steps of a probe that is written in Rust: they are those of the probes in C
//! (`shim/events.h`).
//!
//! Called by the probes of raw events and by the source of the KUnit tests. Any context, NMI
//! included; preemption is off from the reservation to the commit, and `rtrace_reserve` and
//! `rtrace_commit` do the rest.

use crate::{
    kapi::percpu,
    probes::{
        parts,
        rtrace_commit,
        rtrace_reserve, //
    },
    ring::packed::PackedSize, //
};
use core::{
    ptr::NonNull,
    slice, //
};
use kernel::prelude::*;

/// Records one event of `size` bytes, of which `fill` writes those after the common fields. Any
/// context.
///
/// # Safety
///
/// - `cookie` is that of an attached probe, or of one that was detached and that
///   `events::synchronize` still waits for.
/// - `size` is that of the common fields at least.
#[inline(always)]
pub(super) unsafe fn record(cookie: *mut c_void, size: usize, fill: impl FnOnce(&mut [u8])) {
    // SAFETY: The caller promises the cookie and the size. It is committed below.
    if let Some(mut reserved) = unsafe { RecordInRing::reserve(cookie, &RecordBytes::new(size)) } {
        fill(reserved.bytes());
        reserved.commit();
    }
}

/// The bytes of a record as a number and as a writer wants it.
#[derive(Clone, Copy)]
pub(super) struct RecordBytes {
    len: usize,
    packed: PackedSize,
}

impl RecordBytes {
    /// Returns that of records of `len` bytes.
    #[inline(always)]
    pub(super) fn new(len: usize) -> Self {
        Self {
            len,
            packed: PackedSize::new(len),
        }
    }
}

/// A record that is in a ring and not committed yet, for [`RecordInRing::commit`] to end.
///
/// # Invariants
///
/// The reservation has as many bytes as `size` says.
#[must_use = "the ring is not left"]
pub(super) struct RecordInRing<'s> {
    cookie: *mut c_void,
    entry: NonNull<c_void>,
    token: u64,
    /// Looked at after the reservation, so that it need not be kept for the time of that.
    size: &'s RecordBytes,
}

impl<'s> RecordInRing<'s> {
    /// Reserves one of this size; nothing when it is not recorded. Any context.
    ///
    /// # Safety
    ///
    /// As for [`record`]. What is returned is committed, in the same task or interrupt.
    #[inline(always)]
    pub(super) unsafe fn reserve(cookie: *mut c_void, size: &'s RecordBytes) -> Option<Self> {
        // Enabled again in the same task or interrupt: below, or by the commit.
        percpu::disable_preemption();
        // SAFETY: The caller promises the cookie and that the size has room for the common fields;
        // preemption is off until the commit, which follows unless the entry is null.
        let reserved = unsafe { rtrace_reserve(cookie, size.packed.word()) };
        let Some((entry, token)) = parts(reserved) else {
            // SAFETY: Disabled above, in the same task or interrupt, and there is no reservation that
            // needs it.
            unsafe { percpu::enable_preemption() };
            return None;
        };
        // INVARIANT: It was reserved of this size.
        Some(Self {
            cookie,
            entry,
            token,
            size,
        })
    }

    /// Returns its bytes, of which those of the common fields are filled.
    #[inline(always)]
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: The reservation is of so many bytes (invariant), and no other code's until the commit.
        unsafe { slice::from_raw_parts_mut(self.entry.cast::<u8>().as_ptr(), self.size.len) }
    }

    /// Commits it.
    #[inline(always)]
    pub(super) fn commit(self) {
        // SAFETY: The cookie is that of the reservation, which returned the entry and the token;
        // preemption was disabled there.
        unsafe { rtrace_commit(self.cookie, self.entry.as_ptr(), self.token) };
    }
}
