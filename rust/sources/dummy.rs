// SPDX-License-Identifier: GPL-2.0

//! A source for KUnit tests: one event, `dummy:beat`, whose probe is called by the test. All that
//! it needs is this file and its row in [`super::KINDS`].

use super::{
    targets::RecordTargets,
    LoadContext,
    SourceKind, //
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
    tasks::names, //
};
use kernel::{
    fmt,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// System and name of the event.
pub(crate) const NAMES: (&str, &str) = ("dummy", "beat");

/// Bytes of a record: the common fields, and one number.
const SIZE: usize = 12;

/// The event's own field.
const FIELD: DeclaredField<'static> = DeclaredField {
    ty: "u32",
    name: "number",
    size: 4,
    align: 4,
    len: 0,
    signed: false,
};

/// The kind of source.
pub(super) struct Dummies;

impl SourceKind for Dummies {
    fn add(&self, _: &LoadContext<'_>) -> Result {
        let source = KBox::new(DummySource, GFP_KERNEL)?;
        publish(Event::with_source(next_id()?, NAMES, SIZE as u32, source)?)?;
        Ok(())
    }
}

/// Whether names of tasks were remembered when the event was last attached.
pub(crate) static NAMED: Atomic<bool> = Atomic::new(false);

/// What [`beat`] records into.
static TARGETS: RecordTargets = RecordTargets::none();

/// The source of the event. It has one recipient at a time.
struct DummySource;

impl Source for DummySource {
    fn attach(&self, to: Attachment) -> Result {
        if TARGETS.may_be() {
            return Err(EBUSY);
        }
        NAMED.store(names::are_remembered(), Relaxed);
        // SAFETY: `detach` removes it before it returns.
        unsafe { TARGETS.add(&to) }
    }

    fn detach(&self, from: Attachment) {
        TARGETS.remove(&from);
    }

    fn visit_fields(&self, _: &Event, visit: &mut dyn FnMut(&mut Fields<'_>)) {
        visit(&mut [FIELD].into_iter());
    }

    fn write_format(&self, event: &Event, w: &mut dyn fmt::Write) -> fmt::Result {
        let print_fmt = "\"number=%u\", REC->number";
        let (name, id, fields) = (event.name(), event.id(), [FIELD].into_iter());
        format::write(w, name, id, fields, print_fmt, [].into_iter())
    }

    fn print<'p>(
        &self,
        _: &Event,
        _: &[u8],
        _: PrintManner,
        _: &'p mut Printer,
    ) -> Option<&'p [u8]> {
        Some(b"a beat")
    }
}

/// Records `number` wherever the event is enabled: it is the event's probe.
pub(crate) fn beat(number: u32) {
    let fill = |record: &mut [u8]| {
        // The number follows the common fields, at the end of the record.
        if let Some(place) = record.last_chunk_mut() {
            *place = number.to_le_bytes();
        }
    };
    CpuPin::with(|pin| TARGETS.record(pin, SIZE, fill));
}
