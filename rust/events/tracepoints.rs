// SPDX-License-Identifier: GPL-2.0

//! The tracepoints of events, found by their names.
//!
//! Most tracepoints are not exported symbols; but the kernel shows all of its own by
//! `for_each_kernel_tracepoint()`, and a module keeps a list of its. Called by `groups` and by
//! `sources/`.

use super::module::Module;
use crate::kapi::{
    c,
    foreign::Object, //
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::{
    bindings,
    error::to_result,
    prelude::*, //
};

/// A tracepoint that stays during `'a`.
#[derive(Clone, Copy)]
pub(crate) struct Tracepoint<'a>(&'a Object<bindings::tracepoint>);

impl<'a> Tracepoint<'a> {
    /// Returns the tracepoint at `tracepoint`; `None` if that is null.
    ///
    /// # Safety
    ///
    /// Unless null, `tracepoint` is a tracepoint that stays during `'a`.
    pub(super) unsafe fn new(tracepoint: *mut bindings::tracepoint) -> Option<Self> {
        // SAFETY: The caller promises that it stays.
        unsafe { Object::at(tracepoint) }.map(Self)
    }

    /// Returns that tracepoint.
    pub(super) fn of(tracepoint: &'a Object<bindings::tracepoint>) -> Self {
        Self(tracepoint)
    }

    /// Returns its address.
    pub(crate) fn as_ptr(self) -> *mut bindings::tracepoint {
        self.0.as_ptr()
    }

    /// Returns its name.
    pub(crate) fn name(self) -> &'a str {
        c::rt_tracepoint_name(self.0).text()
    }
}

impl Tracepoint<'_> {
    /// Returns the address of the function with the prototype of its probes, where that calls hooks. Process
    /// context.
    pub(crate) fn stub_address(self) -> u64 {
        c::rt_tracepoint_entry(self.0) as u64
    }

    /// Has the tracepoint call `probe` with `data` and its arguments, until the result is dropped. Process context.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and `EEXIST` when it does that already.
    ///
    /// # Safety
    ///
    /// - `probe` is a function that takes a pointer and the tracepoint's arguments.
    /// - `data` is what it expects until the result was dropped, and after that [`super::synchronize`] has returned.
    /// - The tracepoint stays until the result was dropped.
    pub(crate) unsafe fn attach(
        self,
        probe: *mut c_void,
        data: *const c_void,
    ) -> Result<AttachedProbe> {
        let data = data.cast_mut();
        // SAFETY: The tracepoint stays during the call; the caller promises what the probe and its data are.
        to_result(unsafe { bindings::tracepoint_probe_register(self.as_ptr(), probe, data) })?;
        // INVARIANT: It was put on just now, and the caller promises that the tracepoint stays.
        Ok(AttachedProbe {
            tracepoint: NonNull::from(self.0).cast(),
            probe,
            data,
        })
    }
}

/// A probe on a tracepoint; taken off when this is dropped, but for calls that still run.
///
/// # Invariants
///
/// The tracepoint is there, and has this probe with these data.
pub(crate) struct AttachedProbe {
    tracepoint: NonNull<bindings::tracepoint>,
    probe: *mut c_void,
    data: *mut c_void,
}

// SAFETY: The pointers are for any context.
unsafe impl Send for AttachedProbe {}

impl AttachedProbe {
    /// Returns whether it is on `tracepoint`.
    pub(crate) fn is_on(&self, tracepoint: Tracepoint<'_>) -> bool {
        ptr::eq(self.tracepoint.as_ptr(), tracepoint.as_ptr())
    }
}

impl Drop for AttachedProbe {
    fn drop(&mut self) {
        let tracepoint = self.tracepoint.as_ptr();
        // SAFETY: The tracepoint is there and has the probe (invariant).
        unsafe { bindings::tracepoint_probe_unregister(tracepoint, self.probe, self.data) };
    }
}

/// Returns the kernel's own tracepoint of that name. Process context.
pub(crate) fn find(name: &str) -> Option<Tracepoint<'static>> {
    let mut found = None;
    for_each(|tracepoint| {
        if tracepoint.name() == name {
            found = Some(tracepoint);
        }
    });
    found
}

/// The names that are looked for, sorted, and what was found.
struct Search<'n, 't> {
    /// Name, and index of the event.
    wanted: KVec<(&'n str, usize)>,
    found: KVec<Option<Tracepoint<'t>>>,
}

impl<'n, 't> Search<'n, 't> {
    fn new(descs: &'n [c::rt_event_desc]) -> Result<Self> {
        let mut wanted = KVec::with_capacity(descs.len(), GFP_KERNEL)?;
        for (index, desc) in descs.iter().enumerate() {
            wanted.push((desc.tp_name(), index), GFP_KERNEL)?;
        }
        wanted.sort_unstable();
        let found = KVec::from_elem(None, descs.len(), GFP_KERNEL)?;
        Ok(Self { wanted, found })
    }

    /// Notes the tracepoint for all events that want it.
    fn offer(&mut self, tracepoint: Tracepoint<'t>) {
        let name = tracepoint.name();
        let first = self.wanted.partition_point(|&(wanted, _)| wanted < name);
        for &(wanted, index) in self.wanted.iter().skip(first) {
            if wanted != name {
                break;
            }
            if let Some(slot) = self.found.get_mut(index) {
                *slot = Some(tracepoint);
            }
        }
    }
}

/// Calls `visit` with each of the kernel's own tracepoints, in its order. Process context.
fn for_each<F: FnMut(Tracepoint<'static>)>(mut visit: F) {
    /// # Safety
    ///
    /// `visit` points to an `F` that nothing else uses, `tracepoint` to a tracepoint of the kernel
    /// itself.
    unsafe extern "C" fn call<F: FnMut(Tracepoint<'static>)>(
        tracepoint: *mut bindings::tracepoint,
        visit: *mut c_void,
    ) {
        // SAFETY: The caller promises an `F` that nothing else uses.
        let visit = unsafe { &mut *visit.cast::<F>() };
        // SAFETY: The caller promises a tracepoint of the kernel itself, and these stay for good.
        if let Some(tracepoint) = unsafe { Tracepoint::new(tracepoint) } {
            visit(tracepoint);
        }
    }

    // SAFETY: `call` is called only before this returns, each time with the address of `visit`,
    // which is this function's own and of the type that `call` expects, and with a tracepoint of
    // the kernel.
    unsafe { bindings::for_each_kernel_tracepoint(Some(call::<F>), (&raw mut visit).cast()) };
}

/// Returns all tracepoints of the kernel, in its order. Process context.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn all() -> Result<KVec<Tracepoint<'static>>> {
    let mut number = 0usize;
    for_each(|_| number = number.wrapping_add(1));
    let mut found = KVec::with_capacity(number, GFP_KERNEL)?;
    for_each(|tracepoint| {
        // There is room for as many as were counted, and the kernel's are always the same.
        let _ = found.push_within_capacity(tracepoint);
    });
    Ok(found)
}

/// Returns the kernel's tracepoint of each event; `None` where there is none. Process context.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn find_all(descs: &[c::rt_event_desc]) -> Result<KVec<Option<Tracepoint<'static>>>> {
    let mut search = Search::new(descs)?;
    for_each(|tracepoint| search.offer(tracepoint));
    Ok(search.found)
}

/// Returns the same for the events of a module, whose own tracepoints come before the kernel's.
/// Process context.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn find_all_of_module<'a>(
    descs: &[c::rt_event_desc],
    module: Module<'a>,
) -> Result<KVec<Option<Tracepoint<'a>>>> {
    let mut search = Search::new(descs)?;
    for_each(|tracepoint| search.offer(tracepoint));
    module
        .tracepoints()
        .for_each(|tracepoint| search.offer(tracepoint));
    Ok(search.found)
}
