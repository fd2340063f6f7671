// SPDX-License-Identifier: GPL-2.0

//! The parameters of functions, and how they are passed.
//!
//! On x86-64 an integer, an enumeration, a pointer, and a struct or union that fits into one
//! register each take one register, or 8 bytes of the stack. The bytes above the value's own are
//! not defined. Everything else is [`ParameterForm::Other`].

use super::{
    c_type::CType,
    word,
    Btf,
    BtfError,
    ENUM,
    ENUM64,
    FUNC,
    FUNC_PROTO,
    INT,
    MEMBER,
    PARAM,
    PTR,
    STRUCT,
    UNION, //
};

/// Most structs inside each other that are looked into.
const NESTED: u32 = 4;

/// The bit of an integer's encoding that marks it as signed.
pub(super) const SIGNED: u32 = 1 << 24;

/// A prototype, by the number of its type.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Prototype(pub(super) u32);

/// The way in which a value is passed. The numbers are sizes in bytes: 1, 2, 4 or 8.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ParameterForm {
    Signed(u8),
    Unsigned(u8),
    Pointer,
    /// As a struct or union that is passed like an integer.
    Value(u8),
    /// Not in one register.
    Other,
}

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param<'a> {
    /// `None` when the parameter has no name.
    pub(crate) name: Option<&'a str>,
    ty: u32,
    pub(crate) form: ParameterForm,
}

impl<'a> Btf<'a> {
    /// Calls `visit` with the name and the prototype of each function, the kernel's not included
    /// when this is a module's BTF. Fails when a type cannot be read.
    pub(crate) fn functions(
        &self,
        mut visit: impl FnMut(&'a str, Prototype),
    ) -> Result<(), BtfError> {
        for &offset in self.index {
            let (ty, _) = self.sections.type_at(offset as usize)?;
            if ty.kind != FUNC {
                continue;
            }
            if let Some(name) = self.name(ty.name) {
                visit(name, Prototype(ty.size_or_type));
            }
        }
        Ok(())
    }

    /// Returns the parameters of a function in their order. Fails with [`BtfError::OtherType`] when
    /// `prototype` is none.
    pub(crate) fn params(
        self,
        prototype: Prototype,
    ) -> Result<impl Iterator<Item = Result<Param<'a>, BtfError>>, BtfError> {
        let proto = self.numbered(prototype.0)?;
        if proto.kind != FUNC_PROTO {
            return Err(BtfError::OtherType);
        }
        Ok(proto.extra.chunks_exact(PARAM).map(move |bytes| {
            let ty = word(bytes, 4)?;
            Ok(Param {
                name: self.name(word(bytes, 0)?),
                ty,
                form: self.form(ty)?,
            })
        }))
    }

    /// Returns the text of a parameter's type. Fails as `c_type` does.
    pub(crate) fn type_of(&self, param: &Param<'_>) -> Result<CType<'a>, BtfError> {
        self.c_type(param.ty)
    }

    fn form(&self, number: u32) -> Result<ParameterForm, BtfError> {
        if number == 0 {
            // The three dots of a variadic function.
            return Ok(ParameterForm::Other);
        }
        let ty = self.resolve(number)?;
        let size = match ty.size_or_type {
            size @ (1 | 2 | 4 | 8) => size as u8,
            _ => 0,
        };
        Ok(match ty.kind {
            PTR => ParameterForm::Pointer,
            _ if size == 0 => ParameterForm::Other,
            INT if word(ty.extra, 0)? & SIGNED != 0 => ParameterForm::Signed(size),
            INT => ParameterForm::Unsigned(size),
            ENUM | ENUM64 if ty.flag => ParameterForm::Signed(size),
            ENUM | ENUM64 => ParameterForm::Unsigned(size),
            STRUCT | UNION if self.is_integral(number, 0, NESTED)? => ParameterForm::Value(size),
            _ => ParameterForm::Other,
        })
    }

    /// Returns whether a value that begins `bit` bits after the start of an aligned struct
    /// consists of integers and pointers at their natural places. A struct with others is passed
    /// in memory or in other registers.
    fn is_integral(&self, number: u32, bit: u32, depth: u32) -> Result<bool, BtfError> {
        let ty = self.resolve(number)?;
        let aligned =
            |bytes: u32| bytes.is_power_of_two() && (bit / 8) & bytes.wrapping_sub(1) == 0;
        match ty.kind {
            INT | ENUM | ENUM64 => Ok(aligned(ty.size_or_type)),
            PTR => Ok(aligned(8)),
            STRUCT | UNION => {
                let Some(depth) = depth.checked_sub(1) else {
                    return Ok(false);
                };
                for bytes in ty.extra.chunks_exact(MEMBER) {
                    let offset = word(bytes, 8)?;
                    let (offset, width) = match ty.flag {
                        true => (offset & 0xff_ffff, offset >> 24),
                        false => (offset, 0),
                    };
                    // A bit field is inside an aligned integer.
                    let at = if width == 0 { offset } else { 0 };
                    if at % 8 != 0
                        || !self.is_integral(word(bytes, 4)?, bit.wrapping_add(at), depth)?
                    {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{builder::Builder, count, ARRAY, CONST, FLOAT, TYPEDEF},
        *,
    };

    /// Types 1 to 19, and functions that take them.
    fn build(parameters: &[(&str, u32)]) -> Vec<u8> {
        let mut b = Builder::new();
        b.ty("int", INT, 0, false, 4);
        b.words(&[SIGNED | 32]);
        b.ty("u8", INT, 0, false, 1);
        b.words(&[8]);
        b.ty("__int128", INT, 0, false, 16);
        b.words(&[128]);
        b.ty("", PTR, 0, false, 0);
        b.ty("colour", ENUM, 0, false, 4);
        b.ty("balance", ENUM, 0, true, 4);
        b.ty("pte", STRUCT, 1, false, 8);
        b.member("pte", 8, 0);
        // Number 8.
        b.ty("u64", INT, 0, false, 8);
        b.words(&[64]);
        b.ty("", STRUCT, 2, false, 4);
        b.member("a", 2, 0);
        b.member("b", 2, 8);
        b.ty("state", UNION, 2, false, 4);
        b.member("value", 1, 0);
        b.member("", 9, 0);
        b.ty("packed", STRUCT, 2, false, 8);
        b.member("a", 2, 0);
        b.member("b", 1, 8);
        b.ty("two", STRUCT, 2, false, 16);
        b.member("a", 8, 0);
        b.member("b", 8, 64);
        // Number 13.
        b.ty("float", FLOAT, 0, false, 4);
        b.ty("f", STRUCT, 1, false, 4);
        b.member("f", 13, 0);
        b.ty("", CONST, 0, false, 1);
        b.ty("pid_t", TYPEDEF, 0, false, 15);
        b.ty("bits", STRUCT, 2, true, 4);
        b.member("a", 1, 3 << 24);
        b.member("b", 1, 3 | 4 << 24);
        // Number 18: in itself.
        b.ty("deep", STRUCT, 1, false, 8);
        b.member("deep", 18, 0);
        b.ty("", ARRAY, 0, false, 0);
        b.words(&[2, 1, 4]);
        // Number 20.
        b.ty("", FUNC_PROTO, parameters.len() as u32, false, 0);
        for &(name, ty) in parameters {
            let name = b.string(name);
            b.words(&[name, ty]);
        }
        b.ty("f", FUNC, 0, false, 20);
        b.ty("not a name", FUNC, 0, false, 20);
        b.ty("g", FUNC, 0, false, 1);
        b.build()
    }

    #[test]
    fn parameters_are_told_with_their_form() {
        use ParameterForm::*;
        let rows = [
            (1, Some(Signed(4))),
            (2, Some(Unsigned(1))),
            (3, Some(Other)),
            (4, Some(Pointer)),
            (5, Some(Unsigned(4))),
            (6, Some(Signed(4))),
            (7, Some(Value(8))),
            (8, Some(Unsigned(8))),
            (10, Some(Value(4))),
            (11, Some(Other)),
            (12, Some(Other)),
            (13, Some(Other)),
            (14, Some(Other)),
            (16, Some(Signed(4))),
            (17, Some(Value(4))),
            (18, Some(Other)),
            (19, Some(Other)),
            (0, Some(Other)),
            (99, None),
        ];
        for (ty, want) in rows {
            let bytes = build(&[("", 4), ("x", ty)]);
            let mut index = vec![0; count(&bytes).unwrap()];
            let btf = Btf::new(&bytes, &mut index).unwrap();
            let params: Vec<_> = btf.params(Prototype(20)).unwrap().collect();
            assert_eq!(params.len(), 2);
            assert_eq!(params[0].unwrap().name, None);
            assert_eq!(params[0].unwrap().form, Pointer);
            assert_eq!(params[1].ok().map(|param| param.form), want, "{ty}");
            if let Ok(param) = params[1] {
                assert_eq!(param.name, Some("x"));
            }
        }
    }

    #[test]
    fn functions_are_found_by_their_prototypes() {
        let bytes = build(&[]);
        let mut index = vec![0; count(&bytes).unwrap()];
        let btf = Btf::new(&bytes, &mut index).unwrap();
        let mut found = vec![];
        btf.functions(|name, proto| found.push((name, proto)))
            .unwrap();
        assert_eq!(found, [("f", Prototype(20)), ("g", Prototype(1))]);
        assert_eq!(btf.params(Prototype(20)).unwrap().count(), 0);
        assert!(btf.params(Prototype(1)).is_err());
        assert!(btf.params(Prototype(0)).is_err());
    }

    #[test]
    fn a_module_goes_on_where_the_kernel_ends() {
        let kernel = build(&[]);
        let mut index = vec![0; count(&kernel).unwrap()];
        let kernel = Btf::new(&kernel, &mut index).unwrap();
        let first = index_of_end(&kernel);

        let mut b = Builder::new();
        // Its own struct, a pointer to it, and a function that takes it and the kernel's `pid_t`.
        let at = kernel.sections.strings.len() as u32;
        let own = |b: &mut Builder, text: &str| at + b.string(text);
        let mine = own(&mut b, "mine");
        b.words(&[mine, u32::from(STRUCT) << 24, 0]);
        b.words(&[0, u32::from(PTR) << 24, first]);
        let (who, what) = (own(&mut b, "who"), own(&mut b, "what"));
        b.words(&[0, u32::from(FUNC_PROTO) << 24 | 2, 0]);
        b.words(&[what, first + 1, who, 16]);
        let probe = own(&mut b, "probe");
        b.words(&[probe, u32::from(FUNC) << 24, first + 2]);
        let bytes = b.build();
        let mut index = vec![0; count(&bytes).unwrap()];
        let module = Btf::new(&bytes, &mut index).unwrap().of_module(&kernel);

        let mut found = vec![];
        module
            .functions(|name, proto| found.push((name, proto)))
            .unwrap();
        assert_eq!(found, [("probe", Prototype(first + 2))]);
        let texts: Vec<_> = module
            .params(found[0].1)
            .unwrap()
            .map(|param| {
                let param = param.unwrap();
                format!(
                    "{} {}",
                    module.type_of(&param).unwrap(),
                    param.name.unwrap()
                )
            })
            .collect();
        assert_eq!(texts, ["struct mine * what", "pid_t who"]);
    }

    fn index_of_end(btf: &Btf<'_>) -> u32 {
        btf.index.len() as u32 + 1
    }
}
