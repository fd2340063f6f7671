// SPDX-License-Identifier: GPL-2.0

//! The only instance that functions are recorded for, when it records those of some tasks alone, or functions with
//! their arguments: one that `manner` knows, without the look through a list of them. And a function with its
//! arguments, for any of them.
//!
//! As in [`function`](super::function), everything rare goes on in another function, and nothing that is called
//! here can be traced.

use super::{
    exit::{
        Exit,
        ExitRing, //
    },
    fast_event::{
        Bytes,
        FastEvent, //
    },
    function::{
        record_last,
        FunctionTarget, //
    },
    manner::{
        Manner,
        TracedPids, //
    },
    Sink,
    COMMON, //
};
use crate::{
    event::{
        context::Base,
        format, //
    },
    kapi::{
        clock,
        context,
        hook_registers::{
            EntryRegisters,
            ARGS, //
        },
        port::Kernel, //
    },
    ring::{
        reservation::Reservation,
        writer::{
            FastReserve,
            ReserveError, //
        }, //
    }, //
};
use core::iter;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The common fields, the function, its caller, and the words that it got in registers.
const LEN: usize = COMMON + 16 + 8 * ARGS;

/// The only target, which wants whatever calls the hook.
pub(crate) struct OnlyTarget {
    target: FunctionTarget,
    /// The tasks, when not all.
    pids: Option<Arc<TracedPids>>,
    /// With their arguments.
    args: bool,
}

impl OnlyTarget {
    /// Returns `target`, for which functions are recorded in this manner; itself when that asks for more.
    pub(crate) fn new(
        target: FunctionTarget,
        manner: &Manner,
    ) -> core::result::Result<Self, FunctionTarget> {
        if !manner.is_of_tasks_or_args() {
            return Err(target);
        }
        Ok(Self {
            target,
            pids: manner.pids.clone(),
            args: manner.args,
        })
    }
}

/// Records a function for the only target, if the task is one of its tasks. `regs` are the registers that the
/// kernel handed to the hook.
#[inline(never)]
pub(super) extern "C" fn record_only(
    only: &OnlyTarget,
    exit: Exit,
    address: u64,
    caller: u64,
    regs: EntryRegisters<'_>,
) {
    if let Some(pids) = &only.pids {
        if !pids.has(context::pid()) {
            return exit.end();
        }
    }
    let Some(sink) = only.target.sink() else {
        return exit.end();
    };
    match only.args {
        false => record_last(sink, exit, address, caller),
        true => record_arguments::<1>(sink, exit, address, caller, regs),
    }
}

/// Records a function with its arguments. `OWN` is how often the hook has disabled preemption.
#[inline(never)]
pub(super) extern "C" fn record_arguments<const OWN: u32>(
    sink: &Sink,
    exit: Exit,
    address: u64,
    caller: u64,
    regs: EntryRegisters<'_>,
) {
    let out = exit.with_own_ring(sink.buffers().rings());
    let Some(clock) = clock::InlineClock::left(out.ring().gate()) else {
        return record_closer::<OWN>(sink, out, address, caller, regs);
    };
    let mut event = match FastEvent::<_, Bytes<LEN>>::reserve(out, || clock.now()) {
        Ok(event) => event,
        Err(out) => return record_inside::<OWN>(sink, out, address, caller, regs),
    };
    fill::<OWN>(event.payload(), address, caller, regs);
    event.finish(sink).into_exit().end();
}

/// Fills a record.
#[inline(always)]
fn fill<const OWN: u32>(record: &mut [u8], address: u64, caller: u64, regs: EntryRegisters<'_>) {
    let Some(record) = record.first_chunk_mut::<LEN>() else {
        return;
    };
    let raw = context::raw();
    let word = raw.word(Base::new(format::FUNCTION.id, OWN));
    let common = u64::from(word) | u64::from(raw.pid as u32) << 32;
    let words = iter::Iterator::chain([common, address, caller].into_iter(), regs.arguments());
    for (place, word) in record.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
}

/// As [`record_arguments`], where recording is off or the clock is another one.
#[inline(never)]
extern "C" fn record_closer<const OWN: u32>(
    sink: &Sink,
    out: ExitRing<'_>,
    address: u64,
    caller: u64,
    regs: EntryRegisters<'_>,
) {
    let gate = out.ring().gate();
    if gate.is_disabled() && !gate.is_broken() {
        return out.into_exit().end();
    }
    let time = || clock::read(sink.clock());
    let reserved = out.ring().writer().reserve(LEN, time);
    put::<OWN>(sink, &out, reserved, (address, caller), regs);
    out.into_exit().end();
}

/// As [`record_arguments`], where the fast path has declined once it had entered.
#[cold]
#[inline(never)]
extern "C" fn record_inside<const OWN: u32>(
    sink: &Sink,
    out: ExitRing<'_>,
    address: u64,
    caller: u64,
    regs: EntryRegisters<'_>,
) {
    let time = || clock::read(sink.clock());
    let writer = out.ring().writer();
    let reserved = writer.reserve_slow(LEN, FastReserve::Entered, time);
    put::<OWN>(sink, &out, reserved, (address, caller), regs);
    out.into_exit().end();
}

/// Fills and commits what was reserved, or notes why it was refused.
#[inline(always)]
fn put<const OWN: u32>(
    sink: &Sink,
    out: &ExitRing<'_>,
    reserved: Result<Reservation<'_, Kernel>, ReserveError>,
    (address, caller): (u64, u64),
    regs: EntryRegisters<'_>,
) {
    match reserved {
        Ok(mut reserved) => {
            fill::<OWN>(reserved.payload(), address, caller, regs);
            sink.left(&out.ring(), reserved.commit());
        }
        Err(why) => sink.refused(&out.ring(), why),
    }
}
