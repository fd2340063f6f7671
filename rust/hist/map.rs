// SPDX-License-Identifier: GPL-2.0

//! Entries by key, for writers in any context on all CPUs.
//!
//! A slot of the directory is 0 or names an entry, and changes once, from the one to the other, by one
//! `cmpxchg`; the key of the entry is there before. So there is no half of an entry: a writer that meets a
//! slot knows at once whether it is the one it looks for, waits for nothing, and never has to give up
//! because of another writer. Who comes second has an entry left over, which is the next one of its level of
//! nesting on its CPU.
//!
//! Counts are added on the CPU where the event is, without LOCK: a writer that interrupts another adds
//! before or after it. A reader adds up the CPUs. Of some sums the greatest number is kept instead, by a
//! `cmpxchg` without LOCK, and a reader takes the greatest of the CPUs.
//!
//! | invariant | |
//! |---|---|
//! | H1 | a key is in one entry |
//! | H2 | hits and drops together are the events |
//! | H3 | a slot changes once |
//! | H4 | an entry is before the first empty slot of its probe sequence |
//! | H5 | values change on their own CPU |
//! | H6 | a number of a variable that is used once is taken once |
//! | H7 | what is raised has the greatest number of those that writers had |

use crate::ring::port::{
    LocalWord,
    Port,
    SharedWord, //
};

/// Writers that can interrupt each other on a CPU: task, soft interrupt, interrupt, NMI.
pub(crate) const LEVELS: usize = 4;

/// An odd number without structure, as hash functions have: that of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Slots for each entry that there may be.
const SLOTS_PER_ENTRY: usize = 2;
/// Slots at which [`Map::count_known`] looks.
const NEAR_SLOTS: usize = 8;
/// A map with an entry for each so many slots is filling up: as a power of 2.
const FILLING_BITS: u32 = 2;

/// What a map asks of the platform besides what a ring does.
pub(crate) trait MapPort: Port {
    /// The CPU on which a writer stays.
    type Cpu<'p>: Copy;
    /// What each CPU has of a map.
    type Parts<T>;

    /// Returns what is mixed into hashes, so that users cannot choose keys that meet. It stays the same, once there is a
    /// map: a key has one hash in all of them.
    fn seed() -> u64;

    /// Returns what that CPU has.
    fn part<'a, T>(parts: &'a Self::Parts<T>, cpu: Self::Cpu<'_>) -> &'a T;

    /// Returns what all have.
    fn parts<'a, T: 'a>(parts: &'a Self::Parts<T>) -> impl Iterator<Item = &'a T>;

    /// Increments a word of a table; `None` if there is none at that place.
    #[inline(always)]
    fn increment(table: &[Self::Local], at: usize) -> Option<()> {
        table.get(at)?.increment();
        Some(())
    }

    /// Stores 0, and returns what was there: of several callers one gets it. Fully ordered; but where 0 was, nothing is
    /// stored.
    #[inline(always)]
    fn take(word: &Self::Shared) -> u64 {
        loop {
            let value = word.load();
            // Each failure is another one's success, or a new number.
            if value == 0 || word.cas(value, 0) {
                return value;
            }
        }
    }
}

/// The sizes of a map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Most entries, a power of 2. Writers that add entries at the same moment may exceed it, by one each.
    pub(crate) size: usize,
    /// Words of a key.
    pub(crate) key_words: usize,
    /// Words that the writer which makes an entry leaves there.
    pub(crate) note_words: usize,
    /// Sums of an entry, the count of events included.
    pub(crate) sums: usize,
    /// How many of them, after that count, are raised instead: what they have is the greatest number.
    pub(crate) raised: usize,
    /// Variables of an entry.
    pub(crate) variables: usize,
    /// CPUs, by the highest number.
    pub(crate) cpus: usize,
}

impl Shape {
    /// Returns the number of slots.
    pub(crate) const fn slots(&self) -> usize {
        self.size.saturating_mul(SLOTS_PER_ENTRY)
    }

    /// Returns the number of places for entries: one is left over at each level of each CPU.
    pub(crate) const fn places(&self) -> usize {
        let over = self.cpus.saturating_mul(LEVELS);
        self.size.saturating_add(over)
    }

    /// Returns the words of an entry's key and note.
    const fn row_words(&self) -> usize {
        self.key_words.saturating_add(self.note_words)
    }

    /// Returns the words of an entry that all CPUs share: its key, its note, its variables.
    pub(crate) const fn stride(&self) -> usize {
        self.row_words().saturating_add(self.variables)
    }

    /// Returns the number of such words of all entries.
    pub(crate) const fn shared_words(&self) -> usize {
        self.places().saturating_mul(self.stride())
    }

    /// Returns where a variable is among those of an entry, if there is one of that number.
    pub(crate) fn variable(&self, number: usize) -> Option<VariableAt> {
        (number < self.variables).then(|| VariableAt(self.row_words().saturating_add(number)))
    }

    /// Returns the number of words of the sums of one CPU.
    pub(crate) const fn own_words(&self) -> usize {
        self.places().saturating_mul(self.sums)
    }

    /// Returns the number of bytes of a map for so many CPUs.
    pub(crate) fn bytes(&self, cpus: usize) -> usize {
        let own = self.own_words().saturating_mul(cpus);
        let words = self.slots().saturating_add(self.shared_words());
        words.saturating_add(own).saturating_mul(8)
    }
}

/// Where a variable is among the words of an entry, in all maps of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VariableAt(usize);

impl VariableAt {
    /// Stands for none: where the key is.
    pub(crate) const FIRST: Self = Self(0);
}

/// An entry of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoundEntry {
    pub(crate) number: usize,
    /// Where its words begin.
    first: usize,
}

impl FoundEntry {
    /// Returns where a variable of it is.
    #[inline(always)]
    fn variable(self, at: VariableAt) -> usize {
        self.first.wrapping_add(at.0)
    }
}

/// What one CPU has of a map.
///
/// The second word is the one that the kernel increments in one instruction ([`LocalWord::increment`]).
#[repr(C, align(64))]
pub(crate) struct Part<P: Port> {
    drops: P::Local,
    hits: P::Local,
    sums: P::Table<P::Local>,
    /// Writers that add entries here.
    level: P::Local,
    /// For each level the entry that is left over, plus 1.
    spares: [P::Local; LEVELS],
}

impl<P: Port> Part<P> {
    /// Returns that of a CPU with these sums: [`Shape::own_words`] zeroes, or none for a CPU that cannot be.
    pub(crate) fn new(sums: P::Table<P::Local>) -> Self {
        let zero = || P::Local::new(0);
        Self {
            sums,
            level: zero(),
            spares: [zero(), zero(), zero(), zero()],
            hits: zero(),
            drops: zero(),
        }
    }
}

/// The map.
pub(crate) struct Map<P: MapPort> {
    shape: Shape,
    /// What writers need of it: the number of slots less 1, the words of an entry, its sums.
    mask: usize,
    stride: usize,
    sums: usize,
    /// In the lower half the entry plus 1, in the upper half that of the hash; or 0.
    slots: P::Table<P::Shared>,
    /// Keys, notes and variables. A variable is 0, or the number by an exclusive or with `unset`.
    keys: P::Table<P::Shared>,
    /// The number that no variable can have, for it would be 0 in the table: a writer that sets it clears the
    /// variable. It is as hard to guess as the seed.
    unset: u64,
    cpus: P::Parts<Part<P>>,
    /// Places that were given out.
    given: P::Shared,
    /// Entries in slots.
    published: P::Shared,
}

/// The hash of a key. Its lower half says where the probe sequence of the key begins, its upper half is in the slot.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct KeyHash(u64);

impl KeyHash {
    /// Returns where the probe sequence begins.
    #[inline(always)]
    fn place(self) -> usize {
        self.0 as usize
    }

    /// Returns whether the slot has the half of this hash.
    #[inline(always)]
    fn is_in(self, slot: u64) -> bool {
        (slot ^ self.0) >> u32::BITS == 0
    }

    /// Returns a slot with the half of this hash and an entry, by its number plus 1.
    fn slot(self, entry: u64) -> u64 {
        (self.0 & !u64::from(u32::MAX)) | entry
    }
}

/// What is in the first slot of the probe sequence of a key.
pub(crate) enum FirstSlot {
    /// Its entry.
    Own(FoundEntry),
    /// Nothing: it has no entry.
    Empty,
    /// Another entry: its own may be further on.
    Other,
}

/// What became of an empty slot.
enum Claim {
    /// It has the new entry.
    Own(usize),
    /// Another writer was first.
    Word(u64),
    Full,
}

impl<P: MapPort> Map<P> {
    /// Returns an empty map of these tables: [`Shape::slots`] and [`Shape::shared_words`] zeroes, and a part for each
    /// CPU.
    pub(crate) fn new(
        shape: Shape,
        slots: P::Table<P::Shared>,
        keys: P::Table<P::Shared>,
        cpus: P::Parts<Part<P>>,
    ) -> Self {
        Self {
            shape,
            mask: shape.slots().wrapping_sub(1),
            stride: shape.stride(),
            sums: shape.sums,
            slots,
            keys,
            unset: FACTOR ^ P::seed().rotate_left(u32::BITS),
            cpus,
            given: P::Shared::new(0),
            published: P::Shared::new(0),
        }
    }

    /// Counts an event with this key on this CPU, where the caller stays, and adds `added` to its sums. The
    /// writer that makes an entry leaves `note` there.
    ///
    /// A key does not begin with all of another one. Any context; an event that finds no room is a drop.
    #[inline(always)]
    pub(crate) fn count(
        &self,
        cpu: P::Cpu<'_>,
        key: &[u64],
        added: &[u64],
        note: impl FnOnce() -> [u64; 2],
    ) {
        self.count_in(cpu, key, added, note);
    }

    /// The same; returns the entry in which it was counted.
    #[inline(always)]
    pub(crate) fn count_in(
        &self,
        cpu: P::Cpu<'_>,
        key: &[u64],
        added: &[u64],
        note: impl FnOnce() -> [u64; 2],
    ) -> Option<usize> {
        let part = P::part(&self.cpus, cpu);
        let Some(entry) = self.entry(part, key, note) else {
            part.drops.increment();
            return None;
        };
        self.add_to(part, (entry, self.sums), added)?;
        Some(entry)
    }

    /// The same for a key in the first slot of its probe sequence, as most are, with `added` for all sums of the map. Of
    /// any other one nothing is counted, and `None` returned.
    #[inline(always)]
    pub(crate) fn count_first(
        &self,
        cpu: P::Cpu<'_>,
        key: &[u64],
        added: &[u64],
    ) -> Option<FoundEntry> {
        let entry = self.first(key)?;
        self.count_at(cpu, entry, added)
    }

    /// The same for a key that is near its place in the directory.
    #[inline(always)]
    pub(crate) fn count_known(
        &self,
        cpu: P::Cpu<'_>,
        key: &[u64],
        added: &[u64],
    ) -> Option<FoundEntry> {
        let entry = self.near(key)?;
        self.count_at(cpu, entry, added)
    }

    /// The same in an entry that [`Self::first_slot`] has found.
    #[inline(always)]
    pub(crate) fn count_at(
        &self,
        cpu: P::Cpu<'_>,
        entry: FoundEntry,
        added: &[u64],
    ) -> Option<FoundEntry> {
        // Known where this is inlined, as the number of sums is not.
        let sums = added.len().wrapping_add(1);
        debug_assert_eq!(sums, self.sums);
        self.add_to(P::part(&self.cpus, cpu), (entry.number, sums), added)?;
        Some(entry)
    }

    /// Adds an event to an entry, of which each has so many sums: one to its count, and `added` to those that follow it.
    #[inline(always)]
    fn add_to(&self, part: &Part<P>, (entry, sums): (usize, usize), added: &[u64]) -> Option<()> {
        let first = entry.wrapping_mul(sums);
        if added.is_empty() {
            // Nearly always, without a look at what follows the count.
            P::increment(&part.sums, first)?;
        } else {
            let (hits, sums) = part.sums.get(first..)?.split_first()?;
            hits.increment();
            for (sum, more) in sums.iter().zip(added) {
                sum.add(*more);
            }
        }
        part.hits.increment();
        Some(())
    }

    /// Returns the entry of a key that is in the first slot of its probe sequence.
    #[inline(always)]
    fn first(&self, key: &[u64]) -> Option<FoundEntry> {
        let slot = self.slots.get(Self::hash_of(key).place() & self.mask)?;
        // Acquire: pairs with the `cas` of `claim`. The key is there.
        self.named(slot.load_acquire(), key)
    }

    /// Returns what is in the first slot of the probe sequence of a key, which has this hash. Any context.
    #[inline(always)]
    pub(crate) fn first_slot(&self, key: &[u64], hash: KeyHash) -> FirstSlot {
        let Some(slot) = self.slots.get(hash.place() & self.mask) else {
            return FirstSlot::Other;
        };
        // Acquire: pairs with the `cas` of `claim`. The key is there.
        let word = slot.load_acquire();
        match self.named(word, key) {
            Some(entry) => FirstSlot::Own(entry),
            // H4: its entry would be before this one.
            None if word == 0 => FirstSlot::Empty,
            None => FirstSlot::Other,
        }
    }

    /// Returns the entry of a key that is near its place.
    #[inline(always)]
    fn near(&self, key: &[u64]) -> Option<FoundEntry> {
        let hash = Self::hash_of(key);
        let mut at = hash.place();
        let end = at.wrapping_add(NEAR_SLOTS);
        while at != end {
            // Acquire: pairs with the `cas` of `claim`. The key is there.
            let word = self.slots.get(at & self.mask)?.load_acquire();
            if word == 0 {
                return None;
            }
            if let Some(entry) = self.found(word, hash, key) {
                return Some(entry);
            }
            at = at.wrapping_add(1);
        }
        None
    }

    /// Adds what another map has of a key: its note, and its sums, of which the first is the count of events. The caller
    /// is a writer on this CPU and stays there; if there is no room these events are drops.
    pub(crate) fn absorb(&self, cpu: P::Cpu<'_>, key: &[u64], note: [u64; 2], sums: &[u64]) {
        let part = P::part(&self.cpus, cpu);
        let Some((events, _)) = sums.split_first() else {
            return;
        };
        let Some(entry) = self.entry(part, key, || note) else {
            part.drops.add(*events);
            return;
        };
        let mut sum = 0usize;
        for number in sums {
            match sum {
                0 => {
                    let word = part.sums.get(entry.wrapping_mul(self.sums));
                    word.into_iter().for_each(|word| word.add(*number));
                }
                _ => self.tally(cpu, entry, sum, *number),
            }
            sum = sum.wrapping_add(1);
        }
        part.hits.add(*events);
    }

    /// Counts events that another map had no room for. The caller is a writer on this CPU and stays there.
    pub(crate) fn absorb_drops(&self, cpu: P::Cpu<'_>, drops: u64) {
        P::part(&self.cpus, cpu).drops.add(drops);
    }

    /// Returns whether half of the room for entries is taken.
    #[inline(always)]
    pub(crate) fn is_filling(&self) -> bool {
        self.published.load() >= (self.mask as u64).wrapping_shr(FILLING_BITS)
    }

    /// Adds to a sum of an entry on this CPU, where the caller stays, or raises it to `number` if it is one of those.
    /// Any context.
    pub(crate) fn tally(&self, cpu: P::Cpu<'_>, entry: usize, sum: usize, number: u64) {
        let first = entry.wrapping_mul(self.sums);
        let part = P::part(&self.cpus, cpu);
        let Some(word) = part.sums.get(first.wrapping_add(sum)) else {
            return;
        };
        match sum <= self.shape.raised {
            true => raise(word, number),
            false => word.add(number),
        }
    }

    /// Returns where a variable of entries is, if there is one of that number: in all maps of this shape.
    pub(crate) fn variable_at(&self, number: usize) -> Option<VariableAt> {
        self.shape.variable(number)
    }

    /// Sets a variable of an entry by their numbers. Any context.
    pub(crate) fn set_variable(&self, entry: usize, variable: usize, value: u64) {
        if let Some(at) = self.variable_at(variable) {
            self.set_variable_of(self.entry_at(entry), at, value);
        }
    }

    /// Sets a variable of an entry. Any context.
    #[inline(always)]
    pub(crate) fn set_variable_of(&self, entry: FoundEntry, at: VariableAt, value: u64) {
        if let Some(word) = self.keys.get(entry.variable(at)) {
            word.store(value ^ self.unset);
        }
    }

    /// Returns the number that a variable has for this key, if it is set, and takes it away if `once`: of several
    /// readers one gets it (H6). Any context.
    pub(crate) fn variable(&self, key: &[u64], variable: usize, once: bool) -> Option<u64> {
        self.variable_of(self.find(key)?, self.variable_at(variable)?, once)
    }

    /// The same of an entry.
    #[inline(always)]
    pub(crate) fn variable_of(&self, entry: FoundEntry, at: VariableAt, once: bool) -> Option<u64> {
        let word = self.keys.get(entry.variable(at))?;
        let value = match once {
            true => P::take(word),
            false => word.load(),
        };
        (value != 0).then_some(value ^ self.unset)
    }

    /// Returns an entry by its number.
    #[inline(always)]
    pub(crate) fn entry_at(&self, number: usize) -> FoundEntry {
        FoundEntry {
            number,
            first: number.wrapping_mul(self.stride),
        }
    }

    /// Returns the entry of a key, if there is one. Any context.
    #[inline(always)]
    pub(crate) fn find(&self, key: &[u64]) -> Option<FoundEntry> {
        if key.len() > self.shape.key_words {
            return None;
        }
        match self.first(key) {
            None => Some(self.entry_at(self.find_further(key)?)),
            entry => entry,
        }
    }

    /// Returns the number of one that may not be in its first slot.
    #[inline(never)]
    fn find_further(&self, key: &[u64]) -> Option<usize> {
        let hash = Self::hash_of(key);
        let mut at = hash.place();
        for _ in 0..self.shape.slots() {
            let word = self.slots.get(at & self.mask)?.load_acquire();
            if word == 0 {
                return None;
            }
            if let Some(entry) = self.found(word, hash, key) {
                return Some(entry.number);
            }
            at = at.wrapping_add(1);
        }
        None
    }

    /// Counts an event that has no key.
    pub(crate) fn drop_one(&self, cpu: P::Cpu<'_>) {
        P::part(&self.cpus, cpu).drops.increment();
    }

    /// Returns the hash of a key, in all maps.
    #[inline(always)]
    pub(crate) fn hash_of(key: &[u64]) -> KeyHash {
        KeyHash(key.iter().fold(P::seed(), |hash, word| {
            let product = u128::from(hash ^ word).wrapping_mul(FACTOR.into());
            (product as u64) ^ (product.wrapping_shr(64) as u64)
        }))
    }

    /// Returns the entry of a key, a new one if there is none. `None` if there is no room for it.
    #[inline(always)]
    fn entry(&self, part: &Part<P>, key: &[u64], note: impl FnOnce() -> [u64; 2]) -> Option<usize> {
        let hash = Self::hash_of(key);
        let mut at = hash.place();
        let end = at.wrapping_add(self.mask).wrapping_add(1);
        while at != end {
            let slot = self.slots.get(at & self.mask)?;
            // Acquire: pairs with the `cas` of `claim`. The key is there.
            let word = slot.load_acquire();
            if word == 0 {
                return self.add(part, key, note, hash, at);
            }
            if let Some(entry) = self.found(word, hash, key) {
                return Some(entry.number);
            }
            at = at.wrapping_add(1);
        }
        None
    }

    /// Returns the entry that a slot names, if it is that of the key.
    #[inline(always)]
    fn found(&self, word: u64, hash: KeyHash, key: &[u64]) -> Option<FoundEntry> {
        if !hash.is_in(word) {
            return None;
        }
        self.named(word, key)
    }

    /// The same without a look at the half of the hash, for a slot that is most often that of the key.
    #[inline(always)]
    fn named(&self, word: u64, key: &[u64]) -> Option<FoundEntry> {
        let number = (word as u32).checked_sub(1)?;
        let entry = self.entry_at(number as usize);
        let same = match key {
            // Most often, without a look at what follows it.
            [own] => self.keys.get(entry.first)?.load() == *own,
            _ => {
                let words = self.keys.get(entry.first..)?.get(..key.len())?;
                words.iter().zip(key).all(|(word, own)| word.load() == *own)
            }
        };
        same.then_some(entry)
    }

    /// Adds an entry at the first empty slot, from slot `at` on.
    #[inline(never)]
    fn add(
        &self,
        part: &Part<P>,
        key: &[u64],
        note: impl FnOnce() -> [u64; 2],
        hash: KeyHash,
        at: usize,
    ) -> Option<usize> {
        let note = match self.shape.note_words {
            0 => [0; 2],
            _ => note(),
        };
        let mask = self.shape.slots().wrapping_sub(1);
        let mut at = at;
        for _ in 0..self.shape.slots() {
            let slot = self.slots.get(at & mask)?;
            let word = match slot.load_acquire() {
                0 => match self.claim(part, slot, key, note, hash) {
                    Claim::Own(entry) => return Some(entry),
                    Claim::Full => return None,
                    Claim::Word(word) => word,
                },
                word => word,
            };
            if let Some(entry) = self.found(word, hash, key) {
                return Some(entry.number);
            }
            at = at.wrapping_add(1);
        }
        None
    }

    /// Puts a new entry into an empty slot.
    fn claim(
        &self,
        part: &Part<P>,
        slot: &P::Shared,
        key: &[u64],
        note: [u64; 2],
        hash: KeyHash,
    ) -> Claim {
        // Acquire: pairs with the `cas` of `increment`, or the second look would see what the slot was before.
        if self.published.load_acquire() >= self.shape.size as u64 {
            // The entry that filled the map may be that of this key.
            return match slot.load_acquire() {
                0 => Claim::Full,
                word => Claim::Word(word),
            };
        }
        let level = part.level.get();
        let Some(spare) = part.spares.get(level as usize) else {
            return Claim::Full;
        };
        // A writer that interrupts between the two leaves the word as it was.
        part.level.set(level.wrapping_add(1));
        let claim = self.publish(spare, slot, key, note, hash);
        part.level.set(level);
        claim
    }

    /// The same, with what is left over at the level of the caller.
    fn publish(
        &self,
        spare: &P::Local,
        slot: &P::Shared,
        key: &[u64],
        note: [u64; 2],
        hash: KeyHash,
    ) -> Claim {
        if spare.get() == 0 {
            match self.take_place() {
                Some(place) => spare.set(place.wrapping_add(1)),
                None => return Claim::Full,
            }
        }
        let number = spare.get();
        let entry = (number as usize).wrapping_sub(1);
        let first = entry.wrapping_mul(self.shape.stride());
        let words = self.keys.get(first..).unwrap_or_default();
        let (own, rest) = words
            .split_at_checked(self.shape.key_words)
            .unwrap_or((&[], &[]));
        // All of it: what a lost attempt has left may be longer.
        let padded = key.iter().copied().chain(core::iter::repeat(0));
        own.iter()
            .zip(padded)
            .for_each(|(word, value)| word.store(value));
        let notes = rest.iter().take(self.shape.note_words).zip(note);
        notes.for_each(|(word, value)| word.store(value));
        // Fully ordered: the key is there before.
        if slot.cas(0, hash.slot(number)) {
            spare.set(0);
            increment(&self.published);
            return Claim::Own(entry);
        }
        // H3: it is another writer's for ever.
        Claim::Word(slot.load_acquire())
    }

    /// Takes a place for an entry.
    fn take_place(&self) -> Option<u64> {
        loop {
            let place = self.given.load();
            if place >= self.shape.places() as u64 {
                return None;
            }
            // Each failure is another writer's success.
            if self.given.cas(place, place.wrapping_add(1)) {
                return Some(place);
            }
        }
    }

    /// Returns the entries in slots. There may be more a moment later.
    pub(crate) fn entries(&self) -> usize {
        self.published.load() as usize
    }

    /// Calls `each` with each entry and its words: its key, its note, its sums. Stops at the first error.
    ///
    /// Writers go on meanwhile: of a sum that grows it has some value between.
    pub(crate) fn for_each_row<E>(
        &self,
        mut each: impl FnMut(usize, &mut dyn Iterator<Item = u64>) -> Result<(), E>,
    ) -> Result<(), E> {
        for slot in self.slots.iter() {
            let Some(entry) = (slot.load_acquire() as u32 as usize).checked_sub(1) else {
                continue;
            };
            let first = entry.wrapping_mul(self.shape.stride());
            let keys = self.keys.get(first..).unwrap_or_default();
            let keys = keys
                .iter()
                .take(self.shape.row_words())
                .map(P::Shared::load);
            let first = entry.wrapping_mul(self.shape.sums);
            let sums = (0..self.shape.sums).map(|sum| {
                let at = first.wrapping_add(sum);
                let parts = P::parts(&self.cpus).filter_map(|part| part.sums.get(at));
                parts.fold(0u64, |all, word| {
                    match (1..=self.shape.raised).contains(&sum) {
                        true => all.max(word.get()),
                        false => all.wrapping_add(word.get()),
                    }
                })
            });
            each(entry, &mut keys.chain(sums))?;
        }
        Ok(())
    }

    /// Returns how many events were counted, and how many found no room.
    pub(crate) fn totals(&self) -> (u64, u64) {
        P::parts(&self.cpus).fold((0, 0), |(hits, drops), part| {
            (
                hits.wrapping_add(part.hits.get()),
                drops.wrapping_add(part.drops.get()),
            )
        })
    }
}

/// Raises a word to `number`, unless it has more.
fn raise<W: LocalWord>(word: &W, number: u64) {
    loop {
        let old = word.get();
        // Each failure is the success of a writer that interrupted this one.
        if old >= number || word.cmpxchg(old, number) {
            return;
        }
    }
}

fn increment<W: SharedWord>(word: &W) {
    loop {
        let value = word.load();
        // Each failure is another writer's success.
        if word.cas(value, value.wrapping_add(1)) {
            return;
        }
    }
}
