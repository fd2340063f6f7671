// SPDX-License-Identifier: GPL-2.0
//! Checks what a ring does if a word of it is wrong: it stops recording, can be read, and is whole
//! again once it was emptied.

use super::{all_words, stage, Rig, Scene, SCENES, SLOTS, THIRD};
use crate::ring::cpu::DISABLE_USER;
use crate::ring::port::Memory;
use crate::ring::spoil::SpoiledWord;
use crate::ring::violation::Violation;
use crate::ring::watermark::Publication;
use crate::ring::wire;
use crate::ring::writer::ReserveError;
use crate::sim::{parts, Block};

impl Rig {
    /// Writes one event and returns the result.
    fn try_write(&self, len: usize) -> Result<bool, ReserveError> {
        // SAFETY: one thread, no interrupts.
        let writer = unsafe { self.ring.writer() };
        writer
            .reserve(len, || self.tick())
            .map(|r| r.commit() != Publication::Nothing)
    }

    fn stats(&mut self) -> crate::ring::view::RingStats {
        // SAFETY: the state was made together with this ring.
        unsafe { self.ring.reader(&mut self.state) }.stats()
    }

    fn reset(&mut self) {
        // SAFETY: no writer is active and this is the only reader.
        unsafe { self.ring.idle(&mut self.state) }.reset();
    }

    fn resize(&mut self, slots: usize) {
        let size = self.size;
        let parts = parts(slots, size);
        // SAFETY: no writer is active and this is the only reader.
        let resized = unsafe { self.ring.idle(&mut self.state) }.resize(parts);
        assert!(resized.is_ok());
    }

    /// Does everything that a reader does, at most as often as a whole ring would need it.
    fn read_anything(&mut self) {
        let mut out = vec![0; self.size];
        for _ in 0..=SLOTS {
            // SAFETY: the state was made together with this ring.
            let mut reader = unsafe { self.ring.reader(&mut self.state) };
            let first = reader.view(None, &mut out).map(|v| v.seq);
            reader.view(first, &mut out);
            reader.stats();
            let _ = reader.take_image(&mut out);
            // Its words may lie about who is in a sub-buffer, so no memory leaves it.
            let mut image = Block::new(self.size);
            let own = image.base();
            if reader.take(&mut image, false) == Ok(true) {
                let commit = wire::long(image.bytes(), wire::LENGTH_AT).unwrap();
                let end = wire::HEADER + (commit & wire::LENGTH_MASK) as usize;
                assert!(end <= self.size, "{end} bytes of {}", self.size);
            }
            assert!(image.base() == own || !self.ring.is_broken());
        }
    }

    /// As good as new: events go in and come out, and all are accounted for.
    fn works(&mut self) {
        assert_eq!(self.check(), Ok(()));
        let before = self.stats();
        assert_eq!((before.broken, before.fault), (0, None));
        assert_eq!(before.entries(), 0);
        for _ in 0..17 {
            assert_eq!(self.try_write(THIRD), Ok(true));
        }
        assert_eq!(self.check(), Ok(()));
        while self.image() {}
        let after = self.stats();
        assert_eq!(after.read + after.overrun, 17);
        assert_eq!(self.check(), Ok(()));
    }
}

#[test]
fn a_broken_ring_refuses_and_counts_what_it_refuses() {
    let mut rig = stage(Scene::Lapped);
    let before = rig.stats();
    rig.ring.set_broken(Violation::Place);
    let found = rig.stats();
    assert_eq!((found.broken, found.fault), (1, Some(Violation::Place)));
    for _ in 0..5 {
        assert_eq!(rig.try_write(8), Err(ReserveError::Broken));
    }
    // The first finding stays.
    rig.ring.set_broken(Violation::Sum);
    // What would not have been recorded anyway is not lost.
    rig.ring.set_disabled(DISABLE_USER, true);
    assert_eq!(rig.try_write(8), Err(ReserveError::Disabled));
    rig.ring.set_disabled(DISABLE_USER, false);
    let after = rig.stats();
    assert_eq!((after.broken, after.fault), (7, Some(Violation::Place)));
    assert_eq!(
        (after.written, after.overrun),
        (before.written, before.overrun)
    );
    assert_eq!((after.dropped, after.commit_overrun), (0, 0));
}

#[test]
fn a_broken_ring_can_be_read() {
    let mut rig = stage(Scene::Lapped);
    rig.ring.set_broken(Violation::Place);
    let entries = rig.stats().entries();
    assert!(entries > 0);
    while rig.image() {}
    assert_eq!(rig.stats().read, entries);
}

#[test]
fn a_writer_that_meets_what_cannot_be_disables_the_ring() {
    let next = |r: &Rig| (r.ring.newest() + 1) % SLOTS as u64;
    type Spoil = fn(&mut Rig, u64);
    let rows: [(Spoil, Violation); 5] = [
        // The slot of the next sub-buffer has a number between two.
        (
            |r, at| _ = r.spoil(SpoiledWord::Slot(at), 1 << 23),
            Violation::Number,
        ),
        // Its state is none of the three.
        (
            |r, at| _ = r.spoil(SpoiledWord::Slot(at), 1 << 1),
            Violation::State,
        ),
        // It names a sub-buffer that is not there.
        (
            |r, at| _ = r.spoil(SpoiledWord::Slot(at), 1 << 22),
            Violation::Place,
        ),
        // A sub-buffer to be closed that was never opened.
        (
            |r, _| _ = r.spoil(SpoiledWord::Closing, 1 << 40),
            Violation::State,
        ),
        // The slot of the open one is not Open.
        (
            |r, _| {
                let at = r.place(0);
                r.spoil(SpoiledWord::Slot(at), 3 << 1);
            },
            Violation::State,
        ),
    ];
    for (i, (spoil, found)) in rows.into_iter().enumerate() {
        let mut rig = stage(Scene::Lapped);
        let at = next(&rig);
        spoil(&mut rig, at);
        let answers: Vec<_> = (0..4).map(|_| rig.try_write(THIRD)).collect();
        assert!(rig.ring.is_broken(), "row {i}");
        assert_eq!(rig.ring.fault(), Some(found), "row {i}");
        assert_eq!(answers[3], Err(ReserveError::Broken), "row {i}");
        rig.reset();
        rig.works();
    }
}

#[test]
fn whatever_one_bit_does_the_ring_can_be_used_and_emptied() {
    for word in all_words() {
        for scene in SCENES {
            for bit in 0..64 {
                let mut rig = stage(scene);
                if !rig.spoil(word, 1 << bit) {
                    continue;
                }
                for len in [8, THIRD, THIRD, THIRD, THIRD] {
                    let _ = rig.try_write(len);
                }
                rig.read_anything();
                rig.ring.set_broken(Violation::Place);
                rig.read_anything();
                // Both ways to empty it.
                if bit % 2 == 0 {
                    rig.reset();
                } else {
                    rig.resize(SLOTS + 1);
                    assert_eq!(rig.ring.slot_count(), SLOTS as u64 + 1);
                }
                rig.works();
            }
        }
    }
}
