// SPDX-License-Identifier: GPL-2.0
//! What surrounds the text of an event in `trace` and `trace_pipe`.
//!
//! Called by both files for every event. The texts of the events come from their printers.

use core::fmt;

use super::{
    clock::ClockId,
    piece::Piece,
    time,
    writer::ByteWrite, //
};

/// What precedes the text of every event.
pub(crate) struct Prefix<'a> {
    /// Name of the task, or a placeholder if it is unknown.
    pub(crate) comm: &'a [u8],
    pub(crate) pid: i32,
    /// Thread group of the task, 0 if it is unknown. `None` unless the option `record-tgid` is on.
    pub(crate) tgid: Option<u32>,
    pub(crate) cpu: u32,
    /// The flag columns; `None` if the option `irq-info` is off.
    pub(crate) columns: Option<[u8; 5]>,
    pub(crate) stamp: u64,
    /// The clock of the stamp.
    pub(crate) clock: ClockId,
}

/// Width of the name of a task.
const COMM_WIDTH: usize = 16;

impl Prefix<'_> {
    /// Writes the prefix up to and including the blank after the stamp.
    pub(crate) fn write_text(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        let mut text = Piece::new();

        match COMM_WIDTH.checked_sub(self.comm.len()) {
            Some(blanks) => {
                text.blanks(blanks)?;
                text.bytes_of(self.comm)?;
            }
            // No task has a name that long.
            None => out.write_bytes(self.comm)?,
        }
        text.bytes_of(b"-")?;
        text.left(self.pid.into(), 7)?;
        match self.tgid {
            None => text.bytes_of(b" [")?,
            Some(0) => text.bytes_of(b" (-------) [")?,
            Some(tgid) => {
                text.bytes_of(b" (")?;
                text.right(tgid.into(), 7)?;
                text.bytes_of(b") [")?;
            }
        }
        text.zeros(self.cpu.into(), 3)?;
        text.bytes_of(b"] ")?;
        if let Some(columns) = &self.columns {
            text.bytes_of(columns)?;
        }
        text.blanks(1)?;
        if self.clock.in_ns() {
            time::put(self.stamp, &mut text)?;
        } else {
            text.right(self.stamp, 12)?;
        }
        text.bytes_of(b": ")?;
        text.write_to(out)
    }
}

/// Writes the line that precedes the next event of `cpu` if its reader missed `events` events.
pub(crate) fn write_lost(cpu: u32, events: u64, out: &mut dyn ByteWrite) -> fmt::Result {
    match events {
        0 => Ok(()),
        events => writeln!(out, "CPU:{cpu} [LOST {events} EVENTS]"),
    }
}

/// Writes the line that announces that the events of one more CPU begin.
pub(crate) fn write_buffer_started(cpu: u32, out: &mut dyn ByteWrite) -> fmt::Result {
    writeln!(out, "##### CPU {cpu} buffer started ####")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Row {
        comm: &'static str,
        pid: i32,
        tgid: Option<u32>,
        cpu: u32,
        columns: Option<&'static [u8; 5]>,
        stamp: u64,
        clock: ClockId,
        expected: &'static str,
    }

    #[test]
    fn prefixes() {
        let rows = [
            Row {
                comm: "bash",
                pid: 1977,
                tgid: None,
                cpu: 0,
                columns: Some(b"....."),
                stamp: 17_284_993_652_499,
                clock: ClockId::Local,
                expected: "            bash-1977    [000] ..... 17284.993652: ",
            },
            Row {
                comm: "<idle>",
                pid: 0,
                tgid: None,
                cpu: 12,
                columns: Some(b"dNh2."),
                stamp: 1_000,
                clock: ClockId::Boot,
                expected: "          <idle>-0       [012] dNh2.     0.000001: ",
            },
            Row {
                comm: "<...>",
                pid: 12345678,
                tgid: None,
                cpu: 1234,
                columns: None,
                stamp: 99_999_000_001_000,
                clock: ClockId::Global,
                expected: "           <...>-12345678 [1234]  99999.000001: ",
            },
            Row {
                comm: "exactly16bytes!!",
                pid: -1,
                tgid: Some(0),
                cpu: 7,
                columns: Some(b"...1."),
                stamp: 42,
                clock: ClockId::Counter,
                expected: "exactly16bytes!!--1      (-------) [007] ...1.           42: ",
            },
            Row {
                comm: "",
                pid: 1,
                tgid: Some(4321),
                cpu: 1,
                columns: None,
                stamp: 1_234_567_890_123,
                clock: ClockId::X86Tsc,
                expected: "                -1       (   4321) [001]  1234567890123: ",
            },
        ];
        for row in rows {
            let mut text = String::new();
            let prefix = Prefix {
                comm: row.comm.as_bytes(),
                pid: row.pid,
                tgid: row.tgid,
                cpu: row.cpu,
                columns: row.columns.copied(),
                stamp: row.stamp,
                clock: row.clock,
            };

            prefix.write_text(&mut text).unwrap();
            assert_eq!(text, row.expected);
        }
    }

    #[test]
    fn single_lines() {
        let mut text = String::new();

        write_lost(3, 0, &mut text).unwrap();
        assert_eq!(text, "");
        write_lost(3, 17, &mut text).unwrap();
        write_buffer_started(1, &mut text).unwrap();
        assert_eq!(
            text,
            "CPU:3 [LOST 17 EVENTS]\n##### CPU 1 buffer started ####\n"
        );
    }
}
