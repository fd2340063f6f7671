// SPDX-License-Identifier: GPL-2.0

//! Files that are one text: made as a whole by a function, read at any position, and changed by
//! one write per command.
//!
//! The text is made when the file is read at its beginning and kept for the reads that follow, so
//! two reads of one open file fit together, and a reader that goes back to the beginning sees what
//! is true then. Called by the table of `fs::tree`.

use super::file::{
    FileIdentity,
    Step,
    TraceFile, //
};
use crate::{
    expr::structure::MAX_TEXT,
    kapi::compat,
    output::Text,
    text::errno::Errno, //
};
use core::fmt;
use kernel::{
    iov::IovIterDest,
    prelude::*,
    uaccess::UserSliceReader, //
};

/// The most bytes of a command. What is beyond is not read; every parser that obeys a shorter limit
/// refuses or cuts by itself.
const LONGEST_COMMAND: usize = 4096;
/// The longest write to a file that is changed by one word.
const LONGEST_WORD: usize = 63;
/// The longest write to a file that is changed by a text: less than a page.
const LONGEST_LINE: usize = MAX_TEXT;

/// Writes the text of a file. The only way for a printer to fail is memory.
pub(crate) type Show = fn(&FileIdentity<'_>, &mut Text) -> Result;
/// Obeys one command.
pub(crate) type Store = fn(&FileIdentity<'_>, &[u8]) -> Result;

/// How far a write moves the position of the open file: programs that read after what they wrote
/// see it.
#[derive(Clone, Copy)]
pub(crate) enum PositionMove {
    /// By what was written.
    Len,
    /// By one.
    One,
    /// By one if the text is another one then.
    OneIfNew,
    /// Not at all.
    Not,
}

/// How a file with one text is changed.
struct TextChange {
    store: Store,
    /// The longest write that is obeyed.
    longest: usize,
    moves: PositionMove,
}

/// A file with one text.
pub(crate) struct TextFile {
    show: Show,
    change: Option<TextChange>,
    /// What is read on.
    text: Option<Text>,
    /// Where that goes on; a read at another position gets a new text.
    next: i64,
}

impl TextFile {
    /// A file that can be read.
    pub(crate) fn show(show: Show) -> Result<KBox<dyn TraceFile>> {
        Self::open(show, None)
    }

    /// A file that can be read and written.
    pub(crate) fn knob(
        show: Show,
        store: Store,
        moves: PositionMove,
    ) -> Result<KBox<dyn TraceFile>> {
        Self::limited(show, store, usize::MAX, moves)
    }

    /// The same, where a write of more than a word is EINVAL before anything is copied.
    pub(crate) fn word(show: Show, store: Store) -> Result<KBox<dyn TraceFile>> {
        Self::limited(show, store, LONGEST_WORD, PositionMove::Len)
    }

    /// The same for a text of less than a page.
    pub(crate) fn line(show: Show, store: Store) -> Result<KBox<dyn TraceFile>> {
        Self::limited(show, store, LONGEST_LINE, PositionMove::Len)
    }

    fn limited(
        show: Show,
        store: Store,
        longest: usize,
        moves: PositionMove,
    ) -> Result<KBox<dyn TraceFile>> {
        let change = TextChange {
            store,
            longest,
            moves,
        };
        Self::open(show, Some(change))
    }

    /// A text that can be read, as a part of a file that is written in its own way.
    pub(super) fn part(show: Show) -> Self {
        Self {
            show,
            change: None,
            text: None,
            next: 0,
        }
    }

    fn open(show: Show, change: Option<TextChange>) -> Result<KBox<dyn TraceFile>> {
        let file = Self {
            change,
            ..Self::part(show)
        };
        Ok(KBox::new(file, GFP_KERNEL)?)
    }

    /// Has the next read make a new text: what is shown may be another one.
    pub(super) fn forget(&mut self) {
        self.text = None;
    }

    fn make(&self, at: &FileIdentity<'_>) -> Result<Text> {
        let mut text = Text::new();
        (self.show)(at, &mut text)?;
        Ok(text)
    }
}

impl TraceFile for TextFile {
    fn read(
        &mut self,
        at: &FileIdentity<'_>,
        out: &mut IovIterDest<'_>,
        pos: &mut i64,
    ) -> Result<Step> {
        let kept = self.text.take().filter(|_| *pos == self.next);
        let text = text_at(*pos, kept, || self.make(at))?;
        let step = copy_at(self.text.insert(text).bytes(), out, pos)?;
        self.next = *pos;
        Ok(step)
    }

    fn write(
        &mut self,
        at: &FileIdentity<'_>,
        input: &mut UserSliceReader,
        pos: &mut i64,
    ) -> Result<usize> {
        let change = self.change.as_ref().ok_or(EINVAL)?;
        let len = input.len();
        if len > change.longest {
            return Err(EINVAL);
        }
        let command = command(input)?;
        let before = match change.moves {
            PositionMove::OneIfNew => Some(self.make(at)?),
            _ => None,
        };
        (change.store)(at, &command)?;
        let moved = match (change.moves, before) {
            (PositionMove::Len, _) => len,
            (PositionMove::One, _) => 1,
            (PositionMove::Not, _) => 0,
            (PositionMove::OneIfNew, before) => {
                // The command was obeyed: without memory for the text it counts as another one.
                let texts = before.zip(self.make(at).ok());
                let is_same = texts.is_some_and(|(before, now)| before.bytes() == now.bytes());
                usize::from(!is_same)
            }
        };
        *pos = pos.saturating_add_unsigned(moved as u64);
        // What is read after it is as it is now.
        self.forget();
        Ok(len)
    }
}

/// Returns the text of an open file that is read at `pos`: a new one at the beginning, else that which was kept.
///
/// # Errors
///
/// Those of `make`: nothing is kept.
pub(super) fn text_at(
    pos: i64,
    kept: Option<Text>,
    make: impl FnOnce() -> Result<Text>,
) -> Result<Text> {
    match kept.filter(|_| pos != 0) {
        Some(text) => Ok(text),
        None => make(),
    }
}

/// Copies what `bytes` has at `pos` to the user, and moves `pos` on.
pub(crate) fn copy_at(bytes: &[u8], out: &mut IovIterDest<'_>, pos: &mut i64) -> Result<Step> {
    let start = usize::try_from(*pos).map_err(|_| EINVAL)?;
    let rest = bytes.get(start..).unwrap_or_default();
    let wanted = rest.len().min(out.len());
    let copied = out.copy_to_iter(rest.get(..wanted).unwrap_or_default());
    if copied == 0 && wanted != 0 {
        return Err(EFAULT);
    }
    *pos = pos.saturating_add_unsigned(copied as u64);
    Ok(Step::Bytes(copied))
}

/// Copies to the user what `bytes` has after those that were `given`, and moves that and `pos` on.
/// For streams, whose position is not one in `bytes`.
pub(crate) fn give(
    bytes: &[u8],
    given: &mut usize,
    out: &mut IovIterDest<'_>,
    pos: &mut i64,
) -> Result<Step> {
    let mut place = i64::try_from(*given).map_err(|_| EINVAL)?;
    let step = copy_at(bytes, out, &mut place)?;
    if let Step::Bytes(copied) = step {
        *given = given.saturating_add(copied);
        *pos = pos.saturating_add_unsigned(copied as u64);
    }
    Ok(step)
}

/// Copies the beginning of what a user wrote. Fails with `ENOMEM` or `EFAULT`.
pub(crate) fn command(input: &mut UserSliceReader) -> Result<KVec<u8>> {
    let mut bytes = compat::zeroed_bytes(input.len().min(LONGEST_COMMAND))?;
    input.read_slice(&mut bytes)?;
    Ok(bytes)
}

/// Returns the kernel's error for a text that is wrong.
pub(crate) fn refused(why: Errno) -> Error {
    match why {
        Errno::Inval => EINVAL,
        Errno::Range => ERANGE,
    }
}

/// Returns the kernel's error for a text that found no memory.
pub(crate) fn no_memory(_: fmt::Error) -> Error {
    ENOMEM
}
