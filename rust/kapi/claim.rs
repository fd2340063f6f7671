// SPDX-License-Identifier: GPL-2.0

//! Things of C that have numbers, and each one user: who asks first has it for good.

use super::words::SharedU64;
use crate::ring::port::SharedWord as _;
use kernel::{
    ffi::c_uint,
    prelude::*, //
};

/// Which of `N` things have a user.
pub(super) struct HookClaims<const N: usize>([SharedU64; N]);

impl<const N: usize> HookClaims<N> {
    /// Returns those of things that have none yet.
    pub(super) const fn none() -> Self {
        Self([const { SharedU64::zero() }; N])
    }
}

/// The number of a thing, which this value has or wants.
///
/// # Invariants
///
/// If `is_own` is set, this is the only value with the number that has it set, of those that ask the same [`HookClaims`].
pub(super) struct HookClaim {
    number: c_uint,
    is_own: bool,
}

impl HookClaim {
    /// Returns one that has not asked yet.
    pub(super) const fn of(number: c_uint) -> Self {
        // INVARIANT: It has nothing.
        Self {
            number,
            is_own: false,
        }
    }

    /// Returns the number, which no other value gets.
    ///
    /// # Errors
    ///
    /// `EBUSY` if another one has it, `EINVAL` if there is no such thing.
    pub(super) fn own<const N: usize>(&mut self, claims: &HookClaims<N>) -> Result<c_uint> {
        if !self.is_own {
            let claim = claims.0.get(self.number as usize).ok_or(EINVAL)?;
            if !claim.cas(0, 1) {
                return Err(EBUSY);
            }
            // INVARIANT: The exchange succeeds once.
            self.is_own = true;
        }
        Ok(self.number)
    }
}
