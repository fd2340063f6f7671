// SPDX-License-Identifier: GPL-2.0

//! The text of a record, made by the print function of its event.
//!
//! Called by the files that show records as text, with a copy of the record.

use super::Event;
use crate::{
    kapi::c,
    text::{
        options::{
            Opt,
            OptionSet, //
        },
        stack::USER_DEPTH, //
    }, //
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::prelude::*;

/// How records are printed.
#[derive(Clone, Copy)]
pub(crate) struct Manner(u32);

impl Manner {
    /// As the options of an instance want it.
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

/// The buffers that one reader prints records with.
pub(crate) struct Printer(NonNull<c::rt_printer>);

// SAFETY: Plain memory, used only through the one owner.
unsafe impl Send for Printer {}

impl Printer {
    pub(crate) fn new() -> Result<Self> {
        // SAFETY: Allocates only.
        let printer = unsafe { c::rt_printer_new() };
        NonNull::new(printer).map(Self).ok_or(ENOMEM)
    }

    /// The text of a record, without the name of the event and without a line end.
    ///
    /// `None` when the record is too short for its event, or when the module that knows how to
    /// print it is gone. May sleep.
    ///
    /// # Safety
    ///
    /// `record` is a whole record that the probe of `event` wrote: the offsets of strings and
    /// arrays in it lie inside of it.
    pub(crate) unsafe fn text(
        &mut self,
        event: &Event,
        record: &[u8],
        manner: Manner,
    ) -> Option<&[u8]> {
        if record.len() < event.size() {
            return None;
        }
        let held = event.hold();
        // SAFETY: Null or valid (invariant of `Event`), and it stays so while it is held.
        let Some(desc) = (unsafe { event.desc().as_ref() }) else {
            drop(held);
            // SAFETY: The record is whole, the event's own and long enough, as the contract of both says.
            return unsafe { event.source().print(event, record, manner, self) };
        };
        let mut text = ptr::null();
        // SAFETY:
        // - The descriptor is valid, and remains so while it is held.
        // - The record has all its fixed fields, as was just tested; the caller vouches for the
        //   rest of it.
        let length = unsafe {
            c::rt_printer_format(
                self.0.as_ptr(),
                desc,
                record.as_ptr().cast(),
                manner.0,
                &mut text,
            )
        };
        // SAFETY: The text is in the printer's memory, and nobody prints again before the borrow of
        // `self` ends.
        Some(unsafe { core::slice::from_raw_parts(text, length) })
    }

    /// The lines of callers in user space of `process`; zeros behind the last one. May sleep.
    pub(crate) fn user_stack(
        &mut self,
        process: u32,
        callers: &[u64; USER_DEPTH],
        manner: Manner,
    ) -> &[u8] {
        let mut text = ptr::null();
        // SAFETY: Reads so many addresses; prints into our buffers.
        let length = unsafe {
            c::rt_printer_user_stack(
                self.0.as_ptr(),
                process as i32,
                callers.as_ptr(),
                USER_DEPTH as u32,
                manner.0,
                &mut text,
            )
        };
        // SAFETY: As in `text`.
        unsafe { core::slice::from_raw_parts(text, length) }
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        // SAFETY: Made by `rt_printer_new`, and freed only here.
        unsafe { c::rt_printer_free(self.0.as_ptr()) };
    }
}
