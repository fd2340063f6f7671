// SPDX-License-Identifier: GPL-2.0

//! Names of addresses, cached for one reader.
//!
//! A lookup takes microseconds for an address of the kernel and a hundred for one of a module,
//! whose symbol table is searched linearly; and the events in a buffer contain the same few
//! addresses again and again. The cache holds only names that cannot change: those of the kernel's
//! own functions, and of this module, which stays loaded as long as one of its files is open. All
//! others are looked up each time. Called by the printers of lines and of JSON, and by the sources of
//! events that C does not describe, for the text of their records.

use crate::{
    event::values,
    kapi::{
        strings,
        symbol::{
            self,
            Symbol, //
        }, //
    },
    text::{
        json,
        stack::{
            NameExtent,
            SymbolNames, //
        },
        word,
        writer::ByteWrite, //
    },
};
use core::fmt;
use kernel::prelude::*;

/// Number of cached names.
const SLOTS: usize = 64;
/// Length of the longest name that is cached.
const LONGEST: usize = 118;

/// The cache.
pub(crate) struct Symbols {
    /// Indexed by a hash of the address; empty before the first name.
    known: KVVec<CachedName>,
}

/// A cached name. The length of an empty entry is 0.
#[derive(Clone, Copy)]
struct CachedName {
    address: u64,
    parts: NameExtent,
    len: u8,
    text: [u8; LONGEST],
}

impl CachedName {
    const NONE: Self = Self {
        address: 0,
        parts: NameExtent::Function,
        len: 0,
        text: [0; LONGEST],
    };

    fn text(&self) -> Option<&[u8]> {
        let text = self.text.get(..usize::from(self.len))?;
        (!text.is_empty()).then_some(text)
    }
}

impl Symbols {
    /// Returns an empty cache.
    pub(crate) const fn new() -> Self {
        Self {
            known: KVVec::new(),
        }
    }

    /// Calls `say` with the name of `address`, with the offset in the function and the module; with
    /// its number if it has none. Returns what `say` does.
    pub(crate) fn with_text<R>(&mut self, address: u64, say: impl FnOnce(&[u8]) -> R) -> R {
        self.look_up(address, NameExtent::Place, |text, _| say(text))
    }

    /// Calls `say` with these parts of the name of `address`. Returns `None` if the address has no name.
    fn with_name<R>(
        &mut self,
        address: u64,
        parts: NameExtent,
        say: impl FnOnce(&[u8]) -> R,
    ) -> Option<R> {
        self.look_up(address, parts, |text, is_name| is_name.then(|| say(text)))
    }

    /// Calls `say` with the text for `address`, and with whether that is a name. Returns what `say`
    /// does.
    fn look_up<R>(
        &mut self,
        address: u64,
        parts: NameExtent,
        say: impl FnOnce(&[u8], bool) -> R,
    ) -> R {
        // Functions are aligned to 16 bytes; the calls in them are not.
        let at = (address ^ (address >> 7)) as usize % SLOTS;
        let known = self.known.get(at);
        let known = known.filter(|known| (known.address, known.parts) == (address, parts));
        if let Some(text) = known.and_then(CachedName::text) {
            return say(text, true);
        }
        let symbol = match parts {
            NameExtent::Function => Symbol::name_at(address),
            NameExtent::ModuleFunction => Symbol::function_at(address),
            NameExtent::Place => Symbol::at(address),
        };
        let Some(name) = symbol.name() else {
            return say(symbol.text().as_bytes(), false);
        };
        if symbol.stays() {
            self.remember(at, address, parts, name.as_bytes());
        }
        say(name.as_bytes(), true)
    }

    /// Caches a name. Does nothing without memory for the cache.
    fn remember(&mut self, at: usize, address: u64, parts: NameExtent, name: &[u8]) {
        if self.known.is_empty() {
            let _ = self.known.resize(SLOTS, CachedName::NONE, GFP_KERNEL);
        }
        let (Some(known), Ok(len)) = (self.known.get_mut(at), u8::try_from(name.len())) else {
            return;
        };
        if let Some(text) = known.text.get_mut(..name.len()) {
            text.copy_from_slice(name);
            known.address = address;
            known.parts = parts;
            known.len = len;
        }
    }

    /// Writes an address as a JSON string that does not reveal where the kernel is: its name, or,
    /// if it has none, its hash.
    pub(crate) fn write_json(&mut self, address: u64, out: &mut dyn ByteWrite) -> fmt::Result {
        let named = self.with_name(address, NameExtent::Place, |name| {
            json::write_string(name, out)
        });
        named.unwrap_or_else(|| symbol::write_hashed(address, out))
    }
}

impl SymbolNames for Symbols {
    fn write_name(
        &mut self,
        address: u64,
        parts: NameExtent,
        out: &mut dyn ByteWrite,
    ) -> Result<bool, fmt::Error> {
        match self.with_name(address, parts, |name| out.write_bytes(name)) {
            Some(written) => written.map(|()| true),
            None => Ok(false),
        }
    }

    fn is_return_probe(&self, address: u64) -> bool {
        symbol::is_return_probe(address)
    }
}

impl values::KernelValues for Symbols {
    fn write_symbol(&mut self, address: u64, out: &mut dyn ByteWrite) -> fmt::Result {
        self.with_text(address, |text| out.write_bytes(text))
    }

    fn code_begin(&self) -> u64 {
        symbol::code_begin()
    }

    fn write_string(&mut self, address: u64, out: &mut dyn ByteWrite) -> fmt::Result {
        let written = strings::with_string(address, false, |string| {
            out.write_char(':')?;
            out.write_bytes(word::c_string(string))
        });
        written.unwrap_or(Ok(()))
    }
}
