// SPDX-License-Identifier: GPL-2.0
//! The ring of the module in a program of the host, with the words of the module, to be measured.
//!
//! One thread stands for the CPU that writes. Its words are those of `kapi::words`: single
//! instructions of x86-64, which need no kernel. The time is the cycle counter's.

#![deny(warnings)]
// The words jump out of assembly.
#![feature(asm_goto)]
// The module uses more of its sources than is measured.
#![allow(dead_code)]

mod host;
#[path = "../../../rust/ring/mod.rs"]
mod ring;
#[path = "../../../rust/kapi/words.rs"]
mod words;

pub use host::{Image, Ring, Take, Write};
