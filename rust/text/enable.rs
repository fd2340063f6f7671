// SPDX-License-Identifier: GPL-2.0
//! The text of `enable` files.
//!
//! Called by the `enable` files of one event, of a system and of all events, with the state of each
//! event below them.

use core::fmt;

/// The state of a group of events.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EnableState {
    some_off: bool,
    some_on: bool,
}

impl EnableState {
    /// Adds one event of the group.
    pub(crate) fn add(&mut self, enabled: bool) {
        self.some_on |= enabled;
        self.some_off |= !enabled;
    }

    /// Writes the text of the file: `0`, `1`, `X` if some are on and some off, `?` for a group
    /// without events.
    pub(crate) fn write_text(self, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str(match (self.some_off, self.some_on) {
            (false, false) => "?\n",
            (true, false) => "0\n",
            (false, true) => "1\n",
            (true, true) => "X\n",
        })
    }
}

/// Writes the text of the file of one event: whether it is recorded, and a star if it is attached for
/// triggers.
pub(crate) fn write_event(out: &mut dyn fmt::Write, on: bool, soft: bool) -> fmt::Result {
    out.write_str(match (on, soft) {
        (false, false) => "0\n",
        (true, false) => "1\n",
        (false, true) => "0*\n",
        (true, true) => "1*\n",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_event() {
        for (on, soft, expected) in [
            (false, false, "0\n"),
            (true, false, "1\n"),
            (false, true, "0*\n"),
            (true, true, "1*\n"),
        ] {
            let mut text = String::new();
            write_event(&mut text, on, soft).unwrap();
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn texts() {
        let rows: [(&[bool], &str); 6] = [
            (&[], "?\n"),
            (&[false], "0\n"),
            (&[false, false], "0\n"),
            (&[true, true], "1\n"),
            (&[false, true], "X\n"),
            (&[true, false, true], "X\n"),
        ];
        for (events, expected) in rows {
            let mut state = EnableState::default();
            let mut text = String::new();

            events.iter().for_each(|&enabled| state.add(enabled));
            state.write_text(&mut text).unwrap();
            assert_eq!(text, expected, "{events:?}");
        }
    }
}
