// SPDX-License-Identifier: GPL-2.0

//! Events that come and go with the kernel's modules.
//!
//! The kernel calls [`notify`] for each module with tracepoints, before the module's init runs and after
//! its exit, with its list of modules locked. Inside, [`GROUPS`] and what forgetting needs are locked;
//! nobody takes the list's lock with one of these held.

use super::{
    Coming,
    RawWish,
    KINDS, //
};
use crate::{
    event::btf::Btf,
    events::{
        groups::{
            self,
            of_module, //
        },
        text,
        GROUPS, //
    },
    kapi::kernel_btf::{
        ModuleBtf,
        NoBtf, //
    }, //
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
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// Offers the events of a module that is being loaded.
///
/// # Safety
///
/// `module` stays during the call.
unsafe fn coming(raw: RawWish, module: *mut bindings::module) -> Result {
    let mut coming = Coming {
        raw,
        module,
        headers: KVec::new(),
        wants_btf: false,
    };
    for kind in KINDS {
        // SAFETY: The module stays, says the caller.
        unsafe { kind.prepare(&mut coming)? };
    }
    // SAFETY: The module stays, says the caller; its name is terminated.
    let name = unsafe { text((*module).name.as_ptr()) };
    let btf = match coming.wants_btf {
        true => ModuleBtf::read(name)?,
        false => Err(NoBtf::Hidden),
    };
    let _groups = GROUPS.lock();
    // Those that were made before the memory was short are offered.
    with_btf(&btf, |btf| {
        KINDS
            .iter()
            // SAFETY: The module stays, says the caller.
            .try_for_each(|kind| unsafe { kind.add_of_module(&coming, btf) })
    })
}

/// Calls `f` with the BTF of a module, or with the reason that there is none.
fn with_btf(
    btf: &Result<ModuleBtf, NoBtf>,
    f: impl FnOnce(Result<Btf<'_>, NoBtf>) -> Result,
) -> Result {
    match btf {
        Ok(btf) => btf.with(f),
        Err(why) => f(Err(*why)),
    }
}

/// What the kernel calls for every module with tracepoints.
///
/// # Safety
///
/// `data` is a `struct tp_module`, whose module stays during the call.
unsafe extern "C" fn notify(
    _block: *mut bindings::notifier_block,
    state: c_ulong,
    data: *mut c_void,
) -> c_int {
    // SAFETY: By the contract.
    let module = unsafe { (*data.cast::<bindings::tp_module>()).mod_ };
    if state == bindings::module_state_MODULE_STATE_COMING as c_ulong {
        // SAFETY: By the contract.
        let result = unsafe { coming(WATCH.wish(), module) };
        if let Err(error) = result {
            pr_warn!("events of a module are missing: {error:?}\n");
        }
    } else if state == bindings::module_state_MODULE_STATE_GOING as c_ulong
        && of_module(module).next().is_some()
    {
        groups::unregister(module);
    }
    bindings::NOTIFY_OK as c_int
}

/// What the kernel knows of us.
struct Watch {
    block: UnsafeCell<bindings::notifier_block>,
    /// [`RawWish`] as a number.
    wish: Atomic<u32>,
}

// SAFETY: The kernel changes the block under its own lock, and nobody else does.
unsafe impl Sync for Watch {}

static WATCH: Watch = Watch {
    block: UnsafeCell::new(bindings::notifier_block {
        notifier_call: Some(notify),
        next: ptr::null_mut(),
        priority: 0,
    }),
    wish: Atomic::new(0),
};

impl Watch {
    fn wish(&self) -> RawWish {
        RawWish::from_number(self.wish.load(Relaxed) as u8)
    }
}

/// Modules are watched while this exists.
pub(crate) struct ModuleWatch(());

impl ModuleWatch {
    /// Begins, also with the modules that are there. Called once.
    pub(crate) fn new(wish: RawWish) -> Result<Self> {
        WATCH.wish.store(wish as u32, Relaxed);
        // SAFETY: The block is a static, and not registered.
        to_result(unsafe { bindings::register_tracepoint_module_notifier(WATCH.block.get()) })?;
        Ok(Self(()))
    }
}

impl Drop for ModuleWatch {
    fn drop(&mut self) {
        // SAFETY: Registered by `new`. Takes away the events of all modules.
        unsafe { bindings::unregister_tracepoint_module_notifier(WATCH.block.get()) };
    }
}
