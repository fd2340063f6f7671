// SPDX-License-Identifier: GPL-2.0

//! Events that come and go with the kernel's modules.
//!
//! The kernel calls [`EventsOfModules::follow`] for each module with tracepoints, before the module's init runs and
//! after its exit, with its list of modules locked. Inside, [`GROUPS`] and what forgetting needs
//! are locked, and the definitions of dynamic events; no code takes the list's lock with one of these held.
//!
//! Lock: [`MODULES`], after those of definitions, instances and probes; inside it are only the kernel's.

use super::{
    code_watch,
    dynamic,
    ComingModule,
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
        GROUPS, //
    },
    kapi::{
        foreign::Object,
        global::free_if_empty,
        kernel_btf::{
            ModuleBtf,
            NoBtf, //
        },
        module_notifier::{
            ModuleChange,
            ModuleFollower,
            ModuleNotice,
            ModuleNotifier,
            TracedModules, //
        }, //
    }, //
};
use core::ptr::NonNull;
use kernel::{
    bindings,
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
/// The module is there: [`EventsOfModules`] takes it off the list before it goes.
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
        let module = Module::of(unsafe { Object::at(module.0.as_ptr()) }?);
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
    free_if_empty(&mut modules);
}

/// Offers the events of a module that is being loaded.
///
/// # Errors
///
/// `ENOMEM`, and `ENOSPC` when there are too many events.
fn coming(raw: RawWish, module: Module<'_>) -> Result {
    let mut coming = ComingModule {
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

/// Adds the events of a module, and takes them away.
struct EventsOfModules;

impl ModuleFollower for EventsOfModules {
    fn follow(module: &Object<bindings::module>, change: ModuleChange) {
        let module = Module::of(module);
        match change {
            ModuleChange::Comes => {
                let wish = RawWish::from_number(WISH.load(Relaxed) as u8);
                if let Err(error) = coming(wish, module) {
                    pr_warn!("events of a module are missing: {error:?}\n");
                }
                add(module);
                dynamic::module_comes(module);
                groups::announce(module.name());
            }
            ModuleChange::InitIsOver => {}
            ModuleChange::Goes => {
                // From here on no probe is put on its tracepoints.
                remove(module);
                dynamic::module_goes(module);
                if of_module(module.as_ptr()).next().is_some() {
                    groups::unregister(module.as_ptr());
                }
            }
        }
    }
}

static NOTIFIER: ModuleNotifier<EventsOfModules, TracedModules> = ModuleNotifier::new();

/// Which raw events there are, [`RawWish`] as a number.
static WISH: Atomic<u32> = Atomic::new(0);

/// A watch over the kernel's modules, which lasts as long as this. When it ends the kernel tells of all of them as if
/// they went, which takes their events away.
pub(crate) struct EventModuleWatch {
    // Dropped in this order.
    _events: ModuleNotice<TracedModules>,
    _code: ModuleNotice,
}

impl EventModuleWatch {
    /// Begins to watch, with the modules that are there, too.
    ///
    /// # Errors
    ///
    /// `EEXIST` while there is one.
    pub(crate) fn new(wish: RawWish) -> Result<Self> {
        WISH.store(wish as u32, Relaxed);
        let code = code_watch::begin()?;
        Ok(Self {
            _events: NOTIFIER.register()?,
            _code: code,
        })
    }
}
