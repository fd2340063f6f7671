// SPDX-License-Identifier: GPL-2.0

//! The files that one probe records into, for a probe that serves all instances.

use super::probe;
use crate::{
    kapi::{
        percpu::CpuPin,
        scratch,
        words::SharedU64, //
    },
    probes::{
        EventFile,
        Filter,
        COMMON, //
    },
    ring::{
        packed::PackedSize,
        port::SharedWord as _, //
    }, //
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::prelude::*;

/// Most of them. Each is a place that every hit looks at while one after it is in use.
const MOST: usize = 65;

/// The cookies of the files. Those who change them have a lock of their own.
pub(super) struct RecordTargets {
    /// Null where there is none.
    places: [CookiePlace; MOST],
    /// No target is at this place or a later one.
    end: SharedU64,
    /// The only one there is; null if there are others, or none.
    sole: CookiePlace,
}

/// The address of a cookie, or null.
pub(super) struct CookiePlace(SharedU64);

impl CookiePlace {
    /// Returns it. Any context.
    #[inline(always)]
    pub(super) fn cookie(&self) -> *mut c_void {
        // Acquire: pairs with `set`.
        ptr::with_exposed_provenance_mut(self.0.load_acquire() as usize)
    }

    /// Sets it.
    fn set(&self, cookie: *mut c_void) {
        // Release: pairs with `cookie`, whose caller uses what it points to.
        self.0.store_release(cookie.expose_provenance() as u64);
    }
}

impl RecordTargets {
    /// Returns none.
    pub(super) const fn none() -> Self {
        Self {
            places: [const { CookiePlace(SharedU64::zero()) }; MOST],
            end: SharedU64::zero(),
            sole: CookiePlace(SharedU64::zero()),
        }
    }

    /// Returns the only target; `None` if there are others, or none. Any context.
    #[inline(always)]
    pub(super) fn sole(&self) -> Option<NonNull<c_void>> {
        NonNull::new(self.sole.cookie())
    }

    /// Looks for the only target, after a change. One caller at a time.
    fn update_sole(&self) {
        let cookies = self.places.iter().map(CookiePlace::cookie);
        let mut cookies = cookies.filter(|cookie| !cookie.is_null());
        self.sole.set(match (cookies.next(), cookies.next()) {
            (Some(sole), None) => sole,
            _ => ptr::null_mut(),
        });
    }

    /// Returns whether there is one, or was one. Any context.
    #[inline(always)]
    pub(super) fn may_be(&self) -> bool {
        self.end.load() != 0
    }

    /// Has `cookie` recorded for as well. One caller at a time.
    ///
    /// # Errors
    ///
    /// `ENOSPC`.
    pub(super) fn add(&self, cookie: *mut c_void) -> Result {
        let mut places = self.places.iter().zip(1u64..);
        let (place, end) = places
            .find(|(place, _)| place.cookie().is_null())
            .ok_or(ENOSPC)?;
        place.set(cookie);
        // Release: pairs with the load of `record`, which looks at the places before it.
        self.end.store_release(end.max(self.end.load()));
        self.update_sole();
        Ok(())
    }

    /// Has `cookie` recorded for no more. Returns whether it was there. One caller at a time.
    pub(super) fn remove(&self, cookie: *mut c_void) -> bool {
        let mut places = self.places.iter();
        let place = places.find(|place| place.cookie() == cookie);
        if let Some(place) = place {
            place.set(ptr::null_mut());
        }
        if self.places.iter().all(|place| place.cookie().is_null()) {
            self.end.store(0);
        }
        self.update_sole();
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
            let cookie = place.cookie();
            if !cookie.is_null() {
                // SAFETY: The caller promises what the cookie is, as long as preemption is disabled.
                unsafe { EventFile::miss(cookie, pin) };
            }
        }
    }

    /// Returns the most bytes of a record that all targets take on this CPU. Any context.
    ///
    /// # Safety
    ///
    /// As for [`Self::miss`].
    pub(super) unsafe fn longest(&self, pin: &CpuPin) -> usize {
        let cookies = self.places().iter().map(CookiePlace::cookie);
        let longest = |least: usize, cookie| {
            // SAFETY: The caller promises what the cookie is, as long as preemption is disabled.
            least.min(unsafe { EventFile::longest(cookie, pin) })
        };
        cookies
            .filter(|cookie| !cookie.is_null())
            .fold(usize::MAX, longest)
    }

    /// Returns whether `filter` lets a record through that was made beside the rings; it has room for the common fields,
    /// which are filled here. Any context, with preemption disabled.
    ///
    /// # Safety
    ///
    /// As for [`Self::miss`].
    pub(super) unsafe fn want(&self, pin: &CpuPin, filter: &Filter, record: &mut [u8]) -> bool {
        let mut cookies = self.places.iter().map(CookiePlace::cookie);
        match cookies.find(|cookie| !cookie.is_null()) {
            // SAFETY: The caller promises the file of the cookie, as long as preemption is disabled.
            Some(cookie) => unsafe { filter.lets_through(pin, cookie, record) },
            None => false,
        }
    }

    /// As [`Self::record`], if `filter` lets the record through, which is filled beside the rings first; returns whether the
    /// filter has left it out. Where there is no place for that, because too many are inside each other, a loss is counted.
    ///
    /// # Safety
    ///
    /// As for [`Self::record`].
    pub(super) unsafe fn record_wanted(
        &self,
        pin: &CpuPin,
        filter: &Filter,
        size: usize,
        fill: impl Fn(&mut [u8]),
    ) -> bool {
        let Some(entry) = scratch::begin_at_any_level(pin, PackedSize::new(size)) else {
            // SAFETY: The caller promises what a cookie is.
            unsafe { self.miss(pin) };
            return false;
        };
        // SAFETY: It was begun just now on this CPU, and there is no other `Record` of it.
        let mut record = unsafe { scratch::Record::filled(entry.as_ptr()) };
        fill(record.bytes());
        // SAFETY: The caller promises what a cookie is.
        let is_wanted = unsafe { self.want(pin, filter, record.bytes()) };
        if is_wanted {
            let from = record.bytes().get(COMMON..).unwrap_or_default();
            let copy = |to: &mut [u8]| {
                if let Some(to) = to.get_mut(COMMON..COMMON.wrapping_add(from.len())) {
                    to.copy_from_slice(from);
                }
            };
            // SAFETY: The caller promises the same.
            unsafe { self.record(size, copy) };
        }
        record.end();
        !is_wanted
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
        for place in self.places() {
            let cookie = place.cookie();
            if cookie.is_null() {
                continue;
            }
            // SAFETY: The caller promises what the cookie is, for as long as preemption is disabled, and the
            // size.
            unsafe { probe::record(cookie, size, &fill) };
        }
    }

    /// Returns the places of the cookies. Any context, with preemption disabled for as long as one is used.
    #[inline(always)]
    pub(super) fn places(&self) -> &[CookiePlace] {
        // Acquire: pairs with `add`.
        let end = self.end.load_acquire();
        self.places.get(..end as usize).unwrap_or_default()
    }
}
