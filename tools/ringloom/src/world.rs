// SPDX-License-Identifier: GPL-2.0
//! One ring, its writing CPU and its reader, and the checks that hold in every execution.
//!
//! Writers note the time and the number of each event that they commit; the reader notes which
//! event it found at which place in the order of all events. At the end no actor is active and both
//! must agree, and with them what the ring says about itself.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::machine::{interrupt, looking, no_interrupts, touched, Block, Checker, Machine, Shadow};
use crate::ring::cpu::{CpuRing, Parts, ReaderState};
use crate::ring::cursor::Cursor;
use crate::ring::port::SharedWord;
use crate::ring::reader::Reader;
use crate::ring::subbuf::SubBuf;
use crate::ring::view::RingStats;
use crate::ring::watermark::Publication;
use crate::ring::wire;
use crate::ring::writer::ReserveError;

const SIZE: usize = 4096;
/// What a time stamp that an interrupted writer needs may add to its event.
const HEAD: usize = 8;

/// A ring and what is written into it.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub slots: usize,
    /// Bytes of a payload.
    pub len: usize,
    pub overwrite: bool,
    /// Events of the writing CPU, one after the other.
    pub writes: u32,
    /// Instants at which an interrupt writes another one.
    pub nested: [Option<u32>; 2],
    /// Numbers of the events that are given up.
    pub discards: &'static [u64],
}

/// Two slots, one event in each sub-buffer.
pub const ONE: Plan = Plan {
    slots: 2,
    len: 3000,
    overwrite: true,
    writes: 1,
    nested: [None; 2],
    discards: &[],
};

/// Two slots, two events in each sub-buffer.
pub const TWO: Plan = Plan { len: 2024, ..ONE };

/// What happened at least once; a test that asks for it cannot be void.
pub mod reached {
    /// A reader read from a sub-buffer that writers were still filling.
    pub const OPEN: u64 = 1;
    /// A reader read a full sub-buffer.
    pub const FULL: u64 = 1 << 1;
    /// A writer used the sub-buffer that was the spare at first.
    pub const SPARE: u64 = 1 << 2;
    /// Events were overwritten.
    pub const LOST: u64 = 1 << 3;
    /// Events were refused because the ring was full.
    pub const DROPPED: u64 = 1 << 4;
    /// Events were refused because the ring came round to an interrupted writer.
    pub const COMMIT_OVERRUN: u64 = 1 << 5;
    /// Events were refused because recording was off.
    pub const DISABLED: u64 = 1 << 6;
    /// A view copied what writers could overwrite.
    pub const RACING: u64 = 1 << 7;
    /// A view threw a copy away.
    pub const TORN: u64 = 1 << 8;
    /// An interrupt wrote.
    pub const NESTED: u64 = 1 << 9;
    /// An event that was given up became padding: another one was after it.
    pub const PADDED: u64 = 1 << 10;
    /// A view found the reader's own sub-buffer.
    pub const OWN: u64 = 1 << 11;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    time: u64,
    id: u64,
}

/// An event as it was found, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    offset: usize,
    next: usize,
    event: Event,
}

#[derive(Default)]
struct Log {
    committed: Vec<Event>,
    /// Serial number and event.
    seen: Vec<(u64, Event)>,
    /// Serial number, number and, if known, time.
    viewed: Vec<(u64, u64, Option<u64>)>,
    read: u64,
    lost: u64,
    stats: Vec<RingStats>,
    commit_overrun: u64,
    dropped: u64,
    disabled: u64,
}

/// See the head of this file.
pub struct World<C: Checker> {
    pub ring: CpuRing<Machine<C>>,
    reader: RefCell<ReaderState>,
    shadows: Vec<Shadow<C>>,
    plan: Plan,
    clock: Cell<u64>,
    ids: Cell<u64>,
    log: RefCell<Log>,
    reached: Cell<u64>,
}

impl<C: Checker> World<C> {
    pub fn new(plan: Plan) -> Rc<Self> {
        C::no_writer();
        let subbufs: Vec<SubBuf<Machine<C>>> = (0..=plan.slots)
            .map(|_| SubBuf::new(Block::new(SIZE, plan.len + HEAD)))
            .collect();
        let shadows = subbufs.iter().map(|p| p.memory().shadow()).collect();
        let slots = (0..plan.slots).map(|_| SharedWord::new(0)).collect();
        let Ok((ring, state)) = CpuRing::new(Parts { slots, subbufs }, SIZE) else {
            panic!("these parts make a ring");
        };
        ring.set_overwrite(plan.overwrite);
        Rc::new(World {
            ring,
            reader: RefCell::new(state),
            shadows,
            plan,
            clock: Cell::new(0),
            ids: Cell::new(0),
            log: RefCell::default(),
            reached: Cell::new(0),
        })
    }

    /// Runs a ring whose writer runs beside `reader` to the end of both; returns what happened.
    pub fn beside(plan: Plan, reader: impl FnOnce(&Rc<Self>)) -> u64 {
        let world = Self::new(plan);
        let writer = world.start();
        reader(&world);
        C::join(writer);
        world.finish();
        world.reached.get()
    }

    fn reach(&self, what: u64) {
        self.reached.set(self.reached.get() | what);
    }

    /// Starts the writing CPU.
    pub fn start(self: &Rc<Self>) -> C::Thread {
        let world = self.clone();
        C::spawn(move || {
            C::become_writer();
            let nested = world.clone();
            interrupt(
                world.plan.nested.into_iter().flatten().collect(),
                Rc::new(move || {
                    nested.reach(reached::NESTED);
                    nested.write();
                }),
            );
            for _ in 0..world.plan.writes {
                world.write();
            }
            no_interrupts();
        })
    }

    fn shadow(&self, address: usize) -> &Shadow<C> {
        self.shadows
            .iter()
            .find(|s| s.is_of(address))
            .expect("an address in a sub-buffer")
    }

    /// Writes one event. Returns whether it was recorded and readers can see it.
    pub fn write(&self) -> bool {
        let time = Cell::new(0);
        let clock = || {
            self.clock.set(self.clock.get() + 10);
            time.set(self.clock.get());
            time.get()
        };
        // SAFETY: one thread writes, and its interrupts are calls inside its operations.
        let writer = unsafe { self.ring.writer() };
        let mut event = match writer.reserve(self.plan.len, clock) {
            Ok(event) => event,
            Err(why) => {
                self.refuse(why);
                return false;
            }
        };
        let id = self.ids.get() + 1;
        self.ids.set(id);
        let payload = event.payload();
        let rest = payload.len() - 8;
        payload[..8].copy_from_slice(&id.to_ne_bytes());
        payload[rest..].copy_from_slice(&id.to_ne_bytes());
        let address = payload.as_ptr() as usize;
        let shadow = self.shadow(address);
        shadow.write(shadow.index(address), id);
        if self.shadows.last().is_some_and(|s| s.is_of(address)) {
            self.reach(reached::SPARE);
        }
        if self.plan.discards.contains(&id) {
            event.discard();
            // SAFETY: the 16 bytes before a payload are in its sub-buffer.
            let head = |back| unsafe { ((address - back) as *const u32).read() };
            if [8, 16].map(|back| head(back) & 31).contains(&wire::PADDING) {
                self.reach(reached::PADDED);
            }
            return false;
        }
        let time = time.get();
        self.log.borrow_mut().committed.push(Event { time, id });
        event.commit() != Publication::Nothing
    }

    fn refuse(&self, why: ReserveError) {
        let mut log = self.log.borrow_mut();
        let (count, what) = match why {
            ReserveError::CommitOverrun => (&mut log.commit_overrun, reached::COMMIT_OVERRUN),
            ReserveError::Full => (&mut log.dropped, reached::DROPPED),
            ReserveError::Disabled => (&mut log.disabled, reached::DISABLED),
            other => panic!("refused: {other:?}"),
        };
        *count += 1;
        self.reach(what);
    }

    fn with_reader<T>(&self, f: impl FnOnce(&mut Reader<'_, Machine<C>>) -> T) -> T {
        let mut state = self.reader.borrow_mut();
        // SAFETY: the state was made together with this ring.
        f(&mut unsafe { self.ring.reader(&mut state) })
    }

    /// Returns the events of `data` from `from` on.
    fn decode(data: &[u8], from: usize, time: u64) -> Vec<Found> {
        Cursor::at(data, from, time)
            .map(|e| e.expect("well-formed records"))
            .map(|e| {
                let word =
                    |at: usize| u64::from_ne_bytes(e.payload[at..at + 8].try_into().unwrap());
                let id = word(0);
                assert_eq!(id, word(e.payload.len() - 8), "a torn event");
                Found {
                    offset: e.offset,
                    next: e.next,
                    event: Event { time: e.time, id },
                }
            })
            .collect()
    }

    /// Consumes what is unread in the next sub-buffer, at most `most` events; says whether there
    /// was something.
    pub fn read(&self, most: usize) -> bool {
        self.with_reader(|reader| {
            let Ok(Some(u)) = reader.unread() else {
                return false;
            };
            self.reach(if u.open { reached::OPEN } else { reached::FULL });
            let mut data = vec![0; u.end as usize];
            assert_eq!(reader.copy(&u, &mut data), data.len());
            // No operation of the checker has been made since the copy.
            let shadow = self.shadow(touched());
            let all = Self::decode(&data, 0, u.stamp);
            for f in &all {
                let shade = shadow.read(shadow.index(shadow.start() + f.offset));
                assert_eq!(shade, f.event.id, "the copy is not what was written");
            }
            let unread = Self::decode(&data, u.offset as usize, u.time);
            assert!(all.ends_with(&unread), "times of a part and of the whole");
            assert_eq!(unread.len() as u64, u.events, "events in the unread part");
            let some = &unread[..most.min(unread.len())];
            let mut log = self.log.borrow_mut();
            log.lost += u.lost;
            for f in some {
                let serial = log.read + log.lost;
                log.seen.push((serial, f.event));
                log.read += 1;
            }
            let (mut end, mut time) = (u.end, u.time);
            if let Some(last) = some.last() {
                time = last.event.time;
                if some.len() < unread.len() {
                    end = last.next as u32;
                }
            }
            assert!(reader.consume(u.seq, end, time, some.len() as u64));
            true
        })
    }

    /// Consumes the next sub-buffer as an image; says whether there was one.
    pub fn image(&self) -> bool {
        self.with_reader(|reader| {
            let Ok(Some(u)) = reader.unread() else {
                return false;
            };
            let mut bytes = vec![0xa5; SIZE];
            assert_eq!(reader.take_image(&mut bytes), Ok(Some(())));
            let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
            let (stamp, commit) = (long(0), long(8));
            assert_eq!(stamp, u.time, "time of an image");
            assert_eq!(commit & 1 << 31 != 0, u.lost != 0, "missed");
            let end = 16 + (commit & 0x3fff_ffff) as usize;
            let events = Self::decode(&bytes[16..end], 0, stamp);
            let shadow = self.shadow(touched());
            let mut log = self.log.borrow_mut();
            log.lost += u.lost;
            for f in &events {
                let at = shadow.start() + u.offset as usize + f.offset;
                assert_eq!(shadow.read(shadow.index(at)), f.event.id, "an image");
                let serial = log.read + log.lost;
                log.seen.push((serial, f.event));
                log.read += 1;
            }
            true
        })
    }

    /// Views the oldest sub-buffer after `after`; returns which.
    pub fn view(&self, after: Option<u64>) -> Option<u64> {
        let mut out = vec![0; SIZE];
        let (v, shades, copies) =
            looking(|| self.with_reader(|reader| reader.view(after, &mut out)));
        if copies > u32::from(v.is_some()) {
            self.reach(reached::TORN);
        }
        let v = v?;
        let data = &out[..v.end as usize];
        self.reach(match shades {
            Some(_) => reached::RACING,
            None => reached::OWN,
        });
        if let Some(shades) = shades.filter(|_| !C::SIMPLE) {
            // The bytes are as new as can be, while every word may have been an old one. So it is
            // the shades that count; the time of an event is compared if its bytes are of that age.
            let at = |k: usize| Cursor::at(data, 0, v.time).nth(k)?.ok();
            let mut log = self.log.borrow_mut();
            for (k, id) in (0..v.events as usize).zip(shades) {
                let own = at(k).filter(|e| e.payload.starts_with(&id.to_ne_bytes()));
                log.viewed
                    .push((v.serial + k as u64, id, own.map(|e| e.time)));
            }
        } else {
            let events = Self::decode(data, v.offset as usize, v.time);
            assert_eq!(events.len() as u64, v.events, "events in a view");
            for (serial, f) in (v.serial..).zip(events) {
                self.log.borrow_mut().seen.push((serial, f.event));
            }
        }
        Some(v.seq)
    }

    /// Checks the statistics of the ring beside writers.
    pub fn stats(&self) {
        let stats = self.with_reader(|reader| reader.stats());
        let mut log = self.log.borrow_mut();
        assert_eq!(stats.read, log.read);
        assert!(stats.written >= stats.read, "{stats:?}");
        let written = log.committed.len() as u64;
        assert!(stats.written <= written, "{stats:?}: {written} written");
        log.stats.push(stats);
    }

    /// Reads what is left and compares, while no actor is active.
    pub fn finish(&self) {
        while self.read(usize::MAX) {}
        let stats = self.with_reader(|reader| reader.stats());
        let mut log = self.log.borrow_mut();
        // The ring has events in the order of their clock readings.
        log.committed.sort_by_key(|e| e.time);
        for (serial, event) in &log.seen {
            assert_eq!(
                log.committed.get(*serial as usize),
                Some(event),
                "event {serial} of {:?}",
                log.committed
            );
        }
        for (serial, id, time) in &log.viewed {
            let event = log.committed.get(*serial as usize);
            let same = event.is_some_and(|e| e.id == *id && time.is_none_or(|t| t == e.time));
            assert!(
                same,
                "a view of {id} as event {serial} of {:?}",
                log.committed
            );
        }
        let written = log.committed.len() as u64;
        if log.lost != 0 {
            self.reach(reached::LOST);
        }
        assert_eq!(log.read + log.lost, written, "all is read or lost");
        let expected = RingStats {
            written,
            read: log.read,
            overrun: log.lost,
            commit_overrun: log.commit_overrun,
            dropped: log.dropped,
            oldest: stats.oldest,
            ..RingStats::default()
        };
        assert_eq!(stats, expected);
        for s in &log.stats {
            assert!(s.overrun <= log.lost, "{s:?}: {} lost", log.lost);
            assert!(s.read + s.overrun <= written, "{s:?}: counted twice");
            assert_eq!(s.broken, 0);
        }
        let grows = |f: fn(&RingStats) -> u64| log.stats.is_sorted_by_key(f);
        assert!(grows(|s| s.overrun), "overrun goes back");
        assert!(grows(|s| s.written), "written goes back");
    }
}
