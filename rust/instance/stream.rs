// SPDX-License-Identifier: GPL-2.0
//! Where is a reader in the events of one CPU.
//!
//! Called by `trace` and `trace_pipe` with copies of sub-buffers. [`Walk`] goes over one copy;
//! [`Tour`] goes from copy to copy for a reader that consumes nothing, and knows what it missed. Pure.

use crate::ring::cursor::Cursor;

/// A walk over the events of a copied sub-buffer. It does not hold the copy: every call gets the same
/// `data`, the committed bytes without the header.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Walk {
    /// Behind the last event that was passed.
    offset: usize,
    /// The time there.
    time: u64,
    event: Option<Found>,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    time: u64,
    next: usize,
}

impl Walk {
    /// Begins at `offset`, where the time is `time`.
    pub(crate) fn new(data: &[u8], offset: usize, time: u64) -> Self {
        let mut walk = Walk {
            offset,
            time,
            event: None,
        };

        walk.find(data);
        walk
    }

    /// The stamp of the event that it stands at.
    pub(crate) fn stamp(&self) -> Option<u64> {
        Some(self.event?.time)
    }

    /// The record of that event.
    pub(crate) fn record<'a>(&self, data: &'a [u8]) -> Option<&'a [u8]> {
        self.event?;

        match Cursor::at(data, self.offset, self.time).next() {
            Some(Ok(event)) => Some(event.payload),
            _ => None,
        }
    }

    /// Behind the last event that was passed: offset and time.
    pub(crate) fn passed(&self) -> (usize, u64) {
        (self.offset, self.time)
    }

    /// Passes the event that it stands at.
    pub(crate) fn pass(&mut self, data: &[u8]) {
        if let Some(event) = self.event.take() {
            self.offset = event.next;
            self.time = event.time;
            self.find(data);
        }
    }

    /// Passes `events` events, or as many as there are.
    pub(crate) fn skip(&mut self, data: &[u8], events: u64) {
        for _ in 0..events {
            if self.event.is_none() {
                return;
            }
            self.pass(data);
        }
    }

    /// What is malformed ends the walk: nothing behind it can be trusted.
    fn find(&mut self, data: &[u8]) {
        let mut cursor = Cursor::at(data, self.offset, self.time);

        match cursor.next() {
            Some(Ok(event)) => {
                self.event = Some(Found {
                    time: event.time,
                    next: event.next,
                });
            }
            Some(Err(_)) => {
                self.offset = data.len();
                self.time = cursor.time();
            }
            None => {
                self.offset = cursor.offset();
                self.time = cursor.time();
            }
        }
    }
}

/// A reader that consumes nothing on its way through a ring.
///
/// It knows its place by the number of the next event, counted since the ring was emptied: the numbers
/// of sub-buffers change when the ring is resized. It ends at a bound, the number of events that had
/// been recorded when it set out; otherwise it would run after a writer that is faster than any reader.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tour {
    /// The present sub-buffer and the next event. Nothing before the first sub-buffer.
    here: Option<Here>,
    bound: u64,
}

#[derive(Clone, Copy, Debug)]
struct Here {
    seq: u64,
    event: u64,
}

impl Tour {
    /// Takes a new bound: the number of events recorded so far.
    pub(crate) fn go_on_to(&mut self, bound: u64) {
        self.bound = bound;
        // The ring was emptied and counts anew.
        self.here = self.here.filter(|here| here.event <= bound);
    }

    /// Whether it has seen all events up to the bound.
    pub(crate) fn done(&self) -> bool {
        self.bound <= self.here.map_or(0, |here| here.event)
    }

    /// The sub-buffer behind which to look first: the one before the present one, which may have got
    /// more events. Nothing means the oldest there is.
    pub(crate) fn same(&self) -> Option<u64> {
        self.here?.seq.checked_sub(1)
    }

    /// The sub-buffer behind which to look when the present one has nothing new.
    pub(crate) fn further(&self) -> Option<u64> {
        Some(self.here?.seq)
    }

    /// Enters a copy of sub-buffer `seq` that begins with event number `event`. Answers how many of its
    /// events it has seen already, and how many it missed in front of them.
    pub(crate) fn enter(&mut self, seq: u64, event: u64) -> Entered {
        let next = self.here.map_or(event, |here| here.event);

        self.here = Some(Here {
            seq,
            event: next.max(event),
        });
        Entered {
            seen: next.saturating_sub(event),
            missed: event.saturating_sub(next),
        }
    }

    /// The next event was passed.
    pub(crate) fn pass(&mut self) {
        if let Some(here) = &mut self.here {
            here.event = here.event.saturating_add(1);
        }
    }
}

/// What a [`Tour`] finds when it enters a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entered {
    pub(crate) seen: u64,
    pub(crate) missed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::wire;

    fn event(delta: u32, value: u32) -> [u32; 2] {
        [wire::header(1, delta), value]
    }

    fn bytes(words: &[[u32; 2]]) -> Vec<u8> {
        words
            .iter()
            .flatten()
            .flat_map(|word| word.to_ne_bytes())
            .collect()
    }

    fn seen(data: &[u8], mut walk: Walk) -> Vec<(u64, u32)> {
        let mut seen = vec![];

        while let Some(stamp) = walk.stamp() {
            let record = walk.record(data).unwrap();
            seen.push((stamp, u32::from_ne_bytes(record.try_into().unwrap())));
            walk.pass(data);
        }
        assert_eq!(walk.record(data), None);
        seen
    }

    #[test]
    fn a_walk_passes_every_event_once() {
        let extend = wire::time_record(wire::TIME_EXTEND, 1 << 30);
        let data = bytes(&[event(0, 7), extend, event(5, 8), event(1, 9)]);
        let all = [(100, 7), (105 + (1 << 30), 8), (106 + (1 << 30), 9)];

        assert_eq!(seen(&data, Walk::new(&data, 0, 100)), all);

        // It can be left anywhere and taken up again.
        let mut walk = Walk::new(&data, 0, 100);
        for rest in (0..3).rev() {
            walk.pass(&data);
            let (offset, time) = walk.passed();
            assert_eq!(seen(&data, Walk::new(&data, offset, time)), all[3 - rest..]);
        }
    }

    #[test]
    fn a_walk_goes_on_when_the_sub_buffer_has_grown() {
        let data = bytes(&[event(0, 1), event(3, 2), event(4, 3)]);
        let mut walk = Walk::new(&data[..8], 0, 50);

        walk.pass(&data[..8]);
        assert_eq!(walk.stamp(), None);
        let (offset, time) = walk.passed();
        assert_eq!(
            seen(&data, Walk::new(&data, offset, time)),
            [(53, 2), (57, 3)]
        );
    }

    #[test]
    fn what_is_malformed_ends_a_walk() {
        let data = bytes(&[event(0, 1), [wire::header(9, 0), 2]]);
        let mut walk = Walk::new(&data, 0, 50);

        assert_eq!(walk.stamp(), Some(50));
        walk.pass(&data);
        assert_eq!(walk.stamp(), None);
        assert_eq!(walk.passed().0, data.len());
    }

    #[test]
    fn a_walk_skips() {
        let data = bytes(&[event(0, 1), event(3, 2), event(4, 3)]);

        for (count, left) in [(0, 3), (1, 2), (2, 1), (3, 0), (9, 0)] {
            let mut walk = Walk::new(&data, 0, 50);
            walk.skip(&data, count);
            assert_eq!(seen(&data, walk).len(), left);
        }
    }

    fn entered(seen: u64, missed: u64) -> Entered {
        Entered { seen, missed }
    }

    #[test]
    fn a_tour_counts_what_it_missed() {
        let mut tour = Tour::default();

        tour.go_on_to(100);
        assert_eq!((tour.same(), tour.further()), (None, None));
        // What was overwritten or consumed before the tour began is not missed.
        assert_eq!(tour.enter(3, 40), entered(0, 0));
        tour.pass();
        tour.pass();
        assert_eq!((tour.same(), tour.further()), (Some(2), Some(3)));

        // The same sub-buffer, grown: on from where it was.
        assert_eq!(tour.enter(3, 40), entered(2, 0));
        tour.pass();
        // The next one: nothing missed.
        assert_eq!(tour.enter(4, 43), entered(0, 0));
        // Seven sub-buffers on: 57 events were overwritten.
        assert_eq!(tour.enter(11, 100), entered(0, 57));
    }

    #[test]
    fn a_tour_survives_that_sub_buffers_get_other_numbers() {
        let mut tour = Tour::default();

        tour.enter(300, 40);
        tour.pass();
        assert_eq!(tour.enter(7, 39), entered(2, 0));
        assert_eq!(tour.further(), Some(7));
    }

    #[test]
    fn events_that_others_consumed_are_missed() {
        let mut tour = Tour::default();

        tour.enter(3, 10);
        tour.pass();
        assert_eq!(tour.enter(3, 13), entered(0, 2));
    }

    #[test]
    fn a_tour_ends_at_its_bound() {
        let mut tour = Tour::default();

        assert!(tour.done());
        tour.go_on_to(12);
        assert!(!tour.done());
        tour.enter(0, 10);
        assert_eq!(tour.same(), None);
        tour.pass();
        assert!(!tour.done());
        tour.pass();
        assert!(tour.done());
        tour.go_on_to(13);
        assert!(!tour.done());
        assert_eq!(tour.further(), Some(0));
    }

    #[test]
    fn a_tour_begins_again_in_a_ring_that_was_emptied() {
        let mut tour = Tour::default();

        tour.go_on_to(100);
        tour.enter(9, 90);
        tour.go_on_to(5);
        assert!(!tour.done());
        assert_eq!(tour.same(), None);
        assert_eq!(tour.enter(4, 0), entered(0, 0));
    }
}
