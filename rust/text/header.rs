// SPDX-License-Identifier: GPL-2.0
//! The header of `trace`.
//!
//! Called by the files `trace`, of all CPUs and of one. `trace_pipe` has no header.

use core::fmt;

use super::{
    graph::{
        self,
        CallLines, //
    },
    latency::{
        self,
        LatencyHead,
        Machine, //
    },
    options::{
        Opt,
        OptionSet, //
    },
    writer::ByteWrite,
};

/// Writes the names of the columns of a tracer.
pub(crate) type Columns = fn(&mut dyn fmt::Write) -> fmt::Result;

/// What the header is made of.
pub(crate) struct Header<'a> {
    /// The tracer of the instance.
    pub(crate) tracer: &'a str,
    /// Number of events in the buffers of all CPUs.
    pub(crate) entries: u64,
    /// Number of events in the buffers and of those that were overwritten there.
    pub(crate) written: u64,
    /// The kernel that the trace was made on.
    pub(crate) machine: Machine<'a>,
    /// The latency whose trace it is, and its task.
    pub(crate) head: LatencyHead<'a>,
    /// Options that decide what the lines below look like.
    pub(crate) options: OptionSet,
    /// Whether the lines are those of `latency-format`.
    pub(crate) latency: bool,
    /// Whether there are no events.
    pub(crate) empty: bool,
    /// Whose calls the lines are, if they are calls.
    pub(crate) calls: Option<CallLines>,
    /// What writes the names of the columns, if it is not this: the option `context-info` does not count then.
    pub(crate) columns: Option<Columns>,
}

/// The names of the columns with the five flag columns, without and with the column of the option
/// `record-tgid`.
const COLUMNS: &str = "\
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
";

const COLUMNS_WITH_TGID: &str = "\
#                                          _-----=> irqs-off/BH-disabled
#                                         / _----=> need-resched
#                                        | / _---=> hardirq/softirq
#                                        || / _--=> preempt-depth
#                                        ||| / _-=> migrate-disable
#                                        |||| /     delay
#           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION
#              | |           |       |   |||||     |         |
";

/// The names of the columns without the flag columns.
const COLUMNS_WITHOUT_FLAGS: &str = "\
#           TASK-PID     CPU#     TIMESTAMP  FUNCTION
#              | |         |         |         |
";
const COLUMNS_WITHOUT_FLAGS_WITH_TGID: &str = "\
#           TASK-PID       TGID    CPU#     TIMESTAMP  FUNCTION
#              | |           |       |         |         |
";

impl Header<'_> {
    /// Writes the part that every header begins with.
    pub(crate) fn write_tracer(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        write!(out, "# tracer: {}\n#\n", self.tracer)
    }

    /// Writes what `latency-format` says of the kernel, and without `verbose` the names of its columns.
    fn write_latency(&self, verbose: bool, out: &mut dyn ByteWrite) -> fmt::Result {
        let (entries, written) = (self.entries, self.written);
        let (machine, head) = (&self.machine, &self.head);
        latency::write_header(self.tracer, machine, head, entries, written, verbose, out)
    }

    /// Writes the header.
    pub(crate) fn write_text(&self, out: &mut impl ByteWrite) -> fmt::Result {
        self.write_tracer(out)?;
        if let Some(write) = self.columns {
            return write(out);
        }
        if !self.options.has(Opt::ContextInfo) {
            return Ok(());
        }
        let verbose = self.options.has(Opt::Verbose);
        if let Some(lines) = self.calls {
            // Here the option counts, not what it was when the file was opened.
            if self.options.has(Opt::LatencyFormat) {
                if self.empty {
                    return Ok(());
                }
                self.write_latency(true, out)?;
            }
            return graph::write_header(lines, self.options, out);
        }
        if self.latency {
            if self.empty {
                return Ok(());
            }
            return self.write_latency(verbose, out);
        }
        if verbose {
            return Ok(());
        }

        writeln!(
            out,
            "# entries-in-buffer/entries-written: {}/{}   #P:{}\n#",
            self.entries, self.written, self.machine.online_cpus
        )?;
        let shown = |opt| self.options.has(opt);
        out.write_str(match (shown(Opt::IrqInfo), shown(Opt::RecordTgid)) {
            (true, false) => COLUMNS,
            (true, true) => COLUMNS_WITH_TGID,
            (false, false) => COLUMNS_WITHOUT_FLAGS,
            (false, true) => COLUMNS_WITHOUT_FLAGS_WITH_TGID,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(options: OptionSet) -> Vec<String> {
        made(12, options, false)
    }

    fn made(entries: u64, options: OptionSet, latency: bool) -> Vec<String> {
        let header = Header {
            tracer: "nop",
            entries,
            written: 345,
            machine: Machine {
                release: "7.3",
                preemption: "PREEMPT(lazy)",
                online_cpus: 2,
            },
            head: LatencyHead::default(),
            options,
            latency,
            empty: entries == 0,
            calls: None,
            columns: None,
        };
        let mut text = String::new();

        header.write_text(&mut text).unwrap();
        assert!(text.ends_with('\n'));
        text.lines().map(String::from).collect()
    }

    // As a stock kernel writes them.
    const TOP: [&str; 2] = ["# tracer: nop", "#"];
    const COUNTS: [&str; 2] = ["# entries-in-buffer/entries-written: 12/345   #P:2", "#"];

    #[test]
    fn with_flags() {
        let columns = [
            "#                                _-----=> irqs-off/BH-disabled",
            "#                               / _----=> need-resched",
            "#                              | / _---=> hardirq/softirq",
            "#                              || / _--=> preempt-depth",
            "#                              ||| / _-=> migrate-disable",
            "#                              |||| /     delay",
            "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION",
            "#              | |         |   |||||     |         |",
        ];
        assert_eq!(
            header(OptionSet::DEFAULT),
            [&TOP[..], &COUNTS, &columns].concat()
        );
    }

    #[test]
    fn without_flags() {
        let columns = [
            "#           TASK-PID     CPU#     TIMESTAMP  FUNCTION",
            "#              | |         |         |         |",
        ];
        assert_eq!(
            header(OptionSet::DEFAULT.with(Opt::IrqInfo, false)),
            [&TOP[..], &COUNTS, &columns].concat()
        );
    }

    #[test]
    fn with_thread_groups() {
        let options = OptionSet::DEFAULT.with(Opt::RecordTgid, true);
        let names = "#           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION";
        let found = header(options);

        // The column is ten wide and shifts what is to the right of it.
        assert_eq!(found.len(), 12);
        assert_eq!(found[10], names);
        assert_eq!(
            found[4],
            "#                                          _-----=> irqs-off/BH-disabled"
        );
        assert_eq!(
            header(options.with(Opt::IrqInfo, false))[4..],
            [
                "#           TASK-PID       TGID    CPU#     TIMESTAMP  FUNCTION",
                "#              | |           |       |         |         |",
            ]
        );
    }

    #[test]
    fn without_context() {
        let options = OptionSet::DEFAULT.with(Opt::ContextInfo, false);

        assert_eq!(header(options), TOP);
        assert_eq!(header(options.with(Opt::IrqInfo, false)), TOP);
    }
    #[test]
    fn verbose_has_no_names_of_columns() {
        let options = OptionSet::DEFAULT.with(Opt::Verbose, true);

        assert_eq!(header(options), TOP);
    }

    #[test]
    fn latency_format_says_nothing_of_an_empty_buffer() {
        let options = OptionSet::DEFAULT;

        assert_eq!(made(0, options, true), TOP);
        assert_eq!(made(12, options, true).len(), TOP.len() + 7 + 9);
        assert_eq!(
            made(12, options.with(Opt::Verbose, true), true).len(),
            TOP.len() + 7
        );
        assert_eq!(made(12, options.with(Opt::ContextInfo, false), true), TOP);
    }
}
