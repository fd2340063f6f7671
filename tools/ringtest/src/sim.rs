// SPDX-License-Identifier: GPL-2.0
//! A platform for the ring on which every operation on a word is an instant at which something else
//! may happen: a whole nested writer, or a reader on another CPU.
//!
//! One thread runs one world. `crate::trail` says what happens at an instant.

use std::alloc::{alloc_zeroed, dealloc, Layout as Alloc};
use std::cell::Cell;
use std::ptr::NonNull;

use crate::hist::map::MapPort;
use crate::ring::cpu::Parts;
use crate::ring::port::{LocalWord, Memory, Port, SharedWord};
use crate::ring::subbuf::{bytes_of, SubBuf};
use crate::ring::wire;

/// A word of the simulated machine.
pub struct Word(Cell<u64>);

thread_local! {
    static HOOK: Cell<Option<fn()>> = const { Cell::new(None) };
    static OPS: Counters = const { Counters::new() };
}

/// Operations that were done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ops {
    /// All operations on words, and barriers.
    pub steps: u32,
    /// Loads of the first watched word.
    pub looks: u32,
    /// Zeros stored to the lower half of the second watched word.
    pub zeros: u32,
    /// Acquiring loads.
    pub acquires: u32,
    /// Changes of a shared word that came too late.
    pub failed: u32,
    /// Changes of a shared word.
    pub changed: u32,
}

struct Counters {
    ops: [Cell<u32>; 6],
    watched: [Cell<*const Word>; 2],
}

const STEPS: usize = 0;
const LOOKS: usize = 1;
const ZEROS: usize = 2;
const ACQUIRES: usize = 3;
const FAILED: usize = 4;
const CHANGED: usize = 5;

impl Counters {
    const fn new() -> Self {
        Counters {
            ops: [const { Cell::new(0) }; 6],
            watched: [const { Cell::new(std::ptr::null()) }; 2],
        }
    }
}

/// Has [`Ops::looks`] and [`Ops::zeros`] counted for these words.
pub fn watch(looked_at: *const Word, emptied: *const Word) {
    OPS.with(|c| {
        c.watched[0].set(looked_at);
        c.watched[1].set(emptied);
    });
}

/// What was done on this thread. A hook that runs another actor puts back what was.
pub fn ops() -> Ops {
    OPS.with(|c| Ops {
        steps: c.ops[STEPS].get(),
        looks: c.ops[LOOKS].get(),
        zeros: c.ops[ZEROS].get(),
        acquires: c.ops[ACQUIRES].get(),
        failed: c.ops[FAILED].get(),
        changed: c.ops[CHANGED].get(),
    })
}

/// See [`ops`].
pub fn set_ops(ops: Ops) {
    OPS.with(|c| {
        c.ops[STEPS].set(ops.steps);
        c.ops[LOOKS].set(ops.looks);
        c.ops[ZEROS].set(ops.zeros);
        c.ops[ACQUIRES].set(ops.acquires);
        c.ops[FAILED].set(ops.failed);
        c.ops[CHANGED].set(ops.changed);
    });
}

fn count(what: usize) {
    OPS.with(|c| c.ops[what].set(c.ops[what].get().wrapping_add(1)));
}

fn is_watched(which: usize, word: &Word) -> bool {
    OPS.with(|c| std::ptr::eq(c.watched[which].get(), word))
}

/// Runs `f`, and calls `hook` before every operation on a word.
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

/// Ends what [`with_hook`] began: nothing else can happen.
pub fn unhook() {
    HOOK.with(|h| h.set(None));
}

fn step() {
    count(STEPS);
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
        if is_watched(0, self) {
            count(LOOKS);
        }
        self.0.get()
    }
    fn set(&self, value: u64) {
        step();
        if value as u32 == 0 && is_watched(1, self) {
            count(ZEROS);
        }
        self.0.set(value);
    }
    fn add(&self, value: u64) {
        step();
        self.0.set(self.0.get().wrapping_add(value));
    }
    fn increment(&self) {
        self.add(1);
    }
    fn decrement_to_zero(&self) -> bool {
        self.add(u64::MAX);
        self.0.get() == 0
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
        count(ACQUIRES);
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
        let done = LocalWord::cmpxchg(self, old, new);
        count(if done { CHANGED } else { FAILED });
        done
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

    /// Returns its bytes, while it is in no ring.
    pub fn bytes(&mut self) -> &mut [u8] {
        bytes_of(self)
    }

    /// Returns a placeholder for a block that comes from elsewhere.
    pub fn none() -> Self {
        // A header, as `Memory` asks for.
        let layout = Alloc::from_size_align(wire::HEADER, 8).unwrap();
        // SAFETY: the size is not 0.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap();
        Block { base, layout }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` or `none` with this layout.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}

// SAFETY: see `new` and `none`.
unsafe impl Memory for Block {
    fn base(&self) -> NonNull<u8> {
        self.base
    }
    fn size(&self) -> usize {
        match self.layout.size() {
            wire::HEADER => 0,
            size => size,
        }
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
    type Left = u64;
    fn read_barrier() {
        step();
    }
}

impl MapPort for Sim {
    type Cpu<'p> = usize;
    type Parts<T> = Vec<T>;
    fn seed() -> u64 {
        3
    }
    fn part<'a, T>(parts: &'a Vec<T>, cpu: usize) -> &'a T {
        &parts[cpu]
    }
    fn parts<'a, T: 'a>(parts: &'a Vec<T>) -> impl Iterator<Item = &'a T> {
        parts.iter()
    }
}

/// What a ring of `slots` slots with sub-buffers of `size` bytes is made of.
pub fn parts(slots: usize, size: usize) -> Parts<Sim> {
    Parts {
        slots: (0..slots).map(|_| SharedWord::new(0)).collect(),
        subbufs: (0..=slots).map(|_| SubBuf::new(Block::new(size))).collect(),
    }
}
