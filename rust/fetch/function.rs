// SPDX-License-Identifier: GPL-2.0

//! The function that a probe is on, as BTF describes it: names in arguments.

use super::known_types::{
    KnownTypes,
    TypedValue, //
};
use crate::event::btf::{
    functions::Prototype,
    probed::TypeNumber,
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

impl<'a> ProbedFunction<'a> {
    /// Returns the function with that prototype, whose first `hidden` parameters cannot be named.
    pub(crate) fn new(btf: Btf<'a>, prototype: Prototype, hidden: usize) -> Self {
        Self {
            btf,
            prototype,
            hidden,
        }
    }

    /// Returns the BTF that describes it.
    pub(super) fn types(&self) -> KnownTypes<'a> {
        KnownTypes::new(self.btf)
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
}
