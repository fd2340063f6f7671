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
use core::slice;
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
    // Enabled again in the same task or interrupt: below, or by the commit.
    percpu::disable_preemption();
    // SAFETY: The caller promises the cookie and that the size has room for the common fields;
    // preemption is off until the commit, which follows unless the entry is null.
    let reserved = unsafe { rtrace_reserve(cookie, PackedSize::new(size).word()) };
    let Some((entry, token)) = parts(reserved) else {
        // SAFETY: Disabled above, in the same task or interrupt, and there is no reservation that
        // needs it.
        return unsafe { percpu::enable_preemption() };
    };
    // SAFETY: The reservation is of `size` bytes, and no other code's until the commit.
    fill(unsafe { slice::from_raw_parts_mut(entry.cast::<u8>().as_ptr(), size) });
    // SAFETY: The cookie is that of the reservation, which returned the entry and the token;
    // preemption was disabled above.
    unsafe { rtrace_commit(cookie, entry.as_ptr(), token) };
}
