// SPDX-License-Identifier: GPL-2.0
//! Sub-buffers whose memory leaves the ring: which ones can, and what becomes of their place.

use crate::ring::port::Memory;
use crate::sim::Block;
use crate::world::{World, STEPS};

/// One fills a sub-buffer.
const WHOLE: usize = 4072;
/// Two fit.
const HALF: usize = 1400;

fn world(slots: usize) -> World {
    World::new(0, slots, 1000, STEPS)
}

#[test]
fn what_writers_are_in_cannot_go() {
    let w = world(3);
    assert!(!w.give(false));
    w.write(8, false);
    assert!(!w.give(false), "the sub-buffer is open");
    w.write(WHOLE, false);
    assert!(w.give(false), "the writers have left it");
    assert!(!w.give(false));
    assert!(w.image(), "the open one can be copied");
    w.drain();
}

#[test]
fn every_place_of_the_ring_gets_other_memory() {
    let w = world(3);
    for laps in 0..20 {
        (0..laps % 7).for_each(|_| w.write(WHOLE, false));
        while w.give(false) {}
        w.rest();
    }
    w.drain();
}

#[test]
fn what_was_read_in_part_is_copied() {
    let w = world(3);
    w.write(HALF, false);
    w.write(HALF, false);
    w.read(1);
    w.write(WHOLE, false);
    // Both looks say so: `give` compares the memory.
    assert!(w.give(false));
    w.write(WHOLE, false);
    assert!(w.give(false));
    w.drain();
}

#[test]
fn a_sub_buffer_whose_place_was_taken_can_go() {
    let w = world(2);
    w.write(8, false);
    // Attached, and lapped: the writers took the spare.
    w.read(0);
    (0..5).for_each(|_| w.write(WHOLE, false));
    assert!(w.give(false));
    w.drain();
}

#[test]
fn memory_of_another_size_is_not_taken() {
    let w = world(2);
    w.write(WHOLE, false);
    w.write(WHOLE, false);
    let before = w.stats();
    for size in [2048, 8192] {
        let mut other = Block::new(size);
        let own = other.base();
        assert_eq!(
            w.with_reader(|r| r.take_whole(&mut other, false)),
            Ok(false)
        );
        assert_eq!(w.with_reader(|r| r.take(&mut other, false)), Ok(false));
        assert_eq!(other.base(), own);
    }
    assert_eq!(w.stats(), before);
    w.drain();
}

#[test]
fn little_room_gets_what_fits() {
    // All events of one length have as many bytes.
    let w = World::new(0, 3, 1000, &[1]);
    w.write(8, false);
    let one = w.stats().bytes as usize;
    (1..10).for_each(|_| w.write(8, false));
    for room in [0, 15, 16, 16 + one - 1] {
        assert!(!w.part(room), "no event fits {room}");
    }
    let read = || w.stats().read;
    for (fit, more) in [
        (1, 0),
        (1, one - 1),
        (2, 0),
        (2, one - 1),
        (3, 0),
        (1, 4000),
    ] {
        let before = read();
        assert!(w.part(16 + fit * one + more));
        assert_eq!(
            read() - before,
            fit as u64,
            "{fit} times {one} and {more} bytes"
        );
    }
    assert!(!w.part(4095));
    // Of a closed sub-buffer too, and after it the next one.
    w.write(HALF, false);
    w.write(HALF, false);
    w.write(WHOLE, false);
    assert!(!w.part(1000) && w.part(1500) && w.part(1500) && !w.part(1500));
    assert_eq!(w.stats().entries(), 1);
    w.drain();

    // Of one that writers have left before the reader comes.
    let w = World::new(0, 3, 1000, &[1]);
    (0..3).for_each(|_| w.write(900, false));
    w.write(WHOLE, false);
    assert!(w.part(1900) && w.part(1900) && !w.part(1900));
    w.drain();
}

#[test]
fn discarded_events_need_no_room() {
    let w = world(3);
    (0..10).for_each(|_| w.write(HALF, true));
    while w.part(100) {}
    w.write(8, false);
    while w.part(100) {}
    assert_eq!((w.stats().read, w.stats().entries()), (1, 0));
    w.drain();
}

#[test]
fn a_gift_is_nobodys_any_more() {
    let w = world(2);
    w.write(WHOLE, false);
    w.write(WHOLE, false);
    let gift = w.gift(false).expect("a whole sub-buffer");
    let bytes = |block: &Block| {
        // SAFETY: the block is alive, and no writer has it any more.
        unsafe { std::slice::from_raw_parts(block.base().as_ptr(), block.size()) }.to_vec()
    };
    let had = bytes(&gift);
    (0..20).for_each(|_| w.write(WHOLE, false));
    w.resize(5);
    w.set_order(1);
    w.reset();
    drop(w);
    assert_eq!(bytes(&gift), had);
}
