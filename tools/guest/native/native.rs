// SPDX-License-Identifier: GPL-2.0

//! rtrace's rings by themselves, in a kernel that runs as a process.
//!
//! `scripts/bench-native` measures with it, in nanoseconds, what a writer of rtrace costs beside one of
//! the kernel's ring buffer. The ring (`rust/ring`), its words, pages and per-CPU values (`rust/kapi`),
//! the two banks (`rust/buffers`) and the steps that the loops call (`rust/testapi/steps.rs`) are
//! rtrace's sources, not copies. What is written here stands for the rest of rtrace: an instance that
//! is two rings, and clocks that user-mode Linux has.

#![allow(dead_code, reason = "rtrace's sources have more than what is measured")]

mod buffers;
mod instance;
mod kapi;
mod probes;
#[path = "../../../rust/ring/mod.rs"]
mod ring;
#[path = "../../../rust/testapi/steps.rs"]
mod steps;

use kernel::{
    error::from_result,
    ffi::c_int, //
};

/// Makes the rings. A cycle is `mul >> shift` nanoseconds.
///
/// # Safety
///
/// Called once before everything else.
#[no_mangle]
unsafe extern "C" fn rtnative_begin(mul: u32, shift: u32) -> c_int {
    from_result(|| {
        // SAFETY: The guest calls this before everything else, so no clock is being read.
        unsafe { kapi::clock::choose(mul, shift) }?;
        // SAFETY: By the contract.
        unsafe { instance::registry::fill() }?;
        Ok(0)
    })
}

/// Drops the rings.
///
/// # Safety
///
/// Called once, after everything else but `rtrace_test_close`.
#[no_mangle]
unsafe extern "C" fn rtnative_end() {
    // SAFETY: By the contract.
    unsafe { instance::registry::empty() };
}
