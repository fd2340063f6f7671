// SPDX-License-Identifier: GPL-2.0

//! The files that one probe records into, for a probe that serves all instances.

use super::probe;
use crate::{
    kapi::percpu::CpuPin,
    probes::EventFile, //
};
use core::ptr;
use kernel::{
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Relaxed,
        Release, //
    }, //
};

/// Most of them: one for each instance.
const MOST: usize = 65;

/// The cookies of the files. Those who change them have a lock of their own.
pub(super) struct RecordTargets {
    /// Null where there is none.
    places: [Atomic<*mut c_void>; MOST],
    /// No target is at this place or a later one.
    end: Atomic<usize>,
}

impl RecordTargets {
    /// Returns none.
    pub(super) const fn none() -> Self {
        Self {
            places: [const { Atomic::<*mut c_void>::new(ptr::null_mut()) }; MOST],
            end: Atomic::new(0),
        }
    }

    /// Returns whether there is one, or was one. Any context.
    #[inline(always)]
    pub(super) fn may_be(&self) -> bool {
        self.end.load(Relaxed) != 0
    }

    /// Has `cookie` recorded for as well. One caller at a time.
    ///
    /// # Errors
    ///
    /// `ENOSPC`.
    pub(super) fn add(&self, cookie: *mut c_void) -> Result {
        let mut places = self.places.iter().zip(1usize..);
        let (place, end) = places
            .find(|(place, _)| place.load(Relaxed).is_null())
            .ok_or(ENOSPC)?;
        // Release: pairs with the load of `record`, which uses what the cookie points to.
        place.store(cookie, Release);
        self.end.store(end.max(self.end.load(Relaxed)), Release);
        Ok(())
    }

    /// Has `cookie` recorded for no more. Returns whether it was there. One caller at a time.
    pub(super) fn remove(&self, cookie: *mut c_void) -> bool {
        let mut places = self.places.iter();
        let place = places.find(|place| place.load(Relaxed) == cookie);
        if let Some(place) = place {
            place.store(ptr::null_mut(), Relaxed);
        }
        if self
            .places
            .iter()
            .all(|place| place.load(Relaxed).is_null())
        {
            self.end.store(0, Relaxed);
        }
        place.is_some()
    }

    /// Counts, for each target, an event that was not recorded because too many were inside each other. Any
    /// context.
    ///
    /// # Safety
    ///
    /// A cookie is that of an attached file, until it was removed and `events::synchronize` has returned.
    pub(super) unsafe fn miss(&self, pin: &CpuPin) {
        for place in &self.places {
            // Acquire: pairs with `add`.
            let cookie = place.load(Acquire);
            if !cookie.is_null() {
                // SAFETY: The caller promises what the cookie is, as long as preemption is disabled.
                unsafe { EventFile::miss(cookie, pin) };
            }
        }
    }

    /// Records one event of `size` bytes, of which `fill` writes those after the common fields, for each
    /// target. Any context, with preemption disabled.
    ///
    /// # Safety
    ///
    /// - A cookie is that of an attached file, until it was removed and `events::synchronize` has returned.
    /// - `size` is that of the common fields at least.
    #[inline(always)]
    pub(super) unsafe fn record(&self, size: usize, fill: impl Fn(&mut [u8])) {
        // Acquire: pairs with `add`.
        let end = self.end.load(Acquire);
        for place in self.places.iter().take(end) {
            // Acquire: pairs with `add`.
            let cookie = place.load(Acquire);
            if cookie.is_null() {
                continue;
            }
            // SAFETY: The caller promises what the cookie is, for as long as preemption is disabled, and the
            // size.
            unsafe { probe::record(cookie, size, &fill) };
        }
    }
}
