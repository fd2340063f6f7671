// SPDX-License-Identifier: GPL-2.0

//! `set_event_pid` and `set_event_notrace_pid`: lists of tasks. A write adds to the list, all of it
//! or nothing; opening with truncation empties it.

use super::{
    file::{
        At,
        Step,
        TraceFile, //
    },
    text_file::{
        no_memory,
        TextFile, //
    }, //
};
use crate::{
    instance::{
        PidList,
        Pids, //
    },
    output::Text,
    text::pids::{
        self,
        Wrong, //
    }, //
};
use kernel::{
    iov::IovIterDest,
    prelude::*,
    uaccess::UserSliceReader, //
};

/// Bytes that are copied from the user at a time.
const PIECE: usize = 256;

/// One of the two, open.
struct PidFile {
    list: PidList,
    text: KBox<dyn TraceFile>,
}

fn show_only(at: &At<'_>, text: &mut Text) -> Result {
    at.inst.show_pids(PidList::Only, text).map_err(no_memory)
}

fn show_never(at: &At<'_>, text: &mut Text) -> Result {
    at.inst.show_pids(PidList::Never, text).map_err(no_memory)
}

/// Opens `set_event_pid`.
pub(crate) fn open_only(_at: &At<'_>) -> Result<KBox<dyn TraceFile>> {
    let (list, text) = (PidList::Only, TextFile::show(show_only)?);
    Ok(KBox::new(PidFile { list, text }, GFP_KERNEL)?)
}

/// Opens `set_event_notrace_pid`.
pub(crate) fn open_never(_at: &At<'_>) -> Result<KBox<dyn TraceFile>> {
    let (list, text) = (PidList::Never, TextFile::show(show_never)?);
    Ok(KBox::new(PidFile { list, text }, GFP_KERNEL)?)
}

fn refused(wrong: Wrong) -> Error {
    match wrong {
        Wrong::Number => EINVAL,
        Wrong::TooLarge => EPERM,
    }
}

/// The pids that a user wrote, and the number of bytes that were parsed.
///
/// A set of pids has a bit for each possible pid, half a megabyte: it is made at the first pid, for
/// most texts that are refused have none.
fn parse(input: &mut UserSliceReader) -> Result<(Option<Pids>, usize)> {
    let (mut list, mut parser, mut used) = (None, pids::Pids::new(), 0usize);
    let mut piece = [0; PIECE];
    while !input.is_empty() {
        let len = input.len().min(PIECE);
        let piece = piece.get_mut(..len).unwrap_or_default();
        input.read_slice(piece)?;
        for byte in piece.iter() {
            used = used.saturating_add(1);
            match parser.push(*byte).map_err(refused)? {
                pids::Step::More => {}
                pids::Step::Pid(pid) => add(&mut list, pid)?,
                pids::Step::End => return Ok((list, used)),
            }
        }
    }
    if let Some(pid) = parser.finish().map_err(refused)? {
        add(&mut list, pid)?;
    }
    Ok((list, used))
}

fn add(list: &mut Option<Pids>, pid: u32) -> Result {
    match list {
        Some(list) => list.add(pid),
        None => {
            *list = Some(Pids::new(pid)?);
            Ok(())
        }
    }
}

impl TraceFile for PidFile {
    fn read(&mut self, at: &At<'_>, out: &mut IovIterDest<'_>, pos: &mut i64) -> Result<Step> {
        self.text.read(at, out, pos)
    }

    fn write(&mut self, at: &At<'_>, input: &mut UserSliceReader, pos: &mut i64) -> Result<usize> {
        if input.is_empty() {
            return Ok(0);
        }
        let (list, used) = parse(input)?;
        at.inst.add_pids(self.list, list)?;
        *pos = pos.saturating_add_unsigned(used as u64);
        Ok(used)
    }

    fn truncate(&mut self, at: &At<'_>) -> Result {
        at.inst.clear_pids(self.list);
        Ok(())
    }
}
