// SPDX-License-Identifier: GPL-2.0

//! Events that other modules define by their fields, and write themselves; see `sources::direct_event`.

#![allow(improper_ctypes_definitions, reason = "to C a place is an address")]

use super::check_version;
use crate::{
    events::Module,
    kapi::foreign::CText,
    sources::direct_event::{
        self,
        DirectPlace,
        RecordPart, //
    }, //
};
use core::slice;
use kernel::{
    error::from_result,
    ffi::{
        c_int,
        c_uint, //
    },
    prelude::*, //
};

/// Defines an event; see `include/rtrace.h`.
///
/// # Safety
///
/// - `owner` is the calling module, which stays loaded while its code waits for this call, or null.
/// - `event` is null, or a place of the module that stays until [`rtrace_event_undefine`] has returned.
/// - `system` and `definition` are null or strings.
#[no_mangle]
unsafe extern "C" fn __rtrace_event_define(
    owner: Option<Module<'_>>,
    api: u32,
    event: Option<&DirectPlace>,
    system: Option<CText<'_>>,
    definition: Option<CText<'_>>,
) -> c_int {
    from_result(|| {
        let owner = owner.ok_or(EINVAL)?;
        check_version(owner.name(), api)?;
        let event = event.ok_or(EINVAL)?;
        let system = system.map_or(owner.name().as_bytes(), |name| name.string().to_bytes());
        let definition = definition.ok_or(EINVAL)?.string().to_bytes();
        // SAFETY: The caller promises that the place stays, and `rtrace_event_undefine` undefines the event of one.
        unsafe { direct_event::define(owner, event, system, definition) }?;
        Ok(0)
    })
}

/// Removes an event; see `include/rtrace.h`.
///
/// # Safety
///
/// `event` is null, or a place as `__rtrace_event_define` was given it or would be.
#[no_mangle]
unsafe extern "C" fn rtrace_event_undefine(event: Option<&DirectPlace>) {
    event.into_iter().for_each(direct_event::undefine);
}

/// Records an event; see `include/rtrace.h`.
///
/// # Safety
///
/// - `event` is a place as `__rtrace_event_define` was given it or would be.
/// - `parts` are so many, whose bytes do not change meanwhile.
#[no_mangle]
unsafe extern "C" fn rtrace_event_record(
    event: &DirectPlace,
    parts: *const RecordPart,
    number: c_uint,
) -> c_int {
    let parts = match number {
        0 => &[],
        // SAFETY: The caller promises so many parts, and that they stay as they are; here is one at least.
        number => unsafe { slice::from_raw_parts(parts, number as usize) },
    };
    match direct_event::write(event, parts) {
        Ok(()) => 0,
        Err(error) => error.to_errno(),
    }
}
