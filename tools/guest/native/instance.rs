// SPDX-License-Identifier: GPL-2.0

//! An instance that is nothing but rings.

#[path = "../../../rust/instance/banks.rs"]
mod banks;
#[path = "../../../rust/instance/consumer.rs"]
pub(crate) mod consumer;
#[path = "../../../rust/instance/page_copy.rs"]
mod page_copy;
#[path = "../../../rust/instance/progress.rs"]
mod progress;
#[path = "../../../rust/instance/rings.rs"]
pub(crate) mod rings;
#[path = "../../../rust/instance/stream.rs"]
pub(crate) mod stream;

pub(crate) use banks::{
    Bank,
    Buf,
    Place, //
};
pub(crate) use page_copy::PageCopy;

use crate::{
    kapi::{
        clock::{
            self,
            ClockId, //
        },
        pages::{
            Image,
            Pages, //
        },
        percpu::{
            CpuPin,
            PerCpu, //
        },
        port::{
            Kernel,
            Ring, //
        },
        words::SharedU64, //
    },
    probes::{
        Recorder,
        Waker, //
    },
    ring::{
        cpu::{
            Parts,
            DISABLE_USER, //
        },
        give::Part,
        port::SharedWord,
        reader::Reader,
        subbuf::SubBuf, //
    }, //
};
use banks::Pair;
use kernel::{
    new_mutex,
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};
use rings::{
    Rings,
    States, //
};

/// What a handle holds.
pub(crate) type InstanceRef = Arc<Instance>;

#[pin_data]
pub(crate) struct Instance {
    #[pin]
    buffers: Buffers,
    recorder: Recorder,
    waker: Waker,
}

/// The rings, with the lock that readers of rtrace take.
#[pin_data]
pub(crate) struct Buffers {
    rings: Rings,
    #[pin]
    reader: Mutex<States>,
}

impl Buffers {
    /// With `slots` sub-buffers in the live bank; the other one has the fewest.
    fn new(slots: usize, overwrite: bool) -> Result<impl PinInit<Self>> {
        let ring = |cpu, slots| {
            let (ring, state) = Ring::new(parts(cpu, slots)?, PAGE_SIZE).map_err(|_| EINVAL)?;
            ring.set_overwrite(overwrite);
            Ok::<_, Error>((ring, state))
        };
        let mut states = None;
        let rings = PerCpu::new(|cpu| {
            let (live, its) = ring(cpu, slots)?;
            let (other, others) = ring(cpu, 2)?;
            states = Some(Pair::new(its, others));
            Ok(Pair::new(live, other))
        })?;
        let states = states.ok_or(ENODEV)?;
        Ok(pin_init!(Self {
            rings: Rings::new(rings),
            reader <- new_mutex!(states),
        }))
    }

    /// The rings.
    #[inline(always)]
    pub(crate) fn rings(&self) -> &Rings {
        &self.rings
    }

    /// Runs `f` as the reader of `buf` on `cpu`.
    fn read_of<R>(
        &self,
        buf: Buf,
        cpu: u32,
        f: impl FnOnce(Bank, Reader<'_, Kernel>) -> Result<R>,
    ) -> Result<R> {
        let bank = self.rings.bank(buf);
        let ring = self.rings.of(cpu).ok_or(ENODEV)?.of(bank);
        let mut states = self.reader.lock();
        // SAFETY: `new` made them together; there is one CPU.
        f(bank, unsafe { ring.reader(states.of_mut(bank)) })
    }

    /// Empties the live ring, switches its recording on or off, and leaves the clock there.
    ///
    /// # Safety
    ///
    /// Nobody writes.
    unsafe fn reset(&self, off: bool, clock: ClockId) {
        let mut states = self.reader.lock();
        let bank = self.rings.live();
        CpuPin::with(|pin| {
            let ring = self.rings.this(pin);
            // SAFETY: By the contract; the state is this ring's.
            unsafe { ring.reset(states.of_mut(bank)) };
            ring.set_disabled(DISABLE_USER, off);
            ring.leave_word(clock::to_leave(clock));
        });
    }
}

fn parts(cpu: u32, slots: usize) -> Result<Parts<Kernel>> {
    let mut words = KVVec::with_capacity(slots, GFP_KERNEL)?;
    for _ in 0..slots {
        words.push(SharedU64::new(0), GFP_KERNEL)?;
    }
    let mut pages = KVVec::with_capacity(slots + 1, GFP_KERNEL)?;
    for _ in 0..=slots {
        pages.push(SubBuf::new(Pages::new(cpu, 0)?), GFP_KERNEL)?;
    }
    Ok(Parts {
        slots: words,
        pages,
    })
}

impl Instance {
    /// What a writer uses.
    #[inline(always)]
    pub(crate) fn writing(&self) -> (&Buffers, &Recorder, &Waker) {
        (&self.buffers, &self.recorder, &self.waker)
    }

    /// Records these bytes as one event.
    pub(crate) fn raw_data(&self, bytes: &[u8]) -> Result {
        CpuPin::with(|pin| {
            let ring = self.buffers.rings.this(pin);
            // SAFETY: The ring of the CPU that we are pinned to.
            let writer = unsafe { ring.writer() };
            let now = || clock::read(self.recorder.clock());
            let mut reserved = writer.reserve(bytes.len(), now).map_err(|_| ENOSPC)?;
            reserved.payload().copy_from_slice(bytes);
            reserved.commit();
            Ok(())
        })
    }

    /// Copies the sub-buffer with the next unread event.
    pub(crate) fn peek_next(&self, cpu: u32, copy: &mut PageCopy) -> Result<bool> {
        self.buffers.read_of(Buf::Live, cpu, |bank, mut reader| {
            copy.unread(bank, &mut reader)
        })
    }

    /// Everything in front of offset `rd` of what was copied has been read.
    #[inline(always)]
    pub(crate) fn consume(
        &self,
        _cpu: u32,
        copy: &PageCopy,
        rd: usize,
        time: u64,
        events: u64,
    ) -> bool {
        let mut states = self.buffers.reader.lock();
        let state = states.of_mut(copy.bank);
        copy.bank == self.buffers.rings.live() && state.consume(copy.seq, rd as u32, time, events)
    }

    /// Consumes the next sub-buffer into `image`, which has room for it.
    pub(crate) fn raw_read(
        &self,
        buf: Buf,
        cpu: u32,
        image: &mut Image,
        _room: usize,
    ) -> Result<Part> {
        self.buffers.read_of(buf, cpu, |_, mut reader| {
            let pages = image.of_size(cpu, reader.subbuf_size())?;
            match reader.take(pages, false) {
                Ok(true) => Ok(Part::Taken),
                _ => Ok(Part::Empty),
            }
        })
    }
}

/// The two instances: one that has room for all events of a row and refuses more, and a small one that
/// overwrites. Both as large as the kernel's ring buffers in rtbench's `kernel_ring.c`.
pub(crate) mod registry {
    use super::*;
    use core::ptr::with_exposed_provenance_mut;

    const ROOM: usize = 16 << 20;
    const SMALL: usize = 256 << 10;

    struct Both {
        room: Arc<Instance>,
        small: Arc<Instance>,
    }

    /// Address of [`Both`], 0 without.
    static BOTH: SharedU64 = SharedU64::zero();

    fn make(size: usize, overwrite: bool) -> Result<Arc<Instance>> {
        let buffers = Buffers::new(size / PAGE_SIZE, overwrite)?;
        Arc::pin_init(
            pin_init!(Instance {
                buffers <- buffers,
                recorder: Recorder::new(ClockId::Called),
                waker: Waker::new(),
            }),
            GFP_KERNEL,
        )
    }

    /// # Safety
    ///
    /// Called once before everything else.
    pub(crate) unsafe fn fill() -> Result {
        let both = Both {
            room: make(ROOM, false)?,
            small: make(SMALL, true)?,
        };
        let both = KBox::into_raw(KBox::new(both, GFP_KERNEL)?);
        BOTH.store(both.expose_provenance() as u64);
        Ok(())
    }

    /// # Safety
    ///
    /// Called once, after everything else.
    pub(crate) unsafe fn empty() {
        let both = with_exposed_provenance_mut::<Both>(BOTH.load() as usize);
        // SAFETY: `fill` made it, and nobody uses it any more.
        drop(unsafe { KBox::from_raw(both) });
    }

    /// An instance that was found, empty.
    pub(crate) struct Found(Arc<Instance>);

    impl Found {
        pub(crate) fn get(&self) -> Result<InstanceRef> {
            Ok(self.0.clone())
        }
    }

    /// RING.CLOCK: `room`, `small` or `off`, the first one with recording off; and `called` or `inline`.
    pub(crate) fn find(name: &CStr) -> Result<Found> {
        let both = with_exposed_provenance_mut::<Both>(BOTH.load() as usize);
        // SAFETY: `fill` has made it.
        let both = unsafe { &*both };
        let (inst, off, clock) = match name.to_bytes() {
            b"room.called" => (&both.room, false, ClockId::Called),
            b"room.inline" => (&both.room, false, ClockId::Inline),
            b"small.called" => (&both.small, false, ClockId::Called),
            b"small.inline" => (&both.small, false, ClockId::Inline),
            b"off.called" => (&both.room, true, ClockId::Called),
            b"off.inline" => (&both.room, true, ClockId::Inline),
            _ => return Err(ENOENT),
        };
        inst.recorder.set_clock(clock);
        // SAFETY: Rows and this come one after the other: they are parameters of one module.
        unsafe { inst.buffers.reset(off, clock) };
        Ok(Found(inst.clone()))
    }
}
