// SPDX-License-Identifier: GPL-2.0

//! `hist` of an event: what its histograms have counted.

use super::{
    events::this_event,
    file::{
        Arg,
        At,
        Ready,
        Step,
        TraceFile, //
    },
    text_file::{
        copy_at,
        text_at, //
    },
};
use crate::{
    events::{
        self,
        Event,
        RECORDS, //
    },
    hist::print::HistNames,
    kapi::{
        strings,
        symbol::Symbol,
        wait::Poller, //
    },
    output::Text, //
};
use core::fmt;
use kernel::{
    iov::IovIterDest,
    prelude::*, //
};

/// What the kernel calls addresses and system calls.
struct OfKernel;

impl HistNames for OfKernel {
    fn symbol(
        &self,
        address: u64,
        offset: bool,
        show: &mut dyn FnMut(&str) -> fmt::Result,
    ) -> fmt::Result {
        let symbol = match offset {
            true => Symbol::at(address),
            false => Symbol::function_at(address),
        };
        show(symbol.text())
    }

    fn syscall(
        &self,
        number: u64,
        show: &mut dyn FnMut(Option<&str>) -> fmt::Result,
    ) -> fmt::Result {
        show(strings::syscall(number))
    }
}

/// Returns the event; `None` for a record that no tracepoint makes, which has no histograms, but that of markers.
fn counted(at: &At<'_>) -> Result<Option<&'static Event>> {
    match at.arg {
        Arg::Event(id) if id < RECORDS => Ok(events::by_id(id)),
        _ => this_event(at).map(Some),
    }
}

/// `hist` of an event, opened. The text is made when it is read at its beginning.
struct HistFile {
    text: Option<Text>,
    /// How many events had been counted when the text was made, and when the file was read or polled.
    read: u64,
    seen: u64,
}

/// Opens `hist` of an event.
pub(crate) fn open(_at: &At<'_>) -> Result<KBox<dyn TraceFile>> {
    let file = HistFile {
        text: None,
        read: 0,
        seen: 0,
    };
    Ok(KBox::new(file, GFP_KERNEL)?)
}

impl HistFile {
    fn make(&mut self, at: &At<'_>) -> Result<Text> {
        let mut text = Text::new();
        if let Some(event) = counted(at)? {
            // Before the text: an event that comes in between makes a poller read again.
            self.read = at.inst.hist_hits(event);
            self.seen = self.read;
            at.inst.show_hists(event, &OfKernel, &mut text)?;
        }
        Ok(text)
    }
}

impl TraceFile for HistFile {
    fn read(&mut self, at: &At<'_>, out: &mut IovIterDest<'_>, pos: &mut i64) -> Result<Step> {
        let kept = self.text.take();
        let text = text_at(*pos, kept, || self.make(at))?;
        copy_at(self.text.insert(text).bytes(), out, pos)
    }

    fn ready(&mut self, at: &At<'_>, poller: &Poller<'_>) -> Ready {
        let Ok(Some(event)) = counted(at) else {
            return Ready::to_read(false);
        };
        let (read, seen) = (self.read, self.seen);
        let is_new = |hits| hits != read || hits != seen;
        let hits = at.inst.poll_hists(event, is_new, poller);
        self.seen = hits;
        Ready {
            data: hits != read,
            news: hits != seen,
        }
    }
}
