// SPDX-License-Identifier: GPL-2.0

//! `trace_pipe` and `trace_pipe_json` of an instance with the option `pipe-share`: each open file
//! reads all events for itself.
//!
//! Nothing is consumed, so any number of readers get the same events, and `trace` still shows them.
//! A reader gets the oldest event that was there when it opened the file, and all that came after
//! it. It is told how many of these it missed, before the next one of the CPU: because it is slower
//! than the writers, or a consumer, a snapshot or another size of the sub-buffers took them. Events
//! that a user discarded by emptying the buffer are not missed, and the old events that come back
//! with a second snapshot are not read again. The option counts when the file is opened.

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
        TextBefore, //
    },
    style::style_of,
    text_file::no_memory,
    trace::{
        CpuTour,
        Tours, //
    }, //
};
use crate::{
    buffers::{
        merge::{
            self,
            SettledState, //
        },
        progress::Progress,
        recorded::RecordedTotal,
        stream::Tour,
        Buf, //
    },
    kapi::{
        wait::Poller,
        whole_record::{
            RecordCopy,
            WholeRecord, //
        }, //
    },
    output::{
        EventFormatter,
        SeenEvent,
        Style,
        Text, //
    }, //
};
use kernel::{
    iov::IovIterDest,
    prelude::*, //
};

/// Opens the file.
pub(crate) fn open(at: &FileIdentity<'_>, maker: EventFormatter) -> Result<KBox<dyn TraceFile>> {
    let (mut cpus, mut all) = (KVec::new(), KVec::new());
    for cpu in at.cpus().iter() {
        let now = at.inst.buffers().counts(cpu)?;
        let progress = Progress::new(&now);
        let tour = Tour::from(progress.next(now.live));
        cpus.push(CpuTour::new(cpu, now.live, tour), GFP_KERNEL)?;
        all.push(progress, GFP_KERNEL)?;
    }
    let file = Share {
        maker,
        cpus,
        progress: all,
        lines: LineQueue::new(),
        entry: None,
        delivered: false,
        last: at.inst.buffers().recorded_total(at.cpus()),
        drained: false,
    };
    Ok(KBox::new(file, GFP_KERNEL)?)
}

/// The file.
struct Share {
    maker: EventFormatter,
    cpus: KVec<CpuTour>,
    /// The progress of the reader on each of these CPUs.
    progress: KVec<Progress>,
    lines: LineQueue,
    /// The one that was passed last, if it has no line yet.
    entry: Option<PassedEntry>,
    /// The user got something: from now on the end of tracing is the end of the file.
    delivered: bool,
    /// The mark when events were looked for last.
    last: RecordedTotal,
    /// Whether all that had been recorded by then was read or has gone.
    drained: bool,
}

/// The entry of a function that was passed: its line depends on the event after it.
struct PassedEntry {
    /// The place of its CPU.
    place: usize,
    stamp: u64,
    record: RecordCopy,
    /// Events that were missed before it.
    missed: u64,
}

impl Share {
    /// Makes the text of the next events, at least `wanted` bytes if there are that many.
    fn fill(&mut self, at: &FileIdentity<'_>, wanted: usize) -> Result {
        let style = style_of(at.inst);
        self.set_out(at)?;
        // There was no memory for its line in the last read.
        self.write_entry(at, style)?;
        // Time has passed since that.
        let mut settled = SettledState::default();
        while self.lines.text().bytes().len() < wanted {
            let Some(place) = self.find(at, &mut settled)? else {
                break;
            };
            if self.pass(at, place, style)? {
                settled.unsettle();
            }
        }
        Ok(())
    }

    /// Takes what has been recorded by now for what there is to be found.
    fn set_out(&mut self, at: &FileIdentity<'_>) -> Result {
        self.drained = false;
        self.last = at.inst.buffers().recorded_total(at.cpus());
        self.go_on(at)
    }

    /// Returns the place of the CPU with the next event, and notes it if there is none.
    fn find(&mut self, at: &FileIdentity<'_>, settled: &mut SettledState) -> Result<Option<usize>> {
        let mut tours = Tours {
            inst: at.inst,
            cpus: &mut self.cpus,
        };
        let found = merge::next(&mut tours, settled)?;
        self.drained = found.is_none();
        Ok(found)
    }

    /// Looks for the next event, without reading it.
    fn look(&mut self, at: &FileIdentity<'_>) -> Result {
        self.set_out(at)?;
        self.find(at, &mut SettledState::default())?;
        Ok(())
    }

    /// Goes to the rings that are live now, and counts what was missed meanwhile.
    fn go_on(&mut self, at: &FileIdentity<'_>) -> Result {
        loop {
            let live = at.inst.buffers().bank(Buf::Live);
            let mut same = true;
            for (cpu, progress) in self.cpus.iter_mut().zip(self.progress.iter_mut()) {
                progress.seen(cpu.bank, cpu.tour.next());
                let now = at.inst.buffers().counts(cpu.cpu)?;
                let missed = progress.go_on(&now);
                let next = progress.next(now.live);
                if (cpu.bank, cpu.tour.next()) != (now.live, next) {
                    // What is left of its sub-buffer was emptied away or taken by a snapshot.
                    cpu.set_out(now.live, Tour::from(next));
                }
                cpu.missed = cpu.missed.saturating_add(missed);
                same &= now.live == live;
            }
            // Events of two banks are not in the order of time.
            if same {
                return Ok(());
            }
        }
    }

    /// Writes the next event of the CPU at `place`, and passes it. Returns whether to look for
    /// events again. After an error the text is as it was, and no event is left out.
    fn pass(&mut self, at: &FileIdentity<'_>, place: usize, style: Style) -> Result<bool> {
        let Some(cpu) = self.cpus.get_mut(place) else {
            return Ok(false);
        };
        if let (Some(stamp), Some(record)) = (cpu.found(), cpu.record()) {
            if self.maker.waits_for_next(style, &record) {
                let mut copy = RecordCopy::new();
                copy.keep(record)?;
                cpu.pass();
                self.entry = Some(PassedEntry {
                    place,
                    stamp,
                    record: copy,
                    missed: core::mem::take(&mut cpu.missed),
                });
                self.write_entry(at, style)?;
                return Ok(true);
            }
            let seen = SeenEvent {
                cpu: cpu.cpu,
                stamp,
                record,
                delay: None,
                exit: None,
            };
            let text = self.lines.text();
            write_event(&mut self.maker, style, cpu.missed, &seen, text)?;
            cpu.missed = 0;
        }
        cpu.pass();
        Ok(cpu.stamp().is_none())
    }

    /// Writes the entry of a function that was passed, if there is one; and its exit if that is the
    /// next event of its CPU, which is passed then. After an error the entry stays.
    fn write_entry(&mut self, at: &FileIdentity<'_>, style: Style) -> Result {
        let Some(entry) = self.entry.take() else {
            return Ok(());
        };
        let written = self.write_call(at, style, &entry);
        if written.is_err() {
            self.entry = Some(entry);
        }
        written
    }

    fn write_call(&mut self, at: &FileIdentity<'_>, style: Style, entry: &PassedEntry) -> Result {
        let (Some(cpu), Some(record)) = (self.cpus.get_mut(entry.place), entry.record.record())
        else {
            return Ok(());
        };
        // What was missed in between may have been the exit, and this that of a later call.
        let leaf = cpu.exits(at.inst, &record)? && cpu.missed == 0;
        let seen = SeenEvent {
            cpu: cpu.cpu,
            stamp: entry.stamp,
            record,
            delay: None,
            exit: cpu.record().map(WholeRecord::bytes).filter(|_| leaf),
        };
        let text = self.lines.text();
        write_event(&mut self.maker, style, entry.missed, &seen, text)?;
        if leaf {
            cpu.pass();
        }
        Ok(())
    }
}

/// Writes an event, and before it that `missed` ones were missed; after an error nothing.
fn write_event(
    maker: &mut EventFormatter,
    style: Style,
    missed: u64,
    seen: &SeenEvent<'_>,
    text: &mut Text,
) -> Result {
    let before = TextBefore::of(seen.cpu, style, maker, text);
    let written = maker
        .write_lost(seen.cpu, missed, text)
        .and_then(|()| maker.write_event(style, seen, text));
    if written.is_err() {
        before.restore(maker, text);
    }
    written.map_err(no_memory)
}

impl TraceFile for Share {
    fn read_into(
        &mut self,
        at: &FileIdentity<'_>,
        out: &mut IovIterDest<'_>,
        pos: &mut i64,
        spliced: bool,
    ) -> Result<Step> {
        if let Some(wanted) = self.lines.wants(out, spliced) {
            self.fill(at, wanted.bytes)?;
        }
        if self.lines.is_empty() {
            return Ok(Step::Empty(SleepCondition {
                buf: Buf::Live,
                cpus: at.cpus(),
                ends_when_off: self.delivered,
            }));
        }
        self.delivered = true;
        self.lines.give(out, spliced, pos)
    }

    fn mark(&self) -> Option<RecordedTotal> {
        Some(self.last)
    }

    fn ready(&mut self, at: &FileIdentity<'_>, poller: &Poller<'_>) -> PollState {
        let buffers = at.inst.buffers();
        let is_known = self.drained && buffers.recorded_total(at.cpus()) == self.last;
        if self.lines.is_empty() && !is_known {
            // What was recorded may have been emptied away. After an error there may be events: the read
            // gets the error.
            let _ = self.look(at);
        }
        let more = buffers.poll_recorded(at.cpus(), self.last, poller);
        let unread = !self.lines.is_empty() || self.entry.is_some();
        PollState::to_read(more || !self.drained || unread)
    }
}
