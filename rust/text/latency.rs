// SPDX-License-Identifier: GPL-2.0
//! The form of `trace` and `trace_pipe` under the option `latency-format`.
//!
//! The header names the kernel that the trace was made on; each line begins with the time since the
//! buffer was emptied, and a mark for the time until the next event. With `verbose` lines are long.

use core::fmt;

use super::{
    clock::ClockId,
    time::microseconds,
    writer::ByteWrite, //
};

const NS_PER_US: u64 = 1_000;
const US_PER_MS: u64 = 1_000;

/// The marks, for delays of more than that many nanoseconds.
const MARKS: [(u64, char); 6] = [
    (1_000_000_000, '$'),
    (100_000_000, '@'),
    (10_000_000, '*'),
    (1_000_000, '#'),
    (100_000, '!'),
    (10_000, '+'),
];

/// Returns the mark of a delay in nanoseconds.
pub(super) fn mark(delay: u64) -> char {
    MARKS
        .iter()
        .find(|(least, _)| delay > *least)
        .map_or(' ', |(_, mark)| *mark)
}

/// The time of an event among those of a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) stamp: u64,
    /// Stamp of the event after it; its own if there is none.
    pub(crate) next: u64,
    /// Time at which the buffer was emptied.
    pub(crate) begin: u64,
    /// The clock of the three times.
    pub(crate) clock: ClockId,
}

impl Moment {
    /// Returns the time since the buffer was emptied, and the time until the next event: in
    /// microseconds if the clock counts nanoseconds, else in its own units.
    fn spans(&self) -> (u64, u64) {
        let unit = |span| match self.clock.in_ns() {
            true => microseconds(span),
            false => span,
        };
        (
            unit(self.stamp.wrapping_sub(self.begin)),
            unit(self.next.wrapping_sub(self.stamp)),
        )
    }

    fn write_short(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        let (since, until) = self.spans();
        if self.clock.in_ns() {
            let mark = mark(until.wrapping_mul(NS_PER_US));
            write!(out, " {:4}us{mark}: ", since as i64)
        } else {
            write!(out, " {:4}: ", since as i64)
        }
    }

    fn write_long(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        let (since, until) = self.spans();
        if self.clock.in_ns() {
            write!(
                out,
                "[{:08x}] {}.{:03}ms (+{}.{:03}ms): ",
                microseconds(self.stamp),
                since / US_PER_MS,
                since % US_PER_MS,
                until / US_PER_MS,
                until % US_PER_MS
            )
        } else {
            write!(
                out,
                "[{:016x}] {} (+{}): ",
                self.stamp, since as i64, until as i64
            )
        }
    }
}

/// What precedes the text of an event.
pub(crate) struct LatencyPrefix<'a> {
    pub(crate) comm: &'a [u8],
    pub(crate) pid: i32,
    pub(crate) cpu: u32,
    /// The flag columns.
    pub(crate) columns: [u8; 5],
    /// The byte of flags that the columns show.
    pub(crate) flags: u8,
    /// Depth to which preemption was disabled.
    pub(crate) depth: u8,
    /// Number of the event, counted by the reader.
    pub(crate) number: u64,
    pub(crate) moment: Moment,
}

/// Width of the name of a task in a short line.
const SHORT: usize = 8;
/// Width of the name of a task in a long line.
const LONG: usize = 16;

impl LatencyPrefix<'_> {
    /// Writes the prefix.
    pub(crate) fn write_text(&self, verbose: bool, out: &mut dyn ByteWrite) -> fmt::Result {
        if verbose {
            write_name(self.comm, LONG, out)?;
            write!(
                out,
                " {:7} {:3} {} {:08x} {:08x} ",
                self.pid, self.cpu, self.flags, self.depth, self.number
            )?;
            self.moment.write_long(out)
        } else {
            let comm = self.comm.get(..SHORT).unwrap_or(self.comm);
            write_name(comm, SHORT, out)?;
            write!(out, "-{:<7} {:3}", self.pid, self.cpu)?;
            out.write_bytes(&self.columns)?;
            self.moment.write_short(out)
        }
    }
}

fn write_name(name: &[u8], width: usize, out: &mut dyn ByteWrite) -> fmt::Result {
    for _ in name.len()..width {
        out.write_char(' ')?;
    }
    out.write_bytes(name)
}

/// The kernel that a trace was made on.
pub(crate) struct Machine<'a> {
    /// Its release.
    pub(crate) release: &'a str,
    /// Its preemption model.
    pub(crate) preemption: &'a str,
    pub(crate) online_cpus: u32,
}

/// The names of the columns of short lines. Some lines end with blanks.
const COLUMNS: &str = concat!(
    "#                    _------=> CPU#            \n",
    "#                   / _-----=> irqs-off/BH-disabled\n",
    "#                  | / _----=> need-resched    \n",
    "#                  || / _---=> hardirq/softirq \n",
    "#                  ||| / _--=> preempt-depth   \n",
    "#                  |||| / _-=> migrate-disable \n",
    "#                  ||||| /     delay           \n",
    "#  cmd     pid     |||||| time  |   caller     \n",
    "#     \\   /        ||||||  \\    |    /       \n",
);

/// The latency whose trace it is, and the task that had it; all 0 for the trace of no latency.
#[derive(Clone, Copy, Default)]
pub(crate) struct LatencyHead<'a> {
    /// In microseconds.
    pub(crate) latency: u64,
    pub(crate) cpu: u32,
    pub(crate) comm: &'a [u8],
    pub(crate) pid: i32,
    pub(crate) uid: u32,
    pub(crate) nice: i32,
    pub(crate) policy: u32,
    pub(crate) rt_priority: u32,
    /// Where a section began and ended.
    pub(crate) places: Option<[&'a [u8]; 2]>,
}

/// Writes the header of a buffer that is not empty, which follows the line that names the tracer.
pub(crate) fn write_header(
    tracer: &str,
    machine: &Machine<'_>,
    head: &LatencyHead<'_>,
    entries: u64,
    written: u64,
    verbose: bool,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    writeln!(
        out,
        "# {tracer} latency trace v1.1.5 on {}",
        machine.release
    )?;
    writeln!(out, "# {:-<68}", "")?;
    writeln!(
        out,
        "# latency: {} us, #{entries}/{written}, CPU#{} | (M:{} VP:0, KP:0, SP:0 HP:0 #P:{})",
        head.latency, head.cpu, machine.preemption, machine.online_cpus
    )?;
    out.write_str("#    -----------------\n#    | task: ")?;
    out.write_bytes(head.comm)?;
    writeln!(
        out,
        "-{} (uid:{} nice:{} policy:{} rt_prio:{})",
        head.pid, head.uid as i32, head.nice, head.policy, head.rt_priority
    )?;
    out.write_str("#    -----------------\n")?;
    if let Some([began, ended]) = head.places {
        out.write_str("#  => started at: ")?;
        out.write_bytes(began)?;
        out.write_str("\n#  => ended at:   ")?;
        out.write_bytes(ended)?;
        out.write_str("\n#\n")?;
    }
    out.write_str("#\n")?;
    out.write_str(if verbose { "" } else { COLUMNS })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(comm: &str, number: u64, moment: Moment, verbose: bool) -> String {
        let prefix = LatencyPrefix {
            comm: comm.as_bytes(),
            pid: 113,
            cpu: 1,
            columns: *b"d.h1.",
            flags: 9,
            depth: 1,
            number,
            moment,
        };
        let mut text = String::new();

        prefix.write_text(verbose, &mut text).unwrap();
        text
    }

    fn at(clock: ClockId) -> Moment {
        Moment {
            stamp: 3_702_645_500,
            next: 3_703_794_000,
            begin: 0,
            clock,
        }
    }

    // The numbers that a stock kernel writes, with other flags.
    #[test]
    fn lines_of_a_clock_in_nanoseconds() {
        let moment = at(ClockId::Local);

        assert_eq!(
            line("sh", 0, moment, false),
            "      sh-113       1d.h1. 3702646us#: "
        );
        assert_eq!(
            line("sh", 26, moment, true),
            "              sh     113   1 9 00000001 0000001a [00387f76] 3702.646ms (+1.149ms): "
        );
        assert_eq!(
            line("a_long_name_of_1", 0, moment, false),
            "a_long_n-113       1d.h1. 3702646us#: "
        );
    }

    #[test]
    fn lines_of_another_clock() {
        let moment = Moment {
            stamp: 7,
            next: 9,
            begin: 2,
            clock: ClockId::Counter,
        };
        assert_eq!(
            line("sh", 0, moment, false),
            "      sh-113       1d.h1.    5: "
        );
        assert_eq!(
            line("sh", 0, moment, true),
            "              sh     113   1 9 00000001 00000000 [0000000000000007] 5 (+2): "
        );
    }

    #[test]
    fn short_times_are_padded() {
        let moment = Moment {
            begin: 3_702_639_600,
            next: 3_702_645_999,
            ..at(ClockId::Mono)
        };
        assert_eq!(
            line("sh", 0, moment, false),
            "      sh-113       1d.h1.    6us : "
        );
        assert_eq!(
            line("sh", 0, moment, true),
            "              sh     113   1 9 00000001 00000000 [00387f76] 0.006ms (+0.000ms): "
        );
    }

    #[test]
    fn every_mark() {
        let rows = [
            (0, ' '),
            (10_000, ' '),
            (10_001, '+'),
            (100_000, '+'),
            (100_001, '!'),
            (1_000_001, '#'),
            (10_000_001, '*'),
            (100_000_001, '@'),
            (1_000_000_000, '@'),
            (1_000_000_001, '$'),
            (u64::MAX, '$'),
        ];
        for (delay, expected) in rows {
            assert_eq!(mark(delay), expected, "{delay}");
        }
    }

    #[test]
    fn header_as_a_stock_kernel_writes_it() {
        let machine = Machine {
            release: "7.3.4+deb13-amd64",
            preemption: "PREEMPT(lazy)",
            online_cpus: 2,
        };
        let head = "\
# nop latency trace v1.1.5 on 7.3.4+deb13-amd64
# --------------------------------------------------------------------
# latency: 0 us, #136/412, CPU#0 | (M:PREEMPT(lazy) VP:0, KP:0, SP:0 HP:0 #P:2)
#    -----------------
#    | task: -0 (uid:0 nice:0 policy:0 rt_prio:0)
#    -----------------
#
";
        for verbose in [true, false] {
            let mut text = String::new();

            let none = LatencyHead::default();
            write_header("nop", &machine, &none, 136, 412, verbose, &mut text).unwrap();
            let rest = text.strip_prefix(head).unwrap();
            assert_eq!(rest.lines().count(), if verbose { 0 } else { 9 });
            assert!(rest.lines().all(|line| line.starts_with('#')));
        }
    }

    #[test]
    fn header_of_a_latency() {
        let machine = Machine {
            release: "7.3.4+deb13-rt-amd64",
            preemption: "PREEMPT_{RT,(full)}",
            online_cpus: 2,
        };
        let head = LatencyHead {
            latency: 2246,
            cpu: 1,
            comm: b"irq/25-virtio0-",
            pid: 69,
            nice: -5,
            policy: 1,
            rt_priority: 50,
            ..LatencyHead::default()
        };
        let mut text = String::new();
        write_header("wakeup_rt", &machine, &head, 45, 45, true, &mut text).unwrap();
        assert_eq!(
            text,
            "\
# wakeup_rt latency trace v1.1.5 on 7.3.4+deb13-rt-amd64
# --------------------------------------------------------------------
# latency: 2246 us, #45/45, CPU#1 | (M:PREEMPT_{RT,(full)} VP:0, KP:0, SP:0 HP:0 #P:2)
#    -----------------
#    | task: irq/25-virtio0--69 (uid:0 nice:-5 policy:1 rt_prio:50)
#    -----------------
#
"
        );
        // As the kernel's document on ftrace shows it.
        let head = LatencyHead {
            places: Some([b"run_timer_softirq", b"_raw_spin_unlock_irq"]),
            ..head
        };
        let mut of_section = String::new();
        write_header("irqsoff", &machine, &head, 4, 4, true, &mut of_section).unwrap();
        let (_, rest) = of_section.split_once("rt_prio:50)\n").unwrap();
        assert_eq!(
            rest,
            "\
#    -----------------
#  => started at: run_timer_softirq
#  => ended at:   _raw_spin_unlock_irq
#
#
"
        );
    }
}
