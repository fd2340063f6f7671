// SPDX-License-Identifier: GPL-2.0

//! Calls that are recorded in other ways than usual: with their arguments, with the place of the call, with what led
//! to it, with what they return, or only when they take long or fail. As long as an instance asks for nothing of that, the hooks do not
//! come here for it.

use super::{
    graph::{
        put,
        record,
        ENTRY,
        ENTRY_LEN,
        EXIT,
        EXIT_LEN,
        OWN, //
    },
    graph_rules::GraphRules,
    manner::put_stack,
    Sink, //
};
use crate::{
    buffers::rings::OwnRing,
    event::{
        context::Base,
        format, //
    },
    kapi::{
        clock,
        context,
        hook_registers::{
            EntryRegisters,
            ExitRegisters,
            ARGS, //
        },
        percpu::CpuPin,
        stack, //
    },
    text::graph, //
};

const STACK: Base = Base::new(format::KERNEL_STACK.id, OWN);
const RETADDR_ENTRY: Base = Base::new(format::GRAPH_RETADDR_ENTRY.id, OWN);
/// The record of an entry with the place of the call.
const RETADDR_ENTRY_LEN: usize = ENTRY_LEN + 8;
/// The records of an entry, and the arguments.
const ENTRY_WITH_ARGS_LEN: usize = ENTRY_LEN + 8 * ARGS;
const RETADDR_ENTRY_WITH_ARGS_LEN: usize = RETADDR_ENTRY_LEN + 8 * ARGS;
/// The record of an exit, and the return value.
const EXIT_WITH_RETVAL_LEN: usize = EXIT_LEN + 8;

/// Records an entry as `rules` say, with the registers of the function at `regs`. Returns whether the exit is
/// to be recorded. As [`record`] with the time.
#[inline(never)]
pub(super) fn enter_closely(
    sink: &Sink,
    ring: OwnRing<'_>,
    rules: &GraphRules,
    words: [u64; 2],
    regs: EntryRegisters<'_>,
    time: &mut u64,
) -> bool {
    let gate = ring.gate();
    // The exit alone says whether the call is recorded.
    if rules.threshold() != 0 || rules.by_error() {
        return !gate.is_disabled();
    }
    let [address, depth] = words;
    let caller = rules.with_retaddr().then(|| regs.return_address());
    if !rules.with_args() {
        return match caller {
            None => record::<ENTRY_LEN>(sink, ring, ENTRY, &words, time),
            Some(caller) => {
                let words = [address, depth, caller];
                record::<RETADDR_ENTRY_LEN>(sink, ring, RETADDR_ENTRY, &words, time)
            }
        };
    }
    let [a, b, c, d, e, f] = regs.arguments();
    match caller {
        None => {
            let words = [address, depth, a, b, c, d, e, f];
            record_long::<ENTRY_WITH_ARGS_LEN>(sink, ring, ENTRY, &words)
        }
        Some(caller) => {
            let words = [address, depth, caller, a, b, c, d, e, f];
            record_long::<RETADDR_ENTRY_WITH_ARGS_LEN>(sink, ring, RETADDR_ENTRY, &words)
        }
    }
}

/// Records `words` as [`record`] does, for records that are too long for the fast path.
#[inline(never)]
fn record_long<const LEN: usize>(
    sink: &Sink,
    ring: OwnRing<'_>,
    base: Base,
    words: &[u64],
) -> bool {
    let gate = ring.gate();
    if gate.is_disabled() && !gate.is_broken() {
        return false;
    }
    let reserved = ring.writer().reserve(LEN, || clock::read(sink.clock()));
    put::<LEN>(sink, ring, reserved, base, words)
}

/// Records an exit as `rules` say, with the registers of the function at `regs`. The task has slept for `asleep`
/// since the entry.
#[inline(never)]
pub(super) fn leave_closely(
    sink: &Sink,
    ring: OwnRing<'_>,
    rules: &GraphRules,
    words: [u64; 4],
    asleep: u64,
    regs: ExitRegisters<'_>,
) {
    let [address, level, time, time_now] = words;
    // The lower half is the depth.
    rules.leave(ring.pin().pin(), level as i32);
    let time = match rules.is_awake_or_of_followed() {
        true if rules.is_elsewhere(ring.pin().pin()) => return,
        // As ftrace, which has the call begin later. The clocks of two CPUs may differ by a little.
        true if rules.is_awake() => time.wrapping_add(asleep.min(time_now.wrapping_sub(time))),
        _ => time,
    };
    let words = [address, level, time, time_now];
    if time_now.wrapping_sub(time) < rules.threshold() {
        return;
    }
    if !rules.with_retval() {
        let is_taken = record::<EXIT_LEN>(sink, ring, EXIT, &words, &mut 0);
        if is_taken && rules.with_stack() {
            put_callers(sink, ring.pin().pin(), regs);
        }
        return;
    }
    let gate = ring.gate();
    if gate.is_disabled() && !gate.is_broken() {
        return;
    }
    let value = regs.return_value();
    if rules.by_error() && graph::error(value).is_none() {
        return;
    }
    let reserved = ring
        .writer()
        .reserve(EXIT_WITH_RETVAL_LEN, || clock::read(sink.clock()));
    let words = [address, level, time, time_now, value];
    let is_taken = put::<EXIT_WITH_RETVAL_LEN>(sink, ring, reserved, EXIT, &words);
    if is_taken && rules.with_stack() {
        put_callers(sink, ring.pin().pin(), regs);
    }
}

/// Records what led to the call whose function returns with the registers at `regs`.
#[inline(never)]
fn put_callers(sink: &Sink, pin: &CpuPin, regs: ExitRegisters<'_>) {
    let caller = regs.return_address();
    let raw = context::raw();
    stack::with_callers_of_call(pin, |callers| {
        // Before it comes what the kernel has between the function and the hook.
        let first = callers.iter().position(|address| *address == caller);
        let callers = callers.get(first.unwrap_or(0)..).unwrap_or_default();
        put_stack(sink, pin, &raw, STACK, callers);
    });
}
