// SPDX-License-Identifier: GPL-2.0

//! The markers of `trace_marker`, for the triggers that follow them. One of the rows of [`super::KINDS`].
//!
//! An instance records its markers itself, and has its triggers look at them: there is no probe to put on.

use super::{
    LoadContext,
    SourceKind, //
};
use crate::{
    event::format,
    events::{
        self,
        Attachment,
        Event,
        Fields,
        Source, //
    }, //
};
use kernel::prelude::*;

/// The kind.
pub(super) struct Markers;

impl SourceKind for Markers {
    fn add(&self, _load: &LoadContext<'_>) -> Result {
        let size = u32::try_from(format::PRINT_HEAD)?;
        let names = (format::INTERNAL_SYSTEM, format::PRINT.name);
        let source = KBox::new(MarkerSource, GFP_KERNEL)?;
        let event = Event::with_source(format::PRINT.id, names, size, source)?;
        events::publish_marker(event);
        Ok(())
    }
}

/// The source of the event.
struct MarkerSource;

impl Source for MarkerSource {
    fn attach(&self, _to: Attachment) -> Result {
        Ok(())
    }

    fn detach(&self, _from: Attachment) {}

    fn visit_fields(&self, _: &Event, visit: &mut dyn FnMut(&mut Fields<'_>)) {
        visit(&mut format::PRINT.declared());
    }
}
