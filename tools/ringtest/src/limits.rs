// SPDX-License-Identifier: GPL-2.0
//! The ring at its limits: levels of nesting, numbers of sub-buffers, and a switch that is thrown
//! while writers are at work.

use std::cell::Cell;

use crate::plain;
use crate::ring::check::Clock;
use crate::ring::cpu::{
    CpuRing, GateWord, ReaderState, DISABLE_CPU, DISABLE_PAUSE, DISABLE_QUIESCE, DISABLE_USER,
};
use crate::ring::packed::PackedSize;
use crate::ring::pos::MAX_ORDER;
use crate::ring::view::RingStats;
use crate::ring::violation::Violation;
use crate::ring::watermark::Publication;
use crate::ring::writer::{FastReserve, ReserveError, MAX_NEST};
use crate::sim::{parts, with_hook, Sim};

const SLOTS: usize = 4;

fn ring(size: usize) -> (CpuRing<Sim>, ReaderState) {
    let parts = parts(SLOTS, size);
    CpuRing::new(parts, size).unwrap()
}

fn stats(ring: &CpuRing<Sim>, state: &mut ReaderState) -> RingStats {
    // SAFETY: the state was made together with this ring.
    unsafe { ring.reader(state) }.stats()
}

/// Times of all unread events.
fn drain(ring: &CpuRing<Sim>, state: &mut ReaderState, size: usize) -> Vec<u64> {
    let mut times = Vec::new();
    let mut bytes = vec![0u8; size];
    // SAFETY: the state was made together with this ring.
    let mut reader = unsafe { ring.reader(state) };
    while reader.take_image(&mut bytes).unwrap().is_some() {
        let image = plain::image(&bytes);
        let events = plain::decode(image.data, 0, image.stamp);
        times.extend(events.iter().map(|e| e.time));
    }
    times
}

/// Starts `writers` writers, each inside the one before, the first at `time`; returns those that got
/// in.
fn nest(ring: &CpuRing<Sim>, time: u64, writers: u64) -> u64 {
    if writers == 0 {
        return 0;
    }
    // SAFETY: one thread; the writers nest.
    match unsafe { ring.writer() }.reserve(8, || time) {
        Ok(event) => {
            let inside = nest(ring, time + 1, writers - 1);
            event.commit();
            1 + inside
        }
        Err(why) => {
            assert_eq!(why, ReserveError::Recursion);
            0
        }
    }
}

#[test]
fn as_many_writers_nest_as_there_are_levels() {
    let (ring, mut state) = ring(4096);
    for round in 1..4 {
        assert_eq!(nest(&ring, 100 * round, MAX_NEST + 1), MAX_NEST);
        assert_eq!(stats(&ring, &mut state).recursion, round);
        let times = drain(&ring, &mut state, 4096);
        assert_eq!(
            times,
            (100 * round..100 * round + MAX_NEST).collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_ring_that_is_off_takes_no_nested_event() {
    let (ring, mut state) = ring(4096);
    // SAFETY: one thread; the writers nest.
    let writer = unsafe { ring.writer() };
    let outer = writer.reserve(8, || 1).unwrap();
    ring.set_disabled(DISABLE_USER, true);
    assert_eq!(writer.reserve(8, || 2).err(), Some(ReserveError::Disabled));
    assert_eq!(outer.commit(), Publication::Events);
    assert_eq!(drain(&ring, &mut state, 4096), [1]);
    ring.set_disabled(DISABLE_USER, false);
    writer.reserve(8, || 3).unwrap().commit();
    assert_eq!(drain(&ring, &mut state, 4096), [3]);
}

/// The length of the longest event is that of the layout, which changes while writers are kept out.
#[test]
fn a_ring_that_is_changed_has_no_longest_event() {
    for order in 0..=MAX_ORDER {
        let size = 4096 << order;
        let (ring, _) = ring(size);
        // SAFETY: one thread, one writer.
        let longest = || unsafe { ring.writer() }.longest();
        assert_eq!(longest(), Some(size - 24));
        for off in [DISABLE_USER, DISABLE_PAUSE, DISABLE_CPU] {
            ring.set_disabled(off, true);
            assert_eq!(longest(), Some(size - 24), "off, and as it was");
        }
        ring.set_disabled(DISABLE_QUIESCE, true);
        assert_eq!(longest(), None);
        ring.set_disabled(DISABLE_QUIESCE, false);
        assert_eq!(longest(), Some(size - 24));
        ring.leave_word(GateWord::OPEN);
        assert_eq!(longest(), Some(size - 24));
    }
}

/// A writer inside another is refused, and a third one that interrupts it at any instant is not:
/// the first one has to know of that.
#[test]
fn who_is_refused_inside_takes_nothing_back() {
    thread_local! {
        static RING: Cell<*const CpuRing<Sim>> = const { Cell::new(std::ptr::null()) };
        /// Instants until the third writer comes; it comes once.
        static WAIT: Cell<u32> = const { Cell::new(0) };
    }
    fn write(time: u64) {
        // SAFETY: set below for as long as it is used; one simulated CPU, and writers nest.
        let writer = unsafe { (*RING.get()).writer() };
        writer.reserve(100, || time).unwrap().commit();
    }
    fn third() {
        WAIT.set(WAIT.get().wrapping_sub(1));
        if WAIT.get() == 0 {
            write(3);
        }
    }
    let mut instants = 0;
    for instant in 1.. {
        let (ring, mut state) = ring(4096);
        RING.set(&ring);
        WAIT.set(instant);
        write(1);
        // SAFETY: as above.
        let writer = unsafe { ring.writer() };
        let first = writer.reserve(100, || 2).unwrap();
        // As for a probe in C, which does not know that a size is too big.
        let size = PackedSize::new(5000);
        let second = with_hook(third, || {
            let short = writer.reserve_fast(5000, size, || Some(9));
            assert_eq!(short.err(), Some(FastReserve::Entered));
            let long = writer.reserve_slow(5000, FastReserve::Entered, || 9);
            long.err()
        });
        assert_eq!(second, Some(ReserveError::TooBig));
        first.commit();
        write(4);
        // SAFETY: no writer is active.
        let whole = unsafe { ring.check(&state, Clock::Steady) };
        assert_eq!(whole, Ok(()), "instant {instant}");
        let times = drain(&ring, &mut state, 4096);
        if WAIT.get() != 0 && WAIT.get() <= instant {
            assert_eq!(times, [1, 2, 4]);
            break;
        }
        assert_eq!(times, [1, 2, 3, 4], "instant {instant}");
        instants = instant;
    }
    assert!(instants > 3, "{instants} instants in a refusal");
}

/// A ring that is full and keeps its oldest events refuses one, and a small one that interrupts the
/// refusal at any instant still fits: the former is counted, the latter is there, and no other.
#[test]
fn who_is_refused_by_a_full_ring_is_counted() {
    thread_local! {
        static RING: Cell<*const CpuRing<Sim>> = const { Cell::new(std::ptr::null()) };
        /// Instants until the small event; it comes once.
        static WAIT: Cell<u32> = const { Cell::new(0) };
    }
    const LATE: u64 = 1000;
    fn write(len: usize, time: u64) -> Result<(), ReserveError> {
        // SAFETY: set below for as long as it is used; one simulated CPU, and writers nest.
        let writer = unsafe { (*RING.get()).writer() };
        writer.reserve(len, || time).map(|event| {
            event.commit();
        })
    }
    fn small() {
        WAIT.set(WAIT.get().wrapping_sub(1));
        if WAIT.get() == 0 {
            write(12, LATE).unwrap();
        }
    }
    let mut instants = 0;
    for instant in 1.. {
        let (ring, mut state) = ring(4096);
        ring.set_overwrite(false);
        RING.set(&ring);
        // 40 events leave 80 bytes of a sub-buffer.
        let all: Vec<_> = (1..=40 * SLOTS as u64).collect();
        for time in &all {
            assert_eq!(write(96, *time), Ok(()));
        }
        for refused in 1..4 {
            assert_eq!(write(96, LATE), Err(ReserveError::Full));
            assert_eq!(stats(&ring, &mut state).dropped, refused);
        }
        WAIT.set(instant);
        let refused = with_hook(small, || write(96, LATE));
        let came = WAIT.get() == 0 || WAIT.get() > instant;
        assert_eq!(refused, Err(ReserveError::Full));
        assert_eq!(stats(&ring, &mut state).dropped, 4);
        // SAFETY: no writer is active.
        let whole = unsafe { ring.check(&state, Clock::Steady) };
        assert_eq!(whole, Ok(()), "instant {instant}");
        // One that fits is not refused, and a time that does not fit its header needs 8 bytes more.
        assert_eq!(write(if came { 60 } else { 76 }, LATE), Ok(()));
        assert_eq!(write(12, LATE), Err(ReserveError::Full));
        let (late, read) = (1 + usize::from(came), drain(&ring, &mut state, 4096));
        assert_eq!(read, [all, vec![LATE; late]].concat(), "instant {instant}");
        assert_eq!(write(96, LATE), Ok(()));
        assert_eq!(drain(&ring, &mut state, 4096), [LATE]);
        assert_eq!(stats(&ring, &mut state).dropped, 5);
        if !came {
            break;
        }
        instants = instant;
    }
    assert!(instants > 6, "{instants} instants in a refusal");
}

/// A ring that keeps its oldest events has room for as many as it has sub-buffers; for those of one more while a reader
/// has one that writers still fill, which gives its own for it.
#[test]
fn a_ring_is_full_when_no_sub_buffer_is_left() {
    for attached in [false, true] {
        let (ring, mut state) = ring(4096);
        ring.set_overwrite(false);
        // SAFETY: one thread, one writer at a time.
        let writer = unsafe { ring.writer() };
        let write = |time| writer.reserve(96, || time).map(|event| event.commit());
        assert!(write(1).is_ok());
        if attached {
            // SAFETY: the state was made together with this ring.
            assert!(unsafe { ring.reader(&mut state) }.unread().is_ok());
        }
        let (count, refused) = (2..)
            .find_map(|time| Some((time - 1, write(time).err()?)))
            .unwrap();
        assert_eq!(refused, ReserveError::Full);
        assert_eq!(count, 40 * (SLOTS as u64 + u64::from(attached)));
        assert_eq!(stats(&ring, &mut state).dropped, 1);
        let all: Vec<_> = (1..=count).collect();
        assert_eq!(drain(&ring, &mut state, 4096), all);
    }
}

/// A full ring refuses by what it is when the writer looks at it: a reader that takes a sub-buffer and a writer that
/// opens the next one come at each instant. From the first one on at which they are too late, they are.
#[test]
fn who_finds_room_again_is_not_refused() {
    thread_local! {
        static RING: Cell<*const CpuRing<Sim>> = const { Cell::new(std::ptr::null()) };
        static STATE: Cell<*mut ReaderState> = const { Cell::new(std::ptr::null_mut()) };
        /// Instants until they come; they come once.
        static WAIT: Cell<u32> = const { Cell::new(0) };
    }
    fn write(time: u64) -> Result<(), ReserveError> {
        // SAFETY: set below for as long as it is used; one simulated CPU, and writers nest.
        let writer = unsafe { (*RING.get()).writer() };
        writer.reserve(96, || time).map(|event| {
            event.commit();
        })
    }
    fn come() {
        WAIT.set(WAIT.get().wrapping_sub(1));
        if WAIT.get() == 0 {
            let mut image = vec![0; 4096];
            // SAFETY: set below for as long as they are used; the state was made together with the ring, and no other
            // reader is active.
            let mut reader = unsafe { (*RING.get()).reader(&mut *STATE.get()) };
            assert!(reader.take_image(&mut image).unwrap().is_some());
            write(1000).unwrap();
        }
    }
    let mut refusals = vec![];
    for instant in 1.. {
        let (ring, mut state) = ring(4096);
        ring.set_overwrite(false);
        RING.set(&ring);
        let last = 40 * SLOTS as u64;
        (1..=last).for_each(|time| write(time).unwrap());
        STATE.set(&raw mut state);
        WAIT.set(instant);
        let result = with_hook(come, || write(1000));
        let came = WAIT.get() == 0 || WAIT.get() > instant;
        let refused = result == Err(ReserveError::Full);
        assert!(refused || result.is_ok(), "instant {instant}: {result:?}");
        assert_eq!(
            stats(&ring, &mut state).dropped,
            u64::from(refused),
            "instant {instant}"
        );
        // SAFETY: no writer is active.
        let whole = unsafe { ring.check(&state, Clock::Steady) };
        assert_eq!(whole, Ok(()), "instant {instant}");
        let first = if came { 41 } else { 1 };
        let late = usize::from(came) + usize::from(!refused);
        let left = [(first..=last).collect(), vec![1000; late]].concat();
        assert_eq!(drain(&ring, &mut state, 4096), left, "instant {instant}");
        if !came {
            assert!(refused);
            break;
        }
        refusals.push(refused);
    }
    assert!(refusals.is_sorted(), "{refusals:?}");
    let recorded = refusals.iter().filter(|refused| !**refused).count();
    assert!(recorded > 4 && recorded < refusals.len(), "{refusals:?}");
}

#[test]
fn a_gate_is_what_was_left_while_recording_is_on() {
    let (ring, _) = ring(4096);
    let (place, number) = (GateWord::OPEN | 64, 128);
    let sees = |word, disabled, broken| {
        let gate = ring.gate();
        let seen = (gate.is_disabled(), gate.is_broken());
        assert_eq!(seen, (disabled, broken), "{gate:x?}");
        assert_eq!(ring.is_disabled(), disabled);
        if disabled {
            assert!(!gate.is_open(), "{gate:x?}");
            assert!(!GateWord::can_hold(gate.word()), "{gate:x?}");
        } else {
            assert_eq!(gate.word(), word);
            assert_eq!(gate.is_open(), word & GateWord::OPEN != 0);
        }
    };
    sees(0, false, false);
    let reasons = [DISABLE_USER, DISABLE_QUIESCE, DISABLE_PAUSE, DISABLE_CPU];
    for (off, other) in reasons.into_iter().zip(reasons.into_iter().cycle().skip(1)) {
        for (before, behind) in [(place, number), (number, place), (0, place), (place, 0)] {
            ring.leave_word(before);
            sees(before, false, false);
            ring.set_disabled(off, true);
            sees(before, true, false);
            ring.set_disabled(other, true);
            ring.set_disabled(off, false);
            sees(before, true, false);
            ring.set_disabled(other, false);
            sees(before, false, false);
            ring.set_disabled(other, true);
            ring.leave_word(behind);
            sees(behind, true, false);
            ring.set_disabled(other, false);
            sees(behind, false, false);
        }
    }
    for bad in [1, 32, place | 1, number | DISABLE_CPU] {
        ring.leave_word(place);
        ring.leave_word(bad);
        sees(0, false, false);
    }
    ring.leave_word(place);
    ring.set_broken(Violation::Place);
    sees(place, true, true);
    ring.leave_word(0);
    sees(0, true, true);
}

#[test]
fn what_was_consumed_stays_consumed() {
    let (ring, mut state) = ring(4096);
    // SAFETY: one thread, one writer at a time.
    let writer = unsafe { ring.writer() };
    for time in 0..3 {
        writer.reserve(8, || time).unwrap().commit();
    }
    // SAFETY: the state was made together with this ring.
    let mut reader = unsafe { ring.reader(&mut state) };
    let seq = reader.unread().unwrap().map_or(0, |u| u.seq);
    assert!(reader.consume(seq, 32, 1, 2));
    for (offset, events) in [(32, 2), (16, 1), (0, 0)] {
        assert!(!reader.consume(seq, offset, 1, events), "again to {offset}");
    }
    assert_eq!(reader.stats().read, 2);
    assert_eq!(drain(&ring, &mut state, 4096), [2]);
}

#[test]
fn numbers_of_sub_buffers_end_and_begin_anew() {
    for order in 0..=MAX_ORDER {
        let size = 4096 << order;
        let (ring, mut state) = ring(size);
        let whole = size - 24;
        let left = SLOTS as u64 - 1;
        let first = ring.last_seq() - left;
        assert_eq!(first % SLOTS as u64, 0);
        // SAFETY: no writer is active and this is the only reader.
        unsafe { ring.idle(&mut state) }.reset_to(first);
        // SAFETY: one thread, one writer at a time.
        let writer = unsafe { ring.writer() };
        for time in 0..=left {
            writer.reserve(whole, || time).unwrap().commit();
        }
        for refused in 1..4 {
            assert_eq!(writer.reserve(whole, || 99).err(), Some(ReserveError::Full));
            assert_eq!(stats(&ring, &mut state).dropped, refused);
        }
        let all: Vec<_> = (0..=left).collect();
        assert_eq!(drain(&ring, &mut state, size), all, "order {order}");
        assert_eq!(writer.reserve(whole, || 99).err(), Some(ReserveError::Full));
        let end = stats(&ring, &mut state);
        assert_eq!((end.written, end.read, end.broken), (left + 1, left + 1, 0));
        // SAFETY: no writer is active and this is the only reader.
        unsafe { ring.idle(&mut state) }.reset();
        for time in 0..2 * SLOTS as u64 {
            writer.reserve(whole, || time).unwrap().commit();
        }
        let kept: Vec<_> = (SLOTS as u64..2 * SLOTS as u64).collect();
        assert_eq!(drain(&ring, &mut state, size), kept, "order {order}");
    }
}

#[test]
fn events_inside_of_one_that_was_given_up_are_told_of() {
    let (ring, mut state) = ring(4096);
    // SAFETY: one thread; the writers nest.
    let writer = unsafe { ring.writer() };
    let outer = writer.reserve(8, || 1).unwrap();
    let inner = writer.reserve(8, || 2).unwrap();
    assert_eq!(inner.commit(), Publication::Nothing);
    assert_eq!(outer.discard(), Publication::Events);
    assert_eq!(drain(&ring, &mut state, 4096), [2]);
}
