// SPDX-License-Identifier: GPL-2.0
//! One ring with all its users, and the checks that hold whatever they do.
//!
//! `model` lets random things happen here, `stories` particular ones. Writers may run at random
//! instants, nested in writers or beside the reader, and so may readers, as another CPU would.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

use crate::oracle::{Oracle, Seen, Written};
use crate::plain;
use crate::ring::check::Clock;
use crate::ring::cpu::{CpuRing, ReaderState};
use crate::ring::cursor::Cursor;
use crate::ring::give::PartialTake;
use crate::ring::port::Memory;
use crate::ring::reader::{Reader, UnreadData};
use crate::ring::reservation::Reservation;
use crate::ring::subbuf::SubBuf;
use crate::ring::view::RingStats;
use crate::ring::violation::Violation;
use crate::ring::watermark::Publication;
use crate::sim::{parts, with_hook, Block, Sim};

/// Around the largest delta of a header.
pub const STEPS: &[u64] = &[0, 1, 50, (1 << 27) - 1, 1 << 27, (1 << 27) + 5];
/// Around the largest delta of a record.
pub const WIDE: &[u64] = &[0, 1, 50, (1 << 59) - 1, 1 << 59, (1 << 59) + 1];
/// Back by 1 and by 1000.
pub const BACK: &[u64] = &[0, 1, 50, (1 << 27) + 5, u64::MAX, u64::MAX - 999];

/// See the head of this file.
pub struct World {
    /// The ring itself.
    pub ring: CpuRing<Sim>,
    reader: RefCell<ReaderState>,
    oracle: RefCell<Oracle>,
    size: Cell<usize>,
    /// Events before this number went with sub-buffers of another size.
    thrown: Cell<u64>,
    random: Cell<u64>,
    odds: Cell<u64>,
    /// Writers and readers that may still come in this command.
    company: Cell<u32>,
    in_reader: Cell<bool>,
    /// What was lent since a reader last consumed.
    lent: RefCell<Option<Look>>,
    /// Sub-buffers that were lost at the last look.
    skipped: Cell<u64>,
    /// Writers that began.
    writers: Cell<u64>,
    /// Writers that are active.
    active: Cell<u64>,
    clock: Cell<u64>,
    steps: &'static [u64],
    /// Time of some recent event.
    newest: Cell<u64>,
    /// Clock readings.
    readings: Cell<u64>,
    /// Time of the preceding event, while the ring knows it; kept only without company.
    front: Cell<Option<u64>>,
    /// What the last writer that left reported.
    told: Cell<Publication>,
}

/// A sub-buffer that a program looks at in its place.
struct Look {
    base: NonNull<u8>,
    /// Bytes that may be looked at.
    len: usize,
    /// Their contents.
    data: Vec<u8>,
}

impl Look {
    fn word(&self, at: usize) -> u64 {
        // SAFETY: callers stay in the sub-buffer, which is in the ring; one thread.
        unsafe { self.base.add(at).cast::<u64>().read_unaligned() }
    }

    /// Length and stamp.
    fn head(&self) -> (u64, u64) {
        (self.word(8), self.word(0))
    }

    fn read(&self) -> Vec<u8> {
        // SAFETY: these bytes are committed, and writers do not store to them; there is one thread.
        unsafe { std::slice::from_raw_parts(self.base.add(16).as_ptr(), self.len) }.to_vec()
    }
}

thread_local! {
    static WORLD: Cell<*const World> = const { Cell::new(std::ptr::null()) };
}

/// Decides at every instant whether another writer or reader comes.
fn instant() {
    // SAFETY: set by `alone`, which borrows the world and takes the hook away.
    let w = unsafe { &*WORLD.with(Cell::get) };
    if w.company.get() == 0 || w.below(w.odds.get()) != 0 {
        return;
    }
    w.company.set(w.company.get() - 1);
    match w.below(8) {
        0 if !w.in_reader.get() => w.read(w.below(4)),
        1 if !w.in_reader.get() => match w.below(5) {
            0 => _ = w.image(),
            4 => _ = w.part(w.below(4096) as usize),
            3 => _ = w.lend(),
            n => _ = w.give(n == 1),
        },
        2 if !w.in_reader.get() => _ = w.view(None),
        _ => w.write(w.any_len(), w.below(4) == 0),
    }
}

impl World {
    /// A ring with sub-buffers of 4096 << `order` bytes and a clock that begins at `start`.
    pub fn new(order: u32, slots: usize, start: u64, steps: &'static [u64]) -> Self {
        let size = 4096 << order;
        let (ring, reader) = CpuRing::new(parts(slots, size), size).unwrap();
        World {
            ring,
            reader: RefCell::new(reader),
            oracle: RefCell::new(Oracle::new()),
            size: Cell::new(size),
            thrown: Cell::new(0),
            random: Cell::new(1),
            odds: Cell::new(0),
            company: Cell::new(0),
            in_reader: Cell::new(false),
            lent: RefCell::new(None),
            skipped: Cell::new(0),
            writers: Cell::new(0),
            active: Cell::new(0),
            clock: Cell::new(start),
            steps,
            newest: Cell::new(start),
            readings: Cell::new(0),
            front: Cell::new(None),
            told: Cell::new(Publication::Nothing),
        }
    }

    /// Runs `f` as part of this world, with random choices made from `seed` and company at one of
    /// `odds` instants (0: none). Returns whether none came.
    pub fn alone(&self, seed: u64, odds: u64, f: impl FnOnce(&Self)) -> bool {
        let company = if odds == 0 || self.steps == BACK {
            0
        } else {
            12
        };
        self.random.set(seed | 1);
        self.odds.set(odds);
        self.company.set(company);
        WORLD.with(|p| p.set(self));
        with_hook(instant, || f(self));
        self.company.replace(0) == company
    }

    /// The largest payload.
    pub fn most(&self) -> usize {
        self.size.get() - 24
    }

    fn below(&self, n: u64) -> u64 {
        let mut r = self.random.get();
        r ^= r << 13;
        r ^= r >> 7;
        r ^= r << 17;
        self.random.set(r);
        (r >> 11) % n
    }

    fn any_len(&self) -> usize {
        let most = self.most();
        match self.below(4) {
            0 => self.below(130) as usize,
            1 => most - self.below(8) as usize,
            _ => most / (1 + self.below(6) as usize),
        }
    }

    /// Runs one writer.
    pub fn write(&self, len: usize, discard: bool) {
        let turns = Cell::new(0u64);
        // Number and time.
        let reading = Cell::new((0, 0));
        let clock = || {
            turns.set(turns.get() + 1);
            let step = self.steps[self.below(self.steps.len() as u64) as usize];
            // More than half of all times ahead cannot be told from a step back.
            let now = self.clock.get();
            let far = now.wrapping_sub(self.newest.get()) >= 1 << 60 || now >= 15 << 60;
            if self.steps != WIDE || !far {
                self.clock.set(now.wrapping_add(step));
            }
            self.readings.set(self.readings.get() + 1);
            reading.set((self.readings.get(), self.clock.get()));
            reading.get().1
        };
        self.writers.set(self.writers.get() + 1);
        let began = self.writers.get();
        let nested_in = self.active.get();
        self.active.set(nested_in + 1);
        // SAFETY: one simulated CPU; nested calls run to their end inside this one.
        let writer = unsafe { self.ring.writer() };
        let reserved = writer.reserve(len, clock);
        let nested = self.writers.get() - began;
        // The fast path may have read the clock and declined.
        assert!(turns.get() <= 2 + nested, "{turns:?}, {nested} nested");
        match reserved {
            Ok(mut event) => {
                let (order, mut time) = reading.get();
                if let Some(front) = self.front.get().filter(|f| time < *f) {
                    self.oracle.borrow_mut().held += 1;
                    time = front;
                }
                self.newest.set(time);
                for (i, byte) in event.payload().iter_mut().enumerate() {
                    *byte = Written::byte(order, i);
                }
                // As a writer in C does it.
                if order % 2 == 0 {
                    let (payload, token) = event.into_raw();
                    // SAFETY: the two parts of one reservation, and no later one is open.
                    event = unsafe { Reservation::from_raw(writer, payload, token) };
                }
                let before = self.front.replace((self.steps == BACK).then_some(time));
                if discard {
                    if self.steps == WIDE {
                        // If it becomes padding: that has 59 bits of its time.
                        self.oracle.borrow_mut().exact = (1 << 59) - 1;
                    }
                    self.told.set(event.discard());
                    if self.steps == BACK {
                        self.front.set(self.ring.known_time());
                        let front = self.front.get();
                        assert!(
                            front.is_none() || front == before,
                            "a discard left its time"
                        );
                    }
                } else {
                    let written = Written { order, time, len };
                    self.oracle.borrow_mut().committed(written);
                    self.told.set(event.commit());
                    let published = self.told.get() != Publication::Nothing;
                    assert!(published || nested_in != 0, "the outermost did not publish");
                }
            }
            Err(why) => self.oracle.borrow_mut().refuse(why),
        }
        self.active.set(nested_in);
    }

    /// Returns what the last writer that left reported.
    pub fn told(&self) -> Publication {
        self.told.get()
    }

    /// What was lent is unchanged, except for new events after it. From now on it may change.
    fn give_back(&self) {
        if let Some(look) = self.lent.take() {
            assert!(look.read().starts_with(&look.data), "what was lent changed");
        }
    }

    /// Consumes the next sub-buffer and looks at it in its place, as a program does that has mapped
    /// it. Says whether there was something.
    pub fn lend(&self) -> bool {
        let was = self.lent.borrow().as_ref().map(|look| look.base);
        let had = self
            .lent
            .borrow()
            .as_ref()
            .map_or(0, |look| look.data.len());
        if let Some(look) = &*self.lent.borrow() {
            assert!(look.read().starts_with(&look.data), "what was lent changed");
        }
        let (lent, look, taken, serial, open) = self.with_reader(|reader| {
            let (before, at) = (reader.counted(), reader.lent().index);
            let taken = reader.lend().expect("busy");
            let serial = reader.serial();
            let (lent, after) = (reader.lent(), reader.counted());
            let alone = self.odds.get() == 0;
            assert!(
                taken || !alone || lent.index == at,
                "another one, and nothing new"
            );
            let ids = reader.ids();
            assert_eq!(
                (ids.of(lent.index), ids.count()),
                (0, self.ring.slot_count() as u32 + 1)
            );
            for name in 0..ids.count() {
                let mut page = lent.index;
                page.0 = (page.0 + name) % ids.count();
                assert_eq!(ids.of(page), name, "the name of {page:?}");
            }
            let base = reader.memory(ids, 0).expect("a sub-buffer").base();
            assert!(reader.memory(ids, ids.count()).is_none());
            let look = Look {
                base,
                len: lent.read as usize,
                data: Vec::new(),
            };
            let turnover = reader.turnover();
            assert!(turnover.lost >= self.skipped.replace(turnover.lost));
            assert!(turnover.lost <= turnover.opened, "{turnover:?}");
            if alone && after.1 != 0 && self.thrown.get() == 0 {
                assert!(turnover.lost != 0, "events were lost, but no sub-buffer");
            }
            // Here, because only writers come while a reader runs. What a reader had before may be
            // shared with writers, also if these have left it since.
            let open =
                lent.index == at || self.ring.index_of(self.ring.newest()) == Some(lent.index.0);
            // Whatever comes meanwhile.
            assert!(taken || before.2 == after.2, "consumed in silence");
            (
                lent,
                look,
                taken.then_some(after.2 - before.2),
                serial,
                open,
            )
        });
        let Some(events) = taken else {
            // Writers that came in between let it go on to another one, which is still empty.
            if was.is_some_and(|base| base != look.base) {
                self.lent.take();
            }
            return false;
        };
        let data = look.read();
        let (length, stamp) = look.head();
        assert!(
            length & 0x3fff_ffff >= u64::from(lent.read),
            "the header is behind"
        );
        let same = was == Some(look.base);
        let known = self.oracle.borrow().position();
        let all = plain::decode(&data, 0, stamp);
        let before = all.len() - events as usize;
        assert!(!same || all.iter().filter(|e| e.next <= had).count() <= before);
        // Losses that were not reported yet are reported with the first of them.
        let lost = serial - events - known;
        assert!(lost == 0 || before == 0, "a loss inside of a sub-buffer");
        assert!(lent.lost >= lost, "{lost} lost, told of {}", lent.lost);
        if lost != 0 && !open && self.odds.get() == 0 {
            assert!(length & 1 << 31 != 0, "the header does not tell of a loss");
        }
        assert!(length & 1 << 31 == 0 || lent.lost != 0);
        if length & 1 << 30 != 0 {
            assert_eq!(look.word(16 + data.len()), lent.lost);
        }
        for (serial, event) in (known + lost..).zip(all.into_iter().skip(before)) {
            let (time, payload) = (event.time, event.payload);
            self.oracle.borrow_mut().saw(Seen {
                serial,
                time,
                payload,
            });
        }
        let mut oracle = self.oracle.borrow_mut();
        oracle.read += events;
        oracle.lost += lost;
        drop(oracle);
        *self.lent.borrow_mut() = Some(Look { data, ..look });
        true
    }

    /// Runs `f` as the reader.
    pub fn with_reader<T>(&self, f: impl FnOnce(&mut Reader<'_, Sim>) -> T) -> T {
        let mut state = self.reader.borrow_mut();
        let was = self.in_reader.replace(true);
        // SAFETY: the state was made together with this ring.
        let result = f(&mut unsafe { self.ring.reader(&mut state) });
        self.in_reader.set(was);
        result
    }

    /// Decodes in both ways and notes what was seen; returns the events with their ends.
    fn decode(&self, data: &[u8], from: usize, time: u64, serial: u64) -> Vec<(usize, u64)> {
        let plain = plain::decode(data, from, time);
        let ours: Vec<_> = Cursor::at(data, from, time)
            .map(|event| event.unwrap())
            .map(|event| (event.time, event.payload.to_vec(), event.next))
            .collect();
        assert!(
            plain
                .iter()
                .map(|p| (p.time, p.payload.clone(), p.next))
                .eq(ours),
            "the decoders disagree"
        );
        let ends = plain.iter().map(|p| (p.next, p.time)).collect();
        for (serial, event) in (serial..).zip(plain) {
            let (time, payload) = (event.time, event.payload);
            let seen = Seen {
                serial,
                time,
                payload,
            };
            self.oracle.borrow_mut().saw(seen);
        }
        ends
    }

    /// Consumes the next events one by one, at most `most` of them, and discarded ones after the
    /// last.
    pub fn read(&self, most: u64) {
        self.give_back();
        self.with_reader(|reader| {
            let Some(u) = reader.unread().expect("busy") else {
                return;
            };
            let mut data = vec![0u8; u.end as usize];
            assert_eq!(reader.copy(&u, &mut data), data.len());
            let serial = self.oracle.borrow().position() + u.lost;
            let from = u.offset as usize;
            let ends = self.decode(&data, from, u.time, serial);
            assert_eq!(ends.len() as u64, u.events, "events in the unread part");
            let mut lost = u.lost;
            let mut consume = |end, time, events| {
                assert!(reader.consume(u.seq, end as u32, time, events));
                let mut oracle = self.oracle.borrow_mut();
                oracle.read += events;
                oracle.lost += std::mem::take(&mut lost);
            };
            let mut at = from;
            for &(end, time) in ends.iter().take(most as usize) {
                consume(end, time, 1);
                at = end;
            }
            if most as usize >= ends.len() && at != data.len() {
                let mut cursor = Cursor::at(&data, from, u.time);
                (&mut cursor).for_each(drop);
                consume(data.len(), cursor.time(), 0);
            }
        });
    }

    /// Consumes the next sub-buffer as far as it is filled; returns whether there was one.
    pub fn image(&self) -> bool {
        let stays = self.below(3) == 0;
        let mut image = self.block();
        let own = image.base();
        self.take(|reader| {
            let unread = reader.unread().expect("busy")?;
            assert_eq!(reader.take(&mut image, stays), Ok(true));
            let copied = stays || unread.open || unread.offset != 0;
            assert_eq!(image.base() == own, copied, "copied");
            Some((unread, image.bytes().to_vec()))
        })
    }

    /// Consumes the next events as far as `room` bytes have room for them and the header; says
    /// whether there were any.
    pub fn part(&self, room: usize) -> bool {
        let mut image = self.block();
        self.take(|reader| {
            let unread = reader.unread().expect("busy")?;
            match reader.take_part(&mut image, room).expect("busy") {
                PartialTake::Taken => {
                    let bytes = image.bytes().to_vec();
                    let taken = plain::image(&bytes).data;
                    assert!(
                        taken.is_empty() || 16 + taken.len() <= room,
                        "more than fits"
                    );
                    Some((unread, bytes))
                }
                PartialTake::TooShort => {
                    let again = reader.unread().expect("busy").expect("it was not taken");
                    let place = |u: &UnreadData| (u.seq, u.offset, u.time, u.lost);
                    assert_eq!(place(&again), place(&unread), "what was not taken");
                    None
                }
                PartialTake::Empty => panic!("what was there is gone"),
            }
        })
    }

    /// Memory for a sub-buffer that is not zero.
    fn block(&self) -> Block {
        let mut block = Block::new(self.size.get());
        block.bytes().fill(0xa5);
        block
    }

    /// As [`Self::gift`]; says whether there was one.
    pub fn give(&self, stays: bool) -> bool {
        self.gift(stays).is_some()
    }

    /// Takes the memory of the next sub-buffer that writers have left out of the ring, or copies it
    /// when it `stays`.
    pub fn gift(&self, stays: bool) -> Option<Block> {
        let mut gift = None;
        self.take(|reader| {
            let unread = reader.whole().expect("busy")?;
            assert!(!unread.open);
            let mut fresh = self.block();
            let own = fresh.base();
            let taken = reader.take_whole(&mut fresh, stays).expect("busy");
            assert!(taken, "what was there is gone");
            assert_eq!(fresh.base() == own, stays || unread.offset != 0, "copied");
            let bytes = fresh.bytes().to_vec();
            gift = Some(fresh);
            Some((unread, bytes))
        });
        gift
    }

    fn take(&self, f: impl FnOnce(&mut Reader<'_, Sim>) -> Option<(UnreadData, Vec<u8>)>) -> bool {
        self.give_back();
        self.with_reader(|reader| {
            let Some((u, bytes)) = f(reader) else {
                return false;
            };
            let image = plain::image(&bytes);
            assert_eq!(image.stamp, u.time, "time of an image");
            assert_eq!(image.missed, u.lost != 0, "missed");
            assert!(
                image.missed_count.is_none_or(|n| n == u.lost),
                "count of missed"
            );
            let used = image.data.len() + if image.missed_count.is_some() { 24 } else { 16 };
            assert!(bytes[used..].iter().all(|b| *b == 0), "bytes behind");
            let serial = self.oracle.borrow().position() + u.lost;
            let ends = self.decode(image.data, 0, u.time, serial);
            let mut oracle = self.oracle.borrow_mut();
            oracle.read += ends.len() as u64;
            oracle.lost += u.lost;
            true
        })
    }

    /// One step of a reader that consumes nothing: sub-buffer, its first serial, events, bytes,
    /// stamp.
    pub fn view(&self, after: Option<u64>) -> Option<(u64, u64, u64, u64, u64)> {
        self.with_reader(|reader| {
            let mut out = vec![0u8; self.size.get()];
            let v = reader.view(after, &mut out)?;
            let data = &out[..v.end as usize];
            let ends = self.decode(data, v.offset as usize, v.time, v.serial);
            assert_eq!(ends.len() as u64, v.events, "events in a view");
            Some((
                v.seq,
                v.serial,
                v.events,
                u64::from(v.end - v.offset),
                v.stamp,
            ))
        })
    }

    /// Returns the statistics of the ring.
    pub fn stats(&self) -> RingStats {
        self.with_reader(|reader| reader.stats())
    }

    /// Views all events, with other things going on, and accounts for every gap. A sub-buffer that
    /// was the newest is viewed until nothing was added to it.
    pub fn view_all(&self) {
        let alone = self.company.get() == 0;
        // A gap is made of events that were lost or read since, or lost and not yet reported.
        let start = self.oracle.borrow().position();
        let (mut after, mut next, mut gaps) = (None, None, 0);
        while let Some((seq, serial, events, ..)) = self.view(after) {
            let expected = next.unwrap_or(serial);
            let end = serial + events;
            gaps += serial.saturating_sub(expected);
            // Nothing was added to the one that was seen: go on after it.
            after = Some(if end <= expected && next.is_some() {
                seq
            } else {
                seq - 1
            });
            next = Some(end.max(expected));
            if after == Some(seq) || self.readings.get() % 64 == 63 {
                continue;
            }
            match self.below(6) {
                0 => self.read(self.below(6)),
                1 => match self.below(4) {
                    0 => _ = self.image(),
                    3 => _ = self.part(self.below(4096) as usize),
                    n => _ = self.give(n == 1),
                },
                2 | 3 => (0..self.below(8)).for_each(|_| self.write(self.any_len(), false)),
                _ => {}
            }
        }
        let stats = self.stats();
        let gone = stats.overrun + stats.read - start;
        assert!(
            !alone || gaps <= gone,
            "{gaps} events missed in a view, {gone} are gone"
        );
    }

    /// Gives the ring another number of slots. Fresh sub-buffers may all have memory, or no more
    /// than are needed.
    pub fn resize(&self, slots: usize) {
        self.give_back();
        let had = self.rest();
        let overrun = self.stats().overrun;
        let fresh = match self.below(3) {
            0 => slots + 1,
            _ => slots.saturating_sub(self.ring.slot_count() as usize),
        };
        let mut parts = parts(slots, self.size.get());
        let without = match self.below(2) {
            0 => fresh..slots + 1,
            _ => 0..slots + 1 - fresh,
        };
        for page in &mut parts.subbufs[without] {
            *page = SubBuf::new(Block::none());
        }
        // SAFETY: no writer is active and this is the only reader.
        let old = unsafe { self.ring.idle(&mut self.reader.borrow_mut()) }.resize(parts);
        assert!(old.is_ok());
        self.front.set(None);
        let kept = self.rest();
        // The newest sub-buffer takes a slot even when all that was in it has been discarded.
        if had < slots {
            assert_eq!(self.stats().overrun, overrun, "lost although there is room");
        }
        assert!(kept + 1 >= had.min(slots), "{had} sub-buffers, then {kept}");
    }

    /// Gives the ring sub-buffers of 4096 << `order` bytes, with room for as much as before. All
    /// unread events are lost if the size differs.
    pub fn set_order(&self, order: u32) {
        let (old, new) = (self.size.get(), 4096 << order);
        let slots = self.ring.slot_count() as usize;
        let slots = (slots * (old - 16)).div_ceil(new - 16).max(2);
        if new == old {
            return self.resize(slots);
        }
        self.give_back();
        self.skipped.set(0);
        self.rest();
        let before = self.stats();
        // SAFETY: no writer is active and this is the only reader.
        let parts =
            unsafe { self.ring.idle(&mut self.reader.borrow_mut()) }.resize(parts(slots, new));
        let parts = parts.unwrap_or_else(|_| panic!("the parts are not taken"));
        assert!(parts.subbufs.iter().all(|p| p.memory().size() == old));
        self.size.set(new);
        self.thrown.set(before.written);
        self.front.set(None);
        assert_eq!(self.rest(), 0);
        let after = RingStats {
            overrun: before.overrun + before.entries(),
            bytes: 0,
            oldest: 0,
            ..before
        };
        assert_eq!(self.stats(), after);
    }

    /// Checks that parts that do not fit together are given back, and nothing has changed.
    pub fn resize_badly(&self) {
        let size = self.size.get();
        let had = self.ring.slot_count() as usize;
        let mut mixed = parts(3, size);
        mixed.subbufs[1] = SubBuf::new(Block::new(size * 2));
        let mut few = parts(had + 2, size);
        let mut half = parts(3, size * 2);
        half.subbufs[3] = SubBuf::new(Block::none());
        for page in &mut few.subbufs[1..] {
            *page = SubBuf::new(Block::none());
        }
        let mut short = parts(3, size);
        short.subbufs.pop();
        let before = (self.rest(), self.stats());
        for bad in [
            mixed,
            few,
            half,
            short,
            parts(1, size),
            parts(3, size * 256),
        ] {
            let (slots, subbufs) = (bad.slots.len(), bad.subbufs.len());
            // SAFETY: no writer is active and this is the only reader.
            let taken = unsafe { self.ring.idle(&mut self.reader.borrow_mut()) }.resize(bad);
            let Err(back) = taken else {
                panic!("{slots} slots and {subbufs} sub-buffers are taken");
            };
            assert_eq!((back.0.slots.len(), back.0.subbufs.len()), (slots, subbufs));
        }
        assert_eq!((self.rest(), self.stats()), before);
    }

    /// Empties the ring.
    pub fn reset(&self) {
        self.give_back();
        self.skipped.set(0);
        let mine = self.with_reader(|r| r.lent().index);
        // SAFETY: no writer is active and this is the only reader.
        unsafe { self.ring.idle(&mut self.reader.borrow_mut()) }.reset();
        self.oracle.borrow_mut().reset();
        self.thrown.set(0);
        self.front.set(None);
        let empty = RingStats::default();
        assert_eq!(self.stats(), empty);
        let (lent, turnover) = self.with_reader(|r| (r.lent(), r.turnover()));
        assert_eq!((lent.index, lent.read, lent.lost), (mine, 0, 0));
        assert_eq!((turnover.opened, turnover.lost), (0, 0));
    }

    /// Checks, while no writer is active, that the ring accounts for everything. Returns how many
    /// sub-buffers hold something unread.
    pub fn rest(&self) -> usize {
        let written = self.oracle.borrow_mut().settle();
        let stats = self.stats();
        let (mut pages, mut bytes, mut events, mut gaps) = (0, 0, 0, 0);
        let mut oldest = 0;
        let mut after = None;
        let mut next = self.oracle.borrow().position();
        while let Some((seq, serial, count, length, stamp)) = self.view(after) {
            assert!(after < Some(seq), "a view in a circle");
            assert!(serial >= next, "event {serial} of {written} again");
            if pages == 0 {
                oldest = stamp;
            }
            gaps += serial - next;
            pages += 1;
            bytes += length;
            events += count;
            next = serial + count;
            after = Some(seq);
        }
        let mut oracle = self.oracle.borrow_mut();
        oracle.settle();
        let lost = gaps + (written - next);
        let expected = RingStats {
            written,
            read: oracle.read,
            overrun: oracle.lost + lost,
            commit_overrun: oracle.refused.commit_overrun,
            dropped: oracle.refused.full,
            recursion: oracle.refused.recursion,
            too_big: oracle.refused.too_big,
            clock_back: oracle.held,
            broken: 0,
            fault: None,
            bytes,
            // When all was read the last stamp stays, as ftrace has it.
            oldest: if pages == 0 { stats.oldest } else { oldest },
        };
        assert_eq!(stats, expected);
        assert_eq!(stats.entries(), events);
        assert_eq!(written, stats.read + stats.overrun + events, "I11");
        assert_eq!(
            next.max(self.thrown.get()),
            written,
            "the newest event is there"
        );
        assert_eq!(oracle.refused.broken, 0);
        drop(oracle);
        assert_eq!(self.check(), Ok(()));
        pages
    }

    /// Returns what the ring finds when it checks itself; no writer is active.
    pub fn check(&self) -> Result<(), Violation> {
        let clock = if self.steps == STEPS {
            Clock::Steady
        } else {
            Clock::Any
        };
        // SAFETY: no writer is active and this is the only reader.
        unsafe { self.ring.check(&self.reader.borrow(), clock) }
    }

    /// Reads all remaining events.
    pub fn drain(&self) {
        while self.image() {}
        assert_eq!(self.rest(), 0);
        let stats = self.stats();
        let oracle = self.oracle.borrow();
        // Events removed with sub-buffers of another size are reported with the next event.
        let silent = self.thrown.get().saturating_sub(oracle.position());
        assert_eq!(
            stats.overrun,
            oracle.lost + silent,
            "loss that nobody was told of"
        );
    }
}
