// SPDX-License-Identifier: GPL-2.0

//! `error_log`: the commands that were refused last. Opening it with truncation empties it; what is
//! written into it is taken and forgotten.

use super::{
    file::{
        FileIdentity,
        Step,
        TraceFile, //
    },
    text_file::{
        no_memory,
        TextFile, //
    }, //
};
use crate::output::Text;
use kernel::{
    iov::IovIterDest,
    prelude::*,
    uaccess::UserSliceReader, //
};

/// An open `error_log`.
struct ErrorLogFile {
    text: KBox<dyn TraceFile>,
}

fn show(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    at.inst.errors().write_text(text).map_err(no_memory)
}

/// Opens it.
pub(crate) fn open(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
    let text = TextFile::show(show)?;
    Ok(KBox::new(ErrorLogFile { text }, GFP_KERNEL)?)
}

impl TraceFile for ErrorLogFile {
    fn read(
        &mut self,
        at: &FileIdentity<'_>,
        out: &mut IovIterDest<'_>,
        pos: &mut i64,
    ) -> Result<Step> {
        self.text.read(at, out, pos)
    }

    fn write(
        &mut self,
        _: &FileIdentity<'_>,
        input: &mut UserSliceReader,
        _: &mut i64,
    ) -> Result<usize> {
        Ok(input.len())
    }

    fn truncate(&mut self, at: &FileIdentity<'_>) -> Result {
        at.inst.errors().clear();
        Ok(())
    }
}
