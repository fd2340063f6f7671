// SPDX-License-Identifier: GPL-2.0

//! The kernel's sort: in place, without memory and without a worst case that is quadratic.

use super::c;
use core::{
    cmp::Ordering,
    mem::size_of, //
};
use kernel::{
    ffi::c_int,
    prelude::*, //
};

/// Puts `numbers` into ascending order. May run for milliseconds.
pub(crate) fn ascending(numbers: &mut [u64]) {
    let (base, count) = (numbers.as_mut_ptr().cast(), numbers.len());
    // SAFETY: There are `count` numbers of that size at `base`, which is borrowed mutably; `compare` takes
    // the addresses of two of them.
    unsafe { c::sort(base, count, size_of::<u64>(), Some(compare), None) };
}

/// Returns how the numbers at `one` and `other` compare, as `sort()` wants it.
///
/// # Safety
///
/// Both are addresses of a `u64`.
unsafe extern "C" fn compare(one: *const c_void, other: *const c_void) -> c_int {
    // SAFETY: The caller promises the address of a `u64`.
    let one = unsafe { one.cast::<u64>().read() };
    // SAFETY: The caller promises the address of a `u64`.
    let other = unsafe { other.cast::<u64>().read() };
    match one.cmp(&other) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }
}

#[kunit_tests(rtrace_kapi_sort)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_order() {
        let mut numbers = [5, u64::MAX, 0, 7, 5, 1 << 63];
        ascending(&mut numbers);
        assert_eq!(numbers, [0, 5, 5, 7, 1 << 63, u64::MAX]);
        ascending(&mut []);
    }
}
