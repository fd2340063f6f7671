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
fn a_gift_is_nobodys_any_more() {
    let w = world(2);
    w.write(WHOLE, false);
    w.write(WHOLE, false);
    let gift = w.gift(false).expect("a whole sub-buffer");
    let bytes = |block: &Block| {
        // SAFETY: the block is alive and nobody writes to it.
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
