// SPDX-License-Identifier: GPL-2.0

//! The functions that one definition is on whose arguments are names of parameters: what BTF knows of each, and where
//! each has the parameters.
//!
//! They are those of the kernel itself that matched when the line was written; functions of modules are left out.

use crate::{
    event::btf::{
        functions::Prototype,
        Btf, //
    },
    fetch::shared_parameters::{
        ParameterPlaces,
        ProbedFunctions, //
    },
    kapi::{
        sort,
        symbol::Symbol, //
    }, //
};
use core::cmp::Ordering;
use kernel::prelude::*;

/// Functions by their addresses, in ascending order, and their prototypes.
pub(super) struct PrototypedFunctions {
    addresses: KVVec<u64>,
    prototypes: KVVec<Option<Prototype>>,
}

/// Returns a number for a name, which others may have, too.
fn hash(name: &str) -> u64 {
    let fold = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    u64::from(name.bytes().fold(0x811c_9dc5, fold)) << 32
}

impl PrototypedFunctions {
    /// Finds those at `addresses` that are the kernel's own. `btf` is the kernel's.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn find(btf: &Btf<'_>, addresses: &[u64]) -> Result<Self> {
        let mut own = KVVec::with_capacity(addresses.len(), GFP_KERNEL)?;
        own.extend_from_slice(addresses, GFP_KERNEL)?;
        own.retain(|address| {
            let symbol = Symbol::function_at(*address);
            matches!(symbol.name_and_module(), Some((_, None)))
        });
        sort::ascending(&mut own);
        // The hash of each name, and its number.
        let mut names: KVVec<u64> = KVVec::with_capacity(own.len(), GFP_KERNEL)?;
        for (address, number) in own.iter().zip(0u32..) {
            let symbol = Symbol::function_at(*address);
            let name = symbol.name_and_module().map_or("", |(name, _)| name);
            names.push(hash(name) | u64::from(number), GFP_KERNEL)?;
        }
        sort::ascending(&mut names);
        let mut prototypes: KVVec<Option<Prototype>> =
            KVVec::from_elem(None, own.len(), GFP_KERNEL)?;
        // What cannot be read has no prototypes.
        let _ = btf.functions(|name, prototype| {
            let first = hash(name);
            let at = names.partition_point(|entry| *entry < first);
            let same = names.get(at..).unwrap_or_default().iter();
            for entry in same.take_while(|entry| **entry >> 32 << 32 == first) {
                let number = *entry as u32 as usize;
                let is_it = own.get(number).is_some_and(|address| {
                    let symbol = Symbol::function_at(*address);
                    let known = symbol.name_and_module();
                    known.is_some_and(|(known, _)| known == name)
                });
                if let (true, Some(place)) = (is_it, prototypes.get_mut(number)) {
                    place.get_or_insert(prototype);
                }
            }
        });
        Ok(Self {
            addresses: own,
            prototypes,
        })
    }

    /// Returns their prototypes; `None` for those that BTF does not know.
    pub(super) fn prototypes(&self) -> &[Option<Prototype>] {
        &self.prototypes
    }

    /// Returns the address of one of them.
    pub(super) fn address(&self, number: usize) -> Option<u64> {
        self.addresses.get(number).copied()
    }

    /// Returns where they have the parameters that the first one has at the places `placed`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn table(
        &self,
        functions: &ProbedFunctions<'_>,
        placed: &[u16],
    ) -> Result<FunctionTable> {
        let mut table = KVVec::with_capacity(self.addresses.len(), GFP_KERNEL)?;
        for (address, prototype) in self.addresses.iter().zip(&self.prototypes) {
            let places = prototype.map(|prototype| functions.places(prototype, placed));
            let entry = PlacedFunction {
                address: *address,
                places: places.unwrap_or_default(),
            };
            table.push(entry, GFP_KERNEL)?;
        }
        Ok(FunctionTable(table))
    }
}

/// Where a function has the parameters.
#[derive(Clone, Copy)]
struct PlacedFunction {
    address: u64,
    places: ParameterPlaces,
}

/// Where functions have the parameters, by their addresses in ascending order.
pub(super) struct FunctionTable(KVVec<PlacedFunction>);

impl FunctionTable {
    /// Returns that of the function at `address`. Any context: what core has for this may panic.
    fn find(&self, address: u64) -> Option<&PlacedFunction> {
        let mut rest: &[PlacedFunction] = &self.0;
        loop {
            let middle = rest.len() / 2;
            let known = rest.get(middle)?;
            rest = match address.cmp(&known.address) {
                Ordering::Equal => return Some(known),
                Ordering::Less => rest.get(..middle)?,
                Ordering::Greater => rest.get(middle.wrapping_add(1)..)?,
            };
        }
    }

    /// Returns whether the function at `address` is one of them.
    pub(super) fn has(&self, address: u64) -> bool {
        self.find(address).is_some()
    }

    /// Returns where the function at `address` has the parameters. Any context.
    pub(super) fn places(&self, address: u64) -> ParameterPlaces {
        self.find(address)
            .map_or_else(Default::default, |known| known.places)
    }
}
