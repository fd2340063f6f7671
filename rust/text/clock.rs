// SPDX-License-Identifier: GPL-2.0
//! The clocks that an instance can use, and the text of `trace_clock`.
//!
//! Called by the file `trace_clock`, by the instance, which maps a [`ClockId`] to a function, and
//! by the printers of stamps, because only some clocks count nanoseconds.

use core::fmt;

use super::{
    errno::Errno,
    word, //
};

/// A clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockId {
    /// Nanoseconds; fast, and CPUs may differ by a little.
    Local,
    /// Nanoseconds, in one order for all CPUs.
    Global,
    /// A counter, one higher with each event.
    Counter,
    /// Jiffies since boot.
    Uptime,
    /// The clock of perf events.
    Perf,
    /// `CLOCK_MONOTONIC`.
    Mono,
    /// `CLOCK_MONOTONIC_RAW`.
    MonoRaw,
    /// `CLOCK_BOOTTIME`.
    Boot,
    /// `CLOCK_TAI`.
    Tai,
    /// The processor's cycle counter.
    X86Tsc,
}

impl ClockId {
    /// All clocks, in the order of `trace_clock`.
    pub(crate) const ALL: &'static [ClockId] = &[
        ClockId::Local,
        ClockId::Global,
        ClockId::Counter,
        ClockId::Uptime,
        ClockId::Perf,
        ClockId::Mono,
        ClockId::MonoRaw,
        ClockId::Boot,
        ClockId::Tai,
        ClockId::X86Tsc,
    ];

    /// Returns the name in `trace_clock`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            ClockId::Local => "local",
            ClockId::Global => "global",
            ClockId::Counter => "counter",
            ClockId::Uptime => "uptime",
            ClockId::Perf => "perf",
            ClockId::Mono => "mono",
            ClockId::MonoRaw => "mono_raw",
            ClockId::Boot => "boot",
            ClockId::Tai => "tai",
            ClockId::X86Tsc => "x86-tsc",
        }
    }

    /// Returns whether the clock counts nanoseconds, so that a stamp is printed as seconds.
    pub(crate) const fn in_ns(self) -> bool {
        !matches!(self, ClockId::Counter | ClockId::Uptime | ClockId::X86Tsc)
    }

    /// Writes the text of `trace_clock` while this clock is the chosen one.
    pub(crate) fn write_list(self, out: &mut dyn fmt::Write) -> fmt::Result {
        let mut gap = "";

        for &clock in ClockId::ALL {
            let name = clock.name();

            if clock == self {
                write!(out, "{gap}[{name}]")?;
            } else {
                write!(out, "{gap}{name}")?;
            }
            gap = " ";
        }
        out.write_char('\n')
    }
}

// A clock is looked up in the list by its number.
const _: () = {
    let mut place = 0;
    while place < ClockId::ALL.len() {
        assert!(ClockId::ALL[place] as usize == place);
        place += 1;
    }
};

/// Most bytes that a write to `trace_clock` may have.
const LONGEST_WRITE: usize = 63;

/// Parses a write to `trace_clock`.
///
/// # Errors
///
/// `Inval` if it is not the name of a clock, or too long.
pub(crate) fn parse(input: &[u8]) -> Result<ClockId, Errno> {
    if input.len() > LONGEST_WRITE {
        return Err(Errno::Inval);
    }

    let name = word::strip(input);

    ClockId::ALL
        .iter()
        .find(|clock| clock.name().as_bytes() == name)
        .copied()
        .ok_or(Errno::Inval)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(clock: ClockId) -> String {
        let mut text = String::new();

        clock.write_list(&mut text).unwrap();
        text
    }

    #[test]
    fn lists() {
        assert_eq!(
            list(ClockId::Local),
            "[local] global counter uptime perf mono mono_raw boot tai x86-tsc\n"
        );
        assert_eq!(
            list(ClockId::X86Tsc),
            "local global counter uptime perf mono mono_raw boot tai [x86-tsc]\n"
        );
    }

    #[test]
    fn every_name_is_found() {
        for &clock in ClockId::ALL {
            assert_eq!(parse(clock.name().as_bytes()), Ok(clock));
            assert_eq!(
                parse(format!("\t{} \n", clock.name()).as_bytes()),
                Ok(clock)
            );
        }
    }

    #[test]
    fn other_names_are_not() {
        for input in [
            "",
            "\n",
            "loca",
            "locall",
            "local global",
            "LOCAL",
            "[local]",
            "ppc-tb",
        ] {
            assert_eq!(parse(input.as_bytes()), Err(Errno::Inval), "{input}");
        }
        assert_eq!(
            parse(&[b"tai".as_slice(), &[b' '; 61]].concat()),
            Err(Errno::Inval)
        );
        assert_eq!(
            parse(&[b"tai".as_slice(), &[b' '; 60]].concat()),
            Ok(ClockId::Tai)
        );
    }

    #[test]
    fn three_clocks_do_not_count_nanoseconds() {
        let odd: Vec<&str> = ClockId::ALL
            .iter()
            .filter(|clock| !clock.in_ns())
            .map(|clock| clock.name())
            .collect();
        assert_eq!(odd, ["counter", "uptime", "x86-tsc"]);
    }
}
