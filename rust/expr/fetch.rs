// SPDX-License-Identifier: GPL-2.0

//! Fetching: the value that a name in an expression stands for, in a record or beside it.
//!
//! Predicates compare what is fetched. Any context; nothing is allocated, nothing sleeps.

use crate::event::{
    field,
    field_type::{
        number,
        part,
        FieldType, //
    }, //
};

/// A field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredField {
    pub(crate) ty: FieldType,
    pub(crate) offset: u32,
    pub(crate) size: u32,
    /// Whether the string that it points to is in the user space of the current task.
    pub(crate) user: bool,
}

/// The source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fetch {
    /// What the record holds in a field.
    Field(StoredField),
    /// The name of the current task.
    Comm,
    /// The current CPU.
    Cpu,
    /// The current stack: a known name that no filter can use.
    Stacktrace,
}

/// A name in an expression, resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operand {
    pub(crate) fetch: Fetch,
    /// Whether its numbers are signed.
    pub(crate) signed: bool,
}

/// What an expression may ask that the record does not hold.
pub(crate) trait Env {
    /// Returns the current CPU.
    fn cpu(&self) -> u32;
    /// Returns the answer of `question` about the name of the current task.
    fn comm(&self, question: impl FnOnce(&[u8]) -> bool) -> bool;
    /// Returns the answer of `question` about the string at `address`, which has not been checked
    /// and is in user space if `user`. `None`, without a question, when nothing can be read there.
    fn string(
        &self,
        address: u64,
        user: bool,
        question: impl FnOnce(&[u8]) -> bool,
    ) -> Option<bool>;
}

impl Operand {
    /// Returns the operand for the event's field of type `ty` and `size` bytes at `offset`.
    pub(crate) fn stored(ty: &str, offset: u32, size: u32, signed: bool) -> Self {
        let ty = FieldType::of(ty, size);
        let user = false;
        Self {
            fetch: Fetch::Field(StoredField {
                ty,
                offset,
                size,
                user,
            }),
            signed,
        }
    }

    /// Returns the operand called `name` that every event has without storing it, if there is one.
    pub(super) fn generic(name: &str) -> Option<Self> {
        let (fetch, signed) = match name {
            "CPU" | "cpu" | "common_cpu" => (Fetch::Cpu, true),
            "COMM" | "comm" => (Fetch::Comm, false),
            "STACKTRACE" | "stacktrace" => (Fetch::Stacktrace, false),
            _ => return None,
        };
        Some(Self { fetch, signed })
    }

    /// Returns the operand for the common field called `name`, if there is one; the common fields
    /// begin every record.
    pub(super) fn common(name: &str) -> Option<Self> {
        field::place(field::COMMON.into_iter(), 0)
            .find(|field| field.declared.name == name)
            .map(|field| {
                let declared = &field.declared;
                Self {
                    fetch: Fetch::Field(StoredField {
                        ty: FieldType::Number,
                        offset: field.offset,
                        size: declared.size,
                        user: false,
                    }),
                    signed: declared.signed,
                }
            })
    }
}

impl Fetch {
    /// Returns whether the value is compared with a string.
    pub(super) fn is_string(self) -> bool {
        match self {
            Self::Field(field) => field.ty.is_string(),
            Self::Comm => true,
            Self::Cpu | Self::Stacktrace => false,
        }
    }

    /// Returns the same fetch, with the strings that it points to in user space if `user`.
    pub(super) fn in_user_space(self, user: bool) -> Self {
        match self {
            Self::Field(field) => Self::Field(StoredField { user, ..field }),
            other => other,
        }
    }

    /// Returns the number, extended with zeroes: that of a field of 1, 2, 4 or 8 bytes, whatever
    /// its type, or the CPU. `None` for all else, and when the record ends before the number.
    #[inline]
    pub(super) fn number(self, record: &[u8], env: &impl Env) -> Option<u64> {
        match self {
            Self::Field(field) => number_at(record, field.offset, field.size),
            Self::Cpu => Some(u64::from(env.cpu())),
            Self::Comm | Self::Stacktrace => None,
        }
    }

    /// Returns the answer of `question` about the string: about an empty one when its bytes do not
    /// lie inside the record. `None`, without a question, when the value is no string or cannot be
    /// read.
    #[inline]
    pub(super) fn string(
        self,
        record: &[u8],
        env: &impl Env,
        question: impl FnOnce(&[u8]) -> bool,
    ) -> Option<bool> {
        match self {
            Self::Comm => Some(env.comm(question)),
            Self::Field(StoredField {
                ty,
                offset,
                size,
                user,
            }) => {
                let bytes = match ty {
                    FieldType::CharPointer => {
                        return env.string(number_at(record, offset, 8)?, user, question);
                    }
                    FieldType::Chars => part(record, offset, size),
                    ty => ty.location().bytes(record, offset, size),
                };
                Some(question(bytes.unwrap_or(&[])))
            }
            Self::Cpu | Self::Stacktrace => None,
        }
    }
}

/// Returns the number of `size` bytes at `offset`, extended with zeroes. `None` for a size other
/// than 1, 2, 4 or 8, or when the record ends before it.
pub(super) fn number_at(record: &[u8], offset: u32, size: u32) -> Option<u64> {
    matches!(size, 1 | 2 | 4 | 8).then(|| part(record, offset, size).map(number))?
}

/// Returns the same number in the upper bytes of a word; those below are 0.
#[inline]
pub(super) fn upper_at(record: &[u8], offset: u32, size: u32) -> Option<u64> {
    let rest = record.get(offset as usize..)?;
    Some(match size {
        8 => u64::from_le_bytes(*rest.first_chunk()?),
        4 => u64::from(u32::from_le_bytes(*rest.first_chunk()?)) << 32,
        2 => u64::from(u16::from_le_bytes(*rest.first_chunk()?)) << 48,
        1 => u64::from(*rest.first()?) << 56,
        _ => return None,
    })
}
