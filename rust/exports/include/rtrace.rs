// SPDX-License-Identifier: GPL-2.0

//! What rtrace offers to Rust modules: instances of their own, whose events they switch and into which they print, and
//! events that they define and write without C (`events.rs`).
//!
//! A module takes this file into its crate, as modules out of the kernel's tree have no crates of others:
//!
//! ```ignore
//! #[path = "/path/to/rtrace/rust/exports/include/rtrace.rs"]
//! mod rtrace;
//!
//! let instance = rtrace::Instance::get(c"mine")?;
//! instance.set_event(c"sched:sched_switch")?;
//! rtrace::print!(instance, "{} of {}", 1, 2);
//!
//! rtrace::event! {
//!     /// The device was written to.
//!     DeviceWrite = "mine:device_write"(length: usize, begin: &[u8]);
//! }
//! let defined = rtrace::DefinedEvent::<DeviceWrite>::new()?;
//! DeviceWrite::record(6, b"hello\n");
//! ```
//!
//! and is linked against rtrace's `Module.symvers` (`KBUILD_EXTRA_SYMBOLS`). It keeps rtrace loaded until it goes itself.
//! `rtrace.h` beside this file is the same for C, and Documentation/modules.md tells of both.

#![allow(dead_code, reason = "a module need not use all of it")]

mod events;

#[allow(
    unused_imports,
    reason = "what `event!` uses, in a module that has any"
)]
pub(crate) use self::events::{
    event,
    one,
    DefinedEvent,
    EventParts,
    EventPlace,
    EventType,
    FieldType, //
};

use core::{
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    }, //
};
use kernel::{
    error::to_result,
    ffi::{
        c_char,
        c_int,
        c_ulong, //
    },
    fmt,
    prelude::*, //
};

/// The version of the interface, `RTRACE_API` of `rtrace.h`.
pub(crate) const API: u32 = 1;

/// `struct rtrace_array`: only rtrace knows what is in it.
#[repr(C)]
struct RtraceArray {
    _unknown: [u8; 0],
}

/// What C calls `THIS_MODULE`, for its address. The kernel's series have different names for it in Rust.
#[repr(C)]
struct OwnModule {
    _unknown: [u8; 0],
}

/// An instance for a function of rtrace.
///
/// # Invariants
///
/// It is that of an [`Instance`], which stays during `'a`.
#[repr(transparent)]
struct Handle<'a>(NonNull<RtraceArray>, PhantomData<&'a Instance>);

/// A string for a function of rtrace.
///
/// # Invariants
///
/// It is at the address, ends with a NUL, and stays during `'a`.
#[repr(transparent)]
struct Text<'a>(NonNull<c_char>, PhantomData<&'a CStr>);

impl<'a> From<&'a CStr> for Text<'a> {
    fn from(text: &'a CStr) -> Self {
        // INVARIANT: It is borrowed for as long.
        Self(NonNull::from(text.to_bytes_with_nul()).cast(), PhantomData)
    }
}

// SAFETY: The functions are as in rtrace.h. A safe one gets instances that are not given back and strings, as the types
// say, or only compares an address.
unsafe extern "C" {
    static __this_module: OwnModule;
    fn __rtrace_array_get(
        owner: *const OwnModule,
        api: u32,
        name: Text<'_>,
        found: &mut *mut RtraceArray,
    ) -> c_int;
    fn rtrace_array_put(tr: *mut RtraceArray);
    safe fn rtrace_array_destroy(tr: *const RtraceArray) -> c_int;
    safe fn rtrace_array_set_clr_event(
        tr: Handle<'_>,
        system: Option<Text<'_>>,
        event: Option<Text<'_>>,
        enable: bool,
    ) -> c_int;
    safe fn rtrace_array_set_event(tr: Handle<'_>, word: Text<'_>) -> c_int;
    safe fn rtrace_array_init_printk(tr: Handle<'_>) -> c_int;
    fn rtrace_array_printk(tr: *mut RtraceArray, ip: c_ulong, fmt: *const c_char, ...) -> c_int;
}

/// An instance of rtrace, which is not removed as long as there is one of these. What is dropped last leaves it to users,
/// with its records; [`Self::destroy`] removes it.
///
/// # Invariants
///
/// It is one that rtrace has given to this module, which is not given back.
pub(crate) struct Instance(NonNull<RtraceArray>);

// SAFETY: An instance belongs to no task, and giving it back is allowed to each.
unsafe impl Send for Instance {}
// SAFETY: All functions may be called at the same time.
unsafe impl Sync for Instance {}

impl Instance {
    /// Finds the instance `name` or makes it, and prepares for prints. Process context.
    ///
    /// # Errors
    ///
    /// `ENOEXEC` if the module was built for another version of rtrace, `EINVAL` and `ENAMETOOLONG` for a name that no
    /// instance can have, `ENODEV` if it is being removed, `ENOMEM`.
    pub(crate) fn get(name: &CStr) -> Result<Self> {
        Self::get_for(API, name)
    }

    /// As [`Self::get`], of a module that was built for `api`.
    pub(crate) fn get_for(api: u32, name: &CStr) -> Result<Self> {
        let mut found = ptr::null_mut();
        let owner = &raw const __this_module;
        // SAFETY: The module is this one, and stays while it waits.
        to_result(unsafe { __rtrace_array_get(owner, api, name.into(), &mut found) })?;
        // INVARIANT: rtrace has given it, and no other value has it.
        let this = Self(NonNull::new(found).ok_or(ENODEV)?);
        to_result(rtrace_array_init_printk(this.handle()))?;
        Ok(this)
    }

    fn handle(&self) -> Handle<'_> {
        // INVARIANT: It is borrowed for as long.
        Handle(self.0, PhantomData)
    }

    /// Switches events as the file `set_event` does: `SYSTEM:EVENT`, `SYSTEM:*`, `NAME`, with `!` before it off. Process
    /// context.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no such event, `EBUSY` if another instance has it and it cannot be shared, `ENOMEM`.
    pub(crate) fn set_event(&self, word: &CStr) -> Result {
        to_result(rtrace_array_set_event(self.handle(), word.into()))
    }

    /// Switches the events of `system` that are called `event`, `None` being all. Process context.
    ///
    /// # Errors
    ///
    /// As [`Self::set_event`].
    pub(crate) fn set_named(
        &self,
        system: Option<&CStr>,
        event: Option<&CStr>,
        on: bool,
    ) -> Result {
        let (system, event) = (system.map(Text::from), event.map(Text::from));
        to_result(rtrace_array_set_clr_event(self.handle(), system, event, on))
    }

    /// Prints a text, as [`print!`] does. Returns how many bytes were recorded: 0 if the buffer is full or recording is
    /// off. Any context, NMI included, if the formatting of the arguments may run there.
    // Inlined, so that the record has the address of the caller.
    #[inline(always)]
    pub(crate) fn print(&self, args: fmt::Arguments<'_>) -> usize {
        let format = c"%pA".as_char_ptr();
        // SAFETY: It is not given back (invariant), and `%pA` takes the address of arguments of Rust.
        let printed =
            unsafe { rtrace_array_printk(self.0.as_ptr(), 0, format, ptr::from_ref(&args)) };
        usize::try_from(printed).unwrap_or(0)
    }

    /// Removes the instance. Process context.
    ///
    /// # Errors
    ///
    /// `EBUSY` while another module has it or a file of it is open: then it stays.
    pub(crate) fn destroy(self) -> Result {
        let address = self.0.as_ptr();
        drop(self);
        to_result(rtrace_array_destroy(address))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: It is not given back (invariant), and this value goes.
        unsafe { rtrace_array_put(self.0.as_ptr()) };
    }
}

/// Prints a text into an [`Instance`]: `print!(instance, "{} of {}", 1, 2)`. A newline is added by the caller, as for
/// `pr_info!`. Returns how many bytes were recorded. Any context, NMI included, if the formatting of the arguments may run
/// there.
#[allow(unused_macros, reason = "a module need not print")]
macro_rules! print {
    ($instance:expr, $($args:tt)*) => {
        $instance.print(::kernel::prelude::fmt!($($args)*))
    };
}
#[allow(unused_imports, reason = "a module need not print")]
pub(crate) use print;
