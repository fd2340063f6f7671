// SPDX-License-Identifier: GPL-2.0

//! The arguments of functions, by the BTF of the kernel. A reader reads it when it meets the first record
//! with arguments; functions of modules have none.

use crate::{
    event::btf::{
        functions::Prototype,
        Btf, //
    },
    kapi::{
        kernel_btf::KernelBtf,
        sort,
        symbol::Symbol, //
    },
    text::{
        function,
        writer::ByteWrite, //
    }, //
};
use core::fmt;
use kernel::prelude::*;

/// What one reader knows of arguments.
pub(super) struct BtfArguments {
    known: Option<KernelTypes>,
    /// Whether it was tried to read the BTF.
    tried: bool,
}

/// The BTF of the kernel.
struct KernelTypes {
    btf: KernelBtf,
    /// For each function the hash of its name and, in the lower half, its place; in ascending order.
    functions: KVVec<u64>,
}

/// Returns a hash of a name, in the upper half.
fn hash(name: &str) -> u64 {
    // FNV-1a.
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    name.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step) >> 32 << 32
}

impl KernelTypes {
    /// Reads it; `None` when this kernel has none.
    fn read() -> Result<Option<Self>> {
        let Ok(btf) = KernelBtf::read("vmlinux")? else {
            return Ok(None);
        };
        let mut functions = KVVec::new();
        let mut result = Ok(());
        if let Ok(btf) = btf.btf() {
            let _ = btf.function_places(|place, name| {
                let pushed = functions.push(hash(name) | u64::from(place), GFP_KERNEL);
                result = result.and(pushed);
            });
        }
        result?;
        sort::ascending(&mut functions);
        Ok(Some(Self { btf, functions }))
    }

    /// Returns the function called `name`.
    fn find<'a>(&self, btf: &Btf<'a>, name: &str) -> Option<Prototype> {
        let first = hash(name);
        let at = self.functions.partition_point(|entry| *entry < first);
        let same = self.functions.get(at..)?.iter();
        same.take_while(|entry| **entry >> 32 << 32 == first)
            .find_map(|entry| btf.function_at(*entry as u32, name))
    }
}

impl BtfArguments {
    /// Returns what knows nothing yet.
    pub(super) const fn new() -> Self {
        Self {
            known: None,
            tried: false,
        }
    }
}

impl function::Arguments for BtfArguments {
    fn write(&mut self, function: u64, registers: &[u64], out: &mut dyn ByteWrite) -> fmt::Result {
        if !self.tried {
            self.tried = true;
            self.known = KernelTypes::read().map_err(|_| fmt::Error)?;
        }
        let Some(known) = &self.known else {
            return Ok(());
        };
        let Ok(btf) = known.btf.btf() else {
            return Ok(());
        };
        let symbol = Symbol::name_at(function);
        // Functions of modules are followed by the name of the module.
        let prototype = symbol.name().and_then(|name| known.find(&btf, name));
        match prototype {
            Some(prototype) => btf.write_arguments(prototype, registers, out),
            None => Ok(()),
        }
    }
}
