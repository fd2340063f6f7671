// SPDX-License-Identifier: GPL-2.0

//! A reader of BTF, the compact type information that the kernel carries of itself: where this very
//! kernel keeps a member of a struct that no public header defines.
//!
//! `sources` asks it when rtrace or another module is loaded, `kapi::clock` for the clock's
//! variables. Nothing in the bytes is trusted: a wrong length, offset or type number ends in an
//! error.
//!
//! BTF is a header, an array of types of varying length and a table of strings. Types refer to
//! each other by number, so finding one by number needs an index, whose memory the caller brings.
//! The BTF of a module continues where the kernel's ends: its first own type and its first own
//! string have the next numbers.
//!
//! [`functions`] has the parameters of functions, `arguments` prints what they got, [`probed`] what a probe can
//! name of them, [`variables`] the places of variables, [`c_type`] the text of a type.

mod arguments;
pub(crate) mod c_type;
pub(crate) mod functions;
pub(crate) mod probed;
pub(crate) mod variables;

/// The reason why BTF has no answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BtfError {
    /// The bytes are not BTF, or end too early.
    Malformed,
    /// A kind of type that this reader does not know the length of.
    UnknownKind,
    /// No struct of this name.
    NoStruct,
    /// The struct has no such member.
    NoMember,
    /// No variable of this name in the section, or several.
    NoVariable,
    /// The member does not have the [`BtfShape`] that was asked for.
    OtherType,
}

impl BtfError {
    /// Returns the sentence for the kernel log.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "the kernel's BTF is malformed",
            Self::UnknownKind => "the kernel's BTF has types of an unknown kind",
            Self::NoStruct => "the struct is not in the kernel's BTF",
            Self::NoMember => "the struct has no such member",
            Self::NoVariable => "the variable is not in the kernel's BTF",
            Self::OtherType => "the member has another type",
        }
    }
}

/// The form that the reader of a member expects it to have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BtfShape {
    /// An integer or an enumeration of that many bytes.
    Int(u32),
    /// A pointer.
    Ptr,
    /// An array, whose place is that of its first element.
    Array,
    /// A bit field of one bit.
    Bit,
}

/// A question for the place of a member, and its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    /// The struct's name.
    name: &'a str,
    member: &'a str,
    shape: BtfShape,
    /// Distance from the start of the struct, in bits for [`BtfShape::Bit`], else in bytes.
    pub(crate) place: Result<u32, BtfError>,
}

impl<'a> Question<'a> {
    pub(crate) fn new(name: &'a str, member: &'a str, shape: BtfShape) -> Self {
        Self {
            name,
            member,
            shape,
            place: Err(BtfError::NoStruct),
        }
    }
}

use functions::{
    Prototype,
    SIGNED, //
};

const MAGIC: u16 = 0xeb9f;
const VERSION: u8 = 1;

/// `struct btf_header` as far as every version has it.
const HEADER: usize = 24;
/// `struct btf_type`: name, info, size or type.
const TYPE: usize = 12;
/// `struct btf_member`: name, type, offset.
const MEMBER: usize = 12;
/// `struct btf_param`: name, type; and `struct btf_enum`: name, value.
const PARAM: usize = 8;
/// `struct btf_var_secinfo`: type, offset, size.
const SECTION_VAR: usize = 12;

const INT: u8 = 1;
const PTR: u8 = 2;
const ARRAY: u8 = 3;
const STRUCT: u8 = 4;
const UNION: u8 = 5;
const ENUM: u8 = 6;
const FWD: u8 = 7;
const TYPEDEF: u8 = 8;
const VOLATILE: u8 = 9;
const CONST: u8 = 10;
const RESTRICT: u8 = 11;
const FUNC: u8 = 12;
const FUNC_PROTO: u8 = 13;
const VAR: u8 = 14;
const DATASEC: u8 = 15;
const FLOAT: u8 = 16;
const TYPE_TAG: u8 = 18;
const ENUM64: u8 = 19;

/// Most modifiers around one type; more of them are a loop.
const MODIFIERS: usize = 32;

/// Most structs inside each other that are searched.
const STRUCTS: usize = 8;

/// One type: its head, and the bytes that its kind adds.
#[derive(Clone, Copy)]
struct Type<'a> {
    name: u32,
    kind: u8,
    /// For a struct: whether members hold a bit field's width next to their offset.
    flag: bool,
    /// Size in bytes, or the number of another type.
    size_or_type: u32,
    extra: &'a [u8],
}

/// The sections of a piece of BTF.
#[derive(Clone, Copy)]
struct Sections<'a> {
    types: &'a [u8],
    strings: &'a [u8],
}

/// BTF with an index of its types.
#[derive(Clone, Copy)]
pub(crate) struct Btf<'a> {
    sections: Sections<'a>,
    /// Offset of type number `1 + i`, after those of `base`.
    index: &'a [u32],
    /// For a module: the kernel's BTF.
    base: Option<&'a Btf<'a>>,
}

/// Returns the number of types in `bytes`: the length that [`Btf::new`] needs for its index. Fails
/// with [`BtfError::Malformed`] or [`BtfError::UnknownKind`].
pub(crate) fn count(bytes: &[u8]) -> Result<usize, BtfError> {
    let mut number = 0usize;
    Sections::new(bytes)?.walk(|_| {
        number = number.wrapping_add(1);
        Ok(())
    })?;
    Ok(number)
}

impl<'a> Btf<'a> {
    /// Reads `bytes`; `index` has room for [`count`] entries. Fails as `count` does, and with
    /// [`BtfError::Malformed`] when `index` is too short.
    pub(crate) fn new(bytes: &'a [u8], index: &'a mut [u32]) -> Result<Self, BtfError> {
        let sections = Sections::new(bytes)?;
        let mut number = 0usize;
        sections.walk(|offset| {
            let slot = index.get_mut(number).ok_or(BtfError::Malformed)?;
            *slot = u32::try_from(offset).map_err(|_| BtfError::Malformed)?;
            number = number.wrapping_add(1);
            Ok(())
        })?;
        let index = index.get(..number).ok_or(BtfError::Malformed)?;
        Ok(Self {
            sections,
            index,
            base: None,
        })
    }

    /// Returns the BTF of the same `bytes` again, with the index that [`Btf::new`] filled. Fails
    /// with [`BtfError::Malformed`] when the header is wrong.
    pub(crate) fn indexed(bytes: &'a [u8], index: &'a [u32]) -> Result<Self, BtfError> {
        Ok(Self {
            sections: Sections::new(bytes)?,
            index,
            base: None,
        })
    }

    /// Returns this BTF as that of a module of the kernel that `base` belongs to.
    pub(crate) fn of_module(self, base: &'a Btf<'a>) -> Self {
        Self {
            base: Some(base),
            ..self
        }
    }

    /// Answers all `questions` in one pass over the types.
    ///
    /// When several structs have the name asked for, the first with such a member counts. Fails
    /// when a type cannot be read; the error of a single question is in its `place`.
    pub(crate) fn answer(&self, questions: &mut [Question<'_>]) -> Result<(), BtfError> {
        for &offset in self.index {
            let (ty, _) = self.sections.type_at(offset as usize)?;
            if ty.kind != STRUCT {
                continue;
            }
            for question in questions.iter_mut() {
                let open = matches!(question.place, Err(BtfError::NoStruct | BtfError::NoMember));
                if open && self.is_string(ty.name, question.name) {
                    question.place = self.place_in(&ty, question.member, question.shape, STRUCTS);
                }
            }
        }
        Ok(())
    }

    /// Returns the place of `path`, a member's name or the names of nested members with dots
    /// between them, at most `depth` structs down. A member of a nameless struct or union counts
    /// as the outer's own, and an array on the way stands for its first element.
    fn place_in(
        &self,
        ty: &Type<'_>,
        path: &str,
        shape: BtfShape,
        depth: usize,
    ) -> Result<u32, BtfError> {
        let depth = depth.checked_sub(1).ok_or(BtfError::Malformed)?;
        let (name, inner) = match path.split_once('.') {
            Some((name, inner)) => (name, Some(inner)),
            None => (path, None),
        };
        for bytes in ty.extra.chunks_exact(MEMBER) {
            let called = word(bytes, 0)?;
            let nameless = self.is_string(called, "");
            if !nameless && !self.is_string(called, name) {
                continue;
            }
            let offset = word(bytes, 8)?;
            let (bit, width) = match ty.flag {
                true => (offset & 0xff_ffff, offset >> 24),
                false => (offset, 0),
            };
            let mut target = self.resolve(word(bytes, 4)?)?;
            let inside = match (nameless, inner) {
                (true, _) => path,
                (false, Some(inner)) => inner,
                (false, None) => return place_of(&target, bit, width, shape),
            };
            if target.kind == ARRAY && !nameless {
                target = self.resolve(word(target.extra, 0)?)?;
            }
            if !matches!(target.kind, STRUCT | UNION) {
                if nameless {
                    continue;
                }
                return Err(BtfError::OtherType);
            }
            match self.place_in(&target, inside, shape, depth) {
                Err(BtfError::NoMember) if nameless => continue,
                place => return outer_place(bit, place?, shape),
            }
        }
        Err(BtfError::NoMember)
    }

    /// Returns type `number` without its typedefs and qualifiers. Fails with
    /// [`BtfError::Malformed`] when there are more than [`MODIFIERS`].
    fn resolve(&self, mut number: u32) -> Result<Type<'a>, BtfError> {
        for _ in 0..MODIFIERS {
            let ty = self.numbered(number)?;
            match ty.kind {
                TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG => number = ty.size_or_type,
                _ => return Ok(ty),
            }
        }
        Err(BtfError::Malformed)
    }

    /// Returns type `number`; numbers begin with 1, as 0 is `void`.
    fn numbered(&self, number: u32) -> Result<Type<'a>, BtfError> {
        let index = number.checked_sub(1).ok_or(BtfError::Malformed)? as usize;
        let (home, index) = match self.base {
            None => (self, index),
            Some(base) => match index.checked_sub(base.index.len()) {
                None => (base, index),
                Some(own) => (self, own),
            },
        };
        let offset = home.index.get(index).ok_or(BtfError::Malformed)?;
        Ok(home.sections.type_at(*offset as usize)?.0)
    }

    /// Returns the string table from `offset` on.
    fn strings_from(&self, offset: u32) -> Option<&'a [u8]> {
        let offset = offset as usize;
        let (strings, offset) = match self.base {
            None => (self.sections.strings, offset),
            Some(base) => match offset.checked_sub(base.sections.strings.len()) {
                None => (base.sections.strings, offset),
                Some(own) => (self.sections.strings, own),
            },
        };
        strings.get(offset..)
    }

    /// Returns whether the string at `offset` is `text`.
    fn is_string(&self, offset: u32, text: &str) -> bool {
        self.strings_from(offset)
            .and_then(|rest| rest.strip_prefix(text.as_bytes()))
            .is_some_and(|behind| behind.first() == Some(&0))
    }

    /// Returns the string at `offset` if it is a name in C.
    fn name(&self, offset: u32) -> Option<&'a str> {
        let rest = self.strings_from(offset)?;
        let length = rest.iter().position(|&byte| byte == 0)?;
        let name = rest.get(..length)?;
        is_name(name)
            .then(|| core::str::from_utf8(name).ok())
            .flatten()
    }

    /// Returns the name of a type; an integer's may have several words.
    fn type_name(&self, ty: &Type<'a>) -> Option<&'a str> {
        if ty.kind != INT {
            return self.name(ty.name);
        }
        let rest = self.strings_from(ty.name)?;
        let length = rest.iter().position(|&byte| byte == 0)?;
        let name = rest.get(..length)?;
        name.split(|&byte| byte == b' ')
            .all(is_name)
            .then(|| core::str::from_utf8(name).ok())
            .flatten()
    }
}

impl<'a> Sections<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, BtfError> {
        let magic = u16::from_le_bytes(array(bytes, 0)?);
        let [version] = array(bytes, 2)?;
        let header = word(bytes, 4)? as usize;
        if magic != MAGIC || version != VERSION || header < HEADER {
            return Err(BtfError::Malformed);
        }
        let body = bytes.get(header..).ok_or(BtfError::Malformed)?;
        Ok(Self {
            types: part(body, word(bytes, 8)?, word(bytes, 12)?)?,
            strings: part(body, word(bytes, 16)?, word(bytes, 20)?)?,
        })
    }

    /// Calls `visit` with the offset of each type, in the order of their numbers.
    fn walk(&self, mut visit: impl FnMut(usize) -> Result<(), BtfError>) -> Result<(), BtfError> {
        let mut offset = 0;
        while offset < self.types.len() {
            visit(offset)?;
            // Progress: a type is at least as long as its head.
            (_, offset) = self.type_at(offset)?;
        }
        Ok(())
    }

    /// Returns the type at `offset`, and the offset of the next one.
    fn type_at(&self, offset: usize) -> Result<(Type<'a>, usize), BtfError> {
        let head = self.types.get(offset..).ok_or(BtfError::Malformed)?;
        let info = word(head, 4)?;
        let count = (info & 0xff_ffff) as usize;
        let kind = ((info >> 24) & 0x7f) as u8;
        // The bytes that follow the head of each kind: once, and per element.
        let (once, each) = match kind {
            INT | VAR | 17 => (4, 0),
            ARRAY => (12, 0),
            STRUCT | UNION => (0, MEMBER),
            ENUM | FUNC_PROTO => (0, PARAM),
            DATASEC => (0, SECTION_VAR),
            ENUM64 => (0, 12),
            PTR | FWD..=FUNC | FLOAT | TYPE_TAG => (0, 0),
            _ => return Err(BtfError::UnknownKind),
        };
        let length = count
            .checked_mul(each)
            .and_then(|bytes| bytes.checked_add(once))
            .ok_or(BtfError::Malformed)?;
        let extra = part_at(head, TYPE, length)?;
        let next = offset.wrapping_add(TYPE).wrapping_add(length);
        let ty = Type {
            name: word(head, 0)?,
            kind,
            flag: info >> 31 != 0,
            size_or_type: word(head, 8)?,
            extra,
        };
        Ok((ty, next))
    }
}

/// Returns the place of a member that begins `bit` bits after the start of its struct. Fails with
/// [`BtfError::OtherType`] when it does not have that shape.
fn place_of(target: &Type<'_>, bit: u32, width: u32, shape: BtfShape) -> Result<u32, BtfError> {
    let fits = match shape {
        BtfShape::Int(size) => {
            width == 0 && matches!(target.kind, INT | ENUM | ENUM64) && target.size_or_type == size
        }
        BtfShape::Ptr => target.kind == PTR,
        BtfShape::Array => target.kind == ARRAY,
        BtfShape::Bit => width == 1 && target.kind == INT,
    };
    match shape {
        _ if !fits => Err(BtfError::OtherType),
        BtfShape::Bit => Ok(bit),
        _ if bit % 8 == 0 => Ok(bit / 8),
        _ => Err(BtfError::OtherType),
    }
}

/// Returns the place in the outer struct of what is at `place` in a struct that begins `bit` bits
/// after the outer one's start.
fn outer_place(bit: u32, place: u32, shape: BtfShape) -> Result<u32, BtfError> {
    let start = match shape {
        BtfShape::Bit => bit,
        _ if bit % 8 == 0 => bit / 8,
        _ => return Err(BtfError::OtherType),
    };
    start.checked_add(place).ok_or(BtfError::Malformed)
}

/// Returns whether `word` is a name in C.
fn is_name(word: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    word.first().is_some_and(|first| !first.is_ascii_digit()) && word.iter().all(fits)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], BtfError> {
    part_at(bytes, at, N)?
        .try_into()
        .map_err(|_| BtfError::Malformed)
}

fn word(bytes: &[u8], at: usize) -> Result<u32, BtfError> {
    array(bytes, at).map(u32::from_le_bytes)
}

fn part(bytes: &[u8], at: u32, length: u32) -> Result<&[u8], BtfError> {
    part_at(bytes, at as usize, length as usize)
}

fn part_at(bytes: &[u8], at: usize, length: usize) -> Result<&[u8], BtfError> {
    at.checked_add(length)
        .and_then(|end| bytes.get(at..end))
        .ok_or(BtfError::Malformed)
}

#[cfg(test)]
pub(crate) mod builder;

#[cfg(test)]
mod tests {
    use super::{
        builder::{cut_and_flip, Builder},
        *,
    };

    /// One type of each kind, and the structs that the tests ask for.
    fn sample() -> Vec<u8> {
        let mut b = Builder::new();
        b.ty("int", INT, 0, false, 4);
        b.words(&[32]);
        b.ty("", PTR, 0, false, 1);
        b.ty("", ARRAY, 0, false, 0);
        b.words(&[1, 1, 24]);
        b.ty("colour", ENUM, 2, false, 4);
        b.words(&[0, 0, 0, 1]);
        b.ty("other", 5, 1, false, 4);
        b.member("i", 1, 0);
        b.ty("", CONST, 0, false, 1);
        b.ty("flags_t", TYPEDEF, 0, false, 6);
        // Number 8.
        b.ty("pool", STRUCT, 5, false, 64);
        b.member("lock", 1, 0);
        b.member("cpu", 7, 32);
        b.member("next", 2, 64);
        b.member("name", 3, 128);
        b.member("colour", 4, 320);
        b.ty("fwd", 7, 0, false, 0);
        b.ty("f", 12, 0, false, 11);
        b.ty("", 13, 1, false, 1);
        b.words(&[0, 1]);
        b.ty("v", 14, 0, false, 1);
        b.words(&[0]);
        b.ty(".data", 15, 1, false, 4);
        b.words(&[12, 0, 4]);
        b.ty("float", 16, 0, false, 4);
        b.ty("tag", 17, 0, false, 1);
        b.words(&[0]);
        b.ty("user", TYPE_TAG, 0, false, 1);
        b.ty("big", ENUM64, 1, false, 8);
        b.words(&[0, 0, 0]);
        b.ty("work", STRUCT, 3, true, 16);
        b.member("pages", 1, 0);
        b.member("sync", 1, 33 | 1 << 24);
        b.member("wide", 1, 34 | 2 << 24);
        // A second struct of a name.
        b.ty("pool", STRUCT, 1, false, 4);
        b.member("late", 1, 0);
        // Types that refer to themselves, and to nothing.
        b.ty("loop", TYPEDEF, 0, false, 20);
        b.ty("bad", STRUCT, 2, false, 4);
        b.member("loop", 20, 0);
        b.member("none", 99, 0);
        // Number 22.
        b.ty("", UNION, 2, false, 24);
        b.member("hash", 3, 0);
        b.member("flags", 1, 0);
        b.ty("info", STRUCT, 4, false, 80);
        b.member("work", 18, 64);
        b.member("", 1, 192);
        b.member("", 22, 256);
        b.member("own", 1, 512);
        b.ty("deep", STRUCT, 1, false, 4);
        b.member("", 24, 0);
        b.build()
    }

    fn place(name: &str, member: &str, shape: BtfShape) -> Result<u32, BtfError> {
        let bytes = sample();
        let mut index = vec![0; count(&bytes).unwrap()];
        let mut questions = [Question::new(name, member, shape)];
        Btf::new(&bytes, &mut index)?.answer(&mut questions)?;
        questions[0].place
    }

    #[test]
    fn members_are_found_and_checked() {
        use BtfError::*;
        use BtfShape::*;
        let rows = [
            ("pool", "lock", Int(4), Ok(0)),
            ("pool", "cpu", Int(4), Ok(4)),
            ("pool", "cpu", Int(8), Err(OtherType)),
            ("pool", "cpu", Ptr, Err(OtherType)),
            ("pool", "next", Ptr, Ok(8)),
            ("pool", "next", Int(8), Err(OtherType)),
            ("pool", "name", Array, Ok(16)),
            ("pool", "name", Ptr, Err(OtherType)),
            ("pool", "colour", Int(4), Ok(40)),
            ("pool", "colour", Bit, Err(OtherType)),
            ("pool", "late", Int(4), Ok(0)),
            ("pool", "gone", Int(4), Err(NoMember)),
            ("poo", "cpu", Int(4), Err(NoStruct)),
            ("pools", "cpu", Int(4), Err(NoStruct)),
            ("other", "i", Int(4), Err(NoStruct)),
            ("work", "pages", Int(4), Ok(0)),
            ("work", "sync", Bit, Ok(33)),
            ("work", "sync", Int(4), Err(OtherType)),
            ("work", "wide", Bit, Err(OtherType)),
            ("bad", "loop", Int(4), Err(Malformed)),
            ("bad", "none", Int(4), Err(Malformed)),
            ("info", "work.pages", Int(4), Ok(8)),
            ("info", "work.sync", Bit, Ok(97)),
            ("info", "work.gone", Int(4), Err(NoMember)),
            ("info", "work", Int(4), Err(OtherType)),
            ("info", "hash", Array, Ok(32)),
            ("info", "flags", Int(4), Ok(32)),
            ("info", "own", Int(4), Ok(64)),
            ("info", "own.pages", Int(4), Err(OtherType)),
            ("info", "gone.pages", Int(4), Err(NoMember)),
            ("deep", "gone", Int(4), Err(Malformed)),
        ];
        for (name, member, shape, want) in rows {
            assert_eq!(
                place(name, member, shape),
                want,
                "{name}.{member} {shape:?}"
            );
        }
    }

    #[test]
    fn no_cut_and_no_flipped_byte_panics() {
        let bytes = sample();
        let ask = |bytes: &[u8]| {
            let mut index = vec![0; count(bytes).unwrap_or(0)];
            let mut questions = [Question::new("work", "sync", BtfShape::Bit)];
            Btf::new(bytes, &mut index)?.answer(&mut questions)?;
            questions[0].place
        };
        assert_eq!(ask(&bytes), Ok(33));
        cut_and_flip(&bytes, ask);
    }

    #[test]
    fn headers_that_are_not_ours_are_refused() {
        let bytes = sample();
        for (at, value) in [(0, 0), (1, 0x9f), (2, 2), (4, 23)] {
            let mut broken = bytes.clone();
            broken[at] = value;
            assert_eq!(count(&broken), Err(BtfError::Malformed), "byte {at}");
        }
    }

    #[test]
    fn an_index_that_is_too_short_is_refused() {
        let bytes = sample();
        let mut index = vec![0; count(&bytes).unwrap() - 1];
        assert!(Btf::new(&bytes, &mut index).is_err());
    }
}
