// SPDX-License-Identifier: GPL-2.0

//! Functions by a pattern of their names, for probes that users define.

use super::list;
use crate::kapi::kprobe::symbol_address;
use kernel::prelude::*;

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
        let mut all = functions.list().iter();
        if other != 0 && all.any(|function| function.address == other) {
            found.push(other, GFP_KERNEL)?;
        }
    }
    Ok(found)
}
