// SPDX-License-Identifier: GPL-2.0

//! `trace_pipe`: the events of all CPUs or of one as text, in the order of time, consumed.
//!
//! An event is consumed when its line is made. A line that the user had no room for stays with the open
//! file and is given first next time. Sleeping until there are events, and the end of the file, are
//! the business of `fs::file`; this file only says what it waits for.

use super::{
    file::{
        At,
        Step,
        TraceFile,
        Want, //
    },
    lines::{
        data,
        Lines,
        Seen,
        Style, //
    },
    text_file::{
        copy_at,
        no_memory,
        Text, //
    },
};
use crate::{
    instance::{
        merge::{
            self,
            Heads,
            Settled, //
        },
        stream::Walk,
        Instance,
        PageCopy,
        PipeToken, //
    },
    kapi::{
        wait::Poller, //
    },
    text::line,
};
use kernel::{
    iov::IovIterDest,
    prelude::*,
    sync::Arc, //
};

/// The most text that is made for one read.
const CHUNK: usize = 64 * 1024;

/// Opens the file, unless somebody else consumes the same events.
pub(crate) fn open(at: &At<'_>) -> Result<KBox<dyn TraceFile>> {
    let token = at.inst.pipe_open(at.cpus())?;
    let mut list = KVec::new();
    for cpu in at.cpus().iter() {
        list.push(CpuPipe::new(cpu), GFP_KERNEL)?;
    }
    let file = Pipe {
        lines: Lines::new()?,
        cpus: list,
        text: Text::new(),
        given: 0,
        delivered: false,
        _token: token,
    };
    Ok(KBox::new(file, GFP_KERNEL)?)
}

/// The file.
struct Pipe {
    lines: Lines,
    cpus: KVec<CpuPipe>,
    /// Lines of consumed events.
    text: Text,
    /// How much of `text` the user has.
    given: usize,
    /// The user got something: from now on the end of tracing is the end of the file. Before, a reader
    /// waits for tracing to begin.
    delivered: bool,
    /// Keeps other consumers away.
    _token: PipeToken,
}

impl Pipe {
    fn all_given(&self) -> bool {
        self.given >= self.text.bytes().len()
    }

    /// Consumes events and makes their lines, at least `wanted` bytes if there are so many.
    fn fill(&mut self, inst: &Arc<Instance>, wanted: usize) -> Result {
        let style = Style::of(inst);
        // Time has passed since the last read.
        let mut settled = Settled::default();
        self.text.clear();
        self.given = 0;
        while self.text.bytes().len() < wanted {
            let mut pipes = Pipes {
                inst,
                cpus: &mut self.cpus,
            };
            let Some(place) = merge::next(&mut pipes, &mut settled)? else {
                break;
            };
            let Some(cpu) = self.cpus.get_mut(place) else {
                break;
            };
            if cpu.consume(inst, &mut self.lines, style, &mut self.text)? {
                settled.unsettle();
            }
        }
        Ok(())
    }
}

impl TraceFile for Pipe {
    fn read(&mut self, at: &At<'_>, out: &mut IovIterDest<'_>, pos: &mut i64) -> Result<Step> {
        if self.all_given() {
            self.fill(at.inst, out.len().min(CHUNK))?;
        }
        if self.text.bytes().is_empty() {
            return Ok(Step::Empty(Want {
                cpus: at.cpus(),
                ends_when_off: self.delivered,
            }));
        }
        self.delivered = true;
        let mut place = i64::try_from(self.given).map_err(|_| EINVAL)?;
        let step = copy_at(self.text.bytes(), out, &mut place)?;
        if let Step::Bytes(bytes) = step {
            self.given = self.given.saturating_add(bytes);
            *pos = pos.saturating_add_unsigned(bytes as u64);
        }
        Ok(step)
    }

    fn readable(&mut self, at: &At<'_>, poller: &Poller<'_>) -> bool {
        let more = at.inst.poll(at.cpus(), poller);
        more || !self.all_given()
    }
}

/// The events of one CPU.
struct CpuPipe {
    cpu: u32,
    page: PageCopy,
    walk: Walk,
    /// Events that were lost in front of the next one.
    lost: u64,
}

impl CpuPipe {
    fn new(cpu: u32) -> Self {
        Self {
            cpu,
            page: PageCopy::default(),
            walk: Walk::default(),
            lost: 0,
        }
    }

    /// Copies the next events.
    fn look(&mut self, inst: &Instance) -> Result<bool> {
        while inst.peek_next(self.cpu, &mut self.page)? {
            self.lost = self.lost.saturating_add(self.page.lost);
            self.walk = Walk::new(data(&self.page), self.page.rd, self.page.rd_ts);
            if self.walk.stamp().is_some() {
                return Ok(true);
            }
            // Nothing but discarded events: behind them there may be others.
            let (end, time) = self.walk.passed();
            if !inst.consume(self.cpu, self.page.seq, end, time, 0) {
                break;
            }
        }
        Ok(false)
    }

    /// Consumes the next event and prints it. Says whether to look for events again.
    fn consume(
        &mut self,
        inst: &Instance,
        lines: &mut Lines,
        style: Style,
        text: &mut Text,
    ) -> Result<bool> {
        let before = self.walk;
        self.walk.pass(data(&self.page));
        let (end, time) = self.walk.passed();
        if !inst.consume(self.cpu, self.page.seq, end, time, 1) {
            // Somebody emptied the buffer or took the sub-buffer raw: these events are no longer ours.
            self.walk = Walk::default();
            self.lost = 0;
            return Ok(true);
        }
        if let (Some(stamp), Some(record)) = (before.stamp(), before.record(data(&self.page))) {
            let lost = core::mem::take(&mut self.lost);
            line::write_lost(self.cpu, lost, text).map_err(no_memory)?;
            let seen = Seen {
                cpu: self.cpu,
                stamp,
                record,
            };
            // SAFETY: The walk found the record in the copy of a sub-buffer, between whole events.
            unsafe { lines.write_event(style, &seen, text) }.map_err(no_memory)?;
        }
        Ok(self.walk.stamp().is_none())
    }
}

/// The CPUs as [`merge::next`] sees them.
struct Pipes<'a> {
    inst: &'a Arc<Instance>,
    cpus: &'a mut [CpuPipe],
}

impl Heads for Pipes<'_> {
    type Error = Error;

    fn places(&self) -> usize {
        self.cpus.len()
    }

    fn stamp(&self, place: usize) -> Option<u64> {
        self.cpus.get(place)?.walk.stamp()
    }

    fn look(&mut self, place: usize) -> Result<bool> {
        match self.cpus.get_mut(place) {
            Some(cpu) => cpu.look(self.inst),
            None => Ok(false),
        }
    }
}
