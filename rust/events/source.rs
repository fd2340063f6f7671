// SPDX-License-Identifier: GPL-2.0

//! Where an event comes from: what puts its probe on, and what knows its fields and its text.
//! Called by `instance` to enable events, and by the rest of this folder.
//!
//! The sources are files of `sources/`. Most events are described by C, in a `struct
//! rt_event_desc`, which tells their fields and their text: their source says only how the probe is
//! put on. What a source says of all its events for good is asked once, when an event is made: a
//! call through a table of methods is dear on a CPU that needs protection from guessed branches,
//! and a reader would pay it for each line.

use super::{
    described::{
        attach,
        detach, //
    },
    Event,
    PrintManner,
    Printer, //
};
use crate::{
    event::field::DeclaredField,
    kapi::c, //
};
use core::ptr;
use kernel::{
    fmt,
    prelude::*, //
};

/// An instance, as a source tells instances apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recipient(usize);

impl Recipient {
    /// Returns the one that is known by the address of `place`, which stays while events are
    /// attached for it.
    pub(crate) fn at<T>(place: &T) -> Self {
        Self(ptr::from_ref(place).addr())
    }
}

/// What a source learns when the probe of an event is put on or taken off.
///
/// # Invariants
///
/// `cookie` is what `rtrace_reserve()` expects for `event`, and stays so until the probe was taken
/// off and, after that, [`super::synchronize`] has returned.
#[derive(Clone, Copy)]
pub(crate) struct Attachment {
    event: &'static Event,
    cookie: *mut c_void,
    recipient: Recipient,
    user_bytes: u64,
}

// SAFETY: The pointer is a cookie, which is for any context.
unsafe impl Send for Attachment {}

impl Attachment {
    /// Returns what the source of `event` learns for an instance that is known as `recipient`.
    ///
    /// # Safety
    ///
    /// `cookie` is what `rtrace_reserve()` expects for `event`, and stays so until the event's source
    /// has taken the probe off, if it put it on, and after that [`super::synchronize`] has returned.
    pub(crate) unsafe fn new(
        event: &'static Event,
        cookie: *mut c_void,
        recipient: Recipient,
        user_bytes: u64,
    ) -> Self {
        // INVARIANT: The caller promises what the cookie is, and how long.
        Self {
            event,
            cookie,
            recipient,
            user_bytes,
        }
    }

    /// Returns the event.
    pub(crate) fn event(&self) -> &'static Event {
        self.event
    }

    /// Returns what the probe hands to `rtrace_reserve()`.
    pub(crate) fn cookie(&self) -> *mut c_void {
        self.cookie
    }

    /// Returns whether the probe of `other` hands the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.cookie == other.cookie
    }

    /// Returns the instance that records.
    pub(crate) fn recipient(&self) -> Recipient {
        self.recipient
    }

    /// Returns the bytes that are recorded of what an argument of a system call points to.
    pub(crate) fn user_bytes(&self) -> u64 {
        self.user_bytes
    }
}

/// A list of fields, as it is handed to a visitor.
pub(crate) type Fields<'a> = dyn Iterator<Item = DeclaredField<'a>> + 'a;

/// A source of events: of one, or of many that differ in their descriptors alone.
///
/// Contexts: process context; the caller holds the lock of the recipient's events.
pub(crate) trait Source: Send + Sync {
    /// Puts the probe of an event on: unless the source does otherwise, that of the event's
    /// descriptor, which hands its cookie to `rtrace_reserve()`. When it fails no probe uses the cookie any more.
    ///
    /// # Errors
    ///
    /// `ENODEV` when the module of the event is gone, `ENOMEM`, `EEXIST` when the cookie is
    /// attached, `EINVAL` for an event of another source.
    fn attach(&self, to: Attachment) -> Result {
        // SAFETY: The probe of a plain event hands its cookie to `rtrace_reserve()`, which expects
        // this one for as long as it is attached (invariant of `Attachment`).
        unsafe { attach(to.event(), c::rt_event_kind_RT_EVENT_PLAIN, to.cookie()) }
    }

    /// Takes the probe off. It may still run until [`super::synchronize`] returns.
    fn detach(&self, from: Attachment) {
        detach(from.event(), from.cookie());
    }

    /// Calls `visit` with the own fields of an event that C does not describe, in their order in
    /// the record.
    fn visit_fields(&self, _event: &Event, _visit: &mut dyn FnMut(&mut Fields<'_>)) {}

    /// Writes the text of the `format` file of an event that C does not describe. Fails when `w`
    /// does.
    fn write_format(&self, _event: &Event, _w: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }

    /// Returns the text of a record of an event that C does not describe, made by `printer`; `None`
    /// when nothing knows how to print it any more. The record has [`Event::size`] bytes at least.
    /// May sleep.
    fn print<'p>(
        &self,
        _event: &Event,
        _record: &[u8],
        _manner: PrintManner,
        _printer: &'p mut Printer,
    ) -> Option<&'p [u8]> {
        None
    }

    /// Returns what the event's probe finds in the file of the event, if it looks there.
    fn probe_data(&self) -> *const c_void {
        ptr::null()
    }

    /// Returns the descriptor that the source itself keeps for its one event, if it does.
    fn descriptor(&self) -> Option<&c::rt_event_desc> {
        None
    }

    /// Returns how often the caller of the probe has disabled preemption to call it.
    fn own_depth(&self) -> u32 {
        0
    }

    /// Returns whether event probes can follow the event.
    fn may_be_followed(&self) -> bool {
        true
    }

    /// Returns whether the event is one of "all events": a tool that wants all of ftrace's events
    /// shall get no others.
    fn is_usual(&self) -> bool {
        true
    }

    /// Returns whether a record is printed as the option `fields` has it, and [`Self::print`] is not asked.
    fn is_printed_by_fields(&self) -> bool {
        false
    }

    /// Returns whether the name of the event comes before its text.
    fn is_named_in_text(&self) -> bool {
        true
    }
}

/// The source of an event.
pub(super) enum EventOrigin {
    /// One for many events.
    Shared(&'static dyn Source),
    /// One of its own.
    Own(KBox<dyn Source>),
}

impl EventOrigin {
    /// Returns it.
    pub(super) fn source(&self) -> &dyn Source {
        match self {
            Self::Shared(source) => *source,
            Self::Own(source) => &**source,
        }
    }
}
