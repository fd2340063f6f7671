// SPDX-License-Identifier: GPL-2.0

//! The command line. What is here is also what the manual pages and completions are made of.

use crate::job::{seconds, Span};
use clap::{Args, Parser, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Shows what the kernel does, with the files of rtracefs
///
/// Each subcommand makes an instance of its own, which disturbs no other, and removes it when it
/// ends, after Ctrl-C and SIGTERM as well. With -v it shows each write as the shell command that
/// does the same.
#[derive(Parser, Debug)]
#[command(
    name = "rtrace",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
pub struct CommandLine {
    /// Results as JSON, one object per line
    #[arg(long, global = true)]
    pub json: bool,
    /// Show each write to a file as a shell command, on stderr
    #[arg(short, long, global = true)]
    pub verbose: bool,
    #[command(subcommand)]
    pub subcommand: Subcommand,
}

#[derive(clap::Subcommand, Debug)]
pub enum Subcommand {
    /// Tell whether tracing works here, what stands against it, and what to type next
    Doctor,
    /// Show how often events happen, while they do
    Top(Top),
    /// Count an event by what it carries: a histogram in the kernel
    Hist(Hist),
    /// Define an event, show what it records, and remove it
    Probe(Probe),
    /// Show which code leads to an event or a function: a flame graph
    Flame(Flame),
    /// Show what a function of the kernel calls, and how long it takes
    Graph(Graph),
    /// Measure latencies, and tell what made the longest one
    Latency(Latency),
    /// Keep the events that led to another one
    Snapshot(Snapshot),
    /// Write a recording for other programs: ui.perfetto.dev, babeltrace2, Trace Compass
    Export(Export),
    /// Record with trace-cmd, with rtracefs in the place of tracefs
    Record(TraceCmdArguments),
    /// Show a recording with trace-cmd
    Report(TraceCmdArguments),
    /// Write the manual pages and completions into a folder
    #[command(hide = true)]
    Pages {
        /// The folder
        folder: PathBuf,
    },
}

#[derive(Args, Debug)]
pub struct Top {
    /// Events to count: SYSTEM:EVENT, SYSTEM or a pattern; without it the usual ones
    #[arg(short, long = "event", value_name = "EVENT")]
    pub events: Vec<String>,
    /// Seconds between two tables
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub interval: Duration,
    /// End after so many tables
    #[arg(short = 'n', long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Also show which tasks waited longest for a CPU after their wake-up
    #[arg(short, long)]
    pub latency: bool,
}

#[derive(Args, Debug)]
pub struct Hist {
    /// The event, SYSTEM:EVENT
    pub event: String,
    /// Its fields, separated by commas, with modifiers: next_comm, common_pid.execname, bytes_req.log2
    pub keys: String,
    /// Fields to add up, or FIELD.max, .min, .avg
    #[arg(long, value_name = "FIELDS")]
    pub values: Option<String>,
    /// Fields whose 50, 90, 99 and 99.9 percent quantiles to show
    #[arg(short, long, value_name = "FIELDS")]
    pub quantiles: Option<String>,
    /// Fields to sort by: FIELD, FIELD.descending, FIELD.top=N
    #[arg(long, value_name = "FIELDS")]
    pub sort: Option<String>,
    /// Room for so many entries, or auto
    #[arg(long, value_name = "NUMBER")]
    pub size: Option<String>,
    /// Count only what this filter lets through
    #[arg(short, long = "if", value_name = "FILTER")]
    pub filter: Option<String>,
    #[command(flatten)]
    pub span: Span,
}

#[derive(Args, Debug)]
pub struct Probe {
    /// Definitions as in dynamic_events: p PLACE, r PLACE, f FUNCTIONS, t TRACEPOINT,
    /// e SYSTEM/EVENT, w rw@SYMBOL, then arguments, then if FILTER
    #[arg(required = true, value_name = "DEFINITION")]
    pub definitions: Vec<String>,
    /// Count by these fields instead of showing each event; with one definition
    #[arg(long, value_name = "KEYS")]
    pub hist: Option<String>,
    /// Also show the callers of each event
    #[arg(short, long)]
    pub stack: bool,
    #[command(flatten)]
    pub span: Span,
}

#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["event", "function"]))]
pub struct Flame {
    /// The event, SYSTEM:EVENT
    pub event: Option<String>,
    /// A function of the kernel, or a pattern of functions, instead of an event
    #[arg(short = 'F', long)]
    pub function: Option<String>,
    /// A field to add up instead of counting events
    #[arg(long, value_name = "FIELD", requires = "event")]
    pub value: Option<String>,
    /// Count only what this filter lets through
    #[arg(long = "if", value_name = "FILTER", requires = "event")]
    pub filter: Option<String>,
    /// The picture, or one stack per line as text if the name does not end in .svg; - is stdout,
    /// and text
    #[arg(short, long, value_name = "FILE", default_value = "flame.svg")]
    pub output: PathBuf,
    #[command(flatten)]
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum View {
    /// Calls inside calls
    Calls,
    /// How long the calls of each function took, as a histogram
    Durations,
    /// Nanoseconds of each way from a task down to a function, for flame graphs
    Folded,
}

#[derive(Args, Debug)]
pub struct Graph {
    /// The function, whose calls are shown with all that they call
    pub function: String,
    /// Of what it calls, only these functions: a name or a pattern; without it all functions
    #[arg(short, long = "call", value_name = "PATTERN")]
    pub calls: Vec<String>,
    /// So many levels of calls
    #[arg(short, long, value_name = "NUMBER")]
    pub depth: Option<u32>,
    /// Only calls that take so many microseconds
    #[arg(short, long, value_name = "MICROSECONDS")]
    pub threshold: Option<u64>,
    /// What to show
    #[arg(long, value_enum, default_value = "calls")]
    pub view: View,
    #[command(flatten)]
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Tracer {
    /// How long tasks wait for a CPU after their wake-up
    Wakeup,
    /// The same of real-time tasks
    WakeupRt,
    /// The same of tasks with deadlines
    WakeupDl,
    /// How late a timer and the thread that it wakes are
    Timerlat,
    /// What takes the CPUs from a thread that could always run
    Osnoise,
    /// How long interrupts are off, by samples
    Irqsoff,
    /// How long a more urgent task would have to wait, by samples
    Preemptoff,
}

#[derive(Args, Debug)]
pub struct Latency {
    /// What to measure
    #[arg(value_enum)]
    pub tracer: Tracer,
    /// Also show the trace of the longest latency; of osnoise there is none
    #[arg(short, long)]
    pub trace: bool,
    #[command(flatten)]
    pub span: Span,
}

#[derive(Args, Debug)]
pub struct Snapshot {
    /// Events to keep: SYSTEM:EVENT, SYSTEM or a pattern
    #[arg(short, long = "event", value_name = "EVENT", required = true)]
    pub events: Vec<String>,
    /// The event that ends it; without it the end of the time, of CMD, or Ctrl-C
    #[arg(long, value_name = "EVENT")]
    pub at: Option<String>,
    /// Only when this filter lets that event through
    #[arg(long = "if", value_name = "FILTER", requires = "at")]
    pub filter: Option<String>,
    /// KiB of each CPU's buffer
    #[arg(long, value_name = "KIB")]
    pub size: Option<u64>,
    #[command(flatten)]
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// JSON trace events, for ui.perfetto.dev: a file
    Json,
    /// Common Trace Format 1.8, for babeltrace2 and Trace Compass: a folder
    Ctf,
}

#[derive(Args, Debug)]
pub struct Export {
    /// Events to record: SYSTEM:EVENT, SYSTEM or a pattern; without it what runs when
    #[arg(short, long = "event", value_name = "EVENT", conflicts_with = "input")]
    pub events: Vec<String>,
    /// Lines of trace_pipe_json that were kept, instead of a new recording; - is stdin
    #[arg(short, long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// What to write
    #[arg(long, value_enum, default_value = "json")]
    pub format: ExportFormat,
    /// Where to write; without it trace.json, and - is stdout; with ctf a folder, which is new or
    /// empty, without it trace.ctf
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// KiB of each CPU's buffer
    #[arg(long, value_name = "KIB")]
    pub size: Option<u64>,
    #[command(flatten)]
    pub span: Span,
}

/// What trace-cmd gets.
#[derive(Args, Debug)]
pub struct TraceCmdArguments {
    /// Arguments of trace-cmd
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    pub arguments: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn a_command_is_what_follows_two_dashes() {
        let line = CommandLine::parse_from([
            "rtrace",
            "hist",
            "sched:sched_switch",
            "next_comm",
            "--",
            "ls",
            "-l",
        ]);
        let Subcommand::Hist(hist) = line.subcommand else {
            panic!("another subcommand");
        };
        assert_eq!(hist.span.command, ["ls", "-l"]);
        assert_eq!(hist.span.time, None);
    }

    #[test]
    fn trace_cmd_gets_its_options_as_they_are() {
        let line = CommandLine::parse_from([
            "rtrace", "record", "-e", "sched", "-o", "x.dat", "sleep", "1",
        ]);
        let Subcommand::Record(passed) = line.subcommand else {
            panic!("another subcommand");
        };
        assert_eq!(
            passed.arguments,
            ["-e", "sched", "-o", "x.dat", "sleep", "1"]
        );
    }

    #[test]
    fn a_flame_graph_is_of_an_event_or_a_function() {
        let parsed =
            |words: &[&str]| CommandLine::try_parse_from([&["rtrace", "flame"], words].concat());
        assert!(parsed(&["sched:sched_switch"]).is_ok());
        assert!(parsed(&["-F", "vfs_read"]).is_ok());
        assert!(parsed(&[]).is_err());
        assert!(parsed(&["sched:sched_switch", "-F", "vfs_read"]).is_err());
    }
}
