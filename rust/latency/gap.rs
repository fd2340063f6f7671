// SPDX-License-Identifier: GPL-2.0

//! The search for gaps: a CPU reads its clock again and again with interrupts disabled, and what passes
//! between two readings, beyond what they take, was taken by something that the kernel does not control.
//!
//! Two readings are one look. The time between the two is the inner one, that between a look and the next
//! one the outer one, in which the search itself runs as well.

/// Nanoseconds of a microsecond.
const NS_PER_US: u64 = 1_000;

/// A search that is going on.
#[derive(Debug)]
pub(crate) struct GapSearch {
    start: u64,
    /// When the look before ended.
    last: Option<u64>,
    /// Gaps of more than so many microseconds count.
    threshold: u64,
    inner: u64,
    outer: u64,
    count: u32,
}

/// What a look has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Microseconds since the search began.
    pub(crate) elapsed: u64,
    /// Whether it is the first one with a gap that counts.
    pub(crate) is_first: bool,
}

/// The gaps of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gaps {
    /// The longest inner and the longest outer time, in microseconds.
    pub(crate) inner: u64,
    pub(crate) outer: u64,
    /// How many looks had a gap that counts.
    pub(crate) count: u32,
}

impl Gaps {
    /// Returns the longest one, in microseconds.
    pub(crate) fn longest(&self) -> u64 {
        self.inner.max(self.outer)
    }
}

impl GapSearch {
    /// Begins a search at the time `start`, in nanoseconds.
    pub(crate) fn new(start: u64, threshold_us: u64) -> Self {
        Self {
            start,
            last: None,
            threshold: threshold_us,
            inner: 0,
            outer: 0,
            count: 0,
        }
    }

    /// Takes the two readings of a look. Returns what it has seen; `None` if the clock ran backwards.
    #[inline(always)]
    pub(crate) fn look(&mut self, first: u64, second: u64) -> Option<Look> {
        let outer = match self.last {
            Some(last) => first.checked_sub(last)? / NS_PER_US,
            None => 0,
        };
        self.last = Some(second);
        let inner = second.checked_sub(first)? / NS_PER_US;
        let elapsed = second.checked_sub(self.start)? / NS_PER_US;
        self.inner = self.inner.max(inner);
        self.outer = self.outer.max(outer);
        let counts = inner.max(outer) > self.threshold;
        let is_first = counts && self.count == 0;
        if counts {
            self.count = self.count.saturating_add(1);
        }
        Some(Look { elapsed, is_first })
    }

    /// Returns the gaps, if there were any that count.
    pub(crate) fn found(&self) -> Option<Gaps> {
        let gaps = Gaps {
            inner: self.inner,
            outer: self.outer,
            count: self.count,
        };
        (self.count != 0).then_some(gaps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches with looks at these times, in nanoseconds from the start. Returns the gaps and the looks.
    fn search(threshold: u64, looks: &[(u64, u64)]) -> (Option<Gaps>, Vec<Option<Look>>) {
        const START: u64 = 1 << 40;
        let mut search = GapSearch::new(START, threshold);
        let looks = looks.iter().map(|(first, second)| {
            search.look(START.wrapping_add(*first), START.wrapping_add(*second))
        });
        let looks = looks.collect();
        (search.found(), looks)
    }

    fn seen(elapsed: u64, is_first: bool) -> Option<Look> {
        Some(Look { elapsed, is_first })
    }

    #[test]
    fn nothing_found() {
        let looks = [(10, 60), (90, 140), (170, 220), (9_000, 9_050)];
        let (gaps, looks) = search(10, &looks);
        assert_eq!(gaps, None);
        assert_eq!(
            looks,
            [seen(0, false); 3]
                .into_iter()
                .chain([seen(9, false)])
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_gap_is_inside_a_look_or_outside() {
        let inside = [(0, 10), (20, 15_020), (15_030, 15_040)];
        let (gaps, looks) = search(10, &inside);
        let expected = Gaps {
            inner: 15,
            outer: 0,
            count: 1,
        };
        assert_eq!(gaps, Some(expected));
        assert_eq!(looks, [seen(0, false), seen(15, true), seen(15, false)]);
        let outside = [(0, 10), (15_010, 15_020), (15_030, 15_040)];
        let (gaps, looks) = search(10, &outside);
        let expected = Gaps {
            inner: 0,
            outer: 15,
            count: 1,
        };
        assert_eq!(gaps, Some(expected));
        assert_eq!(looks, [seen(0, false), seen(15, true), seen(15, false)]);
    }

    #[test]
    fn more_than_the_threshold_counts() {
        for (ns, count) in [(10_999, 0), (11_000, 1)] {
            let (gaps, _) = search(10, &[(0, ns)]);
            assert_eq!(gaps.map_or(0, |gaps| gaps.count), count, "{ns}");
        }
    }

    #[test]
    fn both_at_once_are_one_look() {
        let (gaps, _) = search(1, &[(0, 0), (5_000, 9_000), (14_000, 14_000)]);
        let expected = Gaps {
            inner: 4,
            outer: 5,
            count: 2,
        };
        assert_eq!(gaps, Some(expected));
        assert_eq!(expected.longest(), 5);
    }

    #[test]
    fn a_clock_that_runs_backwards() {
        let mut search = GapSearch::new(100, 10);
        assert_eq!(search.look(90, 95), None, "before the start");
        let mut search = GapSearch::new(100, 10);
        assert_eq!(search.look(120, 110), None);
        let mut search = GapSearch::new(100, 10);
        assert_eq!(search.look(110, 120), seen(0, false));
        assert_eq!(search.look(119, 130), None);
    }
}
