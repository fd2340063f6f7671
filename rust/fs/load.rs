// SPDX-License-Identifier: GPL-2.0

//! `osnoise/per_cpu/cpuN/timerlat_fd`: a task that measures for `timerlat` opens it, and each read is a wait for the
//! next tick.
//!
//! Unlike other files, a read sleeps with the lock of the open file: it ends with the tick or a signal, and nothing
//! but another read of the same open file waits for it.

use super::file::{
    Arg,
    FileIdentity,
    Step,
    TraceFile, //
};
use crate::tracers::load::UserLoad;
use kernel::{
    iov::IovIterDest,
    prelude::*, //
};

/// The file.
pub(crate) struct TickFile(UserLoad);

impl TickFile {
    /// Opens it.
    pub(crate) fn open(at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        let Arg::Cpu(cpu) = at.arg else {
            return Err(EINVAL);
        };
        Ok(KBox::new(Self(UserLoad::open(cpu)?), GFP_KERNEL)?)
    }
}

impl TraceFile for TickFile {
    fn read(
        &mut self,
        _at: &FileIdentity<'_>,
        _out: &mut IovIterDest<'_>,
        _pos: &mut i64,
    ) -> Result<Step> {
        self.0.wait()?;
        Ok(Step::Bytes(0))
    }
}
