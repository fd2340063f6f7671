// SPDX-License-Identifier: GPL-2.0

//! Raw records of other modules: a C interface to write bytes into an instance from any context, and
//! the steps of writers and readers one by one, to be measured ([`steps`]).
//!
//! rtsoak uses the former to nest writers of all contexts, rtbench the latter (both tools/guest). See
//! shim/testapi.h. Only in a module that was built with `RTRACE_TEST=1`: a product has none of it.
//!
//! A handle is the address of what a writer uses of an instance, and holds a reference to the instance: C passes a
//! handle where a function here takes `&Sink`. So the steps cost what they cost where an event makes them, which has
//! that address, too.

mod steps;

use crate::{
    event::{
        context::Base,
        format, //
    },
    instance::{
        registry,
        InstanceRef, //
    },
    kapi::{
        compat,
        foreign::CText,
        percpu::CpuPin, //
    },
    probes::{
        self,
        Sink, //
    },
    ring::writer::ReserveError, //
};
use core::{
    ptr::{
        self,
        null_mut, //
    },
    slice, //
};
use kernel::{
    error::from_result,
    ffi::{
        c_int,
        c_uint, //
    },
    prelude::*,
    sync::Arc, //
};

/// Opens the instance `name`, the top one when that is empty. Returns a handle, or null. Process
/// context.
///
/// # Safety
///
/// `name` is a string.
#[no_mangle]
unsafe extern "C" fn rtrace_test_open(name: CText<'_>) -> *mut c_void {
    match registry::find(name.string()).and_then(|inst| inst.get()) {
        Ok(inst) => {
            let sink = ptr::from_ref(inst.sink());
            let _ = inst.into_raw();
            sink.cast_mut().cast()
        }
        Err(_) => null_mut(),
    }
}

/// Records `len` bytes as one `raw_data` event. Any context, NMI included. Returns 0, or an error
/// that says why the event was refused: see [`raw_data`].
///
/// # Safety
///
/// `sink` is a handle from [`rtrace_test_open`] and not closed; `len` bytes can be read at `bytes`.
#[no_mangle]
unsafe extern "C" fn rtrace_test_write(sink: &Sink, bytes: *const c_void, len: c_uint) -> c_int {
    // SAFETY: The caller keeps `len` bytes at `bytes` readable meanwhile.
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), len as usize) };
    from_result(|| raw_data(sink, bytes).map(|()| 0))
}

/// Records `bytes` as they are. Any context, NMI included.
///
/// # Errors
///
/// One for each reason: `EBADF` while recording is off, `ENOSPC` when the buffer is full, `EBUSY` for a commit overrun,
/// `EDEADLK` for too many nested writers, `E2BIG`, `EIO` when the buffer is broken.
fn raw_data(sink: &Sink, bytes: &[u8]) -> Result {
    let len = bytes.len().saturating_add(probes::COMMON);
    let fill = |record: &mut [u8]| {
        for (to, from) in record.iter_mut().zip(bytes) {
            *to = *from;
        }
    };
    let base = Base::new(format::RAW_DATA.id, 0);
    let recorded = CpuPin::with(|pin| sink.record(pin, base, len, fill));
    recorded.map_err(|refused| match refused {
        ReserveError::Disabled => EBADF,
        ReserveError::Full => ENOSPC,
        ReserveError::CommitOverrun => EBUSY,
        ReserveError::Recursion => compat::deadlock(),
        ReserveError::TooBig => E2BIG,
        ReserveError::Broken => EIO,
    })
}

/// Closes a handle. Process context.
///
/// # Safety
///
/// `handle` is from [`rtrace_test_open`], not closed, and used no more.
#[no_mangle]
unsafe extern "C" fn rtrace_test_close(handle: *mut c_void) {
    if let Ok(inst) = registry::with_sink(handle.cast()) {
        // SAFETY: `rtrace_test_open` gave this reference away, and the caller closes it once.
        drop(unsafe { InstanceRef::from_raw(Arc::as_ptr(&inst)) });
    }
}
