// SPDX-License-Identifier: GPL-2.0

//! The types of fields. As in ftrace a type is told by its text: what contains `char[` is a string, what
//! contains `long[` a stack, and the brackets may come after the name.

use super::{
    command::name,
    error::{
        SyntheticError,
        SyntheticRefusal, //
    }, //
};
use crate::{
    event::field::DeclaredField,
    text::number, //
};
use core::fmt::{
    self,
    Write, //
};

/// The bytes of a record that a number or the place of a dynamic array has.
pub(super) const SLOT: usize = 8;
/// Those of a string of fixed length, whatever that is.
pub(super) const ROOM: usize = 256;
/// Precedes the type of a field whose value follows the fixed part of a record.
const DYNAMIC: &str = "__data_loc ";

/// A type of numbers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NumberType {
    name: &'static str,
    pub(crate) size: usize,
    /// How the print format shows it.
    pub(crate) conversion: &'static str,
}

const fn number(name: &'static str, size: usize, conversion: &'static str) -> NumberType {
    NumberType {
        name,
        size,
        conversion,
    }
}

/// The types of numbers.
static NUMBERS: [NumberType; 17] = [
    number("s64", 8, "%lld"),
    number("u64", 8, "%llu"),
    number("s32", 4, "%d"),
    number("u32", 4, "%u"),
    number("s16", 2, "%d"),
    number("u16", 2, "%u"),
    number("s8", 1, "%d"),
    number("u8", 1, "%u"),
    number("char", 1, "%d"),
    number("unsigned char", 1, "%u"),
    number("int", 4, "%d"),
    number("unsigned int", 4, "%u"),
    number("long", 8, "%ld"),
    number("unsigned long", 8, "%lu"),
    number("bool", 1, "%d"),
    number("pid_t", 4, "%d"),
    number(GFP, 4, "%x"),
];
/// The type of which names of flags are shown as well.
const GFP: &str = "gfp_t";

impl NumberType {
    /// Returns whether names of flags follow the number.
    pub(crate) fn is_gfp(&self) -> bool {
        self.name == GFP
    }

    /// Returns the bits that a record has of the number.
    pub(super) fn mask(&self) -> u64 {
        let bits = (self.size as u32).saturating_mul(u8::BITS);
        let unused = u64::BITS.saturating_sub(bits);
        u64::MAX.checked_shr(unused).unwrap_or(0)
    }
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyntheticType {
    Number(&'static NumberType),
    /// A string of so many bytes at most, as its type says.
    Chars(u32),
    DynamicChars,
    /// Callers.
    Stack,
}

impl SyntheticType {
    /// Returns whether the value follows the fixed part of a record.
    pub(crate) fn is_dynamic(self) -> bool {
        matches!(self, Self::DynamicChars | Self::Stack)
    }

    /// Returns whether it is a string.
    pub(crate) fn is_string(self) -> bool {
        matches!(self, Self::Chars(_) | Self::DynamicChars)
    }

    /// Returns the bytes that a field of this type has in the fixed part of a record.
    pub(super) fn room(self) -> usize {
        match self {
            Self::Chars(_) => ROOM,
            _ => SLOT,
        }
    }

    /// Returns the bytes of it that its field names.
    pub(crate) fn size(self) -> u32 {
        match self {
            Self::Number(number) => number.size as u32,
            Self::Chars(size) => size,
            Self::DynamicChars | Self::Stack => SLOT as u32,
        }
    }

    /// Returns how the print format shows it.
    pub(crate) fn conversion(self) -> &'static str {
        match self {
            Self::Number(number) => number.conversion,
            _ => "%s",
        }
    }
}

/// A field of a definition, as its words are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldDraft<'a> {
    is_unsigned: bool,
    ty: &'a str,
    name: &'a str,
    /// What followed the name, with its bracket.
    array: &'a str,
    kind: SyntheticType,
}

impl<'a> FieldDraft<'a> {
    /// Parses the field that begins with the word `first` of `command`, whose others are the next ones of
    /// `words`.
    pub(super) fn parse(
        command: &[u8],
        first: &'a [u8],
        words: &mut impl Iterator<Item = &'a [u8]>,
    ) -> Result<Self, SyntheticRefusal> {
        let refuse = |error, word| SyntheticRefusal::word(error, command, word);
        let is_unsigned = first == b"unsigned";
        let (ty, whole) = match is_unsigned {
            true => match (words.next(), words.next()) {
                (Some(ty), Some(whole)) => (ty, whole),
                _ => return Err(refuse(SyntheticError::IncompleteType, first)),
            },
            false => match words.next() {
                Some(whole) => (first, whole),
                None => return Err(refuse(SyntheticError::Field, first)),
            },
        };
        let end = whole.iter().position(|byte| *byte == b'[');
        let (own, array) = whole
            .split_at_checked(end.unwrap_or(whole.len()))
            .unwrap_or_default();
        let Some(name) = name(own) else {
            return Err(refuse(SyntheticError::Name, whole));
        };
        let wrong = match array.is_empty() {
            true => refuse(SyntheticError::Type, ty),
            false => refuse(SyntheticError::Array, whole),
        };
        let unknown = refuse(SyntheticError::Type, ty);
        let (Ok(ty), Ok(array)) = (core::str::from_utf8(ty), core::str::from_utf8(array)) else {
            return Err(unknown);
        };
        let text = TypeText {
            is_unsigned,
            ty,
            array,
        };
        let kind = text.kind().map_err(|is_unknown| match is_unknown {
            true => unknown,
            false => wrong,
        })?;
        Ok(Self {
            is_unsigned,
            ty,
            name,
            array,
            kind,
        })
    }

    /// Appends type and name to `text`, which has `len` bytes, and returns where they are.
    ///
    /// # Errors
    ///
    /// That of `text`.
    pub(crate) fn write(
        &self,
        text: &mut dyn Write,
        len: usize,
    ) -> Result<SyntheticField, fmt::Error> {
        let parts = [
            if self.kind.is_dynamic() { DYNAMIC } else { "" },
            if self.is_unsigned { "unsigned " } else { "" },
            self.ty,
            self.array,
        ];
        let mut ty_len = 0usize;
        for part in parts {
            text.write_str(part)?;
            ty_len = ty_len.saturating_add(part.len());
        }
        text.write_str(self.name)?;
        let unsigned = parts.iter().find(|part| !part.is_empty());
        let is_unsigned = unsigned.is_some_and(|first| first.starts_with('u')) || self.ty == GFP;
        Ok(SyntheticField {
            at: len,
            ty_len,
            name_len: self.name.len(),
            kind: self.kind,
            is_signed: !is_unsigned,
        })
    }
}

/// The text of a type.
struct TypeText<'a> {
    is_unsigned: bool,
    ty: &'a str,
    array: &'a str,
}

impl TypeText<'_> {
    /// Returns the bytes but for `unsigned`.
    fn bytes(&self) -> impl Iterator<Item = u8> + Clone + '_ {
        Iterator::chain(self.ty.bytes(), self.array.bytes())
    }

    /// Returns what is after the first occurrence of `word`.
    fn after(&self, word: &str) -> Option<impl Iterator<Item = u8> + Clone + '_> {
        let mut rest = self.bytes();
        loop {
            let mut here = rest.clone();
            if word.bytes().all(|byte| here.next() == Some(byte)) {
                return Some(here);
            }
            rest.next()?;
        }
    }

    /// Returns what it is the type of; else whether it is unknown: it may have a wrong length as well.
    fn kind(&self) -> Result<SyntheticType, bool> {
        let of_name = |number: &&NumberType| match number.name.strip_prefix("unsigned ") {
            Some(name) => self.is_unsigned && self.ty == name,
            None => !self.is_unsigned && self.ty == number.name,
        };
        let number = NUMBERS.iter().find(of_name);
        if let (Some(number), true) = (number, self.array.is_empty()) {
            return Ok(SyntheticType::Number(number));
        }
        match (self.after("char["), self.after("long[")) {
            (Some(rest), _) => match self.string_size(rest).ok_or(false)? {
                0 => Ok(SyntheticType::DynamicChars),
                size => Ok(SyntheticType::Chars(size)),
            },
            (None, Some(_)) => Ok(SyntheticType::Stack),
            (None, None) => Err(true),
        }
    }

    /// Returns the length that a string has, of which `rest` follows its bracket; 0 for any.
    fn string_size(&self, rest: impl Iterator<Item = u8> + Clone) -> Option<u32> {
        let len = rest.clone().position(|byte| byte == b']')?;
        let is_first = self.bytes().filter(|byte| *byte == b']').count() == 1;
        let is_last = rest.clone().nth(len.saturating_add(1)).is_none();
        if !is_first || !is_last || len > 3 {
            return None;
        }
        let mut digits = [0; 3];
        for (place, byte) in digits.iter_mut().zip(rest) {
            *place = byte;
        }
        let digits = digits.get(..len)?;
        if digits.is_empty() {
            return Some(0);
        }
        let size = number::parse_c(digits).ok()?;
        u32::try_from(size)
            .ok()
            .filter(|size| *size as usize <= ROOM)
    }
}

/// A field of an event: where its type and its name are in the text of the definition, and what it holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyntheticField {
    at: usize,
    ty_len: usize,
    name_len: usize,
    pub(crate) kind: SyntheticType,
    pub(crate) is_signed: bool,
}

impl SyntheticField {
    /// Returns the type, as formats have it; `text` is that of the definition.
    pub(crate) fn ty<'a>(&self, text: &'a str) -> &'a str {
        let end = self.at.saturating_add(self.ty_len);
        text.get(self.at..end).unwrap_or_default()
    }

    /// Returns the name.
    pub(crate) fn name<'a>(&self, text: &'a str) -> &'a str {
        let at = self.at.saturating_add(self.ty_len);
        let end = at.saturating_add(self.name_len);
        text.get(at..end).unwrap_or_default()
    }

    /// Returns the type, as the definition has it.
    pub(crate) fn defined_ty<'a>(&self, text: &'a str) -> &'a str {
        let ty = self.ty(text);
        ty.strip_prefix(DYNAMIC).unwrap_or(ty)
    }

    /// Returns whether it takes a value of the type `ty`, of `size` bytes, as an argument of an action: a string
    /// of any length takes strings, a stack stacks, and other fields what has the same size and sign.
    pub(crate) fn takes(
        &self,
        text: &str,
        ty: &str,
        (size, is_signed): (u32, bool),
        is_stack: bool,
    ) -> bool {
        if ty.contains("char[") && self.kind == SyntheticType::DynamicChars {
            return true;
        }
        match (is_stack, self.kind) {
            (true, kind) => kind == SyntheticType::Stack,
            (false, SyntheticType::Stack) => false,
            (false, kind) => {
                let same_sign = kind.is_string() || self.is_signed == is_signed;
                ty == self.ty(text) || size == kind.size() && same_sign
            }
        }
    }

    /// Returns its declaration, and the bytes without a name that follow it in a record.
    pub(super) fn declared<'a>(&self, text: &'a str) -> [DeclaredField<'a>; 2] {
        let size = self.kind.size();
        let field = DeclaredField {
            ty: self.ty(text),
            name: self.name(text),
            size,
            align: SLOT as u32,
            len: 0,
            signed: self.is_signed,
        };
        let rest = DeclaredField {
            ty: "",
            name: "",
            size: (self.kind.room() as u32).saturating_sub(size),
            align: 1,
            len: 0,
            signed: false,
        };
        [field, rest]
    }
}
