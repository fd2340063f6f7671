// SPDX-License-Identifier: GPL-2.0

//! What does a record say in words?
//!
//! Called by the files that show records as text, with a copy of the record.

use super::{
    c,
    Event,
    GROUPS, //
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::prelude::*;

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
    pub(crate) unsafe fn text(&mut self, event: &Event, record: &[u8]) -> Option<&[u8]> {
        if record.len() < event.size() {
            return None;
        }
        // Only a group's descriptor can vanish.
        let _groups = event.format.as_ref().map(|_| GROUPS.lock());
        let desc = event.desc();
        if desc.is_null() {
            return None;
        }
        let mut text = ptr::null();
        // SAFETY:
        // - The descriptor is valid (invariant of `Event`), and remains so under the lock.
        // - The record has all its fixed fields, as was just tested; the caller vouches for the
        //   rest of it.
        let length = unsafe {
            c::rt_printer_format(self.0.as_ptr(), desc, record.as_ptr().cast(), &mut text)
        };
        // SAFETY: The text is in the printer's memory, and nobody prints again before the borrow of
        // `self` ends.
        Some(unsafe { core::slice::from_raw_parts(text, length) })
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        // SAFETY: Made by `rt_printer_new`, and freed only here.
        unsafe { c::rt_printer_free(self.0.as_ptr()) };
    }
}
