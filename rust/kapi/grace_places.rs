// SPDX-License-Identifier: GPL-2.0

//! Places that writers look at in any context, up to the last one in use.
//!
//! One caller at a time changes them, under a lock of its own. What a place refers to goes only after writers
//! that may have found it have ended, as with [`GraceRef`].

use super::{
    grace_ref::GraceRef,
    words::SharedU64, //
};
use crate::ring::port::SharedWord as _;

/// A place that may be free.
pub(crate) trait GracePlace {
    /// Returns whether it is.
    fn is_free(&self) -> bool;
}

impl<T> GracePlace for GraceRef<T> {
    #[inline(always)]
    fn is_free(&self) -> bool {
        self.is_none()
    }
}

/// So many places.
pub(crate) struct GracePlaces<P, const MOST: usize> {
    places: [P; MOST],
    /// None that is in use is this one or a later one.
    end: SharedU64,
}

impl<P: GracePlace, const MOST: usize> GracePlaces<P, MOST> {
    /// Returns these, all of which are free.
    pub(crate) const fn of(places: [P; MOST]) -> Self {
        Self {
            places,
            end: SharedU64::zero(),
        }
    }

    /// Returns whether all are free. Any context.
    #[inline(always)]
    pub(crate) fn are_free(&self) -> bool {
        self.end.load() == 0
    }

    /// Returns those in use, and free ones between them. Any context.
    #[inline(always)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &P> {
        // Acquire: pairs with `find_end`.
        let end = self.end.load_acquire();
        self.places.get(..end as usize).unwrap_or_default().iter()
    }

    /// Has `fill` use the first free one. Returns false if there is none. One caller at a time.
    pub(crate) fn add(&self, fill: impl FnOnce(&P)) -> bool {
        let place = self.places.iter().find(|place| place.is_free());
        place.map(fill).inspect(|()| self.find_end()).is_some()
    }

    /// Has `free` free the one in use that is meant. Returns false if there is none. One caller at a time.
    pub(crate) fn remove(&self, is_meant: impl Fn(&P) -> bool, free: impl FnOnce(&P)) -> bool {
        let place = self.iter().find(|place| is_meant(place));
        place.map(free).inspect(|()| self.find_end()).is_some()
    }

    /// Finds the end again after a change.
    fn find_end(&self) {
        let used = self.places.iter().zip(1u64..);
        let used = used.filter(|(place, _)| !place.is_free());
        let end = used.map(|(_, end)| end).last().unwrap_or(0);
        // Release: what a place refers to is there before it is looked at.
        self.end.store_release(end);
    }
}
