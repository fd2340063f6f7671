// SPDX-License-Identifier: GPL-2.0

//! The rings of an instance, two for each possible CPU, and what reads them.
//!
//! - `banks`, `rings`: which of its two rings a writer uses; `snapshot` exchanges them.
//! - `gate`, `exchange`: writers that exchange them, and the lock of the shape, which keeps them from it.
//! - `quiescent`: rings without a writer; `size`: how large they are, and how that changes.
//! - `side`: the reader's lock; `read`, `splice`, `mapping`: sub-buffers for programs.
//! - `page_copy`, `copy_walk`, `consumer`, `stream`, `merge`: events for readers that print them.
//! - `progress`, `recorded`: which events a reader that consumes nothing has seen.
//! - `watermark`: waiting until a ring is filled to a given share.
//! - `selftest`: broken invariants.
//!
//! Lock order: `shape`, then the readers' locks one after the other in the order of CPUs. Writers
//! take no lock.

pub(crate) mod banks;
pub(crate) mod consumer;
pub(crate) mod copy_walk;
mod exchange;
mod gate;
pub(crate) mod mapping;
pub(crate) mod merge;
mod page_copy;
pub(crate) mod progress;
mod quiescent;
mod read;
pub(crate) mod recorded;
pub(crate) mod rings;
pub(crate) mod selftest;
mod side;
mod size;
mod snapshot;
mod splice;
pub(crate) mod stream;
mod watermark;

pub(crate) use self::{
    banks::{
        Bank,
        Buf,
        RingPlace, //
    },
    size::EXPANDED_KB, //
};

use self::{
    banks::Pair,
    gate::ExchangeGate,
    page_copy::PageCopy,
    progress::{
        CpuCounts, //
        RingCount,
    },
    rings::Rings,
    side::ReaderSide,
    size::{
        pages_of,
        parts,
        BufferShape,
        FEWEST, //
    }, //
};
use crate::{
    kapi::{
        alarm::DeferredWarning,
        cpus,
        pages::Budget,
        percpu::PerCpu,
        port::Ring,
        wait::Poller,
        waker::Waker,
        words::SharedU64, //
    },
    ring::view::RingStats,
    text::totals::CpuTotals, //
};
use kernel::{
    new_mutex,
    page::PAGE_SIZE,
    prelude::*,
    str::CString,
    sync::{
        atomic::Atomic,
        Mutex, //
    }, //
};

/// A choice of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpuSel {
    /// All possible CPUs.
    All,
    /// One CPU.
    One(u32),
}

impl CpuSel {
    /// Returns the numbers of the CPUs that are possible.
    pub(crate) fn iter(self) -> impl Iterator<Item = u32> {
        cpus::possible().filter(move |cpu| self == CpuSel::All || self == CpuSel::One(*cpu))
    }
}

/// The rings of an instance.
#[pin_data]
pub(crate) struct Buffers {
    rings: Rings,
    readers: KVec<Pin<KBox<ReaderSide>>>,
    /// Held while rings are emptied or resized, while banks are exchanged, and while the size is
    /// read.
    #[pin]
    shape: Mutex<BufferShape>,
    /// Open while writers may exchange the banks.
    gate: ExchangeGate<SharedU64>,
    /// Reports that a ring is broken.
    #[pin]
    alarm: DeferredWarning,
    /// Wakes readers that wait for events.
    #[pin]
    waker: Waker,
    /// Share of a ring, in percent, at which a waiting reader is woken.
    percent: Atomic<u32>,
}

impl Buffers {
    /// Returns empty rings of the instance `name`; if `expanded`, of the size of an instance in
    /// use. The rings of the bank that is not live have as few sub-buffers as possible.
    ///
    /// # Errors
    ///
    /// `ENOMEM` and `EINTR` (the task is being killed).
    pub(crate) fn new(name: CString, expanded: bool) -> Result<impl PinInit<Self>> {
        let shape = BufferShape::new(expanded);
        let slots = shape.slots()?;
        let cpus = CpuSel::All.iter().count() as u64;
        let pages = |slots: usize| pages_of(slots, slots.saturating_add(1), 0);
        let both = pages(slots).saturating_add(pages(FEWEST as usize));
        let mut budget = Budget::new(cpus.saturating_mul(both))?;
        let mut ring = |cpu, slots: usize| {
            let parts = parts(cpu, slots, slots.saturating_add(1), 0, &mut budget)?;
            Ring::new(parts, PAGE_SIZE).map_err(|_| EINVAL)
        };
        let mut readers = KVec::new();
        let rings = PerCpu::new(|cpu| {
            let (live, its) = ring(cpu, slots)?;
            let (other, others) = ring(cpu, FEWEST as usize)?;
            let side = ReaderSide::new(cpu, Pair::new(its, others));
            readers.push(KBox::pin_init(side, GFP_KERNEL)?, GFP_KERNEL)?;
            Ok(Pair::new(live, other))
        })?;
        Ok(pin_init!(Self {
            rings: Rings::new(rings),
            readers,
            shape <- new_mutex!(shape),
            gate: ExchangeGate::new(),
            alarm <- DeferredWarning::new(name, selftest::tell),
            waker <- Waker::new(),
            percent: Atomic::new(watermark::DEFAULT),
        }))
    }

    /// Returns the rings, as writers find them.
    pub(crate) fn rings(&self) -> &Rings {
        &self.rings
    }

    /// Returns the alarm that reports that a ring is broken.
    pub(crate) fn alarm(&self) -> &DeferredWarning {
        &self.alarm
    }

    /// Returns the waker of readers that wait for events.
    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Returns the bank that `buf` is at present.
    pub(crate) fn bank(&self, buf: Buf) -> Bank {
        self.rings.bank(buf)
    }

    /// Sleeps until `buf` has something to read on one of `cpus`, or until `until`, called after
    /// each wake-up, returns `true`.
    ///
    /// # Errors
    ///
    /// `ERESTARTSYS` on a signal.
    pub(crate) fn wait(&self, buf: Buf, cpus: CpuSel, until: &mut dyn FnMut() -> bool) -> Result {
        self.waker
            .wait(&mut || until() || self.any_unread(buf, cpus))
    }

    /// Returns whether there is something to read. If not, wakes `poller` once there is.
    pub(crate) fn poll(&self, buf: Buf, cpus: CpuSel, poller: &Poller<'_>) -> bool {
        poller.watch(self.waker.pollers());
        self.waker.poll(|| self.any_unread(buf, cpus))
    }

    /// Wakes all sleeping readers, which look again.
    pub(crate) fn wake_all(&self) {
        self.waker.wake_all();
        self.wake_watermarks();
    }

    /// Returns the counters of the ring of `cpu` in `bank`.
    ///
    /// # Errors
    ///
    /// `ENODEV` without such a CPU.
    pub(crate) fn stats(&self, bank: Bank, cpu: u32) -> Result<RingStats> {
        self.read_in(bank, cpu, |r| Ok(r.stats()))
    }

    /// Returns what the rings of `cpu` in both banks have counted since they were made.
    ///
    /// # Errors
    ///
    /// `ENODEV` without such a CPU.
    pub(crate) fn totals(&self, cpu: u32) -> Result<CpuTotals> {
        Ok(self.locked(cpu)?.totals())
    }

    /// Returns how many events the rings of `cpu` have recorded.
    ///
    /// # Errors
    ///
    /// `ENODEV` without such a CPU.
    pub(crate) fn counts(&self, cpu: u32) -> Result<CpuCounts> {
        let mut locked = self.locked(cpu)?;
        loop {
            let live = self.rings.live();
            let oldest = locked.reader(live).0.oldest();
            let mut count = |bank| {
                let past = locked.past(bank);
                let written = locked.own(bank, bank == live).written();
                RingCount {
                    past,
                    next: past.number(written),
                }
            };
            let of = Pair::new(count(Bank::A), count(Bank::B));
            // Otherwise the banks were exchanged meanwhile. That cannot happen twice, because an exchange
            // waits for this reader's lock, and a writer's for that of the one before: see `LockedShape`.
            if self.rings.live() == live {
                return Ok(CpuCounts {
                    live,
                    oldest: of.of(live).past.number(oldest),
                    of,
                });
            }
        }
    }

    /// Applies `f` to each ring of both banks.
    pub(crate) fn each(&self, f: impl Fn(&Ring)) {
        self.each_of_cpu(|_, ring| f(ring));
    }

    /// Applies `f` to each ring of both banks, with its CPU.
    pub(crate) fn each_of_cpu(&self, f: impl Fn(u32, &Ring)) {
        for cpu in cpus::possible() {
            if let Some(rings) = self.rings.of(cpu) {
                for bank in Bank::BOTH {
                    f(cpu, rings.of(bank));
                }
            }
        }
    }

    /// Looks at the rings of `cpus`; what they would record meanwhile is not recorded. Returns how
    /// many are broken.
    pub(crate) fn selftest(&self, cpus: CpuSel) -> usize {
        let shape = self.lock_shape();
        let mut broken = 0usize;
        self.quiesced(&shape, cpus, |cpu, _, ring| {
            if !self.examine(cpu, ring) {
                broken = broken.saturating_add(1);
            }
        });
        broken
    }

    /// Empties the live rings of `cpus`. Sleeping readers look again: the rings no longer know what they
    /// wait for.
    pub(crate) fn clear(&self, cpus: CpuSel) {
        let shape = self.lock_shape();
        let live = self.rings.live();
        self.alarm.rearm();
        self.quiesced(&shape, cpus, |_, bank, ring| {
            if bank == live {
                ring.empty();
            }
        });
        drop(shape);
        self.wake_all();
    }

    /// Empties all rings, and runs `meanwhile` while no writer is in them. Wakes as [`Self::clear`].
    pub(crate) fn clear_all(&self, mut meanwhile: impl FnMut()) {
        let shape = self.lock_shape();
        let mut first = true;
        self.alarm.rearm();
        self.quiesced(&shape, CpuSel::All, |_, _, ring| {
            ring.empty();
            if core::mem::take(&mut first) {
                meanwhile();
            }
        });
        drop(shape);
        self.wake_all();
    }
}
