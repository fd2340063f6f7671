// SPDX-License-Identifier: GPL-2.0

//! The rings of an instance, one per possible CPU, and their readers.
//!
//! Lock order: `shape`, then one `reader` after the other in the order of CPUs. Writers take none.

use super::selftest;
use crate::{
    kapi::{
        alarm::Alarm,
        cpus,
        grace,
        pages::{
            self,
            Pages, //
        },
        percpu::PerCpu,
        port::{
            Kernel,
            Ring, //
        },
        words::SharedU64, //
    },
    ring::{
        cpu::{
            Parts,
            ReaderState,
            DISABLE_QUIESCE, //
        },
        port::SharedWord,
        reader::Reader,
        subbuf::SubBuf,
        view::CpuStats, //
    },
    text::size::SizeKb, //
};
use kernel::{
    new_mutex,
    page::PAGE_SIZE,
    prelude::*,
    str::CString,
    sync::{
        Mutex,
        MutexGuard, //
    }, //
};

/// Which CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpuSel {
    /// All that are possible.
    All,
    /// One.
    One(u32),
}

impl CpuSel {
    /// Their numbers.
    pub(crate) fn iter(self) -> impl Iterator<Item = u32> {
        cpus::possible().filter(move |cpu| self == CpuSel::All || self == CpuSel::One(*cpu))
    }
}

/// Fewest sub-buffers of a ring.
const FEWEST: u64 = 2;
/// Bytes of events in a sub-buffer.
const CAPACITY: u64 = PAGE_SIZE as u64 - crate::ring::wire::HEADER as u64;

/// The reader's side of one ring.
#[pin_data]
struct ReaderSide {
    cpu: u32,
    #[pin]
    state: Mutex<ReaderState>,
}

/// The rings of an instance.
#[pin_data]
pub(crate) struct Buffers {
    rings: PerCpu<Ring>,
    readers: KVec<Pin<KBox<ReaderSide>>>,
    /// Held while rings are emptied or change their size. Holds whether the size is the user's or
    /// the one of an instance that was used.
    #[pin]
    shape: Mutex<bool>,
    /// Tells that a ring is broken.
    #[pin]
    alarm: Alarm,
}

impl Buffers {
    /// Empty rings of the instance `name` with as many sub-buffers as `kb` KiB of events need.
    pub(crate) fn new(name: CString, kb: u64, expanded: bool) -> Result<impl PinInit<Self>> {
        let slots = slots_for(kb)?;
        let mut readers = KVec::new();
        let rings = PerCpu::new(|cpu| {
            let parts = parts(cpu, slots)?;
            let (ring, state) = Ring::new(parts, PAGE_SIZE).map_err(|_| EINVAL)?;
            let side = KBox::pin_init(
                pin_init!(ReaderSide {
                    cpu,
                    state <- new_mutex!(state),
                }),
                GFP_KERNEL,
            )?;
            readers.push(side, GFP_KERNEL)?;
            Ok(ring)
        })?;
        Ok(pin_init!(Self {
            rings,
            readers,
            shape <- new_mutex!(expanded),
            alarm <- Alarm::new(name, selftest::tell),
        }))
    }

    /// The rings.
    pub(crate) fn rings(&self) -> &PerCpu<Ring> {
        &self.rings
    }

    /// Tells that a ring is broken.
    pub(super) fn alarm(&self) -> &Alarm {
        &self.alarm
    }

    /// The ring of `cpu` with its reader's lock held.
    pub(super) fn locked(&self, cpu: u32) -> Result<(&Ring, MutexGuard<'_, ReaderState>)> {
        let side = self.readers.iter().find(|side| side.cpu == cpu);
        let side = side.ok_or(ENODEV)?;
        let ring = self.rings.of(cpu).ok_or(ENODEV)?;
        Ok((ring, side.state.lock()))
    }

    /// Runs `f` as the reader of `cpu`.
    pub(crate) fn read<R>(
        &self,
        cpu: u32,
        f: impl FnOnce(Reader<'_, Kernel>) -> Result<R>,
    ) -> Result<R> {
        let (ring, mut state) = self.locked(cpu)?;
        // SAFETY: `Buffers::new` made both together.
        f(unsafe { ring.reader(&mut state) })
    }

    /// Has `cpus` anything that was not read? A ring whose writers are faster than we can look has.
    pub(crate) fn any_unread(&self, cpus: CpuSel) -> bool {
        cpus.iter().any(|cpu| {
            matches!(
                self.read(cpu, |mut r| Ok(r.unread())),
                Ok(Ok(Some(_)) | Err(_))
            )
        })
    }

    /// What the ring of `cpu` has counted.
    pub(crate) fn stats(&self, cpu: u32) -> Result<CpuStats> {
        self.read(cpu, |r| Ok(r.stats()))
    }

    /// Bytes of one sub-buffer.
    pub(crate) fn subbuf_size(&self) -> usize {
        PAGE_SIZE
    }

    /// Applies `f` to each ring.
    pub(crate) fn each(&self, f: impl Fn(&Ring)) {
        cpus::possible()
            .filter_map(|cpu| self.rings.of(cpu))
            .for_each(f);
    }

    /// Runs `change` while no writer is in the rings of `cpus`; what they would write meanwhile is
    /// not recorded.
    pub(super) fn quiesced(
        &self,
        cpus: CpuSel,
        mut change: impl FnMut(u32, &Ring, &mut ReaderState),
    ) {
        for ring in cpus.iter().filter_map(|cpu| self.rings.of(cpu)) {
            ring.set_disabled(DISABLE_QUIESCE, true);
        }
        grace::writers_left();
        for cpu in cpus.iter() {
            if let Ok((ring, mut state)) = self.locked(cpu) {
                change(cpu, ring, &mut state);
                if selftest::ALWAYS {
                    // SAFETY: Recording is disabled and a grace period has passed; the state is
                    // this ring's and locked.
                    unsafe { self.examine(cpu, ring, &state) };
                }
                ring.set_disabled(DISABLE_QUIESCE, false);
            }
        }
    }

    /// Empties the rings of `cpus`, and runs `meanwhile` when they are empty and nobody writes.
    pub(crate) fn clear(&self, cpus: CpuSel, mut meanwhile: impl FnMut()) {
        let _shape = self.shape.lock();
        let mut first = true;
        self.alarm.rearm();
        self.quiesced(cpus, |_, ring, state| {
            // SAFETY: Recording is disabled and a grace period has passed; the state is this
            // ring's and locked.
            unsafe { ring.reset(state) };
            if core::mem::take(&mut first) {
                meanwhile();
            }
        });
    }

    /// Whether the size is more than the one that an unused top instance has.
    pub(crate) fn expanded(&self) -> bool {
        *self.shape.lock()
    }

    /// Gives all rings `kb` KiB unless they have been given a size before.
    pub(crate) fn expand(&self, kb: u64) -> Result {
        if self.expanded() {
            return Ok(());
        }
        self.resize(CpuSel::All, kb)
    }

    /// Gives the rings of `cpus` room for `kb` KiB of events. Unread events stay, as far as they
    /// fit.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    pub(crate) fn resize(&self, cpus: CpuSel, kb: u64) -> Result {
        let slots = slots_for(kb)?;
        let mut shape = self.shape.lock();
        let mut fresh = KVec::new();
        let changes = |cpu: u32| {
            let ring = self.rings.of(cpu);
            ring.is_some_and(|ring| ring.slot_count() != slots as u64)
        };
        let count = cpus.iter().filter(|cpu| changes(*cpu)).count() as u64;
        let wanted = count.saturating_mul(slots as u64);
        if wanted > pages::available() {
            return Err(ENOMEM);
        }
        for cpu in cpus.iter().filter(|cpu| changes(*cpu)) {
            fresh.push((cpu, Some(parts(cpu, slots)?)), GFP_KERNEL)?;
        }
        *shape = true;
        if fresh.is_empty() {
            return Ok(());
        }
        let mut old = KVec::with_capacity(fresh.len(), GFP_KERNEL)?;
        self.quiesced(cpus, |cpu, ring, state| {
            let entry = fresh.iter_mut().find(|(of, _)| *of == cpu);
            let Some(parts) = entry.and_then(|(_, parts)| parts.take()) else {
                return;
            };
            // SAFETY: As in `clear`.
            let left = unsafe { ring.resize(state, parts) };
            let left = left.unwrap_or_else(|unfit| unfit.0);
            // There is room for one per ring.
            let _ = old.push_within_capacity(left);
        });
        Ok(())
    }

    /// The size of the rings of `cpus`.
    pub(crate) fn size(&self, cpus: CpuSel) -> SizeKb {
        let mut sizes = cpus
            .iter()
            .filter_map(|cpu| self.rings.of(cpu))
            .map(|ring| kb_of(ring.slot_count()));
        let first = sizes.next().unwrap_or(0);
        if sizes.all(|kb| kb == first) {
            SizeKb::Kb(first)
        } else {
            SizeKb::Mixed
        }
    }

    /// The sum of the sizes.
    pub(crate) fn total(&self) -> u64 {
        CpuSel::All
            .iter()
            .filter_map(|cpu| self.rings.of(cpu))
            .fold(0, |sum, ring| sum.saturating_add(kb_of(ring.slot_count())))
    }
}

fn kb_of(slots: u64) -> u64 {
    slots.saturating_mul(CAPACITY) >> 10
}

/// Sub-buffers for `kb` KiB of events.
fn slots_for(kb: u64) -> Result<usize> {
    let bytes = kb.checked_mul(1024).ok_or(ENOMEM)?;
    let slots = bytes.div_ceil(CAPACITY).max(FEWEST);
    usize::try_from(slots).map_err(|_| ENOMEM)
}

/// Unused parts of a ring of `cpu`.
fn parts(cpu: u32, slots: usize) -> Result<Parts<Kernel>> {
    if slots >= crate::ring::cpu::MOST_SLOTS {
        return Err(ENOMEM);
    }
    let mut words = KVVec::with_capacity(slots, GFP_KERNEL | __GFP_NOWARN)?;
    for _ in 0..slots {
        words.push(SharedU64::new(0), GFP_KERNEL)?;
    }
    let mut subbufs = KVVec::with_capacity(slots.saturating_add(1), GFP_KERNEL | __GFP_NOWARN)?;
    for _ in 0..=slots {
        subbufs.push(SubBuf::new(Pages::new(cpu, 0)?), GFP_KERNEL)?;
    }
    Ok(Parts {
        slots: words,
        pages: subbufs,
    })
}
