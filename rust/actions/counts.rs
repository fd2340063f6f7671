// SPDX-License-Identifier: GPL-2.0

//! What histograms count in.
//!
//! A writer follows one reference to the map, in any context. The map changes as a whole when a histogram is
//! cleared: an event is in the one or in the other. It goes after the writers that may have found it.
//!
//! A poller that waits for the next hit takes that reference away. The first writer that misses it puts it back
//! and wakes the poller: other writers pay nothing for pollers.

use super::growth::{
    AbsorbedRow,
    Growth, //
};
use crate::{
    events,
    hist::{
        action::Deed,
        map::{
            Map,
            MapPort,
            Part,
            Shape,
            VariableAt, //
        },
        plan::Plan,
        tracked::{
            TrackedFields,
            TrackedPart,
            TrackedShape, //
        }, //
    },
    kapi::{
        clock,
        cpus,
        grace_ref::GraceRef,
        pages::Budget,
        percpu::{
            CpuPin,
            PerCpu,
            PinRef, //
        },
        port::Kernel,
        wait::Poller,
        waker::Waker,
        words::{
            LocalU64,
            SharedU64, //
        }, //
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

/// What is mixed into the hashes of keys, once there is a map.
static SEED: SharedU64 = SharedU64::zero();

impl MapPort for Kernel {
    type Cpu<'p> = PinRef<'p>;
    type Parts<T> = PerCpu<T>;

    #[inline(always)]
    fn seed() -> u64 {
        SEED.load()
    }

    #[inline(always)]
    fn part<'a, T>(parts: &'a PerCpu<T>, pin: PinRef<'_>) -> &'a T {
        parts.this(pin.pin())
    }

    fn parts<'a, T: 'a>(parts: &'a PerCpu<T>) -> impl Iterator<Item = &'a T> {
        parts.iter()
    }

    #[inline(always)]
    fn increment(table: &[LocalU64], at: usize) -> Option<()> {
        LocalU64::increment_at(table, at)
    }

    #[inline(always)]
    fn take(word: &SharedU64) -> u64 {
        match word.load() {
            // Without a locked instruction: that of an event whose first one has not come.
            0 => 0,
            _ => word.take(),
        }
    }
}

/// A map, and what its entries keep.
pub(crate) struct Counts {
    pub(super) map: Map<Kernel>,
    /// What its entries keep, for each track of the plan.
    pub(super) tracked: KVec<TrackedFields<Kernel>>,
    /// Those variables that are strings and stacks.
    pub(super) texts: KVec<TrackedFields<Kernel>>,
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
fn new_tracked(shape: TrackedShape) -> Result<TrackedFields<Kernel>> {
    let shared = |len| zeroes(len, || SharedWord::new(0));
    let mut parts = KVVec::with_capacity(shape.cpus, GFP_KERNEL)?;
    for _ in 0..shape.cpus {
        parts.push(TrackedPart::new(), GFP_KERNEL)?;
    }
    let (places, records) = (shared(shape.entries)?, shared(shape.record_words())?);
    Ok(TrackedFields::new(shape, places, records, parts))
}

/// Returns one for each of `shapes`.
fn all_tracked(shapes: impl Iterator<Item = TrackedShape>) -> Result<KVec<TrackedFields<Kernel>>> {
    let mut all = KVec::new();
    for shape in shapes {
        all.push(new_tracked(shape)?, GFP_KERNEL)?;
    }
    Ok(all)
}

/// Returns something empty to count in by a plan, of that size as a power of 2.
///
/// # Errors
///
/// `ENOMEM`, before anything is allocated if there is less memory than it needs.
fn new_counts(plan: &Plan, size_bits: u32) -> Result<KBox<Counts>> {
    let shape = Shape {
        size: 1usize.wrapping_shl(size_bits),
        key_words: plan.key_words(),
        note_words: plan.note_words(),
        sums: plan.sums(),
        raised: plan.raised(),
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
    let parts = PerCpu::new(|_| {
        let sums = zeroes(shape.own_words(), || LocalWord::new(0))?;
        Ok(Part::new(sums))
    })?;
    let (slots, keys) = (shared(shape.slots())?, shared(shape.shared_words())?);
    // That of the first one stays.
    SEED.cas(0, clock::read(ClockId::X86Tsc));
    let map = Map::new(shape, slots, keys, parts);
    let counts = Counts {
        map,
        tracked: all_tracked(tracks())?,
        texts: all_tracked(texts())?,
    };
    Ok(KBox::new(counts, GFP_KERNEL)?)
}

/// Returns what tells by which event a plan took a snapshot, if it does that.
fn new_taken(plan: &Plan) -> Result<Option<TrackedFields<Kernel>>> {
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
    /// Copies the entries, row by row, with what they keep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn rows(&self, plan: &Plan) -> Result<KVVec<u64>> {
        let (kept, shared) = (
            &plan.kept,
            plan.key_words().saturating_add(plan.note_words()),
        );
        let row_words = shared.saturating_add(plan.row_sums());
        let row_words = row_words.saturating_add(kept.row_words());
        // Those of an entry.
        let mut sums = KVVec::from_elem(0, plan.sums(), GFP_KERNEL)?;
        let mut words = KVVec::new();
        words.reserve(row_words.saturating_mul(self.map.entries()), GFP_KERNEL)?;
        let mut own = KVec::from_elem(0, kept.row_words(), GFP_KERNEL)?;
        self.map.for_each_row(|entry, row| -> Result {
            for word in (0..shared).map_while(|_| row.next()) {
                words.push(word, GFP_KERNEL)?;
            }
            for (place, sum) in sums.iter_mut().zip(row) {
                *place = sum;
            }
            plan.settle(&sums, |word| words.push(word, GFP_KERNEL))?;
            for (tracked, (_, place)) in self.tracked.iter().zip(kept.places()) {
                let room = own.get_mut(place).unwrap_or_default();
                room.fill(0);
                if let Some((is_set, room)) = room.split_first_mut() {
                    *is_set = tracked.read(entry, room).into();
                }
            }
            words.extend_from_slice(&own, GFP_KERNEL)?;
            Ok(())
        })?;
        Ok(words)
    }

    /// Returns how many events were counted, and how many found no room.
    pub(crate) fn totals(&self) -> (u64, u64) {
        self.map.totals()
    }
}

/// What a histogram counts in, or all histograms of one name.
#[pin_data]
pub(crate) struct SharedCounts {
    /// What `counts` has.
    current: GraceRef<Counts>,
    /// The same for writers that count; none while a poller waits for one.
    unwatched: GraceRef<Counts>,
    #[pin]
    counts: Mutex<KBox<Counts>>,
    /// By which event of all entries a snapshot was taken, for a plan that does that: one entry, whose words are
    /// those of a key and its note.
    taken: Option<TrackedFields<Kernel>>,
    growth: Growth,
    #[pin]
    waker: Waker,
}

impl SharedCounts {
    /// Returns empty ones for a plan. Process context.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(plan: &Plan) -> Result<Arc<Self>> {
        let (counts, taken) = (new_counts(plan, plan.size_bits)?, new_taken(plan)?);
        let shared = Arc::pin_init(
            pin_init!(Self {
                current: GraceRef::none(),
                unwatched: GraceRef::none(),
                counts <- new_mutex!(counts),
                taken,
                growth: Growth::new(plan),
                waker <- Waker::new(),
            }),
            GFP_KERNEL,
        )?;
        let counts = shared.counts.lock();
        // SAFETY: `clear` alone replaces the box; the effects by which writers come here go before this does.
        unsafe { shared.set(&counts) };
        drop(counts);
        Ok(shared)
    }

    /// Has writers follow `counts` from now on.
    ///
    /// # Safety
    ///
    /// As for [`GraceRef::set`].
    unsafe fn set(&self, counts: &Counts) {
        // SAFETY: They stay as the caller promises.
        unsafe { self.current.set(Some(counts)) };
        // SAFETY: They stay as the caller promises.
        unsafe { self.unwatched.set(Some(counts)) };
    }

    /// Returns them, for a writer that counts an event. Any context.
    #[inline(always)]
    pub(super) fn to_count(&self) -> Option<&Counts> {
        match self.unwatched.get() {
            None => self.first(),
            counts => counts,
        }
    }

    /// Counts an event that cannot be counted by a key. Any context.
    #[cold]
    pub(super) fn drop_one(&self, pin: &CpuPin) {
        if let Some(counts) = self.to_count() {
            counts.map.drop_one(pin.by_value());
        }
    }

    /// Returns them, unless a poller waits for a writer that [`Self::to_count`] has them.
    #[inline(always)]
    pub(super) fn if_unwatched(&self) -> Option<&Counts> {
        self.unwatched.get()
    }

    /// Returns them for the first writer after a poller came, which is woken.
    #[cold]
    #[inline(never)]
    fn first(&self) -> Option<&Counts> {
        let counts = self.current.get()?;
        // SAFETY: `clear` replaces both references before it waits for this writer, and holds the lock until then,
        // without which no poller takes the reference away again: a map that goes is never put back.
        unsafe { self.unwatched.restore(counts) };
        self.waker.published();
        Some(counts)
    }

    /// Returns them, for a writer that looks something up. Any context.
    #[inline(always)]
    pub(super) fn current(&self) -> Option<&Counts> {
        self.current.get()
    }

    /// Returns what tells by which event a snapshot was taken, if any is.
    pub(crate) fn taken(&self) -> Option<&TrackedFields<Kernel>> {
        self.taken.as_ref()
    }

    /// Begins again with nothing.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    pub(super) fn clear(&self, plan: &Plan) -> Result {
        self.take(plan).map(drop)
    }

    /// Returns what was counted, and begins again with nothing: an event is in the one or in the other. Waits
    /// for the writers that count. Process context.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    pub(super) fn take(&self, plan: &Plan) -> Result<KBox<Counts>> {
        let fresh = new_counts(plan, plan.size_bits)?;
        let mut counts = self.counts.lock();
        // SAFETY: The caller gets the old map below, after the writers that may have found it; the new one is in
        // a box that goes by the same way.
        unsafe { self.set(&fresh) };
        let old = mem::replace(&mut *counts, fresh);
        events::synchronize();
        self.growth.begin(plan);
        drop(counts);
        // A poller may wait for a reference that was put back above.
        self.waker.wake_all();
        Ok(old)
    }

    /// Returns whether there should be more room for entries soon. Any context.
    #[inline(always)]
    pub(super) fn wants_room(&self) -> bool {
        self.growth.may_go_on() && self.current().is_some_and(|counts| counts.map.is_filling())
    }

    /// Makes room for more entries, if that is wanted: what was counted goes on in a larger map. Waits for the
    /// writers that count in the smaller one, as readers do meanwhile. Process context.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed; more room is not wanted again before the next [`Self::take`].
    pub(crate) fn grow(&self, plan: &Plan) -> Result {
        let mut counts = self.counts.lock();
        if !self.wants_room() {
            return Ok(());
        }
        // Both, or it has not grown: what is wanted next goes by how large the map is.
        let made = self
            .growth
            .next(|bits| Ok((new_counts(plan, bits)?, AbsorbedRow::new(plan)?)));
        let (larger, mut row) = made?;
        // SAFETY: The smaller one goes below, after the writers that may have found it; the larger one is in the
        // box from then on.
        unsafe { self.set(&larger) };
        let old = mem::replace(&mut *counts, larger);
        events::synchronize();
        row.absorb_all(&old.map, &counts.map);
        drop(counts);
        // A poller may wait for a reference that was put back above.
        self.waker.wake_all();
        Ok(())
    }

    /// Returns where entries have a variable. Process context.
    pub(super) fn variable_at(&self, number: usize) -> Option<VariableAt> {
        self.with(|counts| counts.map.variable_at(number))
    }

    /// Calls `f` with them; writers go on meanwhile.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&Counts) -> R) -> R {
        f(&self.counts.lock())
    }

    /// Returns how many events were counted. Process context.
    pub(crate) fn hits(&self) -> u64 {
        self.with(|counts| counts.totals().0)
    }

    /// Has `poller` woken by the next event that is counted. Events of writers that began before may be counted
    /// without a word until a grace period has passed. Process context.
    pub(crate) fn watch(&self, poller: &Poller<'_>) {
        poller.watch(self.waker.pollers());
        // Before the reference goes: the writer that puts it back finds the wish. If it was granted meanwhile, the
        // poller is awake.
        self.waker.poll(|| false);
        let counts = self.counts.lock();
        self.unwatched.clear();
        drop(counts);
    }
}
