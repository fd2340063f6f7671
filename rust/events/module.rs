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
use crate::kapi::{
    c,
    foreign::{
        FinalRef,
        Object,
        Owned,
        Release, //
        TaskSharedObject,
    }, //
};
use core::{
    ops::Range,
    ptr, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// A module that stays loaded during `'a`.
///
/// # Invariants
///
/// It is a module whose name, tracepoints and strings of its events stay during `'a`, too.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Module<'a>(&'a Object<bindings::module>);

impl<'a> Module<'a> {
    /// Returns the module that is there for C.
    pub(crate) fn of(module: &'a Object<bindings::module>) -> Self {
        // INVARIANT: One that stays loaded keeps what is its own.
        Self(module)
    }

    /// Returns its address.
    pub(crate) fn as_ptr(self) -> *mut bindings::module {
        self.0.as_ptr()
    }

    /// Returns its name.
    pub(crate) fn name(self) -> &'a str {
        c::rt_module_name(self.0).text()
    }

    /// Returns whether it was built apart from the kernel, by other headers perhaps.
    pub(crate) fn is_foreign(self) -> bool {
        c::rt_module_is_foreign(self.0)
    }

    /// Returns whether `address` is in it.
    pub(crate) fn contains(self, address: u64) -> bool {
        c::rt_within_module(self.0, address as usize)
    }

    /// Returns whether `address` is in what of it goes after its init.
    pub(crate) fn contains_init(self, address: u64) -> bool {
        c::rt_within_module_init(self.0, address as usize)
    }

    /// Returns the addresses of its code that goes after its init.
    pub(crate) fn init_code(self) -> Range<u64> {
        let start = c::rt_module_init_text(self.0) as u64;
        start..start.saturating_add(u64::from(c::rt_module_init_size(self.0)))
    }

    /// Returns its tracepoints.
    pub(crate) fn tracepoints(self) -> impl Iterator<Item = Tracepoint<'a>> {
        let mut index = 0;
        core::iter::from_fn(move || {
            let tracepoint = c::rt_module_tracepoint(self.0, index)?;
            index = index.wrapping_add(1);
            Some(Tracepoint::of(tracepoint))
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
            if !c::rt_module_event(self.0, index, &mut event) {
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

impl Release for bindings::module {
    fn release(ending: FinalRef<Self>) {
        c::module_put(ending);
    }
}

// SAFETY: A reference to a module belongs to no task, and what takes one only reads.
unsafe impl TaskSharedObject for bindings::module {}

/// A module that stays loaded as long as this is there.
pub(crate) struct ModuleHold {
    _module: Owned<bindings::module>,
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
        // SAFETY: Null, or the module is there: before it goes, its events are taken away under the lock, which is
        // held, and this one is offered.
        let Some(module) = (unsafe { Object::at(self.owner()) }) else {
            return Ok(None);
        };
        let module = c::rt_module_hold(module).ok_or(ENODEV)?;
        Ok(Some(ModuleHold { _module: module }))
    }
}

/// What ftrace calls an event of a module, and its tracepoint.
pub(crate) struct ModuleEvent<'a> {
    pub(crate) names: (&'a str, &'a str),
    pub(crate) print_fmt: &'a str,
    pub(crate) tracepoint: Option<Tracepoint<'a>>,
}
