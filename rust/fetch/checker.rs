// SPDX-License-Identifier: GPL-2.0

//! A second look at compiled arguments, which knows nothing of how lines are compiled: whether their steps can be run
//! one after the other, and whether what is fetched stays in the record. Tests compare the compiler with it.

use super::{
    run::WORDS,
    step::{
        Argument,
        FetchStep, //
    },
    types::ArgumentType, //
};

/// What arguments may refer to.
pub(super) struct Limits {
    /// Bytes of the line.
    pub(super) line: usize,
    /// Words that are kept from the beginning of a call.
    pub(super) kept: usize,
    /// Whether there are registers.
    pub(super) registers: bool,
}

/// What a step leaves for the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StepOutcome {
    Nothing,
    Number,
    /// A text that is no number where a string is wanted.
    Text,
}

/// Returns what the step leaves after one that left `before`.
fn follow(
    before: StepOutcome,
    step: &FetchStep,
    limits: &Limits,
) -> Result<StepOutcome, &'static str> {
    use FetchStep::*;
    let is_first = before == StepOutcome::Nothing;
    match *step {
        Load { .. } | PerCpu if is_first => Err("nothing to start from"),
        Load { .. } | PerCpu if before == StepOutcome::Text => Err("an address of a text"),
        Load { .. } | PerCpu => Ok(StepOutcome::Number),
        _ if !is_first => Err("a value is lost"),
        Register(place) if usize::from(place) >= WORDS => Err("no such register"),
        Register(_) if !limits.registers => Err("no registers"),
        Kept(slot) | Latency(slot) if usize::from(slot) >= limits.kept => Err("not kept"),
        Literal(span) if span.end() > limits.line => Err("a literal outside of the line"),
        Comm | Literal(_) => Ok(StepOutcome::Text),
        _ => Ok(StepOutcome::Number),
    }
}

/// Checks the steps of an argument.
pub(super) fn check_steps(argument: &Argument, limits: &Limits) -> Result<(), &'static str> {
    let mut left = StepOutcome::Nothing;
    for step in argument.steps() {
        left = follow(left, step, limits)?;
    }
    let last = argument.steps().last().ok_or("no steps")?;
    let is_loaded = matches!(last, FetchStep::Load { .. });
    match argument.ty {
        _ if argument.count > 64 => Err("too many elements"),
        _ if argument.count != 0 && !is_loaded && !argument.ty.is_text() => {
            Err("an array that is not in memory")
        }
        ArgumentType::SymbolText if left == StepOutcome::Text => Err("a name of a text"),
        ty if !matches!(ty.size(), 1 | 2 | 4 | 8) => Err("a size that is none"),
        _ => Ok(()),
    }
}

/// Checks a record: `fixed` bytes with the arguments from `head` on, and after these the strings, which follow each
/// other in their order, each with its NUL and nothing but the last one's zeros after them.
pub(super) fn check_record(
    arguments: &[Argument],
    (head, record): (usize, &[u8]),
) -> Result<(), String> {
    let sizes = arguments
        .iter()
        .map(|a| a.ty.size() * usize::from(a.count.max(1)));
    let mut at = head;
    let mut end = head + sizes.sum::<usize>();
    if record.len() < end {
        return Err(format!("{} bytes, {end} without strings", record.len()));
    }
    for argument in arguments {
        for _ in 0..argument.count.max(1) {
            let bytes = &record[at..at + argument.ty.size()];
            at += bytes.len();
            if !argument.ty.is_text() {
                continue;
            }
            let word = u32::from_le_bytes(bytes.try_into().unwrap());
            let (start, len) = ((word & 0xffff) as usize, (word >> 16) as usize);
            let Some(text) = record.get(start..start + len) else {
                return Err(format!("{start}, {len} bytes of {}", record.len()));
            };
            match text.split_last() {
                _ if start < end => return Err(format!("{start} is before {end}")),
                Some((0, text)) if !text.contains(&0) => {}
                None => {}
                _ => return Err(format!("{text:?} has no end")),
            }
            end = start + len;
        }
    }
    match record.get(end..) {
        Some(rest) if rest.iter().all(|byte| *byte == 0) => Ok(()),
        rest => Err(format!("{rest:?} after the strings")),
    }
}
