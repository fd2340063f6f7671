// SPDX-License-Identifier: GPL-2.0

//! `trace_pipe` and `trace_pipe_json`: the events of all CPUs or of one as text, in the order of time,
//! consumed.
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
        Delay,
        Seen,
        Style, //
    },
    maker::Maker,
    share,
    text_file::{
        give,
        no_memory,
        Text, //
    },
};
use crate::{
    instance::{
        consumer::Consumer,
        merge::{
            self,
            Heads,
            Settled, //
        },
        Buf,
        Instance,
        PipeToken, //
    },
    kapi::{
        wait::Poller, //
    },
    text::options::Opt,
};
use kernel::{
    iov::IovIterDest,
    prelude::*,
    sync::Arc, //
};

/// The most text that is made for one read.
const CHUNK: usize = 64 * 1024;

/// Opens `trace_pipe`, unless somebody else consumes the same events.
pub(crate) fn open(at: &At<'_>) -> Result<KBox<dyn TraceFile>> {
    open_as(at, Maker::lines()?)
}

/// Opens `trace_pipe_json`, on the same condition.
pub(crate) fn open_json(at: &At<'_>) -> Result<KBox<dyn TraceFile>> {
    open_as(at, Maker::json())
}

fn open_as(at: &At<'_>, maker: Maker) -> Result<KBox<dyn TraceFile>> {
    if at.inst.options().has(Opt::PipeShare) {
        return share::open(at, maker);
    }
    let token = at.inst.pipe_open(at.cpus())?;
    let mut list = KVec::new();
    for cpu in at.cpus().iter() {
        list.push(Consumer::new(cpu), GFP_KERNEL)?;
    }
    let file = Pipe {
        maker,
        latency: at.inst.options().has(Opt::LatencyFormat),
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
    maker: Maker,
    /// They have the form that `latency-format` asked for when it was opened.
    latency: bool,
    cpus: KVec<Consumer>,
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
        let mut number = 0u64;
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
            // Numbers begin with each read, at 1; what comes next is not looked for.
            number = number.saturating_add(1);
            let latency = self.latency.then_some(number);
            if print_next(cpu, inst, &mut self.maker, style, latency, &mut self.text)? {
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
                buf: Buf::Live,
                cpus: at.cpus(),
                ends_when_off: self.delivered,
            }));
        }
        self.delivered = true;
        give(self.text.bytes(), &mut self.given, out, pos)
    }

    fn readable(&mut self, at: &At<'_>, poller: &Poller<'_>) -> bool {
        let more = at.inst.poll_share(at.cpus(), poller);
        more || !self.all_given()
    }
}

/// Consumes the next event of a CPU and prints it. Says whether to look for events again.
fn print_next(
    consumer: &mut Consumer,
    inst: &Instance,
    maker: &mut Maker,
    style: Style,
    latency: Option<u64>,
    text: &mut Text,
) -> Result<bool> {
    let cpu = consumer.cpu();
    let Some(event) = consumer.take(inst) else {
        return Ok(true);
    };
    maker.write_lost(cpu, event.lost, text).map_err(no_memory)?;
    let seen = Seen {
        cpu,
        stamp: event.stamp,
        record: event.record,
        delay: latency.map(|number| Delay {
            number,
            next: event.stamp,
        }),
    };
    // SAFETY: The consumer found the record in the copy of a sub-buffer, between whole events.
    unsafe { maker.write_event(style, &seen, text) }.map_err(no_memory)?;
    Ok(consumer.stamp().is_none())
}

/// The CPUs as [`merge::next`] sees them.
struct Pipes<'a> {
    inst: &'a Arc<Instance>,
    cpus: &'a mut [Consumer],
}

impl Heads for Pipes<'_> {
    type Error = Error;

    fn places(&self) -> usize {
        self.cpus.len()
    }

    fn stamp(&self, place: usize) -> Option<u64> {
        self.cpus.get(place)?.stamp()
    }

    fn look(&mut self, place: usize) -> Result<bool> {
        match self.cpus.get_mut(place) {
            Some(cpu) => cpu.look(self.inst),
            None => Ok(false),
        }
    }
}
