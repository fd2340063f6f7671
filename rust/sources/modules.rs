// SPDX-License-Identifier: GPL-2.0

//! Events that come and go with the kernel's modules.
//!
//! The kernel calls [`notify`] for each module with tracepoints, before the module's init runs and
//! after its exit, with its list of modules locked. Inside, [`GROUPS`] and what forgetting needs
//! are locked; no code takes the list's lock with one of these held.

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
        Module,
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
/// # Errors
///
/// `ENOMEM`, and `ENOSPC` when there are too many events.
fn coming(raw: RawWish, module: Module<'_>) -> Result {
    let mut coming = Coming {
        raw,
        module,
        headers: KVec::new(),
        wants_btf: false,
    };
    for kind in KINDS {
        kind.prepare(&mut coming)?;
    }
    let btf = match coming.wants_btf {
        true => ModuleBtf::read(module.name())?,
        false => Err(NoBtf::Hidden),
    };
    let mut is_second = false;
    groups::with_ids(|| {
        if core::mem::replace(&mut is_second, true) {
            // Those that were added before ids ran short get the same ones again.
            groups::unregister(module.as_ptr());
        }
        let _groups = GROUPS.lock();
        // The events that were made before memory ran short are offered.
        with_btf(&btf, |btf| {
            KINDS
                .iter()
                .try_for_each(|kind| kind.add_of_module(&coming, btf))
        })
    })
}

/// Calls `f` with the BTF of a module, or with the reason why there is none. Fails as `f` does.
fn with_btf(
    btf: &Result<ModuleBtf, NoBtf>,
    f: impl FnOnce(Result<Btf<'_>, NoBtf>) -> Result,
) -> Result {
    match btf {
        Ok(btf) => btf.with(f),
        Err(why) => f(Err(*why)),
    }
}

/// Adds or takes away the events of a module: the kernel calls it for every module with
/// tracepoints.
///
/// # Safety
///
/// `data` is a `struct tp_module`, whose module stays during the call.
unsafe extern "C" fn notify(
    _block: *mut bindings::notifier_block,
    state: c_ulong,
    data: *mut c_void,
) -> c_int {
    // SAFETY: The caller promises a `struct tp_module`.
    let module = unsafe { (*data.cast::<bindings::tp_module>()).mod_ };
    if state == bindings::module_state_MODULE_STATE_COMING as c_ulong {
        // SAFETY: The caller promises that the module stays during the call, and it is used no
        // longer.
        let module = unsafe { Module::new(module) };
        if let Some(module) = module {
            if let Err(error) = coming(WATCH.wish(), module) {
                pr_warn!("events of a module are missing: {error:?}\n");
            }
            groups::announce(module.name());
        }
    } else if state == bindings::module_state_MODULE_STATE_GOING as c_ulong
        && of_module(module).next().is_some()
    {
        groups::unregister(module);
    }
    bindings::NOTIFY_OK as c_int
}

/// The notifier that the kernel knows, and what it needs.
struct Watch {
    block: UnsafeCell<bindings::notifier_block>,
    /// [`RawWish`] as a number.
    wish: Atomic<u32>,
}

// SAFETY: Only the kernel changes the block, and does so under its own lock.
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
    /// Returns which raw events there are.
    fn wish(&self) -> RawWish {
        RawWish::from_number(self.wish.load(Relaxed) as u8)
    }
}

/// A watch over the kernel's modules, which lasts as long as this.
pub(crate) struct EventModuleWatch(());

impl EventModuleWatch {
    /// Begins to watch, with the modules that are there, too. Called once.
    ///
    /// # Errors
    ///
    /// What `register_tracepoint_module_notifier()` returns.
    pub(crate) fn new(wish: RawWish) -> Result<Self> {
        WATCH.wish.store(wish as u32, Relaxed);
        // SAFETY: The block is a static, so that it stays, and not registered: this is called once.
        to_result(unsafe { bindings::register_tracepoint_module_notifier(WATCH.block.get()) })?;
        Ok(Self(()))
    }
}

impl Drop for EventModuleWatch {
    fn drop(&mut self) {
        // The kernel calls `notify` for all modules as if they went, which takes their events away.
        // SAFETY: `new` registered the block, and this is the one that it returned.
        unsafe { bindings::unregister_tracepoint_module_notifier(WATCH.block.get()) };
    }
}
