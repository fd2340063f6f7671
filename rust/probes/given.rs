// SPDX-License-Identifier: GPL-2.0

//! The last step of a reservation: the common fields of the event.

use super::{
    for_c,
    token,
    ways::ReservedRecord,
    CReservation,
    EventFile,
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
use core::ptr::NonNull;

/// Fills the common fields of a reservation in `ring`, and returns what C gets of it, with these bits in its token.
#[inline(always)]
pub(super) fn given<const BITS: u64>(
    file: &EventFile,
    ring: OwnRing<'_>,
    reserved: ReservedRecord<'_, RecordSize>,
) -> CReservation {
    let (entry, bits) = reserved.into_inner().into_raw();
    // INVARIANT: It was reserved just now, and a `RecordSize` has room for them.
    let (common, token) = (CommonFields(entry), token(ring, bits | BITS));
    let raw = context::raw();
    match raw.usual_word(file.base) {
        Some(word) => common.filled(word, &raw, token),
        None => given_elsewhere(common, file.base, token),
    }
}

/// The place of the common fields in a reservation.
///
/// # Invariants
///
/// It is the payload of a reservation that is not over, of [`COMMON`](super::COMMON) bytes at least.
#[repr(transparent)]
struct CommonFields(NonNull<u8>);

impl CommonFields {
    /// Fills them, and returns what C gets of the reservation.
    #[inline(always)]
    fn filled(self, word: u32, raw: &ContextWords, token: u64) -> CReservation {
        // SAFETY: These 8 bytes are reserved (invariant), and a payload is aligned to 4.
        unsafe { self.0.cast().write([word, raw.pid as u32]) };
        for_c(self.0.as_ptr().cast(), token)
    }
}

/// As [`given`], in other contexts than that of most tasks.
#[inline(never)]
extern "C" fn given_elsewhere(common: CommonFields, base: Base, token: u64) -> CReservation {
    let raw = context::raw();
    common.filled(raw.any_word(base), &raw, token)
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
