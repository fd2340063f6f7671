// SPDX-License-Identifier: GPL-2.0

//! The hook: the kernel calls it at the beginning of functions, in any context, NMI included.
//!
//! It looks up the instances that the function is traced for and records the function and its caller for
//! each. Nothing that it calls is a function that can be traced, so it does not meet itself; a guest test
//! compares the two lists.

use super::{
    exit::{
        Exit,
        ExitRing, //
    },
    fast_event::{
        Bytes,
        EarlyLeave,
        FastEvent,
        RingPresence,
        UnfinishedCommit, //
    },
    manner::{
        record_by_manner,
        Nesting, //
    },
    only::{
        record_only,
        OnlyTarget, //
    },
    Manner,
    Sink,
    COMMON, //
};
use crate::{
    event::{
        context::{
            Base,
            ContextWords, //
        },
        format, //
    },
    functions::table::{
        self,
        Place, //
    },
    kapi::{
        clock,
        context,
        hook_registers::EntryRegisters,
        kept::{
            KeptRef,
            KeptRefs,
            KeptValue, //
        },
        publisher::PublishedRef, //
    },
    ring::writer::FastReserve, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The bytes of a record: the common fields, the function, and its caller.
const LEN: usize = COMMON + 16;

/// An event that is reserved.
type FunctionEvent<'r> = FastEvent<ExitRing<'r>, Bytes<LEN>>;

/// The most instances that trace functions at a time.
pub(crate) const MOST_TARGETS: usize = u64::BITS as usize;

/// An instance that functions are recorded for, or none.
#[derive(Clone, Default)]
pub(crate) struct FunctionTarget(KeptRef<Sink>);

impl FunctionTarget {
    /// Returns the target that records into `sink`.
    pub(crate) fn new(sink: &KeptValue<Sink>) -> Self {
        Self(sink.into())
    }

    /// Returns whether it records into `sink`.
    pub(crate) fn is(&self, sink: &Sink) -> bool {
        self.0.is(sink)
    }

    /// Forgets the sink, from now on.
    fn forget(&self) {
        self.0.clear();
    }

    #[inline(always)]
    pub(super) fn sink(&self) -> Option<&Sink> {
        self.0.get()
    }
}

/// For whom functions are recorded.
#[derive(Default)]
pub(crate) struct Dispatch {
    /// The only target, when it wants whatever calls the hook.
    pub(crate) alone: FunctionTarget,
    /// The same, when it is not of all tasks or with arguments.
    pub(crate) only: Option<OnlyTarget>,
    /// Two, when there are no others, and both want whatever calls the hook; `targets` has them as well.
    pub(crate) pair: [FunctionTarget; 2],
    /// All of them, at most [`MOST_TARGETS`]; none when there are manners.
    pub(crate) targets: KeptRefs<Sink>,
    /// One bit for each target that wants whatever calls the hook.
    pub(crate) always: u64,
    /// What the others want.
    pub(crate) table: KVVec<Place>,
    /// The targets and how functions are recorded for each, when that is not as usual for all of them.
    pub(crate) by_manner: KVec<(FunctionTarget, Manner)>,
    /// Guards what calls functions that can be traced; there when there are manners.
    pub(crate) nesting: Option<Arc<Nesting>>,
}

impl Dispatch {
    /// Adds a target to those that it has.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn add(&mut self, target: FunctionTarget) -> Result {
        self.targets.push(target.0)
    }

    /// Returns its targets if there are two.
    pub(crate) fn both(&self) -> Option<[FunctionTarget; 2]> {
        match self.targets.all() {
            [first, second] => Some([first, second].map(|target| FunctionTarget(target.clone()))),
            _ => None,
        }
    }

    /// Does nothing for `sink` any more, from now on: records nothing, or obeys no commands.
    pub(crate) fn forget(&self, sink: &Sink, commands: bool) {
        let is_meant = |manner: &Manner| manner.commands.is_some() == commands;
        let with_manners = self.by_manner.iter().filter(|row| is_meant(&row.1));
        let with_manners = with_manners.map(|(target, _)| target);
        self.targets.forget(sink);
        Iterator::chain(with_manners, &self.pair)
            .filter(|target| target.is(sink))
            .for_each(FunctionTarget::forget);
    }

    /// Returns the two that are recorded for, if these are all.
    #[inline(always)]
    fn pair(&self) -> Option<(&Sink, &Sink)> {
        let [first, second] = &self.pair;
        Some((first.sink()?, second.sink()?))
    }

    /// Returns one bit for each target that wants the function at `address`.
    #[inline(always)]
    pub(super) fn wanted(&self, address: u64) -> u64 {
        self.always | table::word(&self.table, address)
    }
}

/// What the hook follows. Hooks that began before another one was set may still follow the one before it.
pub(crate) static FUNCTION_DISPATCH: PublishedRef<Dispatch> = PublishedRef::none();

/// The addresses of a function and of its caller.
type Addresses = (u64, u64);

/// Records that the function at `address` was called from `caller`.
///
/// This is the fast path, as in [`entry`](super::entry): everything rare goes on in another function, at
/// the end of this one.
///
/// # Safety
///
/// Called by the kernel at the beginning of a function.
#[no_mangle]
unsafe extern "C" fn rtrace_function(
    address: u64,
    caller: u64,
    _ops: *mut c_void,
    regs: EntryRegisters<'_>,
) {
    let exit = Exit::begin();
    // SAFETY: Preemption is disabled until `exit` ends, which goes along with what is used of the result.
    let Some(dispatch) = (unsafe { FUNCTION_DISPATCH.get_unpinned() }) else {
        return exit.end();
    };
    match dispatch.alone.sink() {
        Some(sink) => record::<1>(sink, exit, (address, caller)),
        None => match &dispatch.only {
            Some(only) => record_only(only, exit, address, caller, regs),
            None => match dispatch.pair() {
                Some((first, second)) => record_pair(first, second, exit, address, caller),
                None => record_each(dispatch, exit, address, caller, regs),
            },
        },
    }
}

/// Records a function for two targets.
#[inline(never)]
extern "C" fn record_pair(first: &Sink, second: &Sink, exit: Exit, address: u64, caller: u64) {
    record_one(first, address, caller);
    record_last(second, exit, address, caller);
}

/// Records a function for each target that wants it.
#[inline(never)]
extern "C" fn record_each(
    dispatch: &Dispatch,
    exit: Exit,
    address: u64,
    caller: u64,
    regs: EntryRegisters<'_>,
) {
    let mut wanted = dispatch.wanted(address);
    loop {
        let target = dispatch.targets.get(wanted.trailing_zeros() as usize);
        let Some(sink) = target else {
            // No target wants it, or none is recorded for as usual.
            return match &dispatch.nesting {
                Some(nesting) => record_by_manner(dispatch, nesting, exit, address, caller, regs),
                None => exit.end(),
            };
        };
        wanted &= wanted.wrapping_sub(1);
        let Some(sink) = sink else {
            continue;
        };
        if wanted == 0 {
            return record_last(sink, exit, address, caller);
        }
        record_one(sink, address, caller);
    }
}

/// Records a function for the last of several targets.
#[inline(never)]
pub(super) extern "C" fn record_last(sink: &Sink, exit: Exit, address: u64, caller: u64) {
    record::<1>(sink, exit, (address, caller));
}

/// Records a function for one of several targets, and comes back.
#[inline(never)]
pub(super) extern "C" fn record_one(sink: &Sink, address: u64, caller: u64) {
    record::<2>(sink, Exit::begin(), (address, caller));
}

/// Records a function into the ring of this CPU, one of `sink`. `OWN` is how often the hook has disabled
/// preemption.
#[inline(always)]
fn record<const OWN: u32>(sink: &Sink, exit: Exit, addresses: Addresses) {
    let out = exit.with_own_ring(sink.buffers().rings());
    match clock::InlineClock::left(out.ring().gate()) {
        Some(clock) => record_at::<OWN>(sink, out, addresses, || clock.now()),
        None => record_closer::<OWN>(sink, out, addresses.0, addresses.1),
    }
}

/// Records a function at the time that `time` gives.
#[inline(always)]
fn record_at<const OWN: u32>(
    sink: &Sink,
    out: ExitRing<'_>,
    (address, caller): Addresses,
    time: impl FnOnce() -> Option<u64>,
) {
    let mut event = match FunctionEvent::reserve(out, time) {
        Ok(event) => event,
        Err(out) => return record_inside::<OWN>(sink, out, address, caller),
    };
    let raw = context::raw();
    let Some(word) = raw.usual_word(base(OWN)) else {
        return finish_elsewhere::<OWN>(sink, event, address, caller);
    };
    fill(event.payload(), word, &raw, (address, caller));
    let out = match event.commit() {
        Ok(out) => out,
        Err(UnfinishedCommit::Inside(inside)) => return leave_inside(sink, inside),
        Err(UnfinishedCommit::Early(early)) => return leave_again(sink, early),
    };
    if !sink.waker().is_quiet() {
        return told(sink, out.into_exit());
    }
    out.into_exit().end();
}

/// Returns the constant part of a record's common fields.
const fn base(own: u32) -> Base {
    Base::new(format::FUNCTION.id, own)
}

/// Fills a record whose first word is `word`.
#[inline(always)]
fn fill(record: &mut [u8], word: u32, raw: &ContextWords, (address, caller): Addresses) {
    let Some(record) = record.first_chunk_mut::<LEN>() else {
        return;
    };
    let common = u64::from(word) | u64::from(raw.pid as u32) << 32;
    for (place, word) in record.chunks_exact_mut(8).zip([common, address, caller]) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

/// Fills a record as [`record_at`] does, in any context.
#[inline(always)]
fn fill_anywhere<const OWN: u32>(record: &mut [u8], addresses: Addresses) {
    let raw = context::raw();
    fill(record, raw.any_word(base(OWN)), &raw, addresses);
}

/// Goes on with [`record_at`] in other contexts than that of most tasks.
#[inline(never)]
extern "C" fn finish_elsewhere<const OWN: u32>(
    sink: &Sink,
    mut event: FunctionEvent<'_>,
    address: u64,
    caller: u64,
) {
    fill_anywhere::<OWN>(event.payload(), (address, caller));
    event.finish(sink).into_exit().end();
}

/// As [`record`], where recording is off or the clock has no place in the gate.
#[inline(never)]
extern "C" fn record_closer<const OWN: u32>(
    sink: &Sink,
    out: ExitRing<'_>,
    address: u64,
    caller: u64,
) {
    let gate = out.ring().gate();
    if gate.is_disabled() {
        if gate.is_broken() {
            return refused(sink, out);
        }
        return out.into_exit().end();
    }
    match gate.word() {
        clock::LEFT_TSC => record_by_left::<OWN, { clock::LEFT_TSC }>(sink, out, address, caller),
        clock::LEFT_MONO => record_by_left::<OWN, { clock::LEFT_MONO }>(sink, out, address, caller),
        clock::LEFT_CALLED => {
            record_by_left::<OWN, { clock::LEFT_CALLED }>(sink, out, address, caller)
        }
        _ => record_by_clock::<OWN>(sink, out, address, caller),
    }
}

/// Notes what a broken ring refuses.
#[cold]
#[inline(never)]
extern "C" fn refused(sink: &Sink, out: ExitRing<'_>) {
    sink.refused(&out.ring(), out.ring().refusal());
    out.into_exit().end();
}

/// As [`record`], with the clock that leaves `LEFT` in gates.
#[inline(never)]
extern "C" fn record_by_left<const OWN: u32, const LEFT: u64>(
    sink: &Sink,
    out: ExitRing<'_>,
    address: u64,
    caller: u64,
) {
    let time = || Some(clock::read_left::<LEFT>());
    record_at::<OWN>(sink, out, (address, caller), time);
}

/// As [`record`], with any other clock.
#[inline(never)]
extern "C" fn record_by_clock<const OWN: u32>(
    sink: &Sink,
    out: ExitRing<'_>,
    address: u64,
    caller: u64,
) {
    let time = || Some(clock::by_call(sink.clock()));
    record_at::<OWN>(sink, out, (address, caller), time);
}

/// As [`record`], where the fast path has declined once it had entered.
#[cold]
#[inline(never)]
extern "C" fn record_inside<const OWN: u32>(
    sink: &Sink,
    out: ExitRing<'_>,
    address: u64,
    caller: u64,
) {
    let ring = out.ring();
    let time = || clock::read(sink.clock());
    match ring.writer().reserve_slow(LEN, FastReserve::Entered, time) {
        Ok(mut reserved) => {
            fill_anywhere::<OWN>(reserved.payload(), (address, caller));
            sink.left(&ring, reserved.commit());
        }
        Err(why) => sink.refused(&ring, why),
    }
    out.into_exit().end();
}

/// Wakes the readers of a record that left the ring by the fast path.
#[cold]
#[inline(never)]
extern "C" fn told(sink: &Sink, exit: Exit) {
    sink.waker().published();
    exit.end();
}

/// Takes the slow path out of the ring, which the writer has not left.
#[cold]
#[inline(never)]
extern "C" fn leave_inside(sink: &Sink, inside: RingPresence<ExitRing<'_>>) {
    inside.leave(sink).into_exit().end();
}

/// Takes the slow path out of the ring, which the writer has left too early.
#[cold]
#[inline(never)]
extern "C" fn leave_again(sink: &Sink, early: EarlyLeave<ExitRing<'_>>) {
    early.leave(sink).into_exit().end();
}
