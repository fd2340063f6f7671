// SPDX-License-Identifier: GPL-2.0

//! The parts of C that the bindings of the `kernel` crate lack.
//!
//! Kbuild makes the included file with bindgen from `shim/bindings.h`: the shims of this module,
//! and the few kernel types and functions that Rust in the kernel does not bind yet. Types that
//! both know are those of `kernel::bindings`, so that nothing has to be cast between the two. Only
//! `kapi` and the two vtable files of `fs` name anything from here.

#![allow(
    clippy::all,
    clippy::cast_lossless,
    clippy::multiple_unsafe_ops_per_block,
    clippy::ptr_as_ptr,
    clippy::undocumented_unsafe_blocks,
    dead_code,
    improper_ctypes,
    improper_ctypes_definitions,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub,
    unsafe_op_in_unsafe_fn,
    unused_imports
)]

include!(env!("RTRACE_BINDINGS"));
