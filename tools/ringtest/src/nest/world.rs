// SPDX-License-Identifier: GPL-2.0
//! One ring, writers that may be interrupted at every operation on a word, and readers.

use std::cell::{Cell, RefCell};

use super::bounds::{Mark, Most};
use super::check::Log;
use super::plans::Plan;
use crate::ring::check::Clock;
use crate::ring::cpu::{CpuRing, ReaderState};
use crate::ring::cursor::Cursor;
use crate::ring::port::Memory;
use crate::ring::reader::Reader;
use crate::ring::reservation::Reservation;
use crate::ring::watermark::Publication;
use crate::ring::wire;
use crate::sim::{ops, parts, set_ops, unhook, watch, with_hook, Block, Sim};
use crate::trail::{choose, schedule};

const SIZE: usize = 4096;

/// See the head of this file.
pub struct World {
    ring: CpuRing<Sim>,
    reader: RefCell<ReaderState>,
    plan: Plan,
    /// The part of the plan that is left.
    nested: Cell<u8>,
    reads: Cell<u8>,
    /// Writers that are active, and the limit of that.
    depth: Cell<u8>,
    in_reader: Cell<bool>,
    /// Set while no choices are made.
    plain: Cell<bool>,
    /// Writers that began.
    began: Cell<u32>,
    /// Times that a reader changed a slot.
    changes: Cell<u32>,
    clock: Cell<u64>,
    log: RefCell<Log>,
    image: RefCell<Block>,
    pub most: Cell<Most>,
}

thread_local! {
    static WORLD: Cell<*const World> = const { Cell::new(std::ptr::null()) };
}

/// At every instant: nothing, a nested writer, or a reader.
fn instant() {
    // SAFETY: set by `one`, which borrows the world and takes the hook away.
    let w = unsafe { &*WORLD.with(Cell::get) };
    let writer = w.nested.get() > 0 && w.depth.get() <= w.plan.depth;
    let reader = w.reads.get() > 0 && !w.in_reader.get();
    if !writer && !reader {
        return;
    }
    let view = u8::from(reader && w.plan.views);
    let choice = choose(1 + u8::from(writer) + u8::from(reader) + view);
    if choice != 0 {
        w.company(choice - u8::from(writer));
    }
}

impl World {
    pub fn new(plan: Plan) -> Self {
        let parts = parts(plan.slots, SIZE);
        let (ring, reader) = CpuRing::new(parts, SIZE).unwrap();
        World {
            ring,
            reader: RefCell::new(reader),
            plan,
            nested: Cell::new(0),
            reads: Cell::new(0),
            depth: Cell::new(0),
            in_reader: Cell::new(false),
            plain: Cell::new(false),
            began: Cell::new(0),
            changes: Cell::new(0),
            clock: Cell::new(0),
            log: RefCell::new(Log::new()),
            image: RefCell::new(Block::new(SIZE)),
            most: Cell::default(),
        }
    }

    /// Runs one schedule.
    pub fn one(&self) {
        let plan = &self.plan;
        WORLD.with(|p| p.set(self));
        let (pos, nest) = self.ring.words();
        watch(pos, nest);
        // SAFETY: no writer is active.
        unsafe { self.ring.idle(&mut self.reader.borrow_mut()) }.reset();
        self.ring.set_overwrite(plan.overwrite);
        self.clock.set(1000);
        self.log.borrow_mut().clear();
        self.depth.set(1);
        self.nested.set(0);
        self.reads.set(0);
        self.plain.set(true);
        (0..plan.before).for_each(|_| self.write());
        if plan.has_read {
            self.read();
        }
        self.plain.set(false);
        self.nested.set(plan.nested);
        self.reads.set(plan.reads);
        for _ in 0..plan.outer {
            if self.nested.get() == 0 && self.reads.get() == 0 {
                self.write();
            } else {
                with_hook(instant, || self.write());
            }
            self.rest();
        }
        self.drain();
    }

    /// Runs a whole nested writer (0), or a call of the reader.
    #[inline(never)]
    fn company(&self, who: u8) {
        // Only operations of the interrupted writer itself count as its own.
        let own = ops();
        if who == 0 {
            self.nested.set(self.nested.get() - 1);
        } else {
            self.reads.set(self.reads.get() - 1);
        }
        if self.nested.get() == 0 && self.reads.get() == 0 {
            unhook();
        }
        match who {
            0 => {
                self.depth.set(self.depth.get() + 1);
                self.write();
                self.depth.set(self.depth.get() - 1);
            }
            1 => _ = self.read(),
            _ => self.view(),
        }
        set_ops(own);
    }

    fn pick<T: Copy>(&self, from: &[T]) -> T {
        match self.plain.get() {
            true => from[0],
            false => from[choose(from.len() as u8) as usize],
        }
    }

    /// Returns this moment.
    fn mark(&self) -> Mark {
        Mark {
            ops: ops(),
            began: self.began.get(),
            changes: self.changes.get(),
        }
    }

    /// Runs one writer, and checks the bounds of its loops as rust/ring/writer.rs states them.
    fn write(&self) {
        let len = self.pick(self.plan.sizes);
        let turns = Cell::new(0);
        let reading = Cell::new(0);
        let clock = || {
            turns.set(turns.get() + 1);
            let step = self.pick(self.plan.clock);
            self.clock.set(self.clock.get() + step);
            reading.set(self.log.borrow_mut().reading(self.clock.get()));
            self.clock.get()
        };
        self.began.set(self.began.get() + 1);
        // SAFETY: one simulated CPU; nested calls run to their end inside this one.
        let writer = unsafe { self.ring.writer() };
        let start = self.mark();
        let reserved = writer.reserve(len, clock);
        let turns = turns.get();
        let done = self.mark().since(&start);
        let mut most = done.reserve(turns, reserved.is_err());
        match reserved {
            Ok(mut event) => {
                let reading = reading.get();
                self.log.borrow().fill(reading, event.payload());
                // As a writer in C does it.
                if reading % 2 == 1 {
                    let (payload, token) = event.into_raw();
                    // SAFETY: the two parts of one reservation, and no later one is open.
                    event = unsafe { Reservation::from_raw(writer, payload, token) };
                }
                self.log.borrow_mut().length(reading, len);
                let discard = self.plan.discards && self.pick(&[false, true]);
                let start = self.mark();
                if discard {
                    event.discard();
                } else {
                    self.log.borrow_mut().commit(reading);
                    let published = event.commit();
                    assert!(
                        published != Publication::Nothing || self.depth.get() > 1,
                        "the outermost did not publish in {}",
                        schedule()
                    );
                }
                most = most.max(self.mark().since(&start).commit(discard));
            }
            Err(refused) => self.log.borrow_mut().refuse(refused),
        }
        self.most.set(self.most.get().max(most));
    }

    fn with_reader<T>(&self, f: impl FnOnce(&mut Reader<'_, Sim>, &mut Block) -> T) -> T {
        let mut state = self.reader.borrow_mut();
        let was = self.in_reader.replace(true);
        let changed = ops().changed;
        // SAFETY: the state was made together with this ring.
        let mut reader = unsafe { self.ring.reader(&mut state) };
        let result = f(&mut reader, &mut self.image.borrow_mut());
        let changed = ops().changed.wrapping_sub(changed);
        self.changes.set(self.changes.get().wrapping_add(changed));
        self.in_reader.set(was);
        result
    }

    /// Consumes one sub-buffer. A writer that comes meanwhile interrupts no writer of
    /// its own CPU: the reader runs on another one.
    fn read(&self) -> bool {
        self.with_reader(|reader, image| {
            let taken = match reader.take(image, false) {
                Ok(taken) => taken,
                Err(busy) => panic!("{busy:?} in {}", schedule()),
            };
            if taken {
                self.see_image(image.bytes(), reader.serial());
            }
            self.look(reader);
            taken
        })
    }

    /// Checks what a user that has the reader's sub-buffer mapped finds at this moment.
    fn look(&self, reader: &Reader<'_, Sim>) {
        let read = reader.lent().read as usize;
        let memory = reader.memory(reader.ids(), 0);
        let base = memory.expect("the reader's sub-buffer").base();
        // SAFETY: a word of the header; one thread.
        let word = |at| unsafe { base.add(at).cast::<u64>().read() };
        let len = (word(wire::LENGTH_AT) & wire::LENGTH_MASK) as usize;
        assert!(
            (read..=SIZE - wire::HEADER).contains(&len),
            "{len} bytes, {read} of them read, in {}",
            schedule()
        );
        // SAFETY: `len` bytes of data are in the sub-buffer (asserted); nothing on this one thread
        // stores to them meanwhile.
        let data = unsafe { std::slice::from_raw_parts(base.add(wire::HEADER).as_ptr(), len) };
        for event in Cursor::new(data, word(wire::STAMP_AT)) {
            let event = event.unwrap();
            let log = self.log.borrow();
            log.find(event.time, event.payload, event.next > read);
        }
    }

    /// `end`: serial of the event after this image, as the reader has it.
    fn see_image(&self, image: &[u8], end: u64) {
        let log = &mut *self.log.borrow_mut();
        let stamp = wire::long(image, 0).unwrap();
        let commit = wire::long(image, 8).unwrap();
        let len = (commit & wire::LENGTH_MASK) as usize;
        let data = &image[wire::HEADER..wire::HEADER + len];
        let events = Cursor::new(data, stamp).count() as u64;
        let lost = end - events - (log.read + log.lost);
        let missed = commit & wire::MISSED_EVENTS != 0;
        assert_eq!(missed, lost != 0, "in {}", schedule());
        // The count has no room after a full sub-buffer.
        if commit & wire::MISSED_STORED != 0 {
            let count = wire::long(image, wire::HEADER + len);
            assert_eq!(count, Some(lost), "in {}", schedule());
        }
        log.lost += lost;
        for event in Cursor::new(data, stamp) {
            let event = event.unwrap();
            log.consume(log.read + log.lost, event.time, event.payload);
        }
    }

    /// Copies all events and consumes nothing.
    fn view(&self) {
        self.with_reader(|reader, image| {
            let out = image.bytes();
            let mut after = None;
            while let Some(v) = reader.view(after, out) {
                let data = &out[..v.end as usize];
                let mut serial = v.serial;
                for event in Cursor::at(data, v.offset as usize, v.time) {
                    let event = event.unwrap();
                    let log = &mut *self.log.borrow_mut();
                    log.see(serial, event.time, event.payload);
                    serial += 1;
                }
                assert_eq!(serial - v.serial, v.events, "in {}", schedule());
                after = Some(v.seq);
            }
        });
    }

    /// No writer is active: the time that is known is that of the last event (I10).
    fn rest(&self) {
        if let Some(time) = self.ring.known_time() {
            let newest = self.log.borrow().newest();
            assert_eq!(Some(time), newest, "known time in {}", schedule());
        }
    }

    /// Checks that all invariants hold.
    fn check(&self) {
        // SAFETY: no writer is active, and the state is that of this ring.
        let checked = unsafe { self.ring.check(&self.reader.borrow(), Clock::Steady) };
        assert_eq!(checked, Ok(()), "in {}", schedule());
    }

    /// Reads what is left, and everything must be accounted for.
    fn drain(&self) {
        self.check();
        let stats = |reader: &mut Reader<'_, Sim>, _: &mut Block| reader.stats();
        let before = self.with_reader(stats);
        let (written, read) = {
            let log = self.log.borrow();
            (log.written(), log.read)
        };
        assert_eq!(before.written, written, "written in {}", schedule());
        assert_eq!(before.read, read, "read in {}", schedule());
        while self.read() {}
        let after = self.with_reader(stats);
        assert_eq!(
            before.entries(),
            after.read - read,
            "entries in {}",
            schedule()
        );
        self.log.borrow().judge(&after);
        self.check();
    }
}
