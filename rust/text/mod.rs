// SPDX-License-Identifier: GPL-2.0
//! Parses what users write into control files, and prints what they read from them.
//!
//! There is one file per family of texts. Everything here is pure: parsers take the bytes of one
//! `write()` and return a value or an [`errno::Errno`]; printers put text into a writer. Called by
//! the folders `fs` and `instance`; knows neither files nor instances nor the kernel, so that the
//! host tests in `tools/ringtest` run all of it.

pub(crate) mod builtin;
pub(crate) mod clock;
pub(crate) mod cmdlines;
pub(crate) mod cpumask;
pub(crate) mod depths;
pub(crate) mod durations;
pub(crate) mod enable;
pub(crate) mod errno;
pub(crate) mod error_log;
pub(crate) mod form;
pub(crate) mod function;
pub(crate) mod graph;
pub(crate) mod header;
pub(crate) mod json;
pub(crate) mod latency;
pub(crate) mod line;
pub(crate) mod number;
pub(crate) mod options;
pub(crate) mod pids;
pub(crate) mod piece;
pub(crate) mod profile;
pub(crate) mod readme;
pub(crate) mod rest;
pub(crate) mod set_event;
pub(crate) mod size;
pub(crate) mod snapshot;
pub(crate) mod stack;
pub(crate) mod stats;
pub(crate) mod symbol;
pub(crate) mod time;
pub(crate) mod totals;
pub(crate) mod trigger;
pub(crate) mod word;
pub(crate) mod writer;
