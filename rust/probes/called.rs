// SPDX-License-Identifier: GPL-2.0

//! Which functions were called, for those that record a function once.
//!
//! A call looks for its function along a way through a table, and takes the first free place there if it does not
//! find it. The one that takes it records the call.

use crate::{
    functions::table,
    kapi::words::SharedU64,
    ring::port::SharedWord, //
};
use kernel::prelude::*;

/// The most places that are looked at. At most half of them are taken, so that it is never as many.
const MOST_STEPS: usize = 64;

/// Functions that were called.
pub(crate) struct CalledFunctions {
    /// Addresses; 0 in a place that is free.
    places: KVVec<SharedU64>,
}

impl CalledFunctions {
    /// Returns that before the first call, with room for so many functions.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(functions: usize) -> Result<Self> {
        let len = table::places(functions).ok_or(ENOMEM)?;
        let mut places = KVVec::with_capacity(len, GFP_KERNEL)?;
        for _ in 0..len {
            places.push(SharedU64::zero(), GFP_KERNEL)?;
        }
        Ok(Self { places })
    }

    /// Notes a call of the function at `address`. Returns whether it is the first; without room it always is. Any
    /// context.
    pub(super) fn is_first(&self, address: u64) -> bool {
        let way = table::way(address as u32, self.places.len());
        for place in way.take(MOST_STEPS).filter_map(|at| self.places.get(at)) {
            // A place that another one takes just now is looked at again.
            loop {
                match place.load() {
                    0 if place.cas(0, address) => return true,
                    0 => {}
                    taken if taken == address => return false,
                    _ => break,
                }
            }
        }
        true
    }
}
