// SPDX-License-Identifier: GPL-2.0
//! Which events of a CPU were recorded, and which of them a reader that consumes nothing has seen.
//!
//! Each of the two rings of a CPU numbers its events as they are recorded, and goes on counting
//! when it is emptied or resized ([`RingHistory`]). A reader that remembers for each ring the number of
//! the event that it expects next knows what it missed, whatever happened meanwhile ([`Progress`]).
//! Pure.

use super::banks::{Bank, Pair};

/// The history of a ring. Changes under the reader's lock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RingHistory {
    /// Number of events recorded before the ring was last emptied; the ring counts those after it.
    before: u64,
    /// Number of the first event recorded after the ring last became live.
    entered: u64,
    /// Events with smaller numbers were in the ring when a user emptied it while it was live. No
    /// reader misses them.
    forgotten: u64,
}

impl RingHistory {
    /// Returns the number of the event that was recorded as number `serial` since the ring was
    /// emptied.
    pub(crate) fn number(self, serial: u64) -> u64 {
        self.before.saturating_add(serial)
    }

    /// Returns the number below which events are forgotten: no reader misses them.
    pub(crate) fn forgotten(self) -> u64 {
        self.forgotten
    }

    /// Notes that the ring is being emptied. It has recorded `written` events since it was last
    /// emptied.
    pub(crate) fn empties(&mut self, written: u64, live: bool) {
        self.before = self.number(written);
        if live {
            self.forgotten = self.before;
        }
    }

    /// Notes that the ring becomes live. It has recorded `written` events since it was emptied.
    pub(crate) fn enters(&mut self, written: u64) {
        self.entered = self.number(written);
    }
}

/// The events that a ring has recorded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RingCount {
    /// Its history.
    pub(crate) past: RingHistory,
    /// Number of the event that is recorded next.
    pub(crate) next: u64,
}

/// The two rings of a CPU at one moment.
pub(crate) struct CpuCounts {
    /// The live bank.
    pub(crate) live: Bank,
    /// Both.
    pub(crate) of: Pair<RingCount>,
    /// Number of the oldest event in the live ring that has not been consumed.
    pub(crate) oldest: u64,
}

impl CpuCounts {
    /// Returns the number of events that were ever recorded in both rings.
    pub(crate) fn recorded(&self) -> u64 {
        let next = |bank| self.of.of(bank).next;
        next(Bank::A).wrapping_add(next(Bank::B))
    }
}

/// The events that a reader expects.
pub(crate) struct Progress {
    /// Number of the next one, in each ring.
    next: Pair<u64>,
}

impl Progress {
    /// Returns the progress of a reader that begins with the oldest event in the live ring.
    pub(crate) fn new(now: &CpuCounts) -> Self {
        let expected = |bank| match bank == now.live {
            true => now.oldest,
            false => now.of.of(bank).next,
        };
        Self {
            next: Pair::new(expected(Bank::A), expected(Bank::B)),
        }
    }

    /// Returns the number of the next event that the reader expects in `bank`.
    pub(crate) fn next(&self, bank: Bank) -> u64 {
        *self.next.of(bank)
    }

    /// Notes that the reader has seen the events of `bank` before number `next`.
    pub(crate) fn seen(&mut self, bank: Bank, next: u64) {
        *self.next.of_mut(bank) = next;
    }

    /// Continues with the ring that is live now. Returns how many events the reader can no longer
    /// get: they are in the ring that is not live, or were recorded before this one became live
    /// again.
    pub(crate) fn go_on(&mut self, now: &CpuCounts) -> u64 {
        let other = self.skip_to(now, now.live.other(), |count| count.next);
        let live = self.skip_to(now, now.live, |count| count.past.entered);
        other.saturating_add(live)
    }

    /// Expects no event of `bank` before `to`. Returns how many events it passed, without the
    /// forgotten ones.
    fn skip_to(&mut self, now: &CpuCounts, bank: Bank, to: impl Fn(&RingCount) -> u64) -> u64 {
        let count = now.of.of(bank);
        let next = self.next.of_mut(bank);
        *next = (*next).max(count.past.forgotten);
        let missed = to(count).saturating_sub(*next);
        *next = next.saturating_add(missed);
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both rings of a CPU, one reader, and what it was told.
    struct Cpu {
        live: Bank,
        past: Pair<RingHistory>,
        /// Events recorded in each ring since it was emptied.
        written: Pair<u64>,
        progress: Progress,
        seen: u64,
        missed: u64,
    }

    impl Cpu {
        fn new(recorded: u64, consumed: u64) -> Self {
            let mut cpu = Cpu {
                live: Bank::A,
                past: Pair::new(RingHistory::default(), RingHistory::default()),
                written: Pair::new(recorded, 0),
                progress: Progress {
                    next: Pair::new(0, 0),
                },
                seen: 0,
                missed: 0,
            };
            let now = cpu.now();
            cpu.progress = Progress::new(&CpuCounts {
                oldest: consumed,
                ..now
            });
            cpu
        }

        fn now(&self) -> CpuCounts {
            let count = |bank| {
                let past = *self.past.of(bank);
                RingCount {
                    past,
                    next: past.number(*self.written.of(bank)),
                }
            };
            CpuCounts {
                live: self.live,
                of: Pair::new(count(Bank::A), count(Bank::B)),
                oldest: 0,
            }
        }

        fn record(&mut self, events: u64) {
            *self.written.of_mut(self.live) += events;
        }

        fn empty(&mut self, bank: Bank) {
            let written = std::mem::take(self.written.of_mut(bank));
            self.past.of_mut(bank).empties(written, bank == self.live);
        }

        fn exchange(&mut self) {
            let next = self.live.other();
            let written = *self.written.of(next);
            self.past.of_mut(next).enters(written);
            self.live = next;
        }

        /// Reads all but the last `left` events of the live ring. Returns how many events it saw
        /// and missed since the last call.
        fn read(&mut self, left: u64) -> (u64, u64) {
            let now = self.now();
            let missed = self.progress.go_on(&now);
            let next = self.progress.next(self.live);
            let end = now.of.of(self.live).next.saturating_sub(left).max(next);
            self.progress.seen(self.live, end);
            self.seen += end - next;
            self.missed += missed;
            (end - next, missed)
        }
    }

    #[test]
    fn all_is_seen_once() {
        let mut cpu = Cpu::new(10, 4);
        assert_eq!(cpu.read(0), (6, 0), "what was consumed is not missed");
        cpu.record(3);
        assert_eq!(cpu.read(1), (2, 0));
        assert_eq!(cpu.read(0), (1, 0));
        assert_eq!(cpu.read(0), (0, 0));
    }

    #[test]
    fn what_was_emptied_is_neither_seen_nor_missed() {
        let mut cpu = Cpu::new(10, 0);
        assert_eq!(cpu.read(3), (7, 0));
        cpu.empty(Bank::A);
        assert_eq!(cpu.read(0), (0, 0));
        cpu.record(2);
        cpu.empty(Bank::A);
        cpu.record(5);
        assert_eq!(cpu.read(0), (5, 0));
        // Emptying the other ring makes no difference.
        cpu.empty(Bank::B);
        assert_eq!(cpu.read(0), (0, 0));
    }

    #[test]
    fn what_a_snapshot_takes_is_missed() {
        let mut cpu = Cpu::new(10, 0);
        assert_eq!(cpu.read(4), (6, 0));
        cpu.exchange();
        cpu.record(5);
        assert_eq!(cpu.read(0), (5, 4));
        // The first ring comes back with ten old events.
        cpu.exchange();
        assert_eq!(cpu.read(0), (0, 0));
        cpu.record(1);
        assert_eq!(cpu.read(0), (1, 0));
    }

    #[test]
    fn what_came_between_two_snapshots_is_missed() {
        let mut cpu = Cpu::new(10, 0);
        cpu.exchange();
        cpu.record(20);
        cpu.exchange();
        cpu.record(3);
        assert_eq!(cpu.read(0), (3, 30));
    }

    #[test]
    fn a_snapshot_that_is_emptied_was_missed_before() {
        let mut cpu = Cpu::new(10, 0);
        cpu.exchange();
        cpu.empty(Bank::A);
        cpu.record(1);
        assert_eq!(cpu.read(0), (1, 10));
        cpu.exchange();
        cpu.record(2);
        assert_eq!(cpu.read(0), (2, 0));
        // Emptied while it is live, and exchanged after that.
        cpu.record(7);
        cpu.empty(cpu.live);
        cpu.record(3);
        cpu.exchange();
        assert_eq!(cpu.read(0), (0, 3));
    }

    /// In whatever order it happens, an event that is not seen is missed, unless it was removed by
    /// emptying.
    #[test]
    fn the_sum_is_exact() {
        let mut random = 12345u64;
        let mut below = |n: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 20) % n
        };
        for _ in 0..2000 {
            let mut cpu = Cpu::new(below(20), 0);
            // Events recorded in the live ring since it was emptied that the reader has not passed.
            let mut recorded = *cpu.written.of(Bank::A);
            let mut forgotten = 0;
            for _ in 0..below(60) {
                match below(6) {
                    0 => cpu.exchange(),
                    1 => {
                        // The exact number is known only right after a read.
                        cpu.read(below(4));
                        let live = cpu.live;
                        let next = cpu.now().of.of(live).next;
                        forgotten += next - cpu.progress.next(live);
                        cpu.empty(live);
                    }
                    2 => cpu.empty(cpu.live.other()),
                    3 => _ = cpu.read(below(4)),
                    _ => {
                        let events = below(9);
                        recorded += events;
                        cpu.record(events);
                    }
                }
            }
            cpu.read(0);
            assert_eq!(cpu.seen + cpu.missed + forgotten, recorded);
        }
    }
}
