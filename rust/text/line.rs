// SPDX-License-Identifier: GPL-2.0
//! What surrounds the text of an event in `trace` and `trace_pipe`.
//!
//! Called by both files for every event. The texts of the events come from their printers.

use core::fmt;

use super::{
    clock::ClockId,
    piece::{
        self,
        Piece, //
    },
    time,
    word,
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
/// Bytes of a prefix whose columns have their usual widths, and of the words that are made of it.
const USUAL: usize = 51;
const USUAL_WORDS: usize = 56;

impl Prefix<'_> {
    /// Writes the prefix up to and including the blank after the stamp.
    #[inline]
    pub(crate) fn write_text(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        match self.usual() {
            Some(text) => out.write_bytes(text.first_chunk::<USUAL>().unwrap_or(&[b' '; USUAL])),
            None => self.write_any(out),
        }
    }

    /// Returns the prefix, word by word, if each of its columns has its usual width: as nearly all have, each at a place that
    /// is known.
    #[inline(always)]
    fn usual(&self) -> Option<[u8; USUAL_WORDS]> {
        let (pid, us) = (
            u32::try_from(self.pid).ok()?,
            time::microseconds(self.stamp),
        );
        let (seconds, us) = (us / time::US_PER_S, us % time::US_PER_S);
        let [off, rest @ ..] = self.columns?;
        if self.tgid.is_some()
            || !self.clock.in_ns()
            || pid >= 10_000_000
            || self.cpu >= 1000
            || seconds >= 100_000
        {
            return None;
        }
        let mut text = [b' '; USUAL_WORDS];
        let name = text.get_mut(COMM_WIDTH.checked_sub(self.comm.len())?..COMM_WIDTH)?;
        name.copy_from_slice(self.comm);

        let left = |digits| piece::aligned_left(digits, piece::leading_zeros(digits));
        let right = |digits| piece::aligned_right(digits, piece::leading_zeros(digits));
        let zeros = |digits| piece::aligned_left(digits, 0);
        // The last digit of each is in the highest byte: a shift leaves as many as its column has.
        let cpu = zeros(match self.cpu {
            low @ 0..10 => u64::from(low) << 56,
            cpu => piece::eight_digits(cpu),
        }) >> 40;
        let seconds = right(piece::eight_digits(seconds as u32)) >> 24;
        let us = zeros(piece::eight_digits(us as u32)) >> 16;
        let two = |bytes: [u8; 2]| u64::from(u16::from_le_bytes(bytes));
        let words = [
            u64::from(b'-') | (left(piece::eight_digits(pid)) << 8),
            two(*b" [") | (cpu << 16) | (two(*b"] ") << 40) | (u64::from(off) << 56),
            u64::from(u32::from_le_bytes(rest)) | (u64::from(b' ') << 32) | (seconds << 40),
            (seconds >> 24) | (u64::from(b'.') << 16) | (us << 24),
            (us >> 40) | (two(*b": ") << 8),
        ];
        word::put_words(text.get_mut(COMM_WIDTH..)?, words);
        Some(text)
    }

    /// Writes it whatever the columns are.
    #[inline(never)]
    fn write_any(&self, out: &mut dyn ByteWrite) -> fmt::Result {
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
    use super::{
        super::writer::Bytes,
        *, //
    };
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn usual_widths_are_no_other_text(
            comm in "[a-z]{0,17}",
            (pid, pid_bits) in (any::<i32>(), 0u32..32),
            (cpu, cpu_bits) in (any::<u32>(), 20u32..32),
            (stamp, stamp_bits) in (any::<u64>(), 0u32..64),
            columns: [u8; 5],
        ) {
            let prefix = Prefix {
                comm: comm.as_bytes(),
                pid: pid >> pid_bits,
                tgid: None,
                cpu: cpu >> cpu_bits,
                columns: Some(columns.map(|column| b' ' + column % 90)),
                stamp: stamp >> stamp_bits,
                clock: ClockId::Local,
            };
            let (mut text, mut any) = (Bytes::default(), Bytes::default());
            prefix.write_text(&mut text).unwrap();
            prefix.write_any(&mut any).unwrap();
            prop_assert_eq!(text.0, any.0);
        }
    }

    /// The widest columns that are usual, and each that is wider.
    #[test]
    fn the_usual_ones_are_made_of_words() {
        let usual = Prefix {
            comm: b"sixteen letters!",
            pid: 9_999_999,
            tgid: None,
            cpu: 999,
            columns: Some(*b"....."),
            stamp: 99_999_999_999_499,
            clock: ClockId::Mono,
        };
        let is_usual = |change: fn(&mut Prefix<'_>)| {
            let mut prefix = Prefix { ..usual };
            change(&mut prefix);
            prefix.usual().is_some()
        };
        assert!(is_usual(|_| {}));
        assert!(!is_usual(|prefix| prefix.comm = b"seventeen letters"));
        assert!(!is_usual(|prefix| prefix.pid += 1));
        assert!(!is_usual(|prefix| prefix.pid = -1));
        assert!(!is_usual(|prefix| prefix.tgid = Some(0)));
        assert!(!is_usual(|prefix| prefix.cpu += 1));
        assert!(!is_usual(|prefix| prefix.columns = None));
        assert!(!is_usual(|prefix| prefix.stamp += 1));
        assert!(!is_usual(|prefix| prefix.clock = ClockId::Counter));
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
