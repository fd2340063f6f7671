// SPDX-License-Identifier: GPL-2.0

//! Strings and names that are not ours: of the current task, at addresses that were not checked, of
//! the kernel's functions.

use super::{
    c,
    symbol::Symbol,
    task, //
};
use crate::text::symbol::function_of_symbol;
use kernel::{
    bindings,
    page::PAGE_SIZE,
    prelude::*,
    str::CString, //
};

/// Longest string that is looked at.
const LONGEST: usize = 512;

/// Returns the name of the current task. Any context.
pub(crate) fn comm() -> [u8; task::COMM] {
    task::bytes_of(task::name(kernel::current!()))
}

/// Reads memory of the current process or of the kernel. Returns whether all of it could be read. Any
/// context.
pub(crate) fn read(address: u64, to: &mut [u8], user: bool) -> bool {
    let size = to.len();
    let (to, source) = (to.as_mut_ptr().cast(), address as usize as *const c_void);
    let failed = if user {
        // SAFETY: `to` has room for `size` bytes; the function may be given any address.
        unsafe { bindings::copy_from_user_nofault(to, source, size) }
    } else {
        // SAFETY: `to` has room for `size` bytes; the function may be given any address.
        unsafe { bindings::copy_from_kernel_nofault(to, source, size) }
    };
    failed == 0
}

/// Asks `question` about the string at `address`, of the user's memory or of the kernel's, up to
/// some hundred bytes; `None` when nothing can be read there. Any context.
pub(crate) fn with_string<R>(
    address: u64,
    user: bool,
    question: impl FnOnce(&[u8]) -> R,
) -> Option<R> {
    let mut bytes = [0u8; LONGEST];
    let mut len = 0usize;
    let mut from = address as usize;
    while len < LONGEST {
        // No copy reaches into the next page before this one had no end of the string.
        let in_page = PAGE_SIZE.wrapping_sub(from % PAGE_SIZE);
        let part = bytes.get_mut(len..len.saturating_add(in_page).min(LONGEST))?;
        let size = part.len();
        if !read(from as u64, part, user) {
            return None;
        }
        len = len.wrapping_add(size);
        if part.contains(&0) {
            break;
        }
        from = from.checked_add(size)?;
    }
    bytes.get(..len).map(question)
}

/// Returns what the kernel calls the system call of that number, if it is one with events.
pub(crate) fn syscall(number: u64) -> Option<&'static str> {
    c::rt_syscall_name(number as usize)?.string().to_str().ok()
}

/// Returns the first address of a function of the kernel, and the one after its last. Process context.
pub(crate) fn function(name: &str) -> Option<(u64, u64)> {
    let name = CString::try_from_fmt(fmt!("{name}")).ok()?;
    match c::rt_function_address((&*name).into()) {
        0 => None,
        address => function_at(address as u64),
    }
}

/// Returns the same of the function around `address`.
pub(crate) fn function_at(address: u64) -> Option<(u64, u64)> {
    function_of_symbol(Symbol::at(address).text(), address)
}
