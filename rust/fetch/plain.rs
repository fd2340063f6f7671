// SPDX-License-Identifier: GPL-2.0

//! Arguments that are a register or a parameter as it is, which need no program; and which registers are known where
//! a function calls a hook.

use super::{
    run::{
        NumberPlace,
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

/// The place of the first parameter among those of [`PlainWord`], after all registers.
const FIRST_PARAMETER: u16 = WORDS as u16;

/// A register or a parameter, by its place: that of a register; from [`FIRST_PARAMETER`] on that of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlainWord(u16);

impl PlainWord {
    /// Returns that of `step`, if it is one. `in_registers` says whether the first parameters are in registers.
    pub(super) fn of(step: FetchStep, in_registers: bool) -> Option<Self> {
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
        Some(Self(place))
    }

    /// Returns its value.
    #[inline(always)]
    pub(super) fn value(self, machine: &impl ProbedMachine) -> u64 {
        match machine.registers().get(usize::from(self.0)) {
            Some(word) => *word,
            None => machine.parameter(self.0.wrapping_sub(FIRST_PARAMETER)),
        }
    }
}

/// An argument that is a register or a parameter as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlainArgument {
    from: PlainWord,
    to: NumberPlace,
}

impl PlainArgument {
    /// Returns that of `argument`, if it is one, for `at` in a record. `in_registers` is that of
    /// [`PlainWord::of`].
    pub(crate) fn of(argument: &Argument, in_registers: bool, at: usize) -> Option<Self> {
        let (step, size) = argument.plain()?;
        Some(Self {
            from: PlainWord::of(step, in_registers)?,
            to: NumberPlace::new(at, size),
        })
    }

    /// Puts the arguments in a record.
    #[inline(always)]
    pub(crate) fn put_all(arguments: &[Self], machine: &impl ProbedMachine, record: &mut [u8]) {
        for argument in arguments {
            argument.to.put(record, argument.from.value(machine));
        }
    }
}
