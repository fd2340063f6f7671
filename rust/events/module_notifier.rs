// SPDX-License-Identifier: GPL-2.0

//! What the kernel tells of its modules, whether they have tracepoints or not: when one comes, after its functions
//! can be traced and before its init runs, when its init is over, and when it goes.

use super::Module;
use crate::kapi::c;
use core::{
    cell::UnsafeCell,
    marker::PhantomData,
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

/// What has happened to a module.
#[derive(Clone, Copy)]
pub(crate) enum ModuleChange {
    Comes,
    InitIsOver,
    Goes,
}

/// What follows modules. Process context.
pub(crate) trait ModuleFollower {
    /// Follows what has happened to `module`.
    fn follow(module: Module<'_>, change: ModuleChange);
}

/// A notifier that the kernel knows.
pub(crate) struct NotifierBlock(UnsafeCell<bindings::notifier_block>);

// SAFETY: Only the kernel changes the block, and does so under its own lock.
unsafe impl Sync for NotifierBlock {}

impl NotifierBlock {
    /// Returns one that is not registered, and that has `call` called.
    pub(crate) const fn new(call: bindings::notifier_fn_t) -> Self {
        Self(UnsafeCell::new(bindings::notifier_block {
            notifier_call: call,
            next: ptr::null_mut(),
            priority: 0,
        }))
    }

    /// Returns it for the kernel.
    pub(crate) const fn get(&'static self) -> *mut bindings::notifier_block {
        self.0.get()
    }
}

/// The notifier of an `F`, a static.
pub(crate) struct ModuleNotifier<F> {
    block: NotifierBlock,
    follower: PhantomData<fn(F)>,
}

impl<F: ModuleFollower> ModuleNotifier<F> {
    /// Returns one that is not registered.
    pub(crate) const fn new() -> Self {
        Self {
            block: NotifierBlock::new(Some(notify::<F>)),
            follower: PhantomData,
        }
    }

    /// Has the kernel call it as long as the result is there.
    ///
    /// # Errors
    ///
    /// What `register_module_notifier()` returns: `EEXIST` while there is a result.
    pub(crate) fn register(&'static self) -> Result<ModuleNotice> {
        // SAFETY: The block is a static, so that it stays. The kernel refuses one that is registered.
        to_result(unsafe { c::register_module_notifier(self.block.get()) })?;
        Ok(ModuleNotice(&self.block))
    }
}

/// A notifier that is registered as long as this is there.
pub(crate) struct ModuleNotice(&'static NotifierBlock);

impl Drop for ModuleNotice {
    fn drop(&mut self) {
        // SAFETY: `register` registered the block, and this is the one that it returned.
        unsafe { c::unregister_module_notifier(self.0.get()) };
    }
}

/// Has an `F` follow a module.
///
/// # Safety
///
/// `data` is a `struct module`, which stays during the call.
unsafe extern "C" fn notify<F: ModuleFollower>(
    _block: *mut bindings::notifier_block,
    state: c_ulong,
    data: *mut c_void,
) -> c_int {
    let change = match state as u32 {
        bindings::module_state_MODULE_STATE_COMING => ModuleChange::Comes,
        bindings::module_state_MODULE_STATE_LIVE => ModuleChange::InitIsOver,
        bindings::module_state_MODULE_STATE_GOING => ModuleChange::Goes,
        _ => return bindings::NOTIFY_OK as c_int,
    };
    // SAFETY: The caller promises a module that stays during the call, and it is used no longer.
    if let Some(module) = unsafe { Module::new(data.cast()) } {
        F::follow(module, change);
    }
    bindings::NOTIFY_OK as c_int
}
