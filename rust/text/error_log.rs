// SPDX-License-Identifier: GPL-2.0
//! The text of `error_log`.

use core::fmt;

use super::writer::ByteWrite;

/// Number of entries that an instance keeps; the oldest go first.
pub(crate) const KEPT: usize = 8;

/// Precedes the text of the refused command.
const COMMAND: &str = "  Command: ";

/// Returns where the caret stands in `command`: under the first place where `word` occurs, as in ftrace
/// also when that is not where the error is; under the first byte if there is no such place.
pub(crate) fn place(command: &[u8], word: &[u8]) -> usize {
    match word {
        [] => 0,
        word => command
            .windows(word.len())
            .position(|part| part == word)
            .unwrap_or(0),
    }
}

/// A refused command.
pub(crate) struct RefusedCommand<'a> {
    /// Nanoseconds since boot.
    pub(crate) time: u64,
    /// Parser that refused it.
    pub(crate) place: &'a str,
    pub(crate) error: &'a str,
    pub(crate) command: &'a [u8],
    /// Offset in `command` of the byte that the caret stands under.
    pub(crate) at: usize,
}

impl RefusedCommand<'_> {
    /// Writes the entry.
    pub(crate) fn write_text(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        let (seconds, rest) = (self.time / 1_000_000_000, self.time % 1_000_000_000);
        writeln!(
            out,
            "[{seconds:5}.{:06}] {}: error: {}",
            rest / 1000,
            self.place,
            self.error
        )?;
        out.write_str(COMMAND)?;
        out.write_bytes(self.command)?;
        let width = COMMAND.len().saturating_add(self.at).saturating_add(1);
        writeln!(out, "\n{:>width$}", "^")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_look_like_those_of_tracefs() {
        let mut out = String::new();
        RefusedCommand {
            time: 68_532_871_059,
            place: "event filter parse error",
            error: "Field not found",
            command: b"nope == 1",
            at: 5,
        }
        .write_text(&mut out)
        .unwrap();
        assert_eq!(
            out,
            "[   68.532871] event filter parse error: error: Field not found\n\
             \x20 Command: nope == 1\n\
             \x20               ^\n"
        );
    }
}
