// SPDX-License-Identifier: GPL-2.0

//! The probes of functions that users have defined: at the beginning or at the return of those whose names match.
//! Which these are is asked each time the event is enabled somewhere for the first time.
//!
//! [`rtrace_function_hit`] and those of the beginning run in any context: no lock, no allocation, no panic.

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
        step::KeptParameters, //
    },
    kapi::{
        fprobe::{
            self,
            FunctionProbe, //
        },
        late::Unloading,
        percpu::PinRef, //
    }, //
};
use core::{
    ptr,
    slice, //
};
use kernel::prelude::*;

const _: () = assert!(crate::fetch::step::MOST_KEPT == fprobe::MOST_WORDS);

/// Returns where the functions of a name that matches call hooks.
pub(crate) type FindFunctions = fn(&str) -> Result<KVVec<u64>>;

crate::kapi::global::global_mutex! {
    static FUNCTIONS: Mutex<Option<FindFunctions>> = None;
}

/// Sets how functions are found.
pub(crate) fn set_functions(find: FindFunctions) {
    *FUNCTIONS.lock() = Some(find);
}

/// Returns where the functions whose names match `pattern` call hooks. Process context; may take a second.
///
/// # Errors
///
/// `ENOENT` when there is none, `ENOMEM`, and those of reading the kernel's list.
pub(super) fn functions(pattern: &str) -> Result<KVVec<u64>> {
    let find = *FUNCTIONS.lock();
    let found = find.ok_or(ENODEV)?(pattern)?;
    match found.is_empty() {
        true => Err(ENOENT),
        false => Ok(found),
    }
}

/// Frees what was kept of probes; none is left.
pub(super) fn exit(unloading: &Unloading) {
    fprobe::exit(unloading);
}

/// The probe of a definition.
pub(super) type Fprobe = HitProbe<FprobeHook>;

/// Functions, by a pattern of their names.
pub(super) struct FprobeHook {
    pattern: KVec<u8>,
    /// At returns, and where hooks get no arguments.
    probe: FunctionProbe,
    entry: EntryCalls,
    /// Parameters that returns record; `None` at the beginning.
    kept: Option<KeptParameters>,
}

impl FprobeHook {
    /// Returns that of functions whose names match.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(pattern: &str, kept: Option<KeptParameters>) -> Result<Self> {
        let mut text = KVec::new();
        text.extend_from_slice(pattern.as_bytes(), GFP_KERNEL)?;
        Ok(Self {
            pattern: text,
            probe: FunctionProbe::new(kept.is_some())?,
            entry: EntryCalls::none(),
            kept,
        })
    }
}

impl ProbeHook for FprobeHook {
    // Once more at the beginning while others hook the function, too.
    const OWN_DEPTH: u32 = 1;
    const MAY_BE_FOLLOWED: bool = true;

    unsafe fn enable(&mut self, probe: &Fprobe) -> Result {
        probe.recorder().find_symbols()?;
        let mut addresses = functions(as_text(Some(&self.pattern)))?;
        let known = probe.recorder().layout().functions.as_ref();
        if let Some(known) = known {
            addresses.retain(|address| known.has(*address));
            if addresses.is_empty() {
                return Err(ENOENT);
            }
        }
        let words = self.kept.as_ref().map(|kept| kept.places().len());
        // SAFETY: The caller promises that the probe stays, and with it the recorder.
        if words.is_none() && unsafe { self.entry.begin(probe.recorder(), &addresses) }.is_ok() {
            return Ok(());
        }
        // The kernel says what is wrong.
        let data = ptr::from_ref(probe).cast();
        // SAFETY: The functions expect a `Fprobe`, which the caller promises to stay.
        unsafe {
            self.probe
                .register(data, (words, known.is_some()), &mut addresses)
        }
    }

    fn disable(&mut self) {
        self.entry.end();
        self.probe.unregister();
    }

    fn missed(&self) -> Option<u64> {
        Some(self.probe.missed())
    }
}

/// Records a hit of a probe. Any context.
///
/// # Safety
///
/// - `probe` is the one that the probe was registered with.
/// - `words` are a `struct pt_regs` that does not change meanwhile; preemption is disabled.
/// - For a return `kept` has as many words as the probe was registered with, which do not change meanwhile; else it
///   is null.
#[no_mangle]
unsafe extern "C" fn rtrace_function_hit(
    probe: &Fprobe,
    function: usize,
    returned_to: usize,
    words: &[u64; WORDS],
    kept: *const u64,
    pin: PinRef<'_>,
) {
    let place = (function as u64, Some(returned_to as u64));
    let kept: &[u64] = match kept.is_null() {
        true => &[],
        // SAFETY: The caller promises as many words as the probe keeps, which do not change meanwhile.
        false => unsafe { slice::from_raw_parts(kept, probe.kept().len()) },
    };
    probe.recorder().hit_call((words, kept), pin.pin(), place);
}

/// Keeps parameters of a call until it returns. Any context.
///
/// # Safety
///
/// - `probe` is the one that the probe was registered with.
/// - `words` are a `struct pt_regs` that does not change meanwhile.
/// - There is room for as many words at `kept` as the probe was registered with, which nothing else uses meanwhile.
#[no_mangle]
unsafe extern "C" fn rtrace_function_begin(probe: &Fprobe, words: &[u64; WORDS], kept: *mut u64) {
    // SAFETY: The caller promises room for as many words as the probe keeps, which nothing else uses.
    let kept = unsafe { slice::from_raw_parts_mut(kept, probe.kept().len()) };
    probe.keep_call(words, kept);
}

/// As [`rtrace_function_begin`], of a definition on several functions, each of which has the parameters at places of its
/// own.
///
/// # Safety
///
/// As for [`rtrace_function_begin`].
#[no_mangle]
unsafe extern "C" fn rtrace_function_begin_at(
    probe: &Fprobe,
    function: usize,
    words: &[u64; WORDS],
    kept: *mut u64,
) {
    let functions = probe.recorder().layout().functions.as_ref();
    let places = functions.map_or_else(Default::default, |all| all.places(function as u64));
    // SAFETY: The caller promises room for as many words as the probe keeps, which nothing else uses.
    let kept = unsafe { slice::from_raw_parts_mut(kept, probe.kept().len()) };
    probe.keep_placed(words, kept, places);
}
