// SPDX-License-Identifier: GPL-2.0

//! Arguments that are a register or a parameter as it is, which need no program; and which registers are known where
//! a function calls a hook.

use super::{
    run::{
        put_word,
        ProbedMachine,
        AX,
        BP,
        CX,
        DI,
        DX,
        ORIG_AX,
        PARAMETERS,
        R8,
        R9,
        SI,
        SP,
        WORDS, //
    },
    shared_parameters::PLACED,
    step::{
        Argument,
        FetchStep, //
    }, //
};

/// Those that are known where a function calls a hook, as bits: of its parameters, `ax`, `bp`, `sp`, and `orig_ax`,
/// which is 0.
const AT_HOOK: u32 = (1 << R9)
    | (1 << R8)
    | (1 << AX)
    | (1 << CX)
    | (1 << DX)
    | (1 << SI)
    | (1 << DI)
    | (1 << SP)
    | (1 << BP)
    | (1 << ORIG_AX);

/// Returns whether the registers that a function's hook gets are enough for `argument`.
pub(super) fn suits_hook(argument: &Argument) -> bool {
    argument.steps().iter().all(|step| match step {
        FetchStep::Register(place) => AT_HOOK.wrapping_shr(u32::from(*place)) & 1 != 0,
        FetchStep::Returned => false,
        _ => true,
    })
}

/// The place of the first parameter among those of [`PlainArgument`], after all registers.
const FIRST_PARAMETER: u16 = WORDS as u16;

/// An argument that is a register or a parameter as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlainArgument {
    /// That of a register; from [`FIRST_PARAMETER`] on that of a parameter.
    place: u16,
    size: u8,
}

impl PlainArgument {
    /// Returns that of `argument`, if it is one. `in_registers` says whether the first parameters are in registers.
    pub(crate) fn of(argument: &Argument, in_registers: bool) -> Option<Self> {
        let (step, size) = argument.plain()?;
        let place = match step {
            FetchStep::Register(place) => place.into(),
            FetchStep::Returned => AX as u16,
            FetchStep::Parameter(index @ 0..PLACED) => {
                let register = PARAMETERS.get(usize::from(index));
                match register.filter(|_| in_registers) {
                    Some(register) => *register as u16,
                    None => index.wrapping_add(FIRST_PARAMETER),
                }
            }
            _ => return None,
        };
        Some(Self {
            place,
            size: size as u8,
        })
    }

    /// Returns its value.
    #[inline(always)]
    fn value(self, machine: &impl ProbedMachine) -> u64 {
        match machine.registers().get(usize::from(self.place)) {
            Some(word) => *word,
            None => machine.parameter(self.place.wrapping_sub(FIRST_PARAMETER)),
        }
    }

    /// Puts the arguments in a record, from `at` on.
    #[inline(always)]
    pub(crate) fn put_all(
        arguments: &[Self],
        machine: &impl ProbedMachine,
        record: &mut [u8],
        at: usize,
    ) {
        let mut rest = record.get_mut(at..).unwrap_or_default();
        for argument in arguments {
            let (value, size) = (argument.value(machine).to_le_bytes(), argument.size.into());
            match rest.first_chunk_mut() {
                // What is too much of it is where the next one is put.
                Some(place) => *place = value,
                None => put_word(rest, 0, size, value),
            }
            rest = rest.get_mut(size..).unwrap_or_default();
        }
    }
}
