// SPDX-License-Identifier: GPL-2.0

//! User events: what programs define and write by `user_events_data`, with the binary interface of
//! `include/uapi/linux/user_events.h`.
//!
//! ```text
//! definition  NAME[ FIELD[;FIELD]...]
//! number      s8 u8 s16 u16 s32 u32 s64 u64, char, short and int with or without unsigned
//! string      char[N] NAME, unsigned char[N] NAME
//! dynamic     __data_loc TYPE NAME, __rel_loc TYPE NAME
//! structure   struct TYPE NAME SIZE
//! ```
//!
//! - `command`: a definition, its name and its fields, and whether another one is the same.
//! - `field`: the types, and where a field of each is in a record.
//! - `request`: the arguments of the ioctls.
//! - `record`: whether what a program wrote is a record.
//! - `parts`: a record of what a module has written in parts.
//! - `print`: definition and print format.
//!
//! Called by `sources`, which has the events, and those of other modules, whose fields are defined in the same way. Nothing
//! here knows the kernel.

pub(crate) mod command;
pub(crate) mod field;
pub(crate) mod parts;
pub(crate) mod print;
pub(crate) mod record;
pub(crate) mod request;

#[cfg(test)]
pub(crate) mod tests;

/// The system of the events that have one format.
pub(crate) const SYSTEM: &str = "user_events";
/// The system of the events of whose name there may be several formats.
pub(crate) const MULTI_SYSTEM: &str = "user_events_multi";
/// What a line of `dynamic_events` begins with.
pub(crate) const MARK: &str = "u:";

/// A definition, an argument or a record that is not one: `EINVAL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongUserEvent;
