// SPDX-License-Identifier: GPL-2.0
//! Numbers that look random, the same in each run.

/// A sequence of them.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number whose upper bits are the better ones.
    pub fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        self.0
    }

    /// A number of so many bits.
    pub fn bits(&mut self, bits: u32) -> u64 {
        self.next() >> (64 - bits)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.bits(31) % end
    }
}
