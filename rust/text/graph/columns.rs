// SPDX-License-Identifier: GPL-2.0
//! The columns before the function, their header, and the lines between two tasks.

use super::{
    super::{
        latency,
        options::{
            Opt,
            OptionSet, //
        },
        writer::ByteWrite, //
    },
    CallOrigin, //
};
use core::fmt;

/// Finds the names of tasks.
pub(crate) trait Tasks {
    /// Returns the name of the task `pid`, or what stands for it.
    fn comm<'r>(&self, pid: i32, room: &'r mut [u8; 16]) -> &'r [u8];
}

/// Width of the column with task and pid.
const TASK_WIDTH: usize = 14;
/// Bytes of a task's name that are shown.
const COMM_SHOWN: usize = 7;
/// Digits of a time in microseconds, those after the point included.
const DIGITS: usize = 7;
/// Width of the same with the point.
const TIME_WIDTH: usize = 8;

const NS_PER_US: u64 = 1_000;
const NS_PER_S: u64 = 1_000_000_000;

const BLANKS: &str = "                                                                ";
const RULE: &str = " ------------------------------------------\n";

/// Writes `count` blanks.
pub(super) fn write_blanks(count: usize, out: &mut dyn ByteWrite) -> fmt::Result {
    let mut left = count;
    while left != 0 {
        let blanks = BLANKS.get(..left).unwrap_or(BLANKS);
        out.write_str(blanks)?;
        left = left.saturating_sub(blanks.len());
    }
    Ok(())
}

/// A number in decimal digits.
struct Digits {
    text: [u8; 20],
    start: usize,
}

impl Digits {
    fn of(number: u64) -> Self {
        let mut digits = Self {
            text: [b'0'; 20],
            start: 20,
        };
        let mut rest = number;
        for digit in digits.text.iter_mut().rev() {
            *digit = b'0'.wrapping_add((rest % 10) as u8);
            rest /= 10;
            digits.start = digits.start.saturating_sub(1);
            if rest == 0 {
                break;
            }
        }
        digits
    }

    fn bytes(&self) -> &[u8] {
        self.text.get(self.start..).unwrap_or_default()
    }
}

fn write_cpu(origin: &CallOrigin, out: &mut dyn ByteWrite) -> fmt::Result {
    write!(out, " {:1$}) ", origin.cpu, origin.cpu_width)
}

fn write_task(pid: i32, tasks: &dyn Tasks, out: &mut dyn ByteWrite) -> fmt::Result {
    let mut room = [0; 16];
    let comm = tasks.comm(pid, &mut room);
    let comm = comm.get(..COMM_SHOWN).unwrap_or(comm);
    let digits = Digits::of(pid.unsigned_abs().into());
    let sign: &[u8] = if pid < 0 { b"--" } else { b"-" };
    let len = comm
        .len()
        .saturating_add(sign.len())
        .saturating_add(digits.bytes().len());
    let blanks = TASK_WIDTH.saturating_sub(len);
    write_blanks(blanks / 2, out)?;
    out.write_bytes(comm)?;
    out.write_bytes(sign)?;
    out.write_bytes(digits.bytes())?;
    write_blanks(blanks.saturating_sub(blanks / 2), out)
}

/// Writes the columns before the duration; before them that another task has come, where `last` is the
/// one that the reader saw last on the CPU.
pub(super) fn write_prologue(
    last: &mut Option<i32>,
    origin: &CallOrigin,
    tasks: &dyn Tasks,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    let (options, pid) = (origin.options, origin.pid);
    if let Some(before) = last.replace(pid).filter(|before| *before != pid) {
        out.write_str(RULE)?;
        write_cpu(origin, out)?;
        write_task(before, tasks, out)?;
        out.write_str(" => ")?;
        write_task(pid, tasks, out)?;
        out.write_char('\n')?;
        out.write_str(RULE)?;
        out.write_char('\n')?;
    }
    if !options.has(Opt::ContextInfo) {
        return Ok(());
    }
    if options.has(Opt::GraphAbstime) {
        let (seconds, rest) = (origin.stamp / NS_PER_S, origin.stamp % NS_PER_S);
        write!(out, "{seconds:5}.{:06} |  ", rest / NS_PER_US)?;
    }
    if options.has(Opt::GraphCpu) {
        write_cpu(origin, out)?;
    }
    if options.has(Opt::GraphProc) {
        write_task(pid, tasks, out)?;
        out.write_str(" | ")?;
    }
    if options.has(Opt::LatencyFormat) {
        out.write_char(' ')?;
        out.write_bytes(&origin.columns)?;
        out.write_str(" | ")?;
    }
    Ok(())
}

/// What the column of the duration has.
pub(super) enum Fill {
    Blank,
    /// Nanoseconds.
    Time(u64),
}

/// Writes the column of the duration, if it is shown.
pub(super) fn write_duration(
    fill: Fill,
    options: OptionSet,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    if !options.has(Opt::GraphDuration) || !options.has(Opt::ContextInfo) {
        return Ok(());
    }
    let Fill::Time(ns) = fill else {
        return out.write_str("              |  ");
    };
    out.write_char(match options.has(Opt::GraphOverhead) {
        true => latency::mark(ns),
        false => ' ',
    })?;
    out.write_char(' ')?;
    write_time(ns, out)?;
    out.write_str("|  ")
}

/// Writes nanoseconds as microseconds, with as many digits after the point as there is room for.
pub(crate) fn write_time(ns: u64, out: &mut dyn ByteWrite) -> fmt::Result {
    let (whole, rest) = (Digits::of(ns / NS_PER_US), ns % NS_PER_US);
    out.write_bytes(whole.bytes())?;
    let mut len = whole.bytes().len();
    let after = DIGITS.saturating_sub(len).min(3);
    if after != 0 {
        // Three digits with their zeros, after a 1 that is not shown.
        let digits = Digits::of(rest.saturating_add(NS_PER_US));
        let shown = digits.bytes().get(1..after.saturating_add(1));
        out.write_char('.')?;
        out.write_bytes(shown.unwrap_or_default())?;
        len = len.saturating_add(after).saturating_add(1);
    }
    out.write_str(" us ")?;
    write_blanks(TIME_WIDTH.saturating_sub(len), out)
}

/// The marks above the column with the flags, under `latency-format`.
const FLAGS: [&str; 5] = [
    "  _-----=> irqs-off        \n",
    " / _----=> need-resched    \n",
    "| / _---=> hardirq/softirq \n",
    "|| / _--=> preempt-depth   \n",
    "||| /                      \n",
];

/// Writes the names of the columns.
pub(crate) fn write_header(options: OptionSet, out: &mut dyn fmt::Write) -> fmt::Result {
    // The option, its column in both lines, and how far it shifts the marks.
    let columns: [(Opt, &str, &str, usize); 5] = [
        (
            Opt::GraphAbstime,
            "     TIME       ",
            "      |         ",
            16,
        ),
        (Opt::GraphCpu, " CPU", " |  ", 4),
        (Opt::GraphProc, "  TASK/PID       ", "   |    |        ", 17),
        (Opt::LatencyFormat, "||||   ", "||||   ", 0),
        (Opt::GraphDuration, "  DURATION   ", "   |   |      ", 0),
    ];
    let shown = || columns.iter().filter(|column| options.has(column.0));
    if options.has(Opt::LatencyFormat) {
        let width = shown()
            .map(|column| column.3)
            .fold(0, usize::saturating_add);
        for flags in FLAGS {
            write!(out, "#{:width$}{flags}", "")?;
        }
    }
    out.write_char('#')?;
    shown().try_for_each(|column| out.write_str(column.1))?;
    out.write_str("               FUNCTION CALLS\n#")?;
    shown().try_for_each(|column| out.write_str(column.2))?;
    out.write_str("               |   |   |   |\n")
}
