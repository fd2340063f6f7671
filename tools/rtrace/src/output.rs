// SPDX-License-Identifier: GPL-2.0

//! What goes to stdout: lines, colours where a person looks, JSON where a program does; and what is told
//! on stderr.

use anyhow::Result;
use serde_json::Value;
use std::io::{self, IsTerminal, Write};

/// How results are shown.
#[derive(Clone, Copy)]
pub struct Output {
    pub json: bool,
    pub colours: bool,
    pub terminal: bool,
}

/// The colours that are used, as the terminal's own sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
}

impl Output {
    /// Returns how to write to stdout: colours on a terminal only, and not with NO_COLOR.
    pub fn new(json: bool) -> Self {
        let terminal = io::stdout().is_terminal();
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            json,
            terminal,
            colours: terminal && !json && !is_set("NO_COLOR") && !is_dumb,
        }
    }

    /// Returns a text in a colour, or as it is.
    pub fn paint(self, colour: Colour, text: &str) -> String {
        if !self.colours {
            return text.to_string();
        }
        let code = match colour {
            Colour::Bold => 1,
            Colour::Dim => 2,
            Colour::Red => 31,
            Colour::Green => 32,
            Colour::Yellow => 33,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// Returns the name of the file whose lines are shown as they are.
    pub fn pipe(self) -> &'static str {
        match self.json {
            true => "trace_pipe_json",
            false => "trace_pipe",
        }
    }

    /// Writes a line.
    ///
    /// # Errors
    ///
    /// `BrokenPipe` when the reader has gone.
    pub fn line(self, text: &str) -> Result<()> {
        self.text(&format!("{text}\n"))
    }

    /// Writes a text as it is, at once.
    pub fn text(self, text: &str) -> Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    /// Writes an object as one line.
    pub fn object(self, value: &Value) -> Result<()> {
        self.line(&value.to_string())
    }
}

/// Writes a line to stderr if that is possible. `eprintln!` panics when the reader has gone, the terminal
/// has hung up or the disk is full, and what was made has to be removed all the same.
pub fn tell(line: &str) {
    // There is no other place to tell of it.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Returns a number with blanks between its thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Returns nanoseconds in the unit in which they are easily read.
pub fn time(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} us", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.2} s", ns as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        let texts = [0, 12, 999, 1000, 1234567].map(grouped);
        assert_eq!(texts, ["0", "12", "999", "1 000", "1 234 567"]);
    }

    #[test]
    fn times_have_a_unit() {
        let texts = [999, 1_500, 2_340_000, 3_000_000_000].map(time);
        assert_eq!(texts, ["999 ns", "1.5 us", "2.3 ms", "3.00 s"]);
    }

    #[test]
    fn no_sequences_without_colours() {
        let plain = Output {
            json: false,
            colours: false,
            terminal: false,
        };
        assert_eq!(plain.paint(Colour::Red, "x"), "x");
        let coloured = Output {
            colours: true,
            ..plain
        };
        assert_eq!(coloured.paint(Colour::Red, "x"), "\x1b[31mx\x1b[0m");
    }
}
