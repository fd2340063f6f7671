// SPDX-License-Identifier: GPL-2.0

//! In which order do events get their ids?
//!
//! In that of ftrace's own numbers, for `available_events` and `set_event` list events by id, and users
//! compare. Used once, at load.

use super::{
    next_id,
    publish,
    Event, //
};
use crate::kapi::c;
use core::ptr;
use kernel::{
    bindings,
    prelude::*, //
};

/// The events that will be offered.
pub(super) struct Offers {
    offers: KVVec<Offer>,
    /// For each its place in ftrace's order, and below that its index; sorted.
    order: KVVec<u64>,
    /// The header of the last one, by its name of the system, and its place.
    header: (*const c_char, u32),
}

/// An event and its tracepoint.
type Offer = (&'static c::rt_event_desc, *mut bindings::tracepoint);

impl Offers {
    pub(super) fn new() -> Self {
        Self {
            offers: KVVec::new(),
            order: KVVec::new(),
            header: (ptr::null(), 0),
        }
    }

    pub(super) fn add(
        &mut self,
        place: u32,
        desc: &'static c::rt_event_desc,
        tracepoint: *mut bindings::tracepoint,
    ) -> Result {
        let entry = u64::from(place) << u32::BITS | self.offers.len() as u64;
        let at = self.order.partition_point(|&other| other < entry);
        self.order.reserve(1, GFP_KERNEL)?;
        self.order
            .insert_within_capacity(at, entry)
            .map_err(|_| EINVAL)?;
        self.offers.push((desc, tracepoint), GFP_KERNEL)?;
        Ok(())
    }

    /// The events of one header follow each other in ftrace's order as well, so that the first says
    /// where all of them belong. A header whose first event ftrace does not have stays behind the
    /// one before it.
    pub(super) fn add_of_header(
        &mut self,
        desc: &'static c::rt_event_desc,
        tracepoint: *mut bindings::tracepoint,
    ) -> Result {
        if self.header.0 != desc.system {
            // SAFETY: Both are strings; we are in process context and hold no lock.
            let place = match unsafe { c::rt_ftrace_id(desc.system, desc.name) } {
                0 => self.header.1,
                place => place,
            };
            self.header = (desc.system, place);
        }
        self.add(self.header.1, desc, tracepoint)
    }

    /// Gives them their ids.
    pub(super) fn publish(self) -> Result {
        for entry in self.order.iter() {
            let index = entry & u64::from(u32::MAX);
            let &(desc, tracepoint) = self.offers.get(index as usize).ok_or(EINVAL)?;
            let event = Event::new(next_id()?, desc, tracepoint, ptr::null_mut(), None)?;
            publish(event)?;
        }
        Ok(())
    }
}
