// SPDX-License-Identifier: GPL-2.0

//! Turns the record of a tracepoint into text with the kernel's own printing code.
//!
//! The C side of each event has a printer made from its TRACE_EVENT header. Called by `fs::lines`.

use super::{
    c,
    events::Event, //
};
use core::{
    ptr::{
        self,
        NonNull, //
    },
    slice, //
};
use kernel::prelude::*;

/// The memory in which texts are made; one text at a time.
///
/// # Invariants
///
/// The pointer came from `rt_printer_new()` and nobody else has it.
pub(crate) struct Printer(NonNull<c::rt_printer>);

// SAFETY: The memory belongs to no task and no CPU.
unsafe impl Send for Printer {}

impl Printer {
    /// A printer.
    pub(crate) fn new() -> Result<Self> {
        // SAFETY: No pointers are involved; we may sleep.
        let printer = unsafe { c::rt_printer_new() };
        // INVARIANT: It was just made.
        NonNull::new(printer).map(Self).ok_or(ENOMEM)
    }

    /// The text of a record, without the name of the event and without a newline. Nothing when the
    /// record is too short for its event.
    ///
    /// # Safety
    ///
    /// `record` is a whole record that the probe of `event` wrote: the offsets of strings and arrays in
    /// it lie inside of it.
    pub(crate) unsafe fn text(&mut self, event: &Event, record: &[u8]) -> Option<&[u8]> {
        if record.len() < event.size() {
            return None;
        }
        let mut text = ptr::null();
        // SAFETY:
        // - The printer is ours, by the invariant, and `&mut` keeps others from it.
        // - The description lives as long as the event.
        // - The record is one of this event, by the contract, and as long as its fixed fields, as was
        //   just tested.
        let length = unsafe {
            c::rt_printer_format(
                self.0.as_ptr(),
                event.desc(),
                record.as_ptr().cast(),
                &mut text,
            )
        };
        // SAFETY: The text has this length and stays until the next call, which needs `&mut self`.
        Some(unsafe { slice::from_raw_parts(text.cast(), length) })
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        // SAFETY: By the invariant it is ours to free.
        unsafe { c::rt_printer_free(self.0.as_ptr()) };
    }
}
