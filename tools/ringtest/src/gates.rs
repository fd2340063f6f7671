// SPDX-License-Identifier: GPL-2.0
//! The gate through which writers exchange the banks, with every order of the steps of two writers and of those who
//! lock the shape, by exhaustion.
//!
//! At every operation on the word of the gate another CPU may come: a writer that wants to pass, or a task that locks the
//! shape and looks at the gate once. While the shape is locked and the gate found closed, the banks are not exchanged;
//! after an exchange there is no other one before the writers have left.

use std::cell::Cell;

use crate::gate::{ExchangeGate, GateClosure};
use crate::sim::{with_hook, Word};
use crate::trail::{choose, explore, schedule, ALL};

struct World {
    gate: ExchangeGate<Word>,
    /// Writers, and tasks that lock the shape, that are left.
    left: [Cell<u32>; 2],
    /// The shape is locked: one at a time.
    locked: Cell<bool>,
    /// The gate was found closed by the task that has the lock.
    closed: Cell<bool>,
    /// The banks were exchanged, and writers are still in the one that was live.
    unsettled: Cell<bool>,
    exchanges: Cell<u32>,
    passes: Cell<u32>,
    /// How deep writers and others interrupt each other.
    depth: Cell<u32>,
}

thread_local! {
    static WORLD: Cell<*const World> = const { Cell::new(std::ptr::null()) };
}

fn instant() {
    // SAFETY: set by `one` for as long as the hook is there.
    let world = unsafe { &*WORLD.get() };
    if world.depth.get() > 3 {
        return;
    }
    let may = [
        world.left[0].get() != 0,
        world.left[1].get() != 0 && !world.locked.get(),
    ];
    let which: Vec<usize> = (0..2).filter(|i| may[*i]).collect();
    let chosen = usize::from(choose(which.len() as u8 + 1));
    let Some(&what) = chosen.checked_sub(1).and_then(|i| which.get(i)) else {
        return;
    };
    world.left[what].set(world.left[what].get() - 1);
    world.depth.set(world.depth.get() + 1);
    match what {
        0 => world.write(),
        _ => world.lock(),
    }
    world.depth.set(world.depth.get() - 1);
}

impl World {
    fn write(&self) {
        let passed = self.gate.pass(|| {
            assert!(!self.closed.get(), "closed, in {}", schedule());
            assert!(!self.unsettled.get(), "not settled, in {}", schedule());
            self.unsettled.set(true);
            self.exchanges.set(self.exchanges.get() + 1);
        });
        self.passes.set(self.passes.get() + u32::from(passed));
    }

    /// Locks the shape, looks at the gate, and opens it if it was closed.
    fn lock(&self) {
        self.locked.set(true);
        let closed = match self.gate.close() {
            GateClosure::Closed => true,
            // The writer is on its way: the task would try again.
            GateClosure::Again => false,
            GateClosure::Passed => {
                self.unsettled.set(false);
                self.gate.settled();
                true
            }
        };
        if closed {
            assert!(!self.unsettled.get(), "writers, in {}", schedule());
            self.closed.set(true);
            self.busy();
            self.closed.set(false);
            self.gate.open();
        }
        self.locked.set(false);
    }

    /// Does something with the shape locked: writers come meanwhile.
    fn busy(&self) {
        instant();
    }
}

#[test]
fn the_banks_stay_while_the_shape_is_locked() {
    let schedules = explore(&[], ALL, || {
        let world = World {
            gate: ExchangeGate::new(),
            left: [Cell::new(2), Cell::new(2)],
            locked: Cell::new(false),
            closed: Cell::new(false),
            unsettled: Cell::new(false),
            exchanges: Cell::new(0),
            passes: Cell::new(0),
            depth: Cell::new(0),
        };
        WORLD.set(&world);
        world.write();
        assert_eq!(world.exchanges.get(), 0, "it is closed at first");
        world.lock();
        with_hook(instant, || {
            world.write();
            if !world.locked.get() {
                world.lock();
            }
        });
        assert_eq!(world.exchanges.get(), world.passes.get());
        WORLD.set(std::ptr::null());
    });
    println!("{schedules} schedules");
    assert!(schedules > 100);
}
