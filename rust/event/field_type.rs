// SPDX-License-Identifier: GPL-2.0

//! The type of a field as far as reading its value needs it, and the value that a record holds
//! there.
//!
//! The option `fields` and `trace_pipe_json` print values, and filters compare them: all three ask
//! here where the bytes are. The meaning of a type's text is ftrace's, which looks for words in
//! it.
//!
//! Any context; nothing is allocated, and nothing outside the record is read.

use crate::text::word;

/// Where the bytes of a value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// In the field.
    Inline,
    /// At the offset in the field, counted from the record's first byte. The field is a word: its
    /// lower half is an offset, its upper half a length.
    FromStart,
    /// The same, counted from the byte after the word.
    FromWord,
    /// From the field's place to the end of the record.
    Rest,
}

/// The memory that an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressSpace {
    Kernel,
    /// That of the current task.
    User,
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldType {
    /// A number of 1, 2, 4 or 8 bytes, or bytes whose size alone is known.
    Number,
    /// `char[N]`
    Chars,
    /// `char[]` without a size: the rest of the record.
    OpenChars,
    /// `__data_loc char[]`
    DynamicChars,
    /// `__rel_loc char[]`
    RelativeChars,
    /// `char *`: the address of a string of the kernel.
    CharPointer,
    /// The same, of a string of the current task: no declaration says so, but an expression can.
    UserCharPointer,
    /// `__data_loc cpumask_t`
    Cpumask,
    /// `__data_loc` of anything else.
    DynamicBytes,
    /// `__rel_loc` of anything else.
    RelativeBytes,
    /// `__data_loc unsigned long[]` in a slot of eight bytes: the callers that a synthetic event has, after their
    /// number. All but histograms take the slot for the value, as in ftrace.
    Stack,
}

/// The value that a record holds in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'r> {
    /// A number, extended with zeroes, and its size in bytes: 1, 2, 4 or 8.
    Number(u64, u32),
    /// Bytes of another size.
    Opaque(&'r [u8]),
    /// An array of characters in the field; a NUL may end the string before the array does.
    Chars(&'r [u8]),
    /// An array of characters elsewhere in the record.
    DynamicChars(&'r [u8]),
    /// An array of bytes elsewhere in the record.
    Bytes(&'r [u8]),
    /// A set of CPUs, a bit for each.
    Cpumask(&'r [u8]),
    /// The address of a string, which is no part of the record.
    StringAt(u64, AddressSpace),
}

impl Location {
    /// Returns the bytes of the value whose field is the `size` bytes at `offset`. `None` when the
    /// field or the value is not inside the record.
    pub(crate) fn bytes(self, record: &[u8], offset: u32, size: u32) -> Option<&[u8]> {
        let base = match self {
            Self::Rest => return record.get(offset as usize..),
            Self::Inline => return part(record, offset, size),
            Self::FromStart => 0,
            Self::FromWord => offset.checked_add(4)?,
        };
        let word = u32::from_le_bytes(*record.get(offset as usize..)?.first_chunk()?);
        part(record, base.checked_add(word & 0xffff)?, word >> 16)
    }
}

impl FieldType {
    /// Returns the type of a field of `size` bytes that is declared as `ty`.
    pub(crate) fn of(ty: &str, size: u32) -> Self {
        // Each row but that of pointers needs one of these, and most types have neither. Readers
        // ask for each field of each record.
        if !ty.bytes().any(|byte| matches!(byte, b'_' | b'[')) {
            return Self::of_word(ty);
        }
        let (dynamic, relative) = (has(ty, "__data_loc"), has(ty, "__rel_loc"));
        let chars = has(ty, "char");
        match ty {
            _ if dynamic && chars => Self::DynamicChars,
            _ if dynamic && has(ty, "cpumask_t") => Self::Cpumask,
            _ if relative && chars => Self::RelativeChars,
            _ if chars && has(ty, "[") && size == 0 => Self::OpenChars,
            _ if chars && has(ty, "[") => Self::Chars,
            _ if dynamic && size == 4 => Self::DynamicBytes,
            _ if dynamic && size == 8 && has(ty, "long[") => Self::Stack,
            _ if relative && size == 4 => Self::RelativeBytes,
            _ => Self::of_word(ty),
        }
    }

    /// Returns the type of a field that is declared as `ty`, without brackets or a location.
    fn of_word(ty: &str) -> Self {
        match ty {
            "char *" | "const char *" => Self::CharPointer,
            _ => Self::Number,
        }
    }

    /// Returns whether filters compare a value of this type with a string.
    pub(crate) fn is_string(self) -> bool {
        match self {
            Self::Chars | Self::OpenChars | Self::DynamicChars | Self::RelativeChars => true,
            Self::CharPointer | Self::UserCharPointer => true,
            Self::Number | Self::Cpumask | Self::DynamicBytes | Self::RelativeBytes => false,
            Self::Stack => false,
        }
    }

    /// Returns where the bytes of a value of this type are.
    #[inline]
    pub(crate) fn location(self) -> Location {
        match self {
            Self::Number | Self::Chars | Self::Stack => Location::Inline,
            Self::CharPointer | Self::UserCharPointer => Location::Inline,
            Self::OpenChars => Location::Rest,
            Self::DynamicChars | Self::Cpumask | Self::DynamicBytes => Location::FromStart,
            Self::RelativeChars | Self::RelativeBytes => Location::FromWord,
        }
    }

    /// Returns the value of the field of `size` bytes at `offset`. `None` when the field or the
    /// value is not inside the record.
    #[inline]
    pub(crate) fn read(self, record: &[u8], offset: u32, size: u32) -> Option<Value<'_>> {
        let bytes = self.location().bytes(record, offset, size)?;
        Some(match self {
            Self::Number if matches!(size, 1 | 2 | 4 | 8) => Value::Number(number(bytes), size),
            Self::Stack => Value::Number(number(bytes), size),
            Self::Number => Value::Opaque(bytes),
            Self::Chars | Self::OpenChars => Value::Chars(bytes),
            Self::DynamicChars | Self::RelativeChars => Value::DynamicChars(bytes),
            Self::DynamicBytes | Self::RelativeBytes => Value::Bytes(bytes),
            Self::Cpumask => Value::Cpumask(bytes),
            Self::CharPointer => Value::StringAt(number(bytes), AddressSpace::Kernel),
            Self::UserCharPointer => Value::StringAt(number(bytes), AddressSpace::User),
        })
    }
}

/// Returns whether `text`, which is short, contains `word`.
fn has(text: &str, word: &str) -> bool {
    let (text, word) = (text.as_bytes(), word.as_bytes());
    // Slices are compared by a call; few places begin as the word does.
    (0..text.len()).any(|at| {
        text.get(at) == word.first() && text.get(at..).is_some_and(|rest| rest.starts_with(word))
    })
}

/// Returns the `size` bytes at `offset`, or `None` when the record ends before their end.
#[inline]
pub(crate) fn part(record: &[u8], offset: u32, size: u32) -> Option<&[u8]> {
    let offset = offset as usize;
    record.get(offset..offset.checked_add(size as usize)?)
}

/// Returns the unsigned number in the first eight of `bytes`, or in all of them if they are fewer,
/// in the machine's order, which is little-endian.
#[inline]
pub(crate) fn number(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => word::few_bytes(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_what_ftrace_takes_them_for() {
        let rows = [
            ("int", 4, FieldType::Number),
            ("struct odd", 3, FieldType::Number),
            ("char", 1, FieldType::Number),
            ("char[16]", 16, FieldType::Chars),
            ("unsigned char[6]", 6, FieldType::Chars),
            ("char[]", 0, FieldType::OpenChars),
            ("u8[6]", 6, FieldType::Number),
            ("char *", 8, FieldType::CharPointer),
            ("const char *", 8, FieldType::CharPointer),
            ("char **", 8, FieldType::Number),
            ("__data_loc char[]", 4, FieldType::DynamicChars),
            ("__rel_loc char[]", 4, FieldType::RelativeChars),
            ("__data_loc cpumask_t", 4, FieldType::Cpumask),
            ("__rel_loc cpumask_t", 4, FieldType::RelativeBytes),
            ("__data_loc u8[]", 4, FieldType::DynamicBytes),
            ("__rel_loc u8[]", 4, FieldType::RelativeBytes),
            ("__data_loc u8[]", 8, FieldType::Number),
            ("__data_loc unsigned long[]", 8, FieldType::Stack),
            ("__data_loc unsigned long[]", 4, FieldType::DynamicBytes),
            ("unsigned long[]", 8, FieldType::Number),
        ];
        for (ty, size, want) in rows {
            assert_eq!(FieldType::of(ty, size), want, "{ty}");
        }
    }

    #[test]
    fn values_lie_inside_the_record() {
        let word = |offset: u16, len: u16| [offset.to_le_bytes(), len.to_le_bytes()].concat();
        let record = |word: Vec<u8>| [vec![0; 8], word, b"abc".to_vec()].concat();
        let read = |ty: FieldType, word| {
            ty.read(&record(word), 8, 4)
                .map(|value| format!("{value:?}"))
        };
        let chars = |bytes: &[u8]| Some(format!("{:?}", Value::DynamicChars(bytes)));
        let (start, after) = (FieldType::DynamicChars, FieldType::RelativeChars);

        assert_eq!(
            FieldType::OpenChars.read(b"12ab", 2, 0),
            Some(Value::Chars(b"ab"))
        );
        assert_eq!(FieldType::OpenChars.read(b"12ab", 5, 0), None);
        assert_eq!(read(start, word(12, 3)), chars(b"abc"));
        assert_eq!(read(start, word(13, 2)), chars(b"bc"));
        assert_eq!(read(after, word(0, 3)), chars(b"abc"));
        assert_eq!(read(after, word(1, 2)), chars(b"bc"));
        assert_eq!(read(after, word(3, 0)), chars(b""));
        for bad in [word(13, 3), word(0xffff, 0), word(0xffff, 0xffff)] {
            assert_eq!(read(start, bad.clone()), None);
            assert_eq!(read(after, bad), None);
        }
        for (offset, size) in [(12, 4), (16, 1), (u32::MAX, 1), (1, u32::MAX)] {
            assert_eq!(
                FieldType::Number.read(&record(word(0, 0)), offset, size),
                None
            );
            assert_eq!(start.read(&record(word(0, 0)), u32::MAX, size), None);
        }
        assert_eq!(
            FieldType::Number.read(&[1, 2, 3, 4], 1, 2),
            Some(Value::Number(0x302, 2))
        );
        assert_eq!(
            FieldType::Number.read(&[1, 2, 3, 4], 1, 3),
            Some(Value::Opaque(&[2, 3, 4]))
        );
    }
}
