// SPDX-License-Identifier: GPL-2.0

//! One field of a user event: its text, and its place in a record.
//!
//! Fields follow each other without gaps. What is a type is what the kernel takes for one, which compares the
//! text as it is written.

use super::WrongUserEvent;
use crate::{
    event::field::{
        DeclaredField,
        COMMON_SIZE, //
    },
    text::{
        number,
        word, //
    }, //
};
use core::ops::Range;

/// Most elements of an array of characters.
const LONGEST_ARRAY: u64 = 1024;
/// Most bytes from the bracket of an array to the end of its type.
const LONGEST_BOUND: usize = 7;

/// The types of numbers: bytes, and how one is printed.
const NUMBERS: [(&str, u32, &str); 14] = [
    ("s64", 8, "%lld"),
    ("u64", 8, "%llu"),
    ("s32", 4, "%d"),
    ("u32", 4, "%u"),
    ("int", 4, "%d"),
    ("unsigned int", 4, "%u"),
    ("s16", 2, "%d"),
    ("u16", 2, "%u"),
    ("short", 2, "%d"),
    ("unsigned short", 2, "%u"),
    ("s8", 1, "%d"),
    ("u8", 1, "%u"),
    ("char", 1, "%d"),
    ("unsigned char", 1, "%u"),
];

/// The words before types that consist of two words.
const PREFIXES: [&str; 6] = [
    "unsigned ",
    STRUCT,
    "__data_loc unsigned ",
    DATA_LOC,
    "__rel_loc unsigned ",
    REL_LOC,
];
const STRUCT: &str = "struct ";
const DATA_LOC: &str = "__data_loc ";
const REL_LOC: &str = "__rel_loc ";

/// A field. The text that has its type and its name is the one that it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserField {
    ty: Range<usize>,
    name: Range<usize>,
    /// Bytes of the field in a record.
    pub(crate) size: u32,
    /// Its place in a record, the common fields included.
    pub(crate) offset: u32,
}

/// Where the bytes are that a dynamic field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DynamicPlace {
    /// At an offset from the record's first byte.
    FromStart,
    /// At an offset from the byte after the field.
    FromWord,
}

/// Returns the size of a field of the type `ty` that says none itself.
fn size_of(ty: &str) -> Result<u32, WrongUserEvent> {
    if let Some((_, size, _)) = NUMBERS.iter().find(|(name, ..)| *name == ty) {
        return Ok(*size);
    }
    if ty.starts_with(DATA_LOC) || ty.starts_with(REL_LOC) {
        return Ok(4);
    }
    let chars = ty.strip_prefix("char[");
    let chars = chars.or_else(|| ty.strip_prefix("unsigned char["));
    let rest = chars.ok_or(WrongUserEvent)?;
    let (bound, _) = rest.split_once(']').ok_or(WrongUserEvent)?;
    let bound = bound.strip_prefix('+').unwrap_or(bound);
    let size = number::c_integer(bound.as_bytes(), false).ok_or(WrongUserEvent)?;
    match u32::try_from(size) {
        Ok(bytes) if (1..=LONGEST_ARRAY).contains(&size) && rest.len() <= LONGEST_BOUND => {
            Ok(bytes)
        }
        _ => Err(WrongUserEvent),
    }
}

/// Returns the size that a structure says.
fn said_size(text: &str) -> Result<u32, WrongUserEvent> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let size = number::digits(text.as_bytes(), 10).ok_or(WrongUserEvent)?;
    match u32::try_from(size) {
        Ok(size) if size != 0 => Ok(size),
        _ => Err(WrongUserEvent),
    }
}

impl UserField {
    /// Reads the field that is `part` of `text`, and comes at `offset` of a record; `None` if there is nothing.
    ///
    /// # Errors
    ///
    /// That it is none.
    pub(super) fn read(
        text: &str,
        part: Range<usize>,
        offset: u32,
    ) -> Result<Option<Self>, WrongUserEvent> {
        let field = text.get(part.clone()).ok_or(WrongUserEvent)?;
        let blanks = field
            .bytes()
            .take_while(|byte| word::is_ascii_space(*byte))
            .count();
        let field = field.get(blanks..).unwrap_or_default();
        if field.is_empty() {
            return Ok(None);
        }
        if field.bytes().any(|byte| byte.is_ascii_control()) {
            return Err(WrongUserEvent);
        }
        let mut prefixes = PREFIXES.iter();
        let prefix = prefixes.find(|prefix| field.starts_with(**prefix));
        let from = prefix.map_or(0, |prefix| prefix.len());
        let second = field.get(from..).unwrap_or_default();
        let len = second.find(' ').ok_or(WrongUserEvent)?;
        let (ty, rest) = field
            .split_at_checked(from.saturating_add(len))
            .ok_or(WrongUserEvent)?;
        let mut words = rest.split(' ').skip(1);
        let name = words.next().unwrap_or_default();
        let size = words.next();
        if ty.is_empty() || name.is_empty() || words.next().is_some() {
            return Err(WrongUserEvent);
        }
        let size = match size {
            Some(size) if ty.starts_with(STRUCT) => said_size(size)?,
            Some(_) => return Err(WrongUserEvent),
            None => size_of(ty)?,
        };
        // The kernel's numbers here are signed.
        let end = offset.checked_add(size).ok_or(WrongUserEvent)?;
        i32::try_from(end).map_err(|_| WrongUserEvent)?;
        let at = part.start.saturating_add(blanks);
        let name_at = at.saturating_add(ty.len()).saturating_add(1);
        Ok(Some(Self {
            ty: at..at.saturating_add(ty.len()),
            name: name_at..name_at.saturating_add(name.len()),
            size,
            offset,
        }))
    }

    /// Returns the type.
    pub(crate) fn ty<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.ty.clone()).unwrap_or_default()
    }

    /// Returns the name.
    pub(crate) fn name<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.name.clone()).unwrap_or_default()
    }

    /// Returns the size that its definition says, which only that of a structure does.
    pub(super) fn defined_size(&self, text: &str) -> Option<u32> {
        self.ty(text).starts_with(STRUCT).then_some(self.size)
    }

    /// Returns where the bytes of a dynamic field are.
    pub(crate) fn dynamic(&self, text: &str) -> Option<DynamicPlace> {
        match self.ty(text) {
            ty if ty.starts_with(DATA_LOC) => Some(DynamicPlace::FromStart),
            ty if ty.starts_with(REL_LOC) => Some(DynamicPlace::FromWord),
            _ => None,
        }
    }

    /// Returns whether a dynamic field has a string, which must end with a NUL.
    pub(crate) fn has_chars(&self, text: &str) -> bool {
        self.ty(text).contains("char")
    }

    /// Returns how a print format prints it.
    pub(super) fn conversion(&self, text: &str) -> &'static str {
        let ty = self.ty(text);
        match NUMBERS.iter().find(|(name, ..)| *name == ty) {
            Some((_, _, conversion)) => conversion,
            None if ty.contains("char[") => "%s",
            None => "%llu",
        }
    }

    /// Returns its declaration.
    pub(crate) fn declared<'a>(&self, text: &'a str) -> DeclaredField<'a> {
        let ty = self.ty(text);
        let is_array = ty.contains('[') && self.dynamic(text).is_none();
        DeclaredField {
            ty,
            name: self.name(text),
            size: self.size,
            align: 1,
            len: if is_array { self.size } else { 0 },
            signed: !ty.starts_with('u'),
        }
    }
}

/// Returns the offset of the first byte after `last`, the last field that there is yet.
pub(super) fn end_of(last: Option<&UserField>) -> u32 {
    last.map_or(COMMON_SIZE, |last| last.offset.saturating_add(last.size))
}
