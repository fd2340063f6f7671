// SPDX-License-Identifier: GPL-2.0

//! Arguments that are a register or a parameter as it is, which need no program; and which registers are known where
//! a function calls a hook.

use super::{
    run::{
        put_word,
        register,
        ProbedMachine,
        AX,
        BP,
        CX,
        DI,
        DX,
        ORIG_AX,
        R8,
        R9,
        SI,
        SP, //
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

/// An argument that is a register or a parameter as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlainArgument {
    place: u16,
    size: u8,
    is_parameter: bool,
}

impl PlainArgument {
    /// Returns that of `argument`, if it is one.
    pub(crate) fn of(argument: &Argument) -> Option<Self> {
        let (step, size) = argument.plain()?;
        let (place, is_parameter) = match step {
            FetchStep::Register(place) => (place.into(), false),
            FetchStep::Returned => (AX as u16, false),
            FetchStep::Parameter(index @ 0..PLACED) => (index, true),
            _ => return None,
        };
        Some(Self {
            place,
            size: size as u8,
            is_parameter,
        })
    }

    /// Puts the arguments in a record, from `at` on.
    #[inline(always)]
    pub(crate) fn put_all(
        arguments: &[Self],
        machine: &impl ProbedMachine,
        record: &mut [u8],
        mut at: usize,
    ) {
        for argument in arguments {
            let value = match argument.is_parameter {
                true => machine.parameter(argument.place),
                false => register(machine, argument.place.into()),
            };
            let size = argument.size.into();
            put_word(record, at, size, value.to_le_bytes());
            at = at.saturating_add(size);
        }
    }
}
