// SPDX-License-Identifier: GPL-2.0

//! `trace_pipe` and `trace_pipe_json` of an instance with the option `pipe-share`: each open file reads
//! all events for itself.
//!
//! Nothing is consumed, so any number of readers get the same events, and `trace` still shows them. The
//! first read begins with the oldest event there is. A reader that is slower than the writers is told
//! how many events it missed; what a consumer takes away under it counts as missed. Buffers that were
//! emptied are read from their new beginning, and behind a snapshot that was taken nothing but the new
//! events are read. The option counts when the file is opened.

use super::{
    file::{
        At,
        Step,
        TraceFile,
        Want, //
    },
    lines::{
        Seen,
        Style, //
    },
    maker::Maker,
    text_file::{
        give,
        no_memory,
        Text, //
    },
    trace::{
        CpuTour,
        Tours, //
    },
};
use crate::{
    instance::{
        merge::{
            self,
            Settled, //
        },
        share::Mark,
        Buf, //
    },
    kapi::wait::Poller,
};
use kernel::{
    iov::IovIterDest,
    prelude::*, //
};

/// The most text that is made for one read.
const CHUNK: usize = 64 * 1024;

/// Opens the file.
pub(crate) fn open(at: &At<'_>, maker: Maker) -> Result<KBox<dyn TraceFile>> {
    let mut list = KVec::new();
    for cpu in at.cpus().iter() {
        list.push(CpuTour::new(cpu), GFP_KERNEL)?;
    }
    let file = Share {
        maker,
        cpus: list,
        text: Text::new(),
        given: 0,
        delivered: false,
        last: at.inst.mark(at.cpus()),
        drained: false,
    };
    Ok(KBox::new(file, GFP_KERNEL)?)
}

/// The file.
struct Share {
    maker: Maker,
    cpus: KVec<CpuTour>,
    /// What nobody asked for yet, and what was given of it.
    text: Text,
    given: usize,
    /// The user got something: from now on the end of tracing is the end of the file.
    delivered: bool,
    /// The mark when events were looked for last.
    last: Mark,
    /// All that had been recorded by then was found.
    drained: bool,
}

impl Share {
    fn all_given(&self) -> bool {
        self.given >= self.text.bytes().len()
    }

    /// Makes the text of the next events, at least `wanted` bytes if there are so many.
    fn fill(&mut self, at: &At<'_>, wanted: usize) -> Result {
        let style = Style::of(at.inst);
        let mark = at.inst.mark(at.cpus());
        for cpu in self.cpus.iter_mut() {
            if !mark.goes_on(self.last) {
                *cpu = CpuTour::new(cpu.cpu);
            }
            // The text has an end, and a reader that is behind goes on with the next read.
            cpu.tour.go_on_to(u64::MAX);
        }
        self.last = mark;
        self.drained = false;
        self.text.clear();
        self.given = 0;
        // Time has passed since the last read.
        let mut settled = Settled::default();
        while self.text.bytes().len() < wanted {
            let mut tours = Tours {
                inst: at.inst,
                bank: mark.bank,
                cpus: &mut self.cpus,
            };
            let Some(place) = merge::next(&mut tours, &mut settled)? else {
                self.drained = true;
                break;
            };
            if self.pass(place, style)? {
                settled.unsettle();
            }
        }
        Ok(())
    }

    /// Writes the next event of the CPU at `place`, and passes it. Says whether to look for events again.
    fn pass(&mut self, place: usize, style: Style) -> Result<bool> {
        let Some(cpu) = self.cpus.get_mut(place) else {
            return Ok(false);
        };
        let text = &mut self.text;
        let missed = core::mem::take(&mut cpu.missed);
        self.maker
            .write_lost(cpu.cpu, missed, text)
            .map_err(no_memory)?;
        if let (Some(stamp), Some(record)) = (cpu.walk.stamp(), cpu.walk.record(cpu.page.data())) {
            let seen = Seen {
                cpu: cpu.cpu,
                stamp,
                record,
                delay: None,
            };
            // SAFETY: The walk found the record in the copy of a sub-buffer, between whole events.
            unsafe { self.maker.write_event(style, &seen, text) }.map_err(no_memory)?;
        }
        cpu.walk.pass(cpu.page.data());
        cpu.tour.pass();
        Ok(cpu.stamp().is_none())
    }
}

impl TraceFile for Share {
    fn read(&mut self, at: &At<'_>, out: &mut IovIterDest<'_>, pos: &mut i64) -> Result<Step> {
        if self.all_given() {
            self.fill(at, out.len().min(CHUNK))?;
        }
        if self.text.bytes().is_empty() {
            return Ok(Step::Empty(Want {
                buf: Buf::Live,
                cpus: at.cpus(),
                ends_when_off: self.delivered,
            }));
        }
        self.delivered = true;
        give(self.text.bytes(), &mut self.given, out, pos)
    }

    fn mark(&self) -> Option<Mark> {
        Some(self.last)
    }

    fn readable(&mut self, at: &At<'_>, poller: &Poller<'_>) -> bool {
        let more = at.inst.poll_behind(at.cpus(), self.last, poller);
        more || !self.drained || !self.all_given()
    }
}
