// SPDX-License-Identifier: GPL-2.0

//! As [`grace_ref`](super::grace_ref), a reference to one of two things: one load and one comparison say to which.

use super::words::SharedU64;
use crate::ring::port::SharedWord;
use core::{
    marker::PhantomData,
    ptr::{
        self,
        with_exposed_provenance, //
    }, //
};

/// What there is.
pub(crate) enum Either<'a, A, B> {
    First(&'a A),
    Second(&'a B),
    None,
}

/// A reference to an `A` or to a `B`, or none.
///
/// # Invariants
///
/// The word is 0, or the address of an `A`, or the complement of that of a `B`, which stays as the caller of
/// [`GraceEither::set`] promised. The highest bit of an address of the kernel is set, and that of its complement is not.
#[repr(transparent)]
pub(crate) struct GraceEither<A: 'static, B: 'static> {
    word: SharedU64,
    /// What it hands out is shared by CPUs as a reference is.
    targets: PhantomData<(&'static A, &'static B)>,
}

impl<A, B> GraceEither<A, B> {
    /// Returns one to nothing.
    pub(crate) const fn none() -> Self {
        // INVARIANT: There is nothing that would have to stay.
        Self {
            word: SharedU64::zero(),
            targets: PhantomData,
        }
    }

    /// Returns the target. Any context.
    #[inline(always)]
    pub(crate) fn get(&self) -> Either<'_, A, B> {
        let word = self.word.load();
        if (word as i64) < 0 {
            // SAFETY: An `A` that is there as long as this caller may use it (invariant). Its contents come first: loads
            // through the address depend on the load of it, which pairs with the release in `set`.
            return Either::First(unsafe { &*with_exposed_provenance(word as usize) });
        }
        if word == 0 {
            return Either::None;
        }
        // SAFETY: Likewise a `B`.
        Either::Second(unsafe { &*with_exposed_provenance(!word as usize) })
    }

    /// Sets the target, from now on.
    ///
    /// # Safety
    ///
    /// It stays where it is until another one, or none, was set and every caller of [`GraceEither::get`] that
    /// may have got it has ended; or until this is gone.
    pub(crate) unsafe fn set(&self, target: Either<'_, A, B>) {
        let word = match target {
            Either::First(first) => ptr::from_ref(first).expose_provenance() as u64,
            Either::Second(second) => !(ptr::from_ref(second).expose_provenance() as u64),
            Either::None => 0,
        };
        // INVARIANT: The caller promises that.
        // Release: pairs with the dependency in `get`.
        self.word.store_release(word);
    }
}
