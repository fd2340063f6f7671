// SPDX-License-Identifier: GPL-2.0

//! A reference that is kept in a structure, whose target is owned elsewhere and goes later.

use core::{
    ops::Deref,
    ptr::NonNull, //
};

/// A reference to a `T` that is kept longer than it could be borrowed.
///
/// # Invariants
///
/// The `T` stays as long as this, as the caller of [`LentRef::new`] promised.
pub(crate) struct LentRef<T: 'static>(NonNull<T>);

// SAFETY: It is used as a `&T` is.
unsafe impl<T: Sync> Send for LentRef<T> {}
// SAFETY: It is used as a `&T` is.
unsafe impl<T: Sync> Sync for LentRef<T> {}

impl<T> LentRef<T> {
    /// Returns one to `target`.
    ///
    /// # Safety
    ///
    /// It stays where it is as long as the result.
    pub(crate) unsafe fn new(target: &T) -> Self {
        // INVARIANT: The caller promises that.
        Self(NonNull::from(target))
    }
}

impl<T> Deref for LentRef<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: It stays as long as this (invariant), and is shared alone.
        unsafe { self.0.as_ref() }
    }
}
