// SPDX-License-Identifier: GPL-2.0

//! Functions that come and go with modules.
//!
//! The kernel calls [`notify`] when a module comes, when its init is over and when it goes: after the
//! functions can be traced, and before they cannot any more.

use super::{
    deepest,
    engine,
    graph,
    list,
    profile, //
};
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

/// What follows functions that come and go.
pub(crate) trait FollowsModules {
    /// Takes new functions in, of the module `name`.
    fn came(&self, name: &str);

    /// Forgets the functions that `is_gone` names: they cannot be traced any more.
    fn went(&self, is_gone: &dyn Fn(u64) -> bool);
}

/// Calls its argument for every instance.
pub(crate) type ForEach = fn(&dyn Fn(&dyn FollowsModules));

/// What has happened to a module.
enum Change {
    Comes,
    InitIsOver,
    Goes,
}

/// The notifier that the kernel knows, and how instances are found.
struct Notifier {
    block: UnsafeCell<bindings::notifier_block>,
}

// SAFETY: Only the kernel changes the block, and does so under its own lock.
unsafe impl Sync for Notifier {}

static NOTIFIER: Notifier = Notifier {
    block: UnsafeCell::new(bindings::notifier_block {
        notifier_call: Some(notify),
        next: ptr::null_mut(),
        priority: 0,
    }),
};

kernel::sync::global_lock! {
    // SAFETY: `ModuleWatch::new` initialises it before the notifier is registered.
    unsafe(uninit) static INSTANCES: Mutex<Option<ForEach>> = None;
}

/// A watch over the kernel's modules, which lasts as long as this. It goes after the instances, and with it
/// what is known of functions.
pub(crate) struct ModuleWatch(());

impl ModuleWatch {
    /// Begins to watch; `each` finds the instances.
    ///
    /// # Errors
    ///
    /// What `register_module_notifier()` returns.
    ///
    /// # Safety
    ///
    /// It is called once.
    pub(crate) unsafe fn new(each: ForEach) -> Result<Self> {
        // SAFETY: Called once, as the caller promises.
        unsafe { INSTANCES.init() };
        *INSTANCES.lock() = Some(each);
        // SAFETY: The block is a static, so that it stays, and not registered: this is called once.
        to_result(unsafe { c::register_module_notifier(NOTIFIER.block.get()) })?;
        Ok(Self(()))
    }
}

impl Drop for ModuleWatch {
    fn drop(&mut self) {
        // SAFETY: `new` registered the block, and this is the one that it returned.
        unsafe { c::unregister_module_notifier(NOTIFIER.block.get()) };
        // A static is not dropped with the module.
        engine::exit();
        graph::exit();
        profile::exit();
        deepest::exit();
        list::exit();
    }
}

/// Has all filters follow what has happened to a module.
///
/// # Safety
///
/// `data` is a `struct module`, which stays during the call.
unsafe extern "C" fn notify(
    _block: *mut bindings::notifier_block,
    state: c_ulong,
    data: *mut c_void,
) -> c_int {
    let change = match state as u32 {
        bindings::module_state_MODULE_STATE_COMING => Change::Comes,
        bindings::module_state_MODULE_STATE_LIVE => Change::InitIsOver,
        bindings::module_state_MODULE_STATE_GOING => Change::Goes,
        _ => return bindings::NOTIFY_OK as c_int,
    };
    // SAFETY: The caller promises a module that stays during the call, and it is used no longer.
    if let Some(module) = unsafe { Module::new(data.cast()) } {
        follow(module, change);
    }
    bindings::NOTIFY_OK as c_int
}

fn follow(module: Module<'_>, change: Change) {
    let Some(each) = *INSTANCES.lock() else {
        return;
    };
    // SAFETY: The module stays during the call, and only its addresses are compared.
    let within = |address: u64| unsafe { c::rt_within_module(module.as_ptr(), address as usize) };
    let within_init =
        // SAFETY: The module stays during the call, and only its addresses are compared.
        |address: u64| unsafe { c::rt_within_module_init(module.as_ptr(), address as usize) };
    match change {
        Change::Comes => {
            list::module_comes(module.name());
            each(&|all| all.came(module.name()));
        }
        Change::InitIsOver => {
            list::init_is_over();
            profile::forget(&within_init);
            each(&|all| all.went(&within_init));
        }
        Change::Goes => {
            if list::module_goes(module.name()).is_err() {
                pr_warn!(
                    "functions of {} may be listed for too long\n",
                    module.name()
                );
            }
            graph::forget(&within);
            profile::forget_hooks(&within);
            profile::forget(&within);
            each(&|all| all.went(&within));
        }
    }
}
