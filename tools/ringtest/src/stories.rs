// SPDX-License-Identifier: GPL-2.0
//! Particular things that went wrong once, or that chance would rarely find.

use crate::plain;
use crate::ring::give::PartialTake;
use crate::sim::Block;
use crate::world::{World, STEPS};

fn world(slots: usize) -> World {
    World::new(0, slots, 1000, STEPS)
}

/// Two of this size fit a sub-buffer.
const HALF: usize = 1400;
/// One fills it.
const WHOLE: usize = 4072;

#[test]
fn a_view_finds_the_readers_sub_buffer_behind_lapped_ones() {
    let w = world(2);
    w.write(WHOLE, false);
    let first = w.view(None).map(|v| v.0);
    w.write(HALF, false);
    w.write(HALF, false);
    w.image();
    w.read(1);
    // The reader is in the second sub-buffer, with one event to read, and the ring laps twice.
    (0..6).for_each(|_| w.write(WHOLE, false));
    let next = w.view(first).map(|v| v.0);
    assert_eq!(next, first.map(|f| f + 1));
    let older = w.view(first.map(|f| f - 1)).map(|v| v.0);
    assert_eq!(older, next);
    w.rest();
}

#[test]
fn what_is_left_in_the_readers_sub_buffer_is_the_oldest() {
    let w = world(2);
    let oldest = || w.with_reader(|reader| reader.oldest());
    let first = || w.view(None).map(|v| v.1);
    assert_eq!(oldest(), 0);
    (0..4).for_each(|_| w.write(HALF, false));
    w.read(1);
    assert_eq!((oldest(), first()), (1, Some(1)));
    // The ring laps, while the reader has an event to read in the first sub-buffer.
    (0..8).for_each(|_| w.write(HALF, false));
    assert_eq!((oldest(), first()), (1, Some(1)));
    w.read(1);
    assert_eq!((oldest(), first()), (8, Some(8)));
    w.drain();
    assert_eq!((oldest(), first()), (12, None));
}

#[test]
fn bytes_are_counted_in_a_lapped_ring_of_two_slots() {
    let w = world(2);
    // The reader attaches to the first sub-buffer, which is empty, and the ring laps.
    w.read(0);
    (0..9).for_each(|_| w.write(HALF, false));
    w.rest();
}

#[test]
fn the_oldest_time_stays_when_all_was_read() {
    let w = world(2);
    assert_eq!(w.stats().oldest, 0);
    w.write(HALF, false);
    let oldest = w.stats().oldest;
    assert_eq!(oldest, w.view(None).map_or(0, |v| v.4));
    w.image();
    assert_eq!(w.stats().oldest, oldest);
}

#[test]
fn a_reader_that_was_lapped_finds_the_oldest_at_once() {
    // More slots than the reader takes turns.
    const SLOTS: usize = 200;
    let w = world(SLOTS);
    (0..SLOTS + SLOTS / 2).for_each(|_| w.write(WHOLE, false));
    assert!(w.image(), "there is something to read");
    w.drain();
}

#[test]
fn a_ring_that_was_lapped_many_times_keeps_its_events_when_it_grows() {
    for laps in 1..12 {
        let w = world(4);
        (0..laps * 5).for_each(|_| w.write(WHOLE, false));
        w.resize(6);
        w.write(WHOLE, false);
        w.drain();
    }
}

#[test]
fn no_number_of_a_sub_buffer_comes_back() {
    let w = world(3);
    let mut newest = 0;
    let mut check = |w: &World| {
        w.write(HALF, false);
        let seq = w.view(None).map_or(0, |v| v.0);
        assert!(seq > newest, "{seq} after {newest}");
        newest = seq;
        // A later one, so that the next beginning is after it.
        (0..5).for_each(|_| w.write(WHOLE, false));
        newest = newest.max(w.view(None).map_or(0, |v| v.0 + 2));
    };
    for slots in [2, 5, 3, 4, 2] {
        check(&w);
        w.reset();
        check(&w);
        w.drain();
        w.resize(slots);
    }
}

#[test]
fn a_discard_tells_of_what_it_published() {
    use crate::ring::cpu::CpuRing;
    use crate::ring::watermark::Publication;
    use crate::sim::{with_hook, Sim};
    use std::cell::Cell;

    thread_local! {
        static RING: Cell<*const CpuRing<Sim>> = const { Cell::new(std::ptr::null()) };
        /// Instants until a nested writer comes; it comes once.
        static WAIT: Cell<u32> = const { Cell::new(0) };
        /// What it was told.
        static NESTED: Cell<Option<bool>> = const { Cell::new(None) };
    }

    fn any(what: Publication) -> bool {
        what != Publication::Nothing
    }
    fn reserve(ring: &CpuRing<Sim>, len: usize) -> crate::ring::reservation::Reservation<'_, Sim> {
        // SAFETY: one simulated CPU; the nested writer runs to its end inside the outer one.
        unsafe { ring.writer() }.reserve(len, || 5).unwrap()
    }
    fn nested() {
        let left = WAIT.get();
        WAIT.set(left.wrapping_sub(1));
        if left == 1 {
            // SAFETY: set below for as long as the hook is.
            NESTED.set(Some(any(reserve(unsafe { &*RING.get() }, 100).commit())));
        }
    }

    let mut ends = std::collections::HashMap::new();
    // An event of 200 bytes has a word for its length and is given up the slow path.
    for (instant, len) in (1..).flat_map(|instant| [(instant, 100), (instant, 200)]) {
        if ends.contains_key(&len) {
            continue;
        }
        let w = world(2);
        RING.set(&w.ring);
        reserve(&w.ring, 100).commit();
        let event = reserve(&w.ring, len);
        WAIT.set(instant);
        NESTED.set(None);
        let told = with_hook(nested, || any(event.discard()));
        let Some(nested) = NESTED.get() else {
            assert!(!told, "nobody came, and something was published");
            ends.insert(len, instant);
            if ends.len() == 2 {
                break;
            }
            continue;
        };
        assert_eq!(w.stats().written, 2);
        assert!(
            told || nested,
            "instant {instant}: nobody tells of the event"
        );
    }
    assert!(ends[&100] > 7 && ends[&200] > 10, "instants: {ends:?}");
}

#[test]
fn a_refusal_tells_of_what_it_published() {
    use crate::ring::cpu::CpuRing;
    use crate::ring::watermark::Publication;
    use crate::ring::writer::ReserveError;
    use crate::sim::{with_hook, Sim};
    use std::cell::Cell;

    thread_local! {
        static RING: Cell<*const CpuRing<Sim>> = const { Cell::new(std::ptr::null()) };
        /// Instants until nested writers come; they come once.
        static WAIT: Cell<u32> = const { Cell::new(0) };
        static CAME: Cell<bool> = const { Cell::new(false) };
    }

    fn write(ring: &CpuRing<Sim>) -> Result<Publication, ReserveError> {
        // SAFETY: one simulated CPU; nested writers run to their end inside the outer one.
        let event = unsafe { ring.writer() }.reserve(WHOLE, || 5)?;
        Ok(event.commit())
    }
    /// Goes on until no sub-buffer is left but those that the outer writer keeps open.
    fn nested() {
        let left = WAIT.get();
        WAIT.set(left.wrapping_sub(1));
        if left == 1 {
            CAME.set(true);
            // SAFETY: set below for as long as the hook is.
            while write(unsafe { &*RING.get() }).is_ok() {}
        }
    }

    let mut refused = 0;
    for instant in 1.. {
        let w = world(2);
        // So nested writers end, too, that come before the outer one or when it has left.
        w.ring.set_overwrite(false);
        RING.set(&w.ring);
        w.write(HALF, false);
        WAIT.set(instant);
        CAME.set(false);
        let outer = with_hook(nested, || write(&w.ring));
        if !CAME.get() {
            break;
        }
        // The outer one publishes all that there is.
        let told = outer.unwrap_or_else(|why| {
            refused += u32::from(why == ReserveError::CommitOverrun);
            Publication::of_refused(why)
        });
        assert_eq!(w.stats().written, 2, "instant {instant}");
        assert_ne!(told, Publication::Nothing, "instant {instant}");
    }
    assert!(refused > 3, "{refused} were refused");
}

#[test]
fn padding_is_no_part_of_a_short_read() {
    let w = world(2);
    // SAFETY: one simulated CPU; the nested writer runs to its end inside the outer one.
    let writer = unsafe { w.ring.writer() };
    let outer = writer.reserve(600, || 2000).unwrap();
    writer.reserve(WHOLE, || 2001).unwrap().commit();
    outer.discard();
    let mut image = Block::new(4096);
    let mut part = |room| {
        let taken = w.with_reader(|reader| reader.take_part(&mut image, room));
        let data = plain::image(image.bytes()).data.to_vec();
        (taken, plain::decode(&data, 0, 0).len(), data.len())
    };
    // The first sub-buffer has nothing but padding, of more bytes than there is room for.
    assert_eq!(part(100), (Ok(PartialTake::Taken), 0, 0));
    assert_eq!(part(100).0, Ok(PartialTake::TooShort));
    assert_eq!(part(4096), (Ok(PartialTake::Taken), 1, 4080));
    assert_eq!(part(4096).0, Ok(PartialTake::Empty));
}

#[test]
fn parts_that_do_not_go_together_change_nothing() {
    let w = world(3);
    w.resize_badly();
    (0..5).for_each(|_| w.write(HALF, false));
    w.read(1);
    w.resize_badly();
    w.drain();
}

#[test]
fn every_order_follows_every_other_in_every_state() {
    // What the reader and the writers did before: nothing, attached, attached and lapped, owned with
    // a part unread, full, all read.
    let states: [fn(&World); 6] = [
        |_| {},
        |w| w.read(0),
        |w| {
            w.read(0);
            (0..9).for_each(|_| w.write(w.most(), false));
        },
        |w| {
            (0..4).for_each(|_| w.write(w.most() / 3, false));
            w.read(1);
            (0..2).for_each(|_| w.write(w.most(), false));
        },
        |w| {
            w.ring.set_overwrite(false);
            (0..9).for_each(|_| w.write(w.most(), false));
        },
        |w| {
            w.write(HALF, false);
            w.read(1);
            w.write(HALF, true);
        },
    ];
    for state in states {
        for old in 0..=7 {
            for new in 0..=7 {
                let w = World::new(old, 3, 1000, STEPS);
                state(&w);
                w.set_order(new);
                state(&w);
                w.write(w.most(), false);
                w.read(1);
                w.set_order(old);
                w.write(HALF, false);
                w.drain();
            }
        }
    }
}

#[test]
fn a_loss_in_front_of_an_empty_sub_buffer_is_told_once() {
    // Writers fill and leave the sub-buffer at any instant of the reader's first look at it.
    for seed in 0..300 {
        let w = world(2);
        (0..6).for_each(|_| w.write(HALF, false));
        w.set_order(1);
        w.resize(2);
        w.alone(seed, 3, |w| w.read(0));
        w.drain();
        assert_eq!(w.stats().overrun, w.stats().written - w.stats().read);
    }
}
