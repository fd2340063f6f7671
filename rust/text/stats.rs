// SPDX-License-Identifier: GPL-2.0
//! The text of `per_cpu/cpuN/stats`.

use core::fmt;

use super::{
    clock::ClockId,
    time::Seconds, //
};
use crate::ring::violation::Violation;

/// Why the buffer of a CPU records nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BreakReason {
    /// What is wrong with it.
    pub(crate) violation: Violation,
    /// Number of events that it has refused since.
    pub(crate) refused: u64,
}

/// The counters of the buffer of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuStats {
    /// Number of events that can be read.
    pub(crate) entries: u64,
    /// Number of events that were overwritten before they were read.
    pub(crate) overrun: u64,
    /// Number of events that were refused because nested writers had gone once around the ring.
    pub(crate) commit_overrun: u64,
    /// Number of bytes that can be read, including the headers of events.
    pub(crate) bytes: u64,
    /// Stamp of the oldest sub-buffer.
    pub(crate) oldest_ts: u64,
    /// The present time, by the same clock.
    pub(crate) now_ts: u64,
    /// Number of events that were refused because the buffer was full and must not overwrite.
    pub(crate) dropped: u64,
    /// Number of events that were consumed.
    pub(crate) read: u64,
    /// Only for a broken buffer; ftrace has no such line.
    pub(crate) broken: Option<BreakReason>,
}

impl CpuStats {
    /// Writes the text of the file, for stamps of `clock`.
    pub(crate) fn write_text(&self, clock: ClockId, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "entries: {}", self.entries)?;
        writeln!(out, "overrun: {}", self.overrun)?;
        writeln!(out, "commit overrun: {}", self.commit_overrun)?;
        writeln!(out, "bytes: {}", self.bytes)?;
        if clock.in_ns() {
            writeln!(out, "oldest event ts: {}", Seconds(self.oldest_ts))?;
            writeln!(out, "now ts: {}", Seconds(self.now_ts))?;
        } else {
            writeln!(out, "oldest event ts: {}", self.oldest_ts)?;
            writeln!(out, "now ts: {}", self.now_ts)?;
        }
        writeln!(out, "dropped events: {}", self.dropped)?;
        writeln!(out, "read events: {}", self.read)?;
        match self.broken {
            Some(b) => writeln!(
                out,
                "broken: {}; events refused: {}",
                b.violation, b.refused
            ),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATS: CpuStats = CpuStats {
        entries: 129,
        overrun: 2,
        commit_overrun: 3,
        bytes: 6788,
        oldest_ts: 68_532_871_059,
        now_ts: 168_577_342_000,
        dropped: 4,
        read: 5,
        broken: None,
    };

    #[test]
    fn eight_lines() {
        let rows = [
            (ClockId::Mono, "   68.532871", "  168.577342"),
            (ClockId::Counter, "68532871059", "168577342000"),
        ];
        for (clock, oldest, now) in rows {
            let mut text = String::new();

            STATS.write_text(clock, &mut text).unwrap();
            assert_eq!(
                text,
                format!(
                    "entries: 129\noverrun: 2\ncommit overrun: 3\nbytes: 6788\n\
                     oldest event ts: {oldest}\nnow ts: {now}\ndropped events: 4\nread events: 5\n"
                )
            );
        }
    }

    #[test]
    fn a_ninth_line_tells_that_it_is_broken() {
        let (mut whole, mut text) = (String::new(), String::new());
        let broken = CpuStats {
            broken: Some(BreakReason {
                violation: Violation::Place,
                refused: 6,
            }),
            ..STATS
        };

        STATS.write_text(ClockId::Mono, &mut whole).unwrap();
        broken.write_text(ClockId::Mono, &mut text).unwrap();
        assert_eq!(
            text.strip_prefix(&whole),
            Some("broken: I7: a sub-buffer is in two places or in none; events refused: 6\n")
        );
    }
}
