// SPDX-License-Identifier: GPL-2.0

//! Where people look: the file system `rtracefs`.
//!
//! - `superblock`: what a mount is, who may make and remove instances;
//! - `tree`: which files there are, one table;
//! - `file`: what an open file is, the trait `TraceFile` and the table of file operations;
//! - `open`: what one open file owns, how its readers wait; `sleep`: who sleeps in a read;
//! - `groups`: events that come and go with a module;
//! - `text_file`, `knob`, `events`: files that are a text;
//! - `trace`, `pipe`, `lines`: the events as text; `raw`: the events as bytes; `marker`: events
//!   from users.
//!
//! Nothing here knows rings or probes: an instance does what the files ask for.

mod events;
mod file;
mod groups;
mod knob;
mod lines;
mod marker;
mod open;
mod pipe;
mod raw;
mod sleep;
mod superblock;
mod text_file;
mod trace;
mod tree;

pub(crate) use groups::{
    add_event,
    remove_event, //
};
pub(crate) use superblock::{
    register,
    Registration, //
};
