// SPDX-License-Identifier: GPL-2.0

//! The steps of a probe that is written in Rust: they are those of the probes in C
//! (`shim/events.h`).
//!
//! Called by the probes of raw events and by the source of the KUnit tests. Any context, NMI
//! included; preemption is off from the reservation to the commit, and `rtrace_reserve` and
//! `rtrace_commit` do the rest.

use crate::{
    kapi::{
        percpu::CpuPin,
        port::Ring, //
    },
    probes::{
        parts,
        rtrace_commit,
        rtrace_reserve,
        EventFile,
        Exit,
        RecordSize, //
    },
};
use core::{
    mem::align_of,
    ptr::NonNull,
    slice, //
};
use kernel::prelude::*;

/// The bits of a token beside the place of a ring: with one of them the commit asks first.
const ASKING: u64 = 15;
const _: () = assert!(align_of::<Ring>() as u64 > ASKING);

/// Records one event of that size for a file, of which `fill` writes those after the common fields. Any
/// context.
#[inline(always)]
pub(super) fn record(file: &EventFile, size: &RecordBytes, fill: impl FnOnce(&mut [u8])) {
    // SAFETY: It is committed below, after what `fill` may have reserved.
    if let Some(mut reserved) = unsafe { RecordInRing::reserve(file, size) } {
        fill(reserved.bytes());
        reserved.commit();
    }
}

/// The bytes of a record as a number and as a writer wants it.
///
/// # Invariants
///
/// Both are the same number.
#[derive(Clone, Copy)]
pub(super) struct RecordBytes {
    len: usize,
    size: RecordSize,
}

impl RecordBytes {
    /// Returns that of records of `len` bytes, or of the common fields if these are more.
    #[inline(always)]
    pub(super) fn new(len: usize) -> Self {
        let (len, size) = RecordSize::with_len(len);
        // INVARIANT: It is that of as many bytes.
        Self { len, size }
    }

    /// Returns the number.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

impl From<usize> for RecordBytes {
    #[inline(always)]
    fn from(len: usize) -> Self {
        Self::new(len)
    }
}

/// A record that is in a ring and not committed yet, for [`RecordInRing::commit`] to end.
///
/// # Invariants
///
/// The reservation is one for `file` and has as many bytes as `size` says.
#[must_use = "the ring is not left"]
pub(super) struct RecordInRing<'s> {
    file: &'s EventFile,
    entry: NonNull<c_void>,
    token: u64,
    /// Looked at after the reservation, so that it need not be kept for the time of that.
    size: &'s RecordBytes,
    exit: Exit,
}

impl<'s> RecordInRing<'s> {
    /// Reserves one of this size; nothing when it is not recorded. Any context.
    ///
    /// # Safety
    ///
    /// What is returned is committed, in the same task or interrupt, and after what was reserved later.
    #[inline(always)]
    pub(super) unsafe fn reserve(file: &'s EventFile, size: &'s RecordBytes) -> Option<Self> {
        // SAFETY: The caller promises the same.
        match unsafe { Self::reserve_until(file, size, Exit::begin()) } {
            Ok(reserved) => Some(reserved),
            Err(exit) => {
                exit.end();
                None
            }
        }
    }

    /// The same; the commit ends `exit`. Gives that back when it is not recorded.
    ///
    /// # Safety
    ///
    /// As for [`Self::reserve`].
    #[inline(always)]
    pub(super) unsafe fn reserve_until(
        file: &'s EventFile,
        size: &'s RecordBytes,
        exit: Exit,
    ) -> Result<Self, Exit> {
        // SAFETY: The file is there; preemption is off until the commit, which follows unless the entry is null, as the
        // caller promises.
        let reserved = unsafe { rtrace_reserve(file, size.size, exit.pin()) };
        let Some((entry, token)) = parts(reserved) else {
            return Err(exit);
        };
        // INVARIANT: It was reserved of this size.
        Ok(Self {
            file,
            entry,
            token,
            size,
            exit,
        })
    }

    /// Returns whether it is wanted in any case, so that the commit asks no trigger.
    #[inline(always)]
    pub(super) fn is_final(&self) -> bool {
        self.token & ASKING == 0
    }

    /// Returns the promise to stay on this CPU until the commit.
    #[inline(always)]
    pub(super) fn pin(&self) -> &CpuPin {
        self.exit.pin().pin()
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
        // SAFETY: The file is that of the reservation, which returned the entry and the token; what was reserved later is
        // over, as `reserve` was promised.
        unsafe { rtrace_commit(self.file, self.entry.as_ptr(), self.token, self.exit) };
    }
}
