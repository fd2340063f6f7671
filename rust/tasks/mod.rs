// SPDX-License-Identifier: GPL-2.0

//! What is known of tasks besides the pid that a record has.
//!
//! - `attached`: our probes on tracepoints of the scheduler.
//! - `names`: names and thread groups, remembered at each switch.
//! - `off_changes`: where interrupts and preemption are switched off and on, told to a tracer.
//! - `programs`: what becomes of the memory of programs.
//! - `sleep`: how long each task did not run, for those who measure calls.
//! - `switches`: the probe that tells those who need all switches of them.
//! - `watch`: what the scheduler does with tasks, told to filters of pids.
//! - `wakeups`: the same, told to tracers that wait for a task to run.

pub(crate) mod attached;
pub(crate) mod names;
pub(crate) mod off_changes;
pub(crate) mod programs;
pub(crate) mod sleep;
pub(crate) mod switches;
pub(crate) mod wakeups;
pub(crate) mod watch;
