// SPDX-License-Identifier: GPL-2.0

//! Events that a Rust module defines and writes itself, without C and without a tracepoint. A part of `rtrace.rs`.

use super::{
    OwnModule,
    Text,
    API, //
};
use core::{
    ffi::CStr,
    marker::PhantomData,
    mem::size_of,
    ptr, //
};
use kernel::{
    error::to_result,
    ffi::{
        c_int,
        c_uint,
        c_void, //
    },
    fmt::{
        self,
        Display, //
    },
    prelude::*,
    str::CString,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};

/// `struct rtrace_event`, which only rtrace changes.
#[repr(C)]
pub(crate) struct EventPlace {
    enabled: Atomic<u32>,
    defined: Atomic<usize>,
}

impl EventPlace {
    /// Returns one without an event.
    pub(crate) const fn new() -> Self {
        Self {
            enabled: Atomic::new(0),
            defined: Atomic::new(0),
        }
    }

    /// Returns whether an instance records the event. Any context.
    #[inline(always)]
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled.load(Relaxed) != 0
    }

    /// Records the event. Any context.
    ///
    /// # Errors
    ///
    /// `EBADF` if it is not defined, `EINVAL` if these are not its parts.
    #[inline(always)]
    pub(crate) fn record<const N: usize>(&self, parts: &EventParts<'_, N>) -> Result {
        // SAFETY: There are so many parts, whose bytes are borrowed.
        to_result(unsafe { rtrace_event_record(self, parts.parts.as_ptr(), parts.number) })
    }
}

/// `struct rtrace_part`: bytes that are borrowed.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct EventPart<'a> {
    bytes: *const c_void,
    len: usize,
    borrowed: PhantomData<&'a [u8]>,
}

impl<'a> EventPart<'a> {
    const NONE: Self = Self {
        bytes: ptr::null(),
        len: 0,
        borrowed: PhantomData,
    };

    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes: bytes.as_ptr().cast(),
            len: bytes.len(),
            borrowed: PhantomData,
        }
    }
}

/// What an event consists of, as rtrace takes it: `N` parts at most.
///
/// # Invariants
///
/// `number` parts are there.
pub(crate) struct EventParts<'a, const N: usize> {
    parts: [EventPart<'a>; N],
    number: c_uint,
}

impl<'a, const N: usize> EventParts<'a, N> {
    /// Returns the parts of an event whose fields are in `fixed`.
    ///
    /// # Safety
    ///
    /// All bytes of `F` are initialised: it has no padding.
    #[inline(always)]
    pub(crate) unsafe fn new<F>(fixed: &'a F) -> Self {
        let mut this = Self {
            parts: [EventPart::NONE; N],
            number: 0,
        };
        // SAFETY: The caller promises that they are initialised; they are borrowed for as long.
        let bytes =
            unsafe { core::slice::from_raw_parts(ptr::from_ref(fixed).cast(), size_of::<F>()) };
        this.push(Some(bytes));
        this
    }

    /// Adds the bytes of a field, if it is one that has any outside `fixed`.
    #[inline(always)]
    pub(crate) fn push(&mut self, bytes: Option<&'a [u8]>) {
        let place = self.parts.get_mut(self.number as usize);
        if let (Some(bytes), Some(place)) = (bytes, place) {
            *place = EventPart::new(bytes);
            // INVARIANT: One more.
            self.number = self.number.wrapping_add(1);
        }
    }
}

/// A type that a field of an event can have.
pub(crate) trait FieldType {
    /// The field in the record.
    type Stored: Copy;

    /// Writes type and name, as rtrace takes them. Fails when `f` does.
    fn declare(name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Returns the field in the record. It has no padding.
    fn stored(&self) -> Self::Stored;

    /// Returns the bytes that come after the fields, if they are of any number.
    fn dynamic(&self) -> Option<&[u8]> {
        None
    }
}

/// Numbers: type, type in the record, its name.
macro_rules! numbers {
    ($($ty:ty, $stored:ty, $name:literal;)*) => {
        $(impl FieldType for $ty {
            type Stored = $stored;

            fn declare(name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} {name};", $name)
            }

            #[inline(always)]
            fn stored(&self) -> $stored {
                *self as $stored
            }
        })*
    };
}

numbers! {
    u8, u8, "u8";
    u16, u16, "u16";
    u32, u32, "u32";
    u64, u64, "u64";
    usize, u64, "u64";
    i8, i8, "s8";
    i16, i16, "s16";
    i32, i32, "s32";
    i64, i64, "s64";
    isize, i64, "s64";
    bool, u8, "u8";
}

/// A string of at most `N` bytes, which ends before the first NUL.
impl<const N: usize> FieldType for [u8; N] {
    type Stored = Self;

    fn declare(name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "char[{N}] {name};")
    }

    #[inline(always)]
    fn stored(&self) -> Self {
        *self
    }
}

/// Types of any number of bytes: type, name of an element, how the bytes are made of a value.
macro_rules! dynamic {
    ($($ty:ty, $name:literal, $bytes:expr;)*) => {
        $(impl FieldType for $ty {
            type Stored = u32;

            fn declare(name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "__rel_loc {}[] {name};", $name)
            }

            #[inline(always)]
            fn stored(&self) -> u32 {
                // rtrace fills it.
                0
            }

            #[inline(always)]
            fn dynamic(&self) -> Option<&[u8]> {
                let bytes: fn(&Self) -> &[u8] = $bytes;
                Some(bytes(self))
            }
        })*
    };
}

dynamic! {
    &[u8], "u8", |bytes| bytes;
    &str, "char", |text| text.as_bytes();
    &CStr, "char", |text| text.to_bytes();
}

/// An event that [`event!`](super::event) has made.
pub(crate) trait EventType {
    /// `SYSTEM:NAME`.
    const NAME: &'static str;

    /// Returns its place.
    fn place() -> &'static EventPlace;

    /// Writes types and names of its fields. Fails when `f` does.
    fn declare(f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// The fields of an event as text.
struct Declared<E>(PhantomData<E>);

impl<E: EventType> Display for Declared<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        E::declare(f)
    }
}

/// An event that is defined, as long as this is there.
pub(crate) struct DefinedEvent<E: EventType>(PhantomData<E>);

impl<E: EventType> DefinedEvent<E> {
    /// Defines it. Process context.
    ///
    /// # Errors
    ///
    /// `ENOEXEC` if the module was built for another version of rtrace, `EINVAL` for names or fields that no event can
    /// have, `EBUSY` if it is defined, `EEXIST` if another event has the name, `ENOSPC`, `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        let (system, name) = E::NAME.split_once(':').ok_or(EINVAL)?;
        let system = CString::try_from_fmt(fmt!("{system}"))?;
        let definition = CString::try_from_fmt(fmt!("{name} {}", Declared::<E>(PhantomData)))?;
        let (owner, place) = (&raw const super::__this_module, E::place());
        // SAFETY: The module is this one, and stays while it waits. The place is a static of it: rtrace forgets that
        // when this is dropped, or else when the module goes.
        to_result(unsafe {
            __rtrace_event_define(owner, API, place, (&*system).into(), (&*definition).into())
        })?;
        Ok(Self(PhantomData))
    }
}

impl<E: EventType> Drop for DefinedEvent<E> {
    fn drop(&mut self) {
        rtrace_event_undefine(E::place());
    }
}

// SAFETY: The functions are as in rtrace.h. The safe one takes any place.
unsafe extern "C" {
    fn __rtrace_event_define(
        owner: *const OwnModule,
        api: u32,
        event: &'static EventPlace,
        system: Text<'_>,
        definition: Text<'_>,
    ) -> c_int;
    safe fn rtrace_event_undefine(event: &'static EventPlace);
    fn rtrace_event_record(
        event: &EventPlace,
        parts: *const EventPart<'_>,
        number: c_uint,
    ) -> c_int;
}

/// Returns 1, for the counting of fields.
pub(crate) const fn one(_: &str) -> usize {
    1
}

/// Makes an event: a type with a function `record`, which takes the fields.
///
/// ```ignore
/// rtrace::event! {
///     /// The device was written to.
///     DeviceWrite = "mine:device_write"(length: usize, begin: &[u8]);
/// }
///
/// let defined = rtrace::DefinedEvent::<DeviceWrite>::new()?;
/// DeviceWrite::record(6, b"hello\n");
/// ```
///
/// It is recorded as long as it is defined, and costs a load and a branch where no instance has it enabled. Any context,
/// NMI included. A field is a number of Rust, a `bool`, a string of at most `N` bytes (`[u8; N]`), or bytes and strings of
/// any number (`&[u8]`, `&str`, `&CStr`). The module with `rtrace.rs` is `crate::rtrace`.
#[allow(unused_macros, reason = "a module need not have events")]
macro_rules! event {
    ($(
        $(#[$meta:meta])*
        $vis:vis $event:ident = $name:literal($($field:ident: $ty:ty),* $(,)?);
    )*) => {
        $(
            $(#[$meta])*
            $vis struct $event;

            #[allow(dead_code, reason = "a module need not record each event that it defines")]
            impl $event {
                /// Records the event where it is enabled. Any context, NMI included.
                #[inline(always)]
                $vis fn record($($field: $ty),*) {
                    if <Self as $crate::rtrace::EventType>::place().is_enabled() {
                        Self::record_enabled($($field),*);
                    }
                }

                /// Records the event.
                #[cold]
                fn record_enabled($($field: $ty),*) {
                    #[allow(non_camel_case_types, reason = "a type for each field")]
                    #[repr(C, packed)]
                    struct Fixed<$($field),*> {
                        $($field: $field),*
                    }
                    let fixed = Fixed {
                        $($field: $crate::rtrace::FieldType::stored(&$field)),*
                    };
                    #[allow(unused_mut, reason = "an event without fields has one part")]
                    // SAFETY: Packed, so that no byte lies between the fields; each of these has none inside.
                    let mut parts = unsafe {
                        $crate::rtrace::EventParts::<
                            { 1 $(+ $crate::rtrace::one(stringify!($field)))* }
                        >::new(&fixed)
                    };
                    $(parts.push($crate::rtrace::FieldType::dynamic(&$field));)*
                    // It is undefined at this moment, if it fails.
                    let _ = <Self as $crate::rtrace::EventType>::place().record(&parts);
                }
            }

            impl $crate::rtrace::EventType for $event {
                const NAME: &'static str = $name;

                fn place() -> &'static $crate::rtrace::EventPlace {
                    static PLACE: $crate::rtrace::EventPlace = $crate::rtrace::EventPlace::new();
                    &PLACE
                }

                fn declare(f: &mut ::kernel::fmt::Formatter<'_>) -> ::kernel::fmt::Result {
                    $(<$ty as $crate::rtrace::FieldType>::declare(stringify!($field), f)?;)*
                    let _ = f;
                    Ok(())
                }
            }
        )*
    };
}
#[allow(unused_imports, reason = "a module need not have events")]
pub(crate) use event;
