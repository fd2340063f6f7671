// SPDX-License-Identifier: GPL-2.0

//! The hooks at entry and exit of functions: the kernel calls them in any context, NMI included, with
//! preemption disabled.
//!
//! An entry is recorded for each instance that wants the function, and the exit for those that have the
//! entry: which ones these are, and the time, the kernel keeps with the call. Nothing that is
//! called here is a function that can be traced.

use super::{
    fast_event::{
        Bytes,
        FastEvent, //
    },
    fill_common,
    graph_alone::{
        record_alone,
        EntryHalf,
        ExitHalf, //
    },
    graph_closely::{
        enter_closely,
        leave_closely, //
    },
    graph_rules::{
        Answer,
        GraphRules, //
    },
    Sink,
    COMMON, //
};
use crate::{
    buffers::rings::OwnRing,
    event::{
        context::Base,
        format, //
    },
    functions::table::{
        self,
        Place, //
    },
    kapi::{
        clock::{
            self,
            ClockId,
            InlineClock, //
        },
        context,
        grace_ref::GraceRef,
        hook_registers::{
            EntryRegisters,
            ExitRegisters, //
        },
        kept::{
            KeptRef,
            KeptValue, //
        },
        percpu::PinRef,
        port::Kernel,
        publisher::PublishedRef, //
    },
    ring::{
        reservation::Reservation,
        writer::{
            FastReserve,
            ReserveError, //
        }, //
    },
    tasks::sleep::{
        TaskCall,
        TaskTimes, //
    }, //
};
use core::{
    cell::Cell,
    ffi::c_int, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// How often the kernel has disabled preemption when it calls a hook: against recursion and for RCU.
pub(super) const OWN: u32 = 2;

pub(super) const ENTRY: Base = Base::new(format::GRAPH_ENTRY.id, OWN);
/// The common fields, the function and the depth.
pub(super) const ENTRY_LEN: usize = COMMON + 16;
pub(super) const EXIT: Base = Base::new(format::GRAPH_EXIT.id, OWN);
/// The common fields, the function, depth and overrun, and the times of entry and exit.
pub(super) const EXIT_LEN: usize = COMMON + 32;

/// The most instances that trace calls at a time.
pub(crate) const MOST_GRAPH_TARGETS: usize = 47;
/// Beside the bits of targets: a call that the rules of one hold, which has no entry there.
const HELD: u64 = 1 << MOST_GRAPH_TARGETS;
/// The bits of the generation of a set are those above.
const GENERATION: u32 = 48;

/// What the hook at the entry answers: the exit is to be hooked as well, or not.
pub(super) const FOLLOWED: c_int = 0;
pub(super) const IGNORED: c_int = 1;

/// An instance that calls are recorded for, or none.
#[derive(Clone, Default)]
pub(crate) struct GraphTarget {
    sink: KeptRef<Sink>,
    rules: KeptRef<GraphRules>,
}

impl GraphTarget {
    /// Returns none.
    pub(crate) fn none() -> Self {
        Self {
            sink: KeptRef::none(),
            rules: KeptRef::none(),
        }
    }

    /// Returns the target that records into `sink` what follows `rules`.
    pub(crate) fn new(sink: &KeptValue<Sink>, rules: &Arc<GraphRules>) -> Self {
        Self {
            sink: sink.into(),
            rules: rules.into(),
        }
    }

    /// Returns whether it records into `sink`.
    pub(crate) fn is(&self, sink: &Sink) -> bool {
        self.sink.is(sink)
    }

    /// Forgets the sink, and with it the rules, from now on.
    fn forget(&self) {
        self.sink.clear();
    }

    #[inline(always)]
    fn parts(&self) -> Option<(&Sink, &GraphRules)> {
        self.sink.get().zip(self.rules.get())
    }

    /// Returns the sink, if the rules ask for nothing.
    #[inline(always)]
    fn usual_sink(&self) -> Option<&Sink> {
        let sink = self.sink.get()?;
        self.rules.get()?.is_empty().then_some(sink)
    }
}

/// For whom calls are recorded.
#[derive(Default)]
pub(crate) struct GraphDispatch {
    /// At most [`MOST_GRAPH_TARGETS`]. An instance keeps its place as long as it traces calls: calls that have
    /// not ended know it by that.
    pub(crate) targets: KVec<GraphTarget>,
    /// Which of them want a function, one bit each; not used when there is but one.
    pub(crate) table: KVVec<Place>,
    /// The only target, which wants whatever calls hooks that count.
    pub(crate) alone: GraphTarget,
    /// Its bit; 0 when there are several.
    pub(crate) alone_bit: u64,
    /// The sets of functions whose hooks count, one bit each.
    pub(crate) active: u64,
    /// How long tasks slept, if an instance does not count that.
    pub(crate) asleep: GraceRef<TaskTimes>,
}

impl GraphDispatch {
    /// Records nothing into `sink` any more, from now on.
    pub(crate) fn forget(&self, sink: &Sink) {
        let targets = Iterator::chain(self.targets.iter(), [&self.alone]);
        targets
            .filter(|target| target.is(sink))
            .for_each(GraphTarget::forget);
    }

    /// Returns one bit for each target that wants the function at `address`.
    #[inline(always)]
    fn wanted(&self, address: u64) -> u64 {
        match self.alone_bit {
            0 => table::word(&self.table, address),
            bit => bit,
        }
    }

    /// Calls `record` with each target that `wanted` has a bit of, and the bit.
    #[inline(always)]
    fn for_each(&self, mut wanted: u64, mut record: impl FnMut(u64, &Sink, &GraphRules)) {
        while wanted != 0 {
            let at = wanted.trailing_zeros();
            wanted &= wanted.wrapping_sub(1);
            let target = self.targets.get(at as usize);
            if let Some((sink, rules)) = target.and_then(GraphTarget::parts) {
                record(1u64.wrapping_shl(at), sink, rules);
            }
        }
    }
}

/// What the hooks follow. Hooks that began before another one was set may still follow the one before it.
pub(crate) static GRAPH_DISPATCH: PublishedRef<GraphDispatch> = PublishedRef::none();

/// What the kernel keeps for the hook at the exit. Only the hooks of the call look there.
#[repr(C)]
pub(super) struct KeptTimes {
    /// The time of the entry.
    pub(super) time: Cell<u64>,
    /// The targets that have the entry, one bit each, [`HELD`], and above them the generation of the hook.
    targets: Cell<u64>,
}

/// Who calls a hook: the number of a set of functions, and above the bits of targets the generation of the set.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct HookedSet(u64);

const _: () = assert!(MOST_GRAPH_TARGETS + 1 == GENERATION as usize);

impl HookedSet {
    /// The bits of the number, which is that of a bit in a mask.
    const NUMBER: u64 = 63;

    /// Returns whether it is one of those that `active` has a bit of.
    #[inline(always)]
    fn is_in(self, active: u64) -> bool {
        active & 1u64.wrapping_shl(self.0 as u32) != 0
    }

    /// Returns these targets of a call, with the generation.
    #[inline(always)]
    fn with_targets(self, targets: u64) -> u64 {
        self.0 & !Self::NUMBER | targets
    }

    /// Returns the targets that [`Self::with_targets`] was given; none when that was another generation.
    ///
    /// The kernel knows a set of functions by its place, which may have become that of another one.
    #[inline(always)]
    fn targets(self, kept: u64) -> u64 {
        match (kept ^ self.0).wrapping_shr(GENERATION) {
            0 => kept & (1u64 << GENERATION).wrapping_sub(1),
            _ => 0,
        }
    }
}

/// Records that the function at `address` was called. Returns whether its exit is to be ignored.
///
/// # Safety
///
/// Called by the kernel at the beginning of a function, with its registers, a place of two words for `call`, and
/// preemption disabled, which `pin` stands for: it has no bytes.
#[no_mangle]
unsafe extern "C" fn rtrace_graph_entry(
    set: HookedSet,
    address: u64,
    _caller: u64,
    regs: EntryRegisters<'_>,
    call: &KeptTimes,
    pin: PinRef<'_>,
) -> c_int {
    enter(set, address, regs, call, pin)
}

/// As [`rtrace_graph_entry`].
#[inline(always)]
fn enter(
    set: HookedSet,
    address: u64,
    regs: EntryRegisters<'_>,
    call: &KeptTimes,
    pin: PinRef<'_>,
) -> c_int {
    let Some(dispatch) = GRAPH_DISPATCH.get(pin.pin()) else {
        return IGNORED;
    };
    if !set.is_in(dispatch.active) {
        return IGNORED;
    }
    let Some(sink) = dispatch.alone.usual_sink() else {
        return enter_by_rules(dispatch, set, address, regs, call, pin);
    };
    call.targets.set(set.with_targets(dispatch.alone_bit));
    record_alone::<EntryHalf>(pin.pin(), sink, address, call, 0)
}

/// As [`enter_each`], which the calls of other tasks do not come to if there is one target.
#[inline(never)]
extern "C" fn enter_by_rules(
    dispatch: &GraphDispatch,
    set: HookedSet,
    address: u64,
    regs: EntryRegisters<'_>,
    call: &KeptTimes,
    pin: PinRef<'_>,
) -> c_int {
    let rules = dispatch.alone.rules.get();
    match rules.is_some_and(|rules| rules.is_of_others(pin.pin())) {
        true => IGNORED,
        false => enter_each(dispatch, set, address, regs, call, pin),
    }
}

/// Records a call for each target that wants it, as its rules say.
#[inline(never)]
extern "C" fn enter_each(
    dispatch: &GraphDispatch,
    set: HookedSet,
    address: u64,
    regs: EntryRegisters<'_>,
    call: &KeptTimes,
    pin: PinRef<'_>,
) -> c_int {
    let depth = context::call_depth();
    let mut time = 0;
    let (mut targets, mut answer) = (0, IGNORED);
    dispatch.for_each(dispatch.wanted(address), |bit, sink, rules| {
        let (root, closely) = match rules.ask(pin.pin(), address, depth) {
            Answer::Ignore => return,
            Answer::Hold => {
                targets |= HELD;
                answer = FOLLOWED;
                return;
            }
            Answer::Take(root) => (root, false),
            Answer::TakeClosely(root) => (root, true),
        };
        let ring = sink.buffers().rings().this(pin);
        let words = [address, depth as u64];
        let is_taken = match closely {
            false => record::<ENTRY_LEN>(sink, ring, ENTRY, &words, &mut time),
            true => enter_closely(sink, ring, rules, words, regs, &mut time),
        };
        if is_taken {
            root.enter();
            targets |= bit;
            answer = FOLLOWED;
        }
    });
    if answer == IGNORED {
        return IGNORED;
    }
    // As late as can be: what the hook takes is no part of the call.
    if time == 0 {
        time = clock::read(ClockId::Local);
    }
    call.time.set(time);
    call.targets.set(set.with_targets(targets));
    FOLLOWED
}

/// Records that the function at `address` returns, for those that have its entry.
///
/// # Safety
///
/// Called by the kernel at the end of a function, with its registers, what a hook at its entry has left in `call`, and
/// preemption disabled, which `pin` stands for.
#[no_mangle]
unsafe extern "C" fn rtrace_graph_exit(
    set: HookedSet,
    address: u64,
    _caller: u64,
    regs: ExitRegisters<'_>,
    call: &KeptTimes,
    pin: PinRef<'_>,
) {
    // Before all else: what the hook takes is no part of the call.
    let Some(now) = InlineClock::of(ClockId::Local).and_then(|clock| clock.now()) else {
        return leave_by_call(set, address, regs, call, pin);
    };
    let Some(dispatch) = GRAPH_DISPATCH.get(pin.pin()) else {
        return;
    };
    match dispatch.alone.usual_sink() {
        Some(sink) if call.targets.get() == set.with_targets(dispatch.alone_bit) => {
            record_alone::<ExitHalf>(pin.pin(), sink, address, call, now);
        }
        _ => leave_each(dispatch, set, address, regs, call, now, pin),
    }
}

/// As [`rtrace_graph_exit`], where the clock is a function, or its parameters have changed.
#[cold]
#[inline(never)]
extern "C" fn leave_by_call(
    set: HookedSet,
    address: u64,
    regs: ExitRegisters<'_>,
    call: &KeptTimes,
    pin: PinRef<'_>,
) {
    let now = clock::read(ClockId::Local);
    if let Some(dispatch) = GRAPH_DISPATCH.get(pin.pin()) {
        leave_each(dispatch, set, address, regs, call, now, pin);
    }
}

/// As [`rtrace_graph_exit`] at `now`, for each target as its rules say.
#[inline(never)]
extern "C" fn leave_each(
    dispatch: &GraphDispatch,
    set: HookedSet,
    address: u64,
    regs: ExitRegisters<'_>,
    call: &KeptTimes,
    now: u64,
    pin: PinRef<'_>,
) {
    leave::<false>(dispatch, set, address, regs, call, (now, 0), pin);
}

/// As [`rtrace_graph_entry`], and keeps how long the task has slept.
///
/// # Safety
///
/// As for [`rtrace_graph_entry`], with a place of three words for `call`.
#[no_mangle]
unsafe extern "C" fn rtrace_graph_task_entry(
    set: HookedSet,
    address: u64,
    _caller: u64,
    regs: EntryRegisters<'_>,
    call: &TaskCall<KeptTimes>,
    pin: PinRef<'_>,
) -> c_int {
    let answer = enter(set, address, regs, &call.call, pin);
    if answer == FOLLOWED {
        let dispatch = GRAPH_DISPATCH.get(pin.pin());
        let asleep = dispatch.and_then(|dispatch| dispatch.asleep.get());
        call.begin(pin.pin(), asleep, call.call.time.get());
    }
    answer
}

/// As [`rtrace_graph_exit`], where the task may have slept.
///
/// # Safety
///
/// As for [`rtrace_graph_exit`].
#[no_mangle]
unsafe extern "C" fn rtrace_graph_task_exit(
    set: HookedSet,
    address: u64,
    _caller: u64,
    regs: ExitRegisters<'_>,
    call: &TaskCall<KeptTimes>,
    pin: PinRef<'_>,
) {
    let now = clock::read(ClockId::Local);
    let Some(dispatch) = GRAPH_DISPATCH.get(pin.pin()) else {
        return;
    };
    let asleep = dispatch.asleep.get();
    let asleep = asleep.map_or(0, |times| call.taken(times, pin.pin(), now));
    leave::<true>(dispatch, set, address, regs, &call.call, (now, asleep), pin);
}

/// Records that the function at `address` returns, for those that have its entry. The task has slept for `asleep`
/// since then, if it is `OF_TASK`: by that each hook has code of its own, in which nothing is called.
#[inline(always)]
fn leave<const OF_TASK: bool>(
    dispatch: &GraphDispatch,
    set: HookedSet,
    address: u64,
    regs: ExitRegisters<'_>,
    call: &KeptTimes,
    (now, asleep): (u64, u64),
    pin: PinRef<'_>,
) {
    let (depth, overrun) = context::followed_calls();
    let level = u64::from(depth as u32) | u64::from(overrun).wrapping_shl(u32::BITS);
    let targets = set.targets(call.targets.get());
    dispatch.for_each(targets & !HELD, |_, sink, rules| {
        let ring = sink.buffers().rings().this(pin);
        let words = [address, level, call.time.get(), now];
        match rules.is_usual() {
            true => {
                record::<EXIT_LEN>(sink, ring, EXIT, &words, &mut 0);
            }
            false => leave_closely(sink, ring, rules, words, asleep, regs),
        }
    });
    if targets & HELD != 0 {
        leave_held(dispatch, address, depth, pin);
    }
}

/// Has the targets learn that a call at this depth ends which the rules of one held.
#[cold]
#[inline(never)]
extern "C" fn leave_held(dispatch: &GraphDispatch, address: u64, depth: c_int, pin: PinRef<'_>) {
    dispatch.for_each(dispatch.wanted(address), |_, _, rules| {
        rules.leave(pin.pin(), depth);
    });
}

/// Records `words` after the common fields, `LEN` bytes in all, into `ring`, one of `sink`. Returns whether
/// they were recorded. Leaves the time of the record in `time` if the clock is `local`, and may leave what is
/// there.
///
/// This is the fast path, as in [`entry`](super::entry).
#[inline(always)]
pub(super) fn record<const LEN: usize>(
    sink: &Sink,
    ring: OwnRing<'_>,
    base: Base,
    words: &[u64],
    time: &mut u64,
) -> bool {
    let gate = ring.gate();
    let Some(clock) = clock::InlineClock::left(gate) else {
        if gate.is_disabled() && !gate.is_broken() {
            return false;
        }
        let reserved = ring.writer().reserve(LEN, || clock::read(sink.clock()));
        return put::<LEN>(sink, ring, reserved, base, words);
    };
    let event = FastEvent::<_, Bytes<LEN>>::reserve(ring, || {
        let now = clock.now();
        *time = now.unwrap_or(0);
        now
    });
    let Ok(mut event) = event else {
        let time = || clock::read(sink.clock());
        let reserved = ring.writer().reserve_slow(LEN, FastReserve::Entered, time);
        return put::<LEN>(sink, ring, reserved, base, words);
    };
    fill::<LEN>(event.payload(), base, words);
    event.finish(sink);
    true
}

/// Fills a record.
#[inline(always)]
fn fill<const LEN: usize>(record: &mut [u8], base: Base, words: &[u64]) {
    let Some(record) = record.first_chunk_mut::<LEN>() else {
        return;
    };
    fill_common(record, base);
    let rest = record.get_mut(COMMON..).unwrap_or_default();
    for (place, word) in rest.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
}

/// Fills and commits what was reserved, or notes why it was refused. Returns whether it was recorded.
#[inline(never)]
pub(super) fn put<const LEN: usize>(
    sink: &Sink,
    ring: OwnRing<'_>,
    reserved: Result<Reservation<'_, Kernel>, ReserveError>,
    base: Base,
    words: &[u64],
) -> bool {
    match reserved {
        Ok(mut reserved) => {
            fill::<LEN>(reserved.payload(), base, words);
            sink.left(&ring, reserved.commit());
            true
        }
        Err(why) => {
            sink.refused(&ring, why);
            false
        }
    }
}
