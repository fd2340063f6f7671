// SPDX-License-Identifier: GPL-2.0

//! The tracer `osnoise`: its settings, and its records and their header as bytes and as text.

use crate::text::{
    errno::Errno,
    number,
    rest::RecordRest,
    word,
    writer::ByteWrite, //
};
use core::fmt::{
    self,
    Write, //
};

/// A write to `options` has fewer bytes.
const LONGEST_OPTION: usize = 256;

/// Bytes of a record.
pub(crate) const RECORD: usize = 56;

/// Names of options, from bit 0 on. The first one stands for the others as they are at first.
const OPTIONS: [&str; 6] = [
    "DEFAULTS",
    "OSNOISE_WORKLOAD",
    "PANIC_ON_STOP",
    "OSNOISE_PREEMPT_DISABLE",
    "OSNOISE_IRQ_DISABLE",
    "TIMERLAT_ALIGN",
];
const DEFAULTS: usize = 0;

/// The options of the tracer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoiseOptions(u32);

impl NoiseOptions {
    /// Threads measure.
    pub(crate) const WORKLOAD: Self = Self(1 << 1);
    /// The machine panics where tracing would stop.
    pub(crate) const PANIC: Self = Self(1 << 2);
    /// Threads measure with preemption disabled.
    pub(crate) const PREEMPT_DISABLE: Self = Self(1 << 3);
    /// Threads measure with interrupts disabled.
    pub(crate) const IRQ_DISABLE: Self = Self(1 << 4);

    /// The ticks of CPUs follow each other.
    pub(crate) const ALIGN: Self = Self(1 << 5);

    /// The options as they are at first.
    pub(crate) const USUAL: Self = Self::WORKLOAD;

    /// Returns the options of that word.
    pub(crate) const fn of_word(word: u32) -> Self {
        Self(word)
    }

    /// Returns them as a word.
    pub(crate) const fn word(self) -> u32 {
        self.0
    }

    /// Returns whether all of `other` are on.
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns these as what was written to `options` changes them.
    ///
    /// # Errors
    ///
    /// `Inval` for anything but the name of an option, perhaps with `NO_` before it, and for `NO_DEFAULTS`.
    pub(crate) fn changed(self, input: &[u8]) -> Result<Self, Errno> {
        if input.len() >= LONGEST_OPTION {
            return Err(Errno::Inval);
        }
        let text = word::c_string(input);
        let (on, name) = match text.strip_prefix(b"NO_") {
            Some(name) => (false, word::strip(name)),
            None => (true, word::strip(text)),
        };
        let mut all = OPTIONS.iter();
        let place = all.position(|option| option.as_bytes() == name);
        match (place, on) {
            (None, _) | (Some(DEFAULTS), false) => Err(Errno::Inval),
            (Some(DEFAULTS), true) => Ok(Self::USUAL),
            (Some(place), true) => Ok(Self(self.0 | (1 << place))),
            (Some(place), false) => Ok(Self(self.0 & !(1 << place))),
        }
    }

    /// Writes the text of `options`.
    pub(crate) fn write_list(self, out: &mut dyn Write) -> fmt::Result {
        for (place, name) in OPTIONS.iter().enumerate() {
            let on = match place {
                DEFAULTS => self == Self::USUAL,
                place => self.0 & (1 << place) != 0,
            };
            write!(out, "{}{name} ", if on { "" } else { "NO_" })?;
        }
        out.write_str("\n")
    }
}

/// When and how long is measured, in microseconds.
///
/// # Invariants
///
/// The runtime is not more than the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MeasureTimes {
    period: u64,
    runtime: u64,
}

impl MeasureTimes {
    /// The usual ones: all the time, a record each second. INVARIANT: It is.
    pub(crate) const USUAL: Self = Self {
        period: 1_000_000,
        runtime: 1_000_000,
    };

    /// Returns these, of which the runtime is at most the period.
    pub(crate) fn of(period: u64, runtime: u64) -> Self {
        // INVARIANT: It is the period, if need be.
        Self {
            period,
            runtime: runtime.min(period),
        }
    }

    /// Returns the time from the beginning of a measurement to that of the next one.
    pub(crate) const fn period(self) -> u64 {
        self.period
    }

    /// Returns the time that a measurement takes.
    pub(crate) const fn runtime(self) -> u64 {
        self.runtime
    }

    /// Returns the same with the period that was written to `period_us`.
    ///
    /// # Errors
    ///
    /// Those of [`number::parse`], and `Inval` for less than the runtime.
    pub(crate) fn with_period(self, input: &[u8]) -> Result<Self, Errno> {
        let period = number::parse(input)?;
        // INVARIANT: Asked for just here.
        match period >= self.runtime {
            true => Ok(Self { period, ..self }),
            false => Err(Errno::Inval),
        }
    }

    /// Returns the same with the runtime that was written to `runtime_us`.
    ///
    /// # Errors
    ///
    /// Those of [`number::parse`], and `Inval` for more than the period.
    pub(crate) fn with_runtime(self, input: &[u8]) -> Result<Self, Errno> {
        let runtime = number::parse(input)?;
        // INVARIANT: Asked for just here.
        match runtime <= self.period {
            true => Ok(Self { runtime, ..self }),
            false => Err(Errno::Inval),
        }
    }
}

/// What a measurement has found. Times are in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OsnoiseSample {
    pub(crate) noise: u64,
    pub(crate) runtime: u64,
    pub(crate) longest: u64,
    /// How often nothing that was seen had taken the CPU, and how often what took it began.
    pub(crate) hardware: u32,
    pub(crate) nmis: u32,
    pub(crate) irqs: u32,
    pub(crate) softirqs: u32,
    pub(crate) threads: u32,
}

impl OsnoiseSample {
    /// Fills a record after its common fields, which take eight bytes.
    pub(crate) fn fill(&self, rest: &mut [u8]) {
        RecordRest::of(rest)
            .long(self.noise)
            .long(self.runtime)
            .long(self.longest)
            .int(self.hardware)
            .int(self.nmis)
            .int(self.irqs)
            .int(self.softirqs)
            .int(self.threads)
            .int(0);
    }

    /// Returns the sample of a whole record; what it ends before is 0.
    fn of_record(record: &[u8]) -> Self {
        let long = |at: usize| super::long(record, at);
        let int = |at: usize| super::int(record, at);
        Self {
            noise: long(8),
            runtime: long(16),
            longest: long(24),
            hardware: int(32),
            nmis: int(36),
            irqs: int(40),
            softirqs: int(44),
            threads: int(48),
        }
    }
}

/// Writes the text of a record.
pub(crate) fn write_text(record: &[u8], out: &mut dyn Write) -> fmt::Result {
    let sample = OsnoiseSample::of_record(record);
    let (runtime, noise) = (sample.runtime, sample.noise);
    // In hundred-thousandths of a per cent, of numbers with 40 bits or less. Nothing is available of no time.
    let bits = u64::BITS.wrapping_sub(runtime.leading_zeros());
    let few = |number: u64| number.wrapping_shr(bits.saturating_sub(40));
    let free = few(runtime.wrapping_sub(noise)).saturating_mul(10_000_000);
    let share = free.checked_div(few(runtime)).unwrap_or(0);
    let (whole, part) = (share / 100_000, share % 100_000);
    write!(
        out,
        "{runtime} {noise:10} {whole:3}.{part:05} {:7}",
        sample.longest
    )?;
    for count in [
        sample.hardware,
        sample.nmis,
        sample.irqs,
        sample.softirqs,
        sample.threads,
    ] {
        write!(out, " {count:6}")?;
    }
    out.write_str("\n")
}

/// Writes a record under the option `raw`.
pub(crate) fn write_raw(record: &[u8], out: &mut dyn Write) -> fmt::Result {
    let sample = OsnoiseSample::of_record(record);
    writeln!(
        out,
        "{} {} {} {} {} {} {} {}",
        sample.runtime as i64,
        sample.noise,
        sample.longest,
        sample.hardware,
        sample.nmis,
        sample.irqs,
        sample.softirqs,
        sample.threads,
    )
}

/// Writes the CPUs of a set, which has one bit for each, as a list of ranges.
pub(crate) fn write_cpu_list(set: &[u64], out: &mut dyn ByteWrite) -> fmt::Result {
    let has = |cpu: usize| {
        let word = set.get(cpu >> 6).copied().unwrap_or(0);
        word.wrapping_shr(cpu as u32 & 63) & 1 != 0
    };
    let end = set.len().saturating_mul(64);
    let mut comma = "";
    let mut cpu = 0usize;
    while cpu < end {
        if !has(cpu) {
            cpu = cpu.wrapping_add(1);
            continue;
        }
        let rest = cpu.wrapping_add(1)..end;
        let last = rest.take_while(|next| has(*next)).last().unwrap_or(cpu);
        write!(out, "{comma}{cpu}")?;
        if last != cpu {
            write!(out, "-{last}")?;
        }
        comma = ",";
        cpu = last.wrapping_add(1);
    }
    out.write_char('\n')
}

/// The names of the columns.
const COLUMNS: &str = "\
#                                _-----=> irqs-off
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable                         MAX
#                              |||| /     delay                                   SINGLE      Interference counters:
#                              |||||               RUNTIME      NOISE  %% OF CPU  NOISE    +-----------------------------+
#           TASK-PID      CPU# |||||   TIMESTAMP    IN US       IN US  AVAILABLE  IN US     HW    NMI    IRQ   SIRQ THREAD
#              | |         |   |||||      |           |             |    |            |      |      |      |      |      |
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
#                              |||||| /                                               MAX
#                              ||||| /                                             SINGLE      Interference counters:
#                              |||||||               RUNTIME      NOISE  %% OF CPU  NOISE    +-----------------------------+
#           TASK-PID      CPU# |||||||   TIMESTAMP    IN US       IN US  AVAILABLE  IN US     HW    NMI    IRQ   SIRQ THREAD
#              | |         |   |||||||      |           |             |    |            |      |      |      |      |      |
";

/// Writes the names of the columns; `rt` says whether the kernel has `PREEMPT_RT`.
pub(crate) fn write_columns(rt: bool, out: &mut dyn Write) -> fmt::Result {
    out.write_str(if rt { COLUMNS_RT } else { COLUMNS })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: fn(&[u8], &mut dyn Write) -> fmt::Result, sample: OsnoiseSample) -> String {
        let mut record = vec![0xff; RECORD];
        sample.fill(&mut record[8..]);
        assert_eq!(OsnoiseSample::of_record(&record), sample);
        let mut text = String::new();
        write(&record, &mut text).unwrap();
        for len in 0..RECORD {
            write(&record[..len], &mut String::new()).unwrap();
        }
        text
    }

    #[test]
    fn texts() {
        let sample = OsnoiseSample {
            noise: 103_590,
            runtime: 1_000_000,
            longest: 12_328,
            hardware: 1223,
            nmis: 0,
            irqs: 312,
            softirqs: 0,
            threads: 74,
        };
        let line = "1000000     103590  89.64100   12328   1223      0    312      0     74\n";
        assert_eq!(text(write_text, sample), line);
        assert_eq!(
            text(write_raw, sample),
            "1000000 103590 12328 1223 0 312 0 74\n"
        );
    }

    #[test]
    fn no_time_and_much_of_it() {
        for (runtime, share) in [
            (0, "  0.00000"),
            (1 << 32, "100.00000"),
            (u64::MAX, "100.00000"),
        ] {
            let sample = OsnoiseSample {
                runtime,
                ..OsnoiseSample::default()
            };
            let line = text(write_text, sample);
            assert!(line.contains(share), "{line:?}");
        }
    }

    #[test]
    fn options() {
        let usual = NoiseOptions::USUAL;
        let list = |options: NoiseOptions| {
            let mut list = String::new();
            options.write_list(&mut list).unwrap();
            list
        };
        assert_eq!(
            list(usual),
            concat!(
                "DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP NO_OSNOISE_PREEMPT_DISABLE ",
                "NO_OSNOISE_IRQ_DISABLE NO_TIMERLAT_ALIGN \n"
            )
        );
        let other = usual.changed(b"OSNOISE_IRQ_DISABLE\n").unwrap();
        assert!(other.has(NoiseOptions::IRQ_DISABLE) && other.has(usual));
        assert!(list(other).starts_with("NO_DEFAULTS OSNOISE_WORKLOAD "));
        let none = other.changed(b"NO_ OSNOISE_WORKLOAD ").unwrap();
        assert!(!none.has(NoiseOptions::WORKLOAD));
        assert_eq!(none.changed(b"DEFAULTS"), Ok(usual));
        let rows: [&[u8]; 6] = [b"NO_DEFAULTS", b"", b"x", b"defaults", b"NO_", &[b' '; 256]];
        for input in rows {
            assert_eq!(usual.changed(input), Err(Errno::Inval), "{input:?}");
        }
    }

    #[test]
    fn times() {
        let usual = MeasureTimes::USUAL;
        assert_eq!(usual.with_runtime(b"1000001"), Err(Errno::Inval));
        assert_eq!(usual.with_period(b"999999"), Err(Errno::Inval));
        let none = usual.with_runtime(b"0").unwrap();
        assert_eq!((none.runtime(), none.period()), (0, 1_000_000));
        assert_eq!(none.with_period(b"18446744073709551616"), Err(Errno::Range));
        assert_eq!(MeasureTimes::of(5, 7).runtime(), 5);
    }

    #[test]
    fn lists_of_cpus() {
        let rows: [(&[u64], &str); 6] = [
            (&[0], "\n"),
            (&[1], "0\n"),
            (&[0b1_1011], "0-1,3-4\n"),
            (&[0b1010], "1,3\n"),
            (&[1 << 63, 0b11], "63-65\n"),
            (&[u64::MAX, u64::MAX], "0-127\n"),
        ];
        for (set, expected) in rows {
            let mut list = String::new();
            write_cpu_list(set, &mut list).unwrap();
            assert_eq!(list, expected);
        }
    }

    #[test]
    fn columns() {
        for (rt, flags) in [(false, "|||||"), (true, "|||||||")] {
            let mut text = String::new();
            write_columns(rt, &mut text).unwrap();
            assert!(text.lines().all(|line| line.starts_with('#')));
            assert!(text.contains(&format!("CPU# {flags} ")));
            assert!(text.contains("  %% OF CPU  "));
        }
    }
}
