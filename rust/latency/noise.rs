// SPDX-License-Identifier: GPL-2.0

//! What takes a CPU from a workload: interrupts, soft interrupts and other threads, each told from what
//! interrupts it in turn.
//!
//! A section is what one of them runs. What it took is the time between its ends without that of sections
//! inside of it. For that a CPU adds up what all sections took: the sum when a section begins is remembered,
//! and what has come to it when it ends was inside. The sections of one kind do not nest.
//!
//! A clock may have no time at hand: what needs one then fails with the error of the clock, and has changed nothing.
//!
//! Contexts: each function is called on the CPU that the value belongs to, by a context that runs to its end
//! before what it interrupts goes on. Only [`CpuNoise::begin`] and [`CpuNoise::end`] may be called elsewhere: what
//! runs there meanwhile is told of or not.

use crate::ring::port::LocalWord;
use core::convert::Infallible;

/// What takes a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoiseKind {
    Irq,
    SoftIrq,
    Thread,
}

/// The sections of one kind.
struct NoiseSections<W> {
    count: W,
    /// Whether one is there.
    open: W,
    start: W,
    /// The sum when it began.
    taken: W,
}

impl<W: LocalWord> NoiseSections<W> {
    fn new() -> Self {
        Self {
            count: W::new(0),
            open: W::new(0),
            start: W::new(0),
            taken: W::new(0),
        }
    }
}

impl<W: LocalWord> NoiseSections<W> {
    /// Has the present one, if there is one, begin with that of `other`.
    fn begin_with(&self, other: &Self) {
        self.start.set(other.start.get());
        self.taken.set(other.taken.get());
    }
}

/// What a section took, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noise {
    pub(crate) start: u64,
    pub(crate) duration: u64,
}

/// When a section begins or ends.
#[derive(Clone, Copy)]
struct SectionInstant {
    time: u64,
    /// What all sections had taken.
    taken: u64,
}

/// How many sections of each kind began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NoiseCounts {
    pub(crate) irqs: u64,
    pub(crate) softirqs: u64,
    pub(crate) threads: u64,
}

impl NoiseCounts {
    /// Returns how many began after `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            irqs: self.irqs.wrapping_sub(before.irqs),
            softirqs: self.softirqs.wrapping_sub(before.softirqs),
            threads: self.threads.wrapping_sub(before.threads),
        }
    }
}

/// No pid: there is no workload.
const NOBODY: u64 = u64::MAX;

/// What takes one CPU.
pub(crate) struct CpuNoise<W> {
    /// Whether sections are of interest.
    on: W,
    /// The pid of the workload: the thread that is none of the others; [`NOBODY`]: all are.
    pid: W,
    /// Whether soft interrupts and threads are told of only after a tick.
    awaits_tick: W,
    /// Whether there was a tick.
    ticked: W,
    /// What all sections took.
    taken: W,
    /// How many sections began.
    begun: W,
    irq: NoiseSections<W>,
    softirq: NoiseSections<W>,
    thread: NoiseSections<W>,
}

impl<W: LocalWord> CpuNoise<W> {
    /// Returns one that is not of interest.
    pub(crate) fn new() -> Self {
        Self {
            on: W::new(0),
            pid: W::new(0),
            awaits_tick: W::new(0),
            ticked: W::new(0),
            taken: W::new(0),
            begun: W::new(0),
            irq: NoiseSections::new(),
            softirq: NoiseSections::new(),
            thread: NoiseSections::new(),
        }
    }

    fn sections(&self, kind: NoiseKind) -> &NoiseSections<W> {
        match kind {
            NoiseKind::Irq => &self.irq,
            NoiseKind::SoftIrq => &self.softirq,
            NoiseKind::Thread => &self.thread,
        }
    }

    /// Begins to look at what takes the CPU from the thread `workload`, which calls this; without one, at all
    /// that runs. `awaits_tick` says whether soft interrupts and threads are told of only from a [`Self::tick`] to
    /// [`Self::answered`].
    pub(crate) fn begin(&self, workload: Option<u32>, awaits_tick: bool) {
        self.pid.set(workload.map_or(NOBODY, u64::from));
        self.awaits_tick.set(awaits_tick.into());
        self.ticked.set(0);
        for kind in [NoiseKind::Irq, NoiseKind::SoftIrq, NoiseKind::Thread] {
            self.sections(kind).open.set(0);
        }
        self.on.set(1);
    }

    /// Ends that.
    pub(crate) fn end(&self) {
        self.on.set(0);
    }

    /// In the interrupt of a timer that wakes the workload: what was interrupted took what it did before that
    /// for itself. From here on it delays the workload, which is told of.
    pub(crate) fn tick(&self) {
        self.ticked.set(1);
        let irq = &self.irq;
        if self.softirq.open.get() != 0 {
            self.thread.begin_with(&self.softirq);
            self.softirq.begin_with(irq);
        } else {
            self.thread.begin_with(irq);
        }
    }

    /// The workload has run after a tick.
    pub(crate) fn answered(&self) {
        self.ticked.set(0);
    }

    /// Returns a time at which no section was between `word` and the clock, and what the word was.
    #[inline(always)]
    fn time_with<E>(&self, word: &W, now: impl Fn() -> Result<u64, E>) -> Result<(u64, u64), E> {
        loop {
            let value = word.get();
            let time = now()?;
            if word.get() == value {
                return Ok((time, value));
            }
        }
    }

    /// Returns the time, and how many sections have begun until then, and others that `others` counts.
    #[inline(always)]
    pub(crate) fn look(&self, now: impl Fn() -> u64, others: impl Fn() -> u64) -> (u64, u64) {
        loop {
            let count = others();
            let Ok((time, begun)) = self.time_with::<Infallible>(&self.begun, || Ok(now()));
            if others() == count {
                return (time, begun.wrapping_add(count));
            }
        }
    }

    /// Returns the time for a section that begins or ends.
    #[inline(always)]
    fn instant<E>(&self, now: impl Fn() -> Result<u64, E>) -> Result<SectionInstant, E> {
        let (time, taken) = self.time_with(&self.taken, now)?;
        Ok(SectionInstant { time, taken })
    }

    /// A section of `kind` begins.
    ///
    /// # Errors
    ///
    /// That of the clock.
    #[inline(always)]
    pub(crate) fn enter<E>(
        &self,
        kind: NoiseKind,
        now: impl Fn() -> Result<u64, E>,
    ) -> Result<(), E> {
        if self.on.get() != 0 {
            self.open(kind, self.instant(now)?);
        }
        Ok(())
    }

    /// Begins a section of `kind`.
    #[inline(always)]
    fn open(&self, kind: NoiseKind, at: SectionInstant) {
        let sections = self.sections(kind);
        sections.start.set(at.time);
        sections.taken.set(at.taken);
        sections.count.add(1);
        self.begun.add(1);
        sections.open.set(1);
    }

    /// A section of `kind` ends. Returns what it took; `None` if its beginning was not seen.
    ///
    /// # Errors
    ///
    /// That of the clock.
    #[inline(always)]
    pub(crate) fn leave<E>(
        &self,
        kind: NoiseKind,
        now: impl Fn() -> Result<u64, E>,
    ) -> Result<Option<Noise>, E> {
        if self.on.get() == 0 || self.sections(kind).open.get() == 0 {
            return Ok(None);
        }
        let noise = self.close(kind, self.instant(now)?);
        Ok(self.tells(kind).then_some(noise))
    }

    /// Ends the section of `kind` that is there.
    #[inline(always)]
    fn close(&self, kind: NoiseKind, at: SectionInstant) -> Noise {
        let sections = self.sections(kind);
        let start = sections.start.get();
        let inside = at.taken.wrapping_sub(sections.taken.get());
        let duration = at.time.wrapping_sub(start).saturating_sub(inside);
        sections.open.set(0);
        self.taken.add(duration);
        Noise { start, duration }
    }

    /// Returns whether sections of `kind` are told of now.
    #[inline(always)]
    fn tells(&self, kind: NoiseKind) -> bool {
        kind == NoiseKind::Irq || self.awaits_tick.get() == 0 || self.ticked.get() != 0
    }

    /// The CPU goes from the thread `prev` to the thread `next`. Returns what `prev` took, if it is not the
    /// workload.
    ///
    /// # Errors
    ///
    /// That of the clock.
    #[inline(always)]
    pub(crate) fn switch<E>(
        &self,
        prev: u32,
        next: u32,
        now: impl Fn() -> Result<u64, E>,
    ) -> Result<Option<Noise>, E> {
        if self.on.get() == 0 {
            return Ok(None);
        }
        let workload = self.pid.get();
        // One time for both: there is nothing between two threads.
        let mut at = self.instant(now)?;
        let mut noise = None;
        if u64::from(prev) != workload && self.thread.open.get() != 0 {
            let ended = self.close(NoiseKind::Thread, at);
            at.taken = at.taken.wrapping_add(ended.duration);
            noise = self.tells(NoiseKind::Thread).then_some(ended);
        }
        if u64::from(next) != workload {
            self.open(NoiseKind::Thread, at);
        }
        Ok(noise)
    }

    /// Returns how many sections of each kind began.
    pub(crate) fn counts(&self) -> NoiseCounts {
        NoiseCounts {
            irqs: self.irq.count.get(),
            softirqs: self.softirq.count.get(),
            threads: self.thread.count.get(),
        }
    }
}
