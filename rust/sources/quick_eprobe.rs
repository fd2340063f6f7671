// SPDX-License-Identifier: GPL-2.0

//! The fast path of recording an event when another one is: its arguments are numbers of that one's record, as they
//! are.

use super::{
    eprobe::EventRecorder,
    hit_counts::Counted,
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
            RecordToRead,
            WordAt, //
        }, //
    },
    probes::{
        Effect,
        EventFile,
        Hit, //
    }, //
};
use kernel::prelude::*;

/// Records events as `recorder` does.
struct QuickRecorder {
    recorder: EventRecorder,
    /// The arguments, in their order, and where the words begin that they are of.
    arguments: KVec<(WordAt, CopiedArgument)>,
    /// Where the first one is put.
    head: usize,
    size: RecordBytes,
}

/// Returns the arguments of a layout, if all of them are numbers of the record that is followed.
fn copied(layout: &ProbeLayout) -> Result<Option<KVec<(WordAt, CopiedArgument)>>> {
    let mut all = KVec::new();
    for argument in &layout.arguments {
        let Some(argument) = CopiedArgument::of(argument) else {
            return Ok(None);
        };
        let Some(at) = WordAt::new(argument.from) else {
            return Ok(None);
        };
        all.push((at, argument), GFP_KERNEL)?;
    }
    Ok(Some(all))
}

/// Returns what records as `recorder` does, and by the fast path if that can be.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn quick_recorder(recorder: EventRecorder) -> Result<KBox<dyn Effect>> {
    let layout = &recorder.shared.layout;
    let Some(arguments) = copied(layout)? else {
        return Ok(KBox::new(recorder, GFP_KERNEL)?);
    };
    let quick = QuickRecorder {
        arguments,
        head: layout.program().shape.head,
        size: RecordBytes::new(layout.size()),
        recorder,
    };
    Ok(KBox::new(quick, GFP_KERNEL)?)
}

impl Effect for QuickRecorder {
    fn is_light(&self) -> bool {
        true
    }

    // As a part of `end_lightly`, where it is called most.
    #[inline(always)]
    fn act_lightly(&self, _: &EventFile, record: RecordToRead<'_>, pin: PinRef<'_>) {
        let pin = pin.pin();
        let Some(_nested) = NestedWriter::enter(pin) else {
            return self.recorder.too_deep(pin);
        };
        self.recorder.shared.counts.count(Counted::Hit);
        // SAFETY: It is committed below, and nothing is reserved meanwhile.
        let reserved = unsafe { RecordInRing::reserve(&self.recorder.file, &self.size) };
        let Some(mut reserved) = reserved else {
            return;
        };
        let (own, mut at) = (reserved.bytes(), self.head);
        for (from, argument) in &self.arguments {
            at = argument.put(record.word(*from), own, at);
        }
        reserved.commit();
    }

    fn miss(&self, pin: &CpuPin) {
        self.recorder.miss(pin);
    }

    fn act(&self, hit: &Hit<'_>, record: &[u8]) {
        self.recorder.act(hit, record);
    }
}
