// SPDX-License-Identifier: GPL-2.0

//! `per_cpu/cpuN/trace_pipe_raw`, `snapshot_raw`: whole sub-buffers in ftrace's binary format,
//! consumed.
//!
//! A read gives one sub-buffer, filled up with zeros, of the size that sub-buffers have then. When
//! the user's buffer is shorter, the sub-buffer has only the events that fit, so that closing the
//! file loses none, and the rest, which is zeros, stays with the open file for the next read. The
//! file has the memory of one sub-buffer, and exchanges it for that of each that it gives: the only
//! copy is the user's.

use super::{
    file::{
        Arg,
        FileIdentity,
        PollState,
        SleepCondition, //
        Step,
        TraceFile,
    },
    text_file::give, //
};
use crate::{
    buffers::{
        Buf,
        CpuSel, //
    },
    instance::Instance,
    kapi::{
        pages::{
            Image,
            Pages, //
        },
        pipe::PipeEnd,
        wait::Poller, //
    },
    ring::give::PartialTake, //
};
use kernel::{
    iov::IovIterDest,
    prelude::*, //
};

/// The file.
pub(crate) struct RawFile {
    buf: Buf,
    cpu: u32,
    page: Image,
    /// How much of `page` the user has.
    given: usize,
}

impl RawFile {
    /// Opens `trace_pipe_raw`.
    pub(crate) fn open(at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        Self::open_on(at, Buf::Live)
    }

    /// Opens `snapshot_raw`.
    pub(crate) fn open_snapshot(at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        if at.inst.keeps_maximum() {
            return Err(EBUSY);
        }
        Self::open_on(at, Buf::Snapshot)
    }

    fn open_on(at: &FileIdentity<'_>, buf: Buf) -> Result<KBox<dyn TraceFile>> {
        let Arg::Cpu(cpu) = at.arg else {
            return Err(EINVAL);
        };
        at.inst.hand_in();
        let file = Self {
            buf,
            cpu,
            page: Image::none(),
            given: 0,
        };
        Ok(KBox::new(file, GFP_KERNEL)?)
    }

    /// Gets the next sub-buffer, or of its events those for which the user has room.
    fn fill(&mut self, at: &FileIdentity<'_>, room: usize) -> Result<PartialTake> {
        // Until it is done, nothing of the page is to be given, whatever happens.
        self.given = usize::MAX;
        if self.buf == Buf::Snapshot && at.inst.keeps_maximum() {
            return Err(EBUSY);
        }
        let part = at
            .inst
            .buffers()
            .raw_read(self.buf, self.cpu, &mut self.page, room)?;
        if part == PartialTake::Taken {
            self.given = 0;
        }
        Ok(part)
    }
}

impl TraceFile for RawFile {
    /// A buffer without room for the header and one event gets nothing, as from ftrace; what is
    /// there waits for a read with a longer one.
    fn read(
        &mut self,
        at: &FileIdentity<'_>,
        out: &mut IovIterDest<'_>,
        pos: &mut i64,
    ) -> Result<Step> {
        if self.given >= self.page.bytes().len() {
            match self.fill(at, out.len())? {
                PartialTake::Taken => {}
                PartialTake::TooShort => return Ok(Step::Bytes(0)),
                PartialTake::Empty => {
                    return Ok(Step::Empty(SleepCondition {
                        buf: self.buf,
                        cpus: CpuSel::One(self.cpu),
                        ends_when_off: false,
                    }))
                }
            }
        }
        give(self.page.bytes(), &mut self.given, out, pos)
    }

    fn ready(&mut self, at: &FileIdentity<'_>, poller: &Poller<'_>) -> PollState {
        let cpus = CpuSel::One(self.cpu);
        let more = match self.buf {
            Buf::Live => at.inst.poll_share(cpus, poller),
            Buf::Snapshot => at.inst.poll(self.buf, cpus, poller),
        };
        PollState::to_read(more || self.given < self.page.bytes().len())
    }
}

/// Moves images of sub-buffers of the snapshot of `cpu` into `pipe`, up to `len` bytes. `pos` is the file position.
/// Returns the number of bytes; 0 if there is nothing to read.
///
/// # Errors
///
/// `EINVAL` if there is something to read and the position is not a multiple of the size of a sub-buffer, or if `len` is
/// less than that size; `EBUSY` while the tracer has the snapshot for itself; `ENOMEM`; `ENODEV` without such a CPU.
/// None of them once something has moved.
pub(super) fn splice_snapshot(
    inst: &Instance,
    cpu: u32,
    pos: &mut i64,
    pipe: &mut PipeEnd<'_>,
    len: usize,
) -> Result<usize> {
    pipe.fill(pos, len, |pos, left| take_image(inst, cpu, pos, left))
}

/// Takes an image of a sub-buffer of the snapshot, if there is one, for a reader at `pos` with room for `len` bytes.
fn take_image(inst: &Instance, cpu: u32, pos: i64, len: usize) -> Result<Option<Pages>> {
    if inst.keeps_maximum() {
        return Err(EBUSY);
    }
    let buffers = inst.buffers();
    if !buffers.any_unread(Buf::Snapshot, CpuSel::One(cpu)) {
        return Ok(None);
    }
    let size = buffers.subbuf_size();
    if len < size || (pos as u64).checked_rem(size as u64) != Some(0) {
        return Err(EINVAL);
    }
    let mut image = Image::none();
    // Without memory nothing is taken.
    match buffers.raw_read(Buf::Snapshot, cpu, &mut image, usize::MAX)? {
        // Of another size if that was just changed.
        PartialTake::Taken => Ok(Some(image.into_pages())),
        PartialTake::TooShort | PartialTake::Empty => Ok(None),
    }
}
