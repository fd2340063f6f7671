// SPDX-License-Identifier: GPL-2.0

//! Names of addresses: of our own code that ends up in records, and of anything in the kernel.

use super::{
    c,
    kprobe::symbol_address,
    words::SharedU64, //
};
use crate::{
    ring::port::SharedWord,
    text::{
        json,
        set_event::undashed,
        writer::ByteWrite, //
    }, //
};
use core::{
    fmt,
    str, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// Returns the address that a marker's record carries. Its symbol is `tracing_mark_write`, the name that
/// programs look for before a marker.
pub(crate) fn marker_address() -> usize {
    c::tracing_mark_write()
}

/// Where the kernel has functions go back to that have a probe at their return: the address of its code for that. 0
/// before it was looked for, and in a kernel without such probes.
static RETURN_PROBE: SharedU64 = SharedU64::zero();

/// The first code of the kernel, from which some records count places. 0 before it was looked for.
static CODE_BEGIN: SharedU64 = SharedU64::zero();

/// Looks for the places of the kernel that printers know, in whatever context they run. Process context.
pub(crate) fn find_places() {
    RETURN_PROBE.store(symbol_address("arch_rethook_trampoline").unwrap_or(0));
    CODE_BEGIN.store(symbol_address("_stext").unwrap_or(0));
}

/// Returns the address of the first code of the kernel; 0 if that is not known. Any context.
pub(crate) fn code_begin() -> u64 {
    CODE_BEGIN.load()
}

/// Returns whether the kernel has functions with a probe at their return go back to `address`. Any context.
pub(crate) fn is_return_probe(address: u64) -> bool {
    address != 0 && address == RETURN_PROBE.load()
}

/// Returns whether a module of this name is loaded or being loaded; a dash is an underscore. Each has the
/// symbol `__this_module`. Process context. Without `CONFIG_KPROBES` none is found.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn is_module(name: &[u8]) -> Result<bool> {
    let mut symbol = KVec::new();
    for byte in undashed(name) {
        symbol.push(byte, GFP_KERNEL)?;
    }
    symbol.extend_from_slice(b":__this_module\0", GFP_KERNEL)?;
    let Ok(symbol) = CStr::from_bytes_with_nul(&symbol) else {
        return Ok(false);
    };
    Ok(c::rt_symbol_address(symbol.into()) != 0)
}

/// Returns whether what has this address may have another one after modules have come and gone: it is neither the
/// kernel's own nor of rtrace. Process context.
pub(crate) fn may_move(address: u64) -> bool {
    let symbol = Symbol::function_at(address);
    // What each CPU has of its own in a module has an address without a name.
    symbol.name().is_none() || !symbol.stays()
}

/// The name of an address.
pub(crate) struct Symbol {
    text: [u8; c::RT_SYMBOL_LEN as usize],
    len: usize,
    stays: bool,
}

/// How the kernel begins what it writes for an address without a name.
const NUMBER: &str = "0x";
/// What stands between a name and that of its module.
const MODULE: &str = " [";
/// What stands there for ours.
const OURS: &str = " [rtrace]";

/// A function of the kernel that writes a name for an address.
///
/// # Invariants
///
/// It writes at most `RT_SYMBOL_LEN` bytes, the end of the string included, and takes any address.
struct Print(unsafe extern "C" fn(*mut c_char, c_ulong) -> c_int);

// INVARIANT: That is the kernel's KSYM_SYMBOL_LEN, see shim.c.
const WITH_OFFSET: Print = Print(bindings::sprint_symbol);
// INVARIANT: It writes less than the other one.
const WITHOUT_OFFSET: Print = Print(bindings::sprint_symbol_no_offset);

/// Room for what is written.
type SymbolRoom = [u8; c::RT_SYMBOL_LEN as usize];

impl Print {
    /// Returns what it writes, and its length. Any context.
    fn text_of(self, address: u64) -> (SymbolRoom, usize) {
        let mut text = [0; c::RT_SYMBOL_LEN as usize];
        // SAFETY: There is room for what it writes, and it takes any address (invariant).
        let len = unsafe { self.0(text.as_mut_ptr().cast(), address as usize) };
        (text, usize::try_from(len).unwrap_or(0))
    }
}

/// Calls `take` with what [`Symbol::at`] has. Any context.
///
/// The room for the text is on the stack for as long only: callers in any context may be inside each other.
#[inline(never)]
pub(crate) fn with_text_at(address: u64, take: impl FnOnce(&[u8])) {
    let (text, len) = WITH_OFFSET.text_of(address);
    take(text.get(..len).unwrap_or_default());
}

impl Symbol {
    /// Returns the name with the place in the function, and the module. The number of an address without
    /// a name.
    pub(crate) fn at(address: u64) -> Self {
        Self::print(WITH_OFFSET, address)
    }

    /// Returns the name without the place in the function.
    pub(crate) fn function_at(address: u64) -> Self {
        Self::print(WITHOUT_OFFSET, address)
    }

    /// Returns the name without both.
    pub(crate) fn name_at(address: u64) -> Self {
        let mut name = Self::print(WITHOUT_OFFSET, address);
        if let Some((alone, _)) = name.text().split_once(MODULE) {
            name.len = alone.len();
        }
        name
    }

    fn print(print: Print, address: u64) -> Self {
        let (text, len) = print.text_of(address);
        let mut symbol = Self {
            text,
            len,
            stays: false,
        };
        let text = symbol.text();
        symbol.stays = !text.contains(MODULE) || text.ends_with(OURS);
        symbol
    }

    /// Returns whether it will be the name of the address as long as rtrace is loaded. Other modules go, and
    /// so does code that the kernel made.
    pub(crate) fn stays(&self) -> bool {
        self.stays
    }

    /// Returns what was written.
    pub(crate) fn text(&self) -> &str {
        let bytes = self.text.get(..self.len).unwrap_or_default();
        str::from_utf8(bytes).unwrap_or_default()
    }

    /// Returns the name, if it is one.
    pub(crate) fn name(&self) -> Option<&str> {
        Some(self.text()).filter(|text| !text.is_empty() && !text.starts_with(NUMBER))
    }

    /// Returns the name, if it is one, and the name of the module if it is in one.
    pub(crate) fn name_and_module(&self) -> Option<(&str, Option<&str>)> {
        let name = self.name()?;
        Some(match name.split_once(MODULE) {
            Some((name, module)) => (name, module.strip_suffix(']')),
            None => (name, None),
        })
    }
}

/// Room for the names of all flags of an allocation.
const GFP: usize = 768;

/// Writes the names of the flags of an allocation, as events of the kernel do.
pub(crate) fn write_gfp(flags: u64, out: &mut dyn ByteWrite) -> fmt::Result {
    let mut text = [0u8; GFP];
    let len = c::rt_text_of_gfp(text.as_mut_slice().into(), flags as u32);
    out.write_bytes(text.get(..len).unwrap_or_default())
}

/// Room for a hashed address.
const HASHED: usize = 32;

/// Writes the number that stands for an address, as a string of JSON.
pub(crate) fn write_hashed(address: u64, out: &mut dyn ByteWrite) -> fmt::Result {
    let mut text = [0u8; HASHED];
    // It does not follow the address.
    let len = c::rt_text_of_hashed(text.as_mut_slice().into(), address as usize);
    json::write_string(text.get(..len).unwrap_or_default(), out)
}
