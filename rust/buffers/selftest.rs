// SPDX-License-Identifier: GPL-2.0

//! Looks for broken invariants, and disables and reports rings that have one.
//!
//! A broken ring records nothing until it is emptied; its `stats` say why, the kernel log says it
//! once. A build with debug assertions looks whenever rings have no writer anyway (`quiescent`):
//! after each resize, clear and change of the clock, when an instance is removed, and when a reader
//! closes its file while recording is off.

use super::{
    banks::Bank,
    Buffers, //
};
#[cfg(CONFIG_KUNIT = "y")]
use crate::{
    kapi::grace,
    ring::{
        cpu::DISABLE_QUIESCE,
        spoil::SpoiledWord, //
    }, //
};
use crate::{
    kapi::{
        cpus,
        port::Ring, //
    },
    ring::violation::Violation, //
};
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Full, //
    },
};

/// Whether this build looks by itself.
pub(crate) const ALWAYS: bool = cfg!(debug_assertions);

/// Whether the kernel log has a finding. One is enough: further ones usually follow from the first.
static TOLD: Atomic<i32> = Atomic::new(0);

/// Returns a finding in the form in which a [`DeferredWarning`](crate::kapi::alarm::DeferredWarning) carries it: the
/// numbers of the CPU and of the violation.
fn pack(cpu: u32, violation: Violation) -> u64 {
    (u64::from(cpu) << 32) | violation.code()
}

/// Writes a finding in the instance `name` to the kernel log. Any context but NMI.
pub(super) fn tell(name: &CStr, what: u64) {
    if TOLD.cmpxchg(0, 1, Full).is_err() {
        return;
    }
    let cpu = what >> 32;
    if let Some(violation) = Violation::from_code(what & u64::from(u32::MAX)) {
        pr_err!(
            "the ring of CPU {cpu} of instance '{name}' is broken: {}: {}; it records nothing until \
             it is cleared\n",
            violation.invariant(),
            violation.text()
        );
    }
}

/// Returns whether the kernel log has a finding, and allows another one.
#[cfg(CONFIG_KUNIT = "y")]
pub(crate) fn told() -> bool {
    TOLD.xchg(0, Full) != 0
}

impl Buffers {
    /// Reports that a writer was refused because its ring is broken. Any context, NMI included.
    #[cold]
    #[inline(never)]
    pub(crate) fn refused(&self, ring: &Ring) {
        let here = |cpu: &u32| {
            self.rings().of(*cpu).is_some_and(|rings| {
                let mut both = Bank::BOTH.into_iter();
                both.any(|bank| core::ptr::eq(rings.of(bank), ring))
            })
        };
        if let (Some(cpu), Some(violation)) = (cpus::possible().find(here), ring.fault()) {
            self.tell_of(cpu, violation);
        }
    }

    /// Has the kernel log told of `violation` in a ring of `cpu`. Any context, NMI included.
    pub(super) fn tell_of(&self, cpu: u32, violation: Violation) {
        self.alarm().raise(pack(cpu, violation));
    }
}

#[cfg(CONFIG_KUNIT = "y")]
impl Buffers {
    /// XORs `bits` into a word of the ring of `cpu`, in an instance that only the caller uses.
    ///
    /// # Errors
    ///
    /// `ENODEV` without such a CPU, `ENOENT` if the ring has no such word.
    pub(crate) fn spoil(&self, cpu: u32, word: SpoiledWord, bits: u64) -> Result {
        // Not by `quiesced`, which would examine the ring.
        let mut locked = self.locked(cpu)?;
        let own = locked.own(self.rings().live(), true);
        let (ring, state) = (own.ring, own.state);
        ring.set_disabled(DISABLE_QUIESCE, true);
        grace::writers_left();
        // SAFETY: Recording is disabled and a grace period has passed, so that no writer is in the
        // ring; the state is the ring's and locked (invariant of `OwnSide`). The ring is only tested and
        // emptied afterwards.
        let done = unsafe { ring.spoil(state, word, bits) };
        ring.set_disabled(DISABLE_QUIESCE, false);
        if done {
            Ok(())
        } else {
            Err(ENOENT)
        }
    }
}
