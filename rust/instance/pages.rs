// SPDX-License-Identifier: GPL-2.0

//! What readers get of an instance's rings: copies of sub-buffers, decoded and printed with nothing
//! held.

use super::{
    banks::{
        Bank,
        Buf, //
    },
    selftest,
    CpuSel,
    Instance,
    PageCopy, //
};
use crate::{
    kapi::pages::Image,
    ring::give::Part, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The right to be the only reader of `trace_pipe` for some CPUs.
pub(crate) struct PipeToken {
    inst: Arc<Instance>,
    cpus: CpuSel,
}

impl Drop for PipeToken {
    fn drop(&mut self) {
        let mut pipes = self.inst.pipes.lock();
        if let Some(at) = pipes.iter().position(|cpus| *cpus == self.cpus) {
            let _ = pipes.remove(at);
        }
        drop(pipes);
        // What would be recorded meanwhile would be lost.
        if selftest::ALWAYS && !self.inst.tracing_on() {
            self.inst.buffers.selftest(self.cpus);
        }
    }
}

impl Instance {
    /// Copies the next unread bytes of `cpu`; consumes nothing. `false` when there are none, or the
    /// writers were too fast.
    pub(crate) fn peek_next(&self, cpu: u32, copy: &mut PageCopy) -> Result<bool> {
        self.buffers.read_of(Buf::Live, cpu, |bank, mut reader| {
            copy.unread(bank, &mut reader)
        })
    }

    /// Everything before offset `rd` of the sub-buffer that `copy` was made of was read: `events`
    /// events, the last at `rd_ts`. `false` when somebody else has read further, or a snapshot has
    /// taken the sub-buffer away.
    #[inline(always)]
    pub(crate) fn consume(
        &self,
        cpu: u32,
        copy: &PageCopy,
        rd: usize,
        rd_ts: u64,
        events: u64,
    ) -> bool {
        let Ok(rd) = u32::try_from(rd) else {
            return false;
        };
        self.buffers
            .consume(copy.bank, cpu, copy.seq, rd, rd_ts, events)
    }

    /// Copies the oldest sub-buffer of `cpu` in `bank` that nobody has consumed, or the one behind
    /// `after`; consumes nothing.
    pub(crate) fn view(
        &self,
        bank: Bank,
        cpu: u32,
        after: Option<u64>,
        copy: &mut PageCopy,
    ) -> Result<bool> {
        let mut locked = self.buffers.locked(cpu)?;
        let past = locked.past(bank);
        let (reader, _) = locked.reader(bank);
        copy.make_room(reader.subbuf_size())?;
        let Some(viewed) = reader.view(after, &mut copy.bytes) else {
            return Ok(false);
        };
        copy.viewed(bank, past, viewed);
        Ok(true)
    }

    /// Consumes the unread events of the next sub-buffer of `buf` on `cpu`, of which a reader wants the
    /// first `room` bytes; `image` becomes an image of it.
    ///
    /// A sub-buffer that writers have left is not copied: its memory is exchanged for that of
    /// `image`. With room for less than a sub-buffer, only the events that fit are consumed.
    pub(crate) fn raw_read(
        &self,
        buf: Buf,
        cpu: u32,
        image: &mut Image,
        room: usize,
    ) -> Result<Part> {
        self.buffers.take_from(buf, cpu, |stays, mut reader| {
            let size = reader.subbuf_size();
            let pages = image.of_size(cpu, size)?;
            let taken = match room < size {
                true => reader.take_part(pages, room),
                false => reader.take(pages, stays).map(|taken| match taken {
                    true => Part::Taken,
                    false => Part::Empty,
                }),
            };
            Ok(taken.unwrap_or(Part::Empty))
        })
    }

    /// Becomes the reader of `trace_pipe` for `cpus`.
    ///
    /// # Errors
    ///
    /// `EBUSY` when there is one for any of them.
    pub(crate) fn pipe_open(self: &Arc<Self>, cpus: CpuSel) -> Result<PipeToken> {
        let mut pipes = self.pipes.lock();
        let clash = |other: &CpuSel| *other == CpuSel::All || cpus == CpuSel::All || *other == cpus;
        if pipes.iter().any(clash) {
            return Err(EBUSY);
        }
        pipes.push(cpus, GFP_KERNEL)?;
        drop(pipes);
        Ok(PipeToken {
            inst: self.clone(),
            cpus,
        })
    }
}
