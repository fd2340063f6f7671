// SPDX-License-Identifier: GPL-2.0

//! The hooks at the beginning of the kernel's functions: which of them call them.
//!
//! The kernel calls one hook alone by a direct call; a second one on the same function makes it go through a
//! list. So there is one for all that the function tracers record, `probes::function`. The profiler, where it counts
//! calls and does nothing else, and the stack tracer have others, which look at nothing that recording needs; and the
//! events that users define have one for all of them, `sources::entry_hook`.

use super::{
    c,
    claim::{
        HookClaim,
        HookClaims, //
    }, //
};
use core::marker::PhantomData;
use kernel::{
    error::to_result,
    ffi::c_uint,
    prelude::*, //
};

/// Whether this kernel has hooks at the beginning of its functions.
pub(crate) const IS_THERE: bool = cfg!(CONFIG_DYNAMIC_FTRACE);

/// Whether a hook gets the registers of the arguments.
pub(crate) const HAS_ARGUMENTS: bool = IS_THERE && c::RT_HOOKS_HAVE_ARGS != 0;

/// Returns where the registers are, in the order of `struct pt_regs`: valid are those of arguments, `ax`, `bp` and
/// `sp`. Any context.
#[inline(always)]
pub(crate) fn registers(regs: *const c_void) -> *const c_void {
    regs.wrapping_byte_add(c::RT_REGS_FIRST as usize)
}

/// The bytes of the call of a hook at the beginning of a function.
pub(crate) const CALL: u64 = c::RT_HOOK_CALL as u64;

/// Returns whether `address` is in the code that the kernel has made to call the hook. Any context.
pub(crate) fn is_trampoline(address: u64) -> bool {
    c::rt_is_trampoline(address as usize)
}

/// The functions that call the hook.
pub(crate) enum HookedFunctions<'a> {
    /// Every function that can be traced, also those of modules that are loaded later.
    All,
    /// Those with these addresses, as the kernel lists them.
    Only(&'a [u64]),
}

/// Which hooks have a [`FunctionHook`] that was used.
static CLAIMS: HookClaims<{ c::RT_HOOKS as usize }> = HookClaims::none();

/// A hook, for the first value of that hook that is used.
pub(crate) struct FunctionHook {
    hook: HookClaim,
    is_on: bool,
}

/// The number of a hook, for a function of C that changes it.
///
/// # Invariants
///
/// It is that of a [`FunctionHook`], which nothing else uses during `'a`.
#[repr(transparent)]
pub(crate) struct HookTurn<'a>(c_uint, PhantomData<&'a mut FunctionHook>);

impl FunctionHook {
    /// Returns the hook that records, which no function calls.
    pub(crate) const fn of_records() -> Self {
        Self::of(c::RT_HOOK_RECORDS)
    }

    /// Returns the hook that counts, which no function calls.
    pub(crate) const fn of_counts() -> Self {
        Self::of(c::RT_HOOK_COUNTS)
    }

    /// Returns the hook that looks at stacks, which no function calls.
    pub(crate) const fn of_stacks() -> Self {
        Self::of(c::RT_HOOK_STACKS)
    }

    /// Returns the hook of events, which no function calls.
    pub(crate) const fn of_events() -> Self {
        Self::of(c::RT_HOOK_EVENTS)
    }

    const fn of(hook: c_uint) -> Self {
        Self {
            hook: HookClaim::of(hook),
            is_on: false,
        }
    }

    /// Returns its number, to change it.
    ///
    /// # Errors
    ///
    /// `EBUSY` if another value has the hook.
    fn turn(&mut self) -> Result<HookTurn<'_>> {
        let hook = self.hook.own(&CLAIMS)?;
        // INVARIANT: It is borrowed mutably, and the only value that has this number.
        Ok(HookTurn(hook, PhantomData))
    }

    /// Returns whether any function calls it.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Has these functions call the hook, and no others. Process context; takes milliseconds.
    ///
    /// # Errors
    ///
    /// `EINVAL` for no function at all or one that cannot be traced, `ENODEV` in a kernel without hooks, `EBUSY` if
    /// another value has the hook, `ENOMEM`. What called the hook before still does.
    pub(crate) fn set(&mut self, hooked: &HookedFunctions<'_>) -> Result {
        let result = self.select(hooked).and_then(|()| self.register());
        if result.is_err() && !self.is_on {
            self.forget();
        }
        result
    }

    /// Tells the kernel which functions shall call the hook, from now on if it is registered.
    fn select(&mut self, hooked: &HookedFunctions<'_>) -> Result {
        match hooked {
            HookedFunctions::All => to_result(c::rt_hook_select_all(self.turn()?)),
            // To the kernel, none would mean all.
            HookedFunctions::Only([]) => Err(EINVAL),
            HookedFunctions::Only(addresses) => {
                // The kernel counts them so.
                u32::try_from(addresses.len())?;
                to_result(c::rt_hook_select(self.turn()?, (*addresses).into()))
            }
        }
    }

    /// Registers the hook, unless it is already.
    fn register(&mut self) -> Result {
        if !self.is_on {
            to_result(c::rt_hook_register(self.turn()?))?;
            self.is_on = true;
        }
        Ok(())
    }

    /// Has the kernel forget what was selected. The hook is not registered.
    fn forget(&mut self) {
        if let Ok(turn) = self.turn() {
            c::rt_hook_forget(turn);
        }
    }

    /// Has no function call the hook. No call of it is left when this returns. Process context; sleeps.
    pub(crate) fn clear(&mut self) {
        if !self.is_on {
            return;
        }
        if let Ok(turn) = self.turn() {
            // The kernel refuses only what is not registered.
            c::rt_hook_unregister(turn);
            self.is_on = false;
            self.forget();
        }
    }
}
