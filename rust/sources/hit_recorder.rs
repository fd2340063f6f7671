// SPDX-License-Identifier: GPL-2.0

//! What records the hits of a definition, whatever calls it, for the files where the event is enabled.
//!
//! [`HitRecorder::hit`] runs in any context, NMI included: no lock, no allocation, no panic.
//! [`HitRecorder::hit_in_task`] may sleep.

use super::{
    hit_counts::{
        HitCounts, //
        HitKind,
    },
    hit_kernel::{
        HitKernel,
        SharedByHits, //
    },
    probe::{
        self,
        RecordBytes,
        RecordInRing, //
    },
    probe_layout::ProbeLayout,
    registers::CallRegisters,
    targets::RecordTargets, //
};
use crate::{
    fetch::{
        plain::PlainArgument,
        plain_text::PlainText,
        print::RecordHead,
        run::{
            ProbedMachine,
            WORDS, //
        },
        shared_parameters::PlacedMachine, //
    },
    kapi::{
        percpu::CpuPin,
        user_memory, //
    },
    probes::{
        EventFile,
        COMMON,
        MOST_PAYLOAD, //
    }, //
};
use kernel::prelude::*;

/// Where a hit was; of a return where that went, too.
pub(super) type HitPlace = (u64, Option<u64>);

/// How what a hit records is fetched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FetchWay {
    /// It is the place alone.
    Nothing,
    /// By the list of plain arguments: nothing else has to be looked at.
    Plain,
    /// By the definition's program, unless it is for a string that is short.
    Program,
}

/// Records hits.
pub(super) struct HitRecorder {
    layout: ProbeLayout,
    way: FetchWay,
    /// The arguments, if they are plain; and the size of a record without strings.
    plain: KVec<PlainArgument>,
    size: RecordBytes,
    text: Option<PlainText>,
    shared: SharedByHits,
    targets: RecordTargets,
}

impl HitRecorder {
    /// Returns that of a definition, without targets.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(layout: ProbeLayout) -> Result<Self> {
        let (plain, text) = layout.plain()?.unzip();
        let (way, text) = match (&plain, text.flatten()) {
            (None, _) => (FetchWay::Program, None),
            (_, Some(text)) => (FetchWay::Program, Some(text)),
            (Some(plain), None) if plain.is_empty() => (FetchWay::Nothing, None),
            _ => (FetchWay::Plain, None),
        };
        Ok(Self {
            way,
            plain: plain.unwrap_or_default(),
            text,
            size: RecordBytes::new(layout.size()),
            shared: SharedByHits::new(&layout)?,
            layout,
            targets: RecordTargets::none(),
        })
    }

    /// Returns what the definition says.
    pub(super) fn layout(&self) -> &ProbeLayout {
        &self.layout
    }

    /// Returns where hits are recorded.
    pub(super) fn targets(&self) -> &RecordTargets {
        &self.targets
    }

    /// Returns what is counted of the hits.
    #[inline(always)]
    pub(super) fn counts(&self) -> &HitCounts {
        &self.shared.counts
    }

    /// Returns what the hits share.
    #[inline(always)]
    pub(super) fn shared(&self) -> &SharedByHits {
        &self.shared
    }

    /// Looks up the symbols that may have come, or be elsewhere by now, before the probe is called again. Process context;
    /// to look up a function of a module takes a grace period.
    ///
    /// # Errors
    ///
    /// `ENOENT` when one is not there.
    pub(super) fn find_symbols(&self) -> Result {
        self.shared.find_symbols(&self.layout)
    }

    /// Returns whether what is recorded is there without reading memory, if the parameters are.
    pub(super) fn is_plain(&self) -> bool {
        self.way != FetchWay::Program
    }

    /// Counts a call by what records, wherever the event is enabled. Any context.
    pub(super) fn skip(&self, pin: &CpuPin) {
        self.shared.counts.count(HitKind::OwnCall);
        self.miss(pin);
    }

    /// Counts a hit that is not recorded because too many were inside each other, wherever the event is enabled. Any
    /// context.
    pub(super) fn skip_deep(&self, pin: &CpuPin) {
        self.shared.counts.count(HitKind::TooDeep);
        self.miss(pin);
    }

    /// Records a hit at `place`, wherever the event is enabled. Any context.
    ///
    /// The machine comes by value: where nothing but registers is recorded for one instance it is in none itself.
    #[inline(always)]
    pub(super) fn hit(&self, pin: &CpuPin, machine: impl ProbedMachine, place: HitPlace) {
        self.hit_if(Self::is_plain, pin, machine, place);
    }

    /// As [`Self::hit`], for a caller that knows that [`Self::is_plain`].
    #[inline(always)]
    pub(super) fn hit_plain(&self, pin: &CpuPin, machine: impl ProbedMachine, place: HitPlace) {
        self.hit_if(|_| true, pin, machine, place);
    }

    /// As [`Self::hit`]; `is_plain` answers for [`Self::is_plain`].
    #[inline(always)]
    fn hit_if(
        &self,
        is_plain: impl FnOnce(&Self) -> bool,
        pin: &CpuPin,
        machine: impl ProbedMachine,
        place: HitPlace,
    ) {
        self.shared.counts.count(HitKind::Hit);
        match self.targets.sole(pin) {
            Some(file) if is_plain(self) => self.record_plain(file, &machine, place),
            Some(file) if self.text.is_some() => {
                self.hit_with_text(file, pin, machine, place.0, place.1);
            }
            _ => self.hit_closer(pin, machine, place.0, place.1),
        }
    }

    /// As [`Self::hit`], of what is counted, for the only file and with a string. The place comes in registers.
    #[inline(never)]
    fn hit_with_text(
        &self,
        file: &EventFile,
        pin: &CpuPin,
        machine: impl ProbedMachine,
        address: u64,
        returned_to: Option<u64>,
    ) {
        let place = (address, returned_to);
        let read = |text| Some((text, PlainText::read(text, &machine)?));
        let read = self.text.as_ref().and_then(read);
        let Some((text, string)) = read else {
            return self.hit_closer(pin, machine, address, returned_to);
        };
        let behind = self.layout.size();
        let size = RecordBytes::new(behind.wrapping_add(string.size()));
        probe::record(file, &size, |record| {
            self.put_place(record, place);
            PlainArgument::put_all(&self.plain, &machine, record);
            text.put(&string, behind, record);
        });
    }

    /// Records a hit of a call at `place`, with these registers and with what was kept of it. Any context.
    #[inline(always)]
    pub(super) fn hit_call(
        &self,
        (words, kept): (&[u64; WORDS], &[u64]),
        pin: &CpuPin,
        place: HitPlace,
    ) {
        let kernel = HitKernel::new(&self.shared);
        let machine = CallRegisters {
            words,
            kept,
            kernel,
        };
        self.hit(pin, machine, place);
    }

    /// As [`Self::hit`], of what is counted. The place comes in registers.
    #[inline(never)]
    fn hit_closer(
        &self,
        pin: &CpuPin,
        machine: impl ProbedMachine,
        address: u64,
        returned_to: Option<u64>,
    ) {
        let place = (address, returned_to);
        if !self.is_plain() {
            return self.hit_by_program(pin, &machine, place);
        }
        for file in self.targets.files(pin) {
            self.record_plain(file, &machine, place);
        }
    }

    /// Records the place and registers for one file.
    #[inline(always)]
    fn record_plain(&self, file: &EventFile, machine: &impl ProbedMachine, place: HitPlace) {
        // SAFETY: It is committed below, and nothing is reserved meanwhile.
        let reserved = unsafe { RecordInRing::reserve(file, &self.size) };
        if let Some(mut reserved) = reserved {
            let record = reserved.bytes();
            self.put_place(record, place);
            if self.way == FetchWay::Nothing {
                // Nothing has to be kept for this.
                return reserved.commit();
            }
            PlainArgument::put_all(&self.plain, machine, record);
            reserved.commit();
        }
    }

    /// Records a hit by the program of its arguments, if the filter lets it through.
    #[inline(always)]
    fn hit_by_program(&self, pin: &CpuPin, machine: &impl ProbedMachine, place: HitPlace) {
        match &self.layout.functions {
            None => self.run_program(pin, machine, place),
            Some(functions) => {
                let machine = PlacedMachine::new(machine, functions.places(place.0));
                self.run_program(pin, &machine, place);
            }
        }
    }

    /// Records a hit by the program, on a machine that has what its steps ask for.
    #[inline(always)]
    fn run_program(&self, pin: &CpuPin, machine: &impl ProbedMachine, place: HitPlace) {
        let program = self.layout.program();
        let longest = || match self.layout.filter.is_some() {
            // It is asked about a record beside the rings, where there is room for so many.
            true => MOST_PAYLOAD,
            false => self.targets.longest(pin),
        };
        program.with_rooms(machine, MOST_PAYLOAD, longest, |size, rooms| {
            let fill = |record: &mut [u8]| {
                self.put_place(record, place);
                program.fill(machine, rooms, record);
            };
            match &self.layout.filter {
                None => self.targets.record(pin, size, fill),
                Some(filter) => {
                    if self.targets.record_wanted(pin, filter, size, fill) {
                        self.shared.counts.count(HitKind::Filtered);
                    }
                }
            }
        });
    }

    /// As [`Self::hit`], in a task that sleeps until memory is there.
    #[inline(always)]
    pub(super) fn hit_in_task(&self, machine: impl ProbedMachine, place: HitPlace) {
        match self.layout.reads_memory() {
            false => CpuPin::with(|pin| self.hit(pin, machine, place)),
            true => self.hit_reading(machine, place.0, place.1),
        }
    }

    /// As [`Self::hit_in_task`], of a definition that reads memory: beside the ring, which is not left in this time.
    #[inline(never)]
    fn hit_reading(&self, machine: impl ProbedMachine, address: u64, returned_to: Option<u64>) {
        let (program, place) = (self.layout.program(), (address, returned_to));
        self.shared.counts.count(HitKind::Hit);
        let gathered = user_memory::with_place(|bytes| {
            let bytes = bytes.get_mut(..MOST_PAYLOAD).unwrap_or_default();
            self.put_place(bytes, place);
            let size = program.gather(&machine, bytes).min(bytes.len());
            if let (Some(filter), Some(record)) = (&self.layout.filter, bytes.get_mut(..size)) {
                if !CpuPin::with(|pin| self.targets.want(pin, filter, record)) {
                    return self.shared.counts.count(HitKind::Filtered);
                }
            }
            let gathered = bytes.get(COMMON..size).unwrap_or_default();
            let fill = |record: &mut [u8]| {
                if let Some(to) = record.get_mut(COMMON..COMMON.wrapping_add(gathered.len())) {
                    to.copy_from_slice(gathered);
                }
            };
            CpuPin::with(|pin| self.targets.record(pin, size, fill));
        });
        if gathered.is_none() {
            CpuPin::with(|pin| self.miss(pin));
        }
    }

    /// Puts where a hit was in a record.
    #[inline(always)]
    fn put_place(&self, record: &mut [u8], (address, returned_to): HitPlace) {
        put(record, COMMON, address);
        match returned_to {
            Some(returned_to) if self.layout.head == RecordHead::Return => {
                put(record, COMMON.wrapping_add(8), returned_to);
            }
            _ => {}
        }
    }

    /// Counts a loss wherever the event is enabled. Any context.
    fn miss(&self, pin: &CpuPin) {
        self.targets.miss(pin);
    }
}

/// Puts a word at `at` of the record, if there is room.
#[inline(always)]
fn put(record: &mut [u8], at: usize, word: u64) {
    let end = at.wrapping_add(8);
    if let Some(place) = record.get_mut(at..end).and_then(<[u8]>::first_chunk_mut) {
        *place = word.to_le_bytes();
    }
}
