// SPDX-License-Identifier: GPL-2.0

//! What a record gives for the keys and values of a plan.
//!
//! Any context; nothing is allocated, and nothing outside the record is read.

use super::{
    expr::{
        Atom,
        ExprNode,
        ExprSource,
        Modifier,
        PlacedNumber,
        PlacedText, //
    },
    keys::KeyField,
    plan::{
        Plan,
        COMM,
        MOST_SUMS, //
    }, //
};
use crate::{
    event::field_type::{
        part,
        Location, //
    },
    text::word::{
        may_have_zeros,
        two_words,
        until_nul,
        StringWords, //
    }, //
};

/// Bytes of a field that is a stack.
const SLOT: u32 = 8;

/// What a plan may ask that the record does not hold.
pub(crate) trait KeyEnv {
    /// Returns the current CPU.
    fn cpu(&self) -> u32;
    /// Returns the name of the current task; a NUL ends it.
    fn comm(&self) -> [u8; COMM];
    /// Returns the time by the clock of the instance, in microseconds if `usecs` and if it counts
    /// nanoseconds.
    fn time(&self, usecs: bool) -> u64;
    /// Writes the callers, the innermost first. Returns their number.
    fn callers(&self, room: &mut [u64]) -> usize;
    /// Returns the number that a reference gave.
    fn reference(&self, _at: u8) -> u64 {
        0
    }
    /// Returns the words of the string or stack that a reference gave.
    fn text(&self, _at: u8) -> &[u64] {
        &[]
    }
}

impl PlacedNumber {
    /// Returns the number. `None` when the record ends before it.
    #[inline(always)]
    pub(crate) fn read(self, record: &[u8]) -> Option<u64> {
        let rest = record.get(self.start as usize..)?;
        let word = u64::from_le_bytes(*rest.first_chunk()?);
        let word = word.wrapping_shl(self.up.into());
        Some(match self.signed {
            true => (word as i64).wrapping_shr(self.down.into()) as u64,
            false => word.wrapping_shr(self.down.into()),
        })
    }
}

impl PlacedText {
    /// Returns the string, with what is after it in its room: a NUL ends it. `None` when it is not inside the record.
    pub(crate) fn read(self, record: &[u8]) -> Option<&[u8]> {
        self.ty.location().bytes(record, self.offset, self.size)
    }
}

/// Returns the power of 2 that is not less.
pub(crate) fn log2(value: u64) -> u64 {
    match value.checked_sub(1) {
        None => 0,
        Some(less) => u64::BITS.wrapping_sub(less.leading_zeros()).into(),
    }
}

impl Atom {
    #[inline(always)]
    fn value(&self, record: &[u8], env: &impl KeyEnv, usecs: bool) -> Option<u64> {
        let value = match self.source {
            ExprSource::Number(number) => number.read(record)?,
            ExprSource::Constant(value) => value,
            ExprSource::HitCount => 1,
            ExprSource::Timestamp => env.time(usecs),
            ExprSource::Cpu => env.cpu().into(),
            ExprSource::Reference(at, _) => env.reference(at),
            ExprSource::Comm | ExprSource::Text(_) => return None,
            ExprSource::Stack | ExprSource::StackAt(_) => return None,
        };
        Some(match self.modifier {
            Modifier::Log2 => log2(value),
            Modifier::Buckets(divisor) => {
                let rest = value.checked_rem(divisor).unwrap_or(0);
                value.wrapping_sub(rest)
            }
            _ => value,
        })
    }
}

impl Plan {
    /// Returns the number that an expression gives. `None` when the record ends before one of its fields.
    #[inline(never)]
    pub(super) fn evaluate(&self, node: u8, record: &[u8], env: &impl KeyEnv) -> Option<u64> {
        let inner = |at: u8| match self.nodes.node(at) {
            ExprNode::Atom(atom) => atom.value(record, env, self.usecs),
            _ => self.evaluate(at, record, env),
        };
        match self.nodes.node(node) {
            ExprNode::Atom(atom) => atom.value(record, env, self.usecs),
            ExprNode::Binary(op, left, right) => Some(op.of(inner(*left)?, inner(*right)?)),
            ExprNode::Negated(operand) => Some(inner(*operand)?.wrapping_neg()),
        }
    }

    /// Returns the number that an expression gives; 0 when the record ends before one of its fields.
    pub(crate) fn number(&self, node: u8, record: &[u8], env: &impl KeyEnv) -> u64 {
        self.evaluate(node, record, env).unwrap_or(0)
    }

    /// Makes the key of an event, in `room`, which has as many words as keys of the plan. `None` when the
    /// record ends before one of its fields.
    #[inline(always)]
    pub(crate) fn key<'k>(
        &self,
        record: &[u8],
        env: &impl KeyEnv,
        room: &'k mut [u64],
    ) -> Option<&'k [u64]> {
        if self.is_variable() {
            return self.variable_key(record, env, room);
        }
        let loads = self.key_loads();
        for (place, load) in room.iter_mut().zip(loads) {
            *place = load.read(self, record, env)?;
        }
        room.get(..loads.len())
    }

    /// The same for a plan with one key, a number.
    #[inline(always)]
    pub(crate) fn sole_key<'k>(
        &self,
        record: &[u8],
        env: &impl KeyEnv,
        room: &'k mut [u64],
    ) -> Option<&'k [u64]> {
        let load = self.key_loads().first()?;
        *room.first_mut()? = load.read(self, record, env)?;
        room.get(..1)
    }

    #[inline(never)]
    fn variable_key<'k>(
        &self,
        record: &[u8],
        env: &impl KeyEnv,
        room: &'k mut [u64],
    ) -> Option<&'k [u64]> {
        let mut used = 1usize;
        for key in self.keys() {
            let at = usize::from(key.at);
            let end = at.wrapping_add(key.words.into());
            // What a shorter key before this one has left out.
            room.get_mut(used..at)?.fill(0);
            let words = self.part(key, record, env, room.get_mut(at..end)?)?;
            used = at.wrapping_add(words);
        }
        *room.first_mut()? = used as u64;
        room.get(..used)
    }

    /// Writes one key. Returns the number of words that it needs.
    #[inline(always)]
    fn part(
        &self,
        key: &KeyField,
        record: &[u8],
        env: &impl KeyEnv,
        room: &mut [u64],
    ) -> Option<usize> {
        match self.nodes.source(key.node) {
            Some(ExprSource::Text(text)) => {
                let bytes = text.read(record)?;
                Some(copy(bytes.get(..key.bytes.into()).unwrap_or(bytes), room))
            }
            Some(ExprSource::Comm) => Some(copy(&env.comm(), room)),
            Some(ExprSource::Stack) => Some(env.callers(room)),
            Some(ExprSource::StackAt(at)) => copy_callers(record, *at, room),
            _ => {
                *room.first_mut()? = self.evaluate(key.node, record, env)?;
                Some(1)
            }
        }
    }

    /// Returns what an event adds to the sums of its entry, besides the count of events, and how many these
    /// are. What the record ends before adds nothing.
    #[inline(always)]
    pub(crate) fn added(&self, record: &[u8], env: &impl KeyEnv) -> ([u64; MOST_SUMS], usize) {
        let mut added = [0; MOST_SUMS];
        let loads = self.value_loads();
        for (place, load) in added.iter_mut().zip(loads) {
            *place = load.read(self, record, env).unwrap_or(0);
        }
        (added, loads.len())
    }
}

/// Copies a string, which a NUL may end, into words, with zeroes after it. Returns the number of words.
#[inline(always)]
fn copy(string: &[u8], room: &mut [u64]) -> usize {
    let mut used = 0usize;
    for (place, word) in room.iter_mut().zip(StringWords::of(string)) {
        *place = word;
        used = used.wrapping_add(1);
    }
    used
}

/// Returns the stack that the field at `offset` of a record has: the number of its callers, and they. `None` when it is
/// not inside the record.
pub(crate) fn recorded_stack(record: &[u8], offset: u32) -> Option<&[u8]> {
    Location::FromStart.bytes(record, offset, SLOT)
}

/// Copies the callers of such a stack. Returns their number.
pub(super) fn copy_callers(record: &[u8], offset: u32, room: &mut [u64]) -> Option<usize> {
    let mut callers = recorded_stack(record, offset)?.get(8..)?;
    let mut used = 0usize;
    for place in room {
        let Some((word, behind)) = callers.split_first_chunk() else {
            break;
        };
        *place = u64::from_le_bytes(*word);
        (callers, used) = (behind, used.wrapping_add(1));
    }
    Some(used)
}

/// Returns the words of the name of a task before its first NUL.
#[inline(always)]
pub(crate) fn name_words([first, second]: [u64; COMM / 8]) -> [u64; COMM / 8] {
    match until_nul(first) {
        (first, true) => [first, 0],
        // As it is: nothing of it is after an end.
        (_, false) => [first, until_nul(second).0],
    }
}

/// Calls `f` with the key of an entry whose only key is the name of a task, as [`Plan::key`] makes it. Where `f` is
/// inlined the number of its words is a constant. `None` for a name without bytes, which is rare.
#[inline(always)]
pub(crate) fn with_name_key<R>(
    name: [u64; COMM / 8],
    f: impl FnOnce(&[u64]) -> Option<R>,
) -> Option<R> {
    let [first, second] = name_words(name);
    match second {
        // The second word is asked first: there is a first one if it is not 0.
        0 if first == 0 => None,
        0 => f(&[2, first]),
        second => f(&[3, first, second]),
    }
}

/// A key that is one string of the record, and the only one.
#[derive(Clone, Copy)]
pub(crate) struct TextKey {
    location: Location,
    /// Those of the field.
    offset: u32,
    size: u32,
    /// Bytes of it that count.
    most: usize,
}

impl TextKey {
    /// Most words of a key that is made here: their number, and a string that is not long.
    const WORDS: usize = 1 + 8;

    /// Calls `f` with the key of an event, as [`Plan::key`] makes it. `None` if the string is longer, or has no bytes, or
    /// the record ends before it.
    #[inline(always)]
    pub(crate) fn with_key<R>(
        &self,
        record: &[u8],
        f: impl FnOnce(&[u64]) -> Option<R>,
    ) -> Option<R> {
        let text = match self.location {
            // Most often, and not worth a call.
            Location::Inline => part(record, self.offset, self.size)?,
            location => location.bytes(record, self.offset, self.size)?,
        };
        let text = text.get(..self.most).unwrap_or(text);
        if let Some(words) = two_words(text) {
            return with_name_key(words, f);
        }
        with_long_key(text, f)
    }

    /// Returns the key for a field that tells where in the record the string is, as those of most strings of any length
    /// do.
    pub(crate) fn as_dynamic(&self) -> Option<DynamicKey> {
        // Those that are two words count whole.
        let is_dynamic = self.location == Location::FromStart && self.most >= COMM;
        is_dynamic.then_some(DynamicKey {
            offset: self.offset,
            most: self.most,
        })
    }

    /// Returns the key of a string of more than two words, and its words.
    #[inline(always)]
    fn long_key(text: &[u8]) -> Option<([u64; Self::WORDS], usize)> {
        let (mut key, mut used) = ([0; Self::WORDS], 1usize);
        for word in StringWords::of(text) {
            *key.get_mut(used)? = word;
            used = used.wrapping_add(1);
        }
        *key.first_mut()? = used as u64;
        Some((key, used))
    }

    /// Returns the key for a field that has as many bytes as the name of a task.
    pub(crate) fn as_name(&self) -> Option<NameKey> {
        let is_name = self.location == Location::Inline && self.size as usize == COMM;
        (is_name && self.most == COMM - 1).then_some(NameKey {
            offset: self.offset,
        })
    }
}

/// Calls `f` with the key of a string that has a NUL at its end, by the two words that begin where it does, as
/// [`TextKey::with_key`]. `None` if it is longer, or has no bytes.
#[inline(always)]
pub(crate) fn with_ended_key<R>(
    [first, second]: [u64; COMM / 8],
    f: impl FnOnce(&[u64]) -> Option<R>,
) -> Option<R> {
    let begun = match may_have_zeros(first) {
        true => until_nul(first),
        false => (first, false),
    };
    let (first, second) = match begun {
        (first, true) => (first, 0),
        (first, false) => match until_nul(second) {
            (second, true) => (first, second),
            (_, false) => return None,
        },
    };
    // Each is inlined: there are no more than in `with_name_key`.
    match second {
        0 if first == 0 => None,
        0 => f(&[2, first]),
        second => f(&[3, first, second]),
    }
}

/// Calls `f` with the key of a string of more than two words, as [`TextKey::with_key`] does.
#[inline(always)]
fn with_long_key<R>(text: &[u8], f: impl FnOnce(&[u64]) -> Option<R>) -> Option<R> {
    let (key, used) = TextKey::long_key(text)?;
    f(key.get(..used)?)
}

/// A key that is one string of the record, whose place a field of that tells, and the only one.
#[derive(Clone, Copy)]
pub(crate) struct DynamicKey {
    /// That of the field.
    offset: u32,
    /// Bytes of the string that count.
    most: usize,
}

impl DynamicKey {
    /// Returns where in the record the field is.
    pub(crate) fn offset(self) -> usize {
        self.offset as usize
    }

    /// Calls `f` with the key of an event, as [`TextKey::with_key`].
    #[inline(always)]
    pub(crate) fn with_any_key<R>(
        self,
        record: &[u8],
        f: impl FnOnce(&[u64]) -> Option<R>,
    ) -> Option<R> {
        let text = self.text(record)?;
        match two_words(text) {
            Some(words) => with_name_key(words, f),
            None => with_long_key(text.get(..self.most).unwrap_or(text), f),
        }
    }

    /// Returns the string, as [`Location::bytes`] does. `None` when it is not inside the record.
    #[inline(always)]
    fn text(self, record: &[u8]) -> Option<&[u8]> {
        let place = record.get(self.offset as usize..)?.first_chunk()?;
        let place = u32::from_le_bytes(*place);
        part(record, place & 0xffff, place >> 16)
    }
}

/// A key that is a field of the record of as many bytes as the name of a task has, and the only one.
#[derive(Clone, Copy)]
pub(crate) struct NameKey {
    offset: u32,
}

impl NameKey {
    /// Returns where in the record the field is.
    pub(crate) fn offset(self) -> usize {
        self.offset as usize
    }

    /// Returns the words of the field without its last byte, which does not count.
    #[inline(always)]
    pub(crate) fn cut([first, second]: [u64; COMM / 8]) -> [u64; COMM / 8] {
        [first, second & (u64::MAX >> 8)]
    }
}

impl Plan {
    /// Returns the key if that is one string of the record, and entries have nothing but sums.
    pub(crate) fn text_key(&self) -> Option<TextKey> {
        let [key] = self.keys() else {
            return None;
        };
        match self.nodes.source(key.node) {
            Some(ExprSource::Text(text)) if self.has_sums_alone() => Some(TextKey {
                location: text.ty.location(),
                offset: text.offset,
                size: text.size,
                most: key.bytes.into(),
            }),
            _ => None,
        }
    }
}

/// Returns the words of the name of a task.
pub(crate) fn comm_words(comm: [u8; COMM]) -> [u64; COMM / 8] {
    let mut words = [0; COMM / 8];
    copy(&comm, &mut words);
    words
}
