// SPDX-License-Identifier: GPL-2.0
//! The columns before the function, their header, and the lines between two tasks.

use super::{
    super::{
        latency,
        options::{
            Opt,
            OptionSet, //
        },
        piece::Piece,
        writer::ByteWrite, //
    },
    CallLines,
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
/// Width of the column with the duration, before its rule.
const DURATION_WIDTH: usize = 14;

const NS_PER_US: u64 = 1_000;
const NS_PER_S: u64 = 1_000_000_000;

const BLANKS: &[u8] = &[b' '; 64];
const RULE: &str = " ------------------------------------------\n";

/// Writes `count` blanks.
fn write_blanks(count: usize, out: &mut dyn ByteWrite) -> fmt::Result {
    let mut left = count;
    while left != 0 {
        let blanks = BLANKS.get(..left).unwrap_or(BLANKS);
        out.write_bytes(blanks)?;
        left = left.saturating_sub(blanks.len());
    }
    Ok(())
}

fn put_cpu(origin: &CallOrigin, text: &mut Piece) -> fmt::Result {
    text.blanks(1)?;
    text.right(origin.cpu.into(), origin.cpu_width)?;
    text.bytes_of(b") ")
}

fn put_task(pid: i32, tasks: &dyn Tasks, text: &mut Piece) -> fmt::Result {
    let mut room = [0; 16];
    let comm = tasks.comm(pid, &mut room);
    let comm = comm.get(..COMM_SHOWN).unwrap_or(comm);
    let mut number = Piece::new();
    number.bytes_of(b"-")?;
    number.left(pid.into(), 0)?;
    let len = comm.len().saturating_add(number.bytes().len());
    let blanks = TASK_WIDTH.saturating_sub(len);
    text.blanks(blanks / 2)?;
    text.bytes_of(comm)?;
    text.bytes_of(number.bytes())?;
    text.blanks(blanks.saturating_sub(blanks / 2))
}

/// Writes that the task `before` was the last one on the CPU, and that there is another one now.
#[cold]
#[inline(never)]
fn write_switch(
    before: i32,
    origin: &CallOrigin,
    tasks: &dyn Tasks,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    let mut text = Piece::new();
    put_cpu(origin, &mut text)?;
    put_task(before, tasks, &mut text)?;
    text.bytes_of(b" => ")?;
    put_task(origin.pid, tasks, &mut text)?;
    text.bytes_of(b"\n")?;
    out.write_str(RULE)?;
    text.write_to(out)?;
    out.write_str(RULE)?;
    out.write_char('\n')
}

/// Puts the columns before the duration.
fn put_origin(origin: &CallOrigin, tasks: &dyn Tasks, text: &mut Piece) -> fmt::Result {
    let options = origin.options;
    if options.has(Opt::GraphAbstime) {
        text.right(origin.stamp / NS_PER_S, 5)?;
        text.bytes_of(b".")?;
        text.zeros(origin.stamp % NS_PER_S / NS_PER_US, 6)?;
        text.bytes_of(b" |  ")?;
    }
    if let Some(ns) = origin.since {
        text.right(ns / NS_PER_US, 9)?;
        text.bytes_of(b" us |  ")?;
    }
    if options.has(Opt::GraphCpu) {
        put_cpu(origin, text)?;
    }
    if options.has(Opt::GraphProc) {
        put_task(origin.pid, tasks, text)?;
        text.bytes_of(b" | ")?;
    }
    if options.has(Opt::LatencyFormat) {
        text.blanks(1)?;
        text.bytes_of(&origin.columns)?;
        text.bytes_of(b" | ")?;
    }
    Ok(())
}

/// What the column of the duration has.
pub(super) enum Fill {
    Blank,
    /// Nanoseconds.
    Time(u64),
}

/// Puts the column of the duration.
fn put_duration(fill: &Fill, options: OptionSet, text: &mut Piece) -> fmt::Result {
    match fill {
        Fill::Blank => text.blanks(DURATION_WIDTH)?,
        Fill::Time(ns) => {
            let mark = match options.has(Opt::GraphOverhead) {
                true => latency::mark(*ns),
                false => ' ',
            };
            text.bytes_of(mark.encode_utf8(&mut [0; 4]).as_bytes())?;
            text.blanks(1)?;
            put_time(*ns, text)?;
        }
    }
    text.bytes_of(b"|  ")
}

/// Writes what precedes the text of a line, which begins after `indent` blanks; before it that another task has
/// come, where `last` is the one that the reader saw last on the CPU.
///
/// The longest columns have 92 bytes, those of the largest numbers; with the time since the beginning 94.
pub(super) fn write_columns(
    last: &mut Option<i32>,
    origin: &CallOrigin,
    tasks: &dyn Tasks,
    fill: &Fill,
    indent: usize,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    let (options, pid) = (origin.options, origin.pid);
    if let Some(before) = last.replace(pid).filter(|before| *before != pid) {
        write_switch(before, origin, tasks, out)?;
    }
    let mut text = Piece::new();
    if options.has(Opt::ContextInfo) {
        put_origin(origin, tasks, &mut text)?;
        if options.has(Opt::GraphDuration) {
            put_duration(fill, options, &mut text)?;
        }
    }
    if text.blanks(indent).is_ok() {
        return text.write_to(out);
    }
    text.write_to(out)?;
    write_blanks(indent, out)
}

/// Writes nanoseconds as microseconds, with as many digits after the point as there is room for.
pub(crate) fn write_time(ns: u64, out: &mut dyn ByteWrite) -> fmt::Result {
    let mut text = Piece::new();
    put_time(ns, &mut text)?;
    text.write_to(out)
}

fn put_time(ns: u64, text: &mut Piece) -> fmt::Result {
    let before = text.bytes().len();
    text.right(ns / NS_PER_US, 0)?;
    let len = |text: &Piece| text.bytes().len().saturating_sub(before);
    let rest = ns % NS_PER_US;
    let (digits, width) = match DIGITS.saturating_sub(len(text)) {
        0 => (0, 0),
        1 => (rest / 100, 1),
        2 => (rest / 10, 2),
        _ => (rest, 3),
    };
    if width != 0 {
        text.bytes_of(b".")?;
        text.zeros(digits, width)?;
    }
    let blanks = TIME_WIDTH.saturating_sub(len(text));
    text.bytes_of(b" us ")?;
    text.blanks(blanks)
}

/// The marks above the column with the flags, under `latency-format`.
const FLAGS: [&str; 5] = [
    "  _-----=> irqs-off        \n",
    " / _----=> need-resched    \n",
    "| / _---=> hardirq/softirq \n",
    "|| / _--=> preempt-depth   \n",
    "||| /                      \n",
];

/// Writes the names of the columns of `lines`, of an instance with these options.
pub(crate) fn write_header(
    lines: CallLines,
    options: OptionSet,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    let options = lines.options(options);
    let has = |opt| options.has(opt);
    // Whether there is the column, what it is in both lines, and how far it shifts the marks.
    let columns: [(bool, &str, &str, usize); 6] = [
        (
            has(Opt::GraphAbstime),
            "     TIME       ",
            "      |         ",
            16,
        ),
        (
            lines.have_since(),
            "   REL TIME     ",
            "      |         ",
            16,
        ),
        (has(Opt::GraphCpu), " CPU", " |  ", 4),
        (
            has(Opt::GraphProc),
            "  TASK/PID       ",
            "   |    |        ",
            17,
        ),
        (has(Opt::LatencyFormat), "||||   ", "||||   ", 0),
        (
            has(Opt::GraphDuration),
            "  DURATION   ",
            "   |   |      ",
            0,
        ),
    ];
    let shown = || columns.iter().filter(|column| column.0);
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
