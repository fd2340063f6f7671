// SPDX-License-Identifier: GPL-2.0

//! The keys of a command: from text to nodes, and to their places in the key of an entry.

use super::{
    error::{
        HistErrno,
        HistErrorKind, //
    },
    expr::{
        ExprParser,
        ExprSource,
        Modifier,
        PlacedText, //
        Role,
    },
    plan::{
        COMM,
        DEPTH, //
    }, //
};
use crate::event::field_type::FieldType;

/// Most keys.
pub(crate) const MOST_KEYS: usize = 3;
/// Most bytes of a key, as ftrace counts them.
const MOST_BYTES: u32 = 504;
/// What a string without a known length counts there, and has in an entry.
const STRING_BYTES: u32 = 256;
/// Most words of a key: those of its bytes, and of its length.
pub(crate) const MOST_WORDS: usize = (MOST_BYTES / 8) as usize + 1;

/// A key.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyField {
    pub(crate) node: u8,
    /// Its first word in the key of an entry, and how many it has.
    pub(crate) at: u16,
    pub(crate) words: u16,
    /// Most bytes of it, for a string.
    pub(crate) bytes: u16,
}

impl KeyField {
    /// Returns its words in the key of an entry.
    pub(super) fn part(self, key: &[u64]) -> &[u64] {
        part(key, self.at, self.words)
    }
}

/// Returns so many of `words` from `at` on.
#[inline(always)]
pub(super) fn part<W>(words: &[W], at: u16, len: u16) -> &[W] {
    let at = usize::from(at);
    words
        .get(at..at.wrapping_add(len.into()))
        .unwrap_or_default()
}

/// Bytes of a string of a record that count: as in ftrace, the last one of its room is never one of them.
pub(super) fn string_bytes(text: PlacedText) -> u32 {
    match text.ty {
        FieldType::Chars => {
            let room = text.size.saturating_add(7) & !7;
            text.size.min(room.saturating_sub(1))
        }
        _ => STRING_BYTES.saturating_sub(1),
    }
}

/// The keys of a plan.
#[derive(Default)]
pub(super) struct Keys {
    pub(super) keys: [KeyField; MOST_KEYS],
    pub(super) count: u8,
    /// Words of the key of an entry.
    pub(super) words: u16,
    /// Whether the first of them is their number: keys differ in length.
    pub(super) variable: bool,
    /// Whether each entry has the name of a task.
    pub(super) execname: bool,
}

impl Keys {
    /// Parses the keys.
    pub(super) fn parse(keys: &[u8], parser: &mut ExprParser<'_, '_>) -> Result<Self, HistErrno> {
        let mut all = Self::default();
        let mut total = 0u32;
        for (index, item) in keys.split(|byte| *byte == b',').enumerate() {
            if index >= MOST_KEYS {
                return Err(HistErrno::Inval);
            }
            let node = match item {
                // As in ftrace also where the event has a field of that name.
                b"stacktrace" => parser.callers(item)?,
                _ => parser.expression(item, Role::Key)?,
            };
            if parser.nodes.refers(node) {
                return Err(parser.refuse(HistErrorKind::ReferenceInKey, item));
            }
            let atom = parser.nodes.atom(node);
            let (counted, bytes) = match atom.map(|atom| atom.source) {
                Some(ExprSource::Text(text)) => {
                    let counted = match text.ty {
                        FieldType::Chars => text.size.saturating_add(7) & !7,
                        _ => STRING_BYTES,
                    };
                    (counted, string_bytes(text))
                }
                Some(ExprSource::Comm) => (STRING_BYTES, COMM as u32),
                Some(ExprSource::Stack | ExprSource::StackAt(_)) => {
                    ((DEPTH * 8) as u32, (DEPTH * 8) as u32)
                }
                _ => (8, 8),
            };
            total = total.saturating_add(counted);
            if total > MOST_BYTES {
                return Err(HistErrno::Inval);
            }
            all.variable |= atom.is_some_and(|atom| atom.source.is_text());
            all.execname |= atom.is_some_and(|atom| atom.modifier == Modifier::Execname);
            let words = (bytes.saturating_add(7) / 8) as u16;
            if let Some(place) = all.keys.get_mut(index) {
                *place = KeyField {
                    node,
                    at: all.words,
                    words,
                    bytes: bytes as u16,
                };
            }
            all.words = all.words.saturating_add(words);
            all.count = all.count.saturating_add(1);
        }
        if all.variable {
            // The length comes first.
            all.words = all.words.saturating_add(1);
            for key in &mut all.keys {
                key.at = key.at.saturating_add(1);
            }
        }
        Ok(all)
    }
}
