// SPDX-License-Identifier: GPL-2.0

//! Raw records of other modules: a C interface to write bytes into an instance from any context.
//!
//! rtstress (tools/guest) uses it to nest writers of all contexts. See shim/events.h.

use crate::instance::{
    registry,
    InstanceRef, //
};
use core::{
    ptr::null_mut,
    slice, //
};
use kernel::{
    error::from_result,
    ffi::{
        c_char,
        c_int,
        c_uint, //
    },
    prelude::*, //
};

/// Opens the instance `name`, the top one when that is empty. Returns a handle, or null. Process
/// context.
///
/// # Safety
///
/// `name` is a string.
#[no_mangle]
unsafe extern "C" fn rtrace_test_open(name: *const c_char) -> *mut c_void {
    // SAFETY: By the contract.
    let name = unsafe { CStr::from_char_ptr(name) };
    match registry::find(name).and_then(|inst| Ok(KBox::new(inst.get()?, GFP_KERNEL)?)) {
        Ok(handle) => KBox::into_raw(handle).cast(),
        Err(_) => null_mut(),
    }
}

/// Records `len` bytes as one `raw_data` event. Any context, NMI included. Returns 0, or an error
/// that says why the event was refused: see `Instance::raw_data`.
///
/// # Safety
///
/// `handle` is from [`rtrace_test_open`] and not closed; `len` bytes can be read at `bytes`.
#[no_mangle]
unsafe extern "C" fn rtrace_test_write(
    handle: *mut c_void,
    bytes: *const c_void,
    len: c_uint,
) -> c_int {
    // SAFETY: By the contract.
    let inst = unsafe { &*handle.cast::<InstanceRef>() };
    // SAFETY: By the contract.
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), len as usize) };
    from_result(|| inst.raw_data(bytes).map(|()| 0))
}

/// Closes a handle. Process context.
///
/// # Safety
///
/// `handle` is from [`rtrace_test_open`], not closed, and nobody uses it any more.
#[no_mangle]
unsafe extern "C" fn rtrace_test_close(handle: *mut c_void) {
    // SAFETY: By the contract.
    drop(unsafe { KBox::from_raw(handle.cast::<InstanceRef>()) });
}
