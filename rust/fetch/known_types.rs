// SPDX-License-Identifier: GPL-2.0

//! What BTF knows of values: the fields of what they point to, and the types of arguments that follow.

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
    probed::{
        ProbedForm,
        ProbedMember,
        TypeNumber, //
    },
    Btf, //
};

/// Most nameless structs inside each other whose numbers are looked for.
const NESTED: u32 = 4;

/// The types that a line can name.
#[derive(Clone, Copy)]
pub(crate) struct KnownTypes<'a>(Btf<'a>);

/// What a path of fields begins at.
#[derive(Clone, Copy)]
pub(super) enum FieldsOrigin {
    /// What a value points to.
    Pointed(TypedValue),
    /// A struct that the value is the address of, or of something in it, so many bytes after its beginning.
    Struct { ty: TypeNumber, before: u32 },
}

/// A value whose type is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TypedValue {
    ty: TypeNumber,
    /// Where it begins in the byte that is read.
    bit: u32,
    /// Bits of a bit field; 0 if it is none.
    width: u32,
}

impl TypedValue {
    /// Returns a whole value.
    pub(super) fn whole(ty: TypeNumber) -> Self {
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

/// The last of the names with dots between them.
struct LastMember<'t> {
    /// Its bit counts from the beginning of the struct of the first one.
    member: ProbedMember,
    /// Offset of its name in the line.
    at: usize,
    /// What follows it after an arrow, and the offset of that.
    next: Option<(&'t str, usize)>,
}

impl<'a> KnownTypes<'a> {
    /// Returns those of `btf`.
    pub(crate) fn new(btf: Btf<'a>) -> Self {
        Self(btf)
    }

    /// Returns the struct of that name.
    pub(super) fn structure(&self, name: &str) -> Option<TypeNumber> {
        self.0.structure(name)
    }

    /// Returns how many bytes the member `text` at `at` is after the beginning of a struct.
    pub(super) fn offset_in(
        &self,
        ty: TypeNumber,
        text: &str,
        at: usize,
    ) -> Result<u32, ProbeRefusal> {
        let found = self.member(ty, text, at)?;
        // As in ftrace, where the next name begins.
        let end = found.next.map_or(found.at, |(_, at)| at);
        match found.next {
            _ if found.member.bit % 8 != 0 => {
                Err(ProbeRefusal::new(ProbeError::TypecastUnaligned, end))
            }
            Some(_) => {
                let arrow = end.saturating_sub(2);
                Err(ProbeRefusal::new(ProbeError::TypecastArrow, arrow))
            }
            None => Ok(found.member.bit / 8),
        }
    }

    /// Finds the names in `text` at `at` that are in one struct, the first one in `outer`.
    fn member<'t>(
        &self,
        mut outer: TypeNumber,
        mut text: &'t str,
        mut at: usize,
    ) -> Result<LastMember<'t>, ProbeRefusal> {
        let mut bit = 0u32;
        loop {
            let (name, next) = first_field(text, at)?;
            if self.0.probed_form(outer) != ProbedForm::Struct {
                return Err(ProbeRefusal::new(ProbeError::BtfType, at));
            }
            let Some(member) = self.0.probed_member(outer, name) else {
                let error = ProbeError::NoField;
                return Err(ProbeRefusal::with(error, at, Code::Missing));
            };
            bit = bit.saturating_add(member.bit);
            let next = match next {
                Some((false, rest, place)) => {
                    (outer, text, at) = (member.ty, rest, place);
                    continue;
                }
                Some((true, rest, place)) => Some((rest, place)),
                None => None,
            };
            let member = ProbedMember { bit, ..member };
            return Ok(LastMember { member, at, next });
        }
    }

    /// Compiles the fields `text` at `at`. Returns what is in the last one, and where its name is.
    pub(super) fn fields(
        &self,
        from: FieldsOrigin,
        (mut text, mut at): (&str, usize),
        steps: &mut StepList,
    ) -> Result<(TypedValue, usize), ProbeRefusal> {
        let mut from = from;
        loop {
            let (outer, before) = match from {
                FieldsOrigin::Struct { ty, before } => (ty, before),
                FieldsOrigin::Pointed(value) => match self.0.probed_form(value.ty) {
                    ProbedForm::Pointer(outer) => (outer, 0),
                    _ => return Err(ProbeRefusal::new(ProbeError::NoPointer, at)),
                },
            };
            let found = self.member(outer, text, at)?;
            let member = found.member;
            let value = TypedValue {
                ty: member.ty,
                bit: member.bit % 8,
                width: member.width,
            };
            steps.push(FetchStep::Load {
                offset: i64::from(member.bit / 8).saturating_sub(i64::from(before)),
                user: false,
            });
            // As in ftrace, where the next name begins.
            let end = found.next.map_or(found.at, |(_, at)| at);
            if steps.is_full() {
                return Err(ProbeRefusal::new(ProbeError::TooManySteps, end));
            }
            match found.next {
                Some((rest, place)) => {
                    (text, at, from) = (rest, place, FieldsOrigin::Pointed(value))
                }
                None => return Ok((value, found.at)),
            }
        }
    }

    /// Returns the type of an argument that has this value and names none, and the bits of it.
    pub(super) fn argument_type(&self, value: TypedValue) -> (ArgumentType, BitField) {
        let ty = match self.0.probed_form(value.ty) {
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
        (ty, self.bits(value, ty.size()))
    }

    /// Returns the type of the elements of an array, or that of the value itself.
    fn element(&self, value: TypedValue) -> TypeNumber {
        match self.0.probed_form(value.ty) {
            ProbedForm::Array(element) => element,
            _ => value.ty,
        }
    }

    /// Returns the type of an argument that is shown as the name of an error, of this value; `None` if it is no
    /// number.
    pub(super) fn error_type(&self, value: TypedValue) -> Option<ArgumentType> {
        match self.0.probed_form(self.element(value)) {
            ProbedForm::Pointer(_) => Some(ArgumentType::ErrorPointer),
            ProbedForm::Integer { bits: 64, .. } | ProbedForm::WideEnumeration => {
                Some(ArgumentType::Error(8))
            }
            ProbedForm::Integer { bits: 32, .. } | ProbedForm::Enumeration => {
                Some(ArgumentType::Error(4))
            }
            ProbedForm::Integer { bits: 16, .. } => Some(ArgumentType::Error(2)),
            _ => None,
        }
    }

    /// Returns the enumeration that the value is of, whether its values have a sign, and their size.
    pub(super) fn enumeration(&self, value: TypedValue) -> Option<(TypeNumber, bool, u8)> {
        let ty = self.element(value);
        let (signed, size) = self.0.enumeration(ty)?;
        matches!(size, 1 | 2 | 4 | 8).then_some((ty, signed, size as u8))
    }

    /// Calls `take` with the name of each number in the struct that the value points to. Returns whether it does.
    pub(super) fn scalars(&self, value: TypedValue, take: &mut dyn FnMut(&str)) -> bool {
        match self.0.probed_form(value.ty) {
            ProbedForm::Pointer(outer) if self.0.probed_form(outer) == ProbedForm::Struct => {
                self.0.scalar_members(outer, NESTED, take);
                true
            }
            _ => false,
        }
    }

    /// Returns the bits of a bit field of `size` bytes.
    pub(super) fn bits(&self, value: TypedValue, size: usize) -> BitField {
        match value.width {
            0 => BitField::default(),
            width => BitField::within(value.bit, width, size),
        }
    }

    /// Returns the values of an enumeration with their names.
    pub(crate) fn enumerators(self, ty: TypeNumber) -> impl Iterator<Item = (u64, &'a str)> {
        self.0.enumerators(ty)
    }

    /// Compiles what makes a string of this value: `None` if it is an array of characters, which is one.
    pub(super) fn text_step(
        &self,
        value: TypedValue,
        user: bool,
    ) -> Result<Option<FetchStep>, ProbeError> {
        let is_char = |ty| {
            self.0.probed_form(ty)
                == ProbedForm::Integer {
                    signed: false,
                    bits: 8,
                }
        };
        match self.0.probed_form(value.ty) {
            ProbedForm::Array(element) if is_char(element) => Ok(None),
            ProbedForm::Pointer(target) if is_char(target) => {
                Ok(Some(FetchStep::Load { offset: 0, user }))
            }
            _ => Err(ProbeError::NoText),
        }
    }
}
