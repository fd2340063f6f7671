// SPDX-License-Identifier: GPL-2.0

//! What each entry keeps of one event: the one with the largest number so far, the last one with another number
//! than the one before, or the last one.
//!
//! A number and what is kept with it are one record, which is written before it is in place and does not
//! change while it is there: one `cmpxchg` puts it there and takes the other one out, which its writer has
//! for the next time. So the largest number stays the largest, whatever writers do at the same moment, and
//! never has the words of another event beside it.
//!
//! | invariant | |
//! |---|---|
//! | K1 | a record is in one entry, or one writer's |
//! | K2 | one that is in an entry does not change |
//! | K3 | by [`Rule::Larger`] the numbers of an entry grow |

use super::map::LEVELS;
use crate::ring::port::{
    LocalWord,
    Port,
    SharedWord, //
};

/// What takes the place of the number that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Larger,
    Other,
    Any,
}

impl Rule {
    /// Returns whether `new` does. An entry without a record has 0.
    #[inline(always)]
    fn takes(self, old: u64, new: u64) -> bool {
        match self {
            Self::Larger => new > old,
            Self::Other => new != old,
            Self::Any => true,
        }
    }
}

/// The records that the writers of one CPU have, by their nesting.
pub(crate) struct TrackedPart<P: Port> {
    level: P::Local,
    /// The record plus 1, or 0 for the one that it has from the beginning.
    spares: [P::Local; LEVELS],
}

impl<P: Port> TrackedPart<P> {
    /// Returns that of a CPU.
    pub(crate) fn new() -> Self {
        let zero = || P::Local::new(0);
        Self {
            level: zero(),
            spares: [zero(), zero(), zero(), zero()],
        }
    }
}

/// The sizes of what entries keep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrackedShape {
    pub(crate) entries: usize,
    /// Words that are kept with a number.
    pub(crate) words: usize,
    pub(crate) cpus: usize,
}

impl TrackedShape {
    /// Returns the number of words of a record: the number comes first.
    const fn stride(&self) -> usize {
        self.words.saturating_add(1)
    }

    /// Returns the number of words of all records: one for each entry, and one for each level of each CPU.
    pub(crate) const fn record_words(&self) -> usize {
        let spares = self.cpus.saturating_mul(LEVELS);
        let records = self.entries.saturating_add(spares);
        records.saturating_mul(self.stride())
    }

    /// Returns the number of bytes of all of it.
    pub(crate) const fn bytes(&self) -> usize {
        let words = self.entries.saturating_add(self.record_words());
        words.saturating_mul(8)
    }
}

/// What the entries keep.
pub(crate) struct TrackedFields<P: Port> {
    shape: TrackedShape,
    /// Words of a record.
    stride: usize,
    /// For each entry: in the lower half its record plus 1, in the upper half how often it changed; or 0.
    places: P::Table<P::Shared>,
    records: P::Table<P::Shared>,
    parts: P::Table<TrackedPart<P>>,
}

/// Returns the record that a place names.
fn record_of(place: u64) -> Option<usize> {
    (place as u32 as usize).checked_sub(1)
}

impl<P: Port> TrackedFields<P> {
    /// Returns one that has kept nothing yet, of these tables: a zero for each entry,
    /// [`TrackedShape::record_words`] zeroes, and a part for each CPU.
    pub(crate) fn new(
        shape: TrackedShape,
        places: P::Table<P::Shared>,
        records: P::Table<P::Shared>,
        parts: P::Table<TrackedPart<P>>,
    ) -> Self {
        Self {
            shape,
            stride: shape.stride(),
            places,
            records,
            parts,
        }
    }

    /// Offers a number to an entry. If it takes the place of the one that is there, `fill` is called to write
    /// what is kept with it, and true is returned if no other writer was faster with a better one.
    ///
    /// The caller stays on `cpu`. Any context.
    #[inline(always)]
    pub(crate) fn offer(
        &self,
        cpu: usize,
        (entry, number): (usize, u64),
        rule: Rule,
        fill: impl FnOnce(&[P::Shared]),
    ) -> bool {
        let Some(place) = self.places.get(entry) else {
            return false;
        };
        match self.beaten(place, number, rule) {
            None => false,
            Some(seen) => self.put(cpu, (entry, number), rule, (place, seen), fill),
        }
    }

    /// Returns what the place has, if `number` may take it.
    #[inline(always)]
    fn beaten(&self, place: &P::Shared, number: u64, rule: Rule) -> Option<u64> {
        loop {
            let seen = place.load_acquire();
            let old = match record_of(seen) {
                // It is not asked for.
                _ if rule == Rule::Any => return Some(seen),
                None => 0,
                // Acquire: the second look comes after it.
                Some(record) => self
                    .record(record)
                    .first()
                    .map_or(0, SharedWord::load_acquire),
            };
            // It is another writer's by now if the place changed (K2).
            if place.load_acquire() == seen {
                return rule.takes(old, number).then_some(seen);
            }
        }
    }

    fn record(&self, record: usize) -> &[P::Shared] {
        let words = self.records.get(record.wrapping_mul(self.stride)..);
        words
            .and_then(|words| words.get(..self.stride))
            .unwrap_or(&[])
    }

    #[inline(never)]
    fn put(
        &self,
        cpu: usize,
        (entry, number): (usize, u64),
        rule: Rule,
        (place, seen): (&P::Shared, u64),
        fill: impl FnOnce(&[P::Shared]),
    ) -> bool {
        let Some(part) = self.parts.get(cpu) else {
            return false;
        };
        let level = part.level.get();
        let Some(spare) = part.spares.get(level as usize) else {
            return false;
        };
        // A writer that interrupts between the two leaves the word as it was.
        part.level.set(level.wrapping_add(1));
        let record = match record_of(spare.get()) {
            Some(record) => record,
            None => {
                let before = cpu.wrapping_mul(LEVELS).wrapping_add(level as usize);
                self.shape.entries.wrapping_add(before)
            }
        };
        if let Some((first, rest)) = self.record(record).split_first() {
            // Release: a writer that sees it sees that the record is in no place any more.
            first.store_release(number);
            fill(rest);
        }
        let mut seen = seen;
        let won = loop {
            let changes = (seen >> 32).wrapping_add(1);
            let new = (changes << 32) | (record as u64).wrapping_add(1);
            // Fully ordered: the record is written before.
            if place.cas(seen, new) {
                // The first time an entry gives away the record that is its own.
                let old = record_of(seen).unwrap_or(entry);
                spare.set((old as u64).wrapping_add(1));
                break true;
            }
            // Each failure is another writer's success.
            match self.beaten(place, number, rule) {
                Some(again) => seen = again,
                None => break false,
            }
        };
        part.level.set(level);
        won
    }

    /// Copies what an entry keeps: its number and the words with it. Returns whether there is something. Any
    /// context.
    pub(crate) fn read(&self, entry: usize, room: &mut [u64]) -> bool {
        loop {
            let Some(place) = self.places.get(entry) else {
                return false;
            };
            let seen = place.load_acquire();
            let Some(record) = record_of(seen) else {
                return false;
            };
            for (to, from) in room.iter_mut().zip(self.record(record)) {
                *to = from.load();
            }
            P::read_barrier();
            // Each failure is a writer's success.
            if place.load() == seen {
                return true;
            }
        }
    }

    /// Returns the number of words that [`Self::read`] copies.
    pub(crate) fn record_words(&self) -> usize {
        self.stride
    }
}
