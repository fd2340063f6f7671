// SPDX-License-Identifier: GPL-2.0
//! The options of an instance, and how they are parsed and printed.
//!
//! Called by `trace_options`, `options/*` and the instance, which keeps an [`OptionSet`]. An option
//! is a row of the table below, and is there only if something obeys it; the rows are in the order
//! in which ftrace lists its options.

use core::fmt;

use super::{
    errno::Errno,
    word, //
};

/// Which instances have an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Every instance, for itself.
    Any,
    /// Every instance, for itself; but only the top instance has a file for it in `options/`.
    /// Others have it in `trace_options`, as in ftrace.
    TopFile,
    /// Only the top instance.
    Global,
}

/// The owner of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Instances, in ftrace as here.
    Ftrace,
    /// Instances of rtrace only.
    Rtrace,
    /// The tracer `nop`: the option is the same in all instances, and each lists it while it has the tracer.
    Nop,
    /// The tracer `function_graph`: each instance has it for itself, and lists it while it has the tracer.
    Graph,
    /// The tracer `function`: each instance has it for itself, and lists it while it has the tracer.
    Function,
}

/// A row of the table.
struct OptionRow {
    name: &'static str,
    default: bool,
    scope: Scope,
    owner: Owner,
}

macro_rules! is_on {
    (on) => {
        true
    };
    (off) => {
        false
    };
}

/// Makes [`Opt`] of rows `NAME: "name", default, scope, owner;`.
macro_rules! options {
    ($($(#[$doc:meta])* $opt:ident: $name:literal, $default:ident, $scope:ident, $owner:ident;)*) => {
        /// One option of an instance.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub(crate) enum Opt {
            $($(#[$doc])* $opt,)*
        }

        impl Opt {
            /// Every option, in the order of `trace_options`.
            pub(crate) const ALL: &'static [Opt] = &[$(Opt::$opt,)*];

            const fn row(self) -> OptionRow {
                match self {
                    $(Opt::$opt => OptionRow {
                        name: $name,
                        default: is_on!($default),
                        scope: Scope::$scope,
                        owner: Owner::$owner,
                    },)*
                }
            }
        }
    };
}

options! {
    /// Lines of functions name the caller.
    PrintParent: "print-parent", on, Any, Ftrace;
    /// Names of addresses in the kernel have the offset and the size of the function.
    SymOffset: "sym-offset", off, Any, Ftrace;
    /// Names of addresses are followed by the address.
    SymAddr: "sym-addr", off, Any, Ftrace;
    /// The header of `trace` has no names of columns; lines of `latency-format` are long.
    Verbose: "verbose", off, Any, Ftrace;
    /// Records are printed without their text: task, CPU, time and type, as numbers.
    Raw: "raw", off, Any, Ftrace;
    /// As `raw`, in hexadecimal digits.
    Hex: "hex", off, Any, Ftrace;
    /// As `raw`, in bytes.
    Bin: "bin", off, Any, Ftrace;
    /// poll() always says that there is something to read.
    Block: "block", off, Any, Ftrace;
    /// Events are printed field by field.
    Fields: "fields", off, Any, Ftrace;
    /// What other modules print is recorded. Without it `printk-msg-only` has no effect.
    TracePrintk: "trace_printk", on, TopFile, Ftrace;
    /// `trace` announces where the events of a further CPU begin, if the buffer had overruns.
    Annotate: "annotate", on, Any, Ftrace;
    /// Each event is followed by its callers in user space.
    UserStack: "userstacktrace", off, Any, Ftrace;
    /// Addresses in user space are shown as file and offset.
    SymUserobj: "sym-userobj", off, Any, Ftrace;
    /// A marker is printed as its text alone.
    PrintkMsgOnly: "printk-msg-only", off, TopFile, Ftrace;
    /// Lines begin with task, CPU and time.
    ContextInfo: "context-info", on, Any, Ftrace;
    /// Files that are opened then show short lines with delays.
    LatencyFormat: "latency-format", off, Any, Ftrace;
    /// Names of tasks are remembered while events are enabled.
    RecordCmd: "record-cmd", on, Global, Ftrace;
    /// Thread groups of tasks are remembered while events are enabled, and lines show them.
    RecordTgid: "record-tgid", off, Any, Ftrace;
    /// A full buffer loses the oldest events, not the newest.
    Overwrite: "overwrite", on, Any, Ftrace;
    /// `free_buffer` switches recording off.
    DisableOnFree: "disable_on_free", off, Any, Ftrace;
    /// Lines have the five columns of the interrupt and preemption state.
    IrqInfo: "irq-info", on, Any, Ftrace;
    /// `trace_marker` may be written.
    Markers: "markers", on, Any, Ftrace;
    /// Children of a task in `set_event_pid` are added to it, tasks that end are taken out.
    EventFork: "event-fork", off, Any, Ftrace;
    /// What is written into the marker files of the top instance is recorded here.
    CopyMarker: "copy_trace_marker", on, Any, Ftrace;
    /// Nothing is recorded while `trace` is open for reading.
    PauseOnTrace: "pause-on-trace", off, Any, Ftrace;
    /// Pointers in texts of events are hashed.
    HashPtr: "hash-ptr", on, Any, Ftrace;
    /// Masks in texts of events are lists of ranges.
    BitmaskList: "bitmask-list", off, Any, Ftrace;
    /// The functions that are called while a tracer of latencies follows a task are recorded.
    FunctionTrace: "function-trace", on, Any, Ftrace;
    /// Children of a task in `set_ftrace_pid` are added to it, tasks that end are taken out.
    FunctionFork: "function-fork", off, Any, Ftrace;
    /// The functions that a tracer of latencies records are recorded and shown as calls, with their times.
    DisplayGraph: "display-graph", off, Any, Ftrace;
    /// Each event is followed by the functions that led to it.
    Stack: "stacktrace", off, Any, Ftrace;
    /// What functions call counts in the times of the profiler.
    GraphTime: "graph-time", on, TopFile, Ftrace;
    /// Can be switched, to try out options of tracers.
    TestNopAccept: "test_nop_accept", off, Any, Nop;
    /// Refuses to be switched on.
    TestNopRefuse: "test_nop_refuse", off, Any, Nop;
    /// The exits of functions say how many functions were too deep to be recorded.
    GraphOverrun: "funcgraph-overrun", off, Any, Graph;
    /// Lines of functions have the number of the CPU.
    GraphCpu: "funcgraph-cpu", on, Any, Graph;
    /// Long durations have a mark.
    GraphOverhead: "funcgraph-overhead", on, Any, Graph;
    /// Lines of functions have the task.
    GraphProc: "funcgraph-proc", off, Any, Graph;
    /// Lines of functions have the duration.
    GraphDuration: "funcgraph-duration", on, Any, Graph;
    /// Lines of functions have the time.
    GraphAbstime: "funcgraph-abstime", off, Any, Graph;
    /// Functions that interrupts call are recorded.
    GraphIrqs: "funcgraph-irqs", on, Any, Graph;
    /// The exit of a function names it.
    GraphTail: "funcgraph-tail", off, Any, Graph;
    /// Functions are recorded with what they return.
    GraphRetval: "funcgraph-retval", off, Any, Graph;
    /// Return values are always in hexadecimal digits, also errors.
    GraphRetvalHex: "funcgraph-retval-hex", off, Any, Graph;
    /// Functions are recorded with the place that called them.
    GraphRetaddr: "funcgraph-retaddr", off, Any, Graph;
    /// Functions are recorded with their arguments.
    GraphArgs: "funcgraph-args", off, Any, Graph;
    /// Time asleep counts in the durations of functions.
    SleepTime: "sleep-time", on, Any, Graph;
    /// Functions are recorded only if they return an error.
    GraphErrors: "funcgraph-errors", off, Any, Graph;
    /// The exit of a function is followed by the functions that led to its call.
    GraphStack: "funcgraph-stack", off, Any, Graph;
    /// Each function is followed by the functions that led to it.
    FunctionStack: "func_stack_trace", off, Any, Function;
    /// Calls of a function that follow each other from one place are recorded as a number.
    FunctionNoRepeats: "func-no-repeats", off, Any, Function;
    /// Functions are recorded with their arguments.
    FunctionArgs: "func-args", off, Any, Function;
    /// Each function is recorded once, at its first call.
    FunctionOnce: "func-once", off, Any, Function;
    /// Each open `trace_pipe` reads all events for itself.
    PipeShare: "pipe-share", off, Any, Rtrace;
    /// How often each event is recorded and refused is counted.
    EventCounts: "event-counts", off, Any, Rtrace;
}

// Each option has a bit of its own.
const _: () = assert!(Opt::ALL.len() <= u64::BITS as usize);

impl Opt {
    /// Returns the name in `trace_options` and in `options/`.
    pub(crate) const fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns which instances have it.
    pub(crate) const fn scope(self) -> Scope {
        self.row().scope
    }

    /// Returns what it belongs to.
    pub(crate) const fn owner(self) -> Owner {
        self.row().owner
    }

    /// Returns whether `trace_options` of an instance has it whose tracer owns the options of `tracer`.
    pub(crate) fn is_listed(self, tracer: Option<Owner>) -> bool {
        match self.owner() {
            Owner::Ftrace | Owner::Rtrace => true,
            owner => tracer == Some(owner),
        }
    }

    const fn bit(self) -> u64 {
        1u64.wrapping_shl(self as u32)
    }
}

/// The options that are on, in the form in which an instance keeps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OptionSet(u64);

impl OptionSet {
    /// Options of a new top instance. Another new instance starts with those that the top one has
    /// then.
    pub(crate) const DEFAULT: OptionSet = {
        let (mut bits, mut rest) = (0, Opt::ALL);
        while let Some((opt, others)) = rest.split_first() {
            if opt.row().default {
                bits |= opt.bit();
            }
            rest = others;
        }
        OptionSet(bits)
    };

    /// Returns the set that [`Self::bits`] was called for.
    pub(crate) const fn from_bits(bits: u64) -> Self {
        OptionSet(bits)
    }

    /// Returns the set as a word, for atomic storage.
    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// Returns whether `opt` is on.
    pub(crate) const fn has(self, opt: Opt) -> bool {
        self.0 & opt.bit() != 0
    }

    /// Returns the set with `opt` switched on or off.
    pub(crate) const fn with(self, opt: Opt, on: bool) -> Self {
        if on {
            OptionSet(self.0 | opt.bit())
        } else {
            OptionSet(self.0 & !opt.bit())
        }
    }

    /// Returns what a new instance has of these, those of the top one.
    pub(crate) fn of_new_instance(self) -> Self {
        let own = |opt: &&Opt| {
            matches!(opt, Opt::EventFork | Opt::FunctionFork) || opt.owner() == Owner::Function
        };
        let kept = |set: Self, opt: &Opt| set.with(*opt, opt.row().default);
        let set = Opt::ALL.iter().filter(own).fold(self, kept);
        set.with(Opt::CopyMarker, false)
    }

    /// Writes the text of `trace_options` of an instance whose tracer owns the options of `tracer`.
    pub(crate) fn write_list(self, tracer: Option<Owner>, out: &mut dyn fmt::Write) -> fmt::Result {
        for &opt in Opt::ALL.iter().filter(|opt| opt.is_listed(tracer)) {
            let no = if self.has(opt) { "" } else { "no" };

            writeln!(out, "{no}{}", opt.name())?;
        }
        Ok(())
    }
}

/// Most bytes that a write to `trace_options` may have.
const LONGEST_WRITE: usize = 63;

/// Parses a write to `trace_options`: `NAME` or `noNAME`.
///
/// # Errors
///
/// `Inval` if it is not the name of an option, or too long.
pub(crate) fn parse(input: &[u8]) -> Result<(Opt, bool), Errno> {
    if input.len() > LONGEST_WRITE {
        return Err(Errno::Inval);
    }

    let wish = word::strip(input);
    let (name, on) = match wish.strip_prefix(b"no") {
        Some(name) => (name, false),
        None => (wish, true),
    };

    Opt::ALL
        .iter()
        .find(|opt| opt.name().as_bytes() == name)
        .map(|&opt| (opt, on))
        .ok_or(Errno::Inval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_in_ftraces_order() {
        let mut text = String::new();
        let set = OptionSet::DEFAULT.with(Opt::Overwrite, false);

        set.write_list(Some(Owner::Nop), &mut text).unwrap();
        // As a stock kernel shows it, without the options that rtrace does not offer.
        let list =
            "print-parent nosym-offset nosym-addr noverbose noraw nohex nobin noblock nofields \
                    trace_printk annotate nouserstacktrace nosym-userobj noprintk-msg-only \
                    context-info nolatency-format record-cmd norecord-tgid nooverwrite nodisable_on_free irq-info markers \
                    noevent-fork copy_trace_marker nopause-on-trace hash-ptr nobitmask-list function-trace nofunction-fork nodisplay-graph nostacktrace graph-time notest_nop_accept \
                    notest_nop_refuse nopipe-share noevent-counts";
        assert_eq!(text.split('\n').collect::<Vec<_>>().join(" ").trim(), list);

        let mut text = String::new();
        set.write_list(Some(Owner::Graph), &mut text).unwrap();
        let graph = "nofuncgraph-overrun\nfuncgraph-cpu\nfuncgraph-overhead\nnofuncgraph-proc\n\
                     funcgraph-duration\nnofuncgraph-abstime\nfuncgraph-irqs\nnofuncgraph-tail\nnofuncgraph-retval\n\
                     nofuncgraph-retval-hex\nnofuncgraph-retaddr\nnofuncgraph-args\nsleep-time\nnofuncgraph-errors\n\
                     nofuncgraph-stack\n";
        assert!(
            text.contains(&format!("\ngraph-time\n{graph}nopipe-share\n")),
            "{text}"
        );
        set.write_list(Some(Owner::Function), &mut text).unwrap();
        let own = "nofunc_stack_trace\nnofunc-no-repeats\nnofunc-args\nnofunc-once\n";
        assert!(text.contains(own), "{text}");
        assert!(!text.contains("test_nop"), "{text}");

        let mut text = String::new();
        set.write_list(None, &mut text).unwrap();
        assert!(text.ends_with("\ngraph-time\nnopipe-share\nnoevent-counts\n"));
    }

    #[test]
    fn every_option_is_its_own_bit() {
        for &opt in Opt::ALL {
            let off = OptionSet::DEFAULT.with(opt, false);
            let on = off.with(opt, true);

            for &other in Opt::ALL {
                assert_eq!(on.has(other), other == opt || off.has(other));
                assert_eq!(off.has(other), other != opt && on.has(other));
            }
            assert_eq!((on.bits() ^ off.bits()).count_ones(), 1);
            assert_eq!(OptionSet::from_bits(off.bits()), off);
        }
    }

    #[test]
    fn four_options_have_a_file_in_the_top_instance_alone() {
        let of = |scope| {
            let same = Opt::ALL.iter().filter(move |opt| opt.scope() == scope);
            same.map(|opt| opt.name()).collect::<Vec<_>>()
        };
        assert_eq!(
            of(Scope::TopFile),
            ["trace_printk", "printk-msg-only", "graph-time"]
        );
        assert_eq!(of(Scope::Global), ["record-cmd"]);
    }

    #[test]
    fn writes() {
        for &opt in Opt::ALL {
            let name = opt.name();

            assert_eq!(parse(name.as_bytes()), Ok((opt, true)));
            assert_eq!(parse(format!(" no{name}\n").as_bytes()), Ok((opt, false)));
        }
        let rows: [&[u8]; 7] = [
            b"",
            b"no",
            b"nonooverwrite",
            b"no overwrite",
            b"Overwrite",
            b"overwrit",
            b"overwrite markers",
        ];
        for input in rows {
            assert_eq!(parse(input), Err(Errno::Inval), "{input:?}");
        }
    }

    #[test]
    fn a_write_has_at_most_63_bytes() {
        let mut input = [b' '; 64];

        input[..7].copy_from_slice(b"markers");
        assert_eq!(parse(&input[..63]), Ok((Opt::Markers, true)));
        assert_eq!(parse(&input), Err(Errno::Inval));
    }
}
