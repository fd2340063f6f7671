// SPDX-License-Identifier: GPL-2.0

//! `snapshot`, of the instance and of one CPU: what the snapshot holds as text, and a number that
//! takes, clears or frees it.
//!
//! The text is that of `trace`; which number means what is decided in `text::snapshot`.

use super::{
    file::{
        FileIdentity,
        Step,
        TraceFile, //
    },
    text_file::{
        command,
        refused, //
    },
    trace::Trace, //
};
use crate::{
    buffers::{
        Buf,
        CpuSel, //
    },
    text::snapshot::{
        self,
        SnapshotCommand, //
    }, //
};
use kernel::{
    iov::IovIterDest,
    prelude::*,
    uaccess::UserSliceReader, //
};

/// The file.
pub(crate) struct SnapshotFile {
    text: Trace,
}

impl SnapshotFile {
    /// Opens it.
    pub(crate) fn open(at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        // One that a trigger took a moment ago is seen.
        at.inst.settle();
        let file = Self {
            text: Trace::new(at, Buf::Snapshot),
        };
        Ok(KBox::new(file, GFP_KERNEL)?)
    }
}

impl TraceFile for SnapshotFile {
    fn read_into(
        &mut self,
        at: &FileIdentity<'_>,
        out: &mut IovIterDest<'_>,
        pos: &mut i64,
        spliced: bool,
    ) -> Result<Step> {
        if at.inst.keeps_maximum() {
            return Err(EBUSY);
        }
        self.text.read_into(at, out, pos, spliced)
    }

    fn write(
        &mut self,
        at: &FileIdentity<'_>,
        input: &mut UserSliceReader,
        pos: &mut i64,
    ) -> Result<usize> {
        let len = input.len();
        at.inst.settle();
        let whole = at.cpus() == CpuSel::All;
        let wanted = snapshot::parse(&command(input)?, whole).map_err(refused)?;
        // As in ftrace each of the two has the snapshot for itself.
        if at.inst.keeps_maximum() || at.inst.hist_takes_snapshots() {
            return Err(EBUSY);
        }
        match wanted {
            SnapshotCommand::Free => at.inst.buffers().free_snapshot()?,
            SnapshotCommand::Take => at.inst.buffers().take_snapshot()?,
            SnapshotCommand::Clear => at.inst.buffers().clear_snapshot(at.cpus())?,
        }
        *pos = pos.saturating_add_unsigned(len as u64);
        Ok(len)
    }
}
