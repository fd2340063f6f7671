// SPDX-License-Identifier: GPL-2.0

//! The rings of an instance of one CPU.

#[path = "../../../rust/buffers/banks.rs"]
mod banks;
#[path = "../../../rust/buffers/consumer.rs"]
pub(crate) mod consumer;
#[path = "../../../rust/buffers/copy_walk.rs"]
mod copy_walk;
#[path = "../../../rust/buffers/page_copy.rs"]
mod page_copy;
#[path = "../../../rust/buffers/progress.rs"]
mod progress;
#[path = "../../../rust/buffers/rings.rs"]
pub(crate) mod rings;
#[path = "../../../rust/buffers/stream.rs"]
pub(crate) mod stream;

pub(crate) use banks::{
    Bank,
    Buf,
    RingPlace, //
};

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
    ring::{
        cpu::{
            Parts,
            DISABLE_USER, //
        },
        give::PartialTake,
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
    sync::Mutex, //
};
use page_copy::PageCopy;
use rings::{
    Rings,
    States, //
};

/// The rings, with the lock that readers of rtrace take.
#[pin_data]
pub(crate) struct Buffers {
    rings: Rings,
    #[pin]
    reader: Mutex<States>,
}

impl Buffers {
    /// With `slots` sub-buffers in the live bank; the other one has the fewest.
    pub(crate) fn new(slots: usize, overwrite: bool) -> Result<impl PinInit<Self>> {
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

    /// Copies the sub-buffer with the next unread event.
    fn peek_next(&self, cpu: u32, copy: &mut PageCopy) -> Result<bool> {
        self.read_of(Buf::Live, cpu, |bank, mut reader| {
            copy.unread(bank, &mut reader)
        })
    }

    /// Notes that everything before offset `rd` of the copy has been read.
    #[inline(always)]
    fn consume(&self, _cpu: u32, copy: &PageCopy, rd: usize, time: u64, events: u64) -> bool {
        let mut states = self.reader.lock();
        let state = states.of_mut(copy.bank);
        copy.bank == self.rings.live() && state.consume(copy.seq, rd as u32, time, events)
    }

    /// Two events are consumed at once by readers of calls; none is here.
    fn consume_both(&self, _cpu: u32, _copy: &PageCopy, _both: [(usize, u64); 2]) -> bool {
        false
    }

    /// Sub-buffers are viewed by readers that consume nothing; none is here.
    fn view(
        &self,
        _bank: Bank,
        _cpu: u32,
        _after: Option<u64>,
        _copy: &mut PageCopy,
    ) -> Result<bool> {
        Ok(false)
    }

    /// Consumes the next sub-buffer into `image`, which has room for it.
    pub(crate) fn raw_read(
        &self,
        buf: Buf,
        cpu: u32,
        image: &mut Image,
        _room: usize,
    ) -> Result<PartialTake> {
        self.read_of(buf, cpu, |_, mut reader| {
            let pages = image.of_size(cpu, reader.subbuf_size())?;
            match reader.take(pages, false) {
                Ok(true) => Ok(PartialTake::Taken),
                _ => Ok(PartialTake::Empty),
            }
        })
    }

    /// Empties the live ring, switches its recording on or off, and leaves the clock there.
    ///
    /// # Safety
    ///
    /// No writer is active.
    pub(crate) unsafe fn reset(&self, off: bool, clock: ClockId) {
        let mut states = self.reader.lock();
        let bank = self.rings.live();
        CpuPin::with(|pin| {
            let ring = self.rings.this(pin.by_value());
            // SAFETY: By the contract; the state is this ring's.
            unsafe { ring.idle(states.of_mut(bank)) }.reset();
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
    let mut subbufs = KVVec::with_capacity(slots + 1, GFP_KERNEL)?;
    for _ in 0..=slots {
        subbufs.push(SubBuf::new(Pages::new(cpu, 0)?), GFP_KERNEL)?;
    }
    Ok(Parts {
        slots: words,
        subbufs,
    })
}
