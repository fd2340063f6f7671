// SPDX-License-Identifier: GPL-2.0

//! The kernel's sort: in place, without memory and without a worst case that is quadratic.

use super::c;
use core::{
    cmp::Ordering,
    iter,
    mem::size_of, //
};
use kernel::{
    ffi::c_int,
    prelude::*, //
};

/// What can be sorted.
pub(crate) trait SortedItem: Copy {
    /// Returns what it is sorted by.
    fn key(&self) -> (u64, u64);
}

impl SortedItem for u64 {
    #[inline(always)]
    fn key(&self) -> (u64, u64) {
        (*self, 0)
    }
}

/// Puts `items` into ascending order of their keys; equal ones in any. May run for milliseconds.
pub(crate) fn ascending<T: SortedItem>(items: &mut [T]) {
    let (base, count) = (items.as_mut_ptr().cast(), items.len());
    // SAFETY: There are `count` items of that size at `base`, which is borrowed mutably, and they may be
    // moved byte by byte; `compare` takes the addresses of two of them.
    unsafe { c::sort(base, count, size_of::<T>(), Some(compare::<T>), None) };
}

/// Puts `numbers` into ascending order, and leaves one of those that are equal. May run for milliseconds.
pub(crate) fn ascending_once(numbers: &mut KVVec<u64>) {
    ascending(numbers);
    let mut last = None;
    numbers.retain(|number| last.replace(*number) != Some(*number));
}

/// Returns what is in two lists in ascending order of `key`, in that order; of equal ones those of `left` first.
pub(crate) fn merged<T>(
    left: impl Iterator<Item = T>,
    right: impl Iterator<Item = T>,
    key: impl Fn(&T) -> u64,
) -> impl Iterator<Item = T> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    iter::from_fn(move || match (left.peek(), right.peek()) {
        (Some(one), Some(other)) if key(one) <= key(other) => left.next(),
        (Some(_), None) => left.next(),
        _ => right.next(),
    })
}

/// Returns how the keys of the items at `one` and `other` compare, as `sort()` wants it.
///
/// # Safety
///
/// Both are addresses of a `T`.
unsafe extern "C" fn compare<T: SortedItem>(one: *const c_void, other: *const c_void) -> c_int {
    // SAFETY: The caller promises the address of a `T`.
    let one = unsafe { one.cast::<T>().read() };
    // SAFETY: The caller promises the address of a `T`.
    let other = unsafe { other.cast::<T>().read() };
    match one.key().cmp(&other.key()) {
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
        ascending::<u64>(&mut []);
    }

    #[test]
    fn equal_numbers_are_there_once() -> Result {
        let mut numbers = KVVec::new();
        numbers.extend_from_slice(&[5, u64::MAX, 0, 7, 5, 0, 5], GFP_KERNEL)?;
        ascending_once(&mut numbers);
        assert_eq!(numbers[..], [0, 5, 7, u64::MAX]);
        Ok(())
    }

    #[test]
    fn lists_are_merged() {
        let rows = |list: &'static [(u64, u8)]| list.iter().copied();
        let left = rows(&[(1, 0), (3, 0), (3, 1), (9, 0)]);
        let right = rows(&[(0, 5), (3, 5), (9, 5), (12, 5)]);
        let wanted = rows(&[
            (0, 5),
            (1, 0),
            (3, 0),
            (3, 1),
            (3, 5),
            (9, 0),
            (9, 5),
            (12, 5),
        ]);
        assert!(merged(left, right, |row| row.0).eq(wanted));
        assert!(merged(rows(&[]), rows(&[(1, 0)]), |row| row.0).eq(rows(&[(1, 0)])));
        assert!(merged(rows(&[(1, 0)]), rows(&[]), |row| row.0).eq(rows(&[(1, 0)])));
    }
}
