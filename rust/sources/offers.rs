// SPDX-License-Identifier: GPL-2.0

//! The order in which events get their ids.
//!
//! It is that of ftrace's own numbers, for `available_events` and `set_event` list events by id,
//! and users compare. Used once, at load, by [`super::init`] and the kinds of sources.

use crate::{
    events::{
        next_id,
        publish,
        tracepoints::Tracepoint,
        Event,
        Source, //
    },
    kapi::c, //
};
use core::ptr;
use kernel::prelude::*;

/// The events that will be offered.
pub(super) struct Offers {
    offers: KVVec<Offer>,
    /// For each offer its place in ftrace's order, with its index in the low bits; sorted.
    order: KVVec<u64>,
    /// The header of the last offer, by its string of the system, and the header's place.
    header: (*const c_char, u32),
}

/// An event.
struct Offer {
    desc: &'static c::rt_event_desc,
    tracepoint: Tracepoint<'static>,
    /// `None` for an event of a header.
    source: Option<&'static dyn Source>,
}

impl Offers {
    /// Returns a list without any.
    pub(super) fn new() -> Self {
        Self {
            offers: KVVec::new(),
            order: KVVec::new(),
            header: (ptr::null(), 0),
        }
    }

    /// Adds an event of `source`, whose number in ftrace is `place`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn add_of_source(
        &mut self,
        place: u32,
        desc: &'static c::rt_event_desc,
        tracepoint: Tracepoint<'static>,
        source: &'static dyn Source,
    ) -> Result {
        self.add(
            place,
            Offer {
                desc,
                tracepoint,
                source: Some(source),
            },
        )
    }

    /// Adds an event at `place` of ftrace's order. Fails with `ENOMEM`.
    fn add(&mut self, place: u32, offer: Offer) -> Result {
        let entry = u64::from(place) << u32::BITS | self.offers.len() as u64;
        let at = self.order.partition_point(|&other| other < entry);
        self.order.reserve(1, GFP_KERNEL)?;
        self.order
            .insert_within_capacity(at, entry)
            .map_err(|_| EINVAL)?;
        self.offers.push(offer, GFP_KERNEL)?;
        Ok(())
    }

    /// Adds an event of a header.
    ///
    /// The events of one header follow each other in ftrace's order as well, so that the first says
    /// where all of them belong. A header whose first event ftrace does not have follows the one
    /// before it.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn add_of_header(
        &mut self,
        desc: &'static c::rt_event_desc,
        tracepoint: Tracepoint<'static>,
    ) -> Result {
        if self.header.0 != desc.system {
            // SAFETY: Both are terminated strings of a row of our tables; this is process context,
            // and no lock is held.
            let place = match unsafe { c::rt_ftrace_id(desc.system, desc.name) } {
                0 => self.header.1,
                place => place,
            };
            self.header = (desc.system, place);
        }
        self.add(
            self.header.1,
            Offer {
                desc,
                tracepoint,
                source: None,
            },
        )
    }

    /// Publishes the events, each with the next id.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and `ENOSPC` when there are too many events.
    pub(super) fn publish(self) -> Result {
        for entry in self.order.iter() {
            let index = entry & u64::from(u32::MAX);
            let offer = self.offers.get(index as usize).ok_or(EINVAL)?;
            let (id, desc, tracepoint) = (next_id()?, offer.desc, offer.tracepoint);
            publish(match offer.source {
                Some(source) => Event::of_source(id, desc, tracepoint, source),
                None => Event::of_header(id, desc, tracepoint),
            }?)?;
        }
        Ok(())
    }
}
