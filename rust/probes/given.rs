// SPDX-License-Identifier: GPL-2.0

//! The last step of a reservation: the common fields of the event.

#![allow(improper_ctypes_definitions, reason = "see `ForC`")]

use super::{
    for_c,
    token,
    EventFile,
    ForC, //
};
use crate::{
    event::context::{
        Base,
        Raw, //
    },
    kapi::{
        context,
        port::{
            Kernel,
            Ring, //
        },
    },
    ring::reservation::Reservation, //
};
use core::mem::size_of;
use kernel::prelude::*;

/// What C gets of a reservation.
#[inline(always)]
pub(super) fn given(file: &EventFile, ring: &Ring, reserved: Reservation<'_, Kernel>) -> ForC {
    let (entry, bits) = reserved.into_raw();
    let (entry, token) = (entry.as_ptr().cast(), token(ring, bits));
    let raw = context::raw();
    match raw.usual_word(file.base) {
        Some(word) => {
            // SAFETY: Reserved just now, and long enough: by the contract of `rtrace_reserve`.
            unsafe { put_common(entry, word, &raw) };
            for_c(entry, token)
        }
        // SAFETY: As above.
        None => unsafe { given_elsewhere(entry, file.base, token) },
    }
}

/// Fills the common fields.
///
/// # Safety
///
/// `entry` is a reservation of [`COMMON`](super::COMMON) bytes at least.
#[inline(always)]
unsafe fn put_common(entry: *mut c_void, word: u32, raw: &Raw) {
    let words = entry.cast::<u32>();
    // SAFETY: By the contract; a payload is aligned to 4 bytes.
    unsafe { words.write(word) };
    // SAFETY: As above.
    unsafe { words.add(1).write(raw.pid as u32) };
}

/// As [`given`], in other contexts than that of most tasks.
///
/// # Safety
///
/// `entry` is a reservation of [`COMMON`](super::COMMON) bytes at least.
#[inline(never)]
unsafe extern "C" fn given_elsewhere(entry: *mut c_void, base: Base, token: u64) -> ForC {
    let raw = context::raw();
    // SAFETY: By the contract.
    unsafe { put_common(entry, raw.any_word(base), &raw) };
    for_c(entry, token)
}

/// Fills the common fields of a record.
#[inline(always)]
pub(super) fn fill_common(record: &mut [u8], base: Base) {
    let raw = context::raw();
    let words = record.chunks_exact_mut(size_of::<u32>());
    for (bytes, word) in words.zip([raw.word(base), raw.pid as u32]) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
}
