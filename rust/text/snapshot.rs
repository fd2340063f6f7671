// SPDX-License-Identifier: GPL-2.0
//! Parses writes to `snapshot`, and prints its help while there are no events to show.
//!
//! Called by the files `snapshot`, of all CPUs and of one.

use core::fmt;

use super::{
    errno::Errno,
    number, //
};

/// What a number means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SnapshotCommand {
    /// 0: drop the snapshot and free its memory.
    Free,
    /// 1: take a snapshot.
    Take,
    /// Any other number: empty the snapshot.
    Clear,
}

/// Parses a write to `snapshot`. `whole` is set for the file of all CPUs; the snapshot of one CPU
/// can only be emptied.
///
/// # Errors
///
/// Those of [`number::parse`], and `Inval` for 0 and 1 in the file of one CPU.
pub(crate) fn parse(input: &[u8], whole: bool) -> Result<SnapshotCommand, Errno> {
    match (number::parse(input)?, whole) {
        (0, true) => Ok(SnapshotCommand::Free),
        (1, true) => Ok(SnapshotCommand::Take),
        (0 | 1, false) => Err(Errno::Inval),
        _ => Ok(SnapshotCommand::Clear),
    }
}

/// The help that follows the name of the tracer, in place of a header and events.
pub(crate) struct Help {
    /// Whether there is memory for a snapshot.
    pub(crate) allocated: bool,
    /// Whether it is the file of all CPUs.
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
    /// Writes the help.
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
            ("0", Ok(SnapshotCommand::Free), Err(Errno::Inval)),
            ("1\n", Ok(SnapshotCommand::Take), Err(Errno::Inval)),
            ("2", Ok(SnapshotCommand::Clear), Ok(SnapshotCommand::Clear)),
            (
                "+18446744073709551615",
                Ok(SnapshotCommand::Clear),
                Ok(SnapshotCommand::Clear),
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
