// SPDX-License-Identifier: GPL-2.0

//! Functions that are recorded in other ways than usual: with their callers, with their arguments, repeats
//! as a number, each one once, and those of some tasks alone; or for which commands are obeyed.
//!
//! An instance has a [`Manner`]. As long as each instance has the usual one, the hook does not come here.

use super::{
    commands::Commands,
    exit::Exit,
    followed::{
        self,
        FollowedPart, //
    },
    function::{
        record_one,
        Dispatch,
        FunctionTarget, //
    },
    only::record_arguments,
    CalledFunctions,
    PidSet,
    Sink,
    COMMON,
    OWN, //
};
use crate::{
    event::{
        context::{
            Base,
            ContextWords, //
        },
        format, //
    },
    kapi::{
        clock,
        context,
        each_cpu,
        function_hook,
        hook_registers::EntryRegisters,
        irqs,
        percpu::{
            CpuPin,
            PerCpu, //
        },
        stack::{
            self,
            DEPTH, //
        },
        words::LocalU64, //
    },
    ring::port::LocalWord,
    tasks::watch::Watcher,
    text::{
        stack::{
            fill,
            HEAD,
            TRAMPOLINE, //
        },
        word::put_words, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

const FUNCTION: Base = Base::new(format::FUNCTION.id, OWN);
pub(super) const STACK: Base = Base::new(format::KERNEL_STACK.id, OWN);
const REPEATS: Base = Base::new(format::FUNC_REPEATS.id, OWN);

/// Calls that one record counts at most.
const MOST_REPEATS: u64 = u16::MAX as u64;

/// How the functions of an instance are recorded.
#[derive(Clone, Default)]
pub(crate) struct Manner {
    /// A record of the callers follows.
    pub(crate) stack: bool,
    /// With their arguments.
    pub(crate) args: bool,
    /// Where repeats are counted, when they are not recorded.
    pub(crate) repeats: Option<Arc<Repeats>>,
    /// The functions that were called, when each is recorded once.
    pub(crate) once: Option<Arc<CalledFunctions>>,
    /// The tasks, when not all.
    pub(crate) pids: Option<Arc<TracedPids>>,
    /// Only those that are called where a tracer of latencies follows this.
    pub(crate) of_followed: Option<FollowedPart>,
    /// What is done instead of recording.
    pub(crate) commands: Option<Arc<Commands>>,
}

impl Manner {
    /// Returns whether it is the usual one.
    pub(crate) fn is_usual(&self) -> bool {
        let is_of_all = self.pids.is_none() && self.of_followed.is_none() && self.once.is_none();
        is_of_all && self.records_as_usual() && self.commands.is_none()
    }

    /// Returns whether it is the usual one but for the tasks, and for arguments.
    pub(super) fn is_of_tasks_or_args(&self) -> bool {
        let has_more = self.stack || self.repeats.is_some() || self.once.is_some();
        !has_more && self.of_followed.is_none() && self.commands.is_none()
    }

    /// Returns whether functions of the tasks that are recorded are recorded as usual.
    fn records_as_usual(&self) -> bool {
        !self.stack && !self.args && self.repeats.is_none()
    }

    /// Returns whether functions of the task `pid` are recorded on this CPU.
    #[inline(always)]
    fn has_task(&self, pin: &CpuPin, pid: i32) -> bool {
        let is_here = |what| followed::is_here(pin, what);
        if !self.of_followed.is_none_or(is_here) {
            return false;
        }
        match &self.pids {
            None => true,
            Some(pids) => pids.has(pid),
        }
    }
}

/// The tasks whose functions an instance records.
pub(crate) struct TracedPids {
    /// Only these.
    pub(crate) only: Option<Arc<PidSet>>,
    /// None of these.
    pub(crate) never: Option<Arc<PidSet>>,
}

impl TracedPids {
    /// Returns whether functions of the task `pid` are recorded.
    #[inline(always)]
    pub(super) fn has(&self, pid: i32) -> bool {
        self.only.as_ref().is_none_or(|set| set.has(pid))
            && self.never.as_ref().is_none_or(|set| !set.has(pid))
    }

    fn sets(&self) -> impl Iterator<Item = &PidSet> {
        Iterator::chain(self.only.iter(), &self.never).map(|set| &**set)
    }
}

/// The option `function-fork`. Who runs, the hook sees by itself.
impl Watcher for TracedPids {
    fn before_switch(&self, _: &CpuPin, _: i32, _: i32) {}
    fn after_switch(&self, _: &CpuPin, _: i32) {}
    fn before_wakeup(&self, _: &CpuPin, _: i32) {}
    fn after_wakeup(&self, _: &CpuPin, _: i32) {}

    fn forked(&self, parent: i32, child: i32) {
        for set in self.sets().filter(|set| set.has(parent)) {
            if let Ok(child) = u32::try_from(child) {
                set.set(child, true);
            }
        }
    }

    fn freed(&self, pid: i32) {
        for set in self.sets() {
            if let Ok(pid) = u32::try_from(pid) {
                set.set(pid, false);
            }
        }
    }
}

/// Which CPUs are where functions that can be traced are called by the hook itself.
///
/// Interrupts are disabled there, so that a call that finds its CPU there is one of those. An NMI may come
/// in between, and has a word of its own: that the CPU handles one is known before anything that can be
/// traced.
pub(crate) struct Nesting(PerCpu<HookNesting>);

struct HookNesting {
    usual: LocalU64,
    nmi: LocalU64,
}

impl Nesting {
    /// Returns one that is nowhere.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        let inside = |_| {
            Ok(HookNesting {
                usual: LocalWord::new(0),
                nmi: LocalWord::new(0),
            })
        };
        Ok(Self(PerCpu::new(inside)?))
    }

    fn word<'a>(&'a self, pin: &'a CpuPin, in_nmi: bool) -> &'a LocalU64 {
        let inside = self.0.this(pin);
        match in_nmi {
            true => &inside.nmi,
            false => &inside.usual,
        }
    }

    /// Returns whether this CPU is there, and not in an NMI that has come meanwhile.
    pub(super) fn is_inside(&self, pin: &CpuPin) -> bool {
        self.word(pin, false).get() != 0
    }

    /// Runs `f` with interrupts disabled; what it calls is not recorded.
    pub(super) fn enter(&self, pin: &CpuPin, in_nmi: bool, f: impl FnOnce()) {
        irqs::disabled(|| {
            let word = self.word(pin, in_nmi);
            word.set(1);
            f();
            word.set(0);
        });
    }
}

/// Records a call for each target of `dispatch` that wants it, as the target's manner says. `regs` are the
/// registers that the kernel handed to the hook.
#[inline(never)]
pub(super) extern "C" fn record_by_manner(
    dispatch: &Dispatch,
    nesting: &Nesting,
    exit: Exit,
    address: u64,
    caller: u64,
    regs: EntryRegisters<'_>,
) {
    let raw = context::raw();
    let in_nmi = raw.in_nmi();
    let pin = exit.pin().pin();
    let mut wanted = match nesting.word(pin, in_nmi).get() {
        0 => dispatch.wanted(address),
        _ => 0,
    };
    while wanted != 0 {
        let row = dispatch.by_manner.get(wanted.trailing_zeros() as usize);
        wanted &= wanted.wrapping_sub(1);
        let Some((target, manner)) = row else {
            break;
        };
        let Some(sink) = target.sink().filter(|_| manner.has_task(pin, raw.pid)) else {
            continue;
        };
        if let Some(commands) = &manner.commands {
            commands.called(address, sink, nesting, pin, &raw);
            continue;
        }
        if let Some(once) = &manner.once {
            if is_off(sink, pin) || !once.is_first(address) {
                continue;
            }
        }
        let addresses = [address, caller];
        if manner.records_as_usual() {
            record_one(sink, address, caller);
        } else if manner.args {
            record_arguments::<2>(sink, Exit::begin(), address, caller, regs);
        } else {
            nesting.enter(pin, in_nmi, || {
                record_carefully(sink, manner, pin, &raw, addresses);
            });
        }
    }
    exit.end();
}

/// Returns the common fields of a record.
fn common(raw: &ContextWords, base: Base) -> [u8; COMMON] {
    (u64::from(raw.any_word(base)) | u64::from(raw.pid as u32) << 32).to_le_bytes()
}

/// Records a function where repeats are counted or callers follow, in [`Nesting::enter`].
fn record_carefully(
    sink: &Sink,
    manner: &Manner,
    pin: &CpuPin,
    raw: &ContextWords,
    addresses: [u64; 2],
) {
    if let Some(repeats) = &manner.repeats {
        // An NMI may have interrupted the counting: its calls are recorded each.
        if !raw.in_nmi() && repeats.count(sink, pin, raw, addresses) {
            return;
        }
    }
    let len = COMMON + size_of_val(&addresses);
    let _ = sink.record_with(pin, common(raw, FUNCTION), len, |rest, _| {
        put_words(rest, addresses);
    });
    if manner.stack {
        stack::with_callers(pin, |callers| {
            put_stack(sink, pin, raw, STACK, callers);
        });
    }
}

/// Records the callers, as many as a record has. The code of the kernel between the function and the hook has no name of its own.
pub(super) fn put_stack(
    sink: &Sink,
    pin: &CpuPin,
    raw: &ContextWords,
    base: Base,
    callers: &[u64],
) {
    let callers = callers.get(..DEPTH).unwrap_or(callers);
    let len = HEAD.wrapping_add(callers.len().wrapping_mul(8));
    let _ = sink.record_with(pin, common(raw, base), len, |rest, _| {
        fill(rest, callers.len() as u32, callers);
        let addresses = rest.get_mut(HEAD - COMMON..).unwrap_or_default();
        let told = |caller: &u64| match function_hook::is_trampoline(*caller) {
            true => TRAMPOLINE,
            false => *caller,
        };
        put_words(addresses, callers.iter().map(told));
    });
}

/// The last function of each CPU, and how often it was called again.
pub(crate) struct Repeats(PerCpu<LastCall>);

/// What one CPU has; interrupts are disabled where it is used, and NMIs leave it alone.
struct LastCall {
    function: LocalU64,
    caller: LocalU64,
    count: LocalU64,
    /// When that was last, and the common fields that the record would have had.
    time: LocalU64,
    common: LocalU64,
}

impl Repeats {
    /// Returns counts for each CPU, which has no last function.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        let last = |_| {
            Ok(LastCall {
                function: LocalWord::new(0),
                caller: LocalWord::new(0),
                count: LocalWord::new(0),
                time: LocalWord::new(0),
                common: LocalWord::new(0),
            })
        };
        Ok(Self(PerCpu::new(last)?))
    }

    /// Counts a call if it repeats the last one, and returns whether nothing is to be recorded. If it is
    /// another one, records how often the last one was repeated. Interrupts are disabled.
    fn count(
        &self,
        sink: &Sink,
        pin: &CpuPin,
        raw: &ContextWords,
        [function, caller]: [u64; 2],
    ) -> bool {
        if is_off(sink, pin) {
            return true;
        }
        let last = self.0.this(pin);
        let count = last.count.get();
        if (last.function.get(), last.caller.get()) == (function, caller) && count < MOST_REPEATS {
            last.time.set(clock::read(sink.clock()));
            last.common.set(u64::from_le_bytes(common(raw, REPEATS)));
            last.count.set(count.wrapping_add(1));
            return true;
        }
        last.hand_in(sink, pin);
        last.function.set(function);
        last.caller.set(caller);
        false
    }

    /// Records what was counted on this CPU and is not recorded yet. Interrupts are disabled.
    pub(crate) fn hand_in_here(&self, target: &FunctionTarget, pin: &CpuPin) {
        if let Some(sink) = target.sink().filter(|sink| !is_off(sink, pin)) {
            self.0.this(pin).hand_in(sink, pin);
        }
    }

    /// Records what was counted and is not recorded yet, on all CPUs. Process context.
    pub(crate) fn hand_in(&self, sink: &Sink) {
        each_cpu::run(&|pin: &CpuPin| {
            if !is_off(sink, pin) {
                self.0.this(pin).hand_in(sink, pin);
            }
        });
    }
}

impl LastCall {
    /// Records how often the last function was repeated, if it was. Interrupts are disabled.
    fn hand_in(&self, sink: &Sink, pin: &CpuPin) {
        let count = self.count.get();
        if count == 0 {
            return;
        }
        self.count.set(0);
        // Before the clock is read, which may call a function that is traced and is the last one then.
        let (function, caller) = (self.function.get(), self.caller.get());
        let (time, common) = (self.time.get(), self.common.get());
        let len = COMMON + 24;
        let _ = sink.record_with(pin, common.to_le_bytes(), len, |rest, now| {
            let ago = now.wrapping_sub(time);
            // The upper half of what fits into 48 bits comes first.
            let numbers = count | (ago >> 32 & 0xffff) << 16 | ago << 32;
            put_words(rest, [function, caller, numbers]);
        });
    }
}

/// Returns whether recording is off.
fn is_off(sink: &Sink, pin: &CpuPin) -> bool {
    sink.buffers().rings().this(pin.by_value()).is_disabled()
}
