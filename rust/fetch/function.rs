// SPDX-License-Identifier: GPL-2.0

//! The function that a probe is on, as BTF describes it: names in arguments, and the types that follow from them.

use super::{
    error::{
        Code,
        ProbeError,
        ProbeRefusal, //
    },
    step::{
        FetchStep,
        StepList, //
    },
    types::{
        ArgumentType,
        BitField, //
    },
};
use crate::event::btf::{
    functions::Prototype,
    probed::{
        ProbedForm,
        TypeNumber, //
    },
    Btf, //
};

/// A function, with the parameters that a line can name.
#[derive(Clone, Copy)]
pub(crate) struct ProbedFunction<'a> {
    btf: Btf<'a>,
    prototype: Prototype,
    /// How many parameters come before them.
    hidden: usize,
}

/// A value whose type is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct TypedValue {
    ty: TypeNumber,
    /// Where it begins in the byte that is read.
    bit: u32,
    /// Bits of a bit field; 0 if it is none.
    width: u32,
}

impl TypedValue {
    /// Returns a whole value.
    fn whole(ty: TypeNumber) -> Self {
        Self {
            ty,
            bit: 0,
            width: 0,
        }
    }
}

/// A name, and what follows it after an arrow.
pub(super) struct FieldPath<'a> {
    pub(super) name: &'a str,
    /// The rest and its offset in the line.
    pub(super) fields: Option<(&'a str, usize)>,
}

impl<'a> FieldPath<'a> {
    /// Parses `NAME[->FIELD[->FIELD|.FIELD]...]` at `at`.
    pub(super) fn parse(text: &'a str, at: usize) -> Result<Self, ProbeRefusal> {
        let (name, fields) = match first_field(text, at)? {
            (name, None) => (name, None),
            (name, Some((true, rest, at))) => (name, Some((rest, at))),
            (_, Some((false, _, at))) => {
                let error = ProbeError::ValueStruct;
                return Err(ProbeRefusal::with(error, at, Code::Unsupported));
            }
        };
        Ok(Self { name, fields })
    }
}

/// What follows a name: whether after an arrow, the text and its offset.
type NextField<'a> = Option<(bool, &'a str, usize)>;

/// Cuts `text` at its first dot or arrow.
fn first_field(text: &str, at: usize) -> Result<(&str, NextField<'_>), ProbeRefusal> {
    let Some(end) = text.find(['.', '-']) else {
        return Ok((text, None));
    };
    let (name, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    let next = |rest: &str| at.saturating_add(text.len().saturating_sub(rest.len()));
    match (rest.strip_prefix("->"), rest.strip_prefix('.')) {
        (Some(rest), _) => Ok((name, Some((true, rest, next(rest))))),
        (_, Some(rest)) => Ok((name, Some((false, rest, next(rest))))),
        _ => Err(ProbeRefusal::new(ProbeError::Hyphen, next(rest))),
    }
}

impl<'a> ProbedFunction<'a> {
    /// Returns the function with that prototype, whose first `hidden` parameters cannot be named.
    pub(crate) fn new(btf: Btf<'a>, prototype: Prototype, hidden: usize) -> Self {
        Self {
            btf,
            prototype,
            hidden,
        }
    }

    fn parameters(&self) -> impl Iterator<Item = (&'a str, TypeNumber)> {
        self.btf.parameters(self.prototype).skip(self.hidden)
    }

    /// Returns the names of the parameters, in their order.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.parameters().map(|(name, _)| name)
    }

    /// Returns the place and the type of the parameter `name`.
    pub(super) fn parameter(&self, name: &str) -> Option<(u16, TypedValue)> {
        let mut places = (0u16..).zip(self.parameters());
        let (place, (_, ty)) = places.find(|(_, (known, _))| *known == name)?;
        Some((place, TypedValue::whole(ty)))
    }

    /// Returns the type of what it returns; `None` if that is nothing.
    pub(super) fn returned(&self) -> Option<TypedValue> {
        self.btf.returned(self.prototype).map(TypedValue::whole)
    }

    /// Compiles the fields `text` at `at` of what `value` points to. Returns what is in the last one, and where its
    /// name is.
    pub(super) fn fields(
        &self,
        mut value: TypedValue,
        (mut text, mut at): (&str, usize),
        steps: &mut StepList,
    ) -> Result<(TypedValue, usize), ProbeRefusal> {
        loop {
            let ProbedForm::Pointer(mut outer) = self.btf.probed_form(value.ty) else {
                return Err(ProbeRefusal::new(ProbeError::NoPointer, at));
            };
            let mut bit = 0u32;
            // Those with dots between them are in one struct.
            let next = loop {
                let (name, next) = first_field(text, at)?;
                if self.btf.probed_form(outer) != ProbedForm::Struct {
                    return Err(ProbeRefusal::new(ProbeError::BtfType, at));
                }
                let Some(member) = self.btf.probed_member(outer, name) else {
                    let error = ProbeError::NoField;
                    return Err(ProbeRefusal::with(error, at, Code::Missing));
                };
                bit = bit.saturating_add(member.bit);
                outer = member.ty;
                value = TypedValue {
                    ty: member.ty,
                    bit: bit % 8,
                    width: member.width,
                };
                match next {
                    Some((is_arrow, rest, place)) => {
                        (text, at) = (rest, place);
                        if is_arrow {
                            break true;
                        }
                    }
                    None => break false,
                }
            };
            let offset = i64::from(bit / 8);
            steps.push(FetchStep::Load {
                offset,
                user: false,
            });
            if steps.is_full() {
                return Err(ProbeRefusal::new(ProbeError::TooManySteps, at));
            }
            if !next {
                return Ok((value, at));
            }
        }
    }

    /// Returns the type of an argument that has this value and names none, and the bits of it.
    pub(super) fn argument_type(&self, value: TypedValue) -> (ArgumentType, BitField) {
        let ty = match self.btf.probed_form(value.ty) {
            ProbedForm::Enumeration => ArgumentType::Signed(4),
            ProbedForm::WideEnumeration => ArgumentType::Signed(8),
            ProbedForm::Integer { signed, bits } => match (signed, bits) {
                (true, 8) => ArgumentType::Signed(1),
                (true, 16) => ArgumentType::Signed(2),
                (true, 32) => ArgumentType::Signed(4),
                (true, 64) => ArgumentType::Signed(8),
                (true, _) => ArgumentType::DEFAULT,
                (false, 8) => ArgumentType::Unsigned(1),
                (false, 16) => ArgumentType::Unsigned(2),
                (false, 32) => ArgumentType::Unsigned(4),
                (false, _) => ArgumentType::Unsigned(8),
            },
            _ => ArgumentType::DEFAULT,
        };
        let bits = match value.width {
            0 => BitField::default(),
            width => BitField::within(value.bit, width, ty.size()),
        };
        (ty, bits)
    }

    /// Compiles what makes a string of this value: `None` if it is an array of characters, which is one.
    pub(super) fn text_step(
        &self,
        value: TypedValue,
        user: bool,
    ) -> Result<Option<FetchStep>, ProbeError> {
        let is_char = |ty| {
            self.btf.probed_form(ty)
                == ProbedForm::Integer {
                    signed: false,
                    bits: 8,
                }
        };
        match self.btf.probed_form(value.ty) {
            ProbedForm::Array(element) if is_char(element) => Ok(None),
            ProbedForm::Pointer(target) if is_char(target) => {
                Ok(Some(FetchStep::Load { offset: 0, user }))
            }
            _ => Err(ProbeError::NoText),
        }
    }
}
