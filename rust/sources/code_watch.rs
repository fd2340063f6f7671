// SPDX-License-Identifier: GPL-2.0

//! Probes in the code of modules, which comes and goes with them.
//!
//! The kernel calls [`notify`] for each module, whether it has tracepoints or not, when it comes, after its functions
//! can be probed, and when it goes. Inside, the definitions of dynamic events are locked, and a probe.

use super::dynamic;
use crate::{
    events::Module,
    kapi::c, //
};
use core::{
    cell::UnsafeCell,
    ptr, //
};
use kernel::{
    bindings,
    error::to_result,
    ffi::{
        c_int,
        c_ulong, //
    },
    prelude::*, //
};

/// The notifier that the kernel knows.
struct CodeNotifier(UnsafeCell<bindings::notifier_block>);

// SAFETY: Only the kernel changes the block, and does so under its own lock.
unsafe impl Sync for CodeNotifier {}

static NOTIFIER: CodeNotifier = CodeNotifier(UnsafeCell::new(bindings::notifier_block {
    notifier_call: Some(notify),
    next: ptr::null_mut(),
    priority: 0,
}));

/// A watch over the code of modules, which lasts as long as this.
pub(crate) struct CodeWatch(());

impl CodeWatch {
    /// Begins to watch. Called once.
    ///
    /// # Errors
    ///
    /// What `register_module_notifier()` returns.
    pub(super) fn new() -> Result<Self> {
        // SAFETY: The block is a static, so that it stays, and not registered: this is called once.
        to_result(unsafe { c::register_module_notifier(NOTIFIER.0.get()) })?;
        Ok(Self(()))
    }
}

impl Drop for CodeWatch {
    fn drop(&mut self) {
        // SAFETY: `new` registered the block, and this is the one that it returned.
        unsafe { c::unregister_module_notifier(NOTIFIER.0.get()) };
    }
}

/// Has the probes follow a module.
///
/// # Safety
///
/// `data` is a `struct module`, which stays during the call.
unsafe extern "C" fn notify(
    _block: *mut bindings::notifier_block,
    state: c_ulong,
    data: *mut c_void,
) -> c_int {
    // SAFETY: The caller promises a module that stays during the call, and it is used no longer.
    if let Some(module) = unsafe { Module::new(data.cast()) } {
        match state as u32 {
            bindings::module_state_MODULE_STATE_COMING => dynamic::code_comes(module.name()),
            bindings::module_state_MODULE_STATE_GOING => dynamic::code_goes(module.name()),
            _ => {}
        }
    }
    bindings::NOTIFY_OK as c_int
}
