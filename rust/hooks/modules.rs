// SPDX-License-Identifier: GPL-2.0

//! Functions that come and go with modules.
//!
//! The kernel tells when a module comes, when its init is over and when it goes: after the functions can be traced, and
//! before they cannot any more.

use super::{
    deepest,
    engine,
    graph,
    list,
    profile, //
};
use crate::{
    events::Module,
    kapi::{
        foreign::Object,
        module_notifier::{
            ModuleChange,
            ModuleFollower,
            ModuleNotice,
            ModuleNotifier, //
        }, //
    }, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// What follows functions that come and go.
pub(crate) trait FunctionsFollower {
    /// Takes new functions in, of the module `name`.
    fn came(&self, name: &str);

    /// Forgets the functions that `is_gone` names: they cannot be traced any more.
    fn went(&self, is_gone: &dyn Fn(u64) -> bool);
}

/// Calls its argument for every instance.
pub(crate) type InstanceVisitor = fn(&dyn Fn(&dyn FunctionsFollower));

/// Has all that is known of functions follow modules.
struct FunctionsOfModules;

impl ModuleFollower for FunctionsOfModules {
    fn follow(module: &Object<bindings::module>, change: ModuleChange) {
        follow(Module::of(module), change);
    }
}

static NOTIFIER: ModuleNotifier<FunctionsOfModules> = ModuleNotifier::new();

crate::kapi::global::global_mutex! {
    static INSTANCES: Mutex<Option<InstanceVisitor>> = None;
}

/// A watch over the kernel's modules, which lasts as long as this. It goes after the instances, and with it
/// what is known of functions.
pub(crate) struct ModuleWatch {
    // Dropped in this order.
    _notice: ModuleNotice,
    _known: KnownFunctions,
}

impl ModuleWatch {
    /// Begins to watch; `each` finds the instances.
    ///
    /// # Errors
    ///
    /// `EEXIST` while there is one.
    pub(crate) fn new(each: InstanceVisitor) -> Result<Self> {
        *INSTANCES.lock() = Some(each);
        Ok(Self {
            _notice: NOTIFIER.register()?,
            _known: KnownFunctions,
        })
    }
}

/// What is known of functions, until this is dropped: a static is not dropped with the module.
struct KnownFunctions;

impl Drop for KnownFunctions {
    fn drop(&mut self) {
        engine::exit();
        graph::exit();
        profile::exit();
        deepest::exit();
        list::exit();
    }
}

fn follow(module: Module<'_>, change: ModuleChange) {
    let Some(each) = *INSTANCES.lock() else {
        return;
    };
    let within = |address: u64| module.contains(address);
    let within_init = |address: u64| module.contains_init(address);
    match change {
        ModuleChange::Comes => {
            list::module_comes(module.name());
            each(&|all| all.came(module.name()));
        }
        ModuleChange::InitIsOver => {
            if list::init_is_over(module.name(), module.init_code()).is_err() {
                pr_warn!(
                    "functions of the init of {} may be listed for too long\n",
                    module.name()
                );
            }
            profile::forget(&within_init);
            each(&|all| all.went(&within_init));
        }
        ModuleChange::Goes => {
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
