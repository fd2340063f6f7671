// SPDX-License-Identifier: GPL-2.0

//! A tracer with its name: rings, clock, options, enabled events.
//!
//! Lock order of this folder: `registry`, then `events` (`enable`), then those of `buffers`. Probes
//! take no lock.

mod buffers;
mod enable;
mod life;
mod marker;
pub(crate) mod merge;
mod pages;
pub(crate) mod registry;
mod selftest;
pub(crate) mod stream;
#[cfg(CONFIG_KUNIT = "y")]
mod tests;

pub(crate) use self::{
    buffers::{
        Buffers,
        CpuSel, //
    },
    enable::disable_everywhere,
    pages::{
        PageCopy,
        PipeToken, //
    },
    registry::Instances, //
};

use self::life::{
    Life,
    Refusal, //
};
use crate::{
    kapi::{
        clock,
        percpu::CpuPin,
        wait::Poller,
        waker::Waker,
        words::SharedU64, //
    },
    probes::{
        EventFile,
        Recorder, //
    },
    ring::cpu::DISABLE_USER,
    text::{
        clock::ClockId,
        options::{
            Opt,
            OptionSet, //
        },
        size::SizeKb,
        stats::{
            Broken,
            CpuStats, //
        }, //
    },
};
use core::ops::Deref;
use kernel::{
    new_mutex,
    prelude::*,
    str::CString,
    sync::{
        atomic::{
            Atomic,
            Full,
            Relaxed, //
        },
        Arc,
        Mutex, //
    },
};

/// KiB per CPU of an instance that is used.
const EXPANDED_KB: u64 = 1408;
/// KiB per CPU of the top instance until it is used: two sub-buffers.
const UNUSED_KB: u64 = 1;

/// A tracer.
#[pin_data]
pub(crate) struct Instance {
    name: CString,
    top: bool,
    /// Counts the [`InstanceRef`]s.
    life: Life<SharedU64>,
    options: Atomic<u32>,
    on: Atomic<bool>,
    // The probes are off when what they use goes.
    #[pin]
    events: Mutex<KVec<KBox<EventFile>>>,
    #[pin]
    buffers: Buffers,
    #[pin]
    waker: Waker,
    /// What probes read of us besides the rings.
    recorder: Recorder,
    /// The CPUs that a `trace_pipe` reads: one bit each, or all.
    #[pin]
    pipes: Mutex<KVec<CpuSel>>,
}

/// A counted reference, of an open file: the instance is not removed while there is one.
pub(crate) struct InstanceRef(Arc<Instance>);

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::InUse => EBUSY,
            Refusal::Gone => ENODEV,
        }
    }
}

impl Deref for InstanceRef {
    type Target = Instance;

    fn deref(&self) -> &Instance {
        &self.0
    }
}

impl Drop for InstanceRef {
    fn drop(&mut self) {
        self.0.life.leave();
    }
}

impl Instance {
    fn new(name: &CStr, top: bool, options: OptionSet) -> Result<Arc<Self>> {
        let kb = if top { UNUSED_KB } else { EXPANDED_KB };
        let name = CString::try_from(name)?;
        let buffers = Buffers::new(CString::try_from(&*name)?, kb, !top)?;
        let this = Arc::pin_init(
            pin_init!(Self {
                name,
                top,
                life: Life::new(),
                options: Atomic::new(options.bits()),
                on: Atomic::new(true),
                events <- new_mutex!(KVec::new()),
                buffers <- buffers,
                waker <- Waker::new(),
                recorder: Recorder::new(ClockId::Local),
                pipes <- new_mutex!(KVec::new()),
            }),
            GFP_KERNEL,
        )?;
        this.apply_overwrite(options);
        Ok(this)
    }

    /// Its name; empty for the top one.
    pub(crate) fn name(&self) -> &CStr {
        &self.name
    }

    /// Is it the root of the file system?
    pub(crate) fn is_top(&self) -> bool {
        self.top
    }

    /// Counts a reference.
    ///
    /// # Errors
    ///
    /// `ENODEV` when it is being removed.
    pub(crate) fn get(self: &Arc<Self>) -> Result<InstanceRef> {
        self.life.enter()?;
        Ok(InstanceRef(self.clone()))
    }

    /// Stops recording events, for good.
    fn rest(&self) {
        self.disable_all();
        if selftest::ALWAYS {
            self.buffers.selftest(CpuSel::All);
        }
    }

    /// Is recording on?
    pub(crate) fn tracing_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// Switches recording.
    pub(crate) fn set_tracing_on(&self, on: bool) {
        self.on.store(on, Relaxed);
        self.buffers
            .each(|ring| ring.set_disabled(DISABLE_USER, !on));
        // Readers that sleep are at the end of the file when it is off.
        self.waker.wake_all();
    }

    /// Forgets the events of `cpus`.
    pub(crate) fn clear(&self, cpus: CpuSel) -> Result {
        self.buffers.clear(cpus, || {});
        self.waker.wake_all();
        Ok(())
    }

    /// The options.
    pub(crate) fn options(&self) -> OptionSet {
        OptionSet::from_bits(self.options.load(Relaxed))
    }

    /// Sets one option.
    pub(crate) fn set_option(&self, opt: Opt, on: bool) -> Result {
        if opt.top_only() && !self.top {
            return Err(EINVAL);
        }
        let mut old = self.options.load(Relaxed);
        loop {
            let new = OptionSet::from_bits(old).with(opt, on);
            match self.options.cmpxchg(old, new.bits(), Full) {
                Ok(_) => {
                    self.apply_overwrite(new);
                    if opt == Opt::RecordCmd {
                        return enable::record_comms_again();
                    }
                    return Ok(());
                }
                Err(now) => old = now,
            }
        }
    }

    fn apply_overwrite(&self, options: OptionSet) {
        let on = options.has(Opt::Overwrite);
        self.buffers.each(|ring| ring.set_overwrite(on));
    }

    /// The clock of its events.
    pub(crate) fn clock(&self) -> ClockId {
        self.recorder.clock()
    }

    /// Chooses a clock. Events of the old one are forgotten.
    pub(crate) fn set_clock(&self, clock: ClockId) -> Result {
        self.buffers
            .clear(CpuSel::All, || self.recorder.set_clock(clock));
        self.waker.wake_all();
        Ok(())
    }

    /// The size of the rings of `cpus`.
    pub(crate) fn buffer_kb(&self, cpus: CpuSel) -> SizeKb {
        self.buffers.size(cpus)
    }

    /// The sum of the sizes.
    pub(crate) fn total_kb(&self) -> u64 {
        self.buffers.total()
    }

    /// Has it the size of an instance that is used?
    pub(crate) fn expanded(&self) -> bool {
        self.buffers.expanded()
    }

    /// The size that it will have then.
    pub(crate) fn expanded_kb(&self) -> u64 {
        EXPANDED_KB
    }

    /// Gives the rings of `cpus` room for `kb` KiB of events.
    ///
    /// # Errors
    ///
    /// `ENOMEM` and `EINTR` (the task is to be killed), and nothing has changed.
    pub(crate) fn resize(&self, cpus: CpuSel, kb: u64) -> Result {
        self.buffers.resize(cpus, kb)?;
        self.waker.wake_all();
        Ok(())
    }

    /// Gives sub-buffers 2^order pages. Unread events are lost if that is another size.
    ///
    /// # Errors
    ///
    /// `ENOMEM` and `EINTR` (the task is to be killed), and nothing has changed.
    pub(crate) fn set_subbuf_order(&self, order: u32) -> Result {
        self.buffers.set_order(order)?;
        self.waker.wake_all();
        Ok(())
    }

    /// Bytes of a sub-buffer.
    pub(crate) fn subbuf_size(&self) -> usize {
        self.buffers.subbuf_size()
    }

    /// What `stats` of `cpu` says; all 0 for a CPU that cannot be.
    pub(crate) fn stats(&self, cpu: u32) -> CpuStats {
        let s = self.buffers.stats(cpu).unwrap_or_default();
        CpuStats {
            entries: s.entries(),
            overrun: s.overrun,
            commit_overrun: s.commit_overrun,
            bytes: s.bytes,
            oldest_ts: s.oldest,
            now_ts: CpuPin::with(|_| clock::read(self.clock())),
            dropped: s.dropped,
            read: s.read,
            broken: s.fault.map(|violation| Broken {
                violation,
                refused: s.broken,
            }),
        }
    }

    /// Sleeps until one of `cpus` has something to read, or `until`, looked at after each wake-up,
    /// says so.
    ///
    /// # Errors
    ///
    /// `ERESTARTSYS` on a signal.
    pub(crate) fn wait(&self, cpus: CpuSel, until: &mut dyn FnMut() -> bool) -> Result {
        self.waker
            .wait(&mut || until() || self.buffers.any_unread(cpus))
    }

    /// Makes all sleepers look again.
    pub(crate) fn wake_all(&self) {
        self.waker.wake_all();
    }

    /// Is there something to read? If not, `poller` is woken up when there is.
    pub(crate) fn poll(&self, cpus: CpuSel, poller: &Poller<'_>) -> bool {
        poller.watch(self.waker.pollers());
        self.waker.poll(|| self.buffers.any_unread(cpus))
    }
}
