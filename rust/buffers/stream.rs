// SPDX-License-Identifier: GPL-2.0
//! Positions of readers in the events of one CPU.
//!
//! Called by `trace` and `trace_pipe` with copies of sub-buffers. [`Walk`] goes through one copy;
//! [`Tour`] goes from copy to copy for a reader that consumes nothing, and knows what it missed.
//! Pure.

use core::mem;

use crate::ring::cursor::{usual, Cursor, DecodedEvent};

/// A walk through the events of a copied sub-buffer. It does not hold the copy: every call gets the
/// same `data`, the committed bytes without the header.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Walk {
    /// Offset after the last event that was passed.
    offset: usize,
    /// Time at that offset.
    time: u64,
    event: Option<FoundRecord>,
}

#[derive(Clone, Copy, Debug)]
struct FoundRecord {
    time: u64,
    /// Offsets at which its record begins and ends.
    record: (usize, usize),
    next: usize,
}

impl FoundRecord {
    #[inline(always)]
    fn at(event: &DecodedEvent<'_>) -> Self {
        FoundRecord {
            time: event.time,
            // Both are within the data.
            record: (event.start, event.start.wrapping_add(event.payload.len())),
            next: event.next,
        }
    }
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

    /// Returns the stamp of the event at which the walk stands.
    pub(crate) fn stamp(&self) -> Option<u64> {
        Some(self.event?.time)
    }

    /// Returns the record of that event.
    pub(crate) fn record<'a>(&self, data: &'a [u8]) -> Option<&'a [u8]> {
        let (start, end) = self.event?.record;

        data.get(start..end)
    }

    /// Returns the offset after the last event that was passed, and the time there.
    pub(crate) fn passed(&self) -> (usize, u64) {
        (self.offset, self.time)
    }

    /// Passes the event at which the walk stands.
    #[inline(always)]
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

    #[inline(always)]
    fn find(&mut self, data: &[u8]) {
        match usual(data, self.offset, self.time) {
            Some(event) => self.event = Some(FoundRecord::at(&event)),
            None => self.find_any(data),
        }
    }

    /// Ends the walk at a malformed event: nothing after it can be trusted.
    #[inline(never)]
    fn find_any(&mut self, data: &[u8]) {
        let mut cursor = Cursor::at(data, self.offset, self.time);

        match cursor.next() {
            Some(Ok(event)) => self.event = Some(FoundRecord::at(&event)),
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

/// The way of a reader that consumes nothing through a ring.
///
/// It knows its place by the number of the next event among all that were ever recorded in the
/// ring, because the sequence numbers of sub-buffers change when the ring is resized. It ends at a
/// bound, the number of events that had been recorded when it began; without one it would never
/// catch up with a writer that is faster than the reader.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tour {
    /// Sequence number of the present sub-buffer.
    seq: Option<u64>,
    /// Number of the next event. `None` before the first sub-buffer, unless the caller knew it.
    next: Option<u64>,
    bound: u64,
}

impl Tour {
    /// Returns a tour that expects the event `next` and has no bound.
    pub(crate) fn from(next: u64) -> Self {
        Self {
            seq: None,
            next: Some(next),
            bound: u64::MAX,
        }
    }

    /// Sets a new bound: the number of events recorded so far.
    pub(crate) fn go_on_to(&mut self, bound: u64) {
        self.bound = bound;
    }

    /// Returns the number of the event that the tour expects.
    pub(crate) fn next(&self) -> u64 {
        self.next.unwrap_or(0)
    }

    /// Returns whether the tour has passed all events up to the bound.
    pub(crate) fn done(&self) -> bool {
        self.bound <= self.next()
    }

    /// Returns the sub-buffer after which to look for the present one, which may have got more
    /// events. `None` means to look for the oldest one.
    pub(crate) fn same(&self) -> Option<u64> {
        self.seq?.checked_sub(1)
    }

    /// Returns the sub-buffer after which to look for the next one.
    pub(crate) fn further(&self) -> Option<u64> {
        self.seq
    }

    /// Goes to the next sub-buffer that has an event that was not seen. Returns whether there is
    /// one.
    ///
    /// Writers may add to the present sub-buffer after it was looked at, and begin the next one
    /// before that is looked at. It is looked at once more only if there is no next one, and then
    /// again if events seem to be missing before the next one: they are in the present one, which
    /// writers have left. So each sub-buffer that was complete is copied once.
    ///
    /// # Errors
    ///
    /// Those of [`View::view`].
    pub(crate) fn look<V: View>(&mut self, ring: &mut V) -> Result<bool, V::Error> {
        let mut behind = self.further();
        // Whether the present one was looked at since it was the last, and since writers have left it.
        let (mut as_last, mut as_left) = (self.seq.is_none(), self.seq.is_none());

        while !self.done() {
            let page = ring.view(behind)?;
            let was_looked_at = match page {
                None => mem::replace(&mut as_last, true),
                Some(page) => !self.misses(page) || mem::replace(&mut as_left, true),
            };
            if !was_looked_at {
                behind = self.same();
                continue;
            }
            let Some(page) = page else {
                return Ok(false);
            };
            as_left &= self.seq == Some(page.seq);
            let entered = self.enter(page.seq, page.event, page.forgotten);
            if ring.enter(entered) && !self.done() {
                return Ok(true);
            }
            behind = self.further();
        }
        Ok(false)
    }

    /// Returns whether there are events between those that were seen and this sub-buffer.
    fn misses(&self, page: Page) -> bool {
        self.next
            .is_some_and(|next| next.max(page.forgotten) < page.event)
    }

    /// Enters a copy of sub-buffer `seq` that begins with event number `event`; events with numbers
    /// below `forgotten` were removed by emptying. Returns how many of its events the tour has seen
    /// already, and how many events it missed before them.
    pub(crate) fn enter(&mut self, seq: u64, event: u64, forgotten: u64) -> EnteredCopy {
        let next = self.next.unwrap_or(event).max(forgotten);

        self.seq = Some(seq);
        self.next = Some(next.max(event));
        EnteredCopy {
            seen: next.saturating_sub(event),
            missed: event.saturating_sub(next),
        }
    }

    /// Notes that the next event was passed.
    pub(crate) fn pass(&mut self) {
        if let Some(next) = &mut self.next {
            *next = next.saturating_add(1);
        }
    }
}

/// A ring as a [`Tour`] sees it.
pub(crate) trait View {
    /// Error of a failed look.
    type Error;

    /// Copies the oldest sub-buffer with events that comes after number `after`, or the oldest of
    /// all without `after`. Returns `None` if there is none.
    ///
    /// # Errors
    ///
    /// Those of the ring that is looked at.
    fn view(&mut self, after: Option<u64>) -> Result<Option<Page>, Self::Error>;

    /// Notes that the tour is in the sub-buffer that was copied last. Returns whether that has
    /// events after those that were seen.
    fn enter(&mut self, entered: EnteredCopy) -> bool;
}

/// A copied sub-buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// Its sequence number.
    pub(crate) seq: u64,
    /// Number of its first event that has not been consumed.
    pub(crate) event: u64,
    /// Events with smaller numbers were removed by emptying.
    pub(crate) forgotten: u64,
}

/// What a [`Tour`] finds when it enters a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EnteredCopy {
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

        // It can stop anywhere and be resumed.
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

    fn entered(seen: u64, missed: u64) -> EnteredCopy {
        EnteredCopy { seen, missed }
    }

    #[test]
    fn a_tour_counts_what_it_missed() {
        let mut tour = Tour::default();

        tour.go_on_to(100);
        assert_eq!((tour.same(), tour.further()), (None, None));
        // What was overwritten or consumed before the tour began is not missed.
        assert_eq!(tour.enter(3, 40, 0), entered(0, 0));
        tour.pass();
        tour.pass();
        assert_eq!((tour.same(), tour.further()), (Some(2), Some(3)));

        // The same sub-buffer with more events: the tour continues where it was.
        assert_eq!(tour.enter(3, 40, 0), entered(2, 0));
        tour.pass();
        // The next one: nothing missed.
        assert_eq!(tour.enter(4, 43, 0), entered(0, 0));
        // Seven sub-buffers further on: 57 events were overwritten.
        assert_eq!(tour.enter(11, 100, 0), entered(0, 57));
    }

    /// Sub-buffers with the numbers of their events; writers take the next step before each look.
    struct Steps {
        steps: Vec<Vec<(u64, core::ops::Range<u64>)>>,
        looks: usize,
        copied: core::ops::Range<u64>,
        got: Vec<EnteredCopy>,
    }

    impl Steps {
        fn new(steps: Vec<Vec<(u64, core::ops::Range<u64>)>>) -> Self {
            Self {
                steps,
                looks: 0,
                copied: 0..0,
                got: vec![],
            }
        }
    }

    impl View for Steps {
        type Error = ();

        fn view(&mut self, after: Option<u64>) -> Result<Option<Page>, ()> {
            let now = &self.steps[self.looks.min(self.steps.len() - 1)];
            self.looks += 1;
            let page = now
                .iter()
                .find(|page| after.is_none_or(|after| page.0 > after));
            Ok(page.map(|(seq, events)| {
                self.copied = events.clone();
                Page {
                    seq: *seq,
                    event: events.start,
                    forgotten: 0,
                }
            }))
        }

        fn enter(&mut self, entered: EnteredCopy) -> bool {
            self.got.push(entered);
            entered.seen < self.copied.end - self.copied.start
        }
    }

    #[test]
    fn what_came_before_the_next_sub_buffer_began_is_not_missed() {
        let (first, grown, next) = ((3, 10..20), (3, 10..25), (4, 25..26));
        // The writers go on before it looks for the next one, after it has found none, or after it has then looked at the
        // present one once more.
        for looks in 1..=3 {
            let mut steps = vec![vec![first.clone()]; looks];
            steps.push(vec![grown.clone(), next.clone()]);
            let mut ring = Steps::new(steps);
            let mut tour = Tour::from(10);

            assert_eq!(tour.look(&mut ring), Ok(true));
            (10..20).for_each(|_| tour.pass());
            assert_eq!(tour.look(&mut ring), Ok(true));
            assert_eq!((tour.next(), ring.copied.clone()), (20, 10..25));
            (20..25).for_each(|_| tour.pass());
            assert_eq!(tour.look(&mut ring), Ok(true));
            tour.pass();
            assert_eq!(tour.next(), 26);
            assert!(ring.got.iter().all(|entered| entered.missed == 0));
            assert_eq!(tour.look(&mut ring), Ok(false));
        }
    }

    #[test]
    fn what_is_complete_is_copied_once() {
        let pages: Vec<_> = (0..5)
            .map(|page| (page, page * 10..page * 10 + 10))
            .collect();
        let mut ring = Steps::new(vec![pages]);
        let mut tour = Tour::from(0);

        for page in 1..=5 {
            assert_eq!(tour.look(&mut ring), Ok(true));
            (0..10).for_each(|_| tour.pass());
            assert_eq!((tour.next(), ring.looks), (page * 10, page as usize));
        }
        assert_eq!(tour.look(&mut ring), Ok(false));
    }

    #[test]
    fn each_sub_buffer_is_looked_at_again_after_writers_have_left_it() {
        let (first, empty, grown, last) = ((3, 10..20), (4, 25..25), (4, 25..30), (5, 30..31));
        // The first one is gone when events are missing after it; the next one has none when it is looked at first.
        let steps = [
            vec![first],
            vec![empty.clone()],
            vec![empty],
            vec![grown, last],
        ];
        let mut ring = Steps::new(steps.to_vec());
        let mut tour = Tour::from(10);

        assert_eq!(tour.look(&mut ring), Ok(true));
        (10..20).for_each(|_| tour.pass());
        assert_eq!(tour.look(&mut ring), Ok(true));
        let missed: Vec<_> = ring.got.iter().map(|entered| entered.missed).collect();
        assert_eq!((missed, ring.copied), (vec![0, 5, 0], 25..30));
    }

    #[test]
    fn what_is_gone_is_missed_at_the_second_look() {
        let (first, later) = ((3, 10..20), (9, 70..80));
        let mut ring = Steps::new(vec![vec![first], vec![later]]);
        let mut tour = Tour::from(10);

        assert_eq!(tour.look(&mut ring), Ok(true));
        tour.pass();
        assert_eq!(tour.look(&mut ring), Ok(true));
        assert_eq!(ring.got.last().map(|entered| entered.missed), Some(59));
        assert_eq!((tour.next(), ring.looks), (70, 3));
    }

    #[test]
    fn a_tour_survives_that_sub_buffers_get_other_numbers() {
        let mut tour = Tour::default();

        tour.enter(300, 40, 0);
        tour.pass();
        assert_eq!(tour.enter(7, 39, 0), entered(2, 0));
        assert_eq!(tour.further(), Some(7));
    }

    #[test]
    fn events_that_others_consumed_are_missed() {
        let mut tour = Tour::default();

        tour.enter(3, 10, 0);
        tour.pass();
        assert_eq!(tour.enter(3, 13, 0), entered(0, 2));
    }

    #[test]
    fn a_tour_ends_at_its_bound() {
        let mut tour = Tour::default();

        assert!(tour.done());
        tour.go_on_to(12);
        assert!(!tour.done());
        tour.enter(0, 10, 0);
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
    fn what_was_emptied_away_is_not_missed() {
        let mut tour = Tour::default();

        tour.go_on_to(100);
        tour.enter(9, 90, 0);
        // 100 were there; five came later, and one of these was overwritten.
        tour.go_on_to(105);
        assert_eq!((tour.done(), tour.same()), (false, Some(8)));
        assert_eq!(tour.enter(14, 101, 100), entered(0, 1));
        assert_eq!(tour.next(), 101);
    }

    #[test]
    fn a_tour_that_knows_what_comes_misses_what_does_not() {
        let mut tour = Tour::from(10);

        assert_eq!(
            (tour.done(), tour.same(), tour.further()),
            (false, None, None)
        );
        assert_eq!(tour.enter(3, 12, 0), entered(0, 2));
        tour.pass();
        assert_eq!(tour.next(), 13);
        assert_eq!(Tour::from(10).enter(3, 8, 0), entered(2, 0));
        assert_eq!(Tour::from(10).enter(3, 20, 20), entered(0, 0));
    }
}
