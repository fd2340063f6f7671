// SPDX-License-Identifier: GPL-2.0

//! The place of a kernel's variable in its section, and of a member in it.
//!
//! The kernel's BTF has its per-CPU variables, also those that are not exported.

use super::{
    word,
    Btf,
    BtfError,
    BtfShape,
    DATASEC,
    SECTION_VAR,
    STRUCT,
    STRUCTS,
    VAR, //
};

/// A variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    /// Bytes from the start of its section.
    pub(crate) offset: u32,
    /// Its bytes; all of them are inside its section.
    pub(crate) size: u32,
    /// The number of its type.
    ty: u32,
}

impl Btf<'_> {
    /// Returns the variable `name` of `section`. Fails with [`BtfError::NoVariable`] when there is
    /// none, or more than one, and with [`BtfError::Malformed`] when the section cannot be read.
    pub(crate) fn variable(&self, section: &str, name: &str) -> Result<Variable, BtfError> {
        let mut found = Err(BtfError::NoVariable);
        for &offset in self.index {
            let (ty, _) = self.sections.type_at(offset as usize)?;
            if ty.kind != DATASEC || !self.is_string(ty.name, section) {
                continue;
            }
            for bytes in ty.extra.chunks_exact(SECTION_VAR) {
                let variable = self.numbered(word(bytes, 0)?)?;
                if variable.kind != VAR {
                    return Err(BtfError::Malformed);
                }
                if !self.is_string(variable.name, name) {
                    continue;
                }
                if found.is_ok() {
                    return Err(BtfError::NoVariable);
                }
                let (offset, size) = (word(bytes, 4)?, word(bytes, 8)?);
                match offset.checked_add(size) {
                    Some(end) if end <= ty.size_or_type => {}
                    _ => return Err(BtfError::Malformed),
                }
                found = Ok(Variable {
                    offset,
                    size,
                    ty: variable.size_or_type,
                });
            }
        }
        found
    }

    /// Returns the place of `path` in a variable that is a struct. Path and place are those of
    /// [`Question`](super::Question). Fails with [`BtfError::OtherType`] when it is no struct, and
    /// as an answer to a question does.
    pub(crate) fn place_in_variable(
        &self,
        variable: &Variable,
        path: &str,
        shape: BtfShape,
    ) -> Result<u32, BtfError> {
        let ty = self.resolve(variable.ty)?;
        if ty.kind != STRUCT {
            return Err(BtfError::OtherType);
        }
        self.place_in(&ty, path, shape, STRUCTS)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            builder::{cut_and_flip, Builder},
            count, ARRAY, INT, TYPEDEF,
        },
        *,
    };

    /// A latch in a section with a number, and sections that are wrong in one way each.
    fn sample() -> Vec<u8> {
        let mut b = Builder::new();
        b.ty("u32", INT, 0, false, 4);
        b.words(&[32]);
        b.ty("u64", INT, 0, false, 8);
        b.words(&[64]);
        b.ty("set", STRUCT, 3, false, 16);
        b.member("mul", 1, 0);
        b.member("shift", 1, 32);
        b.member("offset", 2, 64);
        b.ty("", ARRAY, 0, false, 0);
        b.words(&[3, 1, 2]);
        // Number 5.
        b.ty("", STRUCT, 1, false, 4);
        b.member("sequence", 1, 0);
        b.ty("count_t", TYPEDEF, 0, false, 5);
        b.ty("", STRUCT, 1, false, 4);
        b.member("count", 6, 0);
        b.ty("latch_t", TYPEDEF, 0, false, 7);
        b.ty("latch", STRUCT, 2, false, 40);
        b.member("data", 4, 0);
        b.member("seq", 8, 256);
        // Number 10.
        b.ty("", ARRAY, 0, false, 0);
        b.words(&[4, 1, 2]);
        // Number 11.
        for (name, ty) in [("latch", 9), ("number", 1), ("twice", 1), ("twice", 1)] {
            b.ty(name, VAR, 0, false, ty);
            b.words(&[0]);
        }
        // Number 15.
        b.ty("loop", TYPEDEF, 0, false, 15);
        for (name, ty) in [
            ("looped", 15),
            ("typeless", 99),
            ("alone", 1),
            ("array", 10),
        ] {
            b.ty(name, VAR, 0, false, ty);
            b.words(&[1]);
        }
        b.ty("right", DATASEC, 7, false, 400);
        for row in [[11, 320, 40], [12, 360, 4], [13, 0, 4], [14, 4, 4]] {
            b.words(&row);
        }
        b.words(&[16, 364, 4, 17, 368, 4, 19, 372, 8]);
        b.ty("long", DATASEC, 2, false, 400);
        b.words(&[11, 360, 41, 12, u32::MAX, 4]);
        b.ty("no variable", DATASEC, 1, false, 400);
        b.words(&[9, 0, 40]);
        b.ty("no type", DATASEC, 1, false, 400);
        b.words(&[99, 0, 40]);
        b.ty("half", DATASEC, 1, false, 40);
        b.words(&[18, 0, 4]);
        b.ty("half", DATASEC, 1, false, 40);
        b.words(&[18, 8, 4]);
        b.ty("empty", DATASEC, 0, false, 0);
        b.build()
    }

    fn with<R>(bytes: &[u8], f: impl FnOnce(&Btf<'_>) -> R) -> Result<R, BtfError> {
        let mut index = vec![0; count(bytes)?];
        Ok(f(&Btf::new(bytes, &mut index)?))
    }

    #[test]
    fn variables_are_found_in_their_section() {
        use BtfError::*;
        let rows = [
            ("right", "latch", Ok((320, 40))),
            ("right", "number", Ok((360, 4))),
            ("right", "looped", Ok((364, 4))),
            ("right", "typeless", Ok((368, 4))),
            ("right", "twice", Err(NoVariable)),
            ("right", "latc", Err(NoVariable)),
            ("right", "latches", Err(NoVariable)),
            ("right", "alone", Err(NoVariable)),
            ("righ", "latch", Err(NoVariable)),
            ("latch", "latch", Err(NoVariable)),
            ("long", "latch", Err(Malformed)),
            ("long", "number", Err(Malformed)),
            ("no variable", "latch", Err(Malformed)),
            ("no type", "latch", Err(Malformed)),
            ("half", "alone", Err(NoVariable)),
            ("empty", "alone", Err(NoVariable)),
        ];
        let bytes = sample();
        for (section, name, want) in rows {
            let found = with(&bytes, |btf| btf.variable(section, name)).unwrap();
            let found = found.map(|variable| (variable.offset, variable.size));
            assert_eq!(found, want, "{section} {name}");
        }
    }

    #[test]
    fn members_of_variables_are_found_and_checked() {
        use BtfError::*;
        use BtfShape::*;
        let rows = [
            ("latch", "data", Array, Ok(0)),
            ("latch", "data.mul", Int(4), Ok(0)),
            ("latch", "data.shift", Int(4), Ok(4)),
            ("latch", "data.offset", Int(8), Ok(8)),
            ("latch", "seq.count.sequence", Int(4), Ok(32)),
            ("latch", "data.offset", Int(4), Err(OtherType)),
            ("latch", "data.gone", Int(4), Err(NoMember)),
            ("latch", "data.mul.bit", Int(4), Err(OtherType)),
            ("latch", "seq.count", Int(4), Err(OtherType)),
            ("latch", "", Int(4), Err(NoMember)),
            ("number", "data", Array, Err(OtherType)),
            ("array", "data", Array, Err(OtherType)),
            ("looped", "data", Array, Err(Malformed)),
            ("typeless", "data", Array, Err(Malformed)),
        ];
        let bytes = sample();
        for (name, path, shape, want) in rows {
            let found = with(&bytes, |btf| {
                btf.place_in_variable(&btf.variable("right", name)?, path, shape)
            });
            assert_eq!(found.unwrap(), want, "{name}.{path}");
        }
    }

    #[test]
    fn no_cut_and_no_flipped_byte_panics() {
        let bytes = sample();
        let ask = |bytes: &[u8]| {
            with(bytes, |btf| {
                let latch = btf.variable("right", "latch")?;
                assert!(latch.offset.checked_add(latch.size).is_some());
                btf.place_in_variable(&latch, "seq.count.sequence", BtfShape::Int(4))
            })?
        };
        assert_eq!(ask(&bytes), Ok(32));
        cut_and_flip(&bytes, ask);
    }
}
