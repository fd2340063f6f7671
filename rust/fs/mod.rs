// SPDX-License-Identifier: GPL-2.0

//! What users see: the file system `rtracefs`.
//!
//! - `superblock`: what a mount is, and how users make and remove instances;
//! - `tree`: which files there are, one table; `events_dir`: those of `events/`;
//! - `file`: what an open file is, the trait `TraceFile` and the table of file operations;
//! - `open`: what one open file owns, how its readers wait; `sleep`: the readers that sleep;
//! - `groups`: events that go with their module; `held`: instances of other modules;
//! - `text_file`, `knob`, `events`, `hist`, `features`: files that are a text;
//! - `trace`, `pipe`: the events, printed by `output` in the `style` of the instance; `shown`: which
//!   buffer a file shows; `share`: to several
//!   readers; `line_queue`: lines that wait for a reader; `raw`: the events as bytes;
//! - `folded`: calls of functions, added up; `durations`: by how long they took;
//! - `dump`: records that go to the kernel's log;
//! - `marker`: events from users; `snapshot`: taking one; `free`: giving the memory back.
//!
//! Nothing here knows rings or probes: an instance does what the files ask for.

mod dump;
mod durations;
mod dynamic;
mod error_log;
mod events;
mod events_dir;
mod features;
mod file;
mod folded;
mod free;
mod functions;
mod graph;
mod groups;
pub(crate) mod held;
mod hist;
mod knob;
mod latency;
mod line_queue;
mod load;
mod marker;
mod open;
mod pids;
mod pipe;
mod profile;
mod raw;
mod raw_calls;
mod share;
mod shown;
mod sleep;
mod snapshot;
mod stack;
mod style;
mod superblock;
mod syscalls;
mod text_file;
mod trace;
mod tree;
mod user_events;

pub(crate) use dump::dump;
pub(crate) use groups::remove_event;
pub(crate) use latency::tell_maximum;
pub(crate) use superblock::{
    register,
    RtracefsRegistration, //
};
