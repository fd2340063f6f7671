// SPDX-License-Identifier: GPL-2.0

//! Sums to which any CPU adds in any context, without waiting.

use super::words::SharedU64;
use crate::ring::port::SharedWord;
use core::{
    arch::asm,
    ptr, //
};
use kernel::prelude::*;

/// A sum of numbers, and the sum of their squares in 128 bits.
#[repr(C)]
pub(crate) struct Sums {
    sum: SharedU64,
    low: SharedU64,
    high: SharedU64,
}

impl Sums {
    /// Returns sums of no numbers.
    pub(crate) const fn none() -> Self {
        Self {
            sum: SharedU64::zero(),
            low: SharedU64::zero(),
            high: SharedU64::zero(),
        }
    }

    /// Adds a number and its square, wrapping. Any context.
    #[inline(always)]
    pub(crate) fn add(&self, number: u64) {
        let square = u128::from(number).wrapping_mul(number.into());
        // SAFETY: It changes the three words alone, each by an instruction of its own, and they exist while
        // they are borrowed. What the second one carries is in the flags of this CPU until the third.
        unsafe {
            asm!("lock add qword ptr [{p}], {v}", "lock add qword ptr [{p} + 8], {low}",
                "adc {high}, 0", "je 2f", "lock add qword ptr [{p} + 16], {high}", "2:",
                p = in(reg) ptr::from_ref(self), v = in(reg) number, low = in(reg) square as u64,
                high = inout(reg) (square >> u64::BITS) as u64 => _, options(nostack))
        };
    }

    /// Returns both sums. A number that is being added may be in one of them alone, or in half of it.
    pub(crate) fn get(&self) -> (u64, u128) {
        let high = u128::from(self.high.load());
        (
            self.sum.load(),
            high << u64::BITS | u128::from(self.low.load()),
        )
    }
}

#[kunit_tests(rtrace_kapi_sums)]
mod tests {
    use super::*;

    #[test]
    fn squares_carry() {
        let sums = Sums::none();
        let numbers = [3, u64::MAX, u64::MAX, 1 << 32, 0, u64::MAX >> 1];
        let (mut sum, mut squares) = (0u64, 0u128);
        for number in numbers {
            sums.add(number);
            sum = sum.wrapping_add(number);
            squares = squares.wrapping_add(u128::from(number).wrapping_mul(number.into()));
            assert_eq!(sums.get(), (sum, squares));
        }
    }
}
