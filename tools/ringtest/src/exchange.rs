// SPDX-License-Identifier: GPL-2.0
//! Snapshots taken at every instant of nested writers and of a reader, by exhaustion.
//!
//! Each world writes one to three events from task context. At every operation on a word a whole
//! nested writer may run, a whole call of a reader, or the banks are exchanged, as another CPU does
//! it. When all writers have left (the grace period) the bank that was live is the snapshot: every
//! event is in it, in the live bank, or was read, exactly once, and none that began after the
//! exchange is in it. Writers are those of rust/probes/entry.rs: reserve, a token that goes through
//! C, commit or discard.

use std::cell::{Cell, RefCell};

use crate::banks::{Bank, Buf, LiveBank, Pair, RingPlace};
use crate::plain;
use crate::ring::check::Clock;
use crate::ring::cpu::{CpuRing, ReaderState};
use crate::ring::reservation::Reservation;
use crate::sim::{parts, with_hook, Block, Sim, Word};
use crate::trail::{choose, explore, least, sample, schedule};

/// What may happen in a world.
#[derive(Clone, Copy)]
struct Plan {
    outer: u32,
    nested: u32,
    reads: u32,
    exchanges: u32,
    /// Bytes of a payload; two of 1400 fit a sub-buffer.
    len: usize,
    discards: bool,
}

const PLAN: Plan = Plan {
    outer: 2,
    nested: 1,
    reads: 0,
    exchanges: 1,
    len: 100,
    discards: false,
};

const PLACES: Pair<RingPlace> = Pair::new(RingPlace::new(64), RingPlace::new(128));

fn bank_at(place: RingPlace) -> Bank {
    let is = |bank: &Bank| *PLACES.of(*bank) == place;
    Bank::BOTH.into_iter().find(is).expect("a place of nothing")
}

struct World {
    plan: Plan,
    live: LiveBank<Word>,
    rings: Pair<CpuRing<Sim>>,
    states: RefCell<Pair<ReaderState>>,
    /// Nested writers, readers and exchanges that are left.
    left: [Cell<u32>; 3],
    /// Set while a reader or an exchange runs: they come one at a time.
    busy: Cell<bool>,
    /// Writers that are active. The banks may be exchanged again only when there are none.
    active: Cell<u32>,
    exchanged: Cell<bool>,
    clock: Cell<u64>,
    next: Cell<u64>,
    /// Events that began after the last exchange.
    later: Cell<u64>,
    committed: RefCell<Vec<u64>>,
    read: RefCell<Vec<u64>>,
}

thread_local! {
    static WORLD: Cell<*const World> = const { Cell::new(std::ptr::null()) };
}

fn instant() {
    // SAFETY: set by `run` for as long as the hook is there.
    let w = unsafe { &*WORLD.get() };
    if w.busy.get() {
        return;
    }
    // A choice with one answer would make every schedule longer.
    let may = [
        w.left[0].get() != 0,
        w.left[1].get() != 0,
        w.left[2].get() != 0 && !w.exchanged.get(),
    ];
    let which: Vec<usize> = (0..3).filter(|i| may[*i]).collect();
    let Some(&what) = usize::from(choose(which.len() as u8 + 1))
        .checked_sub(1)
        .and_then(|i| which.get(i))
    else {
        return;
    };
    w.left[what].set(w.left[what].get() - 1);
    match what {
        0 => w.write(),
        1 => w.alone(|w| w.take(Buf::Live)),
        _ => w.alone(World::exchange),
    }
}

impl World {
    fn new(plan: Plan) -> Self {
        let (a, its) = CpuRing::new(parts(8, 4096), 4096).unwrap();
        let (b, others) = CpuRing::new(parts(8, 4096), 4096).unwrap();
        World {
            plan,
            live: LiveBank::new(PLACES),
            rings: Pair::new(a, b),
            states: RefCell::new(Pair::new(its, others)),
            left: [plan.nested, plan.reads, plan.exchanges].map(Cell::new),
            busy: Cell::new(false),
            active: Cell::new(0),
            exchanged: Cell::new(false),
            clock: Cell::new(1000),
            next: Cell::new(0),
            later: Cell::new(0),
            committed: RefCell::default(),
            read: RefCell::default(),
        }
    }

    /// Runs `f` while nothing else happens.
    fn alone(&self, f: impl FnOnce(&Self)) {
        self.busy.set(true);
        f(self);
        self.busy.set(false);
    }

    fn exchange(&self) {
        self.live.exchange();
        self.exchanged.set(true);
        self.later.set(self.next.get());
    }

    /// Writes one event, as a probe does.
    fn write(&self) {
        let id = self.next.get();
        self.next.set(id + 1);
        self.active.set(self.active.get() + 1);

        let place = self.live.place();
        let bank = bank_at(place);
        // SAFETY: one simulated CPU; nested calls run to their end inside this one.
        let writer = unsafe { self.rings.of(bank).writer() };
        let clock = || {
            self.clock.set(self.clock.get() + 7);
            self.clock.get()
        };
        let mut event = writer.reserve(self.plan.len, clock).expect("refused");
        event.payload()[..8].copy_from_slice(&id.to_ne_bytes());
        let (payload, bits) = event.into_raw();
        let token = place.token(bits);

        let (place, bits) = RingPlace::of_token(token);
        // SAFETY: as above.
        let writer = unsafe { self.rings.of(bank_at(place)).writer() };
        // SAFETY: the two parts of one reservation, and no later one is open.
        let event = unsafe { Reservation::from_raw(writer, payload, bits) };
        if self.plan.discards && id % 2 == 1 {
            event.discard();
        } else {
            event.commit();
            self.committed.borrow_mut().push(id);
        }
        self.active.set(self.active.get() - 1);
    }

    /// Consumes all of `buf`. Returns how many events there were.
    fn take(&self, buf: Buf) {
        let bank = self.live.bank_of(buf);
        let mut states = self.states.borrow_mut();
        // SAFETY: the state was made together with this ring.
        let mut reader = unsafe { self.rings.of(bank).reader(states.of_mut(bank)) };
        let mut memory = Block::new(4096);
        while let Ok(true) = reader.take(&mut memory, false) {
            let image = plain::image(memory.bytes());
            assert!(!image.missed, "lost, in {}", schedule());
            for event in plain::decode(image.data, 0, image.stamp) {
                let id = u64::from_ne_bytes(event.payload[..8].try_into().unwrap());
                self.read.borrow_mut().push(id);
            }
        }
    }

    /// Checks the rings while no writer is active.
    fn rest(&self) {
        let at = schedule();
        for bank in Bank::BOTH {
            let ring = self.rings.of(bank);
            // SAFETY: the schedule is at rest: no writer is active, and no reader uses the ring.
            let whole = unsafe { ring.check(self.states.borrow().of(bank), Clock::Steady) };
            assert_eq!(whole, Ok(()), "{bank:?} in {at}");
        }
    }

    /// Checks the snapshot after the grace period: it is final, and has nothing that began later.
    fn after_exchange(&self) {
        let read = self.read.borrow().len();
        self.take(Buf::Snapshot);
        for id in &self.read.borrow()[read..] {
            assert!(
                *id < self.later.get(),
                "{id} began later, in {}",
                schedule()
            );
        }
        self.exchanged.set(false);
    }

    fn one(&self) {
        WORLD.set(self);
        let mut exchanges = 0;
        for _ in 0..self.plan.outer {
            with_hook(instant, || self.write());
            assert_eq!(self.active.get(), 0);
            self.rest();
            if self.exchanged.get() {
                self.after_exchange();
                exchanges += 1;
            }
        }
        self.rest();
        for buf in [Buf::Live, Buf::Snapshot] {
            self.take(buf);
        }
        let (mut committed, mut read) = (self.committed.take(), self.read.take());
        committed.sort_unstable();
        read.sort_unstable();
        assert_eq!(read, committed, "{exchanges} exchanges, in {}", schedule());
    }
}

fn run(plan: Plan) {
    let schedules = explore(&[], sample(1), || World::new(plan).one());
    println!("{schedules} schedules");
    assert!(schedules > least(1000));
}

#[test]
fn an_exchange_at_every_instant_of_nested_writers() {
    run(PLAN);
}

#[test]
fn an_exchange_three_levels_deep() {
    run(Plan {
        outer: 1,
        nested: 2,
        ..PLAN
    });
}

#[test]
fn an_exchange_while_sub_buffers_are_crossed() {
    run(Plan { len: 3000, ..PLAN });
}

#[test]
fn an_exchange_and_discards() {
    run(Plan {
        discards: true,
        ..PLAN
    });
}

#[test]
fn an_exchange_beside_a_reader() {
    run(Plan {
        reads: 1,
        len: 1400,
        ..PLAN
    });
}

#[test]
fn there_and_back() {
    run(Plan {
        outer: 3,
        nested: 0,
        exchanges: 3,
        ..PLAN
    });
}
