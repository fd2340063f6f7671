// SPDX-License-Identifier: GPL-2.0

//! `free_buffer`: when the last descriptor of it is closed, the buffers of the instance get the
//! smallest size there is.
//!
//! A program that holds it open gives the memory back however it ends. What is written does not
//! matter.

use super::file::{
    FileIdentity,
    TraceFile, //
};
use crate::{
    buffers::CpuSel,
    text::options::Opt, //
};
use kernel::{
    prelude::*,
    uaccess::UserSliceReader, //
};

/// The file.
pub(crate) struct FreeBuffer;

impl FreeBuffer {
    /// Opens it.
    pub(crate) fn open(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        Ok(KBox::new(Self, GFP_KERNEL)?)
    }
}

impl TraceFile for FreeBuffer {
    fn write(
        &mut self,
        _at: &FileIdentity<'_>,
        input: &mut UserSliceReader,
        _pos: &mut i64,
    ) -> Result<usize> {
        Ok(input.len())
    }

    fn released(&mut self, at: &FileIdentity<'_>) {
        if at.inst.options().has(Opt::DisableOnFree) {
            at.inst.set_tracing_on(false);
        }
        // No caller is left to get the error. It needs memory for the tables only.
        if let Err(e) = at.inst.buffers().resize(CpuSel::All, 0) {
            pr_warn!("free_buffer: the buffers keep their size: {e:?}\n");
        }
    }
}
