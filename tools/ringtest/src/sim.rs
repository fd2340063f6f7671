// SPDX-License-Identifier: GPL-2.0
//! A platform for the ring on which every operation on a word is an instant at which something else
//! may happen: a whole nested writer, or a reader on another CPU.
//!
//! One thread runs one world; schedules are the answers that `choose` gives, replayed from the start
//! for each schedule.

use std::alloc::{alloc_zeroed, dealloc, Layout as Alloc};
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

use crate::ring::port::{LocalWord, Memory, Port, SharedWord};

/// A word of the simulated machine.
pub struct Word(Cell<u64>);

thread_local! {
    static HOOK: Cell<Option<fn()>> = const { Cell::new(None) };
    static TRAIL: RefCell<Trail> = const { RefCell::new(Trail::new()) };
}

/// Runs `f` with `hook` called in front of every operation on a word.
pub fn with_hook<T>(hook: fn(), f: impl FnOnce() -> T) -> T {
    struct Off;
    impl Drop for Off {
        fn drop(&mut self) {
            HOOK.with(|h| h.set(None));
        }
    }
    HOOK.with(|h| h.set(Some(hook)));
    let _off = Off;
    f()
}

fn step() {
    if let Some(hook) = HOOK.with(Cell::get) {
        hook();
    }
}

// SAFETY: one thread; `step` comes before the operation, which is a plain one.
unsafe impl LocalWord for Word {
    fn new(value: u64) -> Self {
        Word(Cell::new(value))
    }
    fn get(&self) -> u64 {
        step();
        self.0.get()
    }
    fn set(&self, value: u64) {
        step();
        self.0.set(value);
    }
    fn add(&self, value: u64) {
        step();
        self.0.set(self.0.get().wrapping_add(value));
    }
    fn cmpxchg(&self, old: u64, new: u64) -> bool {
        step();
        let same = self.0.get() == old;
        if same {
            self.0.set(new);
        }
        same
    }
}

// SAFETY: as above.
unsafe impl SharedWord for Word {
    fn new(value: u64) -> Self {
        Word(Cell::new(value))
    }
    fn load(&self) -> u64 {
        step();
        self.0.get()
    }
    fn load_acquire(&self) -> u64 {
        step();
        self.0.get()
    }
    fn store(&self, value: u64) {
        step();
        self.0.set(value);
    }
    fn store_release(&self, value: u64) {
        step();
        self.0.set(value);
    }
    fn cas(&self, old: u64, new: u64) -> bool {
        LocalWord::cmpxchg(self, old, new)
    }
}

/// Aligned memory of one sub-buffer.
pub struct Block {
    base: NonNull<u8>,
    layout: Alloc,
}

impl Block {
    pub fn new(size: usize) -> Self {
        let layout = Alloc::from_size_align(size, size).unwrap();
        // SAFETY: the size is not 0.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap();
        Block { base, layout }
    }

    /// In place of a block that is to come from elsewhere.
    pub fn none() -> Self {
        Block {
            base: NonNull::dangling(),
            layout: Alloc::new::<()>(),
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.layout.size() != 0 {
            // SAFETY: allocated in `new` with this layout.
            unsafe { dealloc(self.base.as_ptr(), self.layout) };
        }
    }
}

// SAFETY: see `new`.
unsafe impl Memory for Block {
    fn base(&self) -> NonNull<u8> {
        self.base
    }
    fn size(&self) -> usize {
        self.layout.size()
    }
}

/// The simulated machine.
pub struct Sim;

// SAFETY: `Vec` derefs to one slice.
unsafe impl Port for Sim {
    type Local = Word;
    type Shared = Word;
    type Memory = Block;
    type Table<T> = Vec<T>;
    fn read_barrier() {
        step();
    }
}

/// The choices of one schedule, and how to get to the next.
struct Trail {
    taken: Vec<(u8, u8)>,
    at: usize,
}

impl Trail {
    const fn new() -> Self {
        Trail {
            taken: Vec::new(),
            at: 0,
        }
    }
}

/// One of `0..options`: as recorded, or 0 at a new place.
pub fn choose(options: u8) -> u8 {
    TRAIL.with_borrow_mut(|t| {
        let at = t.at;
        t.at += 1;
        if let Some(&(choice, of)) = t.taken.get(at) {
            assert_eq!(of, options, "the schedule is not deterministic");
            return choice;
        }
        t.taken.push((0, options));
        0
    })
}

/// Runs `world` once for every sequence of choices, at most `limit` times; the number of runs.
pub fn explore(limit: u64, mut world: impl FnMut()) -> u64 {
    TRAIL.with_borrow_mut(|t| t.taken.clear());
    let mut runs = 0;
    loop {
        TRAIL.with_borrow_mut(|t| t.at = 0);
        world();
        runs += 1;
        let more = TRAIL.with_borrow_mut(|t| {
            let at = t.at;
            t.taken.truncate(at);
            while let Some((choice, of)) = t.taken.pop() {
                if choice + 1 < of {
                    t.taken.push((choice + 1, of));
                    return true;
                }
            }
            false
        });
        if !more || runs >= limit {
            return runs;
        }
    }
}

/// The choices of the schedule that is running, to print with a failure.
pub fn schedule() -> String {
    TRAIL.with_borrow(|t| {
        t.taken
            .iter()
            .take(t.at)
            .map(|(c, _)| char::from(b'0' + c))
            .collect()
    })
}
