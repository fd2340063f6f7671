// SPDX-License-Identifier: GPL-2.0

//! The last step of a reservation: the common fields of the event.

use super::{
    for_c,
    token,
    ways::ReservedRecord,
    EventFile,
    ForC,
    RecordSize, //
};
use crate::{
    buffers::rings::OwnRing,
    event::context::{
        Base,
        ContextWords, //
    },
    kapi::{
        context, //
    }, //
};
use kernel::prelude::*;

/// Fills the common fields of a reservation in `ring`, and returns what C gets of it.
#[inline(always)]
pub(super) fn given(
    file: &EventFile,
    ring: OwnRing<'_>,
    reserved: ReservedRecord<'_, RecordSize>,
) -> ForC {
    let (entry, bits) = reserved.into_inner().into_raw();
    let (entry, token) = (entry.as_ptr().cast(), token(ring, bits));
    let raw = context::raw();
    match raw.usual_word(file.base) {
        Some(word) => {
            // SAFETY: Reserved just now, and a `RecordSize` has room for the common fields.
            unsafe { put_common(entry, word, &raw) };
            for_c(entry, token)
        }
        // SAFETY: Reserved just now, and a `RecordSize` has room for the common fields.
        None => unsafe { given_elsewhere(entry, file.base, token) },
    }
}

/// Fills the common fields.
///
/// # Safety
///
/// `entry` is a reservation of [`COMMON`](super::COMMON) bytes at least.
#[inline(always)]
unsafe fn put_common(entry: *mut c_void, word: u32, raw: &ContextWords) {
    let words = entry.cast::<[u32; 2]>();
    // SAFETY: The caller has reserved these 8 bytes; a payload is aligned to 4.
    unsafe { words.write([word, raw.pid as u32]) };
}

/// As [`given`], in other contexts than that of most tasks.
///
/// # Safety
///
/// `entry` is a reservation of [`COMMON`](super::COMMON) bytes at least.
#[inline(never)]
unsafe extern "C" fn given_elsewhere(entry: *mut c_void, base: Base, token: u64) -> ForC {
    let raw = context::raw();
    // SAFETY: The caller promises the same of `entry`.
    unsafe { put_common(entry, raw.any_word(base), &raw) };
    for_c(entry, token)
}

/// Fills the common fields of a record.
#[inline(always)]
pub(super) fn fill_common(record: &mut [u8], base: Base) {
    let raw = context::raw();
    if let Some(common) = record.first_chunk_mut() {
        let words = u64::from(raw.word(base)) | u64::from(raw.pid as u32).wrapping_shl(32);
        *common = words.to_le_bytes();
    }
}
