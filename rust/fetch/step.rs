// SPDX-License-Identifier: GPL-2.0

//! What an argument is when it is compiled: the steps by which its value is fetched.

use super::{
    run::PARAMETERS,
    types::{
        ArgumentType,
        BitField, //
    }, //
};
use crate::event::field_type::{
    number,
    part,
    FieldType, //
};

/// Most dereferences inside each other.
pub(super) const MOST_NESTED: usize = 8;
/// Most steps, as in ftrace: the dereferences, those of fields, and what is inside.
const MOST_STEPS: usize = 16;

/// A part of the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineSpan {
    start: u16,
    len: u16,
}

impl LineSpan {
    /// Returns the part at `start` that `text` is.
    pub(super) fn new(start: usize, text: &str) -> Self {
        // A line has less than 4096 bytes.
        Self {
            start: start.min(usize::from(u16::MAX)) as u16,
            len: text.len().min(usize::from(u16::MAX)) as u16,
        }
    }

    #[cfg(test)]
    pub(super) fn end(self) -> usize {
        usize::from(self.start) + usize::from(self.len)
    }

    /// Returns the part of `line`.
    pub(crate) fn of(self, line: &str) -> &str {
        let start = usize::from(self.start);
        line.get(start..start.saturating_add(self.len.into()))
            .unwrap_or_default()
    }

    /// Returns the same of a line of bytes.
    pub(crate) fn bytes_of(self, line: &[u8]) -> &[u8] {
        let start = usize::from(self.start);
        line.get(start..start.saturating_add(self.len.into()))
            .unwrap_or_default()
    }
}

/// Where the value of a field of a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldPlace {
    /// A number in the field.
    Number { size: u8, signed: bool },
    /// The address of the field is the value.
    Field,
    /// That of the bytes is, which the field says are so far after the first byte of the record.
    FromStart,
    /// The same, after the field.
    FromField,
}

/// A field of the event that a probe follows. Its value is a number, or the address of a string or of an
/// array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventField {
    offset: u16,
    place: FieldPlace,
}

impl EventField {
    /// Returns the field of type `ty` and `size` bytes at `offset`; `None` if no record reaches that far.
    pub(crate) fn of(ty: &str, offset: u32, size: u32, signed: bool) -> Option<Self> {
        let place = match FieldType::of(ty, size) {
            FieldType::DynamicChars => FieldPlace::FromStart,
            FieldType::RelativeChars => FieldPlace::FromField,
            FieldType::Chars | FieldType::OpenChars => FieldPlace::Field,
            _ if matches!(size, 1 | 2 | 4 | 8) => FieldPlace::Number {
                size: size as u8,
                signed,
            },
            _ => FieldPlace::Field,
        };
        let offset = u16::try_from(offset).ok()?;
        Some(Self { offset, place })
    }

    /// Returns where the number is, its bytes, and whether it has a sign; `None` if it is no number.
    pub(super) fn number(self) -> Option<(usize, u8, bool)> {
        match self.place {
            FieldPlace::Number { size, signed } => Some((self.offset.into(), size, signed)),
            _ => None,
        }
    }

    /// Returns the bytes of the number that it has; 8 of an address.
    pub(super) fn size(self) -> u8 {
        match self.place {
            FieldPlace::Number { size, .. } => size,
            FieldPlace::Field | FieldPlace::FromStart | FieldPlace::FromField => 8,
        }
    }

    /// Returns the value in `record`, which is at `address`; `None` when the record ends before the field.
    pub(super) fn value(self, record: &[u8], address: u64) -> Option<u64> {
        let offset = u32::from(self.offset);
        let at = address.wrapping_add(u64::from(offset));
        let distance = || Some(number(part(record, offset, 4)?) & 0xffff);
        match self.place {
            FieldPlace::Field => Some(at),
            FieldPlace::FromStart => Some(address.wrapping_add(distance()?)),
            FieldPlace::FromField => Some(at.wrapping_add(4).wrapping_add(distance()?)),
            FieldPlace::Number { size, signed } => {
                let value = number(part(record, offset, size.into())?);
                let unused = 64u32.saturating_sub(u32::from(size).saturating_mul(8));
                match signed {
                    true => Some((value.wrapping_shl(unused) as i64).wrapping_shr(unused) as u64),
                    false => Some(value),
                }
            }
        }
    }
}

/// One step: what it leaves is the value that the next one takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FetchStep {
    /// A word of the registers.
    Register(u8),
    /// A parameter of the function, by its place; 0 is the first.
    Parameter(u16),
    /// A word of the stack.
    Stack(u32),
    StackPointer,
    /// The address of this CPU's part of a variable that each CPU has.
    PerCpu,
    /// What the function returns.
    Returned,
    /// A parameter that was kept from the beginning of the call, by its place among those.
    Kept(u8),
    /// The nanoseconds since the beginning of the call, whose time was kept in this place.
    Latency(u8),
    /// The address of the current task.
    Current,
    /// The name of the current task.
    Comm,
    Immediate(u64),
    /// An address after that of a symbol, which the probe has in this slot: the symbol may come, or be elsewhere later.
    Symbol {
        slot: u8,
        name: LineSpan,
        offset: i64,
    },
    /// The address of this offset of the probed file, as the process has it mapped.
    FileOffset(u64),
    /// A field of the record that is followed.
    Field(EventField),
    /// A string of the line.
    Literal(LineSpan),
    /// What is in memory at the value plus `offset`.
    Load {
        offset: i64,
        user: bool,
    },
}

/// Most words that are kept from the beginning of a call to its return.
pub(crate) const MOST_KEPT: usize = 14;
/// The place that is no parameter's: the time of the beginning is kept.
pub(crate) const TIME_PLACE: u16 = u16::MAX;
/// Nor is this one: the address that is watched, which is the only word that such a probe has.
pub(super) const WATCHED_PLACE: u16 = u16::MAX - 1;

/// Parameters that are kept from the beginning of a call to its return, and perhaps the time; or what is watched.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeptParameters {
    places: [u16; MOST_KEPT],
    len: u8,
    /// There are more than can be kept.
    overflows: bool,
}

impl KeptParameters {
    /// Returns where the parameter in that place, or the time for [`TIME_PLACE`], is kept, which is from now on.
    pub(super) fn slot(&mut self, place: u16) -> u8 {
        let same = (0u8..).zip(self.places()).find(|(_, kept)| **kept == place);
        if let Some((slot, _)) = same {
            return slot;
        }
        match self.places.get_mut(usize::from(self.len)) {
            Some(next) => {
                *next = place;
                self.len = self.len.saturating_add(1);
                self.len.saturating_sub(1)
            }
            None => {
                self.overflows = true;
                0
            }
        }
    }

    /// Returns their places, in the order in which they are kept.
    pub(crate) fn places(&self) -> &[u16] {
        self.places.get(..self.len.into()).unwrap_or_default()
    }

    /// Returns whether there are more than can be kept.
    pub(crate) fn overflows(&self) -> bool {
        self.overflows
    }
}

/// The steps of an argument, in their order.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepList {
    steps: [FetchStep; MOST_STEPS],
    len: u8,
}

impl StepList {
    /// Returns an empty one.
    pub(super) fn new() -> Self {
        Self {
            steps: [FetchStep::StackPointer; MOST_STEPS],
            len: 0,
        }
    }

    /// Adds one after the others. There is room for the dereferences that can be nested; others ask
    /// [`Self::is_full`].
    pub(super) fn push(&mut self, step: FetchStep) {
        if let Some(place) = self.steps.get_mut(usize::from(self.len)) {
            *place = step;
            self.len = self.len.saturating_add(1);
        }
    }

    /// Puts another one in the place of the last.
    pub(super) fn replace_last(&mut self, step: FetchStep) {
        let last = usize::from(self.len.saturating_sub(1));
        if let Some(place) = self.steps.get_mut(last) {
            *place = step;
        }
    }

    /// Returns whether there is no room for another one.
    pub(super) fn is_full(&self) -> bool {
        usize::from(self.len) >= MOST_STEPS
    }

    /// Returns all of them.
    pub(super) fn all(&self) -> &[FetchStep] {
        self.steps.get(..self.len.into()).unwrap_or_default()
    }
}

/// A compiled argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    /// None for one that is called by its number.
    pub(crate) name: Option<LineSpan>,
    /// Fetch and type.
    pub(crate) body: LineSpan,
    /// Of an array that of its elements.
    pub(crate) ty: ArgumentType,
    /// Elements of an array; 0 if it is none.
    pub(crate) count: u8,
    pub(super) bits: BitField,
    /// The only step of a number that is as it leaves it, and the bytes of that.
    plain: Option<(FetchStep, u8)>,
    steps: StepList,
}

impl Argument {
    /// Returns one that takes these steps.
    pub(super) fn new(
        name: Option<LineSpan>,
        body: LineSpan,
        (ty, count, bits): (ArgumentType, u8, BitField),
        steps: StepList,
    ) -> Self {
        let is_plain = count == 0 && !ty.is_text() && bits == BitField::default();
        let plain = match steps.all() {
            [FetchStep::Load { .. }] => None,
            [step] if is_plain => Some((*step, ty.size() as u8)),
            _ => None,
        };
        Self {
            name,
            body,
            ty,
            count,
            bits,
            plain,
            steps,
        }
    }

    /// Returns the only step of a number that is as it leaves it, and the bytes of that.
    #[inline(always)]
    pub(super) fn plain(&self) -> Option<(FetchStep, usize)> {
        self.plain.map(|(step, size)| (step, size.into()))
    }

    /// Returns how many values it has.
    pub(crate) fn elements(&self) -> usize {
        usize::from(self.count.max(1))
    }

    /// Returns its bytes in the fixed part of a record.
    pub(crate) fn size(&self) -> usize {
        self.ty.size().saturating_mul(self.elements())
    }

    /// Returns its steps.
    pub(crate) fn steps(&self) -> &[FetchStep] {
        self.steps.all()
    }

    /// Returns whether it is in memory, all of it or in part.
    pub(super) fn is_in_memory(&self) -> bool {
        let is_read = |step: &FetchStep| match *step {
            FetchStep::Load { .. } | FetchStep::Stack(_) => true,
            // The others are on the stack.
            FetchStep::Parameter(place) => usize::from(place) >= PARAMETERS.len(),
            _ => false,
        };
        let is_text = match (self.ty, self.steps().last()) {
            (ArgumentType::Text, Some(FetchStep::Comm | FetchStep::Literal(_))) => false,
            (ty, _) => ty.is_text(),
        };
        is_text || self.steps().iter().any(is_read)
    }
}
