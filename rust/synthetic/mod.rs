// SPDX-License-Identifier: GPL-2.0

//! Synthetic events: what users define by `synthetic_events`, and the records of given values.
//!
//! ```text
//! definition  NAME TYPE FIELD[; TYPE FIELD...]
//! number      s8 u8 s16 u16 s32 u32 s64 u64 bool pid_t gfp_t, char, int and long with or without unsigned
//! string      char FIELD[N], char FIELD[]
//! stack       long FIELD[]
//! ```
//!
//! - `command`: a line of the file, its words, and the fields that it defines.
//! - `field`: the types, and where a field of each is in a record.
//! - `record`: the values of a record, and its bytes.
//! - `print`: definition, format and text.
//! - `error`: every refusal, with ftrace's text and place.
//!
//! Called by `sources`, which has the events. Nothing here knows the kernel.

pub(crate) mod command;
pub(crate) mod error;
pub(crate) mod field;
pub(crate) mod print;
pub(crate) mod record;

#[cfg(test)]
pub(crate) mod tests;

/// Most fields of an event.
pub(crate) const MOST_FIELDS: usize = 64;
