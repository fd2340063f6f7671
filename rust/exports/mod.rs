// SPDX-License-Identifier: GPL-2.0

//! What other modules call: instances of their own, and prints into them.
//!
//! `include/` has what such modules are built with: `rtrace.h` for C, which says what each function does, and
//! `rtrace.rs` for Rust. `instances` and `prints` are the functions. Events of other modules are in `events::groups`.
//!
//! No module can keep what it was built with from changing here: [`check_version`] is asked before a module gets an
//! instance, and without one it can do nothing. The kernel of a distribution looks at none of this: Debian's has no
//! versions of symbols (`CONFIG_MODVERSIONS`).

mod instances;
mod prints;
#[cfg(CONFIG_KUNIT = "y")]
mod tests;

use crate::kapi::c;
use kernel::prelude::*;

/// Returns whether the module called `owner` was built for this version of the interface.
///
/// # Errors
///
/// `ENOEXEC` if it was not, which the kernel's log tells.
fn check_version(owner: &str, api: u32) -> Result {
    if api == c::RT_API {
        return Ok(());
    }
    pr_warn!(
        "{owner}: built for version {api} of the interface for instances, that here is {}: build it again with this rtrace\n",
        c::RT_API
    );
    Err(ENOEXEC)
}
