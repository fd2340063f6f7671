// SPDX-License-Identifier: GPL-2.0

//! The BTF of the running kernel and of its modules.
//!
//! The kernel shows it as files in `kernel/btf` of sysfs. Process context only.

use super::{
    c,
    open_file::{
        self,
        KernelTree, //
    }, //
};
use crate::event::btf::{
    self,
    Btf,
    BtfError, //
};
use kernel::{
    alloc::AllocError,
    prelude::*,
    str::CString, //
};

/// Longer is not believed; that of a large kernel has 6 MB.
const MOST: usize = 64 << 20;

/// Why there is no BTF.
#[derive(Clone, Copy)]
pub(crate) enum NoBtf {
    Hidden,
    Bad(BtfError),
}

impl NoBtf {
    /// Returns the reason for the kernel log.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Hidden => "this kernel shows no BTF of it",
            Self::Bad(error) => error.as_str(),
        }
    }
}

impl From<BtfError> for NoBtf {
    fn from(error: BtfError) -> Self {
        Self::Bad(error)
    }
}

/// BTF in memory, with its index.
pub(crate) struct KernelBtf {
    bytes: KVVec<u8>,
    index: KVVec<u32>,
}

impl KernelBtf {
    /// Reads that of `vmlinux`, or of a module. The inner error is that there is none.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn read(name: &str) -> Result<Result<Self, NoBtf>> {
        let path = CString::try_from_fmt(fmt!("kernel/btf/{name}"))?;
        let bytes = match read_file(&path) {
            Ok(bytes) => bytes,
            Err(ENOMEM) => return Err(ENOMEM),
            Err(_) => return Ok(Err(NoBtf::Hidden)),
        };
        Self::index(bytes).map_err(|AllocError| ENOMEM)
    }

    fn index(bytes: KVVec<u8>) -> Result<Result<Self, NoBtf>, AllocError> {
        let count = match btf::count(&bytes) {
            Ok(count) => count,
            Err(error) => return Ok(Err(error.into())),
        };
        let mut index = KVVec::from_elem(0, count, GFP_KERNEL)?;
        if let Err(error) = Btf::new(&bytes, &mut index) {
            return Ok(Err(error.into()));
        }
        Ok(Ok(Self { bytes, index }))
    }

    pub(crate) fn btf(&self) -> Result<Btf<'_>, BtfError> {
        Btf::indexed(&self.bytes, &self.index)
    }
}

/// The BTF of a module, and that of the kernel, which it goes on from.
pub(crate) struct ModuleBtf {
    own: KernelBtf,
    kernel: KernelBtf,
}

impl ModuleBtf {
    /// As [`KernelBtf::read`].
    pub(crate) fn read(module: &str) -> Result<Result<Self, NoBtf>> {
        let own = match KernelBtf::read(module)? {
            Ok(own) => own,
            Err(why) => return Ok(Err(why)),
        };
        Ok(KernelBtf::read("vmlinux")?.map(|kernel| Self { own, kernel }))
    }

    /// Calls `f` with it, or with what is wrong with it.
    pub(crate) fn with<R>(&self, f: impl FnOnce(Result<Btf<'_>, NoBtf>) -> R) -> R {
        match (self.kernel.btf(), self.own.btf()) {
            (Ok(base), Ok(own)) => f(Ok(own.of_module(&base))),
            (Err(error), _) | (_, Err(error)) => f(Err(error.into())),
        }
    }
}

fn read_file(path: &CStr) -> Result<KVVec<u8>> {
    let open = open_file::open(KernelTree::Sysfs, path)?;
    // A stale size would only make the reading stop early.
    let size = usize::try_from(c::rt_file_size(&open))?;
    if size == 0 || size > MOST {
        return Err(EFBIG);
    }

    let mut bytes = KVVec::from_elem(0u8, size, GFP_KERNEL)?;
    let mut filled = 0usize;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        let count = c::rt_file_read(&open, filled as i64, room.into());
        match usize::try_from(count) {
            Ok(0) => break,
            Ok(count) => filled = filled.wrapping_add(count),
            Err(_) => return Err(Error::from_errno(count as c_int)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
