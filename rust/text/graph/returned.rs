// SPDX-License-Identifier: GPL-2.0
//! How much of a call's time the calls in it took, known by their exits alone.
//!
//! `trace_folded` reads the records of a buffer whose oldest ones may have been overwritten: of the calls that ran
//! then there are exits and no entries. What an exit says of its own call, its level and its duration, is enough: the
//! calls of a task that returned before it on deeper levels, and were in no other call that returned, were in
//! it. So each nanosecond of a task counts for one call alone, and that is the innermost one of those that are known.

/// The levels that are told apart: more than the kernel follows.
const LEVELS: usize = 80;

/// How long the calls of a task took that have returned, and whose callers have not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReturnedCalls {
    /// By their levels, in nanoseconds.
    times: [u64; LEVELS],
    /// No level from this one on has any.
    end: usize,
}

impl ReturnedCalls {
    /// Returns those of a task of which nothing is known.
    pub(crate) const fn new() -> Self {
        Self {
            times: [0; LEVELS],
            end: 0,
        }
    }

    /// Takes away what is deeper than the level at `place`. Returns how long it took.
    fn take_deeper(&mut self, place: usize) -> u64 {
        let first = place.saturating_add(1);
        let deeper = self.times.get_mut(first..self.end).unwrap_or_default();
        let time = deeper.iter_mut().map(core::mem::take);
        let time = time.fold(0, u64::saturating_add);
        self.end = self.end.min(first);
        time
    }

    fn add(&mut self, place: usize, time: u64) {
        if let Some(sum) = self.times.get_mut(place) {
            *sum = sum.saturating_add(time);
            self.end = self.end.max(place.saturating_add(1));
        }
    }

    /// Learns that a call on `level` begins. What returned on deeper ones was in calls of its level, which are over
    /// and whose exits are lost.
    pub(crate) fn enter(&mut self, level: i64) {
        let place = place(level);
        let lost = self.take_deeper(place);
        self.add(place, lost);
    }

    /// Learns that a call on `level` returns, which took `duration` nanoseconds. Returns how much of that the calls
    /// in it took.
    ///
    /// When its entry is lost, and the exit of another call on its level as well, the calls in that one count as
    /// calls in it: too little may be left for itself, but no time counts twice.
    pub(crate) fn leave(&mut self, level: i64, duration: u64) -> u64 {
        let place = place(level);
        let within = self.take_deeper(place);
        self.add(place, duration);
        // The clocks of two CPUs may differ by a little.
        within.min(duration)
    }
}

/// Returns the place of a level.
fn place(level: i64) -> usize {
    let last = LEVELS.saturating_sub(1);
    usize::try_from(level).unwrap_or(0).min(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    struct Call {
        /// Nanoseconds before, between and after the calls in it.
        pause: u64,
        inner: Vec<Call>,
    }

    fn any_call() -> impl Strategy<Value = Call> {
        let leaf = (0u64..10).prop_map(|pause| Call {
            pause,
            inner: vec![],
        });
        leaf.prop_recursive(8, 60, 5, |inner| {
            let inner = prop::collection::vec(inner, 0..5);
            (0u64..10, inner).prop_map(|(pause, inner)| Call { pause, inner })
        })
    }

    #[derive(Clone, Copy, Debug)]
    enum Record {
        Entry(i64),
        /// Level, time of the entry, duration.
        Exit(i64, u64, u64),
    }

    impl Call {
        fn record(&self, level: i64, now: &mut u64, records: &mut Vec<Record>) {
            records.push(Record::Entry(level));
            // Calls take time, so that no two begin at once.
            let began = *now;
            *now += 1 + self.pause;
            for call in &self.inner {
                call.record(level + 1, now, records);
                *now += self.pause;
            }
            records.push(Record::Exit(level, began, *now - began));
        }
    }

    /// Returns the own times of the calls that return in `records`.
    fn own_times(records: &[Record]) -> Vec<u64> {
        let mut calls = ReturnedCalls::new();
        let mut own = vec![];
        for record in records {
            match *record {
                Record::Entry(level) => calls.enter(level),
                Record::Exit(level, _, duration) => {
                    own.push(duration - calls.leave(level, duration))
                }
            }
        }
        own
    }

    proptest! {
        /// Whatever is lost at the beginning, or of entries, each nanosecond counts once.
        #[test]
        fn each_nanosecond_counts_once(
            roots in prop::collection::vec(any_call(), 1..4),
            lost in 0usize..200,
            no_entry: u64,
        ) {
            let (mut now, mut records) = (100, vec![]);
            for root in &roots {
                root.record(0, &mut now, &mut records);
                now += 1;
            }
            let all = own_times(&records);
            let seen: Vec<_> = records.iter().copied().enumerate().skip(lost).collect();
            let seen = seen.into_iter().filter(|(at, record)| {
                matches!(record, Record::Exit(..)) || no_entry >> (at % 64) & 1 == 0
            });
            let seen: Vec<_> = seen.map(|row| row.1).collect();
            // Of the calls whose exits are seen, those in no other such.
            let spans: Vec<_> = seen
                .iter()
                .filter_map(|record| match record {
                    Record::Exit(_, began, duration) => Some((*began, began + duration)),
                    Record::Entry(_) => None,
                })
                .collect();
            let is_inner = |span: &(u64, u64)| {
                spans.iter().any(|other| other != span && other.0 <= span.0 && span.1 <= other.1)
            };
            let outer = spans.iter().filter(|span| !is_inner(span));
            let covered: u64 = outer.map(|span| span.1 - span.0).sum();
            prop_assert_eq!(own_times(&seen).iter().sum::<u64>(), covered);
            // With everything, a call has its pauses.
            let total: u64 = all.iter().sum();
            prop_assert_eq!(total, now - 100 - roots.len() as u64);
        }

        #[test]
        fn any_records_are_taken(records in prop::collection::vec((any::<bool>(), any::<i64>(), any::<u64>()), 0..50)) {
            let mut calls = ReturnedCalls::new();
            for (is_entry, level, duration) in records {
                match is_entry {
                    true => calls.enter(level),
                    false => prop_assert!(calls.leave(level, duration) <= duration),
                }
            }
        }
    }

    /// The oldest records were overwritten.
    #[test]
    fn calls_whose_entries_are_lost_count_once() {
        let records = [
            Record::Exit(2, 30, 10),
            Record::Exit(1, 20, 50),
            Record::Exit(0, 10, 100),
        ];
        assert_eq!(own_times(&records), [10, 40, 50]);
        // A call in between whose entry is there.
        let inner = [Record::Entry(2), Record::Exit(2, 45, 5)];
        let records = [&records[..1], &inner, &records[1..]].concat();
        assert_eq!(own_times(&records), [10, 5, 35, 50]);
    }

    /// The reader was overtaken.
    #[test]
    fn calls_of_a_caller_whose_exit_is_lost_are_in_no_call_that_begins_later() {
        let records = [
            Record::Exit(2, 30, 10),
            Record::Entry(1),
            Record::Exit(1, 50, 20),
            Record::Exit(0, 10, 100),
        ];
        assert_eq!(own_times(&records), [10, 20, 70]);
    }
}
