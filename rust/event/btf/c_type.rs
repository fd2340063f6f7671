// SPDX-License-Identifier: GPL-2.0

//! The text of a type in C, for the `field:` lines of raw events.
//!
//! What no reader of those lines needs is left out: `volatile`, `restrict`, tags, and `const` of a
//! pointer itself. A pointer to what has no short name, such as a function or a struct without a
//! name, is one to `void`.

use super::{
    Btf,
    BtfError,
    ARRAY,
    CONST,
    ENUM,
    ENUM64,
    FLOAT,
    FUNC_PROTO,
    FWD,
    INT,
    MODIFIERS,
    PTR,
    RESTRICT,
    STRUCT,
    TYPEDEF,
    TYPE_TAG,
    UNION,
    VOLATILE, //
};
use core::fmt;

/// A type that `{}` writes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct CType<'a> {
    constant: bool,
    /// `struct` and the like.
    keyword: Option<&'static str>,
    name: &'a str,
    pointers: u8,
}

impl fmt::Display for CType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.constant {
            f.write_str("const ")?;
        }
        if let Some(keyword) = self.keyword {
            write!(f, "{keyword} ")?;
        }
        f.write_str(self.name)?;
        if self.pointers != 0 {
            f.write_str(" ")?;
        }
        (0..self.pointers).try_for_each(|_| f.write_str("*"))
    }
}

impl<'a> Btf<'a> {
    /// Returns type `number`. Fails with [`BtfError::OtherType`] when it has no short name and is
    /// not pointed to, with [`BtfError::Malformed`] when its modifiers are a loop or a number is
    /// wrong.
    pub(super) fn c_type(&self, mut number: u32) -> Result<CType<'a>, BtfError> {
        let mut constant = false;
        let mut pointers = 0u8;
        for _ in 0..MODIFIERS {
            let named = |keyword, name| {
                Ok(CType {
                    constant,
                    keyword,
                    name,
                    pointers,
                })
            };
            if number == 0 {
                return named(None, "void");
            }
            let ty = self.numbered(number)?;
            let keyword = match ty.kind {
                PTR => {
                    pointers = pointers.saturating_add(1);
                    constant = false;
                    number = ty.size_or_type;
                    continue;
                }
                CONST => {
                    constant = true;
                    number = ty.size_or_type;
                    continue;
                }
                VOLATILE | RESTRICT | TYPE_TAG => {
                    number = ty.size_or_type;
                    continue;
                }
                INT | TYPEDEF | FLOAT => None,
                STRUCT => Some("struct"),
                UNION => Some("union"),
                FWD if ty.flag => Some("union"),
                FWD => Some("struct"),
                ENUM | ENUM64 => Some("enum"),
                ARRAY | FUNC_PROTO if pointers != 0 => return named(None, "void"),
                _ => return Err(BtfError::OtherType),
            };
            return match self.type_name(&ty) {
                Some(name) => named(keyword, name),
                None if pointers != 0 => named(None, "void"),
                None if keyword == Some("enum") => named(None, "int"),
                None => Err(BtfError::OtherType),
            };
        }
        Err(BtfError::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{builder::Builder, count, INT},
        *,
    };

    #[test]
    fn types_are_written_as_in_c() {
        let mut b = Builder::new();
        b.ty("unsigned int", INT, 0, false, 4);
        b.words(&[32]);
        b.ty("task", STRUCT, 0, false, 8);
        b.ty("", CONST, 0, false, 2);
        b.ty("", PTR, 0, false, 3);
        b.ty("", CONST, 0, false, 4);
        b.ty("", PTR, 0, false, 5);
        b.ty("pid_t", TYPEDEF, 0, false, 1);
        b.ty("", VOLATILE, 0, false, 7);
        b.ty("", PTR, 0, false, 0);
        // Number 10.
        b.ty("", FUNC_PROTO, 0, false, 1);
        b.ty("", PTR, 0, false, 10);
        b.ty("", STRUCT, 0, false, 8);
        b.ty("", PTR, 0, false, 12);
        b.ty("u", FWD, 0, true, 0);
        b.ty("", PTR, 0, false, 14);
        b.ty("colour", ENUM, 0, false, 4);
        b.ty("loop", CONST, 0, false, 17);
        b.ty("", ENUM, 0, false, 4);
        b.ty("not a name", TYPEDEF, 0, false, 1);
        // Number 20.
        b.ty("user", TYPE_TAG, 0, false, 7);
        b.ty("", PTR, 0, false, 20);
        let bytes = b.build();
        let mut index = vec![0; count(&bytes).unwrap()];
        let btf = Btf::new(&bytes, &mut index).unwrap();
        let rows = [
            (0, "void"),
            (1, "unsigned int"),
            (2, "struct task"),
            (3, "const struct task"),
            (4, "const struct task *"),
            (5, "const struct task *"),
            (6, "const struct task **"),
            (7, "pid_t"),
            (8, "pid_t"),
            (9, "void *"),
            (11, "void *"),
            (13, "void *"),
            (15, "union u *"),
            (16, "enum colour"),
            (18, "int"),
            (21, "pid_t *"),
        ];
        for (number, want) in rows {
            assert_eq!(btf.c_type(number).unwrap().to_string(), want, "{number}");
        }
        assert_eq!(btf.c_type(10), Err(BtfError::OtherType));
        assert_eq!(btf.c_type(12), Err(BtfError::OtherType));
        assert_eq!(btf.c_type(17), Err(BtfError::Malformed));
        assert_eq!(btf.c_type(19), Err(BtfError::OtherType));
        assert_eq!(btf.c_type(99), Err(BtfError::Malformed));
    }
}
