// SPDX-License-Identifier: GPL-2.0

//! What is known of tasks besides the pid that a record has.
//!
//! - `attached`: our probes on tracepoints of the scheduler.
//! - `names`: names and thread groups, remembered at each switch.
//! - `watch`: what the scheduler does with tasks, told to filters of pids.

mod attached;
pub(crate) mod names;
pub(crate) mod watch;
