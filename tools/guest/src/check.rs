// SPDX-License-Identifier: GPL-2.0

//! How a test reports what went wrong: results with a text, and the macros that
//! every test file uses.

use std::thread::ScopedJoinHandle;

/// What a test returns; the text of the error becomes the reason of `not ok`.
pub type Check<T = ()> = Result<T, String>;

/// What a thread returned; that it died is an error, too.
pub fn joined<T>(thread: ScopedJoinHandle<'_, Check<T>>) -> Check<T> {
    thread
        .join()
        .unwrap_or_else(|_| Err("a thread died".into()))
}

/// Marks a reason as "cannot be checked on this tree" instead of a failure.
pub const SKIP: &str = "skip: ";

/// Marks a reason as "chance did not bring what is to be looked at": the machine's doing, so that even
/// a test which accounts for every event is run again. Both marks stay inside the process of the
/// test: its exit status tells the runner (see `runner`).
pub const LACK: &str = "lack: ";

/// How many differences of a table are shown; a table that is wrong as a whole has hundreds.
const SHOWN: usize = 25;

/// Ends the test with a reason.
macro_rules! fail {
    ($($text:tt)*) => { return Err(format!($($text)*)) };
}

/// Ends the test as not applicable to the tree that `--root` names.
macro_rules! skip {
    ($($text:tt)*) => { return Err(format!("{}{}", $crate::check::SKIP, format!($($text)*))) };
}

/// Ends the test for want of what chance brings.
macro_rules! lack {
    ($($text:tt)*) => { return Err(format!("{}{}", $crate::check::LACK, format!($($text)*))) };
}

/// Ends the test unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($text:tt)*) => { if !$condition { fail!($($text)*) } };
}

/// Ends the test unless the condition, which chance decides, holds.
macro_rules! ensure_chance {
    ($condition:expr, $($text:tt)*) => { if !$condition { lack!($($text)*) } };
}

/// Ends the test unless both values are equal, and shows both.
macro_rules! ensure_eq {
    // A match, for it keeps the temporaries of both expressions alive.
    ($found:expr, $wanted:expr, $($text:tt)*) => {
        match (&$found, &$wanted) {
            (found, wanted) => {
                if found != wanted {
                    fail!("{}: found {:?}, wanted {:?}", format!($($text)*), found, wanted);
                }
            }
        }
    };
}

/// Collects every difference of a table before failing, so that one run shows all.
#[derive(Default)]
pub struct Report {
    problems: Vec<String>,
    lacks: Vec<String>,
}

impl Report {
    pub fn add(&mut self, problem: String) {
        self.problems.push(problem);
    }

    pub fn expect(&mut self, condition: bool, problem: impl FnOnce() -> String) {
        if !condition {
            self.add(problem());
        }
    }

    /// Expects what chance decides. That it did not come is the reason only if nothing is wrong.
    pub fn expect_chance(&mut self, came: bool, lack: impl FnOnce() -> String) {
        if !came {
            self.lacks.push(lack());
        }
    }

    /// Adds a failed check without ending the test.
    pub fn collect(&mut self, check: Check) {
        if let Err(problem) = check {
            self.add(problem);
        }
    }

    pub fn finish(self) -> Check {
        match self.problems.len() {
            0 if self.lacks.is_empty() => Ok(()),
            0 => Err(format!("{LACK}{}", self.lacks.join(", "))),
            1 => Err(self.problems.into_iter().next().unwrap_or_default()),
            n => {
                for problem in self.problems.iter().take(SHOWN) {
                    println!("  {problem}");
                }
                Err(format!("{n} differences, first: {}", self.problems[0]))
            }
        }
    }
}
