// SPDX-License-Identifier: GPL-2.0

//! The arguments of functions, by the BTF of the kernel and of its modules. A reader reads each when it meets
//! the first record with arguments of a function there.

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
use kernel::{
    prelude::*,
    str::CString, //
};

/// What one reader knows of arguments.
pub(super) struct BtfArguments {
    /// `None` before it was tried to read the BTF.
    kernel: Option<NamedTypes>,
    /// Those modules that were met.
    modules: KVVec<NamedTypes>,
}

/// The functions of the kernel or of a module.
struct NamedTypes {
    /// That of the file with the BTF.
    name: CString,
    /// `None` when it has no BTF.
    types: Option<FunctionTypes>,
}

/// BTF with the functions in it.
struct FunctionTypes {
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

impl FunctionTypes {
    /// Reads those of the kernel, `base` being `None`, or of a module of it; `None` when there is no BTF.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn read(name: &str, base: Option<&Btf<'_>>) -> Result<Option<Self>> {
        let Ok(btf) = KernelBtf::read(name)? else {
            return Ok(None);
        };
        let mut functions = KVVec::new();
        let mut result = Ok(());
        if let Ok(btf) = btf.btf() {
            let _ = on(btf, base).function_places(|place, name| {
                let pushed = functions.push(hash(name) | u64::from(place), GFP_KERNEL);
                result = result.and(pushed);
            });
        }
        result?;
        sort::ascending(&mut functions);
        Ok(Some(Self { btf, functions }))
    }

    /// Returns the function called `name`, of which `btf` has the type.
    fn find(&self, btf: &Btf<'_>, name: &str) -> Option<Prototype> {
        let first = hash(name);
        let at = self.functions.partition_point(|entry| *entry < first);
        let same = self.functions.get(at..)?.iter();
        same.take_while(|entry| **entry >> 32 << 32 == first)
            .find_map(|entry| btf.function_at(*entry as u32, name))
    }

    /// Writes the arguments of the function called `name`; nothing if it is not known.
    fn write(
        &self,
        base: Option<&Btf<'_>>,
        name: &str,
        registers: &[u64],
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let Ok(btf) = self.btf.btf() else {
            return Ok(());
        };
        let btf = on(btf, base);
        match self.find(&btf, name) {
            Some(prototype) => btf.write_arguments(prototype, registers, out),
            None => Ok(()),
        }
    }
}

/// Returns `btf` as that of a module if there is a `base`.
fn on<'a>(btf: Btf<'a>, base: Option<&'a Btf<'a>>) -> Btf<'a> {
    match base {
        Some(base) => btf.of_module(base),
        None => btf,
    }
}

impl NamedTypes {
    fn read(name: &str, base: Option<&Btf<'_>>) -> Result<Self> {
        Ok(Self {
            name: CString::try_from_fmt(fmt!("{name}"))?,
            types: FunctionTypes::read(name, base)?,
        })
    }
}

impl BtfArguments {
    /// Returns what knows nothing yet.
    pub(super) const fn new() -> Self {
        Self {
            kernel: None,
            modules: KVVec::new(),
        }
    }
}

impl function::Arguments for BtfArguments {
    fn write(&mut self, function: u64, registers: &[u64], out: &mut dyn ByteWrite) -> fmt::Result {
        let symbol = Symbol::function_at(function);
        let Some((name, module)) = symbol.name_and_module() else {
            return Ok(());
        };
        let kernel = match &mut self.kernel {
            Some(kernel) => kernel,
            unread => unread.insert(NamedTypes::read("vmlinux", None).map_err(no_memory)?),
        };
        let Some(kernel) = &kernel.types else {
            return Ok(());
        };
        let Some(module) = module else {
            return kernel.write(None, name, registers, out);
        };
        let Ok(base) = kernel.btf.btf() else {
            return Ok(());
        };
        let is_it = |known: &NamedTypes| known.name.to_bytes() == module.as_bytes();
        if !self.modules.iter().any(is_it) {
            let types = NamedTypes::read(module, Some(&base)).map_err(no_memory)?;
            let pushed = self.modules.push(types, GFP_KERNEL);
            pushed.map_err(|_| fmt::Error)?;
        }
        let known = self.modules.iter().find(|known| is_it(known));
        match known.and_then(|known| known.types.as_ref()) {
            Some(types) => types.write(Some(&base), name, registers, out),
            None => Ok(()),
        }
    }
}

fn no_memory(_: Error) -> fmt::Error {
    fmt::Error
}
