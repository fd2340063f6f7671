// SPDX-License-Identifier: GPL-2.0

//! The probes of watchpoints. The debug registers of all CPUs have one while its event is enabled somewhere; that of a
//! symbol of a module only while the module is there, too.
//!
//! [`rtrace_watch_hit`] runs in any context, as an NMI: no lock, no allocation, no panic. Meanwhile the kernel has the
//! CPU watch nothing, so that what it does itself is no access.

#![allow(improper_ctypes_definitions, reason = "see `probes::fastcall`")]

use super::hit_probe::{
    HitProbe,
    ProbeHook, //
};
use crate::{
    events::as_text,
    fetch::run::{
        IP,
        WORDS, //
    },
    kapi::{
        kprobe::{
            may_probe,
            symbol_address, //
        },
        percpu::PinRef,
        watchpoint::{
            WatchedBytes,
            Watchpoint, //
        }, //
    }, //
};
use core::ptr;
use kernel::prelude::*;

/// The probe of a definition. Its address is the one that is watched.
pub(super) type Wprobe = HitProbe<WatchHook>;

/// What has the kernel call it.
pub(super) struct WatchHook {
    watchpoint: Watchpoint,
    bytes: WatchedBytes,
    /// `MODULE:SYMBOL`, if the watchpoint follows the module; otherwise empty.
    symbol: KVec<u8>,
    offset: i32,
    /// The module is there.
    is_there: bool,
}

impl WatchHook {
    /// Returns that of a watchpoint on `bytes`, which are `offset` after `symbol` if that is one of a module.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(bytes: WatchedBytes, (symbol, offset): (KVec<u8>, i32)) -> Result<Self> {
        Ok(Self {
            watchpoint: Watchpoint::new()?,
            bytes,
            symbol,
            offset,
            is_there: true,
        })
    }

    /// Returns whether it follows the module `name`.
    fn is_of(&self, name: &str) -> bool {
        let symbol = as_text(Some(&self.symbol));
        symbol
            .split_once(':')
            .is_some_and(|(module, _)| module == name)
    }
}

impl ProbeHook for WatchHook {
    // The kernel counts an NMI.
    const OWN_DEPTH: u32 = 0;
    const MAY_BE_FOLLOWED: bool = true;

    unsafe fn enable(&mut self, probe: &Wprobe) -> Result {
        probe.recorder().find_symbols()?;
        may_probe()?;
        if !self.is_there {
            // The module is waited for.
            return Ok(());
        }
        // SAFETY: The function expects a `Wprobe`, which the caller promises to stay.
        unsafe { self.watchpoint.set(self.bytes, ptr::from_ref(probe).cast()) }
    }

    fn disable(&mut self) {
        self.watchpoint.clear();
    }

    fn code_comes(probe: &Wprobe, name: &str) {
        probe.with_hook(|hook, is_used| {
            if !hook.is_of(name) {
                return;
            }
            hook.watchpoint.clear();
            let symbol = as_text(Some(&hook.symbol));
            let Some(address) = symbol_address(symbol) else {
                pr_warn!("{symbol} is not watched: it is not there\n");
                return;
            };
            hook.bytes.address = address.wrapping_add_signed(hook.offset.into());
            hook.is_there = true;
            probe.set_address(hook.bytes.address);
            let enabled = match is_used {
                // SAFETY: The hook is this probe's, which has it until `clear`.
                true => unsafe { hook.enable(probe) },
                false => Ok(()),
            };
            if let Err(error) = enabled {
                let symbol = as_text(Some(&hook.symbol));
                pr_warn!("{symbol} is not watched: {error:?}\n");
            }
        });
    }

    fn code_goes(probe: &Wprobe, name: &str) {
        probe.with_hook(|hook, _| {
            if hook.is_of(name) {
                // Other data may be there later.
                hook.watchpoint.clear();
                hook.is_there = false;
            }
        });
    }
}

/// Records an access. Any context.
///
/// # Safety
///
/// - `probe` is the one that the watchpoint was set with.
/// - `words` are a `struct pt_regs` that does not change meanwhile; interrupts are disabled, and so preemption is.
#[no_mangle]
unsafe extern "C" fn rtrace_watch_hit(probe: &Wprobe, words: &[u64; WORDS], pin: PinRef<'_>) {
    const { assert!(IP < WORDS) };
    let instruction = words.get(IP).copied().unwrap_or(0);
    let kept: &[u64] = &[probe.address()];
    let recorder = probe.recorder();
    recorder.hit_call((words, kept), pin.pin(), (instruction, None));
}
