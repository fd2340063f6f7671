// SPDX-License-Identifier: GPL-2.0

//! Probes at any instruction of the kernel, and at returns of its functions.

use super::{
    c,
    foreign::{
        CText,
        FinalRef,
        Owned,
        Release, //
        TaskSharedObject,
    }, //
};
use kernel::{
    error::to_result,
    prelude::*,
    str::CString, //
};

/// So many probes are unregistered by one call.
const MOST_AT_ONCE: usize = 1 << 16;

/// Most words of a call that are kept from its beginning to its return.
pub(crate) const MOST_WORDS: usize = c::RT_KPROBE_WORDS as usize;

/// A registered probe; unregistered when this is dropped, which sleeps.
#[repr(transparent)]
pub(crate) struct KernelProbe(Owned<c::rt_kprobe>);

impl Release for c::rt_kprobe {
    fn release(ending: FinalRef<Self>) {
        c::rt_kprobe_put(ending);
    }
}

// SAFETY: No task owns a probe. By a reference the kernel is asked to change it, which it locks, or words are read.
unsafe impl TaskSharedObject for c::rt_kprobe {}

impl KernelProbe {
    /// Registers a probe that is not hit yet, at `offset` of a symbol or at `address` if there is none; at
    /// returns of the function if there is a number of calls at a time to follow, of which 0 means as many as
    /// the kernel likes. If `keeps` is set words of such a call can be kept. Process context.
    ///
    /// # Errors
    ///
    /// `ENOENT` when there is no such symbol, `EILSEQ` inside of an instruction, `EPERM` in a kernel that is
    /// locked down, `ENOMEM`, and `EINVAL` for other places where no probe can be.
    pub(crate) fn register(
        symbol: Option<&str>,
        address: u64,
        offset: u32,
        (max_active, keeps): (Option<u32>, bool),
    ) -> Result<Self> {
        let symbol = symbol.map(|symbol| CString::try_from_fmt(fmt!("{symbol}")));
        let symbol = symbol.transpose()?;
        let max_active = match max_active {
            Some(count) => c_int::try_from(count)?,
            None => -1,
        };
        let mut probe = None;
        to_result(c::rt_kprobe_register(
            symbol.as_deref().map(CText::from),
            address as usize,
            offset,
            max_active,
            keeps,
            &mut probe,
        ))?;
        probe.map(Self).ok_or(EINVAL)
    }

    /// Has `rtrace_kprobe_hit` be called with `data` from now on, and `rtrace_kprobe_begin` if words can be kept.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the module of the place is gone, `EPERM` in a kernel that is locked down.
    ///
    /// # Safety
    ///
    /// `data` is what they expect until [`Self::disable`] was called and a grace period has passed
    /// after that, or until this was dropped.
    pub(crate) unsafe fn enable(&self, data: *const c_void) -> Result {
        // SAFETY: The probe is registered as long as it is there; the caller promises what `data` is.
        to_result(unsafe { c::rt_kprobe_enable(self.0.as_ptr(), data) })
    }

    /// Has it be called no more. A call may still run until a grace period has passed.
    pub(crate) fn disable(&self) {
        c::rt_kprobe_disable(&self.0);
    }

    /// Returns the address of the probed instruction.
    pub(crate) fn address(&self) -> u64 {
        c::rt_kprobe_address(&self.0) as u64
    }

    /// Returns whether that is the first one of a function.
    pub(crate) fn is_at_entry(&self) -> bool {
        c::rt_kprobe_at_entry(&self.0)
    }

    /// Returns whether a function calls hooks there: a probe of calls, whose module has not gone.
    pub(crate) fn is_at_hook(&self) -> bool {
        c::rt_kprobe_at_hook(&self.0)
    }

    /// Returns whether the module of the place has gone, so that it cannot be enabled any more.
    pub(crate) fn is_gone(&self) -> bool {
        c::rt_kprobe_is_gone(&self.0)
    }

    /// Returns how many calls at a time are followed to their returns.
    pub(crate) fn max_active(&self) -> i32 {
        c::rt_kprobe_max_active(&self.0)
    }

    /// Returns how many hits were missed.
    pub(crate) fn missed(&self) -> u64 {
        c::rt_kprobe_missed(&self.0) as u64
    }
}

/// Probes that are unregistered together when this is dropped, which waits once for those at returns and once for the
/// others.
#[derive(Default)]
pub(crate) struct LeavingProbes {
    inside: KVec<KernelProbe>,
    at_returns: KVec<KernelProbe>,
}

impl LeavingProbes {
    /// Adds `probe`; without memory it is unregistered now.
    pub(crate) fn add(&mut self, probe: KernelProbe) {
        let all = match c::rt_kprobe_returns(&probe.0) {
            true => &mut self.at_returns,
            false => &mut self.inside,
        };
        let _ = all.push(probe, GFP_KERNEL);
    }
}

impl Drop for LeavingProbes {
    fn drop(&mut self) {
        for all in [&mut self.inside, &mut self.at_returns] {
            for part in all.chunks_mut(MOST_AT_ONCE) {
                // SAFETY: They are registered and of one kind, and there are that many, fewer than an `int` counts.
                // Each is a pointer, and this is the last use of it: none is dropped by itself.
                unsafe {
                    c::rt_kprobes_unregister(part.as_mut_ptr().cast(), part.len() as c_int);
                }
            }
            for probe in all.drain_all() {
                core::mem::forget(probe);
            }
        }
    }
}

/// Returns whether the kernel lets functions be probed.
///
/// # Errors
///
/// `EPERM` in a kernel that is locked down.
pub(crate) fn may_probe() -> Result {
    to_result(c::rt_kprobes_locked_down())
}

/// Returns the address of a symbol, of a function or of data. Process context.
pub(crate) fn symbol_address(name: &str) -> Option<u64> {
    let name = CString::try_from_fmt(fmt!("{name}")).ok()?;
    match c::rt_symbol_address((&*name).into()) {
        0 => None,
        address => Some(address as u64),
    }
}

/// Returns the offset of the address of the name in a `struct dentry`.
pub(crate) fn name_in_dentry() -> usize {
    c::rt_dentry_name()
}

/// Returns the offset of the address of its `struct dentry` in a `struct file`.
pub(crate) fn dentry_in_file() -> usize {
    c::rt_file_dentry()
}
