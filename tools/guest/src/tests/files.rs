// SPDX-License-Identifier: GPL-2.0

//! The files of rtracefs but for those of options: where each is, which instances have it, who may do
//! what with it. Tests of the tree, of permissions, of input and of allocations that fail have their
//! files from here; `features.files` holds the list against `features` and against the tree.

use crate::sys;

/// Which instances have a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The top instance alone.
    Top,
    /// Every instance.
    Each,
}

/// Who may do what with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Root and the group read.
    Read,
    /// The same, and root writes.
    Change,
    /// Root and the group write.
    Append,
    /// Root writes.
    Wipe,
}

impl Access {
    /// Returns the mode of such a file.
    pub fn mode(self) -> u32 {
        match self {
            Access::Read => 0o440,
            Access::Change => 0o640,
            Access::Append => 0o220,
            Access::Wipe => 0o200,
        }
    }
}

/// What a file gives to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A text that stays until something changes.
    Text,
    /// Something else each time, or nothing.
    Moving,
}

/// A file.
#[derive(Clone, Copy, Debug)]
pub struct ControlFile {
    /// As `features` has it: `cpuN`, `SYSTEM` and `EVENT` stand for any of these.
    pub path: &'static str,
    pub scope: Scope,
    pub access: Access,
    pub content: Content,
}

impl ControlFile {
    /// Returns the path of the file of CPU 0, and of `event`, which is written `SYSTEM/EVENT`.
    pub fn of(&self, event: &str) -> String {
        let system = event.split('/').next().unwrap_or_default();
        self.path
            .replace("cpuN", "cpu0")
            .replace("functionN", "function0")
            .replace("SYSTEM/EVENT", event)
            .replace("SYSTEM", system)
    }

    /// Returns whether the file shows a text that stays.
    pub fn is_text(&self) -> bool {
        self.content == Content::Text
    }
}

const fn file(path: &'static str, access: Access) -> ControlFile {
    ControlFile {
        path,
        scope: Scope::Each,
        access,
        content: match access {
            Access::Read | Access::Change => Content::Text,
            Access::Append | Access::Wipe => Content::Moving,
        },
    }
}

const fn top(path: &'static str, access: Access) -> ControlFile {
    ControlFile {
        scope: Scope::Top,
        ..file(path, access)
    }
}

/// Returns the row of a file that shows something else each time.
const fn moving(path: &'static str) -> ControlFile {
    ControlFile {
        content: Content::Moving,
        ..file(path, Access::Read)
    }
}

const fn top_moving(path: &'static str) -> ControlFile {
    ControlFile {
        scope: Scope::Top,
        ..moving(path)
    }
}

/// Those of function tracers, which are there when the kernel can trace functions.
const OF_FUNCTIONS: &[&str] = &[
    "available_filter_functions",
    "available_filter_functions_addrs",
    "enabled_functions",
    "function_profile_enabled",
    "function_profile_time",
    "set_ftrace_filter",
    "set_ftrace_notrace",
    "set_ftrace_notrace_pid",
    "set_ftrace_pid",
    "stack_max_size",
    "stack_trace",
    "stack_trace_filter",
    "stack_tracer_enabled",
    "touched_functions",
    "trace_stat/functionN",
];

/// Those of `function_graph`, which are there when the kernel can follow calls besides.
const OF_CALLS: &[&str] = &[
    "max_graph_depth",
    "set_graph_function",
    "set_graph_notrace",
    "tracing_thresh",
];

/// Those of kprobes, which are there when the kernel has them.
const OF_KPROBES: &[&str] = &["kprobe_events", "kprobe_profile"];

/// Those of probes in programs.
const OF_UPROBES: &[&str] = &["uprobe_events", "uprobe_profile"];

/// Returns the files that there are in this kernel, in the order of `features`.
pub fn all() -> impl Iterator<Item = &'static ControlFile> {
    let (functions, calls) = (sys::traces_functions(), sys::follows_calls());
    let (kprobes, uprobes) = (sys::has_kprobes(), sys::has_uprobes());
    FILES.iter().filter(move |file| {
        (kprobes || !OF_KPROBES.contains(&file.path))
            && (uprobes || !OF_UPROBES.contains(&file.path))
            && (functions || !OF_FUNCTIONS.contains(&file.path))
            && (calls || !OF_CALLS.contains(&file.path))
    })
}

/// All of them, in the order of `features`.
const FILES: &[ControlFile] = &[
    top("README", Access::Read),
    top("available_events", Access::Read),
    file("available_tracers", Access::Read),
    file("buffer_percent", Access::Change),
    file("buffer_size_kb", Access::Change),
    file("buffer_subbuf_size_kb", Access::Change),
    file("buffer_total_size_kb", Access::Read),
    file("current_tracer", Access::Change),
    file("error_log", Access::Change),
    file("event_counts", Access::Read),
    top("features", Access::Read),
    file("free_buffer", Access::Wipe),
    top("saved_cmdlines", Access::Read),
    top("saved_cmdlines_size", Access::Change),
    top("saved_tgids", Access::Read),
    file("set_event", Access::Change),
    file("set_event_notrace_pid", Access::Change),
    file("set_event_pid", Access::Change),
    file("show_event_filters", Access::Read),
    file("show_event_triggers", Access::Read),
    file("snapshot", Access::Change),
    file("syscall_user_buf_size", Access::Change),
    file("timestamp_mode", Access::Read),
    file("trace", Access::Change),
    file("trace_clock", Access::Change),
    file("trace_durations", Access::Read),
    file("trace_folded", Access::Read),
    file("trace_marker", Access::Append),
    file("trace_marker_raw", Access::Append),
    file("trace_options", Access::Change),
    moving("trace_pipe"),
    moving("trace_pipe_json"),
    file("tracing_cpumask", Access::Change),
    file("tracing_on", Access::Change),
    top("available_filter_functions", Access::Read),
    top("available_filter_functions_addrs", Access::Read),
    top_moving("enabled_functions"),
    file("set_ftrace_filter", Access::Change),
    file("set_ftrace_notrace", Access::Change),
    file("set_ftrace_notrace_pid", Access::Change),
    file("set_ftrace_pid", Access::Change),
    top_moving("touched_functions"),
    file("max_graph_depth", Access::Change),
    file("set_graph_function", Access::Change),
    file("set_graph_notrace", Access::Change),
    file("tracing_thresh", Access::Change),
    top("dynamic_events", Access::Change),
    top("dynamic_profile", Access::Read),
    top("synthetic_events", Access::Change),
    top("kprobe_events", Access::Change),
    top("kprobe_profile", Access::Read),
    top("uprobe_events", Access::Change),
    top("uprobe_profile", Access::Read),
    ControlFile {
        access: Access::Change,
        ..top_moving("user_events_data")
    },
    top("user_events_status", Access::Read),
    top("hwlat_detector/mode", Access::Change),
    top("hwlat_detector/width", Access::Change),
    top("hwlat_detector/window", Access::Change),
    top("latency_sampler/period_us", Access::Change),
    top("osnoise/cpus", Access::Change),
    top("osnoise/options", Access::Change),
    top("osnoise/period_us", Access::Change),
    top("osnoise/print_stack", Access::Change),
    top("osnoise/runtime_us", Access::Change),
    top("osnoise/stop_tracing_total_us", Access::Change),
    top("osnoise/stop_tracing_us", Access::Change),
    top("osnoise/timerlat_align_us", Access::Change),
    top("osnoise/timerlat_period_us", Access::Change),
    top_moving("osnoise/per_cpu/cpuN/timerlat_fd"),
    file("tracing_max_latency", Access::Change),
    top("function_profile_enabled", Access::Change),
    top("function_profile_time", Access::Change),
    top("trace_stat/functionN", Access::Change),
    top("stack_max_size", Access::Change),
    top("stack_trace", Access::Read),
    top("stack_trace_filter", Access::Change),
    top("stack_tracer_enabled", Access::Change),
    file("per_cpu/cpuN/buffer_size_kb", Access::Change),
    file("per_cpu/cpuN/snapshot", Access::Change),
    moving("per_cpu/cpuN/snapshot_raw"),
    moving("per_cpu/cpuN/stats"),
    file("per_cpu/cpuN/totals", Access::Read),
    file("per_cpu/cpuN/trace", Access::Change),
    moving("per_cpu/cpuN/trace_pipe"),
    moving("per_cpu/cpuN/trace_pipe_json"),
    moving("per_cpu/cpuN/trace_pipe_raw"),
    file("events/enable", Access::Change),
    file("events/header_event", Access::Read),
    file("events/header_page", Access::Read),
    file("events/SYSTEM/enable", Access::Change),
    file("events/SYSTEM/filter", Access::Change),
    file("events/SYSTEM/EVENT/enable", Access::Change),
    file("events/SYSTEM/EVENT/filter", Access::Change),
    file("events/SYSTEM/EVENT/format", Access::Read),
    file("events/SYSTEM/EVENT/hist", Access::Read),
    file("events/SYSTEM/EVENT/hist_json", Access::Read),
    file("events/SYSTEM/EVENT/hist_take", Access::Read),
    file("events/SYSTEM/EVENT/hits", Access::Read),
    file("events/SYSTEM/EVENT/id", Access::Read),
    file("events/SYSTEM/EVENT/lost", Access::Read),
    file("events/SYSTEM/EVENT/trigger", Access::Change),
];

/// Returns the row of the file at `path` in an instance's folder.
pub fn at(path: &str) -> Option<&'static ControlFile> {
    let parts: Vec<_> = path.split('/').collect();
    let pattern = match parts[..] {
        ["per_cpu", _, file] => format!("per_cpu/cpuN/{file}"),
        ["osnoise", "per_cpu", _, file] => format!("osnoise/per_cpu/cpuN/{file}"),
        ["trace_stat", _] => "trace_stat/functionN".to_string(),
        ["events", _, _, file] => format!("events/SYSTEM/EVENT/{file}"),
        ["events", _, file] => format!("events/SYSTEM/{file}"),
        _ => path.to_string(),
    };
    FILES.iter().find(|file| file.path == pattern)
}
