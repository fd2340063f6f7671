// SPDX-License-Identifier: GPL-2.0

//! The functions that can be traced: read from the kernel when they are asked for, and kept until a
//! module comes or goes.

use crate::{
    functions::list::{
        count_lines,
        Function,
        FunctionList, //
    },
    kapi::kernel_tracefs, //
};
use core::ops::Range;
use kernel::{
    prelude::*,
    str::CString,
    sync::Arc, //
};

crate::kapi::global::global_mutex! {
    static KNOWN: Mutex<KernelFunctions> = KernelFunctions {
        list: None,
        gone: KVec::new(),
        over: KVec::new(),
    };
}

/// What is known of the kernel's functions.
struct KernelFunctions {
    list: Option<Arc<Functions>>,
    /// Modules that went and have not come back: the kernel lists their functions until the last moment.
    gone: KVec<CString>,
    /// Of modules whose init is over: the kernel lists its functions until it frees them.
    over: KVec<InitCode>,
}

impl KernelFunctions {
    /// Returns whether the kernel lists a function that cannot be traced any more.
    fn has_left(&self, function: &Function<'_>) -> bool {
        let Some(module) = function.module else {
            return false;
        };
        let is_of = |name: &CString| name.to_bytes() == module;
        let is_over =
            |init: &InitCode| is_of(&init.module) && init.addresses.contains(&function.address);
        self.gone.iter().any(is_of) || self.over.iter().any(is_over)
    }

    /// Forgets what is known of the module `name`.
    fn forget(&mut self, name: &str) {
        self.gone.retain(|gone| gone.to_bytes() != name.as_bytes());
        self.over
            .retain(|init| init.module.to_bytes() != name.as_bytes());
    }
}

/// The code that a module needed for its init.
struct InitCode {
    module: CString,
    addresses: Range<u64>,
}

/// The functions that could be traced when the list was read.
pub(crate) struct Functions {
    text: KVVec<u8>,
    starts: KVVec<u32>,
}

impl Functions {
    /// Reads them. Takes hundreds of millions of instructions.
    ///
    /// # Errors
    ///
    /// Those of [`kernel_tracefs::read`]; `EFBIG` for more text than offsets of 32 bits reach.
    fn read(known: &KernelFunctions) -> Result<Self> {
        let mut text = kernel_tracefs::read(c"available_filter_functions_addrs")?;
        if u32::try_from(text.len()).is_err() {
            return Err(EFBIG);
        }
        if !known.gone.is_empty() || !known.over.is_empty() {
            text = present(&text, known)?;
        }
        let mut starts = KVVec::from_elem(0, count_lines(&text), GFP_KERNEL)?;
        FunctionList::index(&text, &mut starts);
        Ok(Self { text, starts })
    }

    /// Returns them as a list.
    pub(crate) fn list(&self) -> FunctionList<'_> {
        FunctionList::indexed(&self.text, &self.starts)
    }

    /// Returns the text that they were read from.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }
}

/// Returns `text` without the lines of functions that cannot be traced any more.
fn present(text: &[u8], known: &KernelFunctions) -> Result<KVVec<u8>> {
    let mut kept = KVVec::with_capacity(text.len(), GFP_KERNEL)?;
    let mut starts = KVVec::from_elem(0, count_lines(text), GFP_KERNEL)?;
    FunctionList::index(text, &mut starts);
    for (at, function) in FunctionList::indexed(text, &starts).iter().enumerate() {
        if known.has_left(&function) {
            continue;
        }
        let start = starts.get(at).map_or(0, |start| *start as usize);
        let end = starts.get(at.wrapping_add(1)).map(|end| *end as usize);
        let line = text.get(start..end.unwrap_or(text.len()));
        kept.extend_from_slice(line.unwrap_or_default(), GFP_KERNEL)?;
    }
    Ok(kept)
}

/// Returns the functions that can be traced. Process context; sleeps.
///
/// # Errors
///
/// `EPERM` when the kernel is locked down, `ENODEV` when it traces no functions, `ENOMEM`.
pub(crate) fn current() -> Result<Arc<Functions>> {
    let mut known = KNOWN.lock();
    if let Some(list) = &known.list {
        return Ok(list.clone());
    }
    let list = Arc::new(Functions::read(&known)?, GFP_KERNEL)?;
    known.list = Some(list.clone());
    Ok(list)
}

/// Returns whether `list` is what [`current`] would return.
pub(super) fn is_current(list: &Arc<Functions>) -> bool {
    KNOWN
        .lock()
        .list
        .as_ref()
        .is_some_and(|current| core::ptr::eq(&raw const **current, &raw const **list))
}

/// Notes that the functions of the module `name` can be traced.
pub(super) fn module_comes(name: &str) {
    let mut known = KNOWN.lock();
    known.list = None;
    known.forget(name);
}

/// Notes that the functions of the module `name`, or some of them, cannot be traced any more.
///
/// # Errors
///
/// `ENOMEM`: they may be listed until the kernel has taken them away.
pub(super) fn module_goes(name: &str) -> Result {
    let mut known = KNOWN.lock();
    known.list = None;
    known.forget(name);
    let name = CString::try_from_fmt(fmt!("{name}"))?;
    Ok(known.gone.push(name, GFP_KERNEL)?)
}

/// Forgets all that is known, and gives its memory back.
pub(super) fn exit() {
    let mut known = KNOWN.lock();
    known.list = None;
    known.gone = KVec::new();
    known.over = KVec::new();
}

/// Notes that some functions of the module `name` cannot be traced any more: those at `addresses`, which it needed
/// for its init.
///
/// # Errors
///
/// `ENOMEM`: they may be listed until the kernel has taken them away.
pub(super) fn init_is_over(name: &str, addresses: Range<u64>) -> Result {
    let mut known = KNOWN.lock();
    known.list = None;
    let module = CString::try_from_fmt(fmt!("{name}"))?;
    let init = InitCode { module, addresses };
    Ok(known.over.push(init, GFP_KERNEL)?)
}
