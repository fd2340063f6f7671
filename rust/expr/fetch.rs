// SPDX-License-Identifier: GPL-2.0

//! Fetching: the value that a name in an expression stands for, in a record or beside it.
//!
//! Predicates compare what is fetched. Any context; nothing is allocated, nothing sleeps.

use crate::event::{
    field,
    field_type::{
        number,
        part,
        AddressSpace,
        FieldType,
        Value, //
    }, //
};

/// A field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredField {
    pub(crate) ty: FieldType,
    pub(crate) offset: u32,
    pub(crate) size: u32,
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
    /// Returns the name of the current task; a NUL ends it.
    fn comm(&self) -> &[u8];
    /// Returns the answer of `question` about the string at `address` in `space`, an address that
    /// has not been checked. `None`, without a question, when nothing can be read there.
    fn string(
        &self,
        address: u64,
        space: AddressSpace,
        question: impl FnOnce(&[u8]) -> bool,
    ) -> Option<bool>;
}

impl StoredField {
    /// Returns the same bytes as a number, whatever the type of the field.
    pub(super) fn as_number(self) -> Self {
        let ty = FieldType::Number;
        Self { ty, ..self }
    }
}

impl Operand {
    /// Returns the operand for the event's field of type `ty` and `size` bytes at `offset`.
    pub(crate) fn stored(ty: &str, offset: u32, size: u32, signed: bool) -> Self {
        let ty = FieldType::of(ty, size);
        Self {
            fetch: Fetch::Field(StoredField { ty, offset, size }),
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
    pub(crate) fn common(name: &str) -> Option<Self> {
        field::place(field::COMMON.into_iter(), 0)
            .find(|field| field.declared.name == name)
            .map(|field| {
                let declared = &field.declared;
                Self {
                    fetch: Fetch::Field(StoredField {
                        ty: FieldType::Number,
                        offset: field.offset,
                        size: declared.size,
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

    /// Returns whether the value is a string in the record itself.
    pub(super) fn is_in_record(self) -> bool {
        match self {
            Self::Field(field) => !matches!(
                field.ty,
                FieldType::CharPointer | FieldType::UserCharPointer
            ),
            _ => false,
        }
    }

    /// Returns the same fetch; when what it reads is the address of a string, that of one in user
    /// space.
    pub(super) fn in_user_space(self) -> Self {
        match self {
            Self::Field(
                field @ StoredField {
                    ty: FieldType::CharPointer,
                    ..
                },
            ) => Self::Field(StoredField {
                ty: FieldType::UserCharPointer,
                ..field
            }),
            other => other,
        }
    }

    /// Returns the value. `None` when the record ends before it, and for a stack.
    #[inline(always)]
    pub(super) fn read<'v>(self, record: &'v [u8], env: &'v impl Env) -> Option<Value<'v>> {
        match self {
            Self::Field(field) => field.ty.read(record, field.offset, field.size),
            Self::Comm => Some(Value::Chars(env.comm())),
            Self::Cpu => Some(Value::Number(u64::from(env.cpu()), 4)),
            Self::Stacktrace => None,
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
