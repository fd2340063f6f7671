// SPDX-License-Identifier: GPL-2.0
//! loom: every interleaving of small programs, and every value that weak memory lets a load return.

use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{fence, AtomicU64};
use loom::thread;

use crate::machine::{Atomic, Checker, Plain};

pub struct Weak;

thread_local! {
    // All threads of a model run on one thread of the system.
    static WRITER: Cell<Option<thread::ThreadId>> = const { Cell::new(None) };
    static TURNS: RefCell<Option<AtomicU64>> = const { RefCell::new(None) };
}

impl Weak {
    /// Runs `world` with threads that take turns at each operation.
    ///
    /// loom tries two operations of a word in both orders if one of them writes, but of those before it knows the
    /// last one only. So it does not try what a load by another thread sees when a writer loads a word
    /// before it changes it, as who adds an entry to a map does. A store of no meaning, without an order, comes
    /// before each operation then: any two of these are tried in both orders.
    pub fn with_turns(world: impl FnOnce()) {
        // That of an execution that failed is no more.
        std::mem::forget(TURNS.replace(Some(AtomicU64::new(0))));
        world();
        TURNS.take();
    }
}

impl Atomic for AtomicU64 {
    fn new(value: u64) -> Self {
        AtomicU64::new(value)
    }
    fn load(&self, order: Ordering) -> u64 {
        self.load(order)
    }
    fn store(&self, value: u64, order: Ordering) {
        self.store(value, order);
    }
    fn cas(&self, old: u64, new: u64, order: Ordering) -> bool {
        self.compare_exchange(old, new, order, Ordering::Relaxed)
            .is_ok()
    }
}

impl Plain for UnsafeCell<u64> {
    fn new(value: u64) -> Self {
        UnsafeCell::new(value)
    }
    fn read(&self) -> u64 {
        // SAFETY: loom ends the test if another thread may be writing.
        self.with(|p| unsafe { *p })
    }
    fn write(&self, value: u64) {
        // SAFETY: as above.
        self.with_mut(|p| unsafe { *p = value });
    }
}

impl Checker for Weak {
    type Atomic = AtomicU64;
    type Plain = UnsafeCell<u64>;
    type Thread = thread::JoinHandle<()>;
    const SIMPLE: bool = false;
    fn spawn(f: impl FnOnce() + 'static) -> Self::Thread {
        thread::spawn(f)
    }
    fn join(thread: Self::Thread) {
        thread.join().unwrap();
    }
    fn fence(order: Ordering) {
        fence(order);
    }
    fn no_writer() {
        WRITER.set(None);
    }
    fn become_writer() {
        WRITER.set(Some(thread::current().id()));
    }
    fn turn() {
        let turns = TURNS.with_borrow(|turns| turns.as_ref().map(std::ptr::from_ref));
        if let Some(turns) = turns {
            // SAFETY: It stays until the threads have ended.
            unsafe { &*turns }.store(0, Ordering::Relaxed);
        }
    }
    fn is_writer() -> bool {
        WRITER
            .get()
            .is_some_and(|writer| writer == thread::current().id())
    }
}
