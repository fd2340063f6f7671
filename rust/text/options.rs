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
    /// `trace` says where the events of a further CPU begin when the buffer had overruns.
    Annotate,
    /// Lines begin with task, CPU and time.
    ContextInfo,
    /// Names of tasks are remembered while events are enabled.
    RecordCmd,
    /// A full buffer loses the oldest events, not the newest.
    Overwrite,
    /// Lines have the five columns of the interrupt and preemption state.
    IrqInfo,
    /// `trace_marker` may be written.
    Markers,
}

impl Opt {
    /// Every option, in the order of `trace_options`.
    pub(crate) const ALL: &'static [Opt] = &[
        Opt::Annotate,
        Opt::ContextInfo,
        Opt::RecordCmd,
        Opt::Overwrite,
        Opt::IrqInfo,
        Opt::Markers,
    ];

    /// The name in `trace_options` and in `options/`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Opt::Annotate => "annotate",
            Opt::ContextInfo => "context-info",
            Opt::RecordCmd => "record-cmd",
            Opt::Overwrite => "overwrite",
            Opt::IrqInfo => "irq-info",
            Opt::Markers => "markers",
        }
    }

    /// Whether only the top instance has a file for it in `options/`.
    pub(crate) const fn top_only(self) -> bool {
        matches!(self, Opt::RecordCmd)
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
        Opt::Annotate.bit()
            | Opt::ContextInfo.bit()
            | Opt::RecordCmd.bit()
            | Opt::Overwrite.bit()
            | Opt::IrqInfo.bit()
            | Opt::Markers.bit(),
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
        assert_eq!(
            text,
            "annotate\ncontext-info\nrecord-cmd\nnooverwrite\nirq-info\nmarkers\n"
        );
    }

    #[test]
    fn every_option_is_its_own_bit() {
        for &opt in Opt::ALL {
            let off = OptionSet::DEFAULT.with(opt, false);

            for &other in Opt::ALL {
                assert_eq!(off.has(other), other != opt);
            }
            assert_eq!(off.with(opt, true), OptionSet::DEFAULT);
            assert_eq!(OptionSet::from_bits(off.bits()), off);
        }
        assert_eq!(
            OptionSet::DEFAULT.bits().count_ones() as usize,
            Opt::ALL.len()
        );
    }

    #[test]
    fn one_option_belongs_to_the_top_instance() {
        for &opt in Opt::ALL {
            assert_eq!(opt.top_only(), opt.name() == "record-cmd");
        }
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
