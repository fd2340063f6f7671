// SPDX-License-Identifier: GPL-2.0

//! Values that entries keep: a number is a word, a string its bytes with zeroes after them, a stack its callers
//! with a zero after them.

use super::{
    expr::ExprSource,
    key::{
        copy_callers,
        KeyEnv, //
    },
    keys::string_bytes,
    plan::{
        Plan,
        COMM,
        DEPTH, //
    },
    variable::TEXT_WORDS, //
};
use crate::{
    ring::port::SharedWord,
    text::word::StringWords, //
};

impl Plan {
    /// Returns the number of words of a node's value.
    pub(super) fn value_words(&self, node: u8) -> usize {
        match self.nodes.atom(node).map(|atom| atom.source) {
            // With a zero.
            Some(ExprSource::Text(text)) => {
                let words = (string_bytes(text) as usize / 8).saturating_add(1);
                words.min(TEXT_WORDS)
            }
            Some(ExprSource::Comm) => COMM / 8,
            Some(source) if source.is_text() => TEXT_WORDS,
            _ => 1,
        }
    }

    /// Stores the value that an event has for a node, in at most [`Self::value_words`] words. Any context.
    pub(crate) fn store<W: SharedWord>(
        &self,
        node: u8,
        record: &[u8],
        env: &impl KeyEnv,
        room: &[W],
    ) {
        match self.nodes.source(node) {
            Some(ExprSource::Text(text)) => {
                store_string(text.read(record).unwrap_or_default(), room);
            }
            Some(ExprSource::Comm) => store_string(&env.comm(), room),
            Some(ExprSource::Stack) => {
                let mut callers = [0; DEPTH];
                let used = env.callers(&mut callers);
                store_words(callers.get(..used).unwrap_or_default(), room);
            }
            Some(ExprSource::StackAt(at)) => {
                let mut callers = [0; DEPTH];
                let used = copy_callers(record, *at, &mut callers).unwrap_or(0);
                store_words(callers.get(..used).unwrap_or_default(), room);
            }
            Some(ExprSource::Reference(at, shape)) if shape.is_text() => {
                store_words(env.text(*at), room);
            }
            _ => {
                if let Some(word) = room.first() {
                    word.store(self.number(node, record, env));
                }
            }
        }
    }
}

/// Stores a string, which a NUL may end, of which the last byte of the room is none, as it is always zero.
#[inline(never)]
pub(crate) fn store_string<W: SharedWord>(string: &[u8], room: &[W]) {
    let most = room.len().saturating_mul(8).saturating_sub(1);
    let string = string.get(..most).unwrap_or(string);
    let words = StringWords::of(string);
    let mut words = Iterator::chain(words, core::iter::repeat(0));
    for place in room {
        place.store(words.next().unwrap_or(0));
    }
}

/// Stores words, with zeroes after them.
#[inline(always)]
pub(crate) fn store_words<W: SharedWord>(words: &[u64], room: &[W]) {
    let mut words = words.iter().copied();
    for word in room {
        word.store(words.next().unwrap_or(0));
    }
}
