// SPDX-License-Identifier: GPL-2.0

//! How long interrupts or preemption were off, as far as looks at a CPU from time to time can tell: not a length, but
//! a lower and an upper bound of one; and the record of that, as bytes and as text.
//!
//! The lower bound is a time in which it was off for sure, the upper one a time outside of which it was on for sure.
//! Neither is a guess: between two looks that both found it off it may have been on, unless something proves that
//! it was not, which is the caller's to say ([`OffLook::Off`]).
//!
//! Contexts: each function is called on the CPU that the value belongs to, by a timer's interrupt, which does not
//! interrupt itself.

use super::{
    int,
    long, //
};
use crate::{
    ring::port::LocalWord,
    text::{
        errno::Errno,
        number,
        rest::RecordRest,
        writer::ByteWrite, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};

/// Bytes of a record.
pub(crate) const RECORD: usize = 40;

/// Microseconds between two looks at first, the fewest and the most.
pub(crate) const USUAL_PERIOD: u64 = 1_000;
const PERIODS: core::ops::RangeInclusive<u64> = 50..=1_000_000;

/// Nanoseconds of a microsecond.
const NS_PER_US: u64 = 1_000;

/// Parses what was written to `period_us`.
///
/// # Errors
///
/// Those of [`number::parse`], and `Inval` for less than 50 microseconds and more than a second.
pub(crate) fn parse_period(input: &[u8]) -> Result<u64, Errno> {
    let period = number::parse(input)?;
    match PERIODS.contains(&period) {
        true => Ok(period),
        false => Err(Errno::Inval),
    }
}

/// What is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OffKind {
    Interrupts = 0,
    Preemption,
}

/// What a look at a CPU found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OffLook {
    On,
    Off {
        /// It is proven that it was off ever since the look before, if that found it off.
        joined: bool,
    },
}

/// A section in which it was off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OffSection {
    /// The bounds of its length, in the unit of the clock.
    pub(crate) lower: u64,
    pub(crate) upper: u64,
    /// How many looks found it.
    pub(crate) looks: u32,
}

/// The section that is there, as looks one after the other have seen it.
pub(crate) struct OffSeries<W> {
    /// The last look that was not in the section; 0: there was none yet.
    before: W,
    /// How many looks were in it; 0: there is no section.
    looks: W,
    /// The first and the last of them.
    first: W,
    last: W,
}

impl<W: LocalWord> OffSeries<W> {
    /// Returns one before its first look.
    pub(crate) fn new() -> Self {
        Self {
            before: W::new(0),
            looks: W::new(0),
            first: W::new(0),
            last: W::new(0),
        }
    }

    /// Returns how long the present section is for sure.
    pub(crate) fn lower(&self) -> u64 {
        match self.looks.get() {
            0 => 0,
            _ => self.last.get().saturating_sub(self.first.get()),
        }
    }

    /// Takes a look at the time `at`, which is not 0. Returns the section that has ended.
    ///
    /// A section is told of only if there was a look before it: without, it has no upper bound.
    pub(crate) fn look(&self, at: u64, look: OffLook) -> Option<OffSection> {
        let is_there = self.looks.get() != 0;
        if is_there && look == (OffLook::Off { joined: true }) {
            self.last.set(at);
            self.looks.increment();
            return None;
        }
        let ended = is_there.then(|| OffSection {
            lower: self.lower(),
            upper: at.saturating_sub(self.before.get()),
            looks: self.looks.get() as u32,
        });
        if is_there {
            // The next section, if there is one by now, began after that.
            self.before.set(self.last.get());
            self.looks.set(0);
        }
        match look {
            OffLook::On => self.before.set(at),
            OffLook::Off { .. } if self.before.get() != 0 => {
                self.first.set(at);
                self.last.set(at);
                self.looks.set(1);
            }
            OffLook::Off { .. } => {}
        }
        ended
    }
}

/// How late the interrupts of a timer are. While interrupts are off there is none; the one that was due meanwhile comes
/// as they are on again.
///
/// A bit of it is the interrupt's own: the shortest lateness that there was is not counted.
pub(crate) struct Lateness<W> {
    /// The interrupt before; 0: there was none.
    before: W,
    /// The shortest lateness.
    own: W,
}

impl<W: LocalWord> Lateness<W> {
    /// Returns one before the first interrupt.
    pub(crate) fn new() -> Self {
        Self {
            before: W::new(0),
            own: W::new(u64::MAX),
        }
    }

    /// Takes an interrupt that was due at `due` and came at `at`, which is not 0. Returns the section that kept it
    /// waiting: from when it was due at the latest, and from the interrupt before at the earliest.
    pub(crate) fn came(&self, due: u64, at: u64) -> Option<OffSection> {
        let late = at.saturating_sub(due);
        self.own.set(self.own.get().min(late));
        let before = self.before.get();
        self.before.set(at);
        let lower = late.saturating_sub(self.own.get());
        (before != 0 && lower != 0).then(|| OffSection {
            lower,
            upper: at.saturating_sub(before),
            looks: 1,
        })
    }
}

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OffRecord {
    pub(crate) kind: OffKind,
    /// In nanoseconds.
    pub(crate) section: OffSection,
    /// The task that was there.
    pub(crate) pid: u32,
}

impl OffRecord {
    /// Fills a record after its common fields, which take eight bytes.
    pub(crate) fn fill(&self, rest: &mut [u8]) {
        RecordRest::of(rest)
            .long(self.section.lower)
            .long(self.section.upper)
            .int(self.section.looks)
            .int(self.pid)
            .int(self.kind as u32)
            .int(0);
    }
}

/// Returns the task that a record is about.
pub(crate) fn pid(record: &[u8]) -> i32 {
    int(record, 28) as i32
}

/// Writes nanoseconds as microseconds.
fn write_us(ns: u64, out: &mut dyn ByteWrite) -> fmt::Result {
    write!(out, "{}.{:03} us", ns / NS_PER_US, ns % NS_PER_US)
}

/// Writes the text of a record; `comm` is the name of its task.
pub(crate) fn write_text(record: &[u8], comm: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    let (looks, kind) = (int(record, 24), int(record, 32));
    let what = match kind == OffKind::Interrupts as u32 {
        true => "interrupts",
        false => "preemption",
    };
    write!(out, "{what} off: at least ")?;
    write_us(long(record, 8), out)?;
    out.write_str(", at most ")?;
    write_us(long(record, 16), out)?;
    let plural = if looks == 1 { "" } else { "s" };
    write!(out, ", {looks} look{plural} at ")?;
    out.write_bytes(comm)?;
    writeln!(out, "-{}", pid(record))
}

/// Writes a record under the option `raw`.
pub(crate) fn write_raw(record: &[u8], out: &mut dyn Write) -> fmt::Result {
    let (lower, upper) = (long(record, 8), long(record, 16));
    let (looks, kind) = (int(record, 24), int(record, 32));
    writeln!(out, "{kind} {lower} {upper} {looks} {}", pid(record))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: OffKind, looks: u32) -> Vec<u8> {
        let mut record = vec![0xff; RECORD];
        let section = OffSection {
            lower: 18_912_345,
            upper: 20_034_001,
            looks,
        };
        OffRecord {
            kind,
            section,
            pid: 77,
        }
        .fill(&mut record[8..]);
        record
    }

    #[test]
    fn texts() {
        let rows = [
            (
                OffKind::Interrupts,
                1,
                "interrupts off: at least 18912.345 us, at most 20034.001 us, 1 look at sh-77\n",
                "0 18912345 20034001 1 77\n",
            ),
            (
                OffKind::Preemption,
                19,
                "preemption off: at least 18912.345 us, at most 20034.001 us, 19 looks at sh-77\n",
                "1 18912345 20034001 19 77\n",
            ),
        ];
        for (kind, looks, line, raw) in rows {
            let bytes = record(kind, looks);
            let mut text = String::new();
            write_text(&bytes, b"sh", &mut text).unwrap();
            assert_eq!(text, line);
            let mut text = String::new();
            write_raw(&bytes, &mut text).unwrap();
            assert_eq!(text, raw);
        }
        // What is cut reads as zeroes.
        for len in 0..RECORD {
            let mut text = String::new();
            write_text(&record(OffKind::Interrupts, 1)[..len], b"sh", &mut text).unwrap();
            write_raw(&record(OffKind::Interrupts, 1)[..len], &mut text).unwrap();
        }
    }

    #[test]
    fn periods() {
        let rows: [(&[u8], Result<u64, Errno>); 8] = [
            (b"50\n", Ok(50)),
            (b"49", Err(Errno::Inval)),
            (b"0", Err(Errno::Inval)),
            (b"1000000", Ok(1_000_000)),
            (b"1000001", Err(Errno::Inval)),
            (b"-1", Err(Errno::Inval)),
            (b"abc", Err(Errno::Inval)),
            (b"18446744073709551616", Err(Errno::Range)),
        ];
        for (input, expected) in rows {
            assert_eq!(parse_period(input), expected, "{input:?}");
        }
    }
}
