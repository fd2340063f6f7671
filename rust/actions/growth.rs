// SPDX-License-Identifier: GPL-2.0

//! Histograms that grow: `size=auto`.
//!
//! The writer that finds half of the room for entries taken has the worker of its instance make a map of four
//! times the size. Writers count there from then on. When those have gone that may still count in the smaller one,
//! the worker adds what that has, entry by entry, as a writer: an event is in one of the two, and then in the
//! larger one. What comes before there is more room may find none, and is a drop.

use super::counts::SharedCounts;
use crate::{
    hist::{
        map::Map,
        plan::{
            Plan,
            COMM, //
        }, //
    },
    kapi::{
        c,
        percpu::{
            CpuPin,
            PinRef, //
        },
        port::Kernel,
        scratch::RecordToRead, //
    },
    probes::{
        Effect,
        EventFile,
        Hit,
        LightEffect,
        LightEnd,
        WANT_ROOM, //
    }, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// How much larger the next map is, as a power of 2, and the largest one: four times what ftrace takes.
const STEP_BITS: u32 = 2;
const MOST_BITS: u32 = 19;

/// How large a map has become. Changed under the lock of the counts.
pub(super) struct Growth {
    /// The size as a power of 2; 0 for one that does not grow any more.
    bits: Atomic<u32>,
}

impl Growth {
    /// Returns that of the first map of a plan.
    pub(super) fn new(plan: &Plan) -> Self {
        let growth = Self {
            bits: Atomic::new(0),
        };
        growth.begin(plan);
        growth
    }

    /// Begins again with the first map of a plan.
    pub(super) fn begin(&self, plan: &Plan) {
        let bits = match plan.grows {
            true => plan.size_bits,
            false => 0,
        };
        self.bits.store(bits, Relaxed);
    }

    /// Returns whether a larger map may be made. Any context.
    #[inline(always)]
    pub(super) fn may_go_on(&self) -> bool {
        self.bits.load(Relaxed) != 0
    }

    /// Returns what `make` makes for the next size. It is the last one if there is no memory for it, or if none is
    /// larger.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    pub(super) fn next<T>(&self, make: impl FnOnce(u32) -> Result<T>) -> Result<T> {
        let bits = self.bits.load(Relaxed).saturating_add(STEP_BITS);
        let made = make(bits);
        let next = match made.is_ok() && bits.saturating_add(STEP_BITS) <= MOST_BITS {
            true => bits,
            false => 0,
        };
        self.bits.store(next, Relaxed);
        made
    }
}

/// Room for the words of an entry that one map takes from another.
pub(super) struct AbsorbedRow {
    words: KVec<u64>,
    key_words: usize,
    note_words: usize,
    is_variable: bool,
}

impl AbsorbedRow {
    /// Returns that for the maps of a plan.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(plan: &Plan) -> Result<Self> {
        let words = plan.key_words().saturating_add(plan.note_words());
        let words = words.saturating_add(plan.sums());
        Ok(Self {
            words: KVec::from_elem(0, words, GFP_KERNEL)?,
            key_words: plan.key_words(),
            note_words: plan.note_words(),
            is_variable: plan.is_variable(),
        })
    }

    /// Adds all that `old` has, in which no writer counts any more, to `new`. Sleeps.
    pub(super) fn absorb_all(&mut self, old: &Map<Kernel>, new: &Map<Kernel>) {
        let absorbed = old.for_each_row(|_, row| -> Result<(), ()> {
            for (place, word) in self.words.iter_mut().zip(row) {
                *place = word;
            }
            CpuPin::with(|pin| self.absorb(pin, new));
            c::rt_cond_resched();
            Ok(())
        });
        debug_assert!(absorbed.is_ok());
        let (_, drops) = old.totals();
        CpuPin::with(|pin| new.absorb_drops(pin.by_value(), drops));
    }

    fn absorb(&self, pin: &CpuPin, new: &Map<Kernel>) {
        let rest = self.words.split_at_checked(self.key_words);
        let (key, rest) = rest.unwrap_or_default();
        let (kept, sums) = rest.split_at_checked(self.note_words).unwrap_or_default();
        let used = match self.is_variable {
            true => key.first().map_or(0, |used| *used as usize),
            false => self.key_words,
        };
        let mut note = [0; COMM / 8];
        for (place, word) in note.iter_mut().zip(kept) {
            *place = *word;
        }
        let key = key.get(..used).unwrap_or(key);
        new.absorb(pin.by_value(), key, note, sums);
    }
}

/// Counts, and wants more room.
struct GrowingCounter {
    counter: KBox<dyn Effect>,
    counts: Arc<SharedCounts>,
}

impl GrowingCounter {
    #[inline(always)]
    fn look(&self, file: &EventFile) {
        if self.counts.wants_room() {
            file.sink().want(WANT_ROOM);
        }
    }
}

impl Effect for GrowingCounter {
    fn is_hist(&self) -> bool {
        true
    }

    fn light_end(&self) -> Option<LightEnd> {
        self.counter.light_end().map(|_| LightEnd::of(self))
    }

    fn needs_callers(&self) -> bool {
        self.counter.needs_callers()
    }

    // As a part of its `LightEnd`, where it is called most.
    #[inline(always)]
    fn act_lightly(&self, file: &EventFile, record: RecordToRead<'_>, pin: PinRef<'_>) {
        self.counter.act_lightly(file, record, pin);
        self.look(file);
    }

    fn miss(&self, pin: &CpuPin) {
        self.counter.miss(pin);
    }

    fn act(&self, hit: &Hit<'_>, record: &[u8]) {
        self.counter.act(hit, record);
        self.look(hit.file);
    }
}

impl LightEffect for GrowingCounter {}

/// Returns what counts events as `counter` does, in `counts` that grow.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn growing_counter(
    counter: KBox<dyn Effect>,
    counts: Arc<SharedCounts>,
) -> Result<KBox<dyn Effect>> {
    Ok(KBox::new(GrowingCounter { counter, counts }, GFP_KERNEL)?)
}
