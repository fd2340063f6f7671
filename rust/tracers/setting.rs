// SPDX-License-Identifier: GPL-2.0

//! Numbers that users choose in files while threads and interrupts measure.

use crate::{
    kapi::words::SharedU64,
    ring::port::SharedWord as _, //
};

/// Such a number. A measurement that goes on uses the new one from its next look on; none is ordered with another.
pub(crate) struct Setting(SharedU64);

impl Setting {
    /// Returns one that is `value`, for statics.
    pub(super) const fn of(value: u64) -> Self {
        Self(SharedU64::of(value))
    }

    /// Returns it. Any context.
    #[inline(always)]
    pub(crate) fn get(&self) -> u64 {
        self.0.load()
    }

    /// Chooses `value`.
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value);
    }
}
