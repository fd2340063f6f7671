// SPDX-License-Identifier: GPL-2.0

//! The probe of a definition as the list of definitions knows it, whatever its kind, and the source of its
//! event.

use super::{
    hit_counts::HitSums,
    probe_layout::ProbeLayout,
    siblings::SiblingProbes, //
};
use crate::{
    events::{
        Attachment,
        Event,
        Fields,
        Module,
        PrintManner,
        Printer,
        Recipient,
        Source,
        Symbols, //
    },
    kapi::kprobe::LeavingProbes,
    text::writer::ByteWrite, //
};
use kernel::{
    fmt,
    prelude::*,
    sync::Arc, //
};

/// The probe of a definition. Process context.
pub(super) trait DefinedProbe: Send + Sync {
    /// Returns what the definition says.
    fn layout(&self) -> &ProbeLayout;

    /// Has it record for the event's file of an instance; see [`Source::attach`].
    fn attach(&self, to: Attachment) -> Result;

    /// Has it record for that no more; see [`Source::detach`].
    fn detach(&self, from: Attachment);

    /// Returns whether event probes may follow its event.
    fn may_be_followed(&self) -> bool {
        false
    }

    /// Returns how often preemption was disabled to call it.
    fn own_depth(&self) -> u32;

    /// Writes what comes before the arguments in the text of a record. Fails when `out` does.
    fn write_head(
        &self,
        record: &[u8],
        manner: PrintManner,
        symbols: &mut Symbols,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        self.layout().write_place(record, manner, symbols, out)
    }

    /// Returns whether the event is enabled in an instance.
    fn is_used(&self) -> bool;

    /// From here on the event cannot be enabled.
    ///
    /// # Errors
    ///
    /// `EBUSY` while it is.
    fn end(&self) -> Result;

    /// Frees what it has of the kernel, or adds it to what `leaving` frees. It has ended, the event is withdrawn if
    /// this was its last probe, and `events::synchronize` has returned since.
    fn clear(&self, leaving: &mut LeavingProbes);

    /// Returns what was counted of its hits.
    fn sums(&self) -> HitSums;

    /// Follows the code of the module `name`, which comes, before its init runs.
    fn code_comes(&self, _name: &str) {}

    /// Uses nothing any more of the code of the module `name`, which goes.
    fn code_goes(&self, _name: &str) {}

    /// Follows a module with tracepoints that comes, before its init runs.
    fn module_comes(&self, _module: Module<'_>) {}

    /// Uses nothing any more of a module that goes.
    fn module_goes(&self, _module: Module<'_>) {}

    /// Returns the event whose records it follows.
    fn followed(&self) -> Option<&'static Event> {
        None
    }

    /// Returns whether it follows `event` for the instance that sources know as `recipient`.
    fn is_following(&self, _event: &Event, _recipient: Recipient) -> bool {
        false
    }
}

/// The source of the event of definitions.
pub(super) struct DefinedSource(pub(super) Arc<SiblingProbes>);

impl Source for DefinedSource {
    fn attach(&self, to: Attachment) -> Result {
        self.0.attach(to)
    }

    fn detach(&self, from: Attachment) {
        self.0.detach(from);
    }

    fn visit_fields(&self, _: &Event, visit: &mut dyn FnMut(&mut Fields<'_>)) {
        visit(&mut self.0.first().layout().fields());
    }

    fn write_format(&self, event: &Event, w: &mut dyn fmt::Write) -> fmt::Result {
        self.0.first().layout().write_format(event, w)
    }

    fn print<'p>(
        &self,
        _: &Event,
        record: &[u8],
        manner: PrintManner,
        printer: &'p mut Printer,
    ) -> Option<&'p [u8]> {
        Some(printer.compose(|out, symbols| {
            let probe = self.0.first();
            probe.write_head(record, manner, symbols, out)?;
            probe.layout().write_values(record, symbols, out)
        }))
    }

    fn own_depth(&self) -> u32 {
        self.0.first().own_depth()
    }

    fn may_be_followed(&self) -> bool {
        self.0.first().may_be_followed()
    }
}
