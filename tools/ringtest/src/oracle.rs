// SPDX-License-Identifier: GPL-2.0
//! What a ring must say, remembered in the simplest way: a list of all events ever committed.
//!
//! The place of an event in that list is its serial number. A reader knows the serial of what it
//! reads: one after what it read or was told to be lost. What is seen while writers are at work is
//! noted and judged at the next rest, because the list is complete only then.

use crate::ring::writer::ReserveError;

/// An event that a writer committed.
#[derive(Debug)]
pub struct Written {
    /// Number of the clock reading that gave its time. The ring has the events in this order: one
    /// that got in between a reading and its reservation would have forced another reading.
    pub order: u64,
    pub time: u64,
    pub len: usize,
}

impl Written {
    /// The byte that this event has at `i`.
    pub fn byte(order: u64, i: usize) -> u8 {
        let mixed = (order + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed.to_le_bytes()[i % 8] ^ i as u8
    }
}

/// An event that a reader saw.
pub struct Seen {
    pub serial: u64,
    pub time: u64,
    pub payload: Vec<u8>,
}

/// Refused events, by reason.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    pub disabled: u64,
    pub recursion: u64,
    pub too_big: u64,
    pub full: u64,
    pub commit_overrun: u64,
    pub broken: u64,
}

pub struct Oracle {
    all: Vec<Written>,
    fresh: Vec<Written>,
    seen: Vec<Seen>,
    /// Events that the consumer read.
    pub read: u64,
    /// Events that the consumer was told to be lost.
    pub lost: u64,
    pub refused: Refusals,
    /// Times that the clock was held.
    pub held: u64,
    /// Bits of a time that must be right.
    pub exact: u64,
}

impl Oracle {
    pub fn new() -> Self {
        Oracle {
            all: Vec::new(),
            fresh: Vec::new(),
            seen: Vec::new(),
            read: 0,
            lost: 0,
            refused: Refusals::default(),
            held: 0,
            exact: u64::MAX,
        }
    }

    /// Notes that the ring was emptied.
    pub fn reset(&mut self) {
        let exact = self.exact;
        *self = Oracle {
            exact,
            ..Self::new()
        };
    }

    pub fn committed(&mut self, event: Written) {
        self.fresh.push(event);
    }

    pub fn refuse(&mut self, why: ReserveError) {
        let r = &mut self.refused;
        *match why {
            ReserveError::Disabled => &mut r.disabled,
            ReserveError::Recursion => &mut r.recursion,
            ReserveError::TooBig => &mut r.too_big,
            ReserveError::Full => &mut r.full,
            ReserveError::CommitOverrun => &mut r.commit_overrun,
            ReserveError::Broken => &mut r.broken,
        } += 1;
    }

    pub fn saw(&mut self, seen: Seen) {
        self.seen.push(seen);
    }

    /// Serial of the next event that the consumer reads, if nothing more was lost.
    pub fn position(&self) -> u64 {
        self.read + self.lost
    }

    /// No writer is active: judges all that was seen. Returns how many events were written.
    pub fn settle(&mut self) -> u64 {
        self.fresh.sort_by_key(|e| e.order);
        self.all.append(&mut self.fresh);
        for seen in std::mem::take(&mut self.seen) {
            let serial = seen.serial;
            let event = self
                .all
                .get(serial as usize)
                .unwrap_or_else(|| panic!("event {serial} was never written"));
            assert_eq!(
                seen.time & self.exact,
                event.time & self.exact,
                "time of event {serial}"
            );
            assert!(seen.payload.len() >= event.len, "event {serial} is cut");
            let right = |(i, b): (usize, &u8)| *b == Written::byte(event.order, i);
            assert!(
                seen.payload[..event.len].iter().enumerate().all(right),
                "bytes of event {serial}"
            );
        }
        self.all.len() as u64
    }
}
