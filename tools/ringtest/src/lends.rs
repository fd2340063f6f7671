// SPDX-License-Identifier: GPL-2.0
//! The reader's sub-buffer, looked at in its place: which one it is, that it stays, what it tells.

use crate::ring::lend::{Ids, LentSubBuf, Turnover};
use crate::ring::port::Memory;
use crate::world::{World, STEPS};

/// One fills a sub-buffer.
const WHOLE: usize = 4072;
/// Two fit, and leave room after them.
const HALF: usize = 1400;
const MISSED: u64 = 1 << 31;
const STORED: u64 = 1 << 30;

fn world(slots: usize) -> World {
    World::new(0, slots, 1000, STEPS)
}

/// Where the sub-buffers are, by their names.
fn places(w: &World, ids: Ids) -> Vec<usize> {
    w.with_reader(|r| {
        let place = |id| r.memory(ids, id).expect("a sub-buffer").base().as_ptr() as usize;
        (0..ids.count()).map(place).collect()
    })
}

fn lent(w: &World) -> LentSubBuf {
    w.with_reader(|r| r.lent())
}

/// The reader's sub-buffer: the length with its flags, and the word after the data.
fn head(w: &World) -> (u64, u64) {
    w.with_reader(|r| {
        let (ids, lent) = (r.ids(), r.lent());
        let base = r
            .memory(ids, ids.of(lent.index))
            .expect("a sub-buffer")
            .base();
        // SAFETY: the sub-buffer is in the ring, whose memory stays, and no writer is active.
        unsafe {
            let length = base.add(8).cast::<u64>().read();
            let behind = base.add(16 + lent.read as usize).cast::<u64>();
            (length, behind.read_unaligned())
        }
    })
}

#[test]
fn names_stay_while_the_ring_goes_round() {
    let w = world(3);
    let ids = w.with_reader(|r| r.ids());
    let before = places(&w, ids);
    let mut unique = before.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), 4);
    for round in 0..30 {
        (0..round % 9).for_each(|_| w.write(WHOLE, false));
        w.lend();
        let at = lent(&w).index;
        let base = w.with_reader(|r| r.memory(r.ids(), 0).expect("the reader's").base());
        assert_eq!(before[ids.of(at) as usize], base.as_ptr() as usize);
        assert_eq!(places(&w, ids), before);
        if round % 7 == 6 {
            w.reset();
        }
    }
    w.drain();
}

#[test]
fn a_new_ring_goes_from_name_to_name() {
    let w = world(3);
    for _ in 0..2 {
        let ids = w.with_reader(|r| r.ids());
        assert_eq!(ids.of(lent(&w).index), 0);
        assert!(!w.lend());
        assert_eq!(ids.of(lent(&w).index), 0, "nothing new, so the same one");
        for id in [1, 2, 3, 0, 1] {
            w.write(WHOLE, false);
            assert!(w.lend());
            assert!(!w.lend());
            assert_eq!(ids.of(lent(&w).index), id);
        }
        w.reset();
    }
}

#[test]
fn what_is_lent_stays_while_writers_go_round() {
    for first in [8, HALF, WHOLE] {
        let w = world(2);
        w.write(first, false);
        assert!(w.lend());
        let at = lent(&w);
        for _ in 0..50 {
            w.write(HALF, false);
            w.view(None);
            w.stats();
            w.rest();
            assert_eq!(lent(&w), at);
        }
        // `lend` and `drain` compare what is there with what was.
        assert!(w.lend());
        w.drain();
    }
}

#[test]
fn an_open_sub_buffer_is_lent_piece_by_piece() {
    let w = world(2);
    let (at, mut before) = (lent(&w), 0);
    for i in 0..20 {
        w.write(8, false);
        assert!(w.lend());
        assert!(!w.lend());
        let (length, now) = (head(&w).0, lent(&w));
        assert!(length > before && length == u64::from(now.read));
        assert_eq!(
            now.index == at.index,
            false,
            "piece {i} is in the first that was written"
        );
        before = length;
    }
    w.write(WHOLE, false);
    assert!(w.lend());
    w.drain();
}

#[test]
fn a_loss_is_told_with_the_next_sub_buffer() {
    for (len, each, room) in [(WHOLE, 1, false), (HALF, 2, true)] {
        let w = world(3);
        (0..10 * each).for_each(|_| w.write(len, false));
        assert!(w.lend());
        let (length, behind) = head(&w);
        let lost = 7 * each as u64;
        assert_eq!((lent(&w).lost, length & MISSED), (lost, MISSED));
        assert_eq!(length & STORED != 0, room);
        assert!(!room || behind == lost);
        assert!(w.lend());
        assert_eq!((lent(&w).lost, head(&w).0 & (MISSED | STORED)), (0, 0));
        w.drain();
    }
}

#[test]
fn a_loss_that_another_reader_told_of_is_not_told_again() {
    let w = world(3);
    (0..20).for_each(|_| w.write(HALF, false));
    w.read(1);
    assert!(w.lend());
    assert_eq!((lent(&w).lost, head(&w).0 & MISSED), (0, 0));
    w.drain();
}

#[test]
fn emptying_leaves_the_reader_its_own() {
    let w = world(3);
    for round in 0..12 {
        (0..round).for_each(|_| w.write(HALF, false));
        if round % 3 != 0 {
            w.lend();
        }
        let before = lent(&w).index;
        w.reset();
        assert_eq!((lent(&w).index, head(&w).0), (before, 0));
        w.rest();
    }
}

#[test]
fn sub_buffers_are_counted() {
    let w = world(3);
    let turnover = || w.with_reader(|r| r.turnover());
    let counts = |opened, lost| Turnover { opened, lost };
    assert_eq!(turnover(), counts(0, 0));
    w.write(WHOLE, false);
    assert_eq!(turnover(), counts(0, 0));
    (0..2).for_each(|_| w.write(WHOLE, false));
    assert_eq!(turnover(), counts(2, 0));
    (0..5).for_each(|_| w.write(WHOLE, false));
    assert_eq!(turnover(), counts(7, 5));
    assert!(w.lend());
    assert_eq!(turnover(), counts(7, 5));
    (0..3).for_each(|_| w.write(WHOLE, false));
    // Of the three that were in slots the reader has one.
    assert_eq!(turnover(), counts(10, 7));
    w.resize(2);
    assert_eq!(turnover(), counts(10, 8));
    w.resize(5);
    assert_eq!(turnover(), counts(10, 8));
    w.write(WHOLE, false);
    assert_eq!(turnover(), counts(11, 8));
    w.reset();
    assert_eq!(turnover(), counts(0, 0));
}
