// SPDX-License-Identifier: GPL-2.0

//! What functions of C return and take, as values that carry what is known of it: objects that C has made, terminated
//! strings, room for bytes.
//!
//! `shim/safe.sed` gives these types to functions in the bindings, which Rust then calls without `unsafe`: what such a
//! function promises about what it returns, and asks of what it gets, is said by its types. What Rust passes for such
//! a parameter has the bits that C expects: those of a pointer, or of the structure of that name.

use core::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ops::Deref,
    ptr::NonNull,
    slice, //
};
use kernel::{
    bindings,
    error::from_err_ptr,
    prelude::*,
    types::Opaque, //
};

/// An object of C, of which Rust knows nothing but that it is there.
///
/// # Invariants
///
/// There are only references to one: that a function of C has returned, or [`Object::at`] has.
#[repr(transparent)]
pub(crate) struct Object<T>(Opaque<T>);

impl<T> Object<T> {
    /// Returns the object at `place`; `None` if that is null.
    ///
    /// # Safety
    ///
    /// Unless null, there is one, as C has it, which stays during `'a`.
    pub(crate) unsafe fn at<'a>(place: *const T) -> Option<&'a Self> {
        // SAFETY: The caller promises that it is there, and its bytes may have any values and change.
        unsafe { place.cast::<Self>().as_ref() }
    }

    /// Returns its address.
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.0.get()
    }
}

/// An object that C has made and that is given back.
pub(crate) trait Release: Sized {
    /// Gives it back.
    fn release(ending: FinalRef<Self>);
}

/// An object that may be shared by tasks, and given back by any of them.
///
/// # Safety
///
/// What functions of C do with a reference to one, or when it is given back, they do in any task, and in several at a
/// time.
#[allow(dead_code, reason = "a marker, for `Send` and `Sync`")]
pub(crate) unsafe trait TaskSharedObject: Release {}

/// An object that C has made; given back when this is dropped.
///
/// # Invariants
///
/// A function of C has returned the pointer, as one to an object that stays until it is given back, which is done once,
/// when this is dropped.
#[repr(transparent)]
pub(crate) struct Owned<T: Release>(NonNull<T>);

// SAFETY: Any task may use the object and give it back (`TaskSharedObject`).
unsafe impl<T: TaskSharedObject> Send for Owned<T> {}
// SAFETY: Tasks may share the object (`TaskSharedObject`).
unsafe impl<T: TaskSharedObject> Sync for Owned<T> {}

impl<T: Release> Owned<T> {
    /// Returns it for a function that no other may be at the same time.
    pub(crate) fn alone(&mut self) -> SoleRef<'_, T> {
        // INVARIANT: It is borrowed mutably for as long.
        SoleRef(self.0, PhantomData)
    }

    /// Returns it for the function of C that takes it over.
    pub(crate) fn end(self) -> FinalRef<T> {
        // INVARIANT: It is not used any more, and not given back here.
        FinalRef(ManuallyDrop::new(self).0)
    }
}

impl<T: Release> Deref for Owned<T> {
    type Target = Object<T>;

    fn deref(&self) -> &Object<T> {
        // SAFETY: The object stays as long as this (invariant).
        unsafe { self.0.cast::<Object<T>>().as_ref() }
    }
}

impl<T: Release> Drop for Owned<T> {
    fn drop(&mut self) {
        // INVARIANT: This is the last use of the object.
        T::release(FinalRef(self.0));
    }
}

/// An object for the function of C that takes it back, or over.
///
/// # Invariants
///
/// It is that of an [`Owned`] that is there no more, and used for the last time.
#[repr(transparent)]
pub(crate) struct FinalRef<T>(NonNull<T>);

/// An object for a function of C that no other task may be in with the same one.
///
/// # Invariants
///
/// It is that of an [`Owned`] that nothing else uses during `'a`.
#[repr(transparent)]
pub(crate) struct SoleRef<'a, T>(NonNull<T>, PhantomData<&'a mut T>);

/// An object that C has made, or the error by which it has not.
///
/// # Invariants
///
/// It is an error pointer, or that of an [`Owned`] which there is not yet.
#[must_use = "the object is not given back"]
#[repr(transparent)]
pub(crate) struct OwnedOrError<T>(*mut T);

impl<T: Release> OwnedOrError<T> {
    /// Returns the object.
    ///
    /// # Errors
    ///
    /// What C says.
    pub(crate) fn owned(self) -> Result<Owned<T>> {
        let made = NonNull::new(from_err_ptr(self.0)?).ok_or(ENOENT)?;
        // INVARIANT: It is that of one.
        Ok(Owned(made))
    }
}

/// A terminated string, as C has it.
///
/// # Invariants
///
/// There is one at the address, which stays and does not change during `'a`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct CText<'a>(NonNull<c_char>, PhantomData<&'a CStr>);

impl<'a> CText<'a> {
    /// Returns it.
    pub(crate) fn string(self) -> &'a CStr {
        // SAFETY: There is such a string during `'a` (invariant).
        unsafe { CStr::from_char_ptr(self.0.as_ptr()) }
    }

    /// Returns its bytes without the NUL. Any context: no length is too long for this.
    pub(crate) fn bytes(self) -> &'a [u8] {
        let first = self.0.as_ptr();
        // SAFETY: There is a string that ends with a NUL (invariant).
        let len = unsafe { bindings::strlen(first) };
        // SAFETY: As many bytes are before the NUL, during `'a` (invariant).
        unsafe { slice::from_raw_parts(first.cast(), len) }
    }

    /// Returns its text, or none of one that is not UTF-8.
    pub(crate) fn text(self) -> &'a str {
        self.string().to_str().unwrap_or_default()
    }
}

impl<'a> From<&'a CStr> for CText<'a> {
    fn from(string: &'a CStr) -> Self {
        // INVARIANT: The string is borrowed for as long.
        Self(
            NonNull::from(string.to_bytes_with_nul()).cast(),
            PhantomData,
        )
    }
}

/// Room for bytes that a function of C writes: `struct rt_room`.
///
/// # Invariants
///
/// As many bytes are at `first`, and nothing else uses them during `'a`.
#[repr(C)]
pub(crate) struct Room<'a> {
    first: NonNull<u8>,
    len: usize,
    bytes: PhantomData<&'a mut [u8]>,
}

impl<'a> From<&'a mut [u8]> for Room<'a> {
    fn from(bytes: &'a mut [u8]) -> Self {
        let len = bytes.len();
        // INVARIANT: They are borrowed mutably for as long.
        Self {
            first: NonNull::from(bytes).cast(),
            len,
            bytes: PhantomData,
        }
    }
}

/// Bytes that a function of C has written: `struct rt_written`.
///
/// # Invariants
///
/// As many bytes are at `first`, and do not change during `'a`.
#[repr(C)]
pub(crate) struct WrittenBytes<'a> {
    first: *const u8,
    len: usize,
    bytes: PhantomData<&'a [u8]>,
}

impl<'a> WrittenBytes<'a> {
    /// Returns them.
    pub(crate) fn bytes(self) -> &'a [u8] {
        // SAFETY: As many bytes are there, and do not change meanwhile (invariant).
        unsafe { slice::from_raw_parts(self.first, self.len) }
    }
}

/// Addresses that a function of C reads: `struct rt_addresses`.
///
/// # Invariants
///
/// As many words are at `first`, and do not change during `'a`.
#[repr(C)]
pub(crate) struct AddressSpan<'a> {
    first: NonNull<u64>,
    len: usize,
    words: PhantomData<&'a [u64]>,
}

impl<'a> From<&'a [u64]> for AddressSpan<'a> {
    fn from(words: &'a [u64]) -> Self {
        // INVARIANT: They are borrowed for as long.
        Self {
            first: NonNull::from(words).cast(),
            len: words.len(),
            words: PhantomData,
        }
    }
}
