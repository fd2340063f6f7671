// SPDX-License-Identifier: GPL-2.0
//! A table from the address of a function to a word about it, read in any context: one bit for each tracer
//! that it is traced for, or where the profiler counts it.
//!
//! The addresses are those of the kernel's text and of modules, which differ in their lower 32 bits. A
//! table is made as a whole and does not change while it is read. At most half of its places are taken,
//! so a search ends after a few steps.

/// A place of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The lower half of the address; 0 for a place that is free.
    key: u32,
    word: u64,
}

/// Returns the number of places for `functions` functions, a power of two; `None` when there are too
/// many.
pub(crate) fn places(functions: usize) -> Option<usize> {
    functions.max(1).checked_mul(2)?.checked_next_power_of_two()
}

/// Returns the places at which `key` may be, in the order in which they are searched.
#[inline(always)]
pub(crate) fn way(key: u32, places: usize) -> impl Iterator<Item = usize> {
    // Addresses of functions are multiples of 16, but for the call in them.
    let first = (key.wrapping_mul(0x9e37_79b1) >> 7) as usize;
    let last = places.wrapping_sub(1);
    (0..places).map(move |step| first.wrapping_add(step) & last)
}

/// Adds `bits` to the word of the function at `address`. Returns whether there was room.
pub(crate) fn add(table: &mut [Place], address: u64, bits: u64) -> bool {
    change(table, address, |word| word | bits)
}

/// Makes the word of the function at `address`, 0 if it is not there, what `change` returns. Returns whether there was
/// room.
pub(crate) fn change(table: &mut [Place], address: u64, change: impl FnOnce(u64) -> u64) -> bool {
    let key = address as u32;
    for at in way(key, table.len()) {
        match table.get_mut(at) {
            Some(place) if place.key == key || place.key == 0 => {
                place.key = key;
                place.word = change(place.word);
                return true;
            }
            _ => {}
        }
    }
    false
}

/// Returns the word of the function at `address`; 0 for one that is not there. Any context.
#[inline(always)]
pub(crate) fn word(table: &[Place], address: u64) -> u64 {
    find(table, address).unwrap_or(0)
}

/// Returns the word of the function at `address`, if it is there. Any context.
#[inline(always)]
pub(crate) fn find(table: &[Place], address: u64) -> Option<u64> {
    let key = address as u32;
    for at in way(key, table.len()) {
        match table.get(at) {
            Some(place) if place.key == key => return Some(place.word),
            Some(place) if place.key != 0 => {}
            _ => return None,
        }
    }
    None
}

/// As [`find`], for a caller to whom nearly all that it looks for is where it is looked for first: the rest is not in the
/// caller. Any context.
#[inline(always)]
pub(crate) fn find_at_once(table: &[Place], address: u64) -> Option<u64> {
    let key = address as u32;
    match way(key, table.len()).next().and_then(|at| table.get(at)) {
        Some(place) if place.key == key => Some(place.word),
        _ => find_later(table, address),
    }
}

/// As [`find`].
#[inline(never)]
fn find_later(table: &[Place], address: u64) -> Option<u64> {
    find(table, address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn what_was_added_is_found() {
        let mut random = Random::new(1);
        let mut addresses = vec![];
        for _ in 0..5000 {
            addresses.push(0xffff_ffff_8000_0004 | random.bits(24) << 4);
        }
        let mut table = vec![Place::default(); places(addresses.len()).unwrap()];
        assert_eq!(table.len(), 16384);
        let tracers_at = |at: usize| 1u64 << (at % 64);
        for (at, address) in addresses.iter().enumerate() {
            assert!(add(&mut table, *address, tracers_at(at)));
        }
        for address in &addresses {
            let same = addresses.iter().enumerate().filter(|row| row.1 == address);
            let expected = same.fold(0, |all, (at, _)| all | tracers_at(at));
            assert_eq!(word(&table, *address), expected);
            assert_eq!(word(&table, address + 8), 0);
            assert_eq!(find(&table, address + 8), None);
            assert_eq!(find_at_once(&table, *address), Some(expected));
            assert_eq!(find_at_once(&table, address + 8), None);
        }
    }

    #[test]
    fn a_table_without_room_takes_no_more_and_is_searched_to_its_end() {
        let mut table = [Place::default(); 2];
        assert!(add(&mut table, 0x14, 1) && add(&mut table, 0x24, 2));
        assert!(!add(&mut table, 0x34, 4));
        assert!(add(&mut table, 0x14, 8));
        let found = [0x14, 0x24, 0x34].map(|address| word(&table, address));
        assert_eq!(found, [9, 2, 0]);
        assert_eq!(word(&[], 0x14), 0);
        let found = [0x14, 0x24, 0x34].map(|address| find_at_once(&table, address));
        assert_eq!(found, [Some(9), Some(2), None]);
        assert_eq!(find_at_once(&[], 0x14), None);
        assert_eq!(places(0), Some(2));
        assert_eq!(places(usize::MAX), None);
    }
}
