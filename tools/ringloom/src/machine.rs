// SPDX-License-Identifier: GPL-2.0
//! A platform for the ring whose words belong to a model checker, and whose bytes have a shadow
//! there.
//!
//! Each operation has the order that its contract in `ring::port` promises, and no more. Bytes of
//! events are plain memory, which no checker sees. So each sub-buffer has a few shadow cells, about
//! one for each event: the writer of an event writes its cell, and the reader that copies the event
//! reads it at the same instant.

use std::alloc::{alloc_zeroed, dealloc, Layout as Alloc};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::map::MapPort;
use crate::ring::port::{LocalWord, Memory, Port, SharedWord};
use crate::ring::wire;

/// An atomic word of the checker.
pub trait Atomic: Sized {
    fn new(value: u64) -> Self;
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    /// Relaxed when it fails.
    fn cas(&self, old: u64, new: u64, order: Ordering) -> bool;
}

/// A plain word of the checker: accesses of two threads with no order between them are an error.
pub trait Plain: Sized {
    fn new(value: u64) -> Self;
    fn read(&self) -> u64;
    fn write(&self, value: u64);
}

/// A model checker.
pub trait Checker: Sized + 'static {
    type Atomic: Atomic;
    type Plain: Plain;
    type Thread;
    /// A load returns what was stored last.
    const SIMPLE: bool;
    fn spawn(f: impl FnOnce() + 'static) -> Self::Thread;
    fn join(thread: Self::Thread);
    fn fence(order: Ordering);
    /// A new execution begins, in which no thread writes yet.
    fn no_writer();
    /// The running thread writes from now on.
    fn become_writer();
    /// Whether the running thread is the writing CPU.
    fn is_writer() -> bool;
    /// Comes before each operation on a word.
    fn turn() {}
}

thread_local! {
    static NESTED: RefCell<Nested> = const { RefCell::new(Nested::none()) };
    static LOOK: RefCell<Look> = const { RefCell::new(Look::none()) };
    static TOUCHED: Cell<usize> = const { Cell::new(0) };
}

/// When an interrupt comes.
struct Nested {
    instant: u32,
    at: Vec<u32>,
    run: Option<Rc<dyn Fn()>>,
}

impl Nested {
    const fn none() -> Self {
        Nested {
            instant: 0,
            at: Vec::new(),
            run: None,
        }
    }
}

/// Calls `run` on the writing CPU before each of its operations whose number is in `at`. An
/// operation of `run` has a number, too.
pub fn interrupt(at: Vec<u32>, run: Rc<dyn Fn()>) {
    NESTED.set(Nested {
        instant: 0,
        at,
        run: Some(run),
    });
}

/// Ends the interrupts; returns how many operations there were.
pub fn no_interrupts() -> u32 {
    NESTED.replace(Nested::none()).instant
}

fn step<C: Checker>() {
    C::turn();
    if !C::is_writer() {
        LOOK.with_borrow_mut(|l| l.calls = 0);
        return;
    }
    let run = NESTED.with_borrow_mut(|n| {
        let now = n.instant;
        n.instant += 1;
        n.run.clone().filter(|_| n.at.contains(&now))
    });
    if let Some(run) = run {
        run();
    }
}

/// A word of the ring.
pub struct Word<C: Checker>(C::Atomic);

// SAFETY: `step` comes before the operation. A read-modify-write of a local word is a load and a
// store: other threads only load it.
unsafe impl<C: Checker> LocalWord for Word<C> {
    fn new(value: u64) -> Self {
        Word(C::Atomic::new(value))
    }
    fn get(&self) -> u64 {
        step::<C>();
        self.0.load(Relaxed)
    }
    fn set(&self, value: u64) {
        step::<C>();
        self.0.store(value, Relaxed);
    }
    fn add(&self, value: u64) {
        step::<C>();
        let old = self.0.load(Relaxed);
        self.0.store(old.wrapping_add(value), Relaxed);
    }
    fn increment(&self) {
        self.add(1);
    }
    fn decrement_to_zero(&self) -> bool {
        step::<C>();
        let new = self.0.load(Relaxed).wrapping_sub(1);
        self.0.store(new, Relaxed);
        new == 0
    }
    fn cmpxchg(&self, old: u64, new: u64) -> bool {
        step::<C>();
        let same = self.0.load(Relaxed) == old;
        if same {
            self.0.store(new, Relaxed);
        }
        same
    }
}

// SAFETY: as above. A fully ordered operation of the kernel is at least what is here.
unsafe impl<C: Checker> SharedWord for Word<C> {
    fn new(value: u64) -> Self {
        Word(C::Atomic::new(value))
    }
    fn load(&self) -> u64 {
        step::<C>();
        self.0.load(Relaxed)
    }
    fn load_acquire(&self) -> u64 {
        step::<C>();
        self.0.load(Acquire)
    }
    fn store(&self, value: u64) {
        step::<C>();
        self.0.store(value, Relaxed);
    }
    fn store_release(&self, value: u64) {
        step::<C>();
        self.0.store(value, Release);
    }
    fn cas(&self, old: u64, new: u64) -> bool {
        step::<C>();
        let same = self.0.cas(old, new, AcqRel);
        if same {
            C::fence(SeqCst);
        }
        same
    }
}

/// The shadow of one event's bytes.
struct Shade<C: Checker> {
    /// For the reader that owns what it copies.
    owned: C::Plain,
    /// For the viewer that finds out afterwards whether it was overwritten.
    racing: C::Atomic,
}

/// The memory of one sub-buffer.
pub struct Block<C: Checker> {
    base: NonNull<u8>,
    layout: Alloc,
    /// Bytes of data for each shade.
    share: usize,
    shades: Rc<Vec<Shade<C>>>,
}

impl<C: Checker> Block<C> {
    pub fn new(size: usize, share: usize) -> Self {
        let layout = Alloc::from_size_align(size, size).unwrap();
        // SAFETY: the size is not 0.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap();
        let shade = |_| Shade {
            owned: C::Plain::new(0),
            racing: C::Atomic::new(0),
        };
        Block {
            base,
            layout,
            share,
            shades: Rc::new((0..size.div_ceil(share)).map(shade).collect()),
        }
    }

    /// To get at the shadow while the ring has the memory.
    pub fn shadow(&self) -> Shadow<C> {
        Shadow {
            base: self.base.as_ptr() as usize,
            size: self.layout.size(),
            share: self.share,
            shades: self.shades.clone(),
        }
    }
}

impl<C: Checker> Drop for Block<C> {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}

// SAFETY: see `new`.
unsafe impl<C: Checker> Memory for Block<C> {
    fn base(&self) -> NonNull<u8> {
        if !C::is_writer() {
            TOUCHED.set(self.base.as_ptr() as usize);
            let at = LOOK.with_borrow_mut(|l| {
                let at = l.calls as usize * 4;
                l.calls += 1;
                if at == 0 {
                    l.seen.clear();
                    l.copies += 1;
                }
                l.most = l.calls;
                (l.on && at % self.share == 0).then_some(at / self.share)
            });
            if let Some(shade) = at.and_then(|i| self.shades.get(i)) {
                // A copy that races goes word by word: other threads may run at this load.
                let id = shade.racing.load(Relaxed);
                LOOK.with_borrow_mut(|l| l.seen.push(id));
            }
        }
        self.base
    }
    fn size(&self) -> usize {
        self.layout.size()
    }
}

/// What a viewer sees of the shadow.
struct Look {
    on: bool,
    /// Words of the copy that is being made.
    calls: u32,
    /// Words of the last copy.
    most: u32,
    /// Copies made.
    copies: u32,
    seen: Vec<u64>,
}

impl Look {
    const fn none() -> Self {
        Look {
            on: false,
            calls: 0,
            most: 0,
            copies: 0,
            seen: Vec::new(),
        }
    }
}

/// Runs `f`, which copies a sub-buffer. Returns what it saw of the shadow if the copy raced with
/// writers, and how many copies it made.
pub fn looking<T>(f: impl FnOnce() -> T) -> (T, Option<Vec<u64>>, u32) {
    LOOK.with_borrow_mut(|l| {
        *l = Look {
            on: true,
            ..Look::none()
        }
    });
    let result = f();
    let look = LOOK.replace(Look::none());
    (result, (look.most > 1).then_some(look.seen), look.copies)
}

/// The base of the sub-buffer that a reader has touched last.
pub fn touched() -> usize {
    TOUCHED.get()
}

/// A handle to the shadow of a sub-buffer.
pub struct Shadow<C: Checker> {
    base: usize,
    size: usize,
    share: usize,
    shades: Rc<Vec<Shade<C>>>,
}

impl<C: Checker> Shadow<C> {
    pub fn is_of(&self, address: usize) -> bool {
        address.wrapping_sub(self.base) < self.size
    }

    /// Where the data begins.
    pub fn start(&self) -> usize {
        self.base + wire::HEADER
    }

    /// Which shade an event has whose payload begins at `address`.
    pub fn index(&self, address: usize) -> usize {
        (address - self.start()) / self.share
    }

    /// Notes that the writer stores the event.
    pub fn write(&self, index: usize, id: u64) {
        self.shades[index].owned.write(id);
        self.shades[index].racing.store(id, Relaxed);
    }

    /// Notes that the reader that owns the sub-buffer reads it.
    pub fn read(&self, index: usize) -> u64 {
        self.shades[index].owned.read()
    }
}

/// The platform.
pub struct Machine<C>(PhantomData<C>);

// SAFETY: `Vec` derefs to one slice.
unsafe impl<C: Checker> Port for Machine<C> {
    type Local = Word<C>;
    type Shared = Word<C>;
    type Memory = Block<C>;
    type Table<T> = Vec<T>;
    type Left = u64;
    fn read_barrier() {
        step::<C>();
        C::fence(Acquire);
    }
}

impl<C: Checker> MapPort for Machine<C> {
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
