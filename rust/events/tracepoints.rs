// SPDX-License-Identifier: GPL-2.0

//! The tracepoints of events, found by their names.
//!
//! Most tracepoints are not exported symbols; but the kernel shows all of its own by
//! `for_each_kernel_tracepoint()`, and a module keeps a list of its.

use super::text;
use crate::kapi::c;
use core::ptr;
use kernel::{
    bindings,
    prelude::*, //
};

/// The names that are looked for, sorted, and what was found.
struct Search<'a> {
    /// Name, and index of the event.
    wanted: KVec<(&'a str, usize)>,
    found: KVec<*mut bindings::tracepoint>,
}

impl<'a> Search<'a> {
    fn new(descs: &'a [c::rt_event_desc]) -> Result<Self> {
        let mut wanted = KVec::with_capacity(descs.len(), GFP_KERNEL)?;
        for (index, desc) in descs.iter().enumerate() {
            // SAFETY: The tables hold valid strings, made by the macros of `shim/events/`.
            wanted.push((unsafe { text(desc.tp_name) }, index), GFP_KERNEL)?;
        }
        wanted.sort_unstable();
        let found = KVec::from_elem(ptr::null_mut(), descs.len(), GFP_KERNEL)?;
        Ok(Self { wanted, found })
    }

    /// Notes the tracepoint for all events that want it.
    fn offer(&mut self, tracepoint: *mut bindings::tracepoint) {
        // SAFETY: The callers pass live tracepoints, whose name is a constant.
        let name = unsafe { text((*tracepoint).name) };
        let first = self.wanted.partition_point(|&(wanted, _)| wanted < name);
        for &(wanted, index) in self.wanted.iter().skip(first) {
            if wanted != name {
                break;
            }
            if let Some(slot) = self.found.get_mut(index) {
                *slot = tracepoint;
            }
        }
    }

    fn in_kernel(&mut self) {
        // SAFETY: `visit` is called only before this returns, with the pointer to `self`, which is
        // exclusively borrowed that long.
        unsafe { bindings::for_each_kernel_tracepoint(Some(visit), ptr::from_mut(self).cast()) };
    }
}

/// # Safety
///
/// `search` points to a [`Search`] that nobody else uses, `tracepoint` to a live tracepoint.
unsafe extern "C" fn visit(tracepoint: *mut bindings::tracepoint, search: *mut c_void) {
    // SAFETY: The lifetime of the names does not matter here: the caller's `Search` is alive.
    let search = unsafe { &mut *search.cast::<Search<'_>>() };
    search.offer(tracepoint);
}

/// All tracepoints of the kernel, in its order.
pub(crate) fn all() -> Result<KVec<*mut bindings::tracepoint>> {
    /// # Safety
    ///
    /// `count` points to a number that nobody else uses.
    unsafe extern "C" fn count(_tracepoint: *mut bindings::tracepoint, count: *mut c_void) {
        // SAFETY: By the contract.
        let count = unsafe { &mut *count.cast::<usize>() };
        *count = count.wrapping_add(1);
    }
    /// # Safety
    ///
    /// `found` points to a vector that nobody else uses.
    unsafe extern "C" fn collect(tracepoint: *mut bindings::tracepoint, found: *mut c_void) {
        // SAFETY: By the contract.
        let found = unsafe { &mut *found.cast::<KVec<*mut bindings::tracepoint>>() };
        // There is room for as many as were counted, and the kernel's are always the same.
        let _ = found.push_within_capacity(tracepoint);
    }

    let mut number = 0usize;
    // SAFETY: `count` is called only before this returns, with the number.
    unsafe { bindings::for_each_kernel_tracepoint(Some(count), (&raw mut number).cast()) };
    let mut found = KVec::with_capacity(number, GFP_KERNEL)?;
    // SAFETY: `collect` is called only before this returns, with the vector.
    unsafe { bindings::for_each_kernel_tracepoint(Some(collect), (&raw mut found).cast()) };
    Ok(found)
}

/// The tracepoints of a module.
///
/// # Safety
///
/// `module` stays loaded as long as the iterator is used.
pub(crate) unsafe fn of_module(
    module: *mut bindings::module,
) -> impl Iterator<Item = *mut bindings::tracepoint> {
    let mut index = 0;
    core::iter::from_fn(move || {
        // SAFETY: The caller's promise; the function checks the index.
        let tracepoint = unsafe { c::rt_module_tracepoint(module, index) };
        index = index.wrapping_add(1);
        (!tracepoint.is_null()).then_some(tracepoint)
    })
}

/// The kernel's tracepoint of each event; null where there is none.
pub(crate) fn find_all(descs: &[c::rt_event_desc]) -> Result<KVec<*mut bindings::tracepoint>> {
    let mut search = Search::new(descs)?;
    search.in_kernel();
    Ok(search.found)
}

/// The same for the events of a module, whose own tracepoints come first.
///
/// # Safety
///
/// `module` is a module that stays loaded during the call.
pub(crate) unsafe fn find_all_of_module(
    descs: &[c::rt_event_desc],
    module: *mut bindings::module,
) -> Result<KVec<*mut bindings::tracepoint>> {
    let mut search = Search::new(descs)?;
    search.in_kernel();
    // SAFETY: The caller's promise.
    unsafe { of_module(module) }.for_each(|tracepoint| search.offer(tracepoint));
    Ok(search.found)
}
