// SPDX-License-Identifier: GPL-2.0
//! Which options an instance has, how they are written and how they are read.
//!
//! Called by `trace_options`, `options/*` and by the instance, which keeps an [`OptionSet`]. An option
//! is listed here only when something obeys it, in the order in which ftrace lists it.

use core::fmt;

use super::{
    errno::Errno,
    word, //
};

/// One option of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Opt {
    /// Lines of functions name the caller. No record has one as long as `nop` is the only tracer.
    PrintParent,
    /// Names of addresses in the kernel have the offset and the size of the function.
    SymOffset,
    /// Names of addresses have the address behind them.
    SymAddr,
    /// The header of `trace` has no names of columns; lines of `latency-format` are long.
    Verbose,
    /// Records without their text: who, where, when, and which type.
    Raw,
    /// The same in hexadecimal digits.
    Hex,
    /// The same as bytes.
    Bin,
    /// poll() always says that there is something to read.
    Block,
    /// Events are printed field by field.
    Fields,
    /// Without it `printk-msg-only` has no effect.
    TracePrintk,
    /// `trace` says where the events of a further CPU begin when the buffer had overruns.
    Annotate,
    /// Behind each event: who called the system, in user space.
    UserStack,
    /// Addresses in user space are shown as file and offset.
    SymUserobj,
    /// A marker is printed without anything around it.
    PrintkMsgOnly,
    /// Lines begin with task, CPU and time.
    ContextInfo,
    /// A file that is opened has short lines with delays.
    LatencyFormat,
    /// Names of tasks are remembered while events are enabled.
    RecordCmd,
    /// Thread groups of tasks are remembered while events are enabled, and lines show them.
    RecordTgid,
    /// A full buffer loses the oldest events, not the newest.
    Overwrite,
    /// `free_buffer` switches recording off.
    DisableOnFree,
    /// Lines have the five columns of the interrupt and preemption state.
    IrqInfo,
    /// `trace_marker` may be written.
    Markers,
    /// Children of a task in `set_event_pid` are added to it, tasks that end are taken out.
    EventFork,
    /// Nothing is recorded while `trace` is open for reading.
    PauseOnTrace,
    /// Pointers in texts of events are hashed.
    HashPtr,
    /// Masks in texts of events are lists of ranges.
    BitmaskList,
    /// Behind each event: which functions led to it.
    Stack,
    /// Of the tracer `nop`: can be switched, to try that.
    TestNopAccept,
    /// Of the tracer `nop`: refuses to be switched on.
    TestNopRefuse,
    /// Each open `trace_pipe` reads all events for itself. Not an option of ftrace.
    PipeShare,
    /// How often each event is recorded and refused is counted. Not an option of ftrace.
    EventCounts,
}

impl Opt {
    /// Every option, in the order of `trace_options`.
    pub(crate) const ALL: &'static [Opt] = &[
        Opt::PrintParent,
        Opt::SymOffset,
        Opt::SymAddr,
        Opt::Verbose,
        Opt::Raw,
        Opt::Hex,
        Opt::Bin,
        Opt::Block,
        Opt::Fields,
        Opt::TracePrintk,
        Opt::Annotate,
        Opt::UserStack,
        Opt::SymUserobj,
        Opt::PrintkMsgOnly,
        Opt::ContextInfo,
        Opt::LatencyFormat,
        Opt::RecordCmd,
        Opt::RecordTgid,
        Opt::Overwrite,
        Opt::DisableOnFree,
        Opt::IrqInfo,
        Opt::Markers,
        Opt::EventFork,
        Opt::PauseOnTrace,
        Opt::HashPtr,
        Opt::BitmaskList,
        Opt::Stack,
        Opt::TestNopAccept,
        Opt::TestNopRefuse,
        Opt::PipeShare,
        Opt::EventCounts,
    ];

    /// The name in `trace_options` and in `options/`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Opt::PrintParent => "print-parent",
            Opt::SymOffset => "sym-offset",
            Opt::SymAddr => "sym-addr",
            Opt::Verbose => "verbose",
            Opt::Raw => "raw",
            Opt::Hex => "hex",
            Opt::Bin => "bin",
            Opt::Block => "block",
            Opt::Fields => "fields",
            Opt::TracePrintk => "trace_printk",
            Opt::Annotate => "annotate",
            Opt::UserStack => "userstacktrace",
            Opt::SymUserobj => "sym-userobj",
            Opt::PrintkMsgOnly => "printk-msg-only",
            Opt::ContextInfo => "context-info",
            Opt::LatencyFormat => "latency-format",
            Opt::RecordCmd => "record-cmd",
            Opt::RecordTgid => "record-tgid",
            Opt::Overwrite => "overwrite",
            Opt::DisableOnFree => "disable_on_free",
            Opt::IrqInfo => "irq-info",
            Opt::Markers => "markers",
            Opt::EventFork => "event-fork",
            Opt::PauseOnTrace => "pause-on-trace",
            Opt::HashPtr => "hash-ptr",
            Opt::BitmaskList => "bitmask-list",
            Opt::Stack => "stacktrace",
            Opt::TestNopAccept => "test_nop_accept",
            Opt::TestNopRefuse => "test_nop_refuse",
            Opt::PipeShare => "pipe-share",
            Opt::EventCounts => "event-counts",
        }
    }

    /// Whether only the top instance has a file for it in `options/`.
    pub(crate) const fn top_only(self) -> bool {
        matches!(self, Opt::RecordCmd | Opt::PrintkMsgOnly | Opt::TracePrintk)
    }

    /// Whether instances can have it only through the top one: ftrace lets `trace_options` of any
    /// instance set the others of [`Self::top_only`].
    pub(crate) const fn is_global(self) -> bool {
        matches!(self, Opt::RecordCmd)
    }

    /// Whether switching it on is refused.
    pub(crate) const fn refuses(self) -> bool {
        matches!(self, Opt::TestNopRefuse)
    }

    /// Whether it is the tracer's own: all instances have the same.
    pub(crate) const fn of_tracer(self) -> bool {
        matches!(self, Opt::TestNopAccept | Opt::TestNopRefuse)
    }

    const fn bit(self) -> u32 {
        1u32.wrapping_shl(self as u32)
    }
}

/// The options that are on; the word that an instance keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OptionSet(u32);

impl OptionSet {
    /// What the top instance starts with. A new instance starts with what the top one has then.
    pub(crate) const DEFAULT: OptionSet = OptionSet(
        Opt::PrintParent.bit()
            | Opt::TracePrintk.bit()
            | Opt::Annotate.bit()
            | Opt::ContextInfo.bit()
            | Opt::RecordCmd.bit()
            | Opt::Overwrite.bit()
            | Opt::IrqInfo.bit()
            | Opt::Markers.bit()
            | Opt::HashPtr.bit(),
    );

    /// The set that [`Self::bits`] was taken from.
    pub(crate) const fn from_bits(bits: u32) -> Self {
        OptionSet(bits)
    }

    /// The set as a word, for atomic storage.
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// Whether `opt` is on.
    pub(crate) const fn has(self, opt: Opt) -> bool {
        self.0 & opt.bit() != 0
    }

    /// The same set with `opt` on or off.
    pub(crate) const fn with(self, opt: Opt, on: bool) -> Self {
        if on {
            OptionSet(self.0 | opt.bit())
        } else {
            OptionSet(self.0 & !opt.bit())
        }
    }

    /// Writes the text of `trace_options`.
    pub(crate) fn write_list(self, out: &mut dyn fmt::Write) -> fmt::Result {
        for &opt in Opt::ALL {
            let no = if self.has(opt) { "" } else { "no" };

            writeln!(out, "{no}{}", opt.name())?;
        }
        Ok(())
    }
}

/// What `trace_options` takes in one write, at most, in bytes.
const LONGEST_WRITE: usize = 63;

/// Parses a write to `trace_options`: `NAME` or `noNAME`.
pub(crate) fn parse(input: &[u8]) -> Result<(Opt, bool), Errno> {
    if input.len() > LONGEST_WRITE {
        return Err(Errno::Inval);
    }

    let wish = word::strip(input);
    let (name, on) = match wish.strip_prefix(b"no") {
        Some(name) => (name, false),
        None => (wish, true),
    };

    Opt::ALL
        .iter()
        .find(|opt| opt.name().as_bytes() == name)
        .map(|&opt| (opt, on))
        .ok_or(Errno::Inval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_in_ftraces_order() {
        let mut text = String::new();
        let set = OptionSet::DEFAULT.with(Opt::Overwrite, false);

        set.write_list(&mut text).unwrap();
        // As a stock kernel shows it, without what is not offered.
        let list =
            "print-parent nosym-offset nosym-addr noverbose noraw nohex nobin noblock nofields \
                    trace_printk annotate nouserstacktrace nosym-userobj noprintk-msg-only \
                    context-info nolatency-format record-cmd norecord-tgid nooverwrite nodisable_on_free irq-info markers \
                    noevent-fork nopause-on-trace hash-ptr nobitmask-list nostacktrace notest_nop_accept \
                    notest_nop_refuse nopipe-share noevent-counts";
        assert_eq!(text.split('\n').collect::<Vec<_>>().join(" ").trim(), list);
    }

    #[test]
    fn every_option_is_its_own_bit() {
        for &opt in Opt::ALL {
            let off = OptionSet::DEFAULT.with(opt, false);
            let on = off.with(opt, true);

            for &other in Opt::ALL {
                assert_eq!(on.has(other), other == opt || off.has(other));
                assert_eq!(off.has(other), other != opt && on.has(other));
            }
            assert_eq!((on.bits() ^ off.bits()).count_ones(), 1);
            assert_eq!(OptionSet::from_bits(off.bits()), off);
        }
    }

    #[test]
    fn three_options_belong_to_the_top_instance() {
        let names: Vec<_> = Opt::ALL
            .iter()
            .filter(|opt| opt.top_only())
            .map(|opt| opt.name())
            .collect();
        assert_eq!(names, ["trace_printk", "printk-msg-only", "record-cmd"]);
        assert!(Opt::ALL
            .iter()
            .all(|opt| opt.top_only() || !opt.is_global()));
    }

    #[test]
    fn writes() {
        for &opt in Opt::ALL {
            let name = opt.name();

            assert_eq!(parse(name.as_bytes()), Ok((opt, true)));
            assert_eq!(parse(format!(" no{name}\n").as_bytes()), Ok((opt, false)));
        }
        let rows: [&[u8]; 7] = [
            b"",
            b"no",
            b"nonooverwrite",
            b"no overwrite",
            b"Overwrite",
            b"overwrit",
            b"overwrite markers",
        ];
        for input in rows {
            assert_eq!(parse(input), Err(Errno::Inval), "{input:?}");
        }
    }

    #[test]
    fn a_write_has_at_most_63_bytes() {
        let mut input = [b' '; 64];

        input[..7].copy_from_slice(b"markers");
        assert_eq!(parse(&input[..63]), Ok((Opt::Markers, true)));
        assert_eq!(parse(&input), Err(Errno::Inval));
    }
}
