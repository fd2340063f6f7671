// SPDX-License-Identifier: GPL-2.0

//! The functions that one definition is on, as BTF describes them: names of parameters that all of them have, each
//! perhaps at another place.
//!
//! A step that leaves such a parameter has a place of its own, from [`PLACED`] on, which stands for one of each
//! function ([`ParameterPlaces`]): what runs it is a [`PlacedMachine`].

use super::{
    error::ProbeError,
    known_types::TypedValue,
    run::{
        ProbedMachine,
        WORDS, //
    }, //
};
use crate::event::btf::{
    functions::Prototype,
    Btf, //
};
use core::cell::Cell;

/// The first place that stands for another one of each function. No function has as many parameters.
pub(super) const PLACED: u16 = 1 << 15;
/// Most of them in a definition.
pub(super) const MOST_PLACED: usize = 14;

/// The functions, with the parameters that a line can name.
#[derive(Clone, Copy)]
pub(crate) struct ProbedFunctions<'a> {
    btf: Btf<'a>,
    /// `None` for one that BTF does not know.
    prototypes: &'a [Option<Prototype>],
    /// The number of the one that a line does not fit.
    misfit: &'a Cell<Option<usize>>,
}

/// A parameter that all of them have.
pub(super) struct SharedParameter {
    /// Its place in the first function.
    pub(super) first: u16,
    /// Whether it is there in all of them.
    pub(super) is_everywhere: bool,
    pub(super) value: TypedValue,
}

impl<'a> ProbedFunctions<'a> {
    /// Returns those with these prototypes. `misfit` gets the number of one that an argument does not fit.
    pub(crate) fn new(
        btf: Btf<'a>,
        prototypes: &'a [Option<Prototype>],
        misfit: &'a Cell<Option<usize>>,
    ) -> Self {
        Self {
            btf,
            prototypes,
            misfit,
        }
    }

    /// Returns the place and the type of the parameter `name` of one of them.
    fn parameter_of(&self, prototype: Prototype, name: &str) -> Option<(u16, TypedValue)> {
        let mut places = (0u16..PLACED).zip(self.btf.parameters(prototype));
        let (place, (_, ty)) = places.find(|(_, (known, _))| *known == name)?;
        Some((place, TypedValue::whole(ty)))
    }

    /// Returns the parameter `name`, if all of them have it, and it has one type.
    pub(super) fn parameter(&self, name: &str) -> Result<SharedParameter, ProbeError> {
        let mut shared: Option<SharedParameter> = None;
        for (prototype, number) in self.prototypes.iter().zip(0usize..) {
            let misfit = |error| {
                self.misfit.set(Some(number));
                error
            };
            let prototype = prototype.ok_or_else(|| misfit(ProbeError::NoFunctionTypes))?;
            let (place, value) = self
                .parameter_of(prototype, name)
                .ok_or_else(|| misfit(ProbeError::NoParameter))?;
            match &mut shared {
                None => {
                    shared = Some(SharedParameter {
                        first: place,
                        is_everywhere: true,
                        value,
                    });
                }
                Some(shared) if shared.value != value => {
                    return Err(misfit(ProbeError::ParameterTypes));
                }
                Some(shared) => shared.is_everywhere &= shared.first == place,
            }
        }
        shared.ok_or(ProbeError::NoFunctionTypes)
    }

    /// Returns where the function with `prototype` has the parameters that the first one has at the places `placed`.
    pub(crate) fn places(&self, prototype: Prototype, placed: &[u16]) -> ParameterPlaces {
        let mut places = ParameterPlaces::default();
        let Some(Some(first)) = self.prototypes.first() else {
            return places;
        };
        for (own, place) in places.0.iter_mut().zip(placed) {
            let named = self.btf.parameters(*first).nth(usize::from(*place));
            let found = named.and_then(|(name, _)| self.parameter_of(prototype, name));
            *own = found.map_or(PLACED, |(place, _)| place);
        }
        places
    }
}

/// Where a function has the parameters of the places from [`PLACED`] on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ParameterPlaces([u16; MOST_PLACED]);

impl Default for ParameterPlaces {
    /// Returns that of a function that has none of them: they are 0.
    fn default() -> Self {
        Self([PLACED; MOST_PLACED])
    }
}

impl ParameterPlaces {
    /// Returns the function's own place for the one of a step.
    pub(crate) fn own(&self, place: u16) -> u16 {
        match place.checked_sub(PLACED) {
            None => place,
            Some(number) => self.0.get(usize::from(number)).copied().unwrap_or(PLACED),
        }
    }
}

/// A machine at one of the functions.
pub(crate) struct PlacedMachine<'a, M> {
    machine: &'a M,
    places: ParameterPlaces,
}

impl<'a, M: ProbedMachine> PlacedMachine<'a, M> {
    /// Returns `machine` at the function that has these places.
    pub(crate) fn new(machine: &'a M, places: ParameterPlaces) -> Self {
        Self { machine, places }
    }
}

impl<M: ProbedMachine> ProbedMachine for PlacedMachine<'_, M> {
    type Kernel = M::Kernel;

    fn kernel(&self) -> &M::Kernel {
        self.machine.kernel()
    }

    fn registers(&self) -> &[u64; WORDS] {
        self.machine.registers()
    }

    fn parameter(&self, index: u16) -> u64 {
        match self.places.own(index) {
            PLACED.. => 0,
            place => self.machine.parameter(place),
        }
    }

    fn stack_word(&self, index: u64) -> u64 {
        self.machine.stack_word(index)
    }

    fn kept(&self, slot: u8) -> u64 {
        self.machine.kept(slot)
    }

    fn time(&self) -> u64 {
        self.machine.time()
    }

    fn stack_pointer(&self) -> u64 {
        self.machine.stack_pointer()
    }

    fn read(&self, address: u64, to: &mut [u8], user: bool) -> bool {
        self.machine.read(address, to, user)
    }

    fn comm_address(&self) -> u64 {
        self.machine.comm_address()
    }

    fn file_address(&self, offset: u64) -> u64 {
        self.machine.file_address(offset)
    }

    fn record(&self) -> (&[u8], u64) {
        self.machine.record()
    }
}
