// SPDX-License-Identifier: GPL-2.0

//! Histograms: what they count in, and the effect by which an event is counted.
//!
//! A writer follows one reference to the map, in any context. The map changes as a whole when a histogram is
//! cleared: an event is in the one or in the other. It goes after the writers that may have found it.

use crate::{
    events,
    hist::{
        action::Deed,
        expr::NumberAt,
        key::{
            comm_words,
            KeyEnv, //
        },
        map::{
            Map,
            Part,
            Shape, //
        },
        plan::{
            Plan,
            COMM,
            MOST_KEYS,
            MOST_VALUES,
            MOST_WORDS, //
        },
        tracked::{
            Tracked,
            TrackedPart,
            TrackedShape, //
        }, //
    },
    kapi::{
        clock,
        cpus,
        grace_ref::GraceRef,
        pages::Budget,
        port::Kernel,
        stack,
        strings, //
    },
    probes::{
        Effect,
        Hit, //
    },
    ring::port::{
        LocalWord,
        SharedWord, //
    },
    text::clock::ClockId, //
};
use core::mem;
use kernel::{
    new_mutex,
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// What a histogram counts in.
pub(crate) struct Counts {
    pub(super) map: Map<Kernel>,
    /// What its entries keep, for each track of the plan.
    pub(super) tracked: KVec<Tracked<Kernel>>,
    /// Those variables that are strings and stacks.
    pub(super) texts: KVec<Tracked<Kernel>>,
}

/// Words of a key that a writer makes without clearing much of its stack.
pub(super) const SHORT: usize = 4;

/// A histogram.
#[pin_data]
pub(crate) struct Hist {
    /// The command, without the filter; `plan` has parts of it.
    text: KVec<u8>,
    plan: Plan,
    /// The event that it counts.
    event: u16,
    /// Those that the references of the plan name.
    sources: KVec<Arc<Hist>>,
    /// What `counts` has, for writers.
    current: GraceRef<Counts>,
    #[pin]
    counts: Mutex<KBox<Counts>>,
    /// By which event of all entries a snapshot was taken, for a plan that does that: one entry, whose words are
    /// those of a key and its note.
    taken: Option<Tracked<Kernel>>,
}

/// Returns a table of `len` zeroes.
fn zeroes<W>(len: usize, zero: impl Fn() -> W) -> Result<KVVec<W>> {
    let mut words = KVVec::with_capacity(len, GFP_KERNEL)?;
    for _ in 0..len {
        words.push(zero(), GFP_KERNEL)?;
    }
    Ok(words)
}

/// Returns what so many entries keep.
///
/// # Errors
///
/// `ENOMEM`.
fn new_tracked(shape: TrackedShape) -> Result<Tracked<Kernel>> {
    let shared = |len| zeroes(len, || SharedWord::new(0));
    let mut parts = KVVec::with_capacity(shape.cpus, GFP_KERNEL)?;
    for _ in 0..shape.cpus {
        parts.push(TrackedPart::new(), GFP_KERNEL)?;
    }
    let (places, records) = (shared(shape.entries)?, shared(shape.record_words())?);
    Ok(Tracked::new(shape, places, records, parts))
}

/// Returns one for each of `shapes`.
fn all_tracked(shapes: impl Iterator<Item = TrackedShape>) -> Result<KVec<Tracked<Kernel>>> {
    let mut all = KVec::new();
    for shape in shapes {
        all.push(new_tracked(shape)?, GFP_KERNEL)?;
    }
    Ok(all)
}

/// Returns something empty to count in by a plan.
///
/// # Errors
///
/// `ENOMEM`, before anything is allocated if there is less memory than it needs.
fn new_counts(plan: &Plan) -> Result<KBox<Counts>> {
    let shape = Shape {
        size: 1usize.wrapping_shl(plan.size_bits),
        key_words: plan.key_words(),
        note_words: plan.note_words(),
        sums: plan.sums(),
        variables: plan.variables().len(),
        cpus: cpus::most() as usize,
    };
    let tracked = |words| TrackedShape {
        entries: shape.places(),
        words,
        cpus: shape.cpus,
    };
    let tracks = || {
        let tracks = plan.kept.tracks().iter();
        tracks.map(|track| tracked(plan.kept.words_with(track)))
    };
    let texts = || plan.texts().map(|text| tracked(text.words.into()));
    let bytes = Iterator::chain(tracks(), texts()).fold(
        shape.bytes(cpus::possible().count()),
        |bytes: usize, tracked| bytes.saturating_add(tracked.bytes()),
    );
    let _budget = Budget::new(bytes.div_ceil(PAGE_SIZE) as u64)?;
    let shared = |len| zeroes(len, || SharedWord::new(0));
    let mut parts = KVVec::with_capacity(shape.cpus, GFP_KERNEL)?;
    for cpu in 0..cpus::most() {
        let len = match cpus::is_possible(cpu) {
            true => shape.own_words(),
            false => 0,
        };
        let sums = zeroes(len, || LocalWord::new(0))?;
        parts.push(Part::new(sums), GFP_KERNEL)?;
    }
    let (slots, keys) = (shared(shape.slots())?, shared(shape.shared_words())?);
    let variables = shared(shape.variable_words())?;
    let seed = clock::read(ClockId::X86Tsc);
    let map = Map::new(shape, seed, slots, (keys, variables), parts);
    let counts = Counts {
        map,
        tracked: all_tracked(tracks())?,
        texts: all_tracked(texts())?,
    };
    Ok(KBox::new(counts, GFP_KERNEL)?)
}

/// Returns what tells by which event a plan took a snapshot, if it does that.
fn new_taken(plan: &Plan) -> Result<Option<Tracked<Kernel>>> {
    let mut tracks = plan.kept.tracks().iter();
    if !tracks.any(|track| track.deed == Deed::Snapshot) {
        return Ok(None);
    }
    let shape = TrackedShape {
        entries: 1,
        words: plan.key_words().saturating_add(plan.note_words()),
        cpus: cpus::most() as usize,
    };
    new_tracked(shape).map(Some)
}

impl Counts {
    /// Copies the entries, row by row.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn rows(&self) -> Result<KVVec<u64>> {
        let kept = self.tracked.iter().fold(0usize, |words, tracked| {
            words
                .saturating_add(tracked.record_words())
                .saturating_add(1)
        });
        let row = self.map.row_words().saturating_add(kept);
        let mut words = KVVec::new();
        words.reserve(row.saturating_mul(self.map.entries()), GFP_KERNEL)?;
        self.map.for_each_row(|entry, row| -> Result {
            for word in row {
                words.push(word, GFP_KERNEL)?;
            }
            for tracked in &self.tracked {
                let at = words.len().saturating_add(1);
                for _ in 0..=tracked.record_words() {
                    words.push(0, GFP_KERNEL)?;
                }
                let (own, room) = words.split_at_mut_checked(at).unwrap_or_default();
                if tracked.read(entry, room) {
                    if let Some(is_set) = own.last_mut() {
                        *is_set = 1;
                    }
                }
            }
            Ok(())
        })?;
        Ok(words)
    }

    /// Returns how many events were counted, and how many found no room.
    pub(crate) fn totals(&self) -> (u64, u64) {
        self.map.totals()
    }
}

impl Hist {
    /// Returns an empty one of the event with this id, with the histograms that the references of the plan name.
    /// Process context.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        plan: &Plan,
        text: KVec<u8>,
        event: u16,
        sources: KVec<Arc<Hist>>,
    ) -> Result<Arc<Self>> {
        // For keys that are stacks; one that is none of them needs little of it.
        stack::prepare()?;
        let (counts, taken) = (new_counts(plan)?, new_taken(plan)?);
        let hist = Arc::pin_init(
            pin_init!(Self {
                text,
                plan: *plan,
                event,
                sources,
                current: GraceRef::none(),
                counts <- new_mutex!(counts),
                taken,
            }),
            GFP_KERNEL,
        )?;
        let counts = hist.counts.lock();
        // SAFETY: The map is in a box that `clear` alone replaces, which waits for the writers; the
        // effect by which they come here goes before the histogram.
        unsafe { hist.current.set(Some(&counts)) };
        drop(counts);
        Ok(hist)
    }

    /// Returns what it counts.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the id of the event that it counts.
    pub(crate) fn event(&self) -> u16 {
        self.event
    }

    /// Returns the histograms that it refers to, one for each reference of the plan.
    pub(crate) fn sources(&self) -> &[Arc<Hist>] {
        &self.sources
    }

    /// Returns what it counts in, for a writer. Any context.
    pub(super) fn current(&self) -> Option<&Counts> {
        self.current.get()
    }

    /// Resolves the references for an event with this key: numbers, and the strings and stacks among them by their
    /// own order, which `texts` has zeroes for. Returns whether all are set. Any context.
    #[inline(always)]
    pub(super) fn resolve<const ROW: usize>(
        &self,
        key: &[u64],
        numbers: &mut [u64],
        texts: &mut [[u64; ROW]],
    ) -> bool {
        let all = self.plan.references().iter().zip(&self.sources);
        for (place, (reference, source)) in numbers.iter_mut().zip(all) {
            let Some(counts) = source.current.get() else {
                return false;
            };
            if !texts.is_empty() && reference.shape.is_text() {
                let text = texts.get_mut(usize::from(reference.text));
                if !text.is_some_and(|room| source.read_text(counts, key, reference.variable, room))
                {
                    return false;
                }
                continue;
            }
            let variable = reference.variable.into();
            match counts.map.variable(key, variable, reference.once) {
                Some(number) => *place = number,
                None => return false,
            }
        }
        true
    }

    /// Copies the string or stack that the entry of a key has, after a word. Returns whether it has one.
    #[inline(never)]
    fn read_text(&self, counts: &Counts, key: &[u64], variable: u8, room: &mut [u64]) -> bool {
        let variable = self.plan.variables().get(usize::from(variable));
        let number = variable.and_then(|variable| variable.text.checked_sub(1));
        let text = number.and_then(|number| counts.texts.get(usize::from(number)));
        let entry = counts.map.find(key);
        match (text, entry) {
            (Some(text), Some(entry)) => text.read(entry, room),
            _ => false,
        }
    }

    /// Returns what tells by which event it took a snapshot, if it takes any.
    pub(crate) fn taken(&self) -> Option<&Tracked<Kernel>> {
        self.taken.as_ref()
    }

    /// Returns the most words that a string or stack has of those that it refers to.
    pub(super) fn referred_words(&self) -> usize {
        let all = self.plan.references().iter().zip(&self.sources);
        let words = all.filter_map(|(reference, source)| {
            let variables = source.plan.variables();
            let variable = variables.get(usize::from(reference.variable))?;
            (variable.text != 0).then_some(usize::from(variable.words))
        });
        words.max().unwrap_or(0)
    }

    /// Returns the text that the plan has parts of.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Begins again with nothing.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    pub(crate) fn clear(&self) -> Result {
        let fresh = new_counts(&self.plan)?;
        let mut counts = self.counts.lock();
        // SAFETY: The old map goes below, after the writers that may have found it; the new one is in a box
        // that goes by the same way.
        unsafe { self.current.set(Some(&fresh)) };
        let old = mem::replace(&mut *counts, fresh);
        events::synchronize();
        drop(old);
        Ok(())
    }

    /// Calls `f` with what it counts in, which goes on meanwhile.
    pub(crate) fn with_counts<R>(&self, f: impl FnOnce(&Counts) -> R) -> R {
        f(&self.counts.lock())
    }
}

/// Counts an event.
struct Counter(Arc<Hist>);

/// What a key may need besides the record.
pub(super) struct HitSurroundings<'a>(pub(super) &'a Hit<'a>);

impl KeyEnv for HitSurroundings<'_> {
    #[inline(always)]
    fn cpu(&self) -> u32 {
        self.0.pin.cpu()
    }

    fn comm(&self) -> [u8; COMM] {
        strings::comm()
    }

    fn time(&self, usecs: bool) -> u64 {
        let id = self.0.file.sink().clock();
        let time = clock::read(id);
        match usecs && id.in_ns() {
            true => time / 1000,
            false => time,
        }
    }

    fn callers(&self, room: &mut [u64]) -> usize {
        let mut used = 0usize;
        stack::with_callers(self.0.pin, self.0.file.event().owner(), |callers| {
            for (place, caller) in room.iter_mut().zip(callers) {
                *place = *caller;
                used = used.wrapping_add(1);
            }
        });
        used
    }
}

impl Effect for Counter {
    fn is_hist(&self) -> bool {
        true
    }

    fn act(&self, hit: &Hit<'_>, record: &[u8]) {
        let plan = &self.0.plan;
        let Some(counts) = self.0.current.get() else {
            return;
        };
        if let Some(number) = plan.sole_key() {
            return count_number(number, counts, hit, record);
        }
        if !plan.is_direct() {
            return match plan.key_words() <= SHORT {
                true => count_short(plan, counts, hit, record),
                false => count_long(plan, counts, hit, record),
            };
        }
        let cpu = hit.pin.cpu() as usize;
        let (mut room, mut added) = ([0; MOST_KEYS], [0; MOST_VALUES]);
        match plan.direct(record, &mut room, &mut added) {
            Some((key, added)) => counts.map.count(cpu, key, added, task_words),
            None => counts.map.drop_one(cpu),
        }
    }
}

/// Counts by one number of the record, which is what most histograms do.
#[inline(always)]
fn count_number(number: NumberAt, counts: &Counts, hit: &Hit<'_>, record: &[u8]) {
    let cpu = hit.pin.cpu() as usize;
    match number.read(record) {
        Some(key) => counts.map.count(cpu, &[key], &[], task_words),
        None => counts.map.drop_one(cpu),
    }
}

/// Returns the name of the current task, as an entry has it.
#[inline(never)]
pub(super) fn task_words() -> [u64; COMM / 8] {
    comm_words(strings::comm())
}

#[inline(never)]
fn count_short(plan: &Plan, counts: &Counts, hit: &Hit<'_>, record: &[u8]) {
    count::<SHORT>(plan, counts, hit, record);
}

#[inline(never)]
fn count_long(plan: &Plan, counts: &Counts, hit: &Hit<'_>, record: &[u8]) {
    count::<MOST_WORDS>(plan, counts, hit, record);
}

#[inline(always)]
fn count<const WORDS: usize>(plan: &Plan, counts: &Counts, hit: &Hit<'_>, record: &[u8]) {
    let env = HitSurroundings(hit);
    let cpu = hit.pin.cpu() as usize;
    let mut room = [0; WORDS];
    let Some(key) = plan.key(record, &env, &mut room) else {
        return counts.map.drop_one(cpu);
    };
    let (added, len) = plan.added(record, &env);
    let added = added.get(..len).unwrap_or_default();
    counts.map.count(cpu, key, added, task_words);
}

/// Returns what counts events in `hist`.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn counter(hist: &Arc<Hist>) -> Result<KBox<dyn Effect>> {
    Ok(KBox::new(Counter(hist.clone()), GFP_KERNEL)?)
}
