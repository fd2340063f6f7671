// SPDX-License-Identifier: GPL-2.0

//! Instances of other modules: found or made by name, kept, and their events switched. Process context.
//!
//! A handle is the address of an instance and a reference to it: C passes a handle where a function here takes
//! `&Instance`.

#![allow(improper_ctypes_definitions, reason = "to C an instance is an address")]

use super::check_version;
use crate::{
    events::Module,
    fs::held,
    instance::{
        Instance,
        InstanceRef, //
    },
    kapi::{
        foreign::CText,
        scratch, //
    },
    text::set_event::next_word, //
};
use kernel::{
    error::from_result,
    ffi::c_int,
    prelude::*, //
};

/// Finds or makes an instance; see `include/rtrace.h`.
///
/// # Safety
///
/// - `owner` is the calling module, which stays loaded while its code waits for this call, or null.
/// - `name` is a string, or null.
/// - `found` is the caller's.
#[no_mangle]
unsafe extern "C" fn __rtrace_array_get(
    owner: Option<Module<'_>>,
    api: u32,
    name: Option<CText<'_>>,
    found: &mut *const Instance,
) -> c_int {
    *found = core::ptr::null();
    from_result(|| {
        // What is no module is a part of the kernel.
        check_version(owner.map_or("a part of the kernel", Module::name), api)?;
        *found = held::obtain(name.ok_or(EINVAL)?.string())?.into_raw();
        Ok(0)
    })
}

/// Gives an instance back; see `include/rtrace.h`.
///
/// # Safety
///
/// `inst` is null, or a handle of [`__rtrace_array_get`] that is not given back, which is not used any more.
#[no_mangle]
unsafe extern "C" fn rtrace_array_put(inst: *const Instance) {
    if !inst.is_null() {
        // SAFETY: `__rtrace_array_get` gave this reference away, and the caller gives it back once.
        drop(unsafe { InstanceRef::from_raw(inst) });
    }
}

/// Removes an instance; see `include/rtrace.h`. Any address will do.
#[no_mangle]
extern "C" fn rtrace_array_destroy(inst: *const Instance) -> c_int {
    from_result(|| {
        if inst.is_null() {
            return Err(EINVAL);
        }
        held::destroy(inst).map(|()| 0)
    })
}

/// Returns the bytes of a string.
fn bytes(text: CText<'_>) -> &[u8] {
    text.string().to_bytes()
}

/// Switches events; see `include/rtrace.h`.
///
/// # Safety
///
/// `inst` is null or a handle that is not given back, `system` and `event` are null or strings.
#[no_mangle]
unsafe extern "C" fn rtrace_array_set_clr_event(
    inst: Option<&Instance>,
    system: Option<CText<'_>>,
    event: Option<CText<'_>>,
    enable: bool,
) -> c_int {
    from_result(|| {
        let inst = inst.ok_or(ENOENT)?;
        let (system, event) = (system.map(bytes), event.map(bytes));
        inst.switch_named(system, event, enable).map(|()| 0)
    })
}

/// Switches the events that a word of `set_event` selects; see `include/rtrace.h`.
///
/// # Safety
///
/// `inst` is null or a handle that is not given back, `word` is null or a string.
#[no_mangle]
unsafe extern "C" fn rtrace_array_set_event(
    inst: Option<&Instance>,
    word: Option<CText<'_>>,
) -> c_int {
    from_result(|| {
        let inst = inst.ok_or(ENOENT)?;
        set_event(inst, word.map_or(&[], bytes)).map(|()| 0)
    })
}

/// Obeys `text` if it is one word.
///
/// # Errors
///
/// `EINVAL` if it is none, and those of [`Instance::obey_selection`].
pub(super) fn set_event(inst: &Instance, text: &[u8]) -> Result {
    match next_word(text) {
        Ok((word, _)) if !word.is_empty() && word.len() == text.len() => inst.obey_selection(word),
        _ => Err(EINVAL),
    }
}

/// Prepares for prints; see `include/rtrace.h`.
///
/// # Safety
///
/// `inst` is null or a handle that is not given back.
#[no_mangle]
unsafe extern "C" fn rtrace_array_init_printk(inst: Option<&Instance>) -> c_int {
    from_result(|| {
        inst.ok_or(ENOENT)?;
        scratch::prepare_all_levels().map(|()| 0)
    })
}
