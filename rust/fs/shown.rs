// SPDX-License-Identifier: GPL-2.0

//! What a file like `trace` shows: the live buffer, the snapshot, or the trace of the longest latency that the tracer
//! has kept; and what the header says of it.

use super::graph::us_of;
use crate::{
    buffers::{
        Bank,
        Buf, //
    },
    instance::Instance,
    kapi::{
        cpus,
        task::{
            self,
            COMM, //
        }, //
    },
    latency::maximum::Maximum,
    text::{
        latency::LatencyHead,
        options::Opt,
        word, //
    }, //
};

/// Returns whether events have been overwritten, of any CPU.
fn overran(inst: &Instance, bank: Bank) -> bool {
    let (entries, written) = counts(inst, bank);
    written > entries
}

/// Returns the number of events in the buffers of all CPUs, and that with the overwritten ones.
pub(super) fn counts(inst: &Instance, bank: Bank) -> (u64, u64) {
    cpus::possible().fold((0, 0), |(entries, written): (u64, u64), cpu| {
        let stats = inst.stats_in(bank, cpu);
        let entries = entries.saturating_add(stats.entries);
        let written = written.saturating_add(stats.entries);
        (entries, written.saturating_add(stats.overrun))
    })
}

/// What a file shows, as it was when it was opened.
#[derive(Clone, Copy)]
pub(super) struct ShownBuffer {
    pub(super) buf: Buf,
    /// It is the trace of the longest latency, for which `buf` stands.
    pub(super) of_maximum: bool,
    /// Events had been overwritten: the beginnings of the CPUs are told.
    pub(super) overran: bool,
    /// Its lines have the form that `latency-format` asked for.
    pub(super) latency: bool,
}

impl ShownBuffer {
    /// Returns what a file of `buf` shows.
    pub(super) fn new(inst: &Instance, buf: Buf) -> Self {
        let mut shown = Self {
            buf,
            of_maximum: buf == Buf::Live && inst.keeps_maximum(),
            overran: false,
            latency: inst.options().has(Opt::LatencyFormat),
        };
        shown.look_again(inst);
        shown
    }

    /// Looks again whether events have been overwritten.
    pub(super) fn look_again(&mut self, inst: &Instance) {
        self.overran = overran(inst, self.bank(inst));
    }

    /// Returns where that is at present.
    fn bank(&self, inst: &Instance) -> Bank {
        let buf = match self.of_maximum {
            true => Buf::Snapshot,
            false => self.buf,
        };
        inst.buffers().bank(buf)
    }

    /// Returns where it is to be read, and the latency whose trace it is.
    pub(super) fn trace(&self, inst: &Instance) -> (Bank, Option<Maximum>) {
        if !self.of_maximum {
            return (self.bank(inst), None);
        }
        // One that was seen a moment ago is shown.
        inst.settle();
        match inst.maximum() {
            Some(kept) => (kept.bank, Some(kept.maximum)),
            None => (self.bank(inst), None),
        }
    }
}

/// Returns what the header says of a latency. `comm` has room for the name of its task.
pub(super) fn head<'a>(maximum: &Maximum, comm: &'a mut [u8; COMM]) -> LatencyHead<'a> {
    let of = &maximum.task;
    *comm = task::bytes_of(of.name);
    LatencyHead {
        latency: us_of(maximum.latency),
        cpu: maximum.cpu,
        comm: comm.get(..word::comm_len(comm)).unwrap_or(comm),
        pid: of.pid,
        uid: task::user_here(of.user),
        nice: of.nice,
        policy: of.policy,
        rt_priority: of.rt_priority,
        places: None,
    }
}
