// SPDX-License-Identifier: GPL-2.0

//! The BTF that a definition is compiled with: of the kernel, or of the module that has the function.

use crate::{
    event::btf::Btf,
    kapi::kernel_btf::{
        KernelBtf,
        ModuleBtf, //
    }, //
};
use kernel::prelude::*;

/// BTF that was read for one definition.
pub(super) enum ProbedTypes {
    /// None is needed, or there is none.
    Unknown,
    Kernel(KernelBtf),
    Module(ModuleBtf),
}

impl ProbedTypes {
    /// Reads that of a module, or of the kernel if `module` is `None`. Process context.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn read(module: Option<&str>) -> Result<Self> {
        Ok(match module {
            None => KernelBtf::read("vmlinux")?.map_or(Self::Unknown, Self::Kernel),
            Some(module) => ModuleBtf::read(module)?.map_or(Self::Unknown, Self::Module),
        })
    }

    /// Calls `f` with it.
    pub(super) fn with<R>(&self, f: impl FnOnce(Option<Btf<'_>>) -> R) -> R {
        match self {
            Self::Unknown => f(None),
            Self::Kernel(kernel) => f(kernel.btf().ok()),
            Self::Module(module) => module.with(|btf| f(btf.ok())),
        }
    }
}
