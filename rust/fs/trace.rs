// SPDX-License-Identifier: GPL-2.0

//! `trace`: the events of all CPUs or of one as text, in the order of time, consuming nothing.
//! Those of the snapshot for `fs::snapshot`.
//!
//! A read that begins at 0 sets out anew: header, then what has been recorded up to then. The reads
//! that follow go on where the last one ended and keep only the text that was not asked for yet, so
//! the file costs one copied sub-buffer per CPU, however long it is. A reader that goes back to
//! another position gets a new text from there on, and so does one that was told of an error. A
//! reader that reads on after the end gets what was recorded since. A text is made of one bank to
//! its end, also when a snapshot is taken meanwhile.

use super::{
    file::{
        FileIdentity,
        Step,
        TraceFile, //
    },
    shown::{
        self,
        ShownBuffer, //
    },
    style::style_of,
    text_file::{
        copy_at,
        no_memory, //
    }, //
};
use crate::{
    buffers::{
        copy_walk::CopyWalk,
        merge::{
            self,
            Heads,
            SettledState, //
        },
        stream::{
            EnteredCopy,
            Page,
            Tour,
            View, //
        },
        Bank,
        Buf,
        CpuSel, //
    },
    instance::{
        Instance,
        Pause, //
    },
    kapi::{
        cpus,
        machine,
        task::COMM,
        whole_record::{
            RecordCopy,
            WholeRecord, //
        }, //
    },
    latency::maximum::Maximum,
    output::{
        Delay,
        LinePrinter,
        SeenEvent,
        Style,
        Text, //
    },
    text::{
        form::Form,
        graph,
        header::Header,
        latency::{
            LatencyHead,
            Machine, //
        },
        line,
        options::Opt,
        snapshot::Help, //
    }, //
};
use core::{
    fmt::Write,
    str, //
};
use kernel::{
    iov::IovIterDest,
    prelude::*,
    sync::Arc,
    uaccess::UserSliceReader, //
};

/// The most text that is made ahead of what the user asked for.
const CHUNK: usize = 64 * 1024;

/// Opens the file.
pub(crate) fn open(at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
    Ok(KBox::new(Trace::new(at, Buf::Live), GFP_KERNEL)?)
}

/// The file.
pub(super) struct Trace {
    shown: ShownBuffer,
    reading: Option<Reading>,
    /// Keeps writers away.
    _pause: Option<Pause>,
}

impl Trace {
    /// Returns the file that shows `buf`.
    pub(super) fn new(at: &FileIdentity<'_>, buf: Buf) -> Self {
        if buf == Buf::Live && at.reads {
            at.inst.hand_in();
        }
        let pauses = buf == Buf::Live && at.reads && at.inst.options().has(Opt::PauseOnTrace);
        Self {
            shown: ShownBuffer::new(at.inst, buf),
            reading: None,
            _pause: pauses.then(|| at.inst.pause()),
        }
    }
}

impl TraceFile for Trace {
    fn read_into(
        &mut self,
        at: &FileIdentity<'_>,
        out: &mut IovIterDest<'_>,
        pos: &mut i64,
        spliced: bool,
    ) -> Result<Step> {
        let wanted = u64::try_from(*pos).map_err(|_| EINVAL)?;
        let reading = match &mut self.reading {
            Some(reading) if wanted != 0 && wanted >= reading.start => reading,
            slot => slot.insert(Reading::new(at.inst, at.cpus(), self.shown)?),
        };
        loop {
            let skipped = wanted.saturating_sub(reading.start);
            let skipped = i64::try_from(skipped).map_err(|_| EINVAL)?;
            if skipped < reading.text.bytes().len() as i64 {
                let mut place = skipped;
                let step = copy_at(reading.text.bytes(), out, &mut place)?;
                *pos = pos.saturating_add(place.saturating_sub(skipped));
                return Ok(step);
            }
            // A splicing reader looks for the end again after each end, and looking can be an
            // event.
            if reading.phase == Phase::Told && !spliced {
                reading.set_out(at.inst);
            }
            match reading.go_on(at.inst, out.len().min(CHUNK)) {
                Ok(true) => {}
                Ok(false) => return Ok(Step::Bytes(0)),
                Err(error) => {
                    // A line may be there in part, and an event that was passed may have none.
                    self.reading = None;
                    return Err(error);
                }
            }
        }
    }

    /// Empties the buffers.
    fn truncate(&mut self, at: &FileIdentity<'_>) -> Result {
        match self.shown.of_maximum {
            true => {
                at.inst.settle();
                at.inst.buffers().clear_snapshot(at.cpus())?;
            }
            false => at.inst.clear(at.cpus())?,
        }
        self.shown.look_again(at.inst);
        Ok(())
    }

    /// Ignores what is written: opening the file with truncation did the work.
    fn write(
        &mut self,
        _at: &FileIdentity<'_>,
        input: &mut UserSliceReader,
        _pos: &mut i64,
    ) -> Result<usize> {
        Ok(input.len())
    }
}

/// The lines of the live buffer, without the header, for those that have no file: what has been recorded by now.
pub(super) struct DumpLines(Reading);

impl DumpLines {
    /// Begins with the first line of these CPUs.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(inst: &Instance, cpus: CpuSel) -> Result<Self> {
        let mut shown = ShownBuffer::new(inst, Buf::Live);
        // Its records are no part of the live buffer.
        shown.of_maximum = false;
        let mut reading = Reading::new(inst, cpus, shown)?;
        reading.set_out(inst);
        Ok(Self(reading))
    }

    /// Returns the next lines, at least so many bytes if there are that many; `None` after the last.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of reading the buffers.
    pub(super) fn next(&mut self, inst: &Arc<Instance>, wanted: usize) -> Result<Option<&[u8]>> {
        let any = self.0.go_on(inst, wanted)?;
        Ok(any.then(|| self.0.text.bytes()))
    }
}

/// A way through the buffers.
struct Reading {
    buf: Buf,
    /// Where the buffer was when the reading began.
    bank: Bank,
    /// The latency whose trace it is.
    maximum: Option<Maximum>,
    lines: LinePrinter,
    cpus: KVec<CpuTour>,
    /// These are all CPUs.
    whole: bool,
    settled: SettledState,
    /// Text that the reader did not ask for yet.
    text: Text,
    /// The position of `text` in the file.
    start: u64,
    /// Events that were printed.
    printed: u64,
    /// The beginnings of the CPUs are told.
    annotate: bool,
    /// Lines have delays.
    latency: bool,
    /// A record that is printed when the next one is known.
    kept: RecordCopy,
    phase: Phase,
}

/// How far a way through the buffers is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It begins with the header.
    New,
    /// It goes to the bounds.
    Going,
    /// It is at the bounds.
    Ended,
    /// The reader knows that it is at the end of the file. The next read goes on to what was
    /// recorded since.
    Told,
}

impl Reading {
    fn new(inst: &Instance, cpus: CpuSel, shown: ShownBuffer) -> Result<Self> {
        let (bank, maximum) = shown.trace(inst);
        let mut list = KVec::new();
        let is_part = |cpu: &u32| maximum.is_none_or(|of| of.has_cpu(*cpu));
        for cpu in cpus.iter().filter(is_part) {
            list.push(CpuTour::new(cpu, bank, Tour::default()), GFP_KERNEL)?;
        }
        Ok(Self {
            buf: shown.buf,
            bank,
            maximum,
            lines: LinePrinter::new()?,
            cpus: list,
            whole: cpus == CpuSel::All,
            settled: SettledState::default(),
            text: Text::new(),
            start: 0,
            printed: 0,
            annotate: shown.overran,
            latency: shown.latency,
            kept: RecordCopy::new(),
            phase: Phase::New,
        })
    }

    /// Makes the next text, at least `wanted` bytes if there are that many. Returns whether there
    /// was any.
    fn go_on(&mut self, inst: &Arc<Instance>, wanted: usize) -> Result<bool> {
        let mut style = style_of(inst);
        if let Some(maximum) = &self.maximum {
            style = style.with_begin(maximum.from);
        }
        self.start = self.start.saturating_add(self.text.bytes().len() as u64);
        self.text.clear();
        match self.phase {
            Phase::New => {
                self.write_header(inst, style)?;
                self.set_out(inst);
            }
            Phase::Going => {}
            Phase::Ended | Phase::Told => {
                self.phase = Phase::Told;
                return Ok(false);
            }
        }
        while self.text.bytes().len() < wanted {
            let mut tours = Tours {
                inst,
                cpus: &mut self.cpus,
            };
            let Some(place) = merge::next(&mut tours, &mut self.settled)? else {
                let any = !self.text.bytes().is_empty();
                self.phase = if any { Phase::Ended } else { Phase::Told };
                return Ok(any);
            };
            self.print(inst, place, style)?;
        }
        Ok(true)
    }

    fn write_header(&mut self, inst: &Instance, style: Style) -> Result {
        let (mut entries, mut written) = shown::counts(inst, self.bank);
        let any = |cpu: &CpuTour| inst.stats_in(self.bank, cpu.cpu).entries != 0;
        let mut empty = !self.cpus.iter().any(any);
        let mut comm = [0; COMM];
        let mut head = LatencyHead::default();
        let mut places = [Text::new(), Text::new()];
        if let Some(maximum) = self.maximum {
            entries = self.count(inst, &maximum)?;
            (written, empty) = (entries, entries == 0);
            head = shown::head(&maximum, &mut comm);
            if let Some(addresses) = maximum.places {
                for (place, address) in places.iter_mut().zip(addresses) {
                    let lines = &mut self.lines;
                    lines
                        .write_address(address, style.options, place)
                        .map_err(no_memory)?;
                }
                let [began, ended] = &places;
                head.places = Some([began.bytes(), ended.bytes()]);
            }
        }
        let mut preemption = Text::new();
        if self.latency {
            write!(preemption, "{}", machine::Preemption).map_err(no_memory)?;
        }
        let header = Header {
            tracer: inst.tracer_name(),
            entries,
            written,
            machine: Machine {
                release: machine::release(),
                preemption: str::from_utf8(preemption.bytes()).unwrap_or_default(),
                online_cpus: cpus::online(),
            },
            head,
            options: style.options,
            latency: self.latency,
            empty,
            calls: style.calls(),
            columns: inst.tracer_columns(),
        };
        if self.buf == Buf::Snapshot && empty {
            header.write_tracer(&mut self.text).map_err(no_memory)?;
            return Help {
                allocated: inst.buffers().has_snapshot(),
                whole: self.whole,
            }
            .write_text(&mut self.text)
            .map_err(no_memory);
        }
        header.write_text(&mut self.text).map_err(no_memory)
    }

    /// Returns how many events are part of the trace of a latency. Does not go there.
    fn count(&mut self, inst: &Instance, maximum: &Maximum) -> Result<u64> {
        self.set_out(inst);
        let mut count = 0u64;
        for cpu in self.cpus.iter_mut() {
            while cpu.stamp().is_some() || cpu.look(inst)? {
                let is_part = cpu.stamp().is_some_and(|stamp| maximum.has(stamp));
                count = count.saturating_add(u64::from(is_part));
                cpu.pass();
            }
            cpu.missed = 0;
            cpu.set_out(self.bank, Tour::default());
        }
        Ok(count)
    }

    /// Returns whether a record of this time is shown.
    fn shows(&self, stamp: u64) -> bool {
        self.maximum.is_none_or(|maximum| maximum.has(stamp))
    }

    /// Takes what has been recorded by now as the bounds.
    fn set_out(&mut self, inst: &Instance) {
        self.phase = Phase::Going;
        self.settled.unsettle();
        for cpu in self.cpus.iter_mut() {
            let counts = inst.buffers().counts(cpu.cpu);
            let recorded = counts.map_or(0, |counts| counts.of.of(self.bank).next);
            cpu.tour.go_on_to(recorded);
        }
    }

    /// Prints the next event of the CPU at `place`, and passes it.
    fn print(&mut self, inst: &Arc<Instance>, place: usize, style: Style) -> Result {
        let shown = self
            .cpus
            .get(place)
            .and_then(CpuTour::stamp)
            .is_none_or(|stamp| self.shows(stamp));
        let Some(cpu) = self.cpus.get_mut(place) else {
            return Ok(());
        };
        if !shown {
            cpu.missed = 0;
            cpu.pass();
            if cpu.stamp().is_none() {
                self.settled.unsettle();
            }
            return Ok(());
        }
        let text = &mut self.text;
        let missed = core::mem::take(&mut cpu.missed);
        line::write_lost(cpu.cpu, missed, text).map_err(no_memory)?;
        // ftrace says it of no CPU that begins with the first or the second event.
        if !core::mem::replace(&mut cpu.begun, true)
            && self.annotate
            && style.options.has(Opt::Annotate)
            && Form::of(style.options) == Form::Text
            && self.printed > 1
        {
            line::write_buffer_started(cpu.cpu, text).map_err(no_memory)?;
        }
        let number = cpu.cpu;
        let stamp = cpu.walk.stamp();
        if let (Some(stamp), Some(record)) = (stamp, cpu.walk.record()) {
            if style.waits_for_next(&record) {
                self.kept.keep(record)?;
                return self.print_call(inst, place, stamp, style);
            }
            if self.latency {
                self.kept.keep(record)?;
            } else {
                let seen = SeenEvent {
                    cpu: number,
                    stamp,
                    record,
                    delay: None,
                    exit: None,
                };
                self.lines
                    .write_event(style, &seen, text)
                    .map_err(no_memory)?;
            }
        }
        cpu.pass();
        if cpu.stamp().is_none() {
            self.settled.unsettle();
        }
        if let (true, Some(stamp)) = (self.latency, stamp) {
            self.print_kept(inst, number, stamp, style)?;
        }
        self.printed = self.printed.saturating_add(1);
        Ok(())
    }

    /// Prints the entry of a function that was kept, of the CPU at `place`, and passes it; and its exit if
    /// that is the next event of the CPU.
    fn print_call(
        &mut self,
        inst: &Arc<Instance>,
        place: usize,
        stamp: u64,
        style: Style,
    ) -> Result {
        let (Some(cpu), Some(record)) = (self.cpus.get_mut(place), self.kept.record()) else {
            return Ok(());
        };
        cpu.pass();
        let looks = cpu.stamp().is_none();
        let leaf = cpu.exits(inst, &record)?;
        let seen = SeenEvent {
            cpu: cpu.cpu,
            stamp,
            record,
            delay: None,
            exit: cpu.record().map(WholeRecord::bytes).filter(|_| leaf),
        };
        self.lines
            .write_event(style, &seen, &mut self.text)
            .map_err(no_memory)?;
        if leaf {
            cpu.pass();
        }
        if looks || cpu.stamp().is_none() {
            self.settled.unsettle();
        }
        self.printed = self.printed.saturating_add(1);
        Ok(())
    }

    /// Prints the event of `cpu` that was passed and kept: now the next one is known.
    fn print_kept(&mut self, inst: &Arc<Instance>, cpu: u32, stamp: u64, style: Style) -> Result {
        let mut tours = Tours {
            inst,
            cpus: &mut self.cpus,
        };
        let next = merge::next(&mut tours, &mut self.settled)?
            .and_then(|place| tours.stamp(place))
            .filter(|next| self.maximum.is_none_or(|maximum| maximum.has(*next)))
            .unwrap_or(stamp);
        let Some(record) = self.kept.record() else {
            return Ok(());
        };
        let seen = SeenEvent {
            cpu,
            stamp,
            record,
            delay: Some(Delay {
                number: self.printed,
                next,
            }),
            exit: None,
        };
        self.lines
            .write_event(style, &seen, &mut self.text)
            .map_err(no_memory)
    }
}

/// The way through the buffer of one CPU.
pub(super) struct CpuTour {
    pub(super) cpu: u32,
    /// Where that is.
    pub(super) bank: Bank,
    walk: CopyWalk,
    pub(super) tour: Tour,
    /// Events that were missed before the next one.
    pub(super) missed: u64,
    /// An event of it was printed.
    begun: bool,
}

impl CpuTour {
    pub(super) fn new(cpu: u32, bank: Bank, tour: Tour) -> Self {
        Self {
            cpu,
            bank,
            walk: CopyWalk::default(),
            tour,
            missed: 0,
            begun: false,
        }
    }

    /// Leaves the sub-buffer where it is for another way.
    pub(super) fn set_out(&mut self, bank: Bank, tour: Tour) {
        self.bank = bank;
        self.walk.leave();
        self.tour = tour;
    }

    /// Returns the stamp of the event at which the copy's walk stands, which may be one after the bound.
    pub(super) fn found(&self) -> Option<u64> {
        self.walk.stamp()
    }

    pub(super) fn stamp(&self) -> Option<u64> {
        self.walk.stamp().filter(|_| !self.tour.done())
    }

    /// Returns the record of the next event in the copy.
    pub(super) fn record(&self) -> Option<WholeRecord<'_>> {
        self.walk.record()
    }

    /// Passes the next event in the copy.
    pub(super) fn pass(&mut self) {
        self.walk.pass();
        self.tour.pass();
    }

    /// Looks at the event after `entry`, which was passed. Returns whether it is the exit of the same call and
    /// nothing was missed between them.
    pub(super) fn exits(&mut self, inst: &Instance, entry: &[u8]) -> Result<bool> {
        if self.stamp().is_none() && !self.look(inst)? {
            return Ok(false);
        }
        let next = self.record().filter(|_| self.missed == 0);
        Ok(next.is_some_and(|next| graph::is_leaf(entry, &next)))
    }

    /// Copies the next sub-buffer that has an event, beginning with the present one.
    fn look(&mut self, inst: &Instance) -> Result<bool> {
        let mut tour = self.tour;
        let found = tour.look(&mut Copies { cpu: self, inst });
        self.tour = tour;
        found
    }
}

/// The sub-buffers of a CPU as [`Tour::look`] sees them.
struct Copies<'a> {
    cpu: &'a mut CpuTour,
    inst: &'a Instance,
}

impl View for Copies<'_> {
    type Error = Error;

    fn view(&mut self, after: Option<u64>) -> Result<Option<Page>> {
        let cpu = &mut *self.cpu;
        cpu.walk.view(self.inst.buffers(), cpu.bank, cpu.cpu, after)
    }

    fn enter(&mut self, entered: EnteredCopy) -> bool {
        let cpu = &mut *self.cpu;
        cpu.missed = cpu.missed.saturating_add(entered.missed);
        cpu.walk.enter(entered.seen)
    }
}

/// The CPUs as [`merge::next`] sees them.
pub(super) struct Tours<'a> {
    pub(super) inst: &'a Arc<Instance>,
    pub(super) cpus: &'a mut [CpuTour],
}

impl Heads for Tours<'_> {
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
