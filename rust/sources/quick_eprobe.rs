// SPDX-License-Identifier: GPL-2.0

//! The fast path of recording an event when another one is: its arguments are numbers of that one's record, as they
//! are.

use super::{
    eprobe::EventRecorder,
    hit_counts::HitKind,
    probe::{
        RecordBytes,
        RecordInRing, //
    },
    probe_layout::ProbeLayout, //
};
use crate::{
    fetch::copied::CopiedArgument,
    kapi::{
        nesting::NestedWriter,
        percpu::{
            CpuPin,
            PinRef, //
        },
        scratch::{
            PlacedWord, //
            RecordToRead,
        }, //
    },
    probes::{
        Effect,
        EventFile,
        Hit,
        LightEffect,
        LightEnd,
        COMMON, //
    }, //
};
use kernel::prelude::*;

/// The bytes of the shortest record that the ring's fast path takes. It gives as much room to a shorter one.
const SHORTEST: usize = 12;

/// What is after the common fields of a record.
trait CopiedFields: Send + Sync + 'static {
    /// Fills `own` after the common fields, of the record that is followed.
    fn fill(&self, followed: &RecordToRead<'_>, own: &mut [u8]);
}

/// Nothing is, but what the ring has room for.
struct NoFields;

impl CopiedFields for NoFields {
    #[inline(always)]
    fn fill(&self, _: &RecordToRead<'_>, own: &mut [u8]) {
        let rest = own.get_mut(COMMON..SHORTEST);
        if let Some(rest) = rest.and_then(<[u8]>::first_chunk_mut) {
            *rest = [0; SHORTEST - COMMON];
        }
    }
}

/// The arguments, in their order, and where the words begin that they are of.
struct CopiedArguments(KVec<(PlacedWord, CopiedArgument)>);

impl CopiedFields for CopiedArguments {
    #[inline(always)]
    fn fill(&self, followed: &RecordToRead<'_>, own: &mut [u8]) {
        for (from, argument) in &self.0 {
            argument.put(followed.word(*from), own);
        }
    }
}

/// Records events as `recorder` does.
struct QuickRecorder<F> {
    recorder: EventRecorder,
    fields: F,
    size: RecordBytes,
}

impl<F: CopiedFields> QuickRecorder<F> {
    /// Returns one for records of `size` bytes, boxed.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn boxed(recorder: EventRecorder, fields: F, size: usize) -> Result<KBox<dyn Effect>> {
        let size = RecordBytes::new(size);
        let this = Self {
            recorder,
            fields,
            size,
        };
        Ok(KBox::new(this, GFP_KERNEL)?)
    }
}

/// Returns the arguments of a layout, if all of them are numbers of the record that is followed.
fn copied(layout: &ProbeLayout) -> Result<Option<CopiedArguments>> {
    let mut all = KVec::new();
    for (argument, to) in layout.placed() {
        let Some(copied) = CopiedArgument::of(argument, to) else {
            return Ok(None);
        };
        let Some(at) = PlacedWord::new(copied.from) else {
            return Ok(None);
        };
        all.push((at, copied), GFP_KERNEL)?;
    }
    Ok(Some(CopiedArguments(all)))
}

/// Returns what records as `recorder` does, and by the fast path if that can be.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn quick_recorder(recorder: EventRecorder) -> Result<KBox<dyn Effect>> {
    let layout = &recorder.shared.layout;
    let size = layout.size();
    match copied(layout)? {
        None => Ok(KBox::new(recorder, GFP_KERNEL)?),
        Some(CopiedArguments(none)) if none.is_empty() => {
            QuickRecorder::boxed(recorder, NoFields, size.max(SHORTEST))
        }
        Some(arguments) => QuickRecorder::boxed(recorder, arguments, size),
    }
}

impl<F: CopiedFields> Effect for QuickRecorder<F> {
    fn light_end(&self) -> Option<LightEnd> {
        Some(LightEnd::of(self))
    }

    // As a part of its `LightEnd`, where it is called most.
    #[inline(always)]
    fn act_lightly(&self, _: &EventFile, record: RecordToRead<'_>, pin: PinRef<'_>) {
        let pin = pin.pin();
        let Some(_nested) = NestedWriter::enter(pin) else {
            return self.recorder.too_deep(pin);
        };
        self.recorder.shared.hits.counts.count(HitKind::Hit);
        // SAFETY: It is committed below, and nothing is reserved meanwhile.
        let reserved = unsafe { RecordInRing::reserve(&self.recorder.file, &self.size) };
        let Some(mut reserved) = reserved else {
            return;
        };
        self.fields.fill(&record, reserved.bytes());
        reserved.commit();
    }

    fn miss(&self, pin: &CpuPin) {
        self.recorder.miss(pin);
    }

    fn act(&self, hit: &Hit<'_>, record: &[u8]) {
        self.recorder.act(hit, record);
    }
}

impl<F: CopiedFields> LightEffect for QuickRecorder<F> {}
