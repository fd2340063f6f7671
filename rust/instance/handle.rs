// SPDX-License-Identifier: GPL-2.0

//! References to instances that code in C keeps: the handles of other modules.
//!
//! A handle is the address of an instance and stands for one [`InstanceRef`]: as long as there is one, the instance is
//! not removed, and what C passes as a handle is a `&Instance` here. One whose last handle was given back is only an
//! address, which [`registry::at`](super::registry::at) compares.

use super::{
    Instance,
    InstanceRef, //
};
use core::mem::ManuallyDrop;
use kernel::sync::Arc;

impl InstanceRef {
    /// Gives the reference to a caller in C.
    pub(crate) fn into_raw(self) -> *const Instance {
        Arc::as_ptr(&ManuallyDrop::new(self).0)
    }

    /// Returns the reference that [`Self::into_raw`] gave away.
    ///
    /// # Safety
    ///
    /// `raw` is from there, and this is called once for it.
    pub(crate) unsafe fn from_raw(raw: *const Instance) -> Self {
        // SAFETY: `raw` has the count that `into_raw` did not drop, and no other call takes it.
        Self(unsafe { Arc::from_raw(raw) })
    }
}
