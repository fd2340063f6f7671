// SPDX-License-Identifier: GPL-2.0

//! Events that rtrace makes itself: no tracepoint of the kernel does. One of the rows of [`super::KINDS`].
//!
//! Such an event is a static of the file that makes it, and a row of [`ALL`]. It records wherever it is
//! enabled.

use super::{
    osnoise,
    targets::RecordTargets,
    LoadContext, //
    SourceKind,
};
use crate::{
    event::{
        field::DeclaredField,
        format, //
    },
    events::{
        next_id,
        publish,
        Attachment,
        Event,
        Fields,
        PrintManner,
        Printer,
        Source, //
    },
    kapi::percpu::CpuPin,
    text::writer::ByteWrite, //
};
use kernel::{
    fmt,
    prelude::*, //
};

/// All of them, in the order of their ids.
static ALL: &[&OwnEvent] = &[
    &osnoise::SAMPLE_THRESHOLD,
    &osnoise::IRQ_NOISE,
    &osnoise::SOFTIRQ_NOISE,
    &osnoise::THREAD_NOISE,
    &osnoise::OSNOISE_SAMPLE,
    &osnoise::TIMERLAT_SAMPLE,
];

crate::kapi::global::global_mutex! {
    static CHANGES: Mutex<()> = ();
}

/// Writes the text of a record.
pub(super) type WriteRecord = fn(&[u8], &mut dyn ByteWrite) -> fmt::Result;

/// An event.
pub(crate) struct OwnEvent {
    pub(super) names: (&'static str, &'static str),
    pub(super) fields: &'static [DeclaredField<'static>],
    pub(super) print_fmt: &'static str,
    /// Bytes of a record without its dynamic arrays.
    pub(super) size: usize,
    pub(super) write: WriteRecord,
    /// Changed under [`CHANGES`].
    pub(super) targets: RecordTargets,
}

impl OwnEvent {
    /// Returns whether it is enabled somewhere. Any context.
    #[inline(always)]
    pub(super) fn is_on(&self) -> bool {
        self.targets.may_be()
    }

    /// Records one of `more` bytes beyond [`Self::size`], of which `fill` writes those after the common fields,
    /// wherever it is enabled. Any context, with preemption disabled once.
    #[inline(always)]
    pub(super) fn record(&self, more: usize, fill: impl Fn(&mut [u8])) {
        if !self.is_on() {
            return;
        }
        let size = self.size.saturating_add(more);
        // SAFETY: Preemption is disabled by the callers, the tracers, until they return.
        let pin = unsafe { CpuPin::assume() };
        self.targets.record(&pin, size, fill);
    }
}

/// The kind of source.
pub(super) struct OwnEvents;

impl SourceKind for OwnEvents {
    fn add(&self, _: &LoadContext<'_>) -> Result {
        for event in ALL {
            let source = KBox::new(OwnSource(event), GFP_KERNEL)?;
            let size = event.size as u32;
            publish(Event::with_source(next_id()?, event.names, size, source)?)?;
        }
        Ok(())
    }
}

/// The source of one of the events.
struct OwnSource(&'static OwnEvent);

impl Source for OwnSource {
    fn attach(&self, to: Attachment) -> Result {
        let _turn = CHANGES.lock();
        // SAFETY: `detach` removes it before it returns.
        unsafe { self.0.targets.add(&to) }
    }

    fn detach(&self, from: Attachment) {
        let _turn = CHANGES.lock();
        self.0.targets.remove(&from);
    }

    fn visit_fields(&self, _: &Event, visit: &mut dyn FnMut(&mut Fields<'_>)) {
        visit(&mut self.0.fields.iter().copied());
    }

    fn write_format(&self, event: &Event, w: &mut dyn fmt::Write) -> fmt::Result {
        let (name, id, print_fmt) = (event.name(), event.id(), self.0.print_fmt);
        let fields = self.0.fields.iter().copied();
        format::write(w, name, id, fields, print_fmt, [].into_iter())
    }

    fn print<'p>(
        &self,
        _: &Event,
        record: &[u8],
        _: PrintManner,
        printer: &'p mut Printer,
    ) -> Option<&'p [u8]> {
        Some(printer.compose(|out, _| (self.0.write)(record, out)))
    }

    fn own_depth(&self) -> u32 {
        1
    }
}
