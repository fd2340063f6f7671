// SPDX-License-Identifier: GPL-2.0

//! Probes at the beginning and at returns of the kernel's functions.

use super::{
    c,
    foreign::{
        FinalRef,
        Owned,
        Release, //
        TaskSharedObject,
    },
    grace::{
        self,
        SharedWait, //
    },
    late::Unloading, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// Whether this kernel has such probes.
pub(crate) const IS_THERE: bool = cfg!(CONFIG_FPROBE);

/// Most words of a call that are kept from its beginning to its return.
pub(crate) const MOST_WORDS: usize = c::RT_FPROBE_WORDS as usize;

/// Those that were unregistered.
static UNREGISTERED: SharedWait = SharedWait::new();

/// A probe of functions; unregistered when this is dropped, which sleeps.
///
/// # Invariants
///
/// The probe is registered if `is_registered` is set. Unless `left` has its number among those that were unregistered,
/// the kernel does not use it when it is not registered.
pub(crate) struct FunctionProbe {
    probe: Owned<c::rt_fprobe>,
    is_registered: bool,
    left: Option<u64>,
}

impl Release for c::rt_fprobe {
    fn release(ending: FinalRef<Self>) {
        c::rt_fprobe_put(ending);
    }
}

// SAFETY: No task owns a probe, which is only read by what takes a reference.
unsafe impl TaskSharedObject for c::rt_fprobe {}

impl FunctionProbe {
    /// Returns one that is not registered, of returns or of beginnings. Process context.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(is_of_returns: bool) -> Result<Self> {
        // INVARIANT: It is not registered.
        Ok(Self {
            probe: c::rt_fprobe_get(is_of_returns).ok_or(ENOMEM)?,
            is_registered: false,
            left: None,
        })
    }

    /// Has `rtrace_function_hit` be called with `data` at the beginning of functions, whose calls of hooks are at
    /// these addresses; at their returns if there is a number of words of a call that are kept until then, by
    /// `rtrace_function_begin_at` if they are where each function has them.
    ///
    /// # Errors
    ///
    /// `ENOENT` when there is no such function, `EPERM` in a kernel that is locked down, `EINVAL` for a probe that was
    /// made for the other end of calls, `ENOMEM`.
    ///
    /// # Safety
    ///
    /// `data` is what that function and those of the beginning expect until [`Self::unregister`] was called and a
    /// grace period has passed after that, or until this was dropped and one has passed.
    pub(crate) unsafe fn register(
        &mut self,
        data: *const c_void,
        (words, placed): (Option<usize>, bool),
        addresses: &mut [u64],
    ) -> Result {
        self.release();
        let words = match words {
            Some(words) if words <= MOST_WORDS => words as c_int,
            Some(_) => return Err(E2BIG),
            None => -1,
        };
        let count = c_int::try_from(addresses.len())?;
        let first = addresses.as_mut_ptr().cast();
        // SAFETY: The probe is not registered, as is so again before it goes, in `drop`; there are that many addresses,
        // which the kernel copies. The caller promises what `data` is.
        to_result(unsafe {
            c::rt_fprobe_register(self.probe.as_ptr(), data, words, placed, first, count)
        })?;
        // INVARIANT: It was registered just now.
        self.is_registered = true;
        Ok(())
    }

    /// Has it be called no more. A call may still run until a grace period has passed. Sleeps.
    pub(crate) fn unregister(&mut self) {
        if core::mem::take(&mut self.is_registered) {
            c::rt_fprobe_unregister(&self.probe);
            // INVARIANT: That is its number.
            self.left = Some(UNREGISTERED.leave());
        }
    }

    /// Returns how many calls the kernel has missed because too many were inside each other.
    pub(crate) fn missed(&self) -> u64 {
        c::rt_fprobe_missed(&self.probe) as u64
    }

    /// Unregisters it and waits until no call of it runs.
    fn release(&mut self) {
        self.unregister();
        if let Some(number) = self.left.take() {
            UNREGISTERED.pass(number, grace::writers_left);
        }
    }
}

impl Drop for FunctionProbe {
    /// Has nothing use it before it is given back.
    fn drop(&mut self) {
        self.release();
    }
}

/// Frees what was kept of probes.
pub(crate) fn exit(_: &Unloading) {
    // SAFETY: No probe is left and no call of one runs (invariant of `Unloading`), so that all were put.
    unsafe { c::rt_fprobe_exit() };
}
