// SPDX-License-Identifier: GPL-2.0

//! The probes of kprobes and kretprobes. The kernel has them registered while the definition exists, and if they are
//! of a function of a module, while the module is there. So the kernel has said that the place may be probed, also of
//! one at the beginning of a function, which another hook calls (`entry_hook`): it stays disabled.
//!
//! [`rtrace_kprobe_hit`] runs in any context, NMI included: no lock, no allocation, no panic.

#![allow(improper_ctypes_definitions, reason = "see `probes::fastcall`")]

use super::{
    entry_hook::EntryCalls,
    hit_probe::{
        HitProbe,
        ProbeHook, //
    }, //
};
use crate::{
    events::as_text,
    fetch::{
        run::WORDS,
        step::MOST_KEPT, //
    },
    kapi::{
        kprobe::{
            KernelProbe,
            LeavingProbes,
            MOST_WORDS, //
        },
        percpu::PinRef, //
    }, //
};
use core::ptr;
use kernel::prelude::*;

/// The probe of a definition.
pub(super) type Kprobe = HitProbe<KprobeHook>;

/// Where a probe is to be.
pub(super) struct KprobePlace<'a> {
    /// If there is none, it is at the address.
    pub(super) symbol: Option<&'a str>,
    pub(super) address: u64,
    pub(super) offset: u32,
    /// At returns of the function, the number of calls at a time to follow; 0 leaves it to the kernel.
    pub(super) max_active: Option<u32>,
    /// Whether words of a call are kept until it returns.
    pub(super) keeps: bool,
}

impl KprobePlace<'_> {
    /// Returns a probe that is registered there; see [`KernelProbe::register`].
    pub(super) fn register(&self) -> Result<KernelProbe> {
        let returns = (self.max_active, self.keeps);
        KernelProbe::register(self.symbol, self.address, self.offset, returns)
    }
}

/// What has the kernel call it.
pub(super) struct KprobeHook {
    /// None while the module is not there.
    probe: Option<KernelProbe>,
    /// `MODULE:FUNCTION`, if the probe follows the module; otherwise empty.
    symbol: KVec<u8>,
    offset: u32,
    max_active: Option<u32>,
    keeps: bool,
    /// What the kernel has missed with those that went with the module.
    missed_before: u64,
    /// Calls the probe instead where a function calls hooks, and their registers are enough.
    entry: EntryCalls,
}

impl KprobeHook {
    /// Returns that of a probe that is registered at `place`, or is as soon as the module comes.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(probe: Option<KernelProbe>, place: &KprobePlace<'_>) -> Result<Self> {
        let mut symbol = KVec::new();
        if let Some(name) = place.symbol.filter(|name| name.contains(':')) {
            symbol.extend_from_slice(name.as_bytes(), GFP_KERNEL)?;
        }
        Ok(Self {
            probe,
            symbol,
            offset: place.offset,
            max_active: place.max_active,
            keeps: place.keeps,
            missed_before: 0,
            entry: EntryCalls::none(),
        })
    }

    /// Returns the place again.
    fn place(&self) -> KprobePlace<'_> {
        KprobePlace {
            symbol: Some(as_text(Some(&self.symbol))),
            address: 0,
            offset: self.offset,
            max_active: self.max_active,
            keeps: self.keeps,
        }
    }

    /// Gives the kernel's probe up, if there is one.
    fn forget_probe(&mut self) {
        self.entry.end();
        self.missed_before = self.all_missed();
        self.probe = None;
    }

    /// Returns how many hits the kernel has missed.
    fn all_missed(&self) -> u64 {
        let missed = self.probe.as_ref().map_or(0, KernelProbe::missed);
        self.missed_before.wrapping_add(missed)
    }

    /// Returns whether it follows the module `name`.
    fn is_of(&self, name: &str) -> bool {
        let symbol = as_text(Some(&self.symbol));
        symbol
            .split_once(':')
            .is_some_and(|(module, _)| module == name)
    }
}

impl ProbeHook for KprobeHook {
    const OWN_DEPTH: u32 = 1;

    unsafe fn enable(&mut self, probe: &Kprobe) -> Result {
        let Some(kernel) = &self.probe else {
            // The module is waited for.
            return Ok(());
        };
        if kernel.is_gone() {
            // As in ftrace: it has gone with a module that it does not name, and is not hit. Others of the event are.
            return Ok(());
        }
        if kernel.is_at_hook() && probe.recorder().layout().suits_hook() {
            let entry = &mut self.entry;
            // SAFETY: The caller promises that the probe stays, and with it the recorder.
            if unsafe { entry.begin(probe.recorder(), &[kernel.address()]) }.is_ok() {
                return Ok(());
            }
            // The kernel says what is wrong.
        }
        // SAFETY: The function expects a `Kprobe`, which the caller promises to stay.
        unsafe { kernel.enable(ptr::from_ref(probe).cast()) }
    }

    fn disable(&mut self) {
        if self.entry.end() {
            return;
        }
        if let Some(kernel) = &self.probe {
            kernel.disable();
        }
    }

    fn leave(self, leaving: &mut LeavingProbes) {
        if let Some(kernel) = self.probe {
            leaving.add(kernel);
        }
    }

    fn missed(&self) -> Option<u64> {
        Some(self.all_missed())
    }

    fn code_comes(probe: &Kprobe, name: &str) {
        probe.with_hook(|hook, is_used| {
            if !hook.is_of(name) {
                return;
            }
            // The kernel keeps none over the end of its module.
            hook.forget_probe();
            // As in ftrace, arguments are what they name by now.
            let found = probe.recorder().find_symbols();
            let registered = found.and_then(|()| hook.place().register());
            let enabled = registered.and_then(|kernel| {
                probe.set_address(kernel.address());
                hook.probe = Some(kernel);
                match is_used {
                    // SAFETY: The hook is this probe's, which has it until `clear`.
                    true => unsafe { hook.enable(probe) },
                    false => Ok(()),
                }
            });
            if let Err(error) = enabled {
                let symbol = as_text(Some(&hook.symbol));
                pr_warn!("{symbol} is not probed: {error:?}\n");
            }
        });
    }

    fn code_goes(probe: &Kprobe, name: &str) {
        probe.with_hook(|hook, _| {
            if hook.is_of(name) {
                hook.forget_probe();
            }
        });
    }
}

/// Records a hit of a probe. Any context.
///
/// # Safety
///
/// - `probe` is the one that the probe was enabled with.
/// - `words` are a `struct pt_regs` that does not change meanwhile; preemption is disabled.
/// - `kept` is null, or has what [`rtrace_kprobe_begin`] has written, which does not change meanwhile.
#[no_mangle]
unsafe extern "C" fn rtrace_kprobe_hit(
    probe: &Kprobe,
    words: &[u64; WORDS],
    returned_to: usize,
    kept: Option<&[u64; MOST_WORDS]>,
    pin: PinRef<'_>,
) {
    let place = (probe.address(), Some(returned_to as u64));
    let kept: &[u64] = match kept {
        Some(kept) => kept,
        None => &[],
    };
    probe.recorder().hit_call((words, kept), pin.pin(), place);
}

/// Keeps parameters of a call until it returns. Any context.
///
/// # Safety
///
/// - `probe` is the one that the probe was enabled with.
/// - `words` are a `struct pt_regs` that does not change meanwhile.
/// - There is room for [`MOST_WORDS`] words at `kept`, which nothing else uses meanwhile.
#[no_mangle]
unsafe extern "C" fn rtrace_kprobe_begin(
    probe: &Kprobe,
    words: &[u64; WORDS],
    kept: &mut [u64; MOST_WORDS],
) {
    const { assert!(MOST_KEPT <= MOST_WORDS) };
    probe.keep_call(words, kept);
}
