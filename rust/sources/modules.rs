// SPDX-License-Identifier: GPL-2.0

//! Events that come and go with the kernel's modules.
//!
//! The kernel calls [`notify`] for each module with tracepoints, before the module's init runs and
//! after its exit, with its list of modules locked. Inside, [`GROUPS`] and what forgetting needs
//! are locked, and the definitions of dynamic events; no code takes the list's lock with one of these held.
//!
//! Lock: [`MODULES`], after those of definitions, instances and probes; inside it are only the kernel's.

use super::{
    code_watch,
    dynamic,
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
        tracepoints::{
            self,
            Tracepoint, //
        },
        Module,
        ModuleNotice,
        NotifierBlock,
        GROUPS, //
    },
    kapi::kernel_btf::{
        ModuleBtf,
        NoBtf, //
    }, //
};
use core::ptr::NonNull;
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

/// A module with tracepoints.
///
/// # Invariants
///
/// The module is there: [`notify`] takes it off the list before it goes.
struct TracepointModule(NonNull<bindings::module>);

// SAFETY: A module belongs to no task.
unsafe impl Send for TracepointModule {}

crate::kapi::global::global_mutex! {
    static MODULES: Mutex<KVec<TracepointModule>> = KVec::new();
}

/// Calls `f` with the tracepoint of that name, and with the module that has it, which stays meanwhile; `None` when
/// there is none. `f` locks nothing of this module. Process context.
pub(super) fn with_tracepoint<R>(
    name: &str,
    f: impl FnOnce(Tracepoint<'_>, Option<Module<'_>>) -> R,
) -> Option<R> {
    if let Some(tracepoint) = tracepoints::find(name) {
        return Some(f(tracepoint, None));
    }
    let modules = MODULES.lock();
    let found = modules.iter().find_map(|module| {
        // SAFETY: The module is there (invariant) while it is on the list, which is locked.
        let module = unsafe { Module::new(module.0.as_ptr()) }?;
        let mut tracepoints = module.tracepoints();
        let tracepoint = tracepoints.find(|tracepoint| tracepoint.name() == name)?;
        Some((tracepoint, module))
    });
    found.map(|(tracepoint, module)| f(tracepoint, Some(module)))
}

/// Puts a module on the list. It stays until [`remove`].
fn add(module: Module<'_>) {
    let Some(pointer) = NonNull::new(module.as_ptr()) else {
        return;
    };
    // INVARIANT: The module is there, and `remove` is called before it goes.
    if MODULES
        .lock()
        .push(TracepointModule(pointer), GFP_KERNEL)
        .is_err()
    {
        pr_warn!(
            "no event can be defined on tracepoints of {}\n",
            module.name()
        );
    }
}

/// Takes a module off the list.
fn remove(module: Module<'_>) {
    let mut modules = MODULES.lock();
    modules.retain(|known| known.0.as_ptr() != module.as_ptr());
    if modules.is_empty() {
        // The list outlives this module, its memory must not.
        *modules = KVec::new();
    }
}

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
    // SAFETY: The caller promises that the module stays during the call, and it is used no longer.
    let Some(module) = (unsafe { Module::new(module) }) else {
        return bindings::NOTIFY_OK as c_int;
    };
    if state == bindings::module_state_MODULE_STATE_COMING as c_ulong {
        if let Err(error) = coming(WATCH.wish(), module) {
            pr_warn!("events of a module are missing: {error:?}\n");
        }
        add(module);
        dynamic::module_comes(module);
        groups::announce(module.name());
    } else if state == bindings::module_state_MODULE_STATE_GOING as c_ulong {
        // From here on no probe is put on its tracepoints.
        remove(module);
        dynamic::module_goes(module);
        if of_module(module.as_ptr()).next().is_some() {
            groups::unregister(module.as_ptr());
        }
    }
    bindings::NOTIFY_OK as c_int
}

/// The notifier that the kernel knows, and what it needs.
struct Watch {
    block: NotifierBlock,
    /// [`RawWish`] as a number.
    wish: Atomic<u32>,
}

static WATCH: Watch = Watch {
    block: NotifierBlock::new(Some(notify)),
    wish: Atomic::new(0),
};

impl Watch {
    /// Returns which raw events there are.
    fn wish(&self) -> RawWish {
        RawWish::from_number(self.wish.load(Relaxed) as u8)
    }
}

/// A watch over the kernel's modules, which lasts as long as this.
pub(crate) struct EventModuleWatch {
    _code: ModuleNotice,
}

impl EventModuleWatch {
    /// Begins to watch, with the modules that are there, too. Called once.
    ///
    /// # Errors
    ///
    /// What the kernel says to its notifiers.
    pub(crate) fn new(wish: RawWish) -> Result<Self> {
        WATCH.wish.store(wish as u32, Relaxed);
        let code = code_watch::begin()?;
        // SAFETY: The block is a static, so that it stays. The kernel refuses one that is registered.
        to_result(unsafe { bindings::register_tracepoint_module_notifier(WATCH.block.get()) })?;
        Ok(Self { _code: code })
    }
}

impl Drop for EventModuleWatch {
    fn drop(&mut self) {
        // The kernel calls `notify` for all modules as if they went, which takes their events away.
        // SAFETY: `new` registered the block, and this is the one that it returned.
        unsafe { bindings::unregister_tracepoint_module_notifier(WATCH.block.get()) };
    }
}
