// SPDX-License-Identifier: GPL-2.0
//! Threads that move one at a time: every interleaving of what they do to shared words.
//!
//! A thread is a closure that depends on nothing but the words. It makes one step at a time by
//! being run again from its start: what its earlier operations returned is remembered and told
//! again, the next one is carried out, and the one after that ends the run.

use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

use crate::ring::port::SharedWord;
use crate::trail::choose;

/// A word that all simulated threads may use.
pub struct Racy(Cell<u64>);

/// The progress of the thread whose turn it is.
struct Turn {
    /// What its operations returned.
    past: Vec<u64>,
    at: usize,
    /// It may carry out one more.
    fresh: bool,
}

thread_local! {
    static TURN: RefCell<Option<Turn>> = const { RefCell::new(None) };
}

/// The thread has made its step.
struct Enough;

/// One operation, as a step of a thread; outside of any thread it is just carried out.
fn step(operation: impl FnOnce() -> u64) -> u64 {
    let known = TURN.with_borrow_mut(|turn| match turn {
        None => Some(None),
        Some(t) if t.at < t.past.len() => {
            t.at += 1;
            Some(Some(t.past[t.at - 1]))
        }
        Some(t) if t.fresh => {
            t.fresh = false;
            Some(None)
        }
        Some(_) => None,
    });
    match known {
        Some(Some(result)) => result,
        Some(None) => {
            let result = operation();
            TURN.with_borrow_mut(|turn| {
                if let Some(t) = turn {
                    t.past.push(result);
                    t.at += 1;
                }
            });
            result
        }
        None => resume_unwind(Box::new(Enough)),
    }
}

impl Racy {
    /// The value; not a step.
    pub fn peek(&self) -> u64 {
        self.0.get()
    }

    /// Runs `f` as one step, like the holder of a lock. It may only peek and poke.
    pub fn locked(f: impl FnOnce() -> bool) -> bool {
        step(|| u64::from(f())) != 0
    }

    /// Stores `value`, in [`Self::locked`].
    pub fn poke(&self, value: u64) {
        self.0.set(value);
    }
}

// SAFETY: one thread of the host; each operation is one step of a simulated one.
unsafe impl SharedWord for Racy {
    fn new(value: u64) -> Self {
        Racy(Cell::new(value))
    }
    fn load(&self) -> u64 {
        step(|| self.0.get())
    }
    fn load_acquire(&self) -> u64 {
        self.load()
    }
    fn store(&self, value: u64) {
        step(|| self.0.replace(value));
    }
    fn store_release(&self, value: u64) {
        self.store(value);
    }
    fn cas(&self, old: u64, new: u64) -> bool {
        step(|| {
            let same = self.0.get() == old;
            if same {
                self.0.set(new);
            }
            u64::from(same)
        }) != 0
    }
}

/// Runs `threads` to their ends in the order that `choose` gives; returns what each returned.
pub fn race<R>(threads: &[&dyn Fn() -> R]) -> Vec<R> {
    let mut results: Vec<_> = threads.iter().map(|_| None).collect();
    let mut pasts: Vec<_> = threads.iter().map(|_| Vec::new()).collect();
    let mut waiting: Vec<_> = (0..threads.len()).collect();
    while !waiting.is_empty() {
        let place = match waiting.len() {
            1 => 0,
            n => choose(n as u8) as usize,
        };
        let i = waiting[place];
        TURN.set(Some(Turn {
            past: std::mem::take(&mut pasts[i]),
            at: 0,
            fresh: true,
        }));
        let end = catch_unwind(AssertUnwindSafe(threads[i]));
        let turn = TURN.take();
        match end {
            Ok(result) => {
                results[i] = Some(result);
                waiting.remove(place);
            }
            Err(end) if end.is::<Enough>() => pasts[i] = turn.map_or(Vec::new(), |t| t.past),
            Err(panic) => resume_unwind(panic),
        }
    }
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trail::{explore, ALL};
    use std::collections::BTreeSet;

    #[test]
    fn every_interleaving_is_run_once() {
        let mut ends = BTreeSet::new();
        let runs = explore(&[], ALL, || {
            let word = Racy::new(0);
            let add = || {
                let old = word.load();
                word.store(old + 1);
                old
            };
            let olds = race(&[&add, &add, &|| word.load()]);
            ends.insert((olds, word.peek()));
        });
        // 5 steps: of two, two and one.
        assert_eq!(runs, 30);
        // One after the other, or the later store forgets the earlier; the third thread anywhere.
        assert!(ends.contains(&(vec![0, 1, 2], 2)));
        assert!(ends.contains(&(vec![0, 0, 1], 1)));
        assert_eq!(ends.iter().map(|e| e.1).max(), Some(2));
    }
}
