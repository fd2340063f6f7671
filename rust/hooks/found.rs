// SPDX-License-Identifier: GPL-2.0

//! Functions by a pattern of their names, for probes that users define.

use super::list;
use crate::kapi::kprobe::symbol_address;
use kernel::prelude::*;

/// Most bytes from the address of a function to where it calls hooks: an instruction that marks its beginning.
const BEFORE_HOOK: u64 = 4;

/// Returns where the functions whose names match `pattern`, a glob, call hooks. Process context; takes a second when
/// the list was not read before.
///
/// # Errors
///
/// `ENOMEM`, and those of [`list::current`].
pub(crate) fn matching(pattern: &str) -> Result<KVVec<u64>> {
    let functions = list::current()?;
    let mut found = KVVec::new();
    for function in functions.list().matching(pattern.as_bytes()) {
        found.push(function.address, GFP_KERNEL)?;
    }
    // The list has one name of each.
    if found.is_empty() {
        let other = symbol_address(pattern).unwrap_or(0);
        let is_of_other = |address: u64| address.wrapping_sub(other) <= BEFORE_HOOK;
        let mut all = functions.list().iter();
        let function = all.find(|function| other != 0 && is_of_other(function.address));
        if let Some(function) = function {
            found.push(function.address, GFP_KERNEL)?;
        }
    }
    Ok(found)
}
