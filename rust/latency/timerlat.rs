// SPDX-License-Identifier: GPL-2.0

//! The tracer `timerlat`: its settings, and its records and their header as bytes and as text.

use super::{
    int,
    long, //
};
use crate::text::{
    errno::Errno,
    number,
    rest::RecordRest, //
};
use core::fmt::{
    self,
    Write, //
};

/// Bytes of a record.
pub(crate) const RECORD: usize = 24;

/// Microseconds between two ticks, at first, at least and at most.
pub(crate) const USUAL_PERIOD: u64 = 1_000;
const LEAST_PERIOD: u64 = 100;
const MOST_PERIOD: u64 = 1_000_000;

/// Parses what was written to `timerlat_period_us`.
///
/// # Errors
///
/// Those of [`number::parse`], and `Inval` for less than 100 microseconds or more than a second.
pub(crate) fn parse_period(input: &[u8]) -> Result<u64, Errno> {
    match number::parse(input)? {
        period @ LEAST_PERIOD..=MOST_PERIOD => Ok(period),
        _ => Err(Errno::Inval),
    }
}

/// Where a latency was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TickContext {
    /// In the interrupt of the timer.
    Irq = 0,
    /// In the thread that it wakes.
    Thread = 1,
    /// When that thread, a task of user space, has done its work and waits again.
    User = 2,
}

/// The names of contexts, by number.
const CONTEXTS: [&str; 3] = ["irq", "thread", "user-ret"];

/// A latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimerlatSample {
    /// The number of the tick on its CPU, from 1 on.
    pub(crate) number: u32,
    pub(crate) context: TickContext,
    /// Nanoseconds after the time that the timer was set to.
    pub(crate) latency: u64,
}

impl TimerlatSample {
    /// Fills a record after its common fields, which take eight bytes.
    pub(crate) fn fill(&self, rest: &mut [u8]) {
        RecordRest::of(rest)
            .int(self.number)
            .int(self.context as u32)
            .long(self.latency);
    }
}

/// Writes the text of a record.
pub(crate) fn write_text(record: &[u8], out: &mut dyn Write) -> fmt::Result {
    let context = int(record, 12);
    let name = CONTEXTS.get(context as usize).copied().unwrap_or("?");
    let (number, latency) = (int(record, 8), long(record, 16));
    writeln!(
        out,
        "#{number:<5} context {name:>6} timer_latency {latency:9} ns"
    )
}

/// Writes a record under the option `raw`.
pub(crate) fn write_raw(record: &[u8], out: &mut dyn Write) -> fmt::Result {
    let (number, context) = (int(record, 8), int(record, 12) as i32);
    writeln!(out, "{number} {context} {}", long(record, 16))
}

/// The names of the columns.
const COLUMNS: &str = "\
#                                _-----=> irqs-off
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#                              |||||            ACTIVATION
#           TASK-PID      CPU# |||||   TIMESTAMP   ID            CONTEXT                 LATENCY
#              | |         |   |||||      |         |                  |                       |
";

/// The same in kernels with `PREEMPT_RT`.
const COLUMNS_RT: &str = "\
#                                _-------=> irqs-off
#                               / _------=> need-resched
#                              | / _-----=> need-resched-lazy
#                              || / _----=> hardirq/softirq
#                              ||| / _---=> preempt-depth
#                              |||| / _--=> preempt-lazy-depth
#                              ||||| / _-=> migrate-disable
#                              |||||| /
#                              |||||||             ACTIVATION
#           TASK-PID      CPU# |||||||   TIMESTAMP    ID            CONTEXT                LATENCY
#              | |         |   |||||||      |         |                  |                       |
";

/// Writes the names of the columns; `rt` says whether the kernel has `PREEMPT_RT`.
pub(crate) fn write_columns(rt: bool, out: &mut dyn Write) -> fmt::Result {
    out.write_str(if rt { COLUMNS_RT } else { COLUMNS })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: fn(&[u8], &mut dyn Write) -> fmt::Result, record: &[u8]) -> String {
        let mut text = String::new();
        write(record, &mut text).unwrap();
        text
    }

    #[test]
    fn texts() {
        let sample = TimerlatSample {
            number: 1,
            context: TickContext::Irq,
            latency: 80_815,
        };
        let mut record = vec![0xff; RECORD];
        sample.fill(&mut record[8..]);
        let line = "#1     context    irq timer_latency     80815 ns\n";
        assert_eq!(text(write_text, &record), line);
        assert_eq!(text(write_raw, &record), "1 0 80815\n");
        let sample = TimerlatSample {
            number: 123_456,
            context: TickContext::Thread,
            latency: 3_993_722,
        };
        sample.fill(&mut record[8..]);
        let line = "#123456 context thread timer_latency   3993722 ns\n";
        assert_eq!(text(write_text, &record), line);
        let sample = TimerlatSample {
            context: TickContext::User,
            ..sample
        };
        sample.fill(&mut record[8..]);
        assert!(text(write_text, &record).contains("context user-ret timer"));
        record[12] = 9;
        for len in 0..=RECORD {
            text(write_text, &record[..len]);
            text(write_raw, &record[..len]);
        }
    }

    #[test]
    fn periods() {
        for (input, expected) in [
            (&b"100"[..], Ok(100)),
            (b"1000000\n", Ok(1_000_000)),
            (b"99", Err(Errno::Inval)),
            (b"1000001", Err(Errno::Inval)),
            (b"abc", Err(Errno::Inval)),
            (b"18446744073709551616", Err(Errno::Range)),
        ] {
            assert_eq!(parse_period(input), expected, "{input:?}");
        }
    }

    #[test]
    fn columns() {
        for (rt, flags) in [(false, "|||||"), (true, "|||||||")] {
            let mut text = String::new();
            write_columns(rt, &mut text).unwrap();
            assert!(text.lines().all(|line| line.starts_with('#')));
            assert!(text.contains(&format!("CPU# {flags} ")));
            assert!(text.contains("LATENCY"));
        }
    }
}
