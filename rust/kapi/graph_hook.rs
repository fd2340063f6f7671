// SPDX-License-Identifier: GPL-2.0

//! The hooks at entry and exit of the kernel's functions: sets of functions that call them.
//!
//! The kernel's fprobes are sets that cannot change while they are registered, so there are several of
//! them, each with a number. The hooks are told the number, and `probes::graph` decides which ones count. The
//! profiler has hooks and sets of its own, so that tracers do not look whether it is on.

use super::{
    c,
    claim::{
        HookClaim,
        HookClaims, //
    },
    clock, //
};
use kernel::{
    error::to_result,
    ffi::c_uint,
    prelude::*, //
};

/// Whether this kernel has such hooks.
pub(crate) const IS_THERE: bool = cfg!(CONFIG_FPROBE);

const SETS: usize = c::RT_GRAPH_PROBES as usize;
/// The functions of a set for which there is memory when there is little of it: the kernel wants 32
/// contiguous bytes for each.
const CHUNK: usize = 8000;

/// What the kernel keeps with a call until its exit.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum KeptCall {
    /// Two words that the hook at the entry leaves.
    Plain = c::RT_GRAPH_OF_CALL,
    /// These, and one of the task, for hooks of their own. Fewer calls fit.
    WithTask = c::RT_GRAPH_OF_TASK,
}

/// Which users have a [`GraphHooks`] that was used.
static CLAIMS: HookClaims<{ c::RT_GRAPH_USERS as usize }> = HookClaims::none();

/// The sets of one user, for the first value of that user that is used. A mask has one bit for each set.
///
/// # Invariants
///
/// No set is in use before `user` is claimed.
pub(crate) struct GraphHooks {
    user: HookClaim,
    /// The functions of each; none for one that is free.
    functions: [KVVec<u64>; SETS],
    /// Those whose hooks are [`KeptCall::WithTask`], one bit each.
    with_task: u64,
    /// Those that [`Self::forget`] has ended, one bit each: what hooks follow may name them until others were unhooked.
    ended: u64,
    /// That of the set that was registered last; 0 before the first.
    generation: u32,
}

impl GraphHooks {
    /// Returns the sets of tracers, all of which are free.
    pub(crate) const fn of_tracers() -> Self {
        Self::of(c::RT_GRAPH_OF_TRACERS)
    }

    /// Returns the sets of the profiler, all of which are free.
    pub(crate) const fn of_profiler() -> Self {
        Self::of(c::RT_GRAPH_OF_PROFILER)
    }

    const fn of(user: c_uint) -> Self {
        Self {
            user: HookClaim::of(user),
            functions: [const { KVVec::new() }; SETS],
            with_task: 0,
            ended: 0,
            generation: 0,
        }
    }

    /// Returns what the kernel keeps with calls of the functions in a set.
    pub(crate) fn kept(&self, number: u32) -> KeptCall {
        match self.with_task & 1u64.wrapping_shl(number) {
            0 => KeptCall::Plain,
            _ => KeptCall::WithTask,
        }
    }

    /// Returns the numbers of the sets that are in use, with their functions in ascending order.
    pub(crate) fn sets(&self) -> impl Iterator<Item = (u32, &[u64])> {
        let sets = (0..).zip(&self.functions);
        sets.filter(|(_, functions)| !functions.is_empty())
            .map(|(number, functions)| (number, functions.as_slice()))
    }

    /// Returns how many sets are free.
    pub(crate) fn free(&self) -> usize {
        let ended = self.ended.count_ones() as usize;
        SETS.saturating_sub(self.sets().count().saturating_add(ended))
    }

    /// Hooks functions, whose addresses are in ascending order, by the hooks for `kept`. Returns the mask of the
    /// new sets. Process context; takes milliseconds.
    ///
    /// # Errors
    ///
    /// `ENOENT` for an address that is none of a function that can be traced, `ENOSPC` without a free set,
    /// `ENODEV` in a kernel without hooks, `EBUSY` if another value has the sets, `ENOMEM`: nothing is hooked.
    pub(crate) fn hook(&mut self, functions: &[u64], kept: KeptCall) -> Result<u64> {
        match self.hook_set(functions, kept) {
            Err(error) if error == ENOMEM && functions.len() > CHUNK => {}
            result => return result,
        }
        let mut mask = 0;
        for functions in functions.chunks(CHUNK) {
            match self.hook_set(functions, kept) {
                Ok(set) => mask |= set,
                Err(error) => {
                    self.end_sets(mask);
                    return Err(error);
                }
            }
        }
        Ok(mask)
    }

    fn hook_set(&mut self, functions: &[u64], kept: KeptCall) -> Result<u64> {
        let count = i32::try_from(functions.len())?;
        let mut hooked = KVVec::with_capacity(functions.len(), GFP_KERNEL)?;
        hooked.extend_from_slice(functions, GFP_KERNEL)?;
        let ended = self.ended;
        let mut sets = (0u32..).zip(&mut self.functions);
        let free = sets.find(|(number, functions)| {
            functions.is_empty() && ended & 1u64.wrapping_shl(*number) == 0
        });
        let Some((number, place)) = free else {
            return Err(ENOSPC);
        };
        if self.generation == 0 {
            // A call that has not returned may know a set of this module as it was loaded before.
            self.generation = (clock::tsc() >> 12) as u32;
        }
        self.generation = self.generation.wrapping_add(1) & 0xffff;
        let (kind, first) = (kept as c_uint, hooked.as_mut_ptr().cast());
        let user = self.user.own(&CLAIMS)?;
        // SAFETY: The number is that of a set of this user, which no other value has, and free, which `&mut self` keeps
        // it, and there are that many addresses, which the kernel copies.
        let registered =
            unsafe { c::rt_graph_register(user, kind, number, self.generation, first, count) };
        to_result(registered)?;
        *place = hooked;
        let bit = 1u64.wrapping_shl(number);
        self.with_task = match kept {
            KeptCall::Plain => self.with_task & !bit,
            KeptCall::WithTask => self.with_task | bit,
        };
        Ok(bit)
    }

    /// Ends the hooks of the sets in `mask`. No hook of them runs when this returns. What hooks follow by now names none of
    /// these sets, and none that has ended before. Process context; sleeps.
    pub(crate) fn unhook(&mut self, mask: u64) {
        self.end_sets(mask);
        self.ended = 0;
    }

    /// Ends the hooks of the sets in `mask`.
    fn end_sets(&mut self, mask: u64) {
        let Ok(user) = self.user.own(&CLAIMS) else {
            return;
        };
        for (number, functions) in (0..).zip(&mut self.functions) {
            if mask & 1u64.wrapping_shl(number) != 0 && !functions.is_empty() {
                Self::end(user, number, functions);
            }
        }
    }

    /// Ends the hooks of the set `number`, which has these functions.
    fn end(user: c_uint, number: u32, functions: &mut KVVec<u64>) {
        // The kernel refuses one that is not registered.
        c::rt_graph_unregister(user, number);
        *functions = KVVec::new();
    }

    /// Forgets functions that the kernel has taken out of the sets: those of a module that goes.
    pub(crate) fn forget(&mut self, is_gone: &dyn Fn(u64) -> bool) {
        let Ok(user) = self.user.own(&CLAIMS) else {
            return;
        };
        for (number, functions) in (0..).zip(&mut self.functions) {
            let is_any = functions.iter().any(|address| is_gone(*address));
            if !is_any {
                continue;
            }
            if functions.iter().all(|address| is_gone(*address)) {
                Self::end(user, number, functions);
                self.ended |= 1u64.wrapping_shl(number);
            } else {
                functions.retain(|address| !is_gone(*address));
            }
        }
    }
}
