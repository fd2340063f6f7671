// SPDX-License-Identifier: GPL-2.0

//! Programs that know only ftrace, run on either tree, and the lines they print.
//!
//! On the tree under test they run below `rtrace-run`, which gives them mounts in which rtracefs
//! covers tracefs; on the reference they run as they are. Nothing else is different for them.

use crate::check::Check;
use crate::Context;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Where scripts/guest-suite puts tools/rtrace-run.
pub const RTRACE_RUN: &str = "/root/rtrace-run";

/// Status and output of a program that has ended.
#[derive(Debug)]
pub struct Said {
    /// Its exit status, or -1 when a signal ended it.
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    /// Its output when it ended well.
    pub fn good(self) -> Check<String> {
        ensure_eq!(self.status, 0, "status; stderr {:?}", self.err);
        Ok(self.out)
    }
}

/// One of the two trees, as programs that know only ftrace find it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Client {
    Own,
    Reference,
}

pub use Client::*;

impl Client {
    /// The tree under test, if it can take the place of the reference.
    pub fn of(context: &Context) -> Check<Self> {
        if !context.is_rtracefs() {
            skip!("the kernel's tracefs is in its place already");
        }
        ensure!(Path::new(RTRACE_RUN).exists(), "no {RTRACE_RUN}");
        Ok(Own)
    }

    fn command(self, words: &[&str]) -> Command {
        let mut all = words.to_vec();
        if self == Own {
            all.insert(0, RTRACE_RUN);
        }
        let mut command = Command::new(all[0]);
        command.args(&all[1..]).stdin(Stdio::null());
        command
    }

    /// Runs a program to its end.
    pub fn run(self, words: &[&str]) -> Check<Said> {
        let output = self
            .command(words)
            .output()
            .map_err(|e| format!("{words:?}: {e}"))?;
        Ok(Said {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Starts a program whose output is discarded.
    pub fn start(self, words: &[&str]) -> Check<Child> {
        self.command(words)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("{words:?}: {e}"))
    }

    /// Runs trace-cmd with these words, followed by more.
    pub fn trace_cmd(self, words: &[&str], more: &[&str]) -> Check<Said> {
        self.run(&[&["trace-cmd"], words, more].concat())
    }

    /// What trace-cmd prints when it must end well.
    pub fn text(self, words: &[&str]) -> Check<String> {
        self.trace_cmd(words, &[])?
            .good()
            .map_err(|e| format!("trace-cmd {words:?}: {e}"))
    }
}

/// One event, as `trace` and `trace-cmd report` print it.
#[derive(Debug, PartialEq, Eq, Clone)]
pub struct Line {
    /// `NAME-PID`.
    pub task: String,
    pub cpu: usize,
    pub flags: String,
    pub time: String,
    pub event: String,
    pub text: String,
}

/// The events among the lines of a text; a line with an event that cannot be read is an error.
pub fn lines(text: &str) -> Check<Vec<Line>> {
    let is_event =
        |line: &&str| !(line.is_empty() || line.starts_with('#') || line.starts_with("cpus="));
    text.lines()
        .filter(is_event)
        .map(|line| Line::parse(line).ok_or_else(|| format!("no event: {line:?}")))
        .collect()
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        // A name may hold anything, a CPU in brackets only from a hostile program.
        let (task, rest) = line.split_once(" [")?;
        let (cpu, rest) = rest.split_once("] ")?;
        // A stamp of many digits follows its five letters without a space.
        let (flags, rest) = rest.split_at_checked(5)?;
        let (time, rest) = rest.trim_start().split_once(": ")?;
        let (event, text) = rest.split_once(':')?;
        Some(Line {
            task: task.trim().to_string(),
            cpu: cpu.parse().ok()?,
            flags: flags.to_string(),
            time: time.to_string(),
            event: event.to_string(),
            text: text.trim().to_string(),
        })
    }

    /// The stamp in nanoseconds, or in the clock's own unit when it has no seconds.
    pub fn stamp(&self) -> Option<u64> {
        match self.time.split_once('.') {
            Some((seconds, micros)) => {
                let micros: u64 = micros.parse().ok()?;
                Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + micros * 1000)
            }
            None => self.time.parse().ok(),
        }
    }
}

/// A text with each number replaced by `N`, and of the blanks before it one: what remains when programs run twice.
pub fn without_numbers(text: &str) -> String {
    let mut result = String::new();
    for word in words(text) {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        if word.starts_with(|c: char| c.is_ascii_digit())
            && digits.chars().all(|c| c.is_ascii_hexdigit())
        {
            // It may be aligned to the right, and have another number of digits the next time.
            while result.ends_with("  ") {
                result.pop();
            }
            result.push('N');
        } else {
            result.push_str(word);
        }
    }
    result
}

/// The text in pieces: runs of letters and digits, and what is between them.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let kind = first.is_alphanumeric();
        let len = rest
            .find(|c: char| c.is_alphanumeric() != kind)
            .unwrap_or(rest.len());
        let (word, behind) = rest.split_at(len);
        rest = behind;
        Some(word)
    })
}
