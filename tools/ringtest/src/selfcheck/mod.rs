// SPDX-License-Identifier: GPL-2.0
//! Checks that the ring's check of itself finds what is wrong, and names it.
//!
//! A ring is brought into one of the situations that a ring at rest can be in; there the check
//! finds nothing. Then one word is changed.

mod broken;
mod faults;

use std::cell::Cell;

use crate::ring::check::Clock;
use crate::ring::cpu::{CpuRing, ReaderState};
use crate::ring::spoil::SpoiledWord;
use crate::ring::violation::Violation;
use crate::ring::writer::{ReserveError, MAX_NEST};
use crate::sim::{parts, Sim};

/// Three of this size fit a sub-buffer.
const THIRD: usize = 1200;
const SLOTS: usize = 3;

/// A ring whose clock takes one step per reading.
struct Rig {
    ring: CpuRing<Sim>,
    state: ReaderState,
    now: Cell<u64>,
    size: usize,
}

impl Rig {
    fn new(order: u32) -> Self {
        let size = 4096 << order;
        let parts = parts(SLOTS, size);
        let (ring, state) = CpuRing::new(parts, size).unwrap();
        Rig {
            ring,
            state,
            now: Cell::new(1000),
            size,
        }
    }

    fn tick(&self) -> u64 {
        self.now.set(self.now.get() + 1);
        self.now.get()
    }

    fn write(&self, events: usize, len: usize) {
        for _ in 0..events {
            // SAFETY: one thread, no interrupts.
            let writer = unsafe { self.ring.writer() };
            writer.reserve(len, || self.tick()).unwrap().commit();
        }
    }

    /// Writes an event inside one that is given up.
    fn hole(&self) {
        // SAFETY: one thread; the inner writer runs inside the outer one.
        let writer = unsafe { self.ring.writer() };
        let outer = writer.reserve(8, || self.tick()).unwrap();
        self.write(1, THIRD);
        outer.discard();
    }

    /// Consumes the first unread event.
    fn read_one(&mut self) {
        // SAFETY: the state was made together with this ring.
        let mut reader = unsafe { self.ring.reader(&mut self.state) };
        let u = reader.unread().unwrap().unwrap();
        let mut data = vec![0; u.end as usize];
        reader.copy(&u, &mut data);
        let mut events = crate::ring::cursor::Cursor::at(&data, u.offset as usize, u.time);
        let event = events.next().unwrap().unwrap();
        assert!(reader.consume(u.seq, event.next as u32, event.time, 1));
    }

    /// Consumes a sub-buffer, if it has events.
    fn image(&mut self) -> bool {
        let mut image = vec![0; self.size];
        // SAFETY: the state was made together with this ring.
        let mut reader = unsafe { self.ring.reader(&mut self.state) };
        reader.take_image(&mut image).unwrap().is_some()
    }

    fn check(&self) -> Result<(), Violation> {
        // SAFETY: no writer is active.
        unsafe { self.ring.check(&self.state, Clock::Steady) }
    }

    fn spoil(&mut self, word: SpoiledWord, bits: u64) -> bool {
        // SAFETY: no writer is active, and the ring is only checked or emptied afterwards.
        unsafe { self.ring.spoil(&mut self.state, word, bits) }
    }

    fn index(&self, back: u64) -> u32 {
        self.ring.index_of(self.ring.newest() - back).unwrap()
    }

    fn place(&self, back: u64) -> u64 {
        (self.ring.newest() - back) % SLOTS as u64
    }
}

/// What a ring at rest can look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scene {
    Fresh,
    /// Lapped; no reader has read.
    Lapped,
    /// The reader is in the open sub-buffer, the others were taken.
    Attached,
    /// As before, but it has only been given what it has not consumed.
    Looking,
    /// The reader is in a full sub-buffer.
    Taken,
    /// A writer took the spare for the reader's sub-buffer.
    Stolen,
    /// All was read.
    Drained,
    /// The last event of a sub-buffer, and one in its middle, were discarded.
    Padded,
    /// One in the open sub-buffer was.
    Holed,
    /// The last event was given up.
    Discarded,
    /// A writer gave up after it opened the next sub-buffer.
    Ahead,
}

const SCENES: [Scene; 11] = [
    Scene::Fresh,
    Scene::Lapped,
    Scene::Attached,
    Scene::Looking,
    Scene::Taken,
    Scene::Stolen,
    Scene::Drained,
    Scene::Padded,
    Scene::Holed,
    Scene::Discarded,
    Scene::Ahead,
];

fn stage(scene: Scene) -> Rig {
    let mut rig = Rig::new(u32::from(scene == Scene::Ahead));
    match scene {
        Scene::Fresh => {}
        Scene::Lapped => rig.write(17, THIRD),
        Scene::Attached => {
            rig.write(5, THIRD);
            rig.image();
            rig.read_one();
        }
        Scene::Looking => {
            rig.write(5, THIRD);
            rig.image();
            // SAFETY: the state was made together with this ring.
            let mut reader = unsafe { rig.ring.reader(&mut rig.state) };
            assert!(reader.unread().unwrap().is_some());
        }
        Scene::Taken => {
            rig.write(17, THIRD);
            rig.read_one();
        }
        Scene::Stolen => {
            rig.write(2, THIRD);
            rig.read_one();
            rig.write(12, THIRD);
        }
        Scene::Drained => {
            rig.write(17, THIRD);
            while rig.image() {}
        }
        Scene::Padded => {
            for _ in 0..2 {
                rig.write(1, THIRD);
                rig.hole();
                rig.write(2, THIRD);
            }
        }
        Scene::Holed => {
            rig.write(4, THIRD);
            rig.hole();
        }
        Scene::Discarded => {
            rig.write(5, THIRD);
            // SAFETY: one thread, no interrupts.
            let writer = unsafe { rig.ring.writer() };
            writer.reserve(THIRD, || rig.tick()).unwrap().discard();
        }
        Scene::Ahead => {
            // SAFETY: one thread; the inner writers run inside the outer one.
            let writer = unsafe { rig.ring.writer() };
            let interrupted = || {
                rig.write(1, 0);
                rig.tick()
            };
            rig.write(1, 0);
            let refused = writer.reserve(8168, interrupted).err();
            assert_eq!(refused, Some(ReserveError::Full));
        }
    }
    assert_eq!(rig.check(), Ok(()), "{scene:?}");
    rig
}

/// Every word that a ring of this size has.
fn all_words() -> Vec<SpoiledWord> {
    let mut words = vec![
        SpoiledWord::Nest,
        SpoiledWord::Pos,
        SpoiledWord::Closing,
        SpoiledWord::Total,
        SpoiledWord::Hint,
        SpoiledWord::Own,
        SpoiledWord::Inner,
        SpoiledWord::Overrun,
        SpoiledWord::Spare,
        SpoiledWord::ReaderNext,
        SpoiledWord::ReaderSerial,
        SpoiledWord::ReaderSpare,
        SpoiledWord::ReaderRead,
        SpoiledWord::CurrentSeq,
        SpoiledWord::CurrentIndex,
        SpoiledWord::CurrentAttached,
        SpoiledWord::CurrentOffset,
        SpoiledWord::CurrentEvents,
        SpoiledWord::CurrentTime,
        SpoiledWord::CurrentCounted,
        SpoiledWord::CurrentLost,
    ];
    words.extend((0..MAX_NEST).map(SpoiledWord::Time));
    words.extend((0..SLOTS as u64).map(SpoiledWord::Slot));
    for i in 0..=SLOTS as u32 {
        words.extend([
            SpoiledWord::Commit(i),
            SpoiledWord::Base(i),
            SpoiledWord::Stamp(i),
            SpoiledWord::End(i),
            SpoiledWord::Padded(i),
            SpoiledWord::Header(i),
        ]);
    }
    words
}
