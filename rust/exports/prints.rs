// SPDX-License-Identifier: GPL-2.0

//! Prints of other modules: C formats them (`shim/exports.c`), between the two functions here. Any context, NMI included.
//!
//! The text is made beside the ring, in the place of this CPU and of this level (`kapi::scratch`), for its length is not
//! known before.

#![allow(improper_ctypes_definitions, reason = "see `probes::fastcall`")]

use crate::{
    instance::Instance,
    kapi::{
        c,
        percpu::PinRef,
        scratch, //
    },
    ring::packed::PackedSize, //
};
use core::ptr;
use kernel::{
    ffi::{
        c_int,
        c_uint, //
    },
    prelude::*, //
};

/// The room for a text and its end.
const ROOM: PackedSize = PackedSize::new(c::RT_PRINT_ROOM as usize);

/// Returns room for a text; null if nothing is to be printed, or if too many writers are inside each other.
///
/// # Safety
///
/// `inst` is a handle of `__rtrace_array_get` that is not given back. Preemption is disabled, for which `pin` stands
/// without bytes, until [`rtrace_print_end`] has returned, which follows unless this returns null.
#[no_mangle]
unsafe extern "C" fn rtrace_print_begin(inst: &Instance, pin: PinRef<'_>) -> *mut c_void {
    if !inst.takes_prints() {
        return ptr::null_mut();
    }
    scratch::begin_at_any_level(pin.pin(), ROOM).map_or(ptr::null_mut(), ptr::NonNull::as_ptr)
}

/// Records the first `len` bytes of a text, gives its room back, and returns how many were recorded.
///
/// # Safety
///
/// `inst` as it was given to [`rtrace_print_begin`], which returned `text`, on this CPU; preemption is still disabled.
#[no_mangle]
unsafe extern "C" fn rtrace_print_end(
    inst: &Instance,
    ip: usize,
    text: *mut c_void,
    len: c_uint,
    pin: PinRef<'_>,
) -> c_int {
    // SAFETY: The room is that of `rtrace_print_begin` on this CPU, and C uses it no more.
    let mut room = unsafe { scratch::Record::filled(text) };
    let text = room.bytes().get(..len as usize).unwrap_or_default();
    let recorded = inst.print(pin.pin(), text, ip);
    room.end();
    recorded as c_int
}
