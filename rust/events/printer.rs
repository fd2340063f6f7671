// SPDX-License-Identifier: GPL-2.0

//! The text of a record, made by the print function of its event.
//!
//! Called by `output` for the files that show records as text, with a copy of the record.

use super::{
    symbols::Symbols,
    Event, //
};
use crate::{
    kapi::{
        c,
        foreign::{
            FinalRef,
            Owned,
            Release, //
            TaskSharedObject,
        },
        text_buffer::TextBuffer,
        whole_record::WholeRecord, //
    },
    text::{
        options::{
            Opt,
            OptionSet, //
        },
        stack::USER_DEPTH,
        writer::ByteWrite, //
    }, //
};
use core::fmt;
use kernel::prelude::*;

/// The manner in which records are printed.
#[derive(Clone, Copy)]
pub(crate) struct PrintManner(u32);

impl PrintManner {
    /// Returns whether addresses follow the names of symbols.
    pub(crate) fn has_addresses(self) -> bool {
        self.0 & c::rt_print_flags_RT_PRINT_ADDRESSES != 0
    }

    /// Returns whether each value has its conversion before it.
    pub(crate) fn has_types(self) -> bool {
        self.0 & c::rt_print_flags_RT_PRINT_TYPES != 0
    }

    /// Returns the manner that the options of an instance ask for.
    pub(crate) fn of(options: OptionSet) -> Self {
        let rows = [
            (
                !options.has(Opt::HashPtr),
                c::rt_print_flags_RT_PRINT_POINTERS,
            ),
            (
                options.has(Opt::BitmaskList),
                c::rt_print_flags_RT_PRINT_LISTS,
            ),
            (
                options.has(Opt::SymUserobj),
                c::rt_print_flags_RT_PRINT_FILES,
            ),
            (
                options.has(Opt::SymAddr),
                c::rt_print_flags_RT_PRINT_ADDRESSES,
            ),
            (options.has(Opt::Verbose), c::rt_print_flags_RT_PRINT_TYPES),
        ];
        Self(
            rows.into_iter()
                .filter(|(on, _)| *on)
                .fold(0, |flags, (_, flag)| flags | flag),
        )
    }
}

/// What one reader prints records with.
pub(crate) struct Printer {
    /// The buffers of the print functions in C.
    buffers: Owned<c::rt_printer>,
    /// The text that a source has composed.
    composed: TextBuffer,
    symbols: Symbols,
}

impl Printer {
    /// Allocates the buffers. Process context. Fails with `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            buffers: c::rt_printer_new().ok_or(ENOMEM)?,
            composed: TextBuffer::new(),
            symbols: Symbols::new(),
        })
    }

    /// Returns the text of a record, without the name of the event and without a line end.
    ///
    /// `None` when the record is of another event or too short for this one, or when the module that
    /// knows how to print it is gone. May sleep.
    pub(crate) fn text(
        &mut self,
        event: &Event,
        record: WholeRecord<'_>,
        manner: PrintManner,
    ) -> Option<&[u8]> {
        if record.len() < event.size() || !record.starts_with(&event.id().to_ne_bytes()) {
            return None;
        }
        let held = event.hold();
        let Some(desc) = held.desc() else {
            drop(held);
            return event.source().print(event, record.bytes(), manner, self);
        };
        let record = record.as_ptr().cast();
        // SAFETY: It is the whole record (`WholeRecord`) of this event, as its type says, and has all its fixed fields,
        // as was just tested: offsets of strings and arrays in it lie within it.
        let text = unsafe { c::rt_printer_format(self.buffers.alone(), desc, record, manner.0) };
        Some(text.bytes())
    }

    /// Returns the names of addresses that the reader has met.
    pub(crate) fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }

    /// Returns the text that `write` makes, as far as there is memory for it.
    pub(crate) fn compose(
        &mut self,
        write: impl FnOnce(&mut dyn ByteWrite, &mut Symbols) -> fmt::Result,
    ) -> &[u8] {
        self.composed.clear();
        let _ = write(&mut self.composed, &mut self.symbols);
        self.composed.bytes()
    }

    /// Returns the lines of `callers`, addresses in user space of `process`; zeros follow the last
    /// one. May sleep.
    pub(crate) fn user_stack(
        &mut self,
        process: u32,
        callers: &[u64; USER_DEPTH],
        manner: PrintManner,
    ) -> &[u8] {
        let callers = callers.as_slice().into();
        c::rt_printer_user_stack(self.buffers.alone(), process as i32, callers, manner.0).bytes()
    }
}

impl Release for c::rt_printer {
    fn release(ending: FinalRef<Self>) {
        c::rt_printer_free(ending);
    }
}

// SAFETY: It is plain memory that belongs to no thread or CPU, and nothing takes a reference.
unsafe impl TaskSharedObject for c::rt_printer {}
