// SPDX-License-Identifier: GPL-2.0

//! `trace_pipe` and `trace_pipe_json`: the events of all CPUs or of one as text, in the order of
//! time, consumed.
//!
//! An event is consumed when its line is made and there is room for it, so that closing the file
//! loses none. The rest of a line that a short read had no room for stays with the open file and is
//! given first next time. Sleeping until there are events, and the end of the file, are the
//! business of `fs::file`; this file only says what it waits for.

use super::{
    file::{
        FileIdentity,
        PollState,
        SleepCondition, //
        Step,
        TraceFile,
    },
    line_queue::{
        LineQueue,
        TextBefore,
        WantedText, //
    },
    share,
    style::style_of,
    text_file::no_memory, //
};
use crate::{
    buffers::{
        consumer::{
            Consumer,
            NextEvent, //
        },
        merge::{
            self,
            Heads,
            SettledState, //
        },
        Buf, //
    },
    instance::{
        Instance,
        PipeToken, //
    },
    kapi::{
        wait::Poller,
        whole_record::{
            RecordCopy,
            WholeRecord, //
        }, //
    },
    output::{
        Delay,
        EventFormatter,
        SeenEvent,
        Style,
        Text, //
    },
    text::{
        graph,
        options::Opt, //
    }, //
};
use kernel::{
    iov::IovIterDest,
    prelude::*,
    sync::Arc, //
};

/// Opens `trace_pipe`, unless another open file consumes the same events.
pub(crate) fn open(at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
    open_as(at, EventFormatter::lines()?)
}

/// Opens `trace_pipe_json`, on the same condition.
pub(crate) fn open_json(at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
    open_as(at, EventFormatter::json())
}

fn open_as(at: &FileIdentity<'_>, maker: EventFormatter) -> Result<KBox<dyn TraceFile>> {
    at.inst.hand_in();
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
        lines: LineQueue::new(),
        delivered: false,
        _token: token,
    };
    Ok(KBox::new(file, GFP_KERNEL)?)
}

/// The file.
struct Pipe {
    maker: EventFormatter,
    /// They have the form that `latency-format` asked for when it was opened.
    latency: bool,
    cpus: KVec<Consumer>,
    /// Those of consumed events.
    lines: LineQueue,
    /// The user got something: from now on the end of tracing is the end of the file. Before, a
    /// reader waits for tracing to begin.
    delivered: bool,
    /// Keeps other consumers away.
    _token: PipeToken,
}

impl Pipe {
    /// Makes the lines of the next events, as many as are wanted, and consumes those events.
    /// Returns whether the next line is longer than what is wanted.
    fn fill(&mut self, inst: &Arc<Instance>, wanted: WantedText) -> Result<bool> {
        let style = style_of(inst);
        // Time has passed since the last read.
        let mut settled = SettledState::default();
        let mut number = 0u64;
        while self.lines.text().bytes().len() < wanted.bytes {
            let mut pipes = Pipes {
                inst,
                cpus: &mut self.cpus,
            };
            let Some(place) = merge::next(&mut pipes, &mut settled)? else {
                break;
            };
            match self.write_line(inst, place, style, wanted, &mut number)? {
                LineStep::NoRoom => return Ok(true),
                LineStep::Last => settled.unsettle(),
                LineStep::Next if self.cpus.get(place).and_then(Consumer::stamp).is_none() => {
                    settled.unsettle()
                }
                LineStep::Next => {}
            }
        }
        Ok(false)
    }

    /// Writes the line of the next event of the CPU at `place` if it has room in what is wanted, and consumes the event.
    /// `number` is that of the last line.
    fn write_line(
        &mut self,
        inst: &Arc<Instance>,
        place: usize,
        style: Style,
        wanted: WantedText,
        number: &mut u64,
    ) -> Result<LineStep> {
        let Some(cpu) = self.cpus.get_mut(place) else {
            return Ok(LineStep::NoRoom);
        };
        let (maker, text) = (&mut self.maker, self.lines.text());
        let waits = |event: &NextEvent<'_>| maker.waits_for_next(style, &event.record);
        let waits = style.is_graph() && cpu.next().is_some_and(|event| waits(&event));
        let after = match waits {
            true => cpu.after_next(),
            false => None,
        };
        let is_last = waits && after.is_none();
        let before = TextBefore::of(cpu.cpu(), style, maker, text);
        if is_last && wanted.ends_at(before.len) {
            // How long its line is shows when it is consumed: it begins the next text.
            return Ok(LineStep::NoRoom);
        }
        // Numbers begin with each read, at 1; what comes next is not looked for.
        let next = number.saturating_add(1);
        let latency = self.latency.then_some(next);
        let made = write_next(cpu, after, maker, style, latency, text);
        let too_long = wanted.is_too_long(before.len, text.bytes().len());
        if made.is_err() || too_long {
            before.restore(maker, text);
            return made.map(|_| LineStep::NoRoom);
        }
        if is_last {
            // The record that decides over the line may be in the sub-buffer after this one, which is
            // not seen before this one is consumed. There is memory for the line now.
            before.restore(maker, text);
            let written = write_last(cpu, inst, maker, style, text);
            if written.is_err() {
                before.restore(maker, text);
            }
            return written.map(|()| LineStep::Last);
        }
        let taken = match made? {
            LineEvents::Next => cpu.take(inst.buffers()),
            LineEvents::Both => cpu.take_both(inst.buffers()),
        };
        if taken {
            *number = next;
        } else {
            before.restore(maker, text);
        }
        Ok(LineStep::Next)
    }
}

/// How the lines go on.
enum LineStep {
    /// With what is known.
    Next,
    /// Where the copy of the CPU's events was used up, and there may be another one.
    Last,
    /// With the next read.
    NoRoom,
}

impl TraceFile for Pipe {
    fn read_into(
        &mut self,
        at: &FileIdentity<'_>,
        out: &mut IovIterDest<'_>,
        pos: &mut i64,
        spliced: bool,
    ) -> Result<Step> {
        let too_long = match self.lines.wants(out, spliced) {
            Some(wanted) => self.fill(at.inst, wanted)?,
            None => false,
        };
        if self.lines.is_empty() {
            if too_long {
                return Ok(Step::Bytes(0));
            }
            return Ok(Step::Empty(SleepCondition {
                buf: Buf::Live,
                cpus: at.cpus(),
                ends_when_off: self.delivered,
            }));
        }
        self.delivered = true;
        self.lines.give(out, spliced, pos)
    }

    fn ready(&mut self, at: &FileIdentity<'_>, poller: &Poller<'_>) -> PollState {
        let more = at.inst.poll_share(at.cpus(), poller);
        PollState::to_read(more || !self.lines.is_empty())
    }
}

/// The events that a line was made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEvents {
    /// The next one.
    Next,
    /// The next one and the one after it: entry and exit of a function.
    Both,
}

/// Writes the entry of a function, which is the last event in the copy of a CPU's events, and consumes it;
/// and its exit if that comes next. After an error the event counts as lost before the next one.
fn write_last(
    consumer: &mut Consumer,
    inst: &Arc<Instance>,
    maker: &mut EventFormatter,
    style: Style,
    text: &mut Text,
) -> Result {
    let Some(event) = consumer.next() else {
        return Ok(());
    };
    let (stamp, lost) = (event.stamp, event.lost);
    let mut entry = RecordCopy::new();
    entry.keep(event.record)?;
    if !consumer.take(inst.buffers()) {
        return Ok(());
    }
    if consumer.stamp().is_none() {
        // Without memory the exit gets a line of its own, when it is looked for again.
        let _ = consumer.look(inst.buffers());
    }
    let Some(record) = entry.record() else {
        return Ok(());
    };
    let exit = consumer.next();
    let exit = exit.filter(|exit| exit.lost == 0 && graph::is_leaf(&record, &exit.record));
    let seen = SeenEvent {
        cpu: consumer.cpu(),
        stamp,
        record,
        delay: None,
        exit: exit.as_ref().map(|exit| exit.record.bytes()),
    };
    let written = maker
        .write_lost(seen.cpu, lost, text)
        .and_then(|()| maker.write_event(style, &seen, text));
    let is_leaf = exit.is_some();
    if let Err(error) = written {
        consumer.lose(lost);
        return Err(no_memory(error));
    }
    if is_leaf {
        consumer.take(inst.buffers());
    }
    Ok(())
}

/// Writes the next event of a CPU, if there is one. `after` is the one after it if that may be the exit of the same
/// call.
fn write_next(
    consumer: &Consumer,
    after: Option<WholeRecord<'_>>,
    maker: &mut EventFormatter,
    style: Style,
    latency: Option<u64>,
    text: &mut Text,
) -> Result<LineEvents> {
    let Some(event) = consumer.next() else {
        return Ok(LineEvents::Next);
    };
    let exit = after
        .map(WholeRecord::bytes)
        .filter(|exit| graph::is_leaf(&event.record, exit));
    let cpu = consumer.cpu();
    maker.write_lost(cpu, event.lost, text).map_err(no_memory)?;
    let seen = SeenEvent {
        cpu,
        stamp: event.stamp,
        record: event.record,
        delay: latency.map(|number| Delay {
            number,
            next: event.stamp,
        }),
        exit,
    };
    maker.write_event(style, &seen, text).map_err(no_memory)?;
    Ok(match exit {
        Some(_) => LineEvents::Both,
        None => LineEvents::Next,
    })
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
            Some(cpu) => cpu.look(self.inst.buffers()),
            None => Ok(false),
        }
    }
}
