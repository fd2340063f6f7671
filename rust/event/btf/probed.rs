// SPDX-License-Identifier: GPL-2.0

//! The values that a probe of a function can name: its parameters, what it returns, and the members of what
//! these point to.

use super::{
    functions::{
        Prototype,
        SIGNED, //
    },
    word,
    Btf,
    Type,
    ARRAY,
    ENUM,
    ENUM64,
    FUNC_PROTO,
    INT,
    MEMBER,
    PARAM,
    PTR,
    STRUCT,
    UNION, //
};

/// Most nameless structs and unions inside of a struct that are looked into, as in ftrace.
const NAMELESS: usize = 16;

/// Bytes of a value of an enumeration: those of a name and of a word, or of two words.
const ENUMERATOR: usize = 8;
const WIDE_ENUMERATOR: usize = 12;

/// A type, by its number; 0 is `void`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TypeNumber(u32);

impl TypeNumber {
    pub(crate) const VOID: Self = Self(0);
}

/// What a value of a type is for a probe.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ProbedForm {
    Integer { signed: bool, bits: u32 },
    Enumeration,
    WideEnumeration,
    Pointer(TypeNumber),
    Array(TypeNumber),
    Struct,
    Other,
}

/// A member of a struct.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ProbedMember {
    pub(crate) ty: TypeNumber,
    /// Where it begins, in bits after the start of the struct.
    pub(crate) bit: u32,
    /// Bits of a bit field; 0 if it is none.
    pub(crate) width: u32,
}

impl<'a> Btf<'a> {
    /// Returns the first function of that name; one of the module when this is a module's BTF.
    pub(crate) fn function(&self, name: &str) -> Option<Prototype> {
        let mut found = None;
        let visited = self.functions(|known, prototype| {
            if found.is_none() && known == name {
                found = Some(prototype);
            }
        });
        found.filter(|_| visited.is_ok())
    }

    /// Returns the first struct of that name: the kernel's, or else the module's when this is a module's BTF.
    pub(crate) fn structure(&self, name: &str) -> Option<TypeNumber> {
        let mut before = 0u32;
        for home in Iterator::chain(self.base.into_iter(), [self]) {
            for (offset, number) in home.index.iter().zip(1u32..) {
                let (ty, _) = home.sections.type_at(*offset as usize).ok()?;
                if ty.kind == STRUCT && home.is_string(ty.name, name) {
                    return Some(TypeNumber(before.saturating_add(number)));
                }
            }
            before = home.index.len() as u32;
        }
        None
    }

    /// Returns names and types of the parameters of a function, in their order. One without a name has an empty
    /// one.
    pub(crate) fn parameters(
        self,
        prototype: Prototype,
    ) -> impl Iterator<Item = (&'a str, TypeNumber)> {
        let proto = self.numbered(prototype.0).ok();
        let proto = proto.filter(|proto| proto.kind == FUNC_PROTO);
        let extra = proto.map_or(&[][..], |proto| proto.extra);
        extra.chunks_exact(PARAM).map(move |bytes| {
            let name = word(bytes, 0).ok().and_then(|name| self.name(name));
            let ty = word(bytes, 4).unwrap_or(0);
            (name.unwrap_or_default(), TypeNumber(ty))
        })
    }

    /// Returns the type of what a function returns; `None` if that is nothing.
    pub(crate) fn returned(&self, prototype: Prototype) -> Option<TypeNumber> {
        let proto = self.numbered(prototype.0).ok()?;
        (proto.size_or_type != 0).then_some(TypeNumber(proto.size_or_type))
    }

    /// Returns what a value of that type is.
    pub(crate) fn probed_form(&self, ty: TypeNumber) -> ProbedForm {
        let Ok(ty) = self.resolve(ty.0) else {
            return ProbedForm::Other;
        };
        match ty.kind {
            INT => {
                let encoding = word(ty.extra, 0).unwrap_or(0);
                ProbedForm::Integer {
                    signed: encoding & SIGNED != 0,
                    bits: encoding & 0xff,
                }
            }
            ENUM => ProbedForm::Enumeration,
            ENUM64 => ProbedForm::WideEnumeration,
            PTR => ProbedForm::Pointer(TypeNumber(ty.size_or_type)),
            ARRAY => ProbedForm::Array(TypeNumber(word(ty.extra, 0).unwrap_or(0))),
            STRUCT | UNION => ProbedForm::Struct,
            _ => ProbedForm::Other,
        }
    }

    /// Returns whether the values of an enumeration have a sign, and their size in bytes; `None` if the type is none.
    pub(crate) fn enumeration(&self, ty: TypeNumber) -> Option<(bool, u32)> {
        let ty = self.resolve(ty.0).ok()?;
        matches!(ty.kind, ENUM | ENUM64).then_some((ty.flag, ty.size_or_type))
    }

    /// Returns the values of an enumeration, each with its name, in their order. Those without sign have none.
    pub(crate) fn enumerators(self, ty: TypeNumber) -> impl Iterator<Item = (u64, &'a str)> {
        let ty = self.resolve(ty.0).ok();
        let ty = ty.filter(|ty| matches!(ty.kind, ENUM | ENUM64));
        let (signed, extra, each) = match ty {
            Some(ty) if ty.kind == ENUM => (ty.flag, ty.extra, ENUMERATOR),
            Some(ty) => (ty.flag, ty.extra, WIDE_ENUMERATOR),
            None => (false, &[][..], ENUMERATOR),
        };
        extra.chunks_exact(each).filter_map(move |bytes| {
            let low = word(bytes, 4).ok()?;
            let value = match word(bytes, 8) {
                Ok(high) => (u64::from(high) << 32) | u64::from(low),
                Err(_) if signed => i64::from(low as i32) as u64,
                Err(_) => low.into(),
            };
            Some((value, self.name(word(bytes, 0).ok()?)?))
        })
    }

    /// Returns the member `name` of a struct or union, also of a nameless one in it: its own come first.
    pub(crate) fn probed_member(&self, ty: TypeNumber, name: &str) -> Option<ProbedMember> {
        let mut inside = [(TypeNumber(0), 0u32); NAMELESS];
        let mut count = 0usize;
        let (mut ty, mut start) = (ty, 0u32);
        // Each round takes one, and a struct is not in itself.
        for _ in 0..NAMELESS.saturating_mul(NAMELESS) {
            let outer = self.resolve(ty.0).ok()?;
            for (called, member) in self.members(&outer) {
                let member = ProbedMember {
                    bit: start.saturating_add(member.bit),
                    ..member
                };
                if !self.is_string(called, "") {
                    if self.is_string(called, name) {
                        return Some(member);
                    }
                    continue;
                }
                let is_outer = self.probed_form(member.ty) == ProbedForm::Struct;
                if let (true, Some(place)) = (is_outer, inside.get_mut(count)) {
                    *place = (member.ty, member.bit);
                    count = count.saturating_add(1);
                }
            }
            count = count.checked_sub(1)?;
            (ty, start) = *inside.get(count)?;
        }
        None
    }

    /// Calls `take` with the name of each integer, enumeration and pointer in a struct or union, in their order; also of
    /// nameless ones in it, as many inside each other as `depth` says.
    pub(crate) fn scalar_members(self, ty: TypeNumber, depth: u32, take: &mut dyn FnMut(&'a str)) {
        let Ok(outer) = self.resolve(ty.0) else {
            return;
        };
        for (called, member) in self.members(&outer) {
            let Some(name) = self.name(called) else {
                continue;
            };
            match (name, self.probed_form(member.ty)) {
                ("", ProbedForm::Struct) => {
                    if let Some(depth) = depth.checked_sub(1) {
                        self.scalar_members(member.ty, depth, take);
                    }
                }
                ("", _) => {}
                (_, ProbedForm::Integer { bits: ..=64, .. })
                | (_, ProbedForm::Enumeration | ProbedForm::WideEnumeration)
                | (_, ProbedForm::Pointer(_)) => take(name),
                _ => {}
            }
        }
    }

    /// Returns the members of a struct or union with the places of their names.
    fn members(&self, ty: &Type<'a>) -> impl Iterator<Item = (u32, ProbedMember)> + 'a {
        let flag = ty.flag;
        let extra = match ty.kind {
            STRUCT | UNION => ty.extra,
            _ => &[],
        };
        extra.chunks_exact(MEMBER).filter_map(move |bytes| {
            let offset = word(bytes, 8).ok()?;
            let (bit, width) = match flag {
                true => (offset & 0xff_ffff, offset >> 24),
                false => (offset, 0),
            };
            let ty = TypeNumber(word(bytes, 4).ok()?);
            Some((word(bytes, 0).ok()?, ProbedMember { ty, bit, width }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            builder::{cut_and_flip, Builder},
            count, BtfError, CONST, FUNC, TYPEDEF,
        },
        *,
    };

    /// Types 1 to 9, then the prototype of the function `f`.
    fn sample() -> Vec<u8> {
        let mut b = Builder::new();
        b.ty("int", INT, 0, false, 4);
        b.words(&[SIGNED | 32]);
        b.ty("char", INT, 0, false, 1);
        b.words(&[8]);
        b.ty("", PTR, 0, false, 2);
        b.ty("", CONST, 0, false, 1);
        b.ty("pid_t", TYPEDEF, 0, false, 4);
        // Number 6: nameless, with a bit field.
        b.ty("", UNION, 2, true, 4);
        b.member("a", 1, 0);
        b.member("b", 1, 5 | 3 << 24);
        b.ty("outer", STRUCT, 4, false, 24);
        b.member("pid", 5, 0);
        b.member("", 6, 32);
        b.member("text", 8, 64);
        b.member("next", 9, 128);
        b.ty("", ARRAY, 0, false, 0);
        b.words(&[2, 1, 8]);
        b.ty("", PTR, 0, false, 7);
        b.ty("", FUNC_PROTO, 3, false, 5);
        for (name, ty) in [("first", 5), ("", 3), ("outer", 9)] {
            let name = b.string(name);
            b.words(&[name, ty]);
        }
        b.ty("f", FUNC, 0, false, 10);
        b.ty("", FUNC_PROTO, 0, false, 0);
        b.ty("g", FUNC, 0, false, 12);
        b.build()
    }

    #[test]
    fn parameters_and_members() {
        let bytes = sample();
        let mut index = vec![0; count(&bytes).unwrap()];
        let btf = Btf::new(&bytes, &mut index).unwrap();
        let f = btf.function("f").unwrap();
        let parameters: Vec<_> = btf.parameters(f).collect();
        let names: Vec<_> = parameters.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["first", "", "outer"]);
        let int = ProbedForm::Integer {
            signed: true,
            bits: 32,
        };
        assert_eq!(btf.probed_form(parameters[0].1), int);
        assert_eq!(btf.returned(f).map(|ty| btf.probed_form(ty)), Some(int));
        let g = btf.function("g").unwrap();
        assert_eq!((btf.returned(g), btf.parameters(g).count()), (None, 0));
        assert_eq!(btf.function("h"), None);
        let ProbedForm::Pointer(outer) = btf.probed_form(parameters[2].1) else {
            panic!("no pointer");
        };
        assert_eq!(btf.probed_form(outer), ProbedForm::Struct);
        let member = |name| {
            let member = btf.probed_member(outer, name)?;
            Some((member.bit, member.width, btf.probed_form(member.ty)))
        };
        assert_eq!(member("pid"), Some((0, 0, int)));
        assert_eq!(member("a"), Some((32, 0, int)));
        assert_eq!(member("b"), Some((37, 3, int)));
        let text = member("text").unwrap();
        assert_eq!((text.0, text.2), (64, ProbedForm::Array(TypeNumber(2))));
        assert_eq!(member("c"), None);
        assert_eq!(btf.structure("outer"), Some(TypeNumber(7)));
        assert_eq!(btf.structure("int"), None);
        assert_eq!(btf.probed_member(parameters[0].1, "a"), None);
        assert_eq!(btf.probed_form(TypeNumber(0)), ProbedForm::Other);
        assert_eq!(btf.probed_form(TypeNumber(99)), ProbedForm::Other);
    }

    #[test]
    fn enumerators_have_the_size_and_the_sign_of_their_type() {
        let mut b = Builder::new();
        let names: Vec<_> = ["A", "B"].iter().map(|name| b.string(name)).collect();
        b.ty("narrow", ENUM, 2, false, 1);
        b.words(&[names[0], 200, names[1], u32::MAX]);
        b.ty("signed", ENUM, 1, true, 4);
        b.words(&[names[1], u32::MAX]);
        b.ty("wide", ENUM64, 2, true, 8);
        b.words(&[names[0], 1, 2, names[1], u32::MAX, u32::MAX]);
        b.ty("name", TYPEDEF, 0, false, 3);
        b.ty("int", INT, 0, false, 4);
        b.words(&[SIGNED | 32]);
        let bytes = b.build();
        let mut index = vec![0; count(&bytes).unwrap()];
        let btf = Btf::new(&bytes, &mut index).unwrap();
        let all = |ty| -> Vec<_> { btf.enumerators(TypeNumber(ty)).collect() };
        assert_eq!(all(1), [(200, "A"), (u32::MAX.into(), "B")]);
        assert_eq!(all(2), [(u64::MAX, "B")]);
        assert_eq!(all(4), [(1 | 2 << 32, "A"), (u64::MAX, "B")]);
        assert_eq!((all(5), all(99)), (vec![], vec![]));
        let of = |ty| btf.enumeration(TypeNumber(ty));
        assert_eq!((of(1), of(2)), (Some((false, 1)), Some((true, 4))));
        assert_eq!((of(4), of(5), of(0)), (Some((true, 8)), None, None));
    }

    #[test]
    fn no_cut_and_no_flipped_byte_panics() {
        cut_and_flip(&sample(), |bytes| {
            let mut index = vec![0; count(bytes).unwrap_or(0)];
            let btf = Btf::new(bytes, &mut index)?;
            let f = btf.function("f").ok_or(BtfError::NoMember)?;
            let (_, last) = btf.parameters(f).last().ok_or(BtfError::NoMember)?;
            let ProbedForm::Pointer(outer) = btf.probed_form(last) else {
                return Err(BtfError::OtherType);
            };
            let member = btf.probed_member(outer, "b");
            member.map(|member| member.bit).ok_or(BtfError::NoMember)
        });
    }
}
