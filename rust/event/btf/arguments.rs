// SPDX-License-Identifier: GPL-2.0

//! The text of the arguments of a function, of which the words in registers are known.
//!
//! An integer or a pointer takes one register, and so does what fits into one; what is larger takes two, or
//! none when it is larger than both. The text is that of ftrace, but for two things: a value is printed by
//! its own size, for the bytes above it are not defined, and what is not in registers has no number.

use super::{
    word,
    Btf,
    BtfError,
    Prototype,
    Type,
    ENUM,
    ENUM64,
    FLOAT,
    FUNC,
    FUNC_PROTO,
    INT,
    PARAM,
    PTR,
    SIGNED,
    STRUCT,
    UNION, //
};
use crate::text::writer::ByteWrite;
use core::fmt;

/// The bytes of a register.
const REGISTER: u32 = 8;

impl<'a> Btf<'a> {
    /// Calls `visit` with the place and the name of each function, as [`Btf::functions`] does.
    pub(crate) fn function_places(
        &self,
        mut visit: impl FnMut(u32, &'a str),
    ) -> Result<(), BtfError> {
        for (place, &offset) in (0..).zip(self.index) {
            let (ty, _) = self.sections.type_at(offset as usize)?;
            if let (FUNC, Some(name)) = (ty.kind, self.name(ty.name)) {
                visit(place, name);
            }
        }
        Ok(())
    }

    /// Returns the function at a place that [`Btf::function_places`] named, if it is called `name`.
    pub(crate) fn function_at(&self, place: u32, name: &str) -> Option<Prototype> {
        let offset = self.index.get(place as usize)?;
        let (ty, _) = self.sections.type_at(*offset as usize).ok()?;
        let is_it = ty.kind == FUNC && self.name(ty.name) == Some(name);
        is_it.then_some(Prototype(ty.size_or_type))
    }

    /// Writes the arguments of a function, without the parentheses, of which `registers` are the words in
    /// registers. What a malformed prototype has is left out.
    pub(crate) fn write_arguments(
        &self,
        prototype: Prototype,
        registers: &[u64],
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let proto = match self.numbered(prototype.0) {
            Ok(proto) if proto.kind == FUNC_PROTO => proto,
            _ => return Ok(()),
        };
        let mut rest = registers.iter().copied();
        for (at, bytes) in proto.extra.chunks_exact(PARAM).enumerate() {
            if at != 0 {
                out.write_str(", ")?;
            }
            if rest.len() == 0 {
                return out.write_str("...");
            }
            let name = word(bytes, 0).ok().and_then(|name| self.name(name));
            write!(out, "{}=", name.unwrap_or_default())?;
            // The three dots of a variadic function have no type.
            let ty = word(bytes, 4).and_then(|ty| self.resolve(ty));
            match ty {
                Ok(ty) => self.write_argument(&ty, &mut rest, out)?,
                Err(_) => write!(out, "?{:#x}", rest.next().unwrap_or(0))?,
            }
        }
        Ok(())
    }

    fn write_argument(
        &self,
        ty: &Type<'a>,
        registers: &mut impl ExactSizeIterator<Item = u64>,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let size = match ty.kind {
            PTR => REGISTER,
            _ => ty.size_or_type,
        };
        match ty.kind {
            PTR | INT | ENUM => {
                let value = registers.next().unwrap_or(0);
                let is_signed = match ty.kind {
                    INT => word(ty.extra, 0).is_ok_and(|encoding| encoding & SIGNED != 0),
                    kind => kind == ENUM && ty.flag,
                };
                let value = by_size(value, size, is_signed);
                match ty.kind {
                    ENUM => self.write_enum(ty, value, out),
                    _ if is_signed => write!(out, "{}", value as i64),
                    _ => write!(out, "{value:#x}"),
                }?;
                // An integer of 128 bits.
                (REGISTER..size).step_by(REGISTER as usize).for_each(|_| {
                    registers.next();
                });
                Ok(())
            }
            _ => write_words(ty.kind, size, registers, out),
        }
    }

    fn write_enum(&self, ty: &Type<'a>, value: u64, out: &mut dyn ByteWrite) -> fmt::Result {
        write!(out, "{}", value as i64)?;
        let is_it = |bytes: &[u8]| {
            let constant = word(bytes, 4).unwrap_or(0);
            by_size(u64::from(constant), 4, ty.flag) == value
        };
        let found = ty.extra.chunks_exact(PARAM).find(|bytes| is_it(bytes));
        let name = found.and_then(|bytes| self.name(word(bytes, 0).ok()?));
        name.map_or(Ok(()), |name| write!(out, " [{name}]"))
    }
}

/// Returns what `value` is for a type of `size` bytes.
fn by_size(value: u64, size: u32, is_signed: bool) -> u64 {
    let unused = 64u32.saturating_sub(size.saturating_mul(8));
    if size == 0 || unused == 0 {
        return value;
    }
    let high = value.wrapping_shl(unused);
    match is_signed {
        true => (high as i64).wrapping_shr(unused) as u64,
        false => high.wrapping_shr(unused),
    }
}

/// Writes a value that is no number: the kind of its type and its words.
fn write_words(
    kind: u8,
    size: u32,
    registers: &mut impl ExactSizeIterator<Item = u64>,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    let kind = match kind {
        STRUCT => "STRUCT",
        UNION => "UNION",
        ENUM64 => "ENUM64",
        FLOAT => "FLOAT",
        _ => "UNKNOWN",
    };
    let words = size.div_ceil(REGISTER).max(1) as usize;
    if words > 2 || words > registers.len() {
        return write!(out, "({kind})[...]");
    }
    write!(out, "({kind})[")?;
    for (at, value) in registers.take(words).enumerate() {
        let colon = if at == 0 { "" } else { ":" };
        write!(out, "{colon}{value:#x}")?;
    }
    out.write_str("]")
}

#[cfg(test)]
mod tests {
    use super::{
        super::{builder::Builder, count, CONST, TYPEDEF},
        *,
    };

    /// A parameter, or a constant of an enumeration.
    fn pair(b: &mut Builder, name: &str, number: u32) {
        let name = b.string(name);
        b.words(&[name, number]);
    }

    /// Types 1 to 9, then a prototype with `parameters` and a function of it.
    fn text(parameters: &[(&str, u32)], registers: &[u64]) -> String {
        let mut b = Builder::new();
        b.ty("int", INT, 0, false, 4);
        b.words(&[SIGNED | 32]);
        b.ty("unsigned char", INT, 0, false, 1);
        b.words(&[8]);
        b.ty("", PTR, 0, false, 0);
        b.ty("colour", ENUM, 2, false, 4);
        pair(&mut b, "RED", 0);
        pair(&mut b, "BLUE", 7);
        b.ty("balance", ENUM, 1, true, 4);
        pair(&mut b, "DEBT", u32::MAX);
        b.ty("two", STRUCT, 2, false, 16);
        b.member("a", 3, 0);
        b.member("b", 3, 64);
        b.ty("large", STRUCT, 1, false, 24);
        b.member("a", 3, 0);
        b.ty("", CONST, 0, false, 1);
        b.ty("pid_t", TYPEDEF, 0, false, 8);
        b.ty("", FUNC_PROTO, parameters.len() as u32, false, 0);
        for (name, ty) in parameters {
            pair(&mut b, name, *ty);
        }
        b.ty("f", FUNC, 0, false, 10);
        let bytes = b.build();
        let mut index = vec![0; count(&bytes).unwrap()];
        let btf = Btf::new(&bytes, &mut index).unwrap();
        let mut places = vec![];
        btf.function_places(|place, name| places.push((place, name)))
            .unwrap();
        assert_eq!(places, [(10, "f")]);
        assert_eq!(btf.function_at(10, "g"), None);
        assert_eq!(btf.function_at(9, "f"), None);
        let prototype = btf.function_at(10, "f").unwrap();
        let mut text = String::new();
        btf.write_arguments(prototype, registers, &mut text)
            .unwrap();
        text
    }

    #[test]
    fn values_are_printed_by_their_size() {
        let high = 0xffff_ffff_0000_0000;
        let rows: &[(&str, u32, u64, &str)] = &[
            ("i", 1, 5 | high, "i=5"),
            ("i", 1, 0xffff_ffff, "i=-1"),
            ("pid", 9, 0xffff_fffe, "pid=-2"),
            ("c", 2, 0x1ff, "c=0xff"),
            ("p", 3, high, "p=0xffffffff00000000"),
            ("e", 4, 7 | high, "e=7 [BLUE]"),
            ("e", 4, 5, "e=5"),
            ("e", 5, 0xffff_ffff, "e=-1 [DEBT]"),
            ("s", 7, 1, "s=(STRUCT)[...]"),
            ("", 0, 9, "=?0x9"),
        ];
        for (name, ty, value, expected) in rows {
            assert_eq!(text(&[(name, *ty)], &[*value; 6]), *expected);
        }
    }

    #[test]
    fn registers_are_used_up() {
        assert_eq!(text(&[], &[1; 6]), "");
        let ints: Vec<_> = ["a", "b", "c", "d", "e", "f", "g", "h"]
            .map(|name| (name, 1))
            .to_vec();
        let six = "a=1, b=2, c=3, d=4, e=5, f=6";
        assert_eq!(text(&ints[..6], &[1, 2, 3, 4, 5, 6]), six);
        assert_eq!(text(&ints, &[1, 2, 3, 4, 5, 6]), format!("{six}, ..."));
        let mixed = [("a", 1), ("s", 6), ("large", 7), ("b", 1)];
        assert_eq!(
            text(&mixed, &[1, 2, 3, 4, 5, 6]),
            "a=1, s=(STRUCT)[0x2:0x3], large=(STRUCT)[...], b=4"
        );
    }
}
