// SPDX-License-Identifier: GPL-2.0

//! What only modules of tests ask of an instance (`crate::testapi`).

use super::Instance;
use crate::{
    event::{
        context::Base,
        format, //
    },
    kapi::{
        compat,
        percpu::CpuPin, //
    },
    probes::{
        self,
        Sink, //
    },
    ring::writer::ReserveError, //
};
use kernel::prelude::*;

impl Instance {
    /// Records `bytes` as they are. Any context, NMI included.
    ///
    /// # Errors
    ///
    /// One for each reason: `EBADF` while recording is off, `ENOSPC` when the buffer is full, `EBUSY`
    /// for a commit overrun, `EDEADLK` for too many nested writers, `E2BIG`, `EIO` when the buffer is
    /// broken.
    pub(crate) fn raw_data(&self, bytes: &[u8]) -> Result {
        let len = bytes.len().saturating_add(probes::COMMON);
        let fill = |record: &mut [u8]| {
            for (to, from) in record.iter_mut().zip(bytes) {
                *to = *from;
            }
        };
        let base = Base::new(format::RAW_DATA.id, 0);
        let recorded = CpuPin::with(|pin| self.sink.record(pin, base, len, fill));
        recorded.map_err(|refused| match refused {
            ReserveError::Disabled => EBADF,
            ReserveError::Full => ENOSPC,
            ReserveError::CommitOverrun => EBUSY,
            ReserveError::Recursion => compat::deadlock(),
            ReserveError::TooBig => E2BIG,
            ReserveError::Broken => EIO,
        })
    }

    /// Returns what a writer uses.
    #[inline(always)]
    pub(crate) fn sink(&self) -> &Sink {
        &self.sink
    }
}
