// SPDX-License-Identifier: GPL-2.0

//! Probes in the code of modules, and the events that it writes itself, which come and go with them, whether they have
//! tracepoints or not.
//!
//! When a module comes or goes the definitions of dynamic events are locked, and a probe.

use super::{
    direct_event,
    dynamic,
    entry_hook, //
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
        },
        stack, //
    }, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// Has the probes follow modules.
struct ProbedCode;

impl ModuleFollower for ProbedCode {
    fn follow(module: &Object<bindings::module>, change: ModuleChange) {
        let module = Module::of(module);
        match change {
            ModuleChange::Comes => dynamic::code_comes(module.name()),
            ModuleChange::InitIsOver => {
                entry_hook::forget(&|address| module.contains_init(address));
                stack::code_went();
            }
            ModuleChange::Goes => {
                direct_event::module_goes(module);
                dynamic::code_goes(module.name());
                entry_hook::forget(&|address| module.contains(address));
                stack::code_went();
            }
        }
    }
}

static NOTIFIER: ModuleNotifier<ProbedCode> = ModuleNotifier::new();

/// Begins to watch the code of modules, as long as the result is there.
///
/// # Errors
///
/// `EEXIST` while there is one.
pub(super) fn begin() -> Result<ModuleNotice> {
    NOTIFIER.register()
}
