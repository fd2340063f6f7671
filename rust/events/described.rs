// SPDX-License-Identifier: GPL-2.0

//! Events that C describes: their names, fields and texts, read from a `struct rt_event_desc`.
//!
//! The tables of `shim/events/` have the descriptors of our own headers; modules and other sources
//! bring theirs. A descriptor in use does not change. That of a module's event vanishes with the
//! module, but not while [`GROUPS`](super::GROUPS) is held. Called by the rest of this folder and
//! by `sources/`.

use super::Event;
use crate::{
    event::{
        evals::Eval,
        field::DeclaredField,
        format, //
    },
    kapi::c, //
};
use core::{
    mem::size_of,
    ptr, //
};
use kernel::{
    bindings,
    error::to_result,
    fmt,
    prelude::*, //
};

/// Puts the descriptor's probe on the tracepoint of `event`, an event of this kind.
///
/// # Errors
///
/// `ENODEV` when the module of the event is gone, `EINVAL` for an event of another kind; else what
/// the kernel says: `ENOMEM`, and `EEXIST` when this cookie is attached already.
///
/// # Safety
///
/// `cookie` is what the probes of this kind of events expect, for this event, and stays so until
/// [`detach`] and, after that, [`super::synchronize`] have returned.
pub(crate) unsafe fn attach(event: &Event, kind: c::rt_event_kind, cookie: *mut c_void) -> Result {
    let locked = event.lock();
    let desc = locked.desc().filter(|_| event.is_offered()).ok_or(ENODEV)?;
    if u32::from(desc.kind) != kind {
        return Err(EINVAL);
    }
    // SAFETY:
    // - The tracepoint is valid, as there is a descriptor (invariant of `Event`), and stays so
    //   under the lock.
    // - The probe has the tracepoint's prototype: the C compiler checked that.
    // - The caller promises that the cookie is what the probe expects.
    to_result(unsafe {
        bindings::tracepoint_probe_register(event.tracepoint(), desc.probe, cookie)
    })
}

/// Takes the probe with this cookie off. It may still run until [`super::synchronize`] returns.
pub(crate) fn detach(event: &Event, cookie: *mut c_void) {
    let held = event.hold();
    let Some(desc) = held.desc() else {
        return;
    };
    // SAFETY: The tracepoint is valid, as there is a descriptor (invariant of `Event`), and stays so
    // while that is held. The kernel looks for the probe and the cookie among those that it has.
    unsafe { bindings::tracepoint_probe_unregister(event.tracepoint(), desc.probe, cookie) };
}

/// The source of an event with a tracepoint and a probe of its own: one from a TRACE_EVENT()
/// header, whose probe hands its cookie to `rtrace_reserve()`.
pub(super) struct HeaderSource;

impl super::Source for HeaderSource {}

/// Writes the `format` text of an event with this descriptor. Fails when `w` does.
pub(super) fn write_format_of(
    w: &mut dyn fmt::Write,
    id: u16,
    desc: &c::rt_event_desc,
    evals: &[c::rt_eval],
) -> fmt::Result {
    // An eval is for the events of its own header, and these share one system string.
    let evals = evals
        .iter()
        .filter(|eval| eval.system == desc.system)
        .map(|eval| Eval {
            text: eval.text(),
            value: eval.value as i64,
        });
    format::write(w, desc.name(), id, fields(desc), desc.print_fmt(), evals)
}

/// Returns the fields of an event after the common ones.
pub(super) fn fields<'a>(desc: &'a c::rt_event_desc) -> impl Iterator<Item = DeclaredField<'a>> {
    let mut index = 0;
    core::iter::from_fn(move || {
        let mut field = c::rt_field {
            type_: ptr::null(),
            name: ptr::null(),
            size: 0,
            align: 0,
            len: 0,
            is_signed: false,
        };
        // SAFETY: The descriptor is valid, and its list ends where this says no: the index stays
        // there.
        if !unsafe { c::rt_event_field(desc, index, &mut field) } {
            return None;
        }
        index = index.wrapping_add(1);
        let string = |string: *const c_char| -> &'a str {
            // SAFETY: The C compiler, or `RawDesc::new`, made these terminated strings; they are
            // the descriptor's, which stays during `'a`.
            unsafe { text(string) }
        };
        Some(DeclaredField {
            ty: string(field.type_),
            name: string(field.name),
            size: field.size,
            align: field.align,
            len: field.len,
            signed: field.is_signed,
        })
    })
}

/// Gives the rows of C's tables methods that return their strings.
///
/// A row of these types is in a table of `shim/events/` or of another module, or was made by
/// `rt_syscalls_new()` or `RawDesc::new`: its strings are terminated, and stay unchanged as long as
/// the row.
macro_rules! strings {
    ($($row:ident: $($string:ident)*;)*) => {
        $(impl c::$row {
            $(
                /// Returns the string of that name.
                pub(crate) fn $string(&self) -> &str {
                    // SAFETY: A terminated string of a row, which stays unchanged as long as the
                    // row.
                    unsafe { text(self.$string) }
                }
            )*
        })*
    };
}

strings! {
    rt_event_desc: system name tp_name print_fmt;
    rt_eval: text;
    rt_layout: type_ member;
    rt_absent: system name why;
}

/// Returns system and name of an event.
pub(crate) fn names(desc: &c::rt_event_desc) -> (&str, &str) {
    (desc.system(), desc.name())
}

/// Returns a string of C; an empty one if it should not be UTF-8.
///
/// # Safety
///
/// `string` is valid and terminated, and does not change during `'a`.
pub(super) unsafe fn text<'a>(string: *const c_char) -> &'a str {
    // SAFETY: The caller promises a terminated string that does not change during `'a`, as
    // `from_char_ptr` wants it.
    let bytes = unsafe { CStr::from_char_ptr(string) }.to_bytes();
    as_text(Some(bytes))
}

/// Returns `bytes` as text; an empty one if there are none or they should not be UTF-8.
pub(crate) fn as_text(bytes: Option<&[u8]>) -> &str {
    bytes
        .and_then(|bytes| core::str::from_utf8(bytes).ok())
        .unwrap_or_default()
}

/// Returns the elements between two bounds of a table.
///
/// # Safety
///
/// The bounds enclose an array of `T` that is valid and does not change during `'a`.
pub(super) unsafe fn between<'a, T>(first: *const T, last: *const T) -> &'a [T] {
    let bytes = last.addr().saturating_sub(first.addr());
    // SAFETY: The caller promises a valid array that does not change during `'a`, and the bounds
    // are this many whole elements apart.
    unsafe { core::slice::from_raw_parts(first, bytes / size_of::<T>()) }
}

/// Our own tables: `first.c` and `last.c` bound them.
macro_rules! own_table {
    ($(#[$doc:meta])* $name:ident, $type:ident, $first:ident, $last:ident) => {
        $(#[$doc])*
        pub(crate) fn $name() -> &'static [c::$type] {
            // SAFETY:
            // - Linked first and last, the two enclose the section of their type. It is read-only
            //   and stays as long as this module, so that it does not change during `'static`.
            // - No gap: the type's size is a multiple of the alignment that the section's
            //   definitions have.
            unsafe { between((&raw const c::$first).cast(), (&raw const c::$last).cast()) }
        }
    };
}

own_table!(
    /// Returns the descriptors of our own headers' events.
    own_descs, rt_event_desc, rt_events_first, rt_events_last
);
own_table!(
    /// Returns the constants that the print formats of our own headers name.
    own_evals, rt_eval, rt_evals_first, rt_evals_last
);
own_table!(
    /// Returns the members of private structs that our own probes read.
    own_layouts, rt_layout, rt_layouts_first, rt_layouts_last
);
own_table!(
    /// Returns the events that are left out, and why.
    own_absent, rt_absent, rt_absent_first, rt_absent_last
);
