// SPDX-License-Identifier: GPL-2.0

//! Events of other modules, which come and go.
//!
//! A module that expanded its TRACE_EVENT headers as we do (see `samples/`) registers its tables in
//! its init and takes them back in its exit. As it uses our symbols, it goes away before us. Called
//! by such modules, and by `sources/` for the modules of the kernel.

use super::{
    described::{
        between,
        write_format_of, //
    },
    names,
    next_id,
    publish,
    reuse,
    tracepoints::{
        self,
        Tracepoint, //
    },
    used,
    Event,
    Module, //
};
use crate::kapi::c;
use core::{
    fmt,
    ptr, //
};
use kernel::{
    bindings,
    error::from_result,
    prelude::*,
    sync::atomic::Relaxed, //
};

/// What those who use events do for events that come and go.
#[derive(Clone, Copy)]
pub(crate) struct Users {
    /// Detaches the event's probe everywhere before it returns. The probe cannot be attached any
    /// more; waiting for probes that still run is not needed.
    pub(crate) forget: fn(&'static Event),
    /// Enables the events of a module of this name that users wait for. They can be attached.
    pub(crate) come: fn(&str),
    /// Empties, in the round of that number, all rings that may have records of the events with
    /// these ids, which are not recorded any more, and forgets what was counted of them. Returns
    /// whether after that there was a moment without a [`RecordReader`](super::RecordReader).
    pub(crate) empty: fn(u32, &[u16]) -> bool,
}

crate::kapi::global::global_mutex! {
    pub(crate) static GROUPS: Mutex<Option<Users>> = None;
}

/// Sets what is done for events that go away. Called once, before any other module can register
/// events.
pub(crate) fn set_users(users: Users) {
    *GROUPS.lock() = Some(users);
}

/// Returns the `format` text of an event, for the event to keep.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn format_of(
    id: u16,
    desc: &c::rt_event_desc,
    evals: &[c::rt_eval],
) -> Result<KVVec<u8>> {
    struct Buffer(KVVec<u8>);

    impl fmt::Write for Buffer {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0
                .extend_from_slice(text.as_bytes(), GFP_KERNEL)
                .map_err(|_| fmt::Error)
        }
    }

    let mut buffer = Buffer(KVVec::new());
    write_format_of(&mut buffer, id, desc, evals).map_err(|_| ENOMEM)?;
    Ok(buffer.0)
}

/// Returns an event of the same definition, left by a module that is gone: it keeps its id, so that
/// old records still mean the same.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn revenant(
    desc: &c::rt_event_desc,
    evals: &[c::rt_eval],
) -> Result<Option<&'static Event>> {
    for event in used() {
        let Some(format) = &event.format else {
            continue;
        };
        if event.desc().is_null()
            && (event.system(), event.name()) == names(desc)
            && format[..] == format_of(event.id, desc, evals)?[..]
        {
            return Ok(Some(event));
        }
    }
    Ok(None)
}

/// Gives an event of a module that came back its descriptor again. The caller holds [`GROUPS`].
pub(crate) fn return_to(
    event: &Event,
    desc: &c::rt_event_desc,
    tracepoint: Tracepoint<'_>,
    owner: Module<'_>,
) {
    event.owner.store(owner.as_ptr(), Relaxed);
    event.tracepoint.store(tracepoint.as_ptr(), Relaxed);
    // Release: pairs with the load in `Event::desc`, so that a caller that sees the descriptor also
    // sees the tracepoint.
    // INVARIANT: Both are the module's, which stays until it takes them away.
    event.desc.store_release(ptr::from_ref(desc).cast_mut());
    event.id_use.take();
    event.offered.store(true, Relaxed);
}

/// Adds one event. The caller holds [`GROUPS`].
///
/// # Errors
///
/// `ENOENT` without a tracepoint, `EEXIST` when an event of this name can be enabled, `ENOMEM`, and
/// `ENOSPC` when there are too many events.
pub(crate) fn add(
    desc: &c::rt_event_desc,
    evals: &[c::rt_eval],
    tracepoint: Option<Tracepoint<'_>>,
    owner: Module<'_>,
) -> Result {
    let (system, name) = names(desc);
    let Some(tracepoint) = tracepoint else {
        pr_warn!("{system}:{name} of a module has no tracepoint\n");
        return Err(ENOENT);
    };
    if super::by_name(system, name).is_some() {
        pr_warn!("{system}:{name} of a module is there already\n");
        return Err(EEXIST);
    }
    if let Some(event) = revenant(desc, evals)? {
        return_to(event, desc, tracepoint, owner);
        return Ok(());
    }
    let id = next_id()?;
    let format = format_of(id, desc, evals)?;
    let mut event = Event::of_header(id, desc, tracepoint)?;
    event.set_owner(owner, format)?;
    publish(event)?;
    Ok(())
}

/// Returns the events of a module that are still described.
pub(crate) fn of_module(owner: *mut bindings::module) -> impl Iterator<Item = &'static Event> {
    used().filter(move |event| event.owner.load(Relaxed) == owner && !event.desc().is_null())
}

/// Calls `add`, which adds events, and once more if there were too few ids and those of events whose
/// modules are gone could be given back. Process context.
///
/// # Errors
///
/// Those of `add`, `ENOMEM`, and `ENOSPC` while a reader keeps ids from being given back.
pub(crate) fn with_ids(mut add: impl FnMut() -> Result) -> Result {
    match add() {
        Err(ENOSPC) => {
            reuse::give_back()?;
            add()
        }
        result => result,
    }
}

/// Adds the events of a module that registers them: all of them or none.
///
/// # Errors
///
/// Those of [`add`].
fn register(owner: Module<'_>, descs: &[c::rt_event_desc], evals: &[c::rt_eval]) -> Result {
    let tracepoints = tracepoints::find_all_of_module(descs, owner)?;
    let mut added = 0usize;
    let result = with_ids(|| {
        let _groups = GROUPS.lock();
        for (desc, &tracepoint) in descs.iter().zip(tracepoints.iter()).skip(added) {
            add(desc, evals, tracepoint, owner)?;
            added = added.wrapping_add(1);
        }
        Ok(())
    });
    if result.is_err() {
        unregister(owner.as_ptr());
    }
    result
}

/// Lets those who use events know that the events of the module `name` are there. Process context;
/// [`GROUPS`] is not held.
pub(crate) fn announce(name: &str) {
    let users = *GROUPS.lock();
    if let Some(users) = users {
        (users.come)(name);
    }
}

/// Takes `events` away: from here on they cannot be enabled, and they are off in all instances when this
/// returns, without files and filters. Their records stay. Process context.
pub(super) fn withdraw<I: Iterator<Item = &'static Event>>(events: impl Fn() -> I) {
    let users = {
        let users = GROUPS.lock();
        events().for_each(|event| event.offered.store(false, Relaxed));
        *users
    };
    if let Some(users) = users {
        events().for_each(users.forget);
    }
    super::synchronize();
}

/// Takes a module's events away. When this returns, nothing of the module is used any more. Process
/// context.
pub(crate) fn unregister(owner: *mut bindings::module) {
    withdraw(|| of_module(owner));
    let _groups = GROUPS.lock();
    for event in of_module(owner) {
        // INVARIANT: Under the lock, and the hook detached all probes.
        event.desc.store_release(ptr::null_mut());
    }
}

/// Returns whether `owner` was built with the descriptors and probes that `layout` stands for.
///
/// # Errors
///
/// `ENOEXEC` if these are not the ones of here.
fn check_layout(owner: Module<'_>, layout: u32) -> Result {
    if layout == c::RT_EVENTS_LAYOUT {
        return Ok(());
    }
    let [version, desc, eval, reserved] = layout.to_be_bytes();
    let [own_version, own_desc, own_eval, own_reserved] = c::RT_EVENTS_LAYOUT.to_be_bytes();
    pr_warn!(
        "{}: built for events of version {version}.{desc}.{eval}.{reserved}, those here have {own_version}.{own_desc}.{own_eval}.{own_reserved}: build it again with this rtrace\n",
        owner.name()
    );
    Err(ENOEXEC)
}

/// Adds the events of another module; see `shim/events.h`. Returns 0, `-EINVAL` without a module,
/// or the errors of [`check_layout`] and [`add`].
///
/// # Safety
///
/// - If `layout` is that of here, `first` and `last` enclose an array of descriptors, `evals_first` and `evals_last` one of
///   constants, which stay valid and unchanged, with all their strings, until
///   [`rtrace_unregister_events`] returns.
/// - `owner` is the calling module, which stays loaded while its code waits for this call, or null.
#[no_mangle]
#[allow(improper_ctypes_definitions, reason = "to C a module is an address")]
unsafe extern "C" fn __rtrace_register_events(
    owner: Option<Module<'_>>,
    layout: u32,
    first: *const c::rt_event_desc,
    last: *const c::rt_event_desc,
    evals_first: *const c::rt_eval,
    evals_last: *const c::rt_eval,
) -> c_int {
    from_result(|| {
        let owner = owner.ok_or(EINVAL)?;
        check_layout(owner, layout)?;
        // SAFETY: The layout is that of here, and the caller promises that the bounds enclose descriptors that do not
        // change meanwhile.
        let descs = unsafe { between(first, last) };
        // SAFETY: The layout is that of here, and the caller promises the same of constants.
        let evals = unsafe { between(evals_first, evals_last) };
        register(owner, descs, evals)?;
        announce(owner.name());
        Ok(0)
    })
}

/// Takes a module's events away; see `shim/events.h`. Does nothing for a module without events.
///
/// # Safety
///
/// `owner` is the calling module.
#[no_mangle]
unsafe extern "C" fn rtrace_unregister_events(owner: *mut bindings::module) {
    if !owner.is_null() {
        unregister(owner);
    }
}
