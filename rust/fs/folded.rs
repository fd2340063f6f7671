// SPDX-License-Identifier: GPL-2.0

//! `trace_folded`: the calls in the buffer, added up by what led to them, in the form that tools make flame graphs
//! of. Nothing is consumed.

use super::{
    file::FileIdentity,
    shown::ShownBuffer,
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
        stream::Tour,
        Buf, //
    },
    kapi::task,
    output::{
        CallTree,
        Text, //
    }, //
};
use kernel::prelude::*;

/// `trace_folded`.
pub(super) fn show(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let mut tree = CallTree::new();
    for_each_record(at, &mut |cpu, record| tree.add(cpu, record))?;
    tree.write(text)
}

/// Calls `add` with each record in the buffer and its CPU, in the order of time: of what was recorded before, so
/// that it comes to an end beside writers that are faster.
///
/// # Errors
///
/// Those of `add`, `EINTR`, `ENOMEM`.
pub(super) fn for_each_record(
    at: &FileIdentity<'_>,
    add: &mut dyn FnMut(u32, &[u8]) -> Result,
) -> Result {
    let end = at.inst.now();
    let (bank, maximum) = ShownBuffer::new(at.inst, Buf::Live).trace(at.inst);
    let mut cpus = KVec::new();
    for cpu in at.cpus().iter() {
        let mut way = CpuTour::new(cpu, bank, Tour::default());
        let counts = at.inst.buffers().counts(cpu);
        way.tour
            .go_on_to(counts.map_or(0, |counts| counts.of.of(bank).next));
        cpus.push(way, GFP_KERNEL)?;
    }
    let (inst, mut settled) = (at.inst, SettledState::default());
    loop {
        task::go_on()?;
        let mut tours = Tours {
            inst,
            cpus: &mut cpus,
        };
        let Some(place) = merge::next(&mut tours, &mut settled)? else {
            return Ok(());
        };
        let Some(cpu) = cpus.get_mut(place) else {
            return Err(EINVAL);
        };
        let stamp = cpu.stamp();
        if stamp.is_some_and(|stamp| stamp > end) {
            return Ok(());
        }
        let is_shown = stamp.is_some_and(|stamp| maximum.is_none_or(|maximum| maximum.has(stamp)));
        if let Some(record) = cpu.record().filter(|_| is_shown) {
            add(cpu.cpu, &record)?;
        }
        cpu.pass();
        if cpu.stamp().is_none() {
            settled.unsettle();
        }
    }
}
