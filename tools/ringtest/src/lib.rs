// SPDX-License-Identifier: GPL-2.0
//! The pure folders of the module, compiled for the host to be tested there.
//!
//! The sources are those of the module itself. `cargo test` runs the tests beside the code and those of
//! this package; `cargo clippy` refuses what must not be in code that runs in the kernel: whatever could
//! panic, because a panic there takes the machine down.

#![deny(warnings)]
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::todo,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]
// The clock jumps out of assembly.
#![feature(asm_goto)]
// The callers of this code are in the module, which is not part of this package.
#![allow(dead_code)]

#[path = "../../../rust/instance/arrivals.rs"]
pub mod arrivals;
#[path = "../../../rust/buffers/banks.rs"]
pub mod banks;
pub mod clock;
#[path = "../../../rust/event/mod.rs"]
pub mod event;
#[path = "../../../rust/expr/mod.rs"]
pub mod expr;
#[path = "../../../rust/fetch/mod.rs"]
pub mod fetch;
#[path = "../../../rust/functions/mod.rs"]
pub mod functions;
#[path = "../../../rust/buffers/gate.rs"]
pub mod gate;
#[path = "../../../rust/hist/mod.rs"]
pub mod hist;
#[path = "../../../rust/latency/mod.rs"]
pub mod latency;
#[path = "../../../rust/instance/life.rs"]
pub mod life;
#[path = "../../../rust/buffers/merge.rs"]
pub mod merge;
#[path = "../../../rust/buffers/progress.rs"]
pub mod progress;
#[path = "../../../rust/ring/mod.rs"]
pub mod ring;
#[path = "../../../rust/buffers/stream.rs"]
pub mod stream;
#[path = "../../../rust/synthetic/mod.rs"]
pub mod synthetic;
#[path = "../../../rust/text/mod.rs"]
pub mod text;
#[path = "../../../rust/probes/times_left.rs"]
pub mod times_left;
#[path = "../../../rust/unwind/mod.rs"]
pub mod unwind;
#[path = "../../../rust/user_events/mod.rs"]
pub mod user_events;

#[cfg(test)]
mod arriving;
#[cfg(test)]
mod exchange;
#[cfg(test)]
mod filters;
#[cfg(test)]
mod frames;
#[cfg(test)]
mod gates;
#[cfg(test)]
mod gifts;
#[cfg(test)]
mod hist_tallies;
#[cfg(test)]
mod hist_tracks;
#[cfg(test)]
mod hist_variables;
#[cfg(test)]
mod history;
#[cfg(test)]
mod hists;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod irqsoff;
#[cfg(test)]
mod latches;
#[cfg(test)]
mod lends;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod lines;
#[cfg(test)]
mod marks;
#[cfg(test)]
mod model;
#[cfg(test)]
mod nest;
#[cfg(test)]
mod noises;
#[cfg(test)]
mod off_times;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod plain;
#[cfg(test)]
mod races;
#[cfg(test)]
pub mod random;
#[cfg(test)]
mod selfcheck;
#[cfg(test)]
mod shares;
#[cfg(test)]
mod sim;
#[cfg(test)]
mod stories;
#[cfg(test)]
mod takers;
#[cfg(test)]
mod threads;
#[cfg(test)]
mod tour;
#[cfg(test)]
mod trail;
#[cfg(test)]
mod world;
