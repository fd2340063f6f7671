// SPDX-License-Identifier: GPL-2.0

//! `per_cpu/cpuN/trace_pipe_raw`: whole sub-buffers in ftrace's binary format, consumed.
//!
//! A read gives one sub-buffer, filled up with zeros, of the size that sub-buffers have then. When the
//! user's buffer is shorter, the rest stays with the open file for the next read.

use super::{
    file::{
        Arg,
        At,
        Step,
        TraceFile,
        Want, //
    },
    text_file::copy_at, //
};
use crate::{
    instance::CpuSel,
    kapi::wait::Poller,
    ring::wire::{
        record,
        Record,
        HEADER, //
    },
};
use kernel::{
    iov::IovIterDest,
    prelude::*, //
};

/// The file.
pub(crate) struct Raw {
    cpu: u32,
    page: KVVec<u8>,
    /// How much of `page` the user has.
    given: usize,
}

impl Raw {
    /// Opens it.
    pub(crate) fn open(at: &At<'_>) -> Result<KBox<dyn TraceFile>> {
        let Arg::Cpu(cpu) = at.arg else {
            return Err(EINVAL);
        };
        let file = Self {
            cpu,
            page: KVVec::new(),
            given: 0,
        };
        Ok(KBox::new(file, GFP_KERNEL)?)
    }

    /// Gets the next sub-buffer. Is there one?
    fn fill(&mut self, at: &At<'_>) -> Result<bool> {
        // Until it is done, nothing of the page is to be given, whatever happens.
        self.given = usize::MAX;
        let filled = at.inst.raw_read(self.cpu, &mut self.page)?;
        if filled {
            self.given = 0;
        }
        Ok(filled)
    }

    /// Where the first event of the sub-buffer ends.
    fn first_event_end(&self) -> usize {
        let mut end = HEADER;
        loop {
            match record(&self.page, end) {
                Ok((Record::Extend { .. } | Record::Stamp { .. }, size)) => {
                    end = end.saturating_add(size);
                }
                Ok((_, size)) => return end.saturating_add(size),
                Err(_) => return end,
            }
        }
    }
}

impl TraceFile for Raw {
    /// A buffer without room for the header and one event gets nothing, as from ftrace; what is
    /// there waits for a read with a longer one.
    fn read(&mut self, at: &At<'_>, out: &mut IovIterDest<'_>, pos: &mut i64) -> Result<Step> {
        if self.given >= self.page.len() {
            if !self.fill(at)? {
                return Ok(Step::Empty(Want {
                    cpus: CpuSel::One(self.cpu),
                    ends_when_off: false,
                }));
            }
        }
        if self.given == 0 && out.len() < self.first_event_end() {
            return Ok(Step::Bytes(0));
        }
        let mut place = i64::try_from(self.given).map_err(|_| EINVAL)?;
        let step = copy_at(&self.page, out, &mut place)?;
        if let Step::Bytes(bytes) = step {
            self.given = self.given.saturating_add(bytes);
            *pos = pos.saturating_add_unsigned(bytes as u64);
        }
        Ok(step)
    }

    fn readable(&mut self, at: &At<'_>, poller: &Poller<'_>) -> bool {
        let more = at.inst.poll(CpuSel::One(self.cpu), poller);
        more || self.given < self.page.len()
    }
}
