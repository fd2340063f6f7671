// SPDX-License-Identifier: GPL-2.0

//! Has repeats of functions recorded when a CPU goes idle: no other call may end them for long.

use super::{
    kept_watch::KeptWatch,
    FunctionTarget,
    Repeats,
    Sink, //
};
use crate::{
    kapi::{
        kept::KeptValue,
        percpu::CpuPin, //
    },
    tasks::attached::Probe, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The state that says that a CPU is no longer idle.
const NOT_IDLE: c_uint = c_uint::MAX;

/// Repeats that are recorded whenever a CPU goes idle, while this exists.
pub(crate) struct IdleRepeats(KeptWatch<CountedRepeats>);

/// What the probe uses.
struct CountedRepeats {
    repeats: Arc<Repeats>,
    target: FunctionTarget,
}

/// Contexts: the idle task, with interrupts disabled.
extern "C" fn state_changed(counted: &CountedRepeats, state: c_uint, _cpu: c_uint) {
    if state != NOT_IDLE {
        CpuPin::with(|pin| counted.repeats.hand_in_here(&counted.target, pin));
    }
}

impl IdleRepeats {
    /// Has those of `repeats` recorded into `sink`.
    ///
    /// # Errors
    ///
    /// `ENODEV` when the kernel does not tell when a CPU goes idle, `ENOMEM`.
    pub(crate) fn new(sink: &KeptValue<Sink>, repeats: Arc<Repeats>) -> Result<Self> {
        let target = FunctionTarget::new(sink);
        let counted = Arc::new(CountedRepeats { repeats, target }, GFP_KERNEL)?;
        let watch = KeptWatch::new(counted, &[Probe::on_idle(state_changed)])?;
        Ok(Self(watch))
    }

    /// Returns whether it is of these.
    pub(crate) fn is_of(&self, repeats: &Arc<Repeats>) -> bool {
        Arc::ptr_eq(&self.0.repeats, repeats)
    }
}
