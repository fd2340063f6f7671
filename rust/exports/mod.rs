// SPDX-License-Identifier: GPL-2.0

//! What other modules call: instances of their own, prints into them, and events that they write themselves.
//!
//! `include/` has what such modules are built with: `rtrace.h` for C, which says what each function does, and
//! `rtrace.rs` for Rust. `instances`, `prints` and `direct_events` are the functions. Events of other modules that have
//! tracepoints are in `events::groups`.
//!
//! No module can keep what it was built with from changing here: [`check_version`] is asked before a module gets an
//! instance or an event, and without one it can do nothing. The kernel of a distribution looks at none of this: Debian's has no
//! versions of symbols (`CONFIG_MODVERSIONS`).

mod direct_events;
#[cfg(CONFIG_KUNIT = "y")]
mod direct_tests;
mod instances;
mod prints;
#[cfg(CONFIG_KUNIT = "y")]
mod tests;
// In a product other modules have this file.
#[cfg(CONFIG_KUNIT = "y")]
#[path = "include/rtrace.rs"]
pub(crate) mod user;

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
        "{owner}: built for version {api} of the interface for modules, that here is {}: build it again with this rtrace\n",
        c::RT_API
    );
    Err(ENOEXEC)
}
