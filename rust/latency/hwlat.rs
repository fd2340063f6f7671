// SPDX-License-Identifier: GPL-2.0

//! The tracer `hwlat`: its settings, and its records as bytes and as text.

use super::{
    gap::Gaps,
    int,
    long, //
};
use crate::text::{
    errno::Errno,
    number,
    rest::RecordRest,
    word, //
};
use core::fmt::{
    self,
    Write, //
};

/// A write to `mode` has fewer bytes.
const LONGEST_MODE: usize = 64;

/// Bytes of a record.
pub(crate) const RECORD: usize = 64;

/// On which CPU a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HwlatMode {
    /// One thread, wherever the scheduler has it.
    Free = 0,
    /// One thread, on the next CPU each time.
    RoundRobin,
    /// A thread on each CPU.
    PerCpu,
}

impl HwlatMode {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Free, "none"),
        (Self::RoundRobin, "round-robin"),
        (Self::PerCpu, "per-cpu"),
    ];

    /// Returns the mode of this number.
    pub(crate) fn of_number(number: u32) -> Self {
        let mut all = Self::ALL.into_iter();
        let row = all.find(|(mode, _)| *mode as u32 == number);
        row.map_or(Self::Free, |(mode, _)| mode)
    }

    /// Parses what was written to `mode`.
    ///
    /// # Errors
    ///
    /// `Inval` for anything but the name of a mode.
    pub(crate) fn parse(input: &[u8]) -> Result<Self, Errno> {
        let name = match input.len() < LONGEST_MODE {
            true => word::strip(input),
            false => return Err(Errno::Inval),
        };
        let mut all = Self::ALL.iter();
        let row = all.find(|(_, text)| text.as_bytes() == name);
        row.map(|(mode, _)| *mode).ok_or(Errno::Inval)
    }

    /// Writes the text of `mode`: all modes, this one in brackets.
    pub(crate) fn write_list(self, out: &mut dyn Write) -> fmt::Result {
        for (place, (mode, name)) in Self::ALL.into_iter().enumerate() {
            out.write_str(if place == 0 { "" } else { " " })?;
            match mode == self {
                true => write!(out, "[{name}]")?,
                false => out.write_str(name)?,
            }
        }
        out.write_str("\n")
    }
}

/// When and how long is searched, in microseconds.
///
/// # Invariants
///
/// The width is not more than the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SearchTimes {
    window: u64,
    width: u64,
}

impl SearchTimes {
    /// The usual ones: half of each second. INVARIANT: It is.
    pub(crate) const USUAL: Self = Self {
        window: 1_000_000,
        width: 500_000,
    };

    /// Returns these, of which the width is at most the window.
    pub(crate) fn of(window: u64, width: u64) -> Self {
        // INVARIANT: It is the window, if need be.
        Self {
            window,
            width: width.min(window),
        }
    }

    /// Returns the time from the beginning of a search to that of the next one.
    pub(crate) const fn window(self) -> u64 {
        self.window
    }

    /// Returns the time that a search takes.
    pub(crate) const fn width(self) -> u64 {
        self.width
    }

    /// Returns the time between two searches, in milliseconds: at least one.
    pub(crate) fn pause_ms(self) -> u64 {
        (self.window.saturating_sub(self.width) / 1_000).max(1)
    }

    /// Returns the same with the window that was written to `window`.
    ///
    /// # Errors
    ///
    /// Those of [`number::parse`], and `Inval` for less than the width.
    pub(crate) fn with_window(self, input: &[u8]) -> Result<Self, Errno> {
        let window = number::parse(input)?;
        // INVARIANT: Asked for just here.
        match window >= self.width {
            true => Ok(Self { window, ..self }),
            false => Err(Errno::Inval),
        }
    }

    /// Returns the same with the width that was written to `width`.
    ///
    /// # Errors
    ///
    /// Those of [`number::parse`], and `Inval` for more than the window.
    pub(crate) fn with_width(self, input: &[u8]) -> Result<Self, Errno> {
        let width = number::parse(input)?;
        // INVARIANT: Asked for just here.
        match width <= self.window {
            true => Ok(Self { width, ..self }),
            false => Err(Errno::Inval),
        }
    }
}

/// What a search has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HwlatSample {
    pub(crate) gaps: Gaps,
    /// When the first gap was seen, in nanoseconds since 1970.
    pub(crate) wall_ns: u64,
    /// How many NMIs were seen meanwhile.
    pub(crate) nmis: u32,
    /// The number of the sample since the tracer was chosen, from 1 on.
    pub(crate) number: u32,
}

const NS_PER_S: u64 = 1_000_000_000;

impl HwlatSample {
    /// Fills a record after its common fields, which take eight bytes.
    pub(crate) fn fill(&self, rest: &mut [u8]) {
        RecordRest::of(rest)
            .long(self.gaps.inner)
            .long(self.gaps.outer)
            // How long NMIs took is not known.
            .long(0)
            .long(self.wall_ns / NS_PER_S)
            .long(self.wall_ns % NS_PER_S)
            .int(self.nmis)
            .int(self.number)
            .int(self.gaps.count)
            .int(0);
    }
}

/// Writes the text of a record.
pub(crate) fn write_text(record: &[u8], out: &mut dyn Write) -> fmt::Result {
    let (inner, outer, count) = (long(record, 8), long(record, 16), int(record, 56));
    let (seconds, ns) = (long(record, 32) as i64, long(record, 40));
    let (nmis, number) = (int(record, 48), int(record, 52));
    write!(
        out,
        "#{number:<5} inner/outer(us): {inner:4}/{outer:<5} ts:{seconds}.{ns:09} count:{count}",
        count = count as i32,
    )?;
    if nmis != 0 {
        write!(out, " nmi-total:{} nmi-count:{nmis}", long(record, 24))?;
    }
    out.write_str("\n")
}

/// Writes a record under the option `raw`.
pub(crate) fn write_raw(record: &[u8], out: &mut dyn Write) -> fmt::Result {
    let (inner, outer) = (long(record, 8), long(record, 16) as i64);
    let (seconds, ns) = (long(record, 32) as i64, long(record, 40) as i64);
    writeln!(out, "{inner} {outer} {seconds} {ns:09} {}", int(record, 52))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> HwlatSample {
        HwlatSample {
            gaps: Gaps {
                inner: 4868,
                outer: 5235,
                count: 337,
            },
            wall_ns: 1_795_431_747_846_305_719,
            nmis: 0,
            number: 1,
        }
    }

    fn record(sample: HwlatSample) -> Vec<u8> {
        let mut record = vec![0xff; RECORD];
        sample.fill(&mut record[8..]);
        record
    }

    fn text(write: fn(&[u8], &mut dyn Write) -> fmt::Result, record: &[u8]) -> String {
        let mut text = String::new();
        write(record, &mut text).unwrap();
        text
    }

    #[test]
    fn texts() {
        let bytes = record(sample());
        let line = "#1     inner/outer(us): 4868/5235  ts:1795431747.846305719 count:337\n";
        assert_eq!(text(write_text, &bytes), line);
        assert_eq!(
            text(write_raw, &bytes),
            "4868 5235 1795431747 846305719 1\n"
        );
        let short = HwlatSample {
            gaps: Gaps {
                inner: 11,
                outer: 0,
                count: 1,
            },
            wall_ns: 5_000_000_007,
            nmis: 2,
            number: 123_456,
        };
        let bytes = record(short);
        let line =
            "#123456 inner/outer(us):   11/0     ts:5.000000007 count:1 nmi-total:0 nmi-count:2\n";
        assert_eq!(text(write_text, &bytes), line);
        assert_eq!(text(write_raw, &bytes), "11 0 5 000000007 123456\n");
    }

    #[test]
    fn no_part_of_a_record_is_left_out() {
        assert!(
            record(sample())[8..]
                .iter()
                .filter(|byte| **byte == 0xff)
                .count()
                < 8
        );
        assert_eq!(record(sample())[60..], [0; 4]);
        // What is cut reads as zeroes.
        for len in 0..RECORD {
            text(write_text, &record(sample())[..len]);
            text(write_raw, &record(sample())[..len]);
        }
    }

    #[test]
    fn modes() {
        let rows: [(&[u8], Result<HwlatMode, Errno>); 9] = [
            (b"none", Ok(HwlatMode::Free)),
            (b" per-cpu\n", Ok(HwlatMode::PerCpu)),
            (b"round-robin\0x", Ok(HwlatMode::RoundRobin)),
            (b"[none]", Err(Errno::Inval)),
            (b"none per-cpu", Err(Errno::Inval)),
            (b"", Err(Errno::Inval)),
            (b"NONE", Err(Errno::Inval)),
            (&[b' '; 64], Err(Errno::Inval)),
            (b"foo", Err(Errno::Inval)),
        ];
        for (input, expected) in rows {
            assert_eq!(HwlatMode::parse(input), expected, "{input:?}");
        }
        let mut long = [b' '; 63];
        long[59..].copy_from_slice(b"none");
        assert_eq!(HwlatMode::parse(&long), Ok(HwlatMode::Free));
        let mut list = String::new();
        HwlatMode::RoundRobin.write_list(&mut list).unwrap();
        assert_eq!(list, "none [round-robin] per-cpu\n");
    }

    #[test]
    fn times() {
        let times = SearchTimes::USUAL;
        assert_eq!((times.window(), times.width()), (1_000_000, 500_000));
        assert_eq!(times.pause_ms(), 500);
        assert_eq!(times.with_width(b"1000001"), Err(Errno::Inval));
        assert_eq!(times.with_window(b"499999"), Err(Errno::Inval));
        assert_eq!(times.with_window(b"0"), Err(Errno::Inval));
        assert_eq!(times.with_width(b"-1"), Err(Errno::Inval));
        assert_eq!(
            times.with_window(b"18446744073709551616"),
            Err(Errno::Range)
        );
        let all = times.with_width(b"1000000\n").unwrap();
        assert_eq!((all.width(), all.pause_ms()), (1_000_000, 1));
        let none = times.with_width(b"0").unwrap().with_window(b"0").unwrap();
        assert_eq!((none.window(), none.pause_ms()), (0, 1));
    }
}
