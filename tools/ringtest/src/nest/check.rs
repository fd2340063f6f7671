// SPDX-License-Identifier: GPL-2.0
//! What the ring of one schedule must have said in the end.
//!
//! Every reading of the clock has a number, and an event is known by that of its last one. The ring
//! has the events in this order: one that got in between a reading and its reservation would have
//! forced another reading. So the serial number of an event is the number of committed events with
//! an earlier reading, and each actor that sees an event notes under which serial.

use crate::ring::view::RingStats;
use crate::ring::writer::ReserveError;
use crate::trail::schedule;

/// Readings of the clock in one schedule are fewer than this.
const READINGS: usize = 64;
/// Events seen in one schedule are at most this many, by consumers and viewers.
const SEEN: usize = 64;

/// The payload of an event is smaller than this.
const LARGEST: usize = 4096;

fn noise() -> Box<[u8]> {
    let mut x = 1u64;
    let next = |_| {
        x = x
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (x >> 56) as u8
    };
    (0..2 * LARGEST).map(next).collect()
}

/// Everything that happened in one schedule.
pub struct Log {
    /// Where this schedule's bytes begin in the noise.
    nonce: u64,
    noise: Box<[u8]>,
    /// Readings of the clock.
    pub readings: usize,
    /// By reading.
    times: [u64; READINGS],
    /// By reading, of events that got in.
    lens: [usize; READINGS],
    /// One bit by reading: these became events.
    committed: u64,
    /// Serials and readings.
    seen: [(u64, usize); SEEN],
    seen_count: usize,
    /// Events that the consumer read.
    pub read: u64,
    /// Reading of the last of them.
    newest_read: usize,
    /// Events that the consumer was told to be lost.
    pub lost: u64,
    refused: [u64; 6],
}

impl Log {
    pub fn new() -> Self {
        Log {
            nonce: 0,
            noise: noise(),
            readings: 0,
            times: [0; READINGS],
            lens: [0; READINGS],
            committed: 0,
            seen: [(0, 0); SEEN],
            seen_count: 0,
            read: 0,
            newest_read: 0,
            lost: 0,
            refused: [0; 6],
        }
    }

    /// Begins the next schedule.
    pub fn clear(&mut self) {
        self.nonce = (self.nonce + 1021) % LARGEST as u64;
        self.readings = 0;
        self.committed = 0;
        self.seen_count = 0;
        self.read = 0;
        self.lost = 0;
        self.refused = [0; 6];
    }

    /// Notes a reading of the clock and returns its number.
    pub fn reading(&mut self, time: u64) -> usize {
        let reading = self.readings;
        self.times[reading] = time;
        self.readings += 1;
        reading
    }

    /// Returns the bytes that only the event of `reading` in this schedule has.
    fn bytes(&self, reading: usize, len: usize) -> &[u8] {
        let at = (self.nonce as usize + reading * (LARGEST / READINGS - 3)) % LARGEST;
        &self.noise[at..at + len]
    }

    /// Makes the payload of an event: the number of its reading, then its bytes.
    pub fn fill(&self, reading: usize, payload: &mut [u8]) {
        payload.copy_from_slice(self.bytes(reading, payload.len()));
        payload[..8].copy_from_slice(&(reading as u64).to_ne_bytes());
    }

    /// Notes that the event of `reading` has `len` bytes.
    pub fn length(&mut self, reading: usize, len: usize) {
        self.lens[reading] = len;
    }

    /// Notes that the event of `reading` is final.
    pub fn commit(&mut self, reading: usize) {
        self.committed |= 1 << reading;
    }

    pub fn refuse(&mut self, why: ReserveError) {
        self.refused[why as usize] += 1;
    }

    /// Returns the reading of a decoded event; it has the time, the length and the bytes of that.
    fn known(&self, time: u64, payload: &[u8]) -> usize {
        let at = schedule;
        let reading = crate::ring::wire::long(payload, 0).unwrap() as usize;
        assert!(reading < self.readings, "event of nobody in {}", at());
        assert_eq!(time, self.times[reading], "time of {reading} in {}", at());
        let len = self.lens[reading];
        // The ring rounds up.
        let fits = (len..len + 8).contains(&payload.len());
        assert!(fits, "length of {reading} in {}", at());
        let same = payload[8..len] == self.bytes(reading, len)[8..];
        assert!(same, "bytes of {reading} in {}", at());
        reading
    }

    /// Notes that an actor decoded an event.
    pub fn see(&mut self, serial: u64, time: u64, payload: &[u8]) {
        let reading = self.known(time, payload);
        self.seen[self.seen_count] = (serial, reading);
        self.seen_count += 1;
    }

    /// Notes that the consumer decoded an event.
    pub fn consume(&mut self, serial: u64, time: u64, payload: &[u8]) {
        self.see(serial, time, payload);
        self.newest_read = self.seen[self.seen_count - 1].1;
        self.read += 1;
    }

    /// An event is in the sub-buffer that the consumer has: it is final, and if it is `unread`
    /// newer than all that was consumed.
    pub fn find(&self, time: u64, payload: &[u8], unread: bool) {
        let reading = self.known(time, payload);
        let is_final = self.committed & 1 << reading != 0;
        assert!(is_final, "{reading} is not final in {}", schedule());
        assert_eq!(
            unread,
            self.read == 0 || reading > self.newest_read,
            "{reading} is of an earlier use in {}",
            schedule()
        );
    }

    /// Returns the time of the latest committed event.
    pub fn newest(&self) -> Option<u64> {
        let reading = self.committed.checked_ilog2()?;
        Some(self.times[reading as usize])
    }

    /// Returns the number of committed events.
    pub fn written(&self) -> u64 {
        u64::from(self.committed.count_ones())
    }

    /// Judges, after all writers have ended, what was seen and what the ring counted.
    pub fn judge(&self, stats: &RingStats) {
        let at = schedule;
        for &(serial, reading) in &self.seen[..self.seen_count] {
            let bit = 1 << reading;
            assert_ne!(
                self.committed & bit,
                0,
                "{reading} was discarded in {}",
                at()
            );
            let rank = (self.committed & (bit - 1)).count_ones();
            assert_eq!(u64::from(rank), serial, "place of {reading} in {}", at());
        }
        let refused = |why| self.refused[why as usize];
        let expected = RingStats {
            written: self.written(),
            read: self.read,
            overrun: self.written() - self.read,
            commit_overrun: refused(ReserveError::CommitOverrun),
            dropped: refused(ReserveError::Full),
            recursion: refused(ReserveError::Recursion),
            too_big: refused(ReserveError::TooBig),
            clock_back: 0,
            broken: 0,
            fault: None,
            bytes: 0,
            oldest: stats.oldest,
        };
        assert_eq!(*stats, expected, "in {}", at());
        assert_eq!(self.lost, stats.overrun, "lost, not told in {}", at());
        let never = refused(ReserveError::Broken) + refused(ReserveError::Disabled);
        assert_eq!(never, 0, "refused for no reason in {}", at());
    }
}
