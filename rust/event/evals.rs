// SPDX-License-Identifier: GPL-2.0

//! A `print fmt` with numbers in place of its enumerators and `sizeof`s.
//!
//! Headers write `{ RCU_SOFTIRQ, "RCU" }`, and the preprocessor leaves the enumerator's name in the
//! string; user space cannot know its value. Called by `format`. The kernel does the same when it
//! boots, and where its scan skips a character, so does this one: the texts must be equal.

use core::fmt::{
    self,
    Write, //
};

/// A name that a print format may contain, and the number that replaces it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Eval<'a> {
    pub(crate) text: &'a str,
    pub(crate) value: i64,
}

/// Writes `print_fmt` with all `evals` outside string literals replaced.
pub(crate) fn write_replaced<'a>(
    w: &mut dyn Write,
    print_fmt: &str,
    evals: impl Iterator<Item = Eval<'a>> + Clone,
) -> fmt::Result {
    let mut scan = Scan {
        text: print_fmt,
        at: 0,
    };
    let mut written = 0;
    let mut in_string = false;

    while let Some(byte) = scan.peek() {
        match byte {
            // The byte after a backslash has no meaning.
            b'\\' => scan.skip(2),
            b'"' => {
                in_string = !in_string;
                scan.skip(1);
            }
            _ if in_string => scan.skip(1),
            b'0'..=b'9' => {
                scan.skip_while(|byte| byte.is_ascii_alphanumeric());
                // The byte after a number is a delimiter, whichever it is.
                scan.skip(1);
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let name = scan.rest();
                if let Some((eval, value)) = find(name, evals.clone()) {
                    w.write_str(print_fmt.get(written..scan.at).unwrap_or_default())?;
                    w.write_str(value.as_str())?;
                    scan.skip(eval.text.len());
                    written = scan.at;
                } else {
                    scan.skip_name();
                }
                scan.skip(1);
            }
            _ => scan.skip(1),
        }
    }
    w.write_str(print_fmt.get(written..).unwrap_or_default())
}

/// Returns the eval whose text is the name at the start of `name`, and its value in digits.
///
/// A number longer than the name it replaces does not fit the kernel's in-place replacement, which
/// then keeps the name.
fn find<'a>(name: &str, evals: impl Iterator<Item = Eval<'a>>) -> Option<(Eval<'a>, SignedDigits)> {
    for eval in evals {
        let Some(behind) = name.strip_prefix(eval.text) else {
            continue;
        };
        if behind.bytes().next().is_some_and(is_name_byte) {
            continue;
        }
        let value = SignedDigits::of(eval.value);
        if value.as_str().len() <= eval.text.len() {
            return Some((eval, value));
        }
    }
    None
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A position in a text; moving beyond its end stays there.
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes).min(self.text.len());
    }

    fn skip_while(&mut self, is_part: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&is_part) {
            self.skip(1);
        }
    }

    /// Skips a name with all its members: `REC->a.b` is one name.
    fn skip_name(&mut self) {
        loop {
            // The first byte belongs to the name, whichever it is.
            self.skip(1);
            self.skip_while(is_name_byte);
            if self.rest().starts_with('.') {
                self.skip(1);
            } else if self.rest().starts_with("->") {
                self.skip(2);
            } else {
                return;
            }
            if self.peek().is_none() {
                return;
            }
        }
    }
}

/// A number in decimal digits.
struct SignedDigits {
    bytes: [u8; Self::MOST],
    len: usize,
}

impl SignedDigits {
    /// Bytes of `i64::MIN` with its sign.
    const MOST: usize = 20;

    fn of(value: i64) -> Self {
        let mut digits = Self {
            bytes: [0; Self::MOST],
            len: 0,
        };
        // Cannot fail: no i64 is longer than MOST.
        let _ = write!(digits, "{value}");
        digits
    }

    fn as_str(&self) -> &str {
        self.bytes
            .get(..self.len)
            .and_then(|bytes| core::str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }
}

impl Write for SignedDigits {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len.checked_add(text.len()).ok_or(fmt::Error)?;
        let room = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVALS: [Eval<'static>; 5] = [
        Eval {
            text: "HI_SOFTIRQ",
            value: 0,
        },
        Eval {
            text: "TIMER",
            value: -12,
        },
        Eval {
            text: "TIMER_X",
            value: 7,
        },
        Eval {
            text: "sizeof(struct x)",
            value: 24,
        },
        Eval {
            text: "AB",
            value: 100,
        },
    ];

    fn replaced(text: &str) -> String {
        let mut out = String::new();
        write_replaced(&mut out, text, EVALS.into_iter()).unwrap();
        out
    }

    #[test]
    fn names_outside_strings_become_numbers() {
        let rows = [
            ("", ""),
            ("\"v=%d\", REC->v", "\"v=%d\", REC->v"),
            (
                "__print_symbolic(REC->v, { HI_SOFTIRQ, \"HI_SOFTIRQ\" })",
                "__print_symbolic(REC->v, { 0, \"HI_SOFTIRQ\" })",
            ),
            (
                "{ TIMER, \"a\\\"TIMER\" }, { TIMER_X, 0 }",
                "{ -12, \"a\\\"TIMER\" }, { 7, 0 }",
            ),
            ("(TIMER_Y)(TIMERS)(TIMER)", "(TIMER_Y)(TIMERS)(-12)"),
            ("REC->len / sizeof(struct x)", "REC->len / 24"),
            (
                "REC->TIMER.TIMER, 1TIMER, TIMER",
                "REC->TIMER.TIMER, 1TIMER, -12",
            ),
            // Too short for its value.
            ("AB, TIMER", "AB, -12"),
            // The byte after a name, a number or a replacement is skipped.
            ("TIMER\"TIMER\"", "-12\"-12\""),
            ("x\"TIMER\"", "x\"-12\""),
            ("TIMER", "-12"),
            ("\\TIMER", "\\TIMER"),
            ("REC->", "REC->"),
        ];
        for (from, want) in rows {
            assert_eq!(replaced(from), want, "{from}");
        }
    }
}
