// SPDX-License-Identifier: GPL-2.0

//! Dynamic events as users define them: commands, arguments, and what a hit records.
//!
//! - `command`: one line of `kprobe_events`, its words, places and names; `event_command`: one of an event
//!   probe; `function_command`: one of a probe on a function or a tracepoint; `user_command`: one of a probe
//!   in programs; `watch_command`: one of a watchpoint.
//! - `elf`: functions of programs by their names; `usdt`: their statically defined probes; `usdt_command`: one line
//!   of these, as a line of a probe in programs.
//! - `argument`: `NAME=FETCH:TYPE`, compiled into steps (`step`); `types`: the types,
//!   `shape`: how they are written; `function`: names and types that BTF has of a function, `shared_parameters`: of
//!   several functions,
//!   `known_types` and `cast`: of values, `expand`: arguments that stand for parameters and for names of files, `spread`: for fields.
//! - `errno` and `enumeration`: the names of numbers, of errors and as BTF has them.
//! - `run`: what the steps read, and the record that is made of it, in any context; `plain`: arguments that need
//!   no steps, `plain_text`: strings that need none.
//! - `print`: the fields, the print format and the text of a record.
//! - `checker`: a second look at steps and records, which tests compare with the compiler.
//! - `error`: every refusal, with the text and the place that ftrace gives.
//!
//! Called by `sources`, which makes the probes. Nothing here knows the kernel: a [`run::ProbedMachine`] has
//! registers and memory.

pub(crate) mod argument;
mod cast;
pub(crate) mod command;
pub(crate) mod copied;
pub(crate) mod elf;
pub(crate) mod enumeration;
mod errno;
pub(crate) mod error;
pub(crate) mod event_command;
pub(crate) mod expand;
pub(crate) mod function;
pub(crate) mod function_command;
pub(crate) mod known_types;
pub(crate) mod number;
pub(crate) mod plain;
pub(crate) mod plain_text;
pub(crate) mod print;
pub(crate) mod run;
mod shape;
pub(crate) mod shared_parameters;
pub(crate) mod spread;
pub(crate) mod step;
pub(crate) mod types;
pub(crate) mod usdt;
pub(crate) mod usdt_command;
pub(crate) mod user_command;
pub(crate) mod watch_command;

#[cfg(test)]
mod checker;
#[cfg(test)]
pub(crate) mod tests;

/// Most arguments of an event.
pub(crate) const MOST_ARGUMENTS: usize = 128;
