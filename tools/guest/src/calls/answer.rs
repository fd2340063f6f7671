// SPDX-License-Identifier: GPL-2.0

//! Answers of calls, and what of them can be compared.

use super::files::Contents;
use std::fmt;

/// What a call returned, what it read, and where the file stands after it.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    pub result: isize,
    pub bytes: Vec<u8>,
    pub position: isize,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.result)?;
        if !self.bytes.is_empty() {
            let text = self.bytes.escape_ascii().to_string();
            let shown: String = text.chars().take(160).collect();
            write!(f, " \"{shown}\"")?;
        }
        match self.position {
            -29 => Ok(()),
            position => write!(f, ", at {position}"),
        }
    }
}

/// A letter of a marker, which other bytes of an event are not by chance six times in a row.
fn is_letter(byte: &u8) -> bool {
    byte.is_ascii_lowercase() || *byte == b' '
}

/// The words of an event's bytes.
fn words(bytes: &[u8]) -> Vec<u8> {
    let runs = bytes.split(|byte| !is_letter(byte));
    let long = runs.filter(|run| run.len() >= 6);
    long.collect::<Vec<_>>().join(&b'\n')
}

/// A line's text without what is as it happens: whether the tracer remembers the name of a task, and whether the
/// task was to be preempted.
fn without_chance(mut line: Vec<u8>) -> Vec<u8> {
    const UNKNOWN: &[u8] = b"<...>-";
    const CPU: &[u8] = b"###] ";
    for at in 0..line.len() {
        if line[at..].starts_with(UNKNOWN) {
            // The name of this program in a guest, which is as wide.
            line[at..at + UNKNOWN.len()].copy_from_slice(b"  exe-");
        }
        if line[at..].starts_with(CPU) {
            let column = line.get_mut(at + CPU.len() + 1);
            column.into_iter().for_each(|flag| *flag = b'.');
        }
    }
    line
}

impl Answer {
    pub fn number(result: isize) -> Self {
        Answer {
            result,
            bytes: Vec::new(),
            position: 0,
        }
    }

    /// Both answers; of long texts what begins with the difference.
    pub fn against(&self, reference: &Self) -> String {
        let pairs = self.bytes.iter().zip(&reference.bytes);
        let equal = pairs.take_while(|(own, theirs)| own == theirs).count();
        let cut = equal.saturating_sub(20);
        let [own, theirs] = [self, reference].map(|answer| Answer {
            bytes: answer.bytes.get(cut..).unwrap_or_default().to_vec(),
            ..*answer
        });
        format!("{own:?}, tracefs {theirs:?}, equal {equal} bytes")
    }

    /// The same without what depends on the time and on the tracer.
    pub fn comparable(mut self, contents: Contents) -> Self {
        match contents {
            Contents::Text => (),
            Contents::Digits => {
                let digits = self.bytes.iter_mut().filter(|byte| byte.is_ascii_digit());
                digits.for_each(|byte| *byte = b'#');
                self.bytes = without_chance(self.bytes);
            }
            Contents::Own => {
                self.bytes.clear();
                self.result = self.result.min(0);
                self.position = self.position.min(0);
            }
            Contents::Raw => self.bytes = words(&self.bytes),
        }
        self
    }
}
