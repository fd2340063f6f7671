// SPDX-License-Identifier: GPL-2.0
//! What the buffers of one CPU have counted since they were made: the text of
//! `per_cpu/cpuN/totals`.
//!
//! `stats` begins anew whenever a buffer is emptied, and belongs to one of two buffers. Here the
//! counters of both are added up, and what emptying took is one of them: an event that was recorded
//! is in one line and in no other.

use core::fmt;

use crate::ring::view::RingStats;

/// The counters of both buffers of one CPU, over all their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTotals {
    /// Number of events that were recorded: the sum of the four below.
    pub(crate) recorded: u64,
    /// Number of events that can still be read.
    pub(crate) entries: u64,
    /// Number of events that were consumed.
    pub(crate) read: u64,
    /// Number of events that were overwritten, or did not fit a new size, before they were read.
    pub(crate) overrun: u64,
    /// Number of events that were there when a buffer was emptied.
    pub(crate) cleared: u64,
    /// Number of events that were refused because nested writers had gone once around the ring.
    pub(crate) commit_overrun: u64,
    /// Number of events that were refused because the buffer was full and must not overwrite.
    pub(crate) dropped: u64,
}

impl CpuTotals {
    /// Returns the totals with what a ring counts now.
    pub(crate) fn with(self, now: &RingStats) -> Self {
        Self {
            recorded: self.recorded.saturating_add(now.written),
            entries: self.entries.saturating_add(now.entries()),
            read: self.read.saturating_add(now.read),
            overrun: self.overrun.saturating_add(now.overrun),
            cleared: self.cleared,
            commit_overrun: self.commit_overrun.saturating_add(now.commit_overrun),
            dropped: self.dropped.saturating_add(now.dropped),
        }
    }

    /// Notes that a ring is being emptied that counts `now`, and that it counts from 0 afterwards.
    pub(crate) fn empties(&mut self, now: &RingStats) {
        let with = self.with(now);
        *self = Self {
            entries: self.entries,
            cleared: self.cleared.saturating_add(now.entries()),
            ..with
        };
    }

    /// Writes the text of the file.
    pub(crate) fn write_text(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        for (label, count) in [
            ("recorded events", self.recorded),
            ("entries", self.entries),
            ("read events", self.read),
            ("overrun", self.overrun),
            ("cleared events", self.cleared),
            ("commit overrun", self.commit_overrun),
            ("dropped events", self.dropped),
        ] {
            writeln!(out, "{label}: {count}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: RingStats = RingStats {
        written: 100,
        read: 40,
        overrun: 25,
        commit_overrun: 3,
        dropped: 4,
        recursion: 0,
        too_big: 0,
        clock_back: 0,
        broken: 0,
        fault: None,
        bytes: 0,
        oldest: 0,
    };

    fn sum(of: CpuTotals) -> u64 {
        of.entries + of.read + of.overrun + of.cleared
    }

    #[test]
    fn an_event_is_in_one_line() {
        let mut past = CpuTotals::default();
        for times in 1..4 {
            let now = past.with(&NOW).with(&NOW);
            assert_eq!(now.recorded, 100 * (times + 1));
            assert_eq!(sum(now), now.recorded);
            assert_eq!(now.entries, 2 * 35);
            past.empties(&NOW);
            assert_eq!(past.cleared, 35 * times);
            assert_eq!((past.entries, sum(past)), (0, past.recorded));
        }
        assert_eq!((past.commit_overrun, past.dropped), (9, 12));
    }

    #[test]
    fn seven_lines() {
        let (mut past, mut text) = (CpuTotals::default(), String::new());

        past.empties(&NOW);
        past.with(&NOW).write_text(&mut text).unwrap();
        assert_eq!(
            text,
            "recorded events: 200\nentries: 35\nread events: 80\noverrun: 50\n\
             cleared events: 35\ncommit overrun: 6\ndropped events: 8\n"
        );
    }
}
