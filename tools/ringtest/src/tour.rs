// SPDX-License-Identifier: GPL-2.0
//! The readers of `trace` and `trace_pipe` on the shipped ring, while it is written.
//!
//! Several simulated CPUs record random events, some of them whenever a reader looks at one.
//! Whatever the order, the readers must see every event once or count it as missed, with its own
//! content and time, and time must not go back. For a reader that consumes nothing others consume
//! and resize meanwhile.

use proptest::prelude::*;

use crate::merge::{
    self,
    Heads,
    SettledState, //
};
use crate::ring::cpu::{
    CpuRing,
    ReaderState, //
};
use crate::ring::reader::UnreadData;
use crate::sim::{
    parts,
    Sim, //
};
use crate::stream::{
    EnteredCopy,
    Page,
    Tour,
    View,
    Walk, //
};

const SIZE: usize = 4096;

/// One event to be recorded.
#[derive(Clone, Copy, Debug)]
struct Plan {
    cpu: usize,
    size: usize,
    delta: u64,
    discard: bool,
}

fn plans(most: usize) -> impl Strategy<Value = Vec<Plan>> {
    let delta = prop_oneof![5 => 0u64..100, 1 => (1u64 << 27)..(1u64 << 30)];
    let plan = (0usize..3, 16usize..900, delta, prop::bool::weighted(0.2));
    let plan = plan.prop_map(|(cpu, size, delta, discard)| Plan {
        cpu,
        size,
        delta,
        discard,
    });

    prop::collection::vec(plan, 0..most)
}

/// A CPU with its ring and with what was recorded there: stamps, in the order of recording.
struct Cpu {
    ring: CpuRing<Sim>,
    state: ReaderState,
    recorded: Vec<u64>,
}

impl Cpu {
    /// Copies what is unread of the oldest sub-buffer to `data`; returns it with a walk through the copy.
    fn copy_unread(&mut self, data: &mut Vec<u8>) -> Option<(UnreadData, Walk)> {
        // SAFETY: The state was made together with this ring.
        let mut reader = unsafe { self.ring.reader(&mut self.state) };
        let unread = reader.unread().unwrap()?;
        data.resize(SIZE, 0);
        let length = reader.copy(&unread, data);
        data.truncate(length);
        let walk = Walk::new(data, unread.offset as usize, unread.time);
        Some((unread, walk))
    }

    /// Notes that all of a sub-buffer before such a walk was read: `events` more events.
    fn note_read(&mut self, seq: u64, walk: &Walk, events: u64) -> bool {
        let (offset, time) = walk.passed();
        // SAFETY: The state was made together with this ring.
        let mut reader = unsafe { self.ring.reader(&mut self.state) };
        reader.consume(seq, offset as u32, time, events)
    }

    /// Consumes the next events of the oldest sub-buffer, at most as many.
    fn consume(&mut self, events: u64) {
        let mut data = vec![];
        let Some((unread, mut walk)) = self.copy_unread(&mut data) else {
            return;
        };
        let mut passed = 0;
        while passed < events && walk.stamp().is_some() {
            walk.pass(&data);
            passed += 1;
        }
        assert!(self.note_read(unread.seq, &walk, passed));
    }

    fn resize(&mut self, slots: usize, size: usize) {
        // SAFETY: One thread, no writer is active, and the state was made together with this ring.
        let old = unsafe { self.ring.idle(&mut self.state) }.resize(parts(slots, size));
        assert!(old.is_ok());
    }
}

/// Some CPUs, one clock, and events that are still to come.
struct Machine {
    cpus: Vec<Cpu>,
    now: u64,
    coming: Vec<Plan>,
    /// What happens at a look of a reader, in turn.
    acts: Vec<Act>,
    looks: usize,
}

/// What happens on a machine while a reader looks from one sub-buffer to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    /// So many events are recorded.
    Record(usize),
    /// Another reader consumes so many events of each CPU.
    Consume(u64),
    /// The rings get so many slots.
    Resize(usize),
}

/// Writers that pause, go on, or fill sub-buffers.
fn paces() -> impl Strategy<Value = Vec<Act>> {
    acts(pace())
}

fn pace() -> impl Strategy<Value = Act> {
    prop_oneof![4 => Just(0), 3 => 1usize..8, 1 => 8usize..40].prop_map(Act::Record)
}

fn acts(act: impl Strategy<Value = Act>) -> impl Strategy<Value = Vec<Act>> {
    prop_oneof![1 => Just(IDLE.to_vec()), 7 => prop::collection::vec(act, 1..8)]
}

/// Looks at which others than writers do something.
const MOST_ACTS: usize = 100;

/// Nothing happens.
const IDLE: &[Act] = &[Act::Record(0)];

impl Machine {
    fn new(slots: usize, coming: &[Plan], acts: Vec<Act>) -> Self {
        let cpus = (0..3).map(|_| {
            let parts = parts(slots, SIZE);
            let (ring, state) = CpuRing::new(parts, SIZE).unwrap();

            ring.set_overwrite(true);
            Cpu {
                ring,
                state,
                recorded: vec![],
            }
        });

        Machine {
            cpus: cpus.collect(),
            now: 1000,
            coming: coming.iter().rev().copied().collect(),
            acts,
            looks: 0,
        }
    }

    /// Does what happens at a look.
    fn go_on(&mut self) {
        let act = self.acts[self.looks % self.acts.len()];
        self.looks += 1;
        match act {
            Act::Record(events) => self.record(events),
            // A reader whose every look is after another resize finds the same sub-buffer for ever.
            _ if self.looks > MOST_ACTS => self.record(1),
            Act::Consume(events) => self.cpus.iter_mut().for_each(|cpu| cpu.consume(events)),
            Act::Resize(slots) => self.cpus.iter_mut().for_each(|cpu| cpu.resize(slots, SIZE)),
        }
    }

    /// Records all that is to come and an event of each CPU, before which those are missed that others took. Nothing
    /// happens after that.
    fn finish(&mut self) {
        let last = (0..self.cpus.len()).map(|cpu| Plan {
            cpu,
            size: 16,
            delta: 1,
            discard: false,
        });
        self.coming.splice(0..0, last);
        self.record(usize::MAX);
        self.acts = IDLE.to_vec();
    }

    /// Records the next events. Each holds its number on its CPU and its stamp.
    fn record(&mut self, events: usize) {
        for _ in 0..events {
            let Some(plan) = self.coming.pop() else {
                return;
            };
            let cpu = &mut self.cpus[plan.cpu];

            self.now += plan.delta;
            // SAFETY: One thread, and no writer is active.
            let writer = unsafe { cpu.ring.writer() };
            let mut event = writer.reserve(plan.size, || self.now).unwrap();
            let payload = event.payload();
            payload[..8].copy_from_slice(&(cpu.recorded.len() as u64).to_ne_bytes());
            payload[8..16].copy_from_slice(&self.now.to_ne_bytes());
            if plan.discard {
                event.discard();
            } else {
                event.commit();
                cpu.recorded.push(self.now);
            }
        }
    }
}

/// The events of one CPU that a reader saw.
#[derive(Default)]
struct Seen {
    numbers: Vec<u64>,
    missed: u64,
}

/// Checks an event of a CPU that comes after those that were seen.
fn check(record: &[u8], stamp: u64, seen: &mut Seen) {
    let number = u64::from_ne_bytes(record[..8].try_into().unwrap());
    let time = u64::from_ne_bytes(record[8..16].try_into().unwrap());

    assert_eq!(time, stamp);
    if let Some(last) = seen.numbers.last() {
        assert!(number > *last, "{number} after {last}");
    }
    seen.numbers.push(number);
}

/// A copy of a sub-buffer, and where its reader is in it.
struct Place {
    data: Vec<u8>,
    seq: u64,
    walk: Walk,
    tour: Tour,
    seen: Seen,
}

impl Place {
    fn new() -> Self {
        Place {
            data: vec![],
            seq: 0,
            walk: Walk::default(),
            tour: Tour::default(),
            seen: Seen::default(),
        }
    }

    fn check(&mut self) -> u64 {
        let stamp = self.walk.stamp().unwrap();

        check(self.walk.record(&self.data).unwrap(), stamp, &mut self.seen);
        stamp
    }
}

/// The way of `trace` through the rings.
struct Touring {
    machine: Machine,
    places: Vec<Place>,
}

impl Touring {
    fn new(machine: Machine) -> Self {
        let mut touring = Touring {
            places: machine.cpus.iter().map(|_| Place::new()).collect(),
            machine,
        };

        touring.go_on();
        touring
    }

    /// That of a reader with `options/pipe-share`, which knows where it began and has no bound.
    fn sharing(machine: Machine) -> Self {
        let mut touring = Self::new(machine);
        for place in &mut touring.places {
            place.tour = Tour::from(0);
        }
        touring
    }

    fn go_on(&mut self) {
        for (place, cpu) in self.places.iter_mut().zip(&self.machine.cpus) {
            place.tour.go_on_to(cpu.recorded.len() as u64);
        }
    }

    /// Reads to the bounds; returns the stamps in the order of reading.
    fn read(&mut self) -> Vec<u64> {
        let mut settled = SettledState::default();
        let mut stamps = vec![];

        while let Some(at) = merge::next(self, &mut settled).unwrap() {
            let place = &mut self.places[at];

            stamps.push(place.check());
            place.walk.pass(&place.data);
            place.tour.pass();
            if self.stamp(at).is_none() {
                settled.unsettle();
            }
        }
        stamps
    }
}

impl Heads for Touring {
    type Error = ();

    fn places(&self) -> usize {
        self.places.len()
    }

    fn stamp(&self, at: usize) -> Option<u64> {
        let place = &self.places[at];

        place.walk.stamp().filter(|_| !place.tour.done())
    }

    fn look(&mut self, at: usize) -> Result<bool, ()> {
        let mut tour = self.places[at].tour;
        let found = tour.look(&mut Copies {
            machine: &mut self.machine,
            place: &mut self.places[at],
            at,
            from: (0, 0),
        });

        self.places[at].tour = tour;
        found
    }
}

/// The sub-buffers of CPU `at`; events are recorded before each is copied.
struct Copies<'a> {
    machine: &'a mut Machine,
    place: &'a mut Place,
    at: usize,
    /// Where in the copy its unread part begins, and when.
    from: (usize, u64),
}

impl View for Copies<'_> {
    type Error = ();

    fn view(&mut self, after: Option<u64>) -> Result<Option<Page>, ()> {
        self.machine.go_on();
        let cpu = &mut self.machine.cpus[self.at];
        // SAFETY: The state was made together with this ring.
        let reader = unsafe { cpu.ring.reader(&mut cpu.state) };

        self.place.data.resize(reader.subbuf_size(), 0);
        let viewed = reader.view(after, &mut self.place.data);
        Ok(viewed.map(|viewed| {
            self.place.data.truncate(viewed.end as usize);
            self.from = (viewed.offset as usize, viewed.time);
            Page {
                seq: viewed.seq,
                event: viewed.serial,
                forgotten: 0,
            }
        }))
    }

    fn enter(&mut self, entered: EnteredCopy) -> bool {
        let place = &mut *self.place;

        place.seen.missed += entered.missed;
        place.walk = Walk::new(&place.data, self.from.0, self.from.1);
        place.walk.skip(&place.data, entered.seen);
        place.walk.stamp().is_some()
    }
}

/// The way of `trace_pipe` through the rings.
struct Piping {
    machine: Machine,
    places: Vec<Place>,
    lost: u64,
}

impl Piping {
    fn new(machine: Machine) -> Self {
        Piping {
            places: machine.cpus.iter().map(|_| Place::new()).collect(),
            machine,
            lost: 0,
        }
    }

    /// Notes that everything before the walk of a CPU was read: `events` events.
    fn consume(&mut self, at: usize, events: u64) -> bool {
        let place = &self.places[at];
        self.machine.cpus[at].note_read(place.seq, &place.walk, events)
    }

    fn read(&mut self) -> Vec<u64> {
        let mut settled = SettledState::default();
        let mut stamps = vec![];

        while let Some(at) = merge::next(self, &mut settled).unwrap() {
            let place = &mut self.places[at];

            stamps.push(place.check());
            place.walk.pass(&place.data);
            assert!(self.consume(at, 1));
            if self.stamp(at).is_none() {
                settled.unsettle();
            }
        }
        stamps
    }
}

impl Heads for Piping {
    type Error = ();

    fn places(&self) -> usize {
        self.places.len()
    }

    fn stamp(&self, at: usize) -> Option<u64> {
        self.places[at].walk.stamp()
    }

    fn look(&mut self, at: usize) -> Result<bool, ()> {
        self.machine.go_on();
        loop {
            let place = &mut self.places[at];
            let Some((unread, walk)) = self.machine.cpus[at].copy_unread(&mut place.data) else {
                return Ok(false);
            };

            place.seq = unread.seq;
            place.seen.missed += unread.lost;
            self.lost += unread.lost;
            place.walk = walk;
            if place.walk.stamp().is_some() {
                return Ok(true);
            }
            assert!(self.consume(at, 0));
        }
    }
}

/// A reader that saw the events `from..until` or counted them as missed.
fn complete(seen: &Seen, until: u64) -> bool {
    let first = seen.numbers.first().copied().unwrap_or(until);

    // What was overwritten before the first event is not missed by a tour.
    seen.numbers.len() as u64 + seen.missed + first == until
}

/// Larger sub-buffers have smaller numbers: a ring that has used more of them begins from the start.
#[test]
fn numbers_that_begin_from_the_start_hide_nothing() {
    const SLOTS: usize = 4;
    const LARGE: usize = SIZE << 7;
    let (large, _) = CpuRing::<Sim>::new(parts(SLOTS, LARGE), LARGE).unwrap();
    let first = (large.last_seq() / SLOTS as u64) * SLOTS as u64;
    let plans: Vec<_> = (0..60)
        .map(|at| Plan {
            cpu: at % 3,
            size: 800,
            delta: 10,
            discard: false,
        })
        .collect();
    for is_shared in [false, true] {
        let mut machine = Machine::new(SLOTS, &plans, IDLE.to_vec());
        for cpu in &mut machine.cpus {
            // SAFETY: One thread, no writer is active, and the state was made together with this ring.
            unsafe { cpu.ring.idle(&mut cpu.state) }.reset_to(first);
        }
        machine.record(30);
        let mut touring = match is_shared {
            true => Touring::sharing(machine),
            false => Touring::new(machine),
        };
        assert_eq!(touring.read().len(), 30);
        for cpu in &mut touring.machine.cpus {
            cpu.resize(SLOTS, LARGE);
        }
        // A reader that looks before anything is recorded finds nothing.
        assert_eq!(touring.read(), []);
        touring.machine.record(15);
        if !is_shared {
            touring.go_on();
        }
        assert_eq!(touring.read().len(), 15, "shared: {is_shared}");
        touring.machine.record(usize::MAX);
        if !is_shared {
            touring.go_on();
        }
        assert_eq!(touring.read().len(), 15, "shared: {is_shared}");
        for place in &touring.places {
            assert!(place.tour.further().is_some_and(|seq| seq < first));
            assert_eq!((place.seen.missed, place.seen.numbers.len()), (0, 20));
        }
    }
}

proptest! {
    #[test]
    fn trace_shows_what_was_recorded_when_it_was_read(
        plans in plans(200),
        slots in 2usize..6,
        before in prop_oneof![0usize..20, 0usize..200],
        paces in paces(),
    ) {
        let mut machine = Machine::new(slots, &plans, paces);
        machine.record(before);
        let mut touring = Touring::new(machine);

        let recorded: Vec<u64> =
            touring.machine.cpus.iter().map(|cpu| cpu.recorded.len() as u64).collect();
        let stamps = touring.read();
        prop_assert!(stamps.is_sorted());
        for (place, &recorded) in touring.places.iter().zip(&recorded) {
            let last = place.seen.numbers.last().copied();

            prop_assert!(last.is_none_or(|last| last < recorded), "beyond its bound");
            // Nothing is left out but what was overwritten: with no writer, all is there.
            if touring.machine.acts == IDLE {
                prop_assert_eq!(place.seen.missed, 0);
                prop_assert!(complete(&place.seen, recorded));
            }
        }

        // Reading on shows the rest.
        touring.machine.record(usize::MAX);
        touring.go_on();
        let more = touring.read();
        prop_assert!(more.is_sorted());
        for (place, cpu) in touring.places.iter().zip(&touring.machine.cpus) {
            prop_assert!(complete(&place.seen, cpu.recorded.len() as u64));
        }
    }

    /// A reader without a bound misses nothing of a ring in which nothing is overwritten, whenever
    /// the writers go on.
    #[test]
    fn a_shared_pipe_misses_nothing_that_is_there(
        plans in plans(200),
        before in 0usize..20,
        paces in paces(),
    ) {
        let mut machine = Machine::new(64, &plans, paces);
        machine.record(before);
        let mut touring = Touring::sharing(machine);

        prop_assert!(touring.read().is_sorted());
        touring.machine.record(usize::MAX);
        prop_assert!(touring.read().is_sorted());
        for (place, cpu) in touring.places.iter().zip(&touring.machine.cpus) {
            prop_assert_eq!(place.seen.missed, 0);
            prop_assert_eq!(place.seen.numbers.len(), cpu.recorded.len());
        }
    }

    /// Whatever others do, a reader that knows where it began sees each event or counts it.
    #[test]
    fn what_others_take_is_missed(
        plans in plans(200),
        slots in 2usize..8,
        acts in acts(prop_oneof![
            5 => pace(),
            1 => (1u64..12).prop_map(Act::Consume),
            1 => (2usize..8).prop_map(Act::Resize),
        ]),
    ) {
        let mut touring = Touring::sharing(Machine::new(slots, &plans, acts));
        prop_assert!(touring.read().is_sorted());
        touring.machine.finish();
        prop_assert!(touring.read().is_sorted());
        for (place, cpu) in touring.places.iter().zip(&touring.machine.cpus) {
            let seen = place.seen.numbers.len() as u64;
            prop_assert_eq!(seen + place.seen.missed, cpu.recorded.len() as u64);
        }
    }

    /// With room for all of them and more, a resize costs such a reader nothing.
    #[test]
    fn what_a_resize_keeps_is_not_missed(
        plans in plans(200),
        acts in acts(prop_oneof![
            5 => pace(),
            1 => (64usize..72).prop_map(Act::Resize),
        ]),
    ) {
        let mut touring = Touring::sharing(Machine::new(64, &plans, acts));
        prop_assert!(touring.read().is_sorted());
        touring.machine.finish();
        prop_assert!(touring.read().is_sorted());
        for (place, cpu) in touring.places.iter().zip(&touring.machine.cpus) {
            prop_assert_eq!(place.seen.missed, 0);
            prop_assert_eq!(place.seen.numbers.len(), cpu.recorded.len());
        }
    }

    #[test]
    fn trace_pipe_gives_or_counts_every_event(
        plans in plans(200),
        slots in 2usize..6,
        before in prop_oneof![0usize..20, 0usize..200],
        paces in paces(),
    ) {
        let mut machine = Machine::new(slots, &plans, paces);
        machine.record(before);
        let mut piping = Piping::new(machine);
        let stamps = piping.read();
        prop_assert!(stamps.is_sorted());

        piping.machine.record(usize::MAX);
        prop_assert!(piping.read().is_sorted());
        prop_assert_eq!(piping.read(), vec![]);
        for (place, cpu) in piping.places.iter().zip(&mut piping.machine.cpus) {
            let recorded = cpu.recorded.len() as u64;
            // SAFETY: The state was made together with this ring.
            let stats = unsafe { cpu.ring.reader(&mut cpu.state) }.stats();

            prop_assert_eq!(place.seen.numbers.len() as u64 + place.seen.missed, recorded);
            prop_assert_eq!(stats.read, place.seen.numbers.len() as u64);
            prop_assert_eq!(stats.overrun, place.seen.missed);
            for &number in &place.seen.numbers {
                prop_assert!(number < recorded);
            }
        }
    }
}
