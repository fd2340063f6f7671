// SPDX-License-Identifier: GPL-2.0

//! Makes one allocation of the calling thread fail: the first, the second, and so on until the
//! operation under test does not get that far.

use crate::check::Check;
use crate::errno::{Op, ENOMEM};
use crate::soak;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

const NTH: &str = "/proc/thread-self/fail-nth";

/// Without these settings only allocations that may not sleep would fail, and the log shall not
/// tell about each.
const SETTINGS: &[(&str, &str)] = &[
    ("failslab/ignore-gfp-wait", "N"),
    ("failslab/verbose", "0"),
    ("fail_page_alloc/ignore-gfp-wait", "N"),
    ("fail_page_alloc/ignore-gfp-highmem", "N"),
    ("fail_page_alloc/min-order", "0"),
    ("fail_page_alloc/verbose", "0"),
];

/// An operation that still allocates then does so without end.
const LIMIT: usize = 20_000;

pub struct Faults {
    nth: File,
    /// Which of the later allocations of an operation fail.
    seed: u64,
}

/// How an operation fared over all its runs.
#[derive(Default, Debug)]
pub struct Tally {
    /// Runs in which an allocation failed.
    pub faults: usize,
    /// Runs among them in which the operation failed with ENOMEM; in the others it did without the
    /// memory.
    pub refused: usize,
}

impl Faults {
    /// Ends the test as not applicable on a kernel without fault injection.
    pub fn new() -> Check<Self> {
        if !Path::new(NTH).exists() {
            skip!("this kernel does not let allocations fail");
        }
        for (file, value) in SETTINGS {
            let file = format!("/sys/kernel/debug/{file}");
            fs::write(&file, value).map_err(|e| format!("{file}: {e}"))?;
        }
        let nth = OpenOptions::new()
            .read(true)
            .write(true)
            .open(NTH)
            .map_err(|e| format!("{NTH}: {e}"))?;
        Ok(Faults {
            nth,
            seed: soak::seed(),
        })
    }

    fn set(&self, n: usize) -> Check {
        self.nth
            .write_all_at(n.to_string().as_bytes(), 0)
            .map_err(|e| format!("{NTH}: {e}"))
    }

    /// Runs `op` with its `n`th allocation failing; returns whether an allocation failed.
    fn run<T>(&self, n: usize, op: impl FnOnce() -> T) -> Check<(T, bool)> {
        let mut left = [0; 16];
        self.set(n)?;
        let result = op();
        let len = self.nth.read_at(&mut left, 0);
        self.set(0)?;
        let len = len.map_err(|e| format!("{NTH}: {e}"))?;
        Ok((result, left[..len].trim_ascii() == b"0"))
    }

    /// Runs `op` once per allocation of its own, which fails. It must say ENOMEM or succeed;
    /// `after` looks at what it left (`refused`) and takes a success back.
    ///
    /// `step(n)` says which allocation is next; `op` is a system call or a few.
    pub fn exhaust_by<T>(
        &self,
        what: &str,
        step: impl Fn(usize) -> usize,
        mut op: impl FnMut() -> Op<T>,
        mut after: impl FnMut(Op<T>) -> Check,
    ) -> Check<Tally> {
        let (mut tally, mut n) = (Tally::default(), 1);
        while n < LIMIT {
            let (result, injected) = self.run(n, &mut op)?;
            let at = |e: String| format!("{what}, allocation {n}: {e}");
            let error = result.as_ref().err().copied();
            ensure!(
                error.is_none() || (injected && error == Some(ENOMEM)),
                "{what}, allocation {n} {}: {error:?}",
                if injected { "fails" } else { "is not reached" }
            );
            after(result).map_err(at)?;
            if !injected {
                return Ok(tally);
            }
            tally.faults += 1;
            tally.refused += usize::from(error.is_some());
            n += step(n);
        }
        Err(format!("{what}: more than {LIMIT} allocations"))
    }

    /// A number below `end` for the allocation `n`, another one in each run.
    fn chance(&self, n: usize, end: usize) -> usize {
        (self.seed as usize).wrapping_mul(n | 1).rotate_left(17) % end
    }

    /// Returns how far behind the allocation `n` the next one fails where an operation makes thousands:
    /// each of the first few, then about one in each power of two, other ones in each run; eight of
    /// these in the long run.
    pub fn sparse(&self, n: usize) -> usize {
        match soak::rounds(0, 1) {
            0 => 1 + n - n / 4 + self.chance(n, n / 2 + 1),
            _ => 1 + n / 8,
        }
    }

    /// The same, with no allocation left out in the long run; otherwise with all at first, and of the
    /// later ones a few, other ones in each run.
    pub fn exhaust<T>(
        &self,
        what: &str,
        op: impl FnMut() -> Op<T>,
        after: impl FnMut(Op<T>) -> Check,
    ) -> Check<Tally> {
        let all = soak::rounds(0, 1) == 1;
        let step = |n: usize| match n / 4 {
            few if all || few == 0 => 1,
            few => 1 + self.chance(n, few),
        };
        let tally = self.exhaust_by(what, step, op, after)?;
        println!(
            "{what}: {} allocations failed, {} times ENOMEM",
            tally.faults, tally.refused
        );
        Ok(tally)
    }
}
