// SPDX-License-Identifier: GPL-2.0
//! shuttle: random interleavings of larger programs; memory is sequentially consistent.

use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::Ordering;

use shuttle::sync::atomic::AtomicU64;
use shuttle::thread;

use crate::machine::{Atomic, Checker, Plain};

pub struct Many;

thread_local! {
    // All threads of a model run on one thread of the system.
    static WRITER: Cell<Option<thread::ThreadId>> = const { Cell::new(None) };
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

/// Only a value: what it holds at an instant is what shuttle can tell.
pub struct Value(UnsafeCell<u64>);

impl Plain for Value {
    fn new(value: u64) -> Self {
        Value(UnsafeCell::new(value))
    }
    fn read(&self) -> u64 {
        // SAFETY: threads of a model change only at operations of shuttle.
        unsafe { *self.0.get() }
    }
    fn write(&self, value: u64) {
        // SAFETY: as above.
        unsafe { *self.0.get() = value };
    }
}

/// shuttle wants to move it to another thread; threads of a model never run at once.
struct Movable<F>(F);
// SAFETY: see above.
unsafe impl<F> Send for Movable<F> {}

impl<F: FnOnce()> Movable<F> {
    fn call(self) {
        (self.0)();
    }
}

impl Checker for Many {
    type Atomic = AtomicU64;
    type Plain = Value;
    type Thread = thread::JoinHandle<()>;
    const SIMPLE: bool = true;
    fn spawn(f: impl FnOnce() + 'static) -> Self::Thread {
        let f = Movable(f);
        thread::spawn(move || f.call())
    }
    fn join(thread: Self::Thread) {
        thread.join().unwrap();
    }
    fn fence(_: Ordering) {}
    fn no_writer() {
        WRITER.set(None);
    }
    fn become_writer() {
        WRITER.set(Some(thread::current().id()));
    }
    fn is_writer() -> bool {
        WRITER
            .get()
            .is_some_and(|writer| writer == thread::current().id())
    }
}
