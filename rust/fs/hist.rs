// SPDX-License-Identifier: GPL-2.0

//! `hist` of an event, `hist_json` and `hist_take`: what its histograms have counted.

use super::{
    events::this_event,
    file::{
        Arg,
        FileIdentity,
        PollState,
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
    instance::{
        HistForm,
        ShownHist, //
    },
    kapi::{
        strings,
        symbol::Symbol,
        wait::Poller, //
    },
    output::Text, //
};
use core::fmt::{
    self,
    Write, //
};
use kernel::{
    iov::IovIterDest,
    prelude::*, //
};

/// What the kernel calls addresses and system calls.
struct KernelNaming;

impl HistNames for KernelNaming {
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
fn counted(at: &FileIdentity<'_>) -> Result<Option<&'static Event>> {
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
pub(crate) fn open(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
    let file = HistFile {
        text: None,
        read: 0,
        seen: 0,
    };
    Ok(KBox::new(file, GFP_KERNEL)?)
}

impl HistFile {
    fn make(&mut self, at: &FileIdentity<'_>) -> Result<Text> {
        let Some(event) = counted(at)? else {
            return Ok(Text::new());
        };
        // Before the text: an event that comes in between makes a poller read again.
        self.read = at.inst.hist_hits(event);
        self.seen = self.read;
        text_of(&at.inst.shown_hists(event)?, HistForm::Text)
    }
}

impl TraceFile for HistFile {
    fn read(
        &mut self,
        at: &FileIdentity<'_>,
        out: &mut IovIterDest<'_>,
        pos: &mut i64,
    ) -> Result<Step> {
        let kept = self.text.take();
        let text = text_at(*pos, kept, || self.make(at))?;
        copy_at(self.text.insert(text).bytes(), out, pos)
    }

    fn ready(&mut self, at: &FileIdentity<'_>, poller: &Poller<'_>) -> PollState {
        let Ok(Some(event)) = counted(at) else {
            return PollState::to_read(false);
        };
        let (read, seen) = (self.read, self.seen);
        let is_new = |hits| hits != read || hits != seen;
        let hits = at.inst.poll_hists(event, is_new, poller);
        self.seen = hits;
        PollState {
            data: hits != read,
            news: hits != seen,
        }
    }
}

/// Returns the text of these histograms.
///
/// # Errors
///
/// `ENOMEM`.
fn text_of(shown: &[ShownHist], form: HistForm) -> Result<Text> {
    let mut text = Text::new();
    for (hist, number) in shown.iter().zip(0u32..) {
        if number != 0 && matches!(form, HistForm::Text) {
            text.write_str("\n\n").map_err(|_| ENOMEM)?;
        }
        hist.write(form, &KernelNaming, &mut text)?;
    }
    Ok(text)
}

/// `hist_json` of an event.
pub(crate) fn show_json(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    if let Some(event) = counted(at)? {
        *text = text_of(&at.inst.shown_hists(event)?, HistForm::Json)?;
    }
    Ok(())
}

/// `hist_take` of an event, opened: what was counted since it was read before, by this open file or another.
struct HistTake {
    /// What was taken and is not in a text yet: there was no memory for it.
    taken: KVec<ShownHist>,
    text: Option<Text>,
    /// Nothing of the text was read.
    is_fresh: bool,
}

/// Opens `hist_take` of an event.
pub(crate) fn open_take(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
    let file = HistTake {
        taken: KVec::new(),
        text: None,
        is_fresh: false,
    };
    Ok(KBox::new(file, GFP_KERNEL)?)
}

impl HistTake {
    fn make(&mut self, at: &FileIdentity<'_>) -> Result<Text> {
        if self.taken.is_empty() {
            if let Some(event) = counted(at)? {
                self.taken = at.inst.shown_hists(event)?;
            }
            if !self.taken.iter().all(ShownHist::may_be_taken) {
                self.taken.clear();
                return Err(EBUSY);
            }
        }
        for hist in self.taken.iter_mut() {
            hist.take()?;
        }
        let text = text_of(&self.taken, HistForm::Text)?;
        self.taken.clear();
        // What is empty has no position after its beginning: the next read looks again.
        self.is_fresh = !text.bytes().is_empty();
        Ok(text)
    }
}

impl TraceFile for HistTake {
    fn read(
        &mut self,
        at: &FileIdentity<'_>,
        out: &mut IovIterDest<'_>,
        pos: &mut i64,
    ) -> Result<Step> {
        let text = match self.text.take().filter(|_| *pos != 0 || self.is_fresh) {
            Some(text) => text,
            None => self.make(at)?,
        };
        let step = copy_at(self.text.insert(text).bytes(), out, pos)?;
        self.is_fresh &= *pos == 0;
        Ok(step)
    }
}
