// SPDX-License-Identifier: GPL-2.0
//! What a write into `snapshot` means, and what the file says when there is nothing to show.
//!
//! Called by the files `snapshot`, of all CPUs and of one.

use core::fmt;

use super::{
    errno::Errno,
    number, //
};

/// What a number asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// 0: forget the snapshot and give back its memory.
    Free,
    /// 1: take one.
    Take,
    /// Any other: forget what it holds.
    Clear,
}

/// Parses a write to `snapshot`; `whole` says that it is the file of all CPUs. The snapshot of one
/// CPU can be cleared and nothing else.
pub(crate) fn parse(input: &[u8], whole: bool) -> Result<Command, Errno> {
    match (number::parse(input)?, whole) {
        (0, true) => Ok(Command::Free),
        (1, true) => Ok(Command::Take),
        (0 | 1, false) => Err(Errno::Inval),
        _ => Ok(Command::Clear),
    }
}

/// The text below the name of the tracer, where events and their header would be.
pub(crate) struct Help {
    /// There is memory for a snapshot.
    pub(crate) allocated: bool,
    /// It is the file of all CPUs.
    pub(crate) whole: bool,
}

const WHOLE: &str = "\
# echo 0 > snapshot : Clears and frees snapshot buffer
# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.
#                      Takes a snapshot of the main buffer.
# echo 2 > snapshot : Clears snapshot buffer (but does not allocate or free)
";

const ONE_CPU: &str = "\
# echo 0 > snapshot : Invalid for per_cpu snapshot file.
# echo 1 > snapshot : Not supported with this kernel.
#                     Must use main snapshot file to allocate.
# echo 2 > snapshot : Clears this cpu's snapshot buffer (but does not allocate)
";

const ANY_NUMBER: &str = "\
#                      (Doesn't have to be '2' works with any number that
#                       is not a '0' or '1')
";

impl Help {
    /// Writes it.
    pub(crate) fn write_text(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let state = if self.allocated { "allocated" } else { "freed" };
        let commands = if self.whole { WHOLE } else { ONE_CPU };

        write!(
            out,
            "#\n# * Snapshot is {state} *\n#\n# Snapshot commands:\n"
        )?;
        out.write_str(commands)?;
        out.write_str(ANY_NUMBER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (input, whole, one) in [
            ("0", Ok(Command::Free), Err(Errno::Inval)),
            ("1\n", Ok(Command::Take), Err(Errno::Inval)),
            ("2", Ok(Command::Clear), Ok(Command::Clear)),
            (
                "+18446744073709551615",
                Ok(Command::Clear),
                Ok(Command::Clear),
            ),
            ("18446744073709551616", Err(Errno::Range), Err(Errno::Range)),
            ("-1", Err(Errno::Inval), Err(Errno::Inval)),
            ("", Err(Errno::Inval), Err(Errno::Inval)),
            ("1 ", Err(Errno::Inval), Err(Errno::Inval)),
        ] {
            assert_eq!(parse(input.as_bytes(), true), whole, "{input:?}");
            assert_eq!(parse(input.as_bytes(), false), one, "{input:?}");
        }
    }

    #[test]
    fn every_line_is_a_comment_and_the_state_is_told() {
        for (allocated, whole) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut text = String::new();

            Help { allocated, whole }.write_text(&mut text).unwrap();
            assert!(text.lines().all(|line| line.starts_with('#')));
            assert!(text.ends_with('\n'));
            assert_eq!(text.contains("* Snapshot is allocated *"), allocated);
            assert_eq!(text.contains("* Snapshot is freed *"), !allocated);
            assert_eq!(text.contains("frees snapshot buffer"), whole);
        }
    }
}
