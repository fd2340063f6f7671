// SPDX-License-Identifier: GPL-2.0

//! Switches of CPUs from one task to another, told to those parts of the module that are told of all of them: names of
//! tasks, and what takes a CPU.
//!
//! A tracepoint calls its only probe directly. For several it goes through a list, which takes as long as most of them:
//! so the parts share one, in C (shim/switches.c), which calls a function of each.

use super::attached::{
    Attached,
    DetachBarrier,
    Probe,
    RECORDING, //
};
use crate::{
    kapi::{
        c,
        words::SharedU64, //
    },
    ring::port::SharedWord, //
};
use kernel::prelude::*;

/// The probe, and how many use it.
struct SharedProbe {
    users: usize,
    probe: Option<Attached>,
}

crate::kapi::global::global_mutex! {
    static PROBE: Mutex<SharedProbe> = SharedProbe { users: 0, probe: None };
}

/// Whether there is a [`NoiseSwitches`]: not 0.
static NOISE: SharedU64 = SharedU64::zero();

/// Switches are told of while this exists. Dropping it waits until none is told that was before.
pub(crate) struct SwitchUse {
    // Dropped after `drop`.
    _after: DetachBarrier,
}

impl SwitchUse {
    /// Begins to use the probe. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `ENODEV` when the kernel has no such event, `ENOMEM`.
    pub(super) fn begin() -> Result<Self> {
        let mut shared = PROBE.lock();
        if shared.probe.is_none() {
            let function = c::rt_switch as *mut c_void;
            // SAFETY: The function is a probe of that tracepoint, and its cookie a word.
            let probe = unsafe { Probe::of_c("sched_switch", function, RECORDING) };
            // SAFETY: The word stays as long as the module, which waits for the last user, and that for the probe.
            shared.probe = Some(unsafe { Attached::new(&probe, &NOISE) }?);
        }
        shared.users = shared.users.saturating_add(1);
        Ok(Self {
            _after: DetachBarrier,
        })
    }
}

impl Drop for SwitchUse {
    fn drop(&mut self) {
        let mut shared = PROBE.lock();
        shared.users = shared.users.saturating_sub(1);
        if shared.users == 0 {
            shared.probe = None;
        }
    }
}

/// What takes each CPU is told of switches while this exists. One at a time.
pub(crate) struct NoiseSwitches {
    _switches: SwitchUse,
}

impl NoiseSwitches {
    /// Begins to tell it.
    ///
    /// # Errors
    ///
    /// Those of [`SwitchUse::begin`].
    pub(crate) fn begin() -> Result<Self> {
        let switches = SwitchUse::begin()?;
        NOISE.store(1);
        Ok(Self {
            _switches: switches,
        })
    }
}

impl Drop for NoiseSwitches {
    fn drop(&mut self) {
        NOISE.store(0);
    }
}
