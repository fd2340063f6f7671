// SPDX-License-Identifier: GPL-2.0

//! Strings and names that are not ours: of the current task, at addresses nobody has checked, of
//! the kernel's functions.

use super::c;
use kernel::{
    bindings,
    page::PAGE_SIZE,
    prelude::*,
    str::CString, //
};

/// Longest string that is looked at.
const LONGEST: usize = 512;
/// Bytes of the name of a task.
const COMM: usize = 16;

/// Asks `question` about the name of the current task. Any context.
pub(crate) fn with_comm<R>(question: impl FnOnce(&[u8]) -> R) -> R {
    let task = kernel::current!().as_ptr();
    let mut comm = [0u8; COMM];
    for (at, byte) in comm.iter_mut().enumerate() {
        // SAFETY: The current task exists; somebody may rename it meanwhile, which gives some bytes
        // of either name.
        *byte = unsafe {
            (&raw const (*task).comm)
                .cast::<u8>()
                .add(at)
                .read_volatile()
        };
    }
    question(&comm)
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
        let to = part.as_mut_ptr().cast();
        // SAFETY: `to` has room for `size` bytes; both functions may be given any address.
        let failed = unsafe {
            if user {
                bindings::copy_from_user_nofault(to, from as *const c_void, size)
            } else {
                bindings::copy_from_kernel_nofault(to, from as *const c_void, size)
            }
        };
        if failed != 0 {
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

/// First address of a function of the kernel, and the one behind it. Process context.
pub(crate) fn function(name: &str) -> Option<(u64, u64)> {
    let name = CString::try_from_fmt(fmt!("{name}")).ok()?;
    // SAFETY: A string.
    match unsafe { c::rt_function_address(name.as_char_ptr()) } {
        0 => None,
        address => function_at(address as u64),
    }
}

/// The same of the function around `address`.
pub(crate) fn function_at(address: u64) -> Option<(u64, u64)> {
    // Longer than any name with what follows it.
    let mut text = [0u8; bindings::KSYM_NAME_LEN as usize * 2];
    // SAFETY: Room for the longest text that the function writes (KSYM_SYMBOL_LEN).
    let len = unsafe { bindings::sprint_symbol(text.as_mut_ptr(), address as usize) };
    let text = text.get(..usize::try_from(len).ok()?)?;
    crate::text::symbol::function_of_symbol(core::str::from_utf8(text).ok()?, address)
}
