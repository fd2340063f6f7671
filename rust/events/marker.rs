// SPDX-License-Identifier: GPL-2.0

//! The event of the markers that programs write into `trace_marker`.
//!
//! It has the id of ftrace's own record and cannot be enabled or filtered: it is not in the table. Triggers
//! can follow it.

use super::{
    all,
    in_slot,
    Event, //
};
use crate::kapi::words::SharedPtr;
use core::ptr;
use kernel::prelude::*;

/// Null until the source has added it.
static MARKER: SharedPtr<Event> = SharedPtr::null();

/// Returns the event.
pub(crate) fn marker() -> Option<&'static Event> {
    in_slot(&MARKER)
}

/// Returns every event that can have triggers: the marker, and those that can be enabled.
pub(crate) fn with_triggers() -> impl Iterator<Item = &'static Event> {
    Iterator::chain(marker().into_iter(), all())
}

/// Makes it visible. Called once.
pub(crate) fn publish_marker(event: KBox<Event>) {
    // Release: pairs with `in_slot`.
    MARKER.store_release(KBox::into_raw(event));
}

/// Takes the event back, of which no reference is used any more.
pub(super) fn take_marker() -> *mut Event {
    MARKER.exchange(ptr::null_mut())
}
