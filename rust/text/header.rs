// SPDX-License-Identifier: GPL-2.0
//! What stands at the top of `trace`.
//!
//! Called by the file `trace`, of all CPUs and of one. `trace_pipe` has no header.

use core::fmt;

use super::options::{
    Opt,
    OptionSet, //
};

/// What the header says.
pub(crate) struct Header {
    /// Events in the buffers of all CPUs.
    pub(crate) entries: u64,
    /// Events in the buffers and events that were overwritten there.
    pub(crate) written: u64,
    /// How many CPUs are online.
    pub(crate) online_cpus: u32,
    /// What the lines below are going to look like.
    pub(crate) options: OptionSet,
}

/// The names of the columns with the five flag columns.
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

/// The names of the columns without them.
const COLUMNS_WITHOUT_FLAGS: &str = "\
#           TASK-PID     CPU#     TIMESTAMP  FUNCTION
#              | |         |         |         |
";

impl Header {
    /// Writes the header.
    pub(crate) fn write_text(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str("# tracer: nop\n#\n")?;
        if !self.options.has(Opt::ContextInfo) {
            return Ok(());
        }

        writeln!(
            out,
            "# entries-in-buffer/entries-written: {}/{}   #P:{}\n#",
            self.entries, self.written, self.online_cpus
        )?;
        out.write_str(if self.options.has(Opt::IrqInfo) {
            COLUMNS
        } else {
            COLUMNS_WITHOUT_FLAGS
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(options: OptionSet) -> Vec<String> {
        let header = Header {
            entries: 12,
            written: 345,
            online_cpus: 2,
            options,
        };
        let mut text = String::new();

        header.write_text(&mut text).unwrap();
        assert!(text.ends_with('\n'));
        text.lines().map(String::from).collect()
    }

    // Seen on a stock kernel.
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
    fn without_context() {
        let options = OptionSet::DEFAULT.with(Opt::ContextInfo, false);

        assert_eq!(header(options), TOP);
        assert_eq!(header(options.with(Opt::IrqInfo, false)), TOP);
    }
}
