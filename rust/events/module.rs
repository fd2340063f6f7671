// SPDX-License-Identifier: GPL-2.0

//! Modules of the kernel that are loaded: their names, their tracepoints, the events that ftrace
//! has of them.
//!
//! Called by `groups`, when a module registers its events, and by `sources/`, when the kernel tells
//! of a module.

use super::{
    described::text,
    tracepoints::Tracepoint,
    Event,
    GROUPS, //
};
use crate::kapi::c;
use core::{
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    }, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// A module that stays loaded during `'a`.
///
/// # Invariants
///
/// The pointer is that of a `struct module`, which stays during `'a`, as do its name, its
/// tracepoints and the strings of its events.
#[derive(Clone, Copy)]
pub(crate) struct Module<'a> {
    module: NonNull<bindings::module>,
    stays: PhantomData<&'a bindings::module>,
}

impl<'a> Module<'a> {
    /// Returns the module at `module`; `None` if that is null.
    ///
    /// # Safety
    ///
    /// Unless null, `module` is a module that stays loaded during `'a`.
    pub(crate) unsafe fn new(module: *mut bindings::module) -> Option<Self> {
        // INVARIANT: The caller promises that it stays.
        Some(Self {
            module: NonNull::new(module)?,
            stays: PhantomData,
        })
    }

    /// Returns its address.
    pub(crate) fn as_ptr(self) -> *mut bindings::module {
        self.module.as_ptr()
    }

    /// Returns its name.
    pub(crate) fn name(self) -> &'a str {
        // SAFETY: The module is valid during `'a` (invariant).
        let name = unsafe { &raw const (*self.as_ptr()).name };
        // SAFETY: The name is a terminated string that the kernel does not change, and it stays
        // during `'a` with the module (invariant).
        unsafe { text(name.cast()) }
    }

    /// Returns whether it was built apart from the kernel, by other headers perhaps.
    pub(crate) fn is_foreign(self) -> bool {
        // SAFETY: The module is valid (invariant), and the function only reads its flags.
        unsafe { c::rt_module_is_foreign(self.as_ptr()) }
    }

    /// Returns whether `address` is in it.
    pub(crate) fn contains(self, address: u64) -> bool {
        // SAFETY: The module is valid (invariant), and the function only compares its addresses.
        unsafe { c::rt_within_module(self.as_ptr(), address as usize) }
    }

    /// Returns whether `address` is in what of it goes after its init.
    pub(crate) fn contains_init(self, address: u64) -> bool {
        // SAFETY: The module is valid (invariant), and the function only compares its addresses.
        unsafe { c::rt_within_module_init(self.as_ptr(), address as usize) }
    }

    /// Returns its tracepoints.
    pub(crate) fn tracepoints(self) -> impl Iterator<Item = Tracepoint<'a>> {
        let mut index = 0;
        core::iter::from_fn(move || {
            // SAFETY: The module is valid (invariant), and the function checks the index.
            let tracepoint = unsafe { c::rt_module_tracepoint(self.as_ptr(), index) };
            index = index.wrapping_add(1);
            // SAFETY: Null, or a tracepoint of the module, which stays during `'a` (invariant).
            unsafe { Tracepoint::new(tracepoint) }
        })
    }

    /// Returns the events that ftrace has of it, as the module has them.
    pub(crate) fn events(self) -> impl Iterator<Item = ModuleEvent<'a>> {
        let mut index = 0;
        core::iter::from_fn(move || {
            let mut event = c::rt_module_event {
                system: ptr::null(),
                name: ptr::null(),
                print_fmt: ptr::null(),
                tracepoint: ptr::null_mut(),
            };
            // SAFETY: The module is valid (invariant), the function checks the index, and `event`
            // is ours.
            if !unsafe { c::rt_module_event(self.as_ptr(), index, &mut event) } {
                return None;
            }
            index = index.wrapping_add(1);
            let string = |string: *const c_char| -> &'a str {
                // SAFETY: A terminated string of the module, which stays during `'a` (invariant);
                // ftrace has written what it wants to write into the print format.
                unsafe { text(string) }
            };
            Some(ModuleEvent {
                names: (string(event.system), string(event.name)),
                print_fmt: string(event.print_fmt),
                // SAFETY: A tracepoint of the module, which stays during `'a` (invariant).
                tracepoint: unsafe { Tracepoint::new(event.tracepoint) },
            })
        })
    }
}

/// A module that stays loaded as long as this is there.
///
/// # Invariants
///
/// The pointer is that of a module of which `try_module_get` has taken a reference.
pub(crate) struct ModuleHold(NonNull<bindings::module>);

// SAFETY: A reference to a module belongs to no task.
unsafe impl Send for ModuleHold {}
// SAFETY: Nothing can be done through `&self`.
unsafe impl Sync for ModuleHold {}

impl Drop for ModuleHold {
    fn drop(&mut self) {
        // SAFETY: The reference is there (invariant), and this is its last use.
        unsafe { bindings::module_put(self.0.as_ptr()) };
    }
}

impl Event {
    /// Keeps the module that brought the event loaded; `None` for an event of the kernel itself. Process
    /// context.
    ///
    /// # Errors
    ///
    /// `ENODEV` when the event cannot be enabled any more.
    pub(crate) fn hold_module(&self) -> Result<Option<ModuleHold>> {
        let _groups = GROUPS.lock();
        if !self.is_offered() {
            return Err(ENODEV);
        }
        let Some(module) = NonNull::new(self.owner().cast_mut()) else {
            return Ok(None);
        };
        // SAFETY: The module is there: before it goes, its events are taken away under the lock, which is held,
        // and this one is offered.
        match unsafe { bindings::try_module_get(module.as_ptr()) } {
            // INVARIANT: The reference was taken.
            true => Ok(Some(ModuleHold(module))),
            false => Err(ENODEV),
        }
    }
}

/// What ftrace calls an event of a module, and its tracepoint.
pub(crate) struct ModuleEvent<'a> {
    pub(crate) names: (&'a str, &'a str),
    pub(crate) print_fmt: &'a str,
    pub(crate) tracepoint: Option<Tracepoint<'a>>,
}
