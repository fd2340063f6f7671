// SPDX-License-Identifier: GPL-2.0

//! The files on which calls are made, what they take, and what of their contents can be compared.

use std::fmt;

/// What of the bytes that were read depends on the time or on the tracer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// Nothing.
    Text,
    /// The digits.
    Digits,
    /// All but the bytes of markers.
    Raw,
    /// All, and the length: each tracer has names of its own there.
    Own,
}

pub struct File {
    pub name: &'static str,
    pub contents: Contents,
    /// What is written to it: what it takes, and what it refuses.
    pub values: &'static [&'static str],
}

impl File {
    /// Whether both tracers splice from it.
    pub fn is_spliced(&self) -> bool {
        let name = self.name.rsplit('/').next().unwrap_or_default();
        ["trace", "trace_pipe", "trace_pipe_raw", "snapshot_raw"].contains(&name)
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

const fn file(name: &'static str, contents: Contents, values: &'static [&'static str]) -> File {
    File {
        name,
        contents,
        values,
    }
}

use Contents::{Digits, Own, Raw, Text};

const SWITCH: &[&str] = &["0", "1", "0\n", "1\n", "2", "-1", "x", "", " 1", "01"];
/// No such event happens by itself.
const EVENTS: &[&str] = &[
    "sched:sched_kthread_stop",
    "!sched:sched_kthread_stop",
    "sched:sched_kthread_stop\n",
    "nothing:at_all",
    "",
    " \n",
    "sched:sched_kthread_stop nothing",
];
const PIDS: &[&str] = &["1", "1 2 3\n", "4242", "-1", "x", "", "1\n2", "4194305"];
const SIZES: &[&str] = &["4", "16\n", "64", "100", "0", "x", "-4", ""];
const SNAPSHOT: &[&str] = &["0", "1", "2", "1\n", "x", "", "-1"];
const MARKERS: &[&str] = &[
    "marker",
    "a line\n",
    "two\nlines\n",
    "",
    "\n",
    "long ",
    "%s%d",
];

pub static FILES: &[File] = &[
    file("trace", Digits, &["", "x", "anything\n"]),
    file("trace_pipe", Digits, &["x"]),
    file("trace_marker", Text, MARKERS),
    file(
        "trace_marker_raw",
        Text,
        &[
            "\x01\0\0\0raw",
            "\x02\0\0\0",
            "abc",
            "",
            "\x01\0\0\0abcdefgh",
        ],
    ),
    file("tracing_on", Text, SWITCH),
    file(
        "tracing_cpumask",
        Text,
        &["1", "3\n", "2", "0", "x", "", "f", "1,0"],
    ),
    file("buffer_size_kb", Text, SIZES),
    file("buffer_total_size_kb", Text, &["1"]),
    file(
        "buffer_percent",
        Text,
        &["0", "50", "100\n", "101", "-1", "x", ""],
    ),
    file(
        "buffer_subbuf_size_kb",
        Text,
        &["4", "8\n", "3", "0", "x", "1000"],
    ),
    file(
        "current_tracer",
        Text,
        &["nop", "nop\n", "nothing", "", " nop"],
    ),
    file("available_tracers", Own, &["x"]),
    file(
        "trace_clock",
        Text,
        &["local", "global\n", "mono", "nothing", "", " local"],
    ),
    file(
        "trace_options",
        Own,
        &[
            "overwrite",
            "nooverwrite\n",
            "irq-info",
            "noirq-info",
            "markers",
            "nomarkers",
            "nothing",
            "",
            "pause-on-trace",
            "nopause-on-trace",
        ],
    ),
    file("options/overwrite", Text, SWITCH),
    file("options/irq-info", Text, SWITCH),
    file("options/pause-on-trace", Text, SWITCH),
    file("options/markers", Text, SWITCH),
    file("set_event", Text, EVENTS),
    file("set_event_pid", Text, PIDS),
    file("set_event_notrace_pid", Text, PIDS),
    file("events/enable", Text, &["0", "2", "x", ""]),
    file("events/sched/enable", Text, &["0", "0\n", "-1", "x"]),
    file(
        "events/sched/filter",
        Raw,
        &["0", "pid == 1", "nothing == 1", ""],
    ),
    file("events/sched/sched_kthread_stop/enable", Text, SWITCH),
    file(
        "events/sched/sched_kthread_stop/filter",
        Text,
        &[
            "pid == 1",
            "pid > 4\n",
            "0",
            "nothing == 1",
            "pid ==",
            "",
            "comm ~ \"a*\"",
        ],
    ),
    file(
        "events/sched/sched_kthread_stop/trigger",
        Text,
        &[
            "traceoff",
            "!traceoff",
            "stacktrace:3",
            "!stacktrace",
            "nothing",
            "traceon if pid == 1",
            "!traceon",
            "",
        ],
    ),
    file("events/header_page", Own, &["x"]),
    file("events/header_event", Text, &["x"]),
    file("snapshot", Digits, SNAPSHOT),
    file("error_log", Digits, &["", "x"]),
    file("free_buffer", Text, &["x", ""]),
    file("per_cpu/cpu0/trace", Digits, &["", "x"]),
    file("per_cpu/cpu1/trace_pipe", Digits, &["x"]),
    file("per_cpu/cpu0/trace_pipe_raw", Raw, &["x"]),
    file("per_cpu/cpu1/trace_pipe_raw", Raw, &["x"]),
    file("per_cpu/cpu0/stats", Digits, &["x"]),
    file("per_cpu/cpu1/buffer_size_kb", Text, SIZES),
    file("per_cpu/cpu0/snapshot", Digits, SNAPSHOT),
    file("per_cpu/cpu0/snapshot_raw", Raw, &["x"]),
    file("set_ftrace_filter", Own, &["nothing_like_it", ""]),
    file("instances", Text, &["x"]),
    file("events/sched", Text, &["x"]),
    file("events", Text, &["x"]),
    file("per_cpu", Text, &["x"]),
];

/// Files that are opened more often than others: buffers, and what fills them.
pub const BUSY: &[&str] = &[
    "trace",
    "trace_pipe",
    "per_cpu/cpu0/trace_pipe_raw",
    "per_cpu/cpu1/trace_pipe_raw",
    "snapshot",
    "trace_marker",
];

/// The file of this name.
pub fn named(name: &str) -> &'static File {
    let found = FILES.iter().find(|file| file.name == name);
    found.unwrap_or(&FILES[0])
}
