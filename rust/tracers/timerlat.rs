// SPDX-License-Identifier: GPL-2.0

//! `timerlat`: measures how late a timer's interrupt comes, and how late the thread that it wakes runs. A thread
//! on each CPU waits for a timer in every period; the two latencies are records.

use super::{
    load::UserLoads,
    setting::Setting,
    workload::{
        self,
        each_user,
        options,
        stop_tracing,
        users,
        Measurer,
        Workload, //
    },
    Columns,
    Host,
    Tracer, //
};
use crate::{
    event::{
        context::Base,
        format, //
    },
    kapi::{
        noise::{
            NoiseHooks, //
            OwnCpuNoise,
        },
        percpu::CpuPin,
        stack,
        threads::{
            self,
            ThreadBody, //
        },
        tick::{
            self,
            Tick,
            TickBody, //
        },
        words::SharedU64, //
    },
    latency::{
        osnoise::NoiseOptions,
        timerlat::{
            self,
            TickContext,
            TimerlatSample,
            RECORD,
            USUAL_PERIOD, //
        }, //
    },
    ring::port::SharedWord as _,
    sources::osnoise as events,
    text::rest::RecordRest, //
};
use kernel::prelude::*;

/// Nanoseconds of a microsecond.
const NS_PER_US: u64 = 1_000;

/// The priority of the threads, as tools that measure latencies have it.
const PRIORITY: u32 = 95;

/// Most callers that are kept for a thread.
const MOST_CALLERS: usize = 64;

/// Microseconds between two ticks.
static PERIOD: Setting = Setting::of(USUAL_PERIOD);
/// Threads with this latency, in microseconds, record the stack that their timer interrupted; 0: none does.
static PRINT_STACK: Setting = Setting::of(0);
/// Microseconds between the ticks of two CPUs, with the option.
static ALIGN: Setting = Setting::of(0);
/// The time of the last tick that others are aligned to; 0 when there is none.
static ALIGNED: SharedU64 = SharedU64::zero();

/// Returns the setting of that name.
pub(crate) fn period() -> &'static Setting {
    &PERIOD
}

/// Returns the setting of that name.
pub(crate) fn print_stack() -> &'static Setting {
    &PRINT_STACK
}

/// Returns the setting of that name.
pub(crate) fn align() -> &'static Setting {
    &ALIGN
}

/// What one thread measures.
pub(super) struct TimerlatCpu {
    noise: &'static OwnCpuNoise,
    /// When the timer is due, in nanoseconds.
    next: SharedU64,
    /// Number of ticks; a record has the lower half.
    ticks: SharedU64,
    /// The callers that the timer interrupted, and their number.
    callers: [SharedU64; MOST_CALLERS],
    depth: SharedU64,
}

/// Records a latency wherever the tracer is on, on this CPU. `raises` says whether it counts for the longest one.
pub(super) fn record(sample: &TimerlatSample, raises: bool) {
    CpuPin::with(|pin| {
        events::timerlat_sample(sample);
        for (sink, _) in users(pin) {
            let base = Base::new(format::TIMERLAT.id, 1);
            // What is refused is in the counters of the buffer.
            let _ = sink.record(pin, base, RECORD, |rest| sample.fill(rest));
            if raises && sink.is_on() {
                sink.raise_max_latency(sample.latency);
            }
        }
    });
}

/// Raises the longest latency.
pub(super) fn raise(latency: u64) {
    each_user(|_, sink, _| {
        if sink.is_on() {
            sink.raise_max_latency(latency);
        }
    });
}

impl TimerlatCpu {
    /// Returns what a thread measures on the CPU whose noise that is.
    pub(super) fn new(noise: &'static OwnCpuNoise) -> Self {
        Self {
            noise,
            next: SharedU64::zero(),
            ticks: SharedU64::zero(),
            callers: [const { SharedU64::zero() }; MOST_CALLERS],
            depth: SharedU64::zero(),
        }
    }

    /// Returns what takes the CPU.
    pub(super) fn noise(&self) -> &'static OwnCpuNoise {
        self.noise
    }

    /// Returns the number of ticks.
    pub(super) fn ticks(&self) -> u32 {
        self.ticks.load() as u32
    }

    /// Returns how many nanoseconds ago the timer was due; `None` if it is not yet.
    pub(super) fn latency(&self) -> Option<u64> {
        tick::now().checked_sub(self.next.load())
    }

    /// Has the ticks begin from now on.
    pub(super) fn begin(&self) {
        self.next.store(tick::now());
    }

    /// Returns when the next tick is due, from now on.
    pub(super) fn advance(&self) -> u64 {
        let next = self.after();
        self.next.store(next);
        next
    }

    /// Keeps the callers that the timer has interrupted.
    fn keep_stack(&self) {
        CpuPin::with(|pin| {
            stack::with_callers(pin, |callers| {
                for (place, caller) in self.callers.iter().zip(callers) {
                    place.store(*caller);
                }
                self.depth.store(callers.len().min(MOST_CALLERS) as u64);
            });
        });
    }

    /// Records the callers, if the latency is long enough.
    #[inline]
    pub(super) fn print_stack(&self, latency: u64) {
        let least = PRINT_STACK.get();
        if least != 0 && least <= latency / NS_PER_US {
            self.record_stack();
        }
    }

    /// Records the callers.
    fn record_stack(&self) {
        let depth = self.depth.load();
        let callers = self.callers.iter().take(depth as usize);
        each_user(|pin, sink, _| {
            let base = Base::new(format::KERNEL_STACK.id, 1);
            let size = STACK_HEAD.saturating_add(callers.len().saturating_mul(8));
            // What is refused is in the counters of the buffer.
            let _ = sink.record(pin, base, size, |rest| {
                let callers = callers.clone().map(SharedU64::load);
                RecordRest::of(rest).long(depth).longs(callers);
            });
        });
    }

    /// Returns when the tick after that of `self.next` is due, not before now.
    fn after(&self) -> u64 {
        // No period is set that is longer than a second.
        let period = PERIOD.get().wrapping_mul(NS_PER_US);
        let mut next = self.next.load().saturating_add(period);
        if options().has(NoiseOptions::ALIGN) && self.ticks.load() == 0 {
            next = aligned(next);
        }
        match tick::now().saturating_sub(next) {
            0 => next,
            late => next.saturating_add(late.div_ceil(period.max(1)).saturating_mul(period)),
        }
    }

    /// Measures until the thread is to end.
    fn measure(&self, tick: &Tick<'_>) {
        self.begin();
        tick.wait(self.advance());
        self.noise
            .begin(Some(kernel::current!().pid() as u32), true);
        while !threads::should_stop() {
            let latency = self.latency().unwrap_or(0);
            let sample = TimerlatSample {
                number: self.ticks(),
                context: TickContext::Thread,
                latency,
            };
            record(&sample, true);
            self.print_stack(latency);
            self.noise.answered();
            let stop = workload::stop(true);
            if stop != 0 && latency / NS_PER_US >= stop {
                stop_tracing();
            }
            if workload::is_to_leave() {
                break;
            }
            tick.wait(self.advance());
        }
        self.noise.end();
    }
}

/// Bytes of a record of callers before them.
const STACK_HEAD: usize = 16;

/// Returns the first tick of a CPU, whose own would be at `next`, aligned to those of the others.
fn aligned(next: u64) -> u64 {
    loop {
        let last = ALIGNED.load();
        let mine = match last {
            0 => next,
            last => last.saturating_add(ALIGN.get().saturating_mul(NS_PER_US)),
        };
        // Each failure is another thread's success.
        if ALIGNED.cas(last, mine) {
            return mine;
        }
    }
}

impl TickBody for TimerlatCpu {
    fn due(&self, now: u64) {
        self.noise.tick();
        let latency = now.saturating_sub(self.next.load());
        self.ticks.store(self.ticks.load().wrapping_add(1));
        let sample = TimerlatSample {
            number: self.ticks(),
            context: TickContext::Irq,
            latency,
        };
        record(&sample, false);
        let stop = workload::stop(false);
        if stop != 0 && latency / NS_PER_US >= stop {
            // The thread would be too late to record it.
            if stop <= PRINT_STACK.get() {
                self.keep_stack();
                self.print_stack(latency);
            }
            stop_tracing();
            raise(latency);
        }
    }

    fn woken(&self) {
        if PRINT_STACK.get() != 0 {
            self.keep_stack();
        }
    }
}

/// What the thread of each CPU does.
struct TimerlatThread;

impl ThreadBody for TimerlatThread {
    fn run(&self) {
        if tick::run_by_fifo(PRIORITY).is_err() {
            pr_warn!("timerlat: a thread runs without the priority of real time\n");
        }
        let Some(noise) = NoiseHooks::of(CpuPin::with(|pin| pin.cpu())) else {
            return;
        };
        let Ok(here) = KBox::new(TimerlatCpu::new(noise), GFP_KERNEL) else {
            pr_warn!("timerlat: no memory for a thread\n");
            return;
        };
        let body: &dyn TickBody = &*here;
        let Ok(tick) = Tick::new(&body) else {
            pr_warn!("timerlat: no memory for a timer\n");
            return;
        };
        threads::loosened(|| here.measure(&tick));
    }
}

impl Workload for TimerlatTracer {
    fn name(&self) -> &'static CStr {
        c"timerlat"
    }

    fn body(&self) -> Result<KBox<dyn ThreadBody>> {
        prepare()?;
        Ok(KBox::new(TimerlatThread, GFP_KERNEL)?)
    }

    fn without_threads(&self, _cpus: &[u64]) -> Result<Measurer> {
        prepare()?;
        Ok(Measurer::Loads(UserLoads::begin()?))
    }
}

/// Prepares what measures.
///
/// # Errors
///
/// `ENOMEM`.
fn prepare() -> Result {
    stack::prepare()?;
    ALIGNED.store(0);
    Ok(())
}

/// The tracer.
pub(super) struct TimerlatTracer;

impl Tracer for TimerlatTracer {
    fn name(&self) -> &'static str {
        "timerlat"
    }

    fn records(&self) -> bool {
        true
    }

    fn columns(&self) -> Option<Columns> {
        Some(|out| timerlat::write_columns(cfg!(CONFIG_PREEMPT_RT), out))
    }

    fn start(&self, host: &Host<'_>) -> Result {
        workload::start(host, &TimerlatTracer)
    }

    fn follow(&self, host: &Host<'_>) -> Result {
        workload::follow(host, &TimerlatTracer)
    }

    fn stop(&self, host: &Host<'_>) {
        workload::stop_tracer(host);
    }
}
