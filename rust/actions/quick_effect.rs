// SPDX-License-Identifier: GPL-2.0

//! The effect of counters with a fast path.
//!
//! Most events are counted in the first slot of their key, without a call, so that the effect needs no frame and
//! counting is the last jump of the probe. What is not there is looked for near it, in a function of its own; whatever
//! else there is to do is done by the counter of any event.

use crate::{
    kapi::{
        percpu::{
            CpuPin,
            PinRef, //
        },
        scratch::{
            self,
            RecordToRead,
            RecordWords, //
        }, //
    },
    probes::{
        commit_counted,
        Effect,
        EventFile,
        Exit,
        FilledRecord,
        Hit,
        LightEffect,
        LightEnd, //
    }, //
};

/// What a counter reads of a record.
pub(super) trait ReadRecord<'a>: Sized {
    /// Returns it, of a record beside the ring.
    fn beside(record: RecordToRead<'a>) -> Self;

    /// Returns it, of a record in the ring. `None` if that has nothing but its words.
    fn in_ring(words: RecordWords<'a>) -> Option<Self>;
}

/// All of it.
impl<'a> ReadRecord<'a> for RecordToRead<'a> {
    #[inline(always)]
    fn beside(record: RecordToRead<'a>) -> Self {
        record
    }

    #[inline(always)]
    fn in_ring(_: RecordWords<'a>) -> Option<Self> {
        None
    }
}

/// Nothing but words.
impl<'a> ReadRecord<'a> for RecordWords<'a> {
    #[inline(always)]
    fn beside(record: RecordToRead<'a>) -> Self {
        record.words()
    }

    #[inline(always)]
    fn in_ring(words: RecordWords<'a>) -> Option<Self> {
        Some(words)
    }
}

/// Counts events of a histogram whose entries are near the first slot of their key.
///
/// Contexts: those of [`Effect`].
pub(super) trait NearCounter: Send + Sync {
    /// What counts any event of the histogram.
    type Counter: Effect;

    /// What is read of an event.
    type Record<'a>: ReadRecord<'a>;

    /// Returns what counts any event of the histogram.
    fn counter(&self) -> &Self::Counter;

    /// Counts an event. `None` if nothing is counted, because that is for [`Self::counter`].
    fn count_near(&self, file: &EventFile, record: Self::Record<'_>, pin: PinRef<'_>)
        -> Option<()>;
}

/// Counts events of a histogram whose entries are in the first slot of their key.
///
/// Contexts: those of [`Effect`].
///
/// # Safety
///
/// Where [`Self::words_end`] says so, no word that ends after it is read by [`Self::count_first`] and by
/// [`NearCounter::count_near`] of [`Self::near`].
pub(super) unsafe trait FirstCounter: Send + Sync {
    /// Whether a record's number of the task is read.
    const READS_TASK: bool = true;

    /// What counts the others.
    type Near: NearCounter;

    /// Returns what counts the others.
    fn near(&self) -> &Self::Near;

    /// Counts an event, inline. `None` if nothing is counted, because that is for [`Self::near`].
    fn count_first(
        &self,
        file: &EventFile,
        record: RecordOf<'_, Self>,
        pin: PinRef<'_>,
    ) -> Option<()>;

    /// Returns where the last word of a record ends that it needs, if it needs nothing but such words.
    fn words_end(&self) -> Option<usize> {
        None
    }
}

/// What a counter reads of an event.
pub(super) type RecordOf<'a, C> = <<C as FirstCounter>::Near as NearCounter>::Record<'a>;

/// Counts an event that is not counted in the first slot of its key.
#[inline(never)]
fn act_nearby<N: NearCounter>(
    near: &N,
    file: &EventFile,
    record: RecordToRead<'_>,
    pin: PinRef<'_>,
) {
    if near
        .count_near(file, N::Record::beside(record), pin)
        .is_none()
    {
        near.counter().act_slowly(file, record, pin);
    }
}

/// Does so for an event that it ends.
#[inline(never)]
fn end_nearby<N: NearCounter>(file: &EventFile, record: scratch::Record<'_>, near: &N, exit: Exit) {
    act_nearby(near, file, record.to_read(), exit.pin());
    commit_counted(file, record, exit);
}

/// Counts an event that is in the ring, where it is not counted in the first slot of its key, and ends it.
///
/// # Safety
///
/// No word of a record in the ring is read by [`NearCounter::count_near`] that ends after the `least_size()` of `file`.
#[inline(never)]
unsafe fn end_nearby_in_place<N: NearCounter>(
    near: &N,
    record: FilledRecord,
    file: &EventFile,
    exit: Exit,
) {
    // SAFETY: None is read that ends after that size, as the caller promises.
    let words = unsafe { record.words() };
    let read = N::Record::in_ring(words);
    let counted = read.and_then(|read| near.count_near(file, read, exit.pin()));
    match counted {
        Some(()) => record.commit(file, exit),
        None => record.commit_judged(file, exit),
    }
}

/// Counts events by the fast path of a counter.
#[repr(transparent)]
pub(super) struct QuickEffect<C>(pub(super) C);

impl<C: FirstCounter> Effect for QuickEffect<C> {
    fn is_hist(&self) -> bool {
        true
    }

    fn light_end(&self) -> Option<LightEnd> {
        Some(LightEnd::of(self))
    }

    fn act_lightly(&self, file: &EventFile, record: RecordToRead<'_>, pin: PinRef<'_>) {
        let read = RecordOf::<C>::beside(record);
        if self.0.count_first(file, read, pin).is_none() {
            act_nearby(self.0.near(), file, record, pin);
        }
    }

    fn words_end(&self) -> Option<usize> {
        self.0.words_end()
    }

    fn end_in_place(&self, record: FilledRecord, file: &EventFile, exit: Exit) {
        // SAFETY: None is read that ends after `words_end()`, as `FirstCounter` says; the file has compared that with
        // its `least_size()`, or this is not called.
        let words = unsafe { record.words() };
        let read = RecordOf::<C>::in_ring(words);
        let counted = read.and_then(|read| self.0.count_first(file, read, exit.pin()));
        match counted {
            Some(()) => record.commit(file, exit),
            // SAFETY: None is read that ends after that here, either.
            None => unsafe { end_nearby_in_place(self.0.near(), record, file, exit) },
        }
    }

    fn miss(&self, pin: &CpuPin) {
        self.0.near().counter().miss(pin);
    }

    fn act(&self, hit: &Hit<'_>, record: &[u8]) {
        self.0.near().counter().act(hit, record);
    }
}

impl<C: FirstCounter> LightEffect for QuickEffect<C> {
    const READS_TASK: bool = C::READS_TASK;

    #[inline(always)]
    fn end_lightly(&self, file: &EventFile, record: scratch::Record<'_>, exit: Exit) {
        let read = RecordOf::<C>::beside(record.to_read());
        let counted = self.0.count_first(file, read, exit.pin());
        match counted {
            Some(()) => commit_counted(file, record, exit),
            None => end_nearby(file, record, self.0.near(), exit),
        }
    }
}
