// SPDX-License-Identifier: GPL-2.0
//! Merges the events of several CPUs: which CPU has the next one.
//!
//! Called by `trace` and `trace_pipe`, which show the events of several CPUs in the order of time
//! while the CPUs go on recording. Pure.

/// The next event of each of some CPUs. Each CPU has a place.
pub(crate) trait Heads {
    /// Error of a failed look.
    type Error;

    /// Returns the number of places.
    fn places(&self) -> usize;

    /// Returns the stamp of the next event of a place, if it is known.
    fn stamp(&self, place: usize) -> Option<u64>;

    /// Looks for events at a place that has no known one. Returns whether it has one now.
    ///
    /// # Errors
    ///
    /// Those of the ring that is looked at.
    fn look(&mut self, place: usize) -> Result<bool, Self::Error>;
}

/// Returns the place of the earliest event; of several with equal stamps, the first.
///
/// A place that was found empty can get an event at any time, but only one that is later than the
/// look. So an event that was copied after that look must not be chosen before the empty place is
/// looked at again: whenever a look finds events, all empty places are looked at again. That ends,
/// because in each further round at least one empty place less is left.
///
/// # Errors
///
/// Those of [`Heads::look`].
pub(crate) fn next<H: Heads>(
    heads: &mut H,
    settled: &mut SettledState,
) -> Result<Option<usize>, H::Error> {
    while !settled.0 {
        settled.0 = true;
        for place in 0..heads.places() {
            if heads.stamp(place).is_none() && heads.look(place)? {
                settled.0 = false;
            }
        }
    }

    let earliest = (0..heads.places())
        .filter_map(|place| Some((heads.stamp(place)?, place)))
        .min();

    Ok(earliest.map(|(_, place)| place))
}

/// Whether all empty places have been looked at since events were last found.
#[derive(Debug, Default)]
pub(crate) struct SettledState(bool);

impl SettledState {
    /// Makes the next choice look again: a place has used up its known events, or time has passed.
    pub(crate) fn unsettle(&mut self) {
        self.0 = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPUs that record meanwhile: a look sees what was recorded up to its time.
    struct Live {
        /// All events that will ever be recorded, by CPU.
        events: Vec<Vec<u64>>,
        /// Number of them that have been copied, by CPU.
        copied: Vec<usize>,
        used: Vec<usize>,
        /// Largest number of events in one copy.
        page: usize,
        /// Time; each look adds `pace`.
        now: u64,
        pace: u64,
        looks: usize,
    }

    impl Live {
        fn new(events: &[&[u64]], page: usize, now: u64) -> Self {
            Live {
                events: events.iter().map(|events| events.to_vec()).collect(),
                copied: vec![0; events.len()],
                used: vec![0; events.len()],
                page,
                now,
                pace: 1,
                looks: 0,
            }
        }

        /// Reads until nothing is left, and looks again whenever there may be something new.
        fn merged(mut self) -> (Vec<(u64, usize)>, usize) {
            let mut merged = vec![];
            let mut settled = SettledState::default();
            let total: usize = self.events.iter().map(Vec::len).sum();

            while merged.len() < total {
                let Some(place) = next(&mut self, &mut settled).unwrap() else {
                    settled.unsettle();
                    continue;
                };
                merged.push((self.stamp(place).unwrap(), place));
                self.used[place] += 1;
                if self.stamp(place).is_none() {
                    settled.unsettle();
                }
            }
            (merged, self.looks)
        }
    }

    impl Heads for Live {
        type Error = ();

        fn places(&self) -> usize {
            self.events.len()
        }

        fn stamp(&self, place: usize) -> Option<u64> {
            let used = self.used[place];

            (used < self.copied[place]).then(|| self.events[place][used])
        }

        fn look(&mut self, place: usize) -> Result<bool, ()> {
            assert_eq!(self.stamp(place), None);
            self.looks += 1;
            self.now += self.pace;

            let from = self.copied[place];
            let recorded = self.events[place][from..]
                .iter()
                .take_while(|&&stamp| stamp <= self.now)
                .take(self.page)
                .count();
            self.copied[place] += recorded;
            Ok(recorded != 0)
        }
    }

    const STREAMS: &[&[u64]] = &[
        &[1, 4, 4, 9, 30, 31, 32],
        &[],
        &[0, 4, 5, 5, 10, 11, 12, 40],
        &[4, 33],
        &[50],
    ];

    fn sorted() -> Vec<(u64, usize)> {
        let mut all: Vec<(u64, usize)> = STREAMS
            .iter()
            .enumerate()
            .flat_map(|(place, events)| events.iter().map(move |&stamp| (stamp, place)))
            .collect();

        all.sort();
        all
    }

    #[test]
    fn of_what_does_not_change_it_is_a_stable_sort() {
        for page in 1..10 {
            let (merged, _) = Live::new(STREAMS, page, 1000).merged();

            assert_eq!(merged, sorted(), "{page} events in a page");
        }
    }

    #[test]
    fn time_never_goes_back_while_events_are_recorded() {
        for page in 1..10 {
            for now in 0..50 {
                for pace in 1..8 {
                    let mut live = Live::new(STREAMS, page, now);

                    live.pace = pace;
                    let (merged, _) = live.merged();
                    let stamps: Vec<u64> = merged.iter().map(|(stamp, _)| *stamp).collect();
                    assert!(stamps.is_sorted(), "{stamps:?}");
                }
            }
        }
    }

    #[test]
    fn an_event_that_came_while_another_cpu_was_looked_at_is_not_passed_over() {
        // The first look finds nothing; the second finds 6, and by then 5 is there as well.
        let mut live = Live::new(&[&[5], &[6]], 9, 1);

        live.pace = 3;
        assert_eq!(live.merged().0, [(5, 0), (6, 1)]);
    }

    #[test]
    fn idle_cpus_are_looked_at_once_per_page_and_not_per_event() {
        let busy: Vec<u64> = (0..1000).collect();
        let mut streams: Vec<&[u64]> = vec![&[]; 8];

        streams[3] = &busy;
        let (_, looks) = Live::new(&streams, 100, 2000).merged();
        // Ten pages, with two rounds for each.
        assert!(looks <= 10 * 2 * 8, "{looks}");
    }

    #[test]
    fn an_error_is_passed_on() {
        struct Broken;

        impl Heads for Broken {
            type Error = u8;

            fn places(&self) -> usize {
                1
            }

            fn stamp(&self, _place: usize) -> Option<u64> {
                None
            }

            fn look(&mut self, _place: usize) -> Result<bool, u8> {
                Err(7)
            }
        }
        assert_eq!(next(&mut Broken, &mut SettledState::default()), Err(7));
    }
}
