// SPDX-License-Identifier: GPL-2.0

//! The lines of a stream that were made and not yet read.
//!
//! A reader with room for [`ROOM`] bytes or more gets whole lines, so that readers which share a
//! descriptor do not get halves of them, and so does a pipe that is spliced into. A shorter buffer
//! is filled to its end, as ftrace does it. Called by `trace_pipe` and its like.

use super::{
    file::Step,
    text_file::give, //
};
use crate::{
    output::{
        EventFormatter,
        Style,
        Text, //
    },
    text::graph::CpuState, //
};
use kernel::{
    iov::IovIterDest,
    prelude::*, //
};

/// The most text that is made for one read.
const MOST: usize = 64 * 1024;
/// Room for whole lines: ftrace's longest fits.
const ROOM: usize = 8192;

/// Returns whether a reader with this much room, or a pipe, gets whole lines.
fn gets_whole_lines(room: usize, spliced: bool) -> bool {
    spliced || room >= ROOM
}

/// How much text a read wants.
#[derive(Clone, Copy)]
pub(crate) struct WantedText {
    /// This many bytes, and no line more.
    pub(crate) bytes: usize,
    /// In whole lines: none that ends after these bytes.
    whole: bool,
    /// Not even if it is the only one.
    spliced: bool,
}

impl WantedText {
    /// Returns whether a text of `before` bytes gets no further line of which the end is not known.
    pub(crate) fn ends_at(self, before: usize) -> bool {
        self.whole && before != 0
    }

    /// Returns whether a text of `len` bytes, which had `before` bytes without its last line, is
    /// more than it wants. Otherwise that line would be consumed, and be lost when the file is
    /// closed.
    pub(crate) fn is_too_long(self, before: usize, len: usize) -> bool {
        self.whole && len > self.bytes && (before != 0 || self.spliced)
    }
}

/// What there was before a line was written.
pub(super) struct TextBefore {
    /// The bytes that there were.
    pub(super) len: usize,
    cpu: u32,
    /// What the reader had seen of the calls of the CPU, if that changes.
    seen: Option<CpuState>,
}

impl TextBefore {
    /// Remembers that before a line of an event of `cpu` is written.
    pub(super) fn of(cpu: u32, style: Style, maker: &EventFormatter, text: &Text) -> Self {
        Self {
            len: text.bytes().len(),
            cpu,
            seen: style.is_graph().then(|| maker.seen(cpu)),
        }
    }

    /// Takes the line back, which no reader gets.
    pub(super) fn restore(&self, maker: &mut EventFormatter, text: &mut Text) {
        text.truncate(self.len);
        if let Some(seen) = self.seen {
            maker.go_back(self.cpu, seen);
        }
    }
}

/// The queue.
pub(crate) struct LineQueue {
    text: Text,
    /// The number of bytes of `text` that readers have.
    given: usize,
}

impl LineQueue {
    /// Returns an empty one.
    pub(crate) const fn new() -> Self {
        Self {
            text: Text::new(),
            given: 0,
        }
    }

    /// Returns whether there is nothing to be read.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    fn rest(&self) -> &[u8] {
        self.text.bytes().get(self.given..).unwrap_or_default()
    }

    /// Discards what was given, when a read into `out`, `spliced` if that is a pipe, gets more than what
    /// is there. Returns how many lines have to be made then. A line that was given in part is finished
    /// by a read of its own.
    pub(crate) fn wants(&mut self, out: &IovIterDest<'_>, spliced: bool) -> Option<WantedText> {
        let room = out.len();
        let rest = self.rest().len();
        let begun = self
            .given
            .checked_sub(1)
            .and_then(|at| self.text.bytes().get(at));
        let whole = begun.is_none_or(|byte| *byte == b'\n');
        if rest != 0 && (room < ROOM || rest >= room || !whole) {
            return None;
        }
        self.text.drop_front(self.given);
        self.given = 0;
        Some(WantedText {
            bytes: room.min(MOST),
            whole: gets_whole_lines(room, spliced),
            spliced,
        })
    }

    /// Returns the text that lines are written to.
    pub(crate) fn text(&mut self) -> &mut Text {
        &mut self.text
    }

    /// Gives a reader what it has room for. A pipe with no room for the next line gets 0 bytes.
    pub(crate) fn give(
        &mut self,
        out: &mut IovIterDest<'_>,
        spliced: bool,
        pos: &mut i64,
    ) -> Result<Step> {
        let rest = self.rest();
        let len = match rest.get(..out.len()) {
            Some(room) if gets_whole_lines(room.len(), spliced) => {
                match room.iter().rposition(|byte| *byte == b'\n') {
                    Some(newline) => newline.saturating_add(1),
                    None if spliced => return Ok(Step::Bytes(0)),
                    None => room.len(),
                }
            }
            _ => rest.len(),
        };
        let lines = self.text.bytes().get(..self.given.saturating_add(len));
        give(lines.unwrap_or_default(), &mut self.given, out, pos)
    }
}
