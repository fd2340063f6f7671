// SPDX-License-Identifier: GPL-2.0

//! The files that one probe records into, for a probe that serves all instances.

use super::probe::{
    self,
    RecordBytes, //
};
use crate::{
    events::Attachment,
    kapi::{
        grace_places::GracePlaces,
        grace_ref::GraceRef,
        percpu::CpuPin,
        scratch, //
    },
    probes::{
        EventFile,
        Exit,
        Filter,
        COMMON, //
    },
    ring::{
        packed::PackedSize,
        pos::MAX_ORDER, //
    }, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};

/// Most of them. Each is a place that every hit looks at while one after it is in use.
const MOST: usize = 65;

/// Bytes of the largest sub-buffer.
pub(super) const LARGEST_SUBBUF: usize = PAGE_SIZE << MAX_ORDER;

/// More bytes than the largest sub-buffer has.
const TOO_LONG: usize = LARGEST_SUBBUF << 1;

/// The files. Callers that change them have a lock of their own; writers, which have preemption disabled, use a file
/// until `events::synchronize` has waited for them after it was removed.
pub(super) struct RecordTargets {
    places: GracePlaces<GraceRef<EventFile>, MOST>,
    /// The only one there is; none if there are others, or none.
    sole: GraceRef<EventFile>,
}

impl RecordTargets {
    /// Returns none.
    pub(super) const fn none() -> Self {
        Self {
            places: GracePlaces::of([const { GraceRef::none() }; MOST]),
            sole: GraceRef::none(),
        }
    }

    /// Returns the only target; `None` if there are others, or none. Any context.
    #[inline(always)]
    pub(super) fn sole<'p>(&'p self, _: &'p CpuPin) -> Option<&'p EventFile> {
        self.sole.get()
    }

    /// Returns the same, for a caller who uses it no longer than it has `exit`. Any context.
    #[inline(always)]
    pub(super) fn sole_until<'t>(&'t self, _: &Exit) -> Option<&'t EventFile> {
        self.sole.get()
    }

    /// Looks for the only target, after a change. One caller at a time.
    fn update_sole(&self) {
        let mut files = self.places.iter().filter_map(GraceRef::get);
        match (files.next(), files.next()) {
            // SAFETY: It stays as `add` was promised, which comes here, as does `remove`.
            (Some(sole), None) => unsafe { self.sole.set(Some(sole)) },
            _ => self.sole.clear(),
        }
    }

    /// Returns whether there may be one. Any context.
    #[inline(always)]
    pub(super) fn may_be(&self) -> bool {
        !self.places.are_free()
    }

    /// Has events recorded for the file of an instance as well. One caller at a time.
    ///
    /// # Errors
    ///
    /// `ENOSPC`.
    ///
    /// # Safety
    ///
    /// [`Self::remove`] is called before the source has taken the probe off.
    pub(super) unsafe fn add(&self, to: &Attachment) -> Result {
        // SAFETY: The probe is being put on.
        let file = unsafe { EventFile::of_attachment(to) };
        // SAFETY: `remove` clears the place, as the caller promises, and writers that may have the file are waited for
        // before it goes.
        let is_added = self.places.add(|place| unsafe { place.set(Some(file)) });
        self.update_sole();
        is_added.then_some(()).ok_or(ENOSPC)
    }

    /// Has events recorded for that file no more. Returns whether they were. One caller at a time.
    pub(super) fn remove(&self, from: &Attachment) -> bool {
        let is_meant = |place: &GraceRef<EventFile>| {
            let file = place.get();
            file.is_some_and(|file| file.is_of(from))
        };
        let is_removed = self.places.remove(is_meant, GraceRef::clear);
        self.update_sole();
        is_removed
    }

    /// Counts, for each target, an event that was not recorded because too many were inside each other. Any
    /// context.
    pub(super) fn miss(&self, pin: &CpuPin) {
        self.files(pin).for_each(|file| file.miss(pin));
    }

    /// Has each target count a record that is too long for sub-buffers of any size. Any context.
    #[cold]
    pub(super) fn refuse_too_long(&self, pin: &CpuPin) {
        self.record(pin, TOO_LONG, |_| {});
    }

    /// Returns the most bytes of a record that all targets take on this CPU. Any context.
    pub(super) fn longest(&self, pin: &CpuPin) -> usize {
        let files = self.files(pin);
        files.fold(usize::MAX, |least, file| least.min(file.longest(pin)))
    }

    /// Returns whether `filter` lets a record through that was made beside the rings; it has room for the common fields,
    /// which are filled here. Any context.
    pub(super) fn want(&self, pin: &CpuPin, filter: &Filter, record: &mut [u8]) -> bool {
        let file = self.files(pin).next();
        file.is_some_and(|file| filter.lets_through(pin, file, record))
    }

    /// As [`Self::record`], if `filter` lets the record through, which is filled beside the rings first; returns whether the
    /// filter has left it out. Where there is no place for that, because too many are inside each other, a loss is counted.
    pub(super) fn record_wanted(
        &self,
        pin: &CpuPin,
        filter: &Filter,
        size: usize,
        fill: impl Fn(&mut [u8]),
    ) -> bool {
        let Some(entry) = scratch::begin_at_any_level(pin, PackedSize::new(size)) else {
            self.miss(pin);
            return false;
        };
        // SAFETY: It was begun just now on this CPU, and there is no other `Record` of it.
        let mut record = unsafe { scratch::Record::filled(entry.as_ptr()) };
        fill(record.bytes());
        let is_wanted = self.want(pin, filter, record.bytes());
        if is_wanted {
            let from = record.bytes().get(COMMON..).unwrap_or_default();
            self.record(pin, size, |to| {
                if let Some(to) = to.get_mut(COMMON..COMMON.wrapping_add(from.len())) {
                    to.copy_from_slice(from);
                }
            });
        }
        record.end();
        !is_wanted
    }

    /// Records one event of `size` bytes, of which `fill` writes those after the common fields, for each
    /// target. Any context.
    #[inline(always)]
    pub(super) fn record(
        &self,
        pin: &CpuPin,
        size: impl Into<RecordBytes>,
        fill: impl Fn(&mut [u8]),
    ) {
        let size = size.into();
        for file in self.files(pin) {
            probe::record(file, &size, &fill);
        }
    }

    /// Returns the files. Any context.
    #[inline(always)]
    pub(super) fn files<'p>(&'p self, _: &'p CpuPin) -> impl Iterator<Item = &'p EventFile> {
        self.places.iter().filter_map(GraceRef::get)
    }
}
