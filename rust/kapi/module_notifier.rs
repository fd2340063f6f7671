// SPDX-License-Identifier: GPL-2.0

//! What the kernel tells of its modules. Of each one: when it comes, after its functions can be traced and before its
//! init runs, when its init is over, and when it goes. Of those with tracepoints also that they are there, to what
//! begins to follow them, and that they go, to what ends.

use super::{
    c,
    foreign::Object, //
};
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
pub(crate) trait ModuleFollower: 'static {
    /// Follows what has happened to `module`.
    fn follow(module: &Object<bindings::module>, change: ModuleChange);
}

/// A chain of notifiers of the kernel that tells of modules.
pub(crate) trait ModuleChain: Sized + 'static {
    /// Adds a block to it. Returns 0, or `-EEXIST` for one that is in it.
    fn add(block: &'static NotifierBlock<Self>) -> c_int;

    /// Takes a block out of it, if it is in it.
    fn take_out(block: &'static NotifierBlock<Self>);

    /// Returns the module that it tells of.
    ///
    /// # Safety
    ///
    /// `data` is what the chain has passed to a notifier that has not returned.
    unsafe fn module(data: *mut c_void) -> *mut bindings::module;
}

/// The chain of all modules.
pub(crate) struct AllModules;

impl ModuleChain for AllModules {
    fn add(block: &'static NotifierBlock<Self>) -> c_int {
        c::register_module_notifier(block)
    }

    fn take_out(block: &'static NotifierBlock<Self>) {
        c::unregister_module_notifier(block);
    }

    unsafe fn module(data: *mut c_void) -> *mut bindings::module {
        data.cast()
    }
}

/// The chain of modules with tracepoints.
pub(crate) struct TracedModules;

impl ModuleChain for TracedModules {
    fn add(block: &'static NotifierBlock<Self>) -> c_int {
        c::register_tracepoint_module_notifier(block)
    }

    fn take_out(block: &'static NotifierBlock<Self>) {
        c::unregister_tracepoint_module_notifier(block);
    }

    unsafe fn module(data: *mut c_void) -> *mut bindings::module {
        // SAFETY: This chain passes a `struct tp_module`, which stays until the notifier returns.
        unsafe { (*data.cast::<bindings::tp_module>()).mod_ }
    }
}

/// What the chain `C` has of a notifier.
///
/// # Invariants
///
/// Its function is one that may be called with what this chain passes.
#[repr(transparent)]
pub(crate) struct NotifierBlock<C>(UnsafeCell<bindings::notifier_block>, PhantomData<fn(C)>);

// SAFETY: Only the kernel changes the block, and does so under its own lock.
unsafe impl<C> Sync for NotifierBlock<C> {}

/// The notifier of an `F` in the chain `C`, a static.
pub(crate) struct ModuleNotifier<F, C = AllModules> {
    block: NotifierBlock<C>,
    follower: PhantomData<fn(F)>,
}

impl<F: ModuleFollower, C: ModuleChain> ModuleNotifier<F, C> {
    /// Returns one that is not registered.
    pub(crate) const fn new() -> Self {
        let block = bindings::notifier_block {
            notifier_call: Some(notify::<F, C>),
            next: ptr::null_mut(),
            priority: 0,
        };
        Self {
            // INVARIANT: `notify` is that of this chain.
            block: NotifierBlock(UnsafeCell::new(block), PhantomData),
            follower: PhantomData,
        }
    }

    /// Has the kernel call it as long as the result is there.
    ///
    /// # Errors
    ///
    /// `EEXIST` while there is a result.
    pub(crate) fn register(&'static self) -> Result<ModuleNotice<C>> {
        to_result(C::add(&self.block))?;
        Ok(ModuleNotice(&self.block))
    }
}

/// A notifier that is registered as long as this is there.
pub(crate) struct ModuleNotice<C: ModuleChain = AllModules>(&'static NotifierBlock<C>);

impl<C: ModuleChain> Drop for ModuleNotice<C> {
    fn drop(&mut self) {
        C::take_out(self.0);
    }
}

/// Has an `F` follow a module.
///
/// # Safety
///
/// Called by the chain `C`, for a module that stays during the call.
unsafe extern "C" fn notify<F: ModuleFollower, C: ModuleChain>(
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
    // SAFETY: The chain has passed the data, and waits for this call.
    let module = unsafe { C::module(data) };
    // SAFETY: The caller promises that the module stays during the call, and it is used no longer.
    if let Some(module) = unsafe { Object::at(module) } {
        F::follow(module, change);
    }
    bindings::NOTIFY_OK as c_int
}
