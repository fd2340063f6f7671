// SPDX-License-Identifier: GPL-2.0

//! Notes which events came back: each once, and those of a stream in their order in each reader.

use super::record::{Event, CONTEXTS, RINGS, STREAMS};
use crate::check::Check;
use std::sync::atomic::{AtomicU64, Ordering};

/// The writers end before one of their numbers gets here (stress/soak.c).
const MOST_NUMBERS: u32 = 1 << 23;

/// The streams that can be in one instance: its own, and the tracepoint's.
const SLOTS: usize = 2;

/// What all readers of one instance got: a bit per event.
pub struct Seen {
    /// Of the instance, 0 to 2.
    ring: usize,
    cpus: usize,
    bits: Vec<AtomicU64>,
}

impl Seen {
    pub fn new(ring: usize, cpus: usize) -> Self {
        let words = cpus * SLOTS * CONTEXTS.len() * (MOST_NUMBERS / 64) as usize;
        Seen {
            ring,
            cpus,
            bits: (0..words).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    pub fn cpus(&self) -> usize {
        self.cpus
    }

    /// Forgets everything.
    pub fn reset(&self) {
        for word in &self.bits {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// Returns whether the event belongs to this instance.
    fn check(&self, event: &Event) -> Check {
        ensure!(
            event.cpu < self.cpus
                && event.number < MOST_NUMBERS
                && (event.stream == self.ring || event.stream == RINGS),
            "{event:?} in instance {}",
            self.ring
        );
        Ok(())
    }

    fn words(&self, cpu: usize, stream: usize, context: usize) -> &[AtomicU64] {
        let slot = usize::from(stream == RINGS);
        let len = (MOST_NUMBERS / 64) as usize;
        let index = (cpu * SLOTS + slot) * CONTEXTS.len() + context;
        &self.bits[index * len..][..len]
    }

    /// Notes an event that was consumed.
    fn mark(&self, event: &Event) -> Check {
        let words = self.words(event.cpu, event.stream, event.context);
        let bit = 1 << (event.number % 64);
        let before = words[(event.number / 64) as usize].fetch_or(bit, Ordering::Relaxed);
        ensure!(before & bit == 0, "{event:?} came back twice");
        Ok(())
    }

    /// How many different events of a stream came back.
    pub fn count(&self, cpu: usize, stream: usize, context: usize) -> u64 {
        let words = self.words(cpu, stream, context);
        let ones = |word: &AtomicU64| u64::from(word.load(Ordering::Relaxed).count_ones());
        words.iter().map(ones).sum()
    }
}

/// What one reader got of one CPU.
#[derive(Clone, Default)]
struct OfCpu {
    /// The number after the last one, of each stream and context.
    next: [[u32; CONTEXTS.len()]; STREAMS],
    read: u64,
    lost: u64,
    uncounted: u64,
    stamp: u64,
    log: Vec<Event>,
}

/// What one reader got.
pub struct Got<'a> {
    seen: &'a Seen,
    /// Events are gone for others.
    consumes: bool,
    /// Keeps all events.
    logs: bool,
    /// The numbers of a stream come in their order.
    ordered: bool,
    of: Vec<OfCpu>,
}

impl<'a> Got<'a> {
    /// For a reader whose events are gone for others.
    pub fn consumer(seen: &'a Seen, logs: bool) -> Self {
        Got {
            seen,
            consumes: true,
            logs,
            ordered: true,
            of: vec![OfCpu::default(); seen.cpus],
        }
    }

    /// For a reader that leaves them there.
    pub fn viewer(seen: &'a Seen) -> Self {
        Got {
            consumes: false,
            ..Got::consumer(seen, false)
        }
    }

    /// For a reader of buffers that are exchanged: older events may come after later ones.
    pub fn unordered(self) -> Self {
        Got {
            ordered: false,
            ..self
        }
    }

    pub fn event(&mut self, event: Event) -> Check {
        self.seen.check(&event)?;
        let of = &mut self.of[event.cpu];
        let next = &mut of.next[event.stream][event.context];
        ensure!(
            event.number >= *next || !self.ordered,
            "{event:?} behind number {}",
            next.wrapping_sub(1)
        );
        *next = event.number + 1;
        of.read += 1;
        if self.consumes {
            self.seen.mark(&event)?;
        }
        if self.logs {
            of.log.push(event);
        }
        Ok(())
    }

    /// The next event's stamp. (A clear under way may change the clock: then there is no order.)
    pub fn stamp(&mut self, cpu: usize, stamp: u64) -> Check {
        let last = std::mem::replace(&mut self.of[cpu].stamp, stamp);
        ensure!(
            stamp >= last || self.logs || !self.ordered,
            "cpu {cpu}: stamp {stamp} after {last}"
        );
        Ok(())
    }

    /// The reader was told of a loss; `None`: of an unknown number.
    pub fn lost(&mut self, cpu: usize, count: Option<u64>) -> Check {
        let of = self.of.get_mut(cpu).ok_or("a loss of another cpu")?;
        match count {
            Some(count) => of.lost += count,
            None => of.uncounted += 1,
        }
        Ok(())
    }

    pub fn cpus(&self) -> usize {
        self.of.len()
    }

    pub fn read(&self, cpu: usize) -> u64 {
        self.of[cpu].read
    }

    pub fn losses(&self, cpu: usize) -> u64 {
        self.of[cpu].lost
    }

    /// Losses that were told without their number.
    pub fn uncounted(&self, cpu: usize) -> u64 {
        self.of[cpu].uncounted
    }

    /// The events of a CPU in the order in which they came.
    pub fn log(&self, cpu: usize) -> &[Event] {
        &self.of[cpu].log
    }
}
