// SPDX-License-Identifier: GPL-2.0

//! Which events of our own headers does a module bring?
//!
//! Many a header describes events whose tracepoints are in a module. Their descriptors are in our tables
//! all the time; the module brings the tracepoint, and takes it away. The caller (`modules`) holds
//! [`GROUPS`](super::GROUPS).

use super::{
    absent_now,
    c,
    groups,
    names,
    own_descs,
    own_evals,
    own_layouts,
    text, //
};
use core::{
    mem::MaybeUninit,
    ptr, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// What ftrace calls an event of a module, and its tracepoint.
struct Known<'a> {
    names: (&'a str, &'a str),
    tracepoint: *mut bindings::tracepoint,
}

/// The events that ftrace has of a module, in its order.
///
/// # Safety
///
/// `module` stays loaded as long as the iterator and what it gave are used.
unsafe fn known<'a>(module: *mut bindings::module) -> impl Iterator<Item = Known<'a>> {
    let mut index = 0;
    core::iter::from_fn(move || {
        let mut event = MaybeUninit::<c::rt_module_event>::uninit();
        // SAFETY: The caller's promise; the function checks the index.
        if !unsafe { c::rt_module_event(module, index, event.as_mut_ptr()) } {
            return None;
        }
        index = index.wrapping_add(1);
        // SAFETY: It was filled in, as the answer was yes.
        let event = unsafe { event.assume_init() };
        // SAFETY: Constants of the module, which stays; terminated.
        let names = unsafe { (text(event.system), text(event.name)) };
        Some(Known {
            names,
            tracepoint: event.tracepoint,
        })
    })
}

/// Our descriptor of these names. The events of one header share the string of their system.
fn find((system, name): (&str, &str)) -> Option<&'static c::rt_event_desc> {
    own_descs()
        .chunk_by(|a, b| a.system == b.system)
        .filter(|header| header.first().is_some_and(|desc| names(desc).0 == system))
        .flatten()
        .find(|desc| names(desc).1 == name)
}

/// Where the members of a private struct are was asked only of the kernel's own BTF.
fn has_view(desc: &c::rt_event_desc) -> bool {
    own_layouts()
        .iter()
        .any(|layout| ptr::eq(layout.probe, desc.probe.cast_const()))
}

/// Adds the events of a module that is being loaded.
///
/// Only of one that was built with the kernel: the prototypes of another module's tracepoints, which
/// the names do not tell, need not be those of the headers that we know.
///
/// # Safety
///
/// `module` stays during the call.
pub(super) unsafe fn add_of_module(module: *mut bindings::module) -> Result {
    // SAFETY: By the contract.
    if unsafe { c::rt_module_is_foreign(module) } {
        return Ok(());
    }
    // SAFETY: By the contract.
    for event in unsafe { known(module) } {
        let Some(desc) = find(event.names) else {
            continue;
        };
        if !has_view(desc) && absent_now(desc).is_none() {
            groups::add(desc, own_evals(), event.tracepoint, module)?;
        }
    }
    Ok(())
}
