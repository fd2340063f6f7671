// SPDX-License-Identifier: GPL-2.0

//! Looking for broken invariants, and what happens when one is found.
//!
//! A broken ring records nothing until it is emptied; its `stats` say why, the kernel log says it
//! once. A build with debug assertions looks whenever nobody writes anyway: after each resize,
//! clear and change of the clock, when an instance goes, and when a reader goes while recording is
//! off.

use super::{
    banks::Bank,
    Buffers, //
};
#[cfg(CONFIG_KUNIT = "y")]
use crate::{
    kapi::grace,
    ring::{
        cpu::DISABLE_QUIESCE,
        spoil::Word, //
    }, //
};
use crate::{
    kapi::{
        cpus,
        port::Ring, //
    },
    ring::{
        check::Clock,
        cpu::ReaderState,
        violation::Violation, //
    },
};
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Full, //
    },
};

/// Does this build look by itself?
pub(crate) const ALWAYS: bool = cfg!(debug_assertions);

/// The kernel log was told. Once is enough: what follows is seldom more than what followed from it.
static TOLD: Atomic<i32> = Atomic::new(0);

/// A finding as an [`Alarm`](crate::kapi::alarm::Alarm) carries it: number of the CPU and of the
/// violation.
fn pack(cpu: u32, violation: Violation) -> u64 {
    (u64::from(cpu) << 32) | violation.code()
}

/// Tells the kernel log of a finding in the instance `name`. Any context but NMI.
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

/// Has the kernel log been told? And lets it be told again.
#[cfg(CONFIG_KUNIT = "y")]
pub(crate) fn told() -> bool {
    TOLD.xchg(0, Full) != 0
}

impl Buffers {
    /// A writer was refused because its ring is broken. Any context, NMI included.
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
            self.alarm().raise(pack(cpu, violation));
        }
    }

    /// Looks at a ring that nobody writes to and whose reader's lock is held. Says whether it is
    /// whole.
    ///
    /// # Safety
    ///
    /// As for [`Ring::check`].
    pub(super) unsafe fn examine(&self, cpu: u32, ring: &Ring, state: &ReaderState) -> bool {
        if ring.is_broken() {
            return false;
        }
        // SAFETY: By the contract.
        match unsafe { ring.check(state, Clock::Any) } {
            Ok(()) => true,
            Err(violation) => {
                ring.set_broken(violation);
                self.alarm().raise(pack(cpu, violation));
                false
            }
        }
    }
}

#[cfg(CONFIG_KUNIT = "y")]
impl Buffers {
    /// Exclusive-ors `bits` into a word of the ring of `cpu`, of an instance that nobody else uses.
    pub(crate) fn spoil(&self, cpu: u32, word: Word, bits: u64) -> Result {
        // Not `quiesced`, which looks.
        let mut locked = self.locked(cpu)?;
        let own = locked.own(self.rings().live(), true);
        let (ring, state) = (own.ring, own.state);
        ring.set_disabled(DISABLE_QUIESCE, true);
        grace::writers_left();
        // SAFETY: Recording is disabled and a grace period has passed; the state is this ring's and
        // locked. The ring is only tested and emptied afterwards.
        let done = unsafe { ring.spoil(state, word, bits) };
        ring.set_disabled(DISABLE_QUIESCE, false);
        if done {
            Ok(())
        } else {
            Err(ENOENT)
        }
    }
}
