// SPDX-License-Identifier: GPL-2.0

//! `set_event_pid`, `set_event_notrace_pid`, `set_ftrace_pid` and `set_ftrace_notrace_pid`: lists of tasks. A
//! write adds to the list, all of it or nothing; opening with truncation empties it.

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
use crate::{
    instance::{
        PidList,
        PidSelection, //
    },
    output::Text,
    text::pids::{
        self,
        PidError, //
    }, //
};
use kernel::{
    iov::IovIterDest,
    prelude::*,
    uaccess::UserSliceReader, //
};

/// Bytes that are copied from the user at a time.
const PIECE: usize = 256;

/// What the tasks of a list are chosen for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PidPurpose {
    Events,
    Functions,
}

/// One of them, open.
struct PidFile {
    of: PidPurpose,
    list: PidList,
    text: KBox<dyn TraceFile>,
}

impl PidFile {
    fn open(
        of: PidPurpose,
        list: PidList,
        text: KBox<dyn TraceFile>,
    ) -> Result<KBox<dyn TraceFile>> {
        Ok(KBox::new(Self { of, list, text }, GFP_KERNEL)?)
    }
}

fn show_only(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    at.inst.show_pids(PidList::Only, text).map_err(no_memory)
}

fn show_never(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    at.inst.show_pids(PidList::Never, text).map_err(no_memory)
}

fn show_functions_of(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let shown = at.inst.show_function_pids(PidList::Only, text);
    shown.map_err(no_memory)
}

fn show_no_functions_of(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let shown = at.inst.show_function_pids(PidList::Never, text);
    shown.map_err(no_memory)
}

/// Opens `set_event_pid`.
pub(crate) fn open_only(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
    PidFile::open(
        PidPurpose::Events,
        PidList::Only,
        TextFile::show(show_only)?,
    )
}

/// Opens `set_event_notrace_pid`.
pub(crate) fn open_never(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
    PidFile::open(
        PidPurpose::Events,
        PidList::Never,
        TextFile::show(show_never)?,
    )
}

/// Opens `set_ftrace_pid`.
pub(super) fn open_functions_of(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
    let text = TextFile::show(show_functions_of)?;
    PidFile::open(PidPurpose::Functions, PidList::Only, text)
}

/// Opens `set_ftrace_notrace_pid`.
pub(super) fn open_no_functions_of(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
    let text = TextFile::show(show_no_functions_of)?;
    PidFile::open(PidPurpose::Functions, PidList::Never, text)
}

fn refused(wrong: PidError) -> Error {
    match wrong {
        PidError::Number => EINVAL,
        PidError::TooLarge => EPERM,
    }
}

/// The pids that a user wrote, and the number of bytes that were parsed.
///
/// A set of pids has a bit for each possible pid, half a megabyte: it is made at the first pid, for
/// most texts that are refused have none.
fn parse(input: &mut UserSliceReader) -> Result<(Option<PidSelection>, usize)> {
    let (mut list, mut parser, mut used) = (None, pids::PidParser::new(), 0usize);
    let mut piece = [0; PIECE];
    while !input.is_empty() {
        let len = input.len().min(PIECE);
        let piece = piece.get_mut(..len).unwrap_or_default();
        input.read_slice(piece)?;
        for byte in piece.iter() {
            used = used.saturating_add(1);
            match parser.push(*byte).map_err(refused)? {
                pids::ByteStep::More => {}
                pids::ByteStep::Pid(pid) => add(&mut list, pid)?,
                pids::ByteStep::End => return Ok((list, used)),
            }
        }
    }
    if let Some(pid) = parser.finish().map_err(refused)? {
        add(&mut list, pid)?;
    }
    Ok((list, used))
}

fn add(list: &mut Option<PidSelection>, pid: u32) -> Result {
    match list {
        Some(list) => list.add(pid),
        None => {
            *list = Some(PidSelection::new(pid)?);
            Ok(())
        }
    }
}

impl TraceFile for PidFile {
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
        at: &FileIdentity<'_>,
        input: &mut UserSliceReader,
        pos: &mut i64,
    ) -> Result<usize> {
        if input.is_empty() {
            return Ok(0);
        }
        let (list, used) = parse(input)?;
        match self.of {
            PidPurpose::Events => at.inst.add_pids(self.list, list)?,
            PidPurpose::Functions => at.inst.add_function_pids(self.list, list)?,
        }
        *pos = pos.saturating_add_unsigned(used as u64);
        Ok(used)
    }

    fn truncate(&mut self, at: &FileIdentity<'_>) -> Result {
        match self.of {
            PidPurpose::Events => {
                at.inst.clear_pids(self.list);
                Ok(())
            }
            PidPurpose::Functions => at.inst.clear_function_pids(self.list),
        }
    }
}
