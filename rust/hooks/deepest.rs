// SPDX-License-Identifier: GPL-2.0

//! The stack tracer: at which functions it looks, and the deepest stack that was seen. Process context.
//!
//! There is one for the module, as in ftrace. Its rows are made when they are first needed and stay, with what was
//! seen, also while nothing looks for a deeper stack.

use super::engine::WantedFunctions;
use crate::{
    kapi::{
        c,
        function_hook::{
            FunctionHook,
            HookedFunctions, //
        },
        publisher::Publisher,
        stack, //
    },
    probes::{
        DeepestStack, //
        DEEPEST,
    },
};
use kernel::prelude::*;

/// The stack tracer.
struct StackEngine {
    hook: FunctionHook,
    deepest: Publisher<DeepestStack>,
}

crate::kapi::global::global_mutex! {
    static ENGINE: Mutex<StackEngine> = StackEngine {
        hook: FunctionHook::of_stacks(),
        deepest: Publisher::of(&DEEPEST),
    };
}

impl StackEngine {
    /// Returns where the deepest stack is noted, which is made if there is no such place.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn deepest(&mut self) -> Result<&DeepestStack> {
        if self.deepest.get().is_none() {
            let deepest = KBox::new(DeepestStack::new()?, GFP_KERNEL)?;
            drop(self.deepest.set(Some(deepest)));
        }
        self.deepest.get().ok_or(ENOMEM)
    }

    /// Has the functions `wanted` call the hook, and no others.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel: the same call it as before.
    fn hook(&mut self, wanted: &WantedFunctions) -> Result {
        match wanted {
            WantedFunctions::All => self.hook.set(&HookedFunctions::All),
            WantedFunctions::Only(addresses) if addresses.is_empty() => {
                self.hook.clear();
                Ok(())
            }
            WantedFunctions::Only(addresses) => self.hook.set(&HookedFunctions::Only(addresses)),
        }
    }
}

/// Begins to look at the calls of the functions `wanted`.
///
/// # Errors
///
/// `ENOMEM`, and those of the kernel: nothing is looked at.
pub(super) fn start(wanted: &WantedFunctions) -> Result {
    stack::prepare()?;
    let mut engine = ENGINE.lock();
    engine.deepest()?;
    engine.hook(wanted)
}

/// Looks at the calls of the functions `wanted`, and of no others from now on.
///
/// # Errors
///
/// `ENOMEM`, and those of the kernel: the same are looked at as before.
pub(super) fn change(wanted: &WantedFunctions) -> Result {
    ENGINE.lock().hook(wanted)
}

/// Ends that. No hook looks at stacks when this returns; what was seen stays.
pub(super) fn stop() {
    ENGINE.lock().hook.clear();
}

/// Returns how deep the deepest stack is, in bytes.
pub(crate) fn stack_max() -> u64 {
    let engine = ENGINE.lock();
    engine.deepest.get().map_or(0, |deepest| deepest.max())
}

/// Has stacks be seen that are deeper than this, in bytes.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn set_stack_max(bytes: u64) -> Result {
    let mut engine = ENGINE.lock();
    let deepest = engine.deepest()?;
    while !deepest.try_set_max(bytes) {
        c::rt_cond_resched();
    }
    Ok(())
}

/// Returns the rows of the deepest stack, the deepest first: an address, and how many bytes are used up to it.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn stack_rows() -> Result<KVec<(u64, u64)>> {
    let mut rows = KVec::with_capacity(DeepestStack::most_rows(), GFP_KERNEL)?;
    let engine = ENGINE.lock();
    if let Some(deepest) = engine.deepest.get() {
        while !deepest.try_copy(&mut rows) {
            c::rt_cond_resched();
        }
    }
    Ok(rows)
}

/// Gives back the memory. The stack tracer has ended.
pub(super) fn exit() {
    drop(ENGINE.lock().deepest.set(None));
}
