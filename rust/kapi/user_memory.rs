// SPDX-License-Identifier: GPL-2.0

//! Memory of the current process, for probes that may sleep until it is there, and the places where they put what
//! they read.
//!
//! A writer that has reserved room in a ring must not sleep. So a record is made in a place beside the rings. Each
//! CPU has one; a task that sleeps keeps it, and others that come there meanwhile allocate one.

use super::{
    late::LazyPerCpu,
    percpu::CpuPin,
    raw_cell::RawCell,
    words::SharedU64, //
};
use crate::ring::port::SharedWord;
use core::{
    mem::size_of,
    slice, //
};
use kernel::{
    prelude::*,
    uaccess::{
        UserPtr,
        UserSlice, //
    }, //
};

/// Words of a place: no record of a ring is longer.
const WORDS: usize = 509;

/// A place.
pub(super) struct GatherPlace {
    /// 1 while a task uses it.
    used: SharedU64,
    /// Used by the task that has set `used`.
    bytes: RawCell<[u64; WORDS]>,
}

impl GatherPlace {
    /// Allocates one that is not used.
    fn new() -> Result<KBox<Self>> {
        let place = init!(Self {
            used: SharedWord::new(0),
            bytes <- pin_init::init_zeroed(),
        });
        KBox::init(place, GFP_KERNEL)
    }
}

pub(super) static PLACES: LazyPerCpu<KBox<GatherPlace>> = LazyPerCpu::new();

/// Allocates the places. Process context.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn prepare() -> Result {
    PLACES.prepare(|_| GatherPlace::new())
}

/// A place that this task uses until it is dropped.
///
/// # Invariants
///
/// `used` of the place was set when this was made, and its drop alone clears it.
struct UsedPlace<'a>(&'a GatherPlace);

impl<'a> UsedPlace<'a> {
    /// Returns it, unless another task uses it.
    fn of(place: &'a GatherPlace) -> Option<Self> {
        // INVARIANT: Of those that try, one changes the word from 0.
        place.used.cas(0, 1).then_some(Self(place))
    }

    /// Returns its bytes.
    fn bytes(&mut self) -> &mut [u8] {
        let bytes = self.0.bytes.get().cast();
        // SAFETY: As many bytes are there, and no other task uses them by the invariant; `self` is borrowed for as
        // long.
        unsafe { slice::from_raw_parts_mut(bytes, size_of::<[u64; WORDS]>()) }
    }
}

impl Drop for UsedPlace<'_> {
    fn drop(&mut self) {
        self.0.used.store_release(0);
    }
}

/// Calls `f` with room for a record, of unknown content. `f` may sleep. `None` when there is no memory.
pub(crate) fn with_place<R>(f: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
    let cpu = CpuPin::with(|pin| pin.cpu());
    let place = PLACES.of(cpu).and_then(|place| UsedPlace::of(place));
    if let Some(mut place) = place {
        return Some(f(place.bytes()));
    }
    let own = GatherPlace::new().ok()?;
    let mut place = UsedPlace::of(&own)?;
    Some(f(place.bytes()))
}

/// Reads memory of the current process, and sleeps until it is there. Returns whether all of it could be read.
pub(crate) fn read(address: u64, to: &mut [u8]) -> bool {
    let from = UserSlice::new(UserPtr::from_addr(address as usize), to.len());
    from.reader().read_slice(to).is_ok()
}
