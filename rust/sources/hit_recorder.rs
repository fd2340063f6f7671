// SPDX-License-Identifier: GPL-2.0

//! What records the hits of a definition, whatever calls it, for the files where the event is enabled.
//!
//! [`HitRecorder::hit`] runs in any context, NMI included: no lock, no allocation, no panic.
//! [`HitRecorder::hit_in_task`] may sleep.

use super::{
    probe::{
        RecordBytes,
        RecordInRing, //
    },
    probe_layout::ProbeLayout,
    targets::RecordTargets, //
};
use crate::{
    fetch::{
        plain::PlainArgument,
        print::RecordHead,
        run::ProbedMachine,
        shared_parameters::PlacedMachine, //
    },
    kapi::{
        percpu::CpuPin,
        user_memory,
        words::SharedU64, //
    },
    probes::{
        COMMON,
        MOST_PAYLOAD, //
    },
    ring::port::SharedWord as _, //
};
use kernel::prelude::*;

/// Records hits.
pub(super) struct HitRecorder {
    layout: ProbeLayout,
    /// The arguments, if nothing else has to be looked at; and the size of a record then.
    plain: Option<KVec<PlainArgument>>,
    size: RecordBytes,
    hits: SharedU64,
    /// Calls by what records, which are not recorded.
    missed: SharedU64,
    targets: RecordTargets,
}

// SAFETY: The pointers are cookies, which are for any context.
unsafe impl Send for HitRecorder {}
// SAFETY: Through `&self` only atomic words change.
unsafe impl Sync for HitRecorder {}

impl HitRecorder {
    /// Returns that of a definition, without targets.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(layout: ProbeLayout) -> Result<Self> {
        Ok(Self {
            plain: layout.plain()?,
            size: RecordBytes::new(layout.size()),
            layout,
            hits: SharedU64::zero(),
            missed: SharedU64::zero(),
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

    /// Returns how many hits there were, and how many calls by what records.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.hits.load(), self.missed.load())
    }

    /// Counts a call by what records, wherever the event is enabled. Any context.
    pub(super) fn skip(&self, pin: &CpuPin) {
        self.missed.count();
        self.miss(pin);
    }

    /// Records a hit at `address`, or a return from there to `returned_to`, wherever the event is enabled. Any
    /// context.
    #[inline(always)]
    pub(super) fn hit(&self, pin: &CpuPin, machine: &impl ProbedMachine, place: (u64, u64)) {
        self.hits.count();
        let Some(plain) = &self.plain else {
            return self.hit_by_program(pin, machine, place);
        };
        let at = self.layout.program().shape.head;
        for target in self.targets.places() {
            let cookie = target.cookie();
            if cookie.is_null() {
                continue;
            }
            // SAFETY: `detach` takes a cookie off before `events::synchronize` waits for probes, of which this is one:
            // the pin has preemption disabled. The size has the common fields and an address. It is committed below.
            let reserved = unsafe { RecordInRing::reserve(cookie, self.size) };
            if let Some(mut reserved) = reserved {
                let record = reserved.bytes();
                self.put_place(record, place);
                PlainArgument::put_all(plain, machine, record, at);
                reserved.commit();
            }
        }
    }

    /// Records a hit by the program of its arguments, if the filter lets it through.
    #[inline(never)]
    fn hit_by_program(&self, pin: &CpuPin, machine: &impl ProbedMachine, place: (u64, u64)) {
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
    fn run_program(&self, pin: &CpuPin, machine: &impl ProbedMachine, place: (u64, u64)) {
        let program = self.layout.program();
        let longest = || match self.layout.filter.is_some() {
            // It is asked about a record beside the rings, where there is room for so many.
            true => MOST_PAYLOAD,
            // SAFETY: As in `hit`, a cookie stays as long as preemption is disabled.
            false => unsafe { self.targets.longest(pin) },
        };
        program.with_rooms(machine, MOST_PAYLOAD, longest, |size, rooms| {
            let fill = |record: &mut [u8]| {
                self.put_place(record, place);
                program.fill(machine, rooms, record);
            };
            match &self.layout.filter {
                // SAFETY: As in `hit`, a cookie stays as long as preemption is disabled, and the size has the common
                // fields and an address.
                None => unsafe { self.targets.record(size, fill) },
                // SAFETY: A cookie and the size are as above.
                Some(filter) => unsafe { self.targets.record_wanted(pin, filter, size, fill) },
            }
        });
    }

    /// As [`Self::hit`], in a task that sleeps until memory is there.
    pub(super) fn hit_in_task(&self, machine: &impl ProbedMachine, place: (u64, u64)) {
        let program = self.layout.program();
        if !program.shape.reads_memory {
            return CpuPin::with(|pin| self.hit(pin, machine, place));
        }
        self.hits.count();
        let gathered = user_memory::with_place(|bytes| {
            let bytes = bytes.get_mut(..MOST_PAYLOAD).unwrap_or_default();
            self.put_place(bytes, place);
            let size = program.gather(machine, bytes).min(bytes.len());
            if let (Some(filter), Some(record)) = (&self.layout.filter, bytes.get_mut(..size)) {
                // SAFETY: As in `hit`, `events::synchronize` waits for this, which has preemption disabled.
                if !CpuPin::with(|pin| unsafe { self.targets.want(pin, filter, record) }) {
                    return;
                }
            }
            let gathered = bytes.get(COMMON..size).unwrap_or_default();
            let fill = |record: &mut [u8]| {
                if let Some(to) = record.get_mut(COMMON..COMMON.wrapping_add(gathered.len())) {
                    to.copy_from_slice(gathered);
                }
            };
            // SAFETY: As in `hit`, `events::synchronize` waits for this, which has preemption disabled. The size has
            // the common fields and an address.
            CpuPin::with(|_| unsafe { self.targets.record(size, fill) });
        });
        if gathered.is_none() {
            CpuPin::with(|pin| self.miss(pin));
        }
    }

    /// Puts where a hit was in a record.
    #[inline(always)]
    fn put_place(&self, record: &mut [u8], (address, returned_to): (u64, u64)) {
        put(record, COMMON, address);
        if self.layout.head == RecordHead::Return {
            put(record, COMMON.wrapping_add(8), returned_to);
        }
    }

    /// Counts, wherever the event is enabled, a hit that is not recorded because too many were inside each other.
    /// Any context.
    pub(super) fn miss(&self, pin: &CpuPin) {
        // SAFETY: As in `hit`, `detach` takes a cookie off before it is waited for this.
        unsafe { self.targets.miss(pin) };
    }
}

/// Puts a word at `at` of the record, if there is room.
#[inline(always)]
fn put(record: &mut [u8], at: usize, word: u64) {
    if let Some(place) = record.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = word.to_le_bytes();
    }
}
