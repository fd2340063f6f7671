// SPDX-License-Identifier: GPL-2.0

//! A place beside the ring where a probe fills a record that may not be wanted.
//!
//! An event with a filter is filled here and asked about; only what the filter lets through is
//! reserved in the ring and copied. So what is filtered out costs no reservation, no time and no
//! discard. There is one place for each CPU: who interrupts its user fills in the ring, as if there
//! were no such place.

use super::{
    late::Late,
    percpu::CpuPin,
    words::LocalU64, //
};
use crate::ring::port::LocalWord;
use core::cell::UnsafeCell;
use kernel::{
    bindings,
    prelude::*, //
};

/// What one CPU has.
struct Place {
    /// Bytes of the record that is being filled; 0 when there is none.
    used: LocalU64,
    bytes: UnsafeCell<KVVec<u64>>,
}

// SAFETY: Only the CPU itself uses `bytes`, and on it who found `used` 0.
unsafe impl Sync for Place {}
// SAFETY: Nothing in it belongs to a thread.
unsafe impl Send for Place {}

static PLACES: Late<Place> = Late::new();

/// The longest record that a place takes: a page, more than a ring takes.
const MOST: usize = bindings::PAGE_SIZE;

/// Gets the memory. Process context.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn prepare() -> Result {
    PLACES.prepare(|_| {
        Ok(Place {
            used: LocalWord::new(0),
            bytes: UnsafeCell::new(KVVec::from_elem(0, MOST.div_ceil(8), GFP_KERNEL)?),
        })
    })
}

/// Frees the memory.
///
/// # Safety
///
/// No probe runs any more.
pub(crate) unsafe fn exit() {
    // SAFETY: By the contract.
    unsafe { PLACES.free() };
}

/// Room for a record of `len` bytes on this CPU, of unknown content, until [`end`]. None when somebody
/// uses it, when the record is too long, or without memory.
#[inline(always)]
pub(crate) fn begin(pin: &CpuPin, len: usize) -> Option<&mut [u8]> {
    let place = PLACES.this(pin)?;
    if place.used.get() != 0 || len == 0 || len > MOST {
        return None;
    }
    // Whoever interrupts in between finds 0 and is done, 0 again, when we go on.
    place.used.set(len as u64);
    // SAFETY: `bytes` is made once and never changes its place. It is ours until `end`, as others
    // on this CPU find that it is used.
    let bytes = unsafe { (*place.bytes.get()).as_mut_ptr() };
    // SAFETY: So many bytes are there, and ours.
    Some(unsafe { core::slice::from_raw_parts_mut(bytes.cast(), len) })
}

/// Calls `f` with the record that was filled, and lets others have the place then.
///
/// # Safety
///
/// The caller is the one to whom [`begin`] gave the place on this CPU, once for each time, and does
/// not touch it any more.
#[inline(always)]
pub(crate) unsafe fn end<R>(pin: &CpuPin, f: impl FnOnce(&[u8]) -> R) -> Option<R> {
    let place = PLACES.this(pin)?;
    // SAFETY: As in `begin`.
    let bytes = unsafe { (*place.bytes.get()).as_ptr() };
    // SAFETY: By the contract it is ours still, and `used` is what `begin` was asked for.
    let record = unsafe { core::slice::from_raw_parts(bytes.cast(), place.used.get() as usize) };
    let result = f(record);
    place.used.set(0);
    Some(result)
}
