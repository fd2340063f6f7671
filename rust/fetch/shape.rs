// SPDX-License-Identifier: GPL-2.0

//! The type of an argument as it is written, `FETCH:TYPE[N]`, and what a value of it can be made of.

use super::{
    command::LineWord,
    error::{
        ProbeError,
        ProbeRefusal, //
    },
    number,
    step::FetchStep,
    types::{
        ArgumentType,
        MOST_ELEMENTS, //
    },
};

/// Cuts `body` at the colon before its type. One inside of a literal does not count.
pub(super) fn split_type(body: &str) -> Option<(&str, &str)> {
    if body.starts_with("\\\"") {
        let end = body.rfind('"')?;
        let (literal, rest) = body.split_at_checked(end.saturating_add(1))?;
        return Some((literal, rest.strip_prefix(':')?));
    }
    // A symbol of a module has a colon before its name.
    body.split_once(':')
}

/// Divides the type in `word` into that of the elements and their number, 0 if it is no array.
pub(super) fn array(word: LineWord<'_>) -> Result<(&str, u8), ProbeRefusal> {
    let Some((ty, rest)) = word.text.split_once('[') else {
        return Ok((word.text, 0));
    };
    let end = word.at.saturating_add(word.text.len());
    let number_at = end.saturating_sub(rest.len());
    let Some((number, suffix)) = rest.split_once(']') else {
        return Err(ProbeRefusal::new(ProbeError::ArrayOpen, end));
    };
    if !suffix.is_empty() {
        let at = end.saturating_sub(suffix.len());
        return Err(ProbeRefusal::new(ProbeError::ArraySuffix, at));
    }
    match number::unsigned(number) {
        Ok(count @ 1..=MOST_ELEMENTS) => Ok((ty, count as u8)),
        Ok(count) if count != 0 && count <= u64::from(u32::MAX) => {
            Err(ProbeRefusal::new(ProbeError::ArrayTooBig, number_at))
        }
        _ => Err(ProbeRefusal::new(ProbeError::ArrayNumber, number_at)),
    }
}

/// Returns whether a value of this type can be made of what the last step leaves.
pub(super) fn suits(ty: ArgumentType, last: &FetchStep) -> bool {
    match (ty, last) {
        (ArgumentType::SymbolText, FetchStep::Load { user, .. }) => !user,
        (
            ArgumentType::SymbolText,
            FetchStep::Register(_)
            | FetchStep::Stack(_)
            | FetchStep::Returned
            | FetchStep::Parameter(_)
            | FetchStep::Field(_),
        ) => true,
        (ArgumentType::SymbolText, _) => false,
        (
            _,
            FetchStep::Load { .. }
            | FetchStep::Immediate(_)
            | FetchStep::Field(_)
            | FetchStep::Comm
            | FetchStep::Literal(_),
        ) => true,
        _ => !ty.is_text(),
    }
}

/// Returns the same of an array, whose elements are in memory.
pub(super) fn suits_array(ty: ArgumentType, last: &FetchStep) -> bool {
    match ty {
        ArgumentType::SymbolText => false,
        ArgumentType::Text | ArgumentType::UserText => true,
        _ => matches!(last, FetchStep::Load { user: false, .. }),
    }
}
