// SPDX-License-Identifier: GPL-2.0

//! Events of other modules, which come and go.
//!
//! A module that expanded its TRACE_EVENT headers as we do (see `samples/`) registers its tables in
//! its init and takes them back in its exit. As it uses our symbols, it goes away before us.

use super::{
    described::{
        between,
        write_format_of, //
    },
    names,
    next_id,
    publish,
    tracepoints,
    used,
    Event, //
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
    sync::{
        atomic::{
            Relaxed,
            Release, //
        },
        global_lock, //
    }, //
};

/// Told of an event that goes away: detaches its probe everywhere before it returns. Nobody can attach
/// it any more; waiting for probes that still run is not needed.
pub(crate) type Forget = fn(&'static Event);

global_lock! {
    // SAFETY: `events::init` initializes it before anything else.
    pub(crate) unsafe(uninit) static GROUPS: Mutex<Option<Forget>> = None;
}

/// Sets who is told. Called once, before any other module can register events.
pub(crate) fn set_forget(forget: Forget) {
    *GROUPS.lock() = Some(forget);
}

/// The `format` text of an event, for keeps.
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

/// An event of the same definition, left by a module that is gone: it keeps its id, so that old
/// records still mean the same.
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
    tracepoint: *mut bindings::tracepoint,
    owner: *mut bindings::module,
) {
    event.owner.store(owner, Relaxed);
    event.tracepoint.store(tracepoint, Relaxed);
    // Release: pairs with the load in `Event::desc`, so that whoever sees the descriptor also
    // sees the tracepoint.
    // INVARIANT: Both are the module's, which stays until it takes them away.
    event.desc.store(ptr::from_ref(desc).cast_mut(), Release);
    event.offered.store(true, Relaxed);
}

/// Adds one event. The caller holds [`GROUPS`].
pub(crate) fn add(
    desc: &c::rt_event_desc,
    evals: &[c::rt_eval],
    tracepoint: *mut bindings::tracepoint,
    owner: *mut bindings::module,
) -> Result {
    let (system, name) = names(desc);
    if tracepoint.is_null() {
        pr_warn!("{system}:{name} of a module has no tracepoint\n");
        return Err(ENOENT);
    }
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
    publish(Event::of_header(id, desc, tracepoint, owner, Some(format))?)?;
    Ok(())
}

/// The events of a module that are still described.
pub(crate) fn of_module(owner: *mut bindings::module) -> impl Iterator<Item = &'static Event> {
    used().filter(move |event| event.owner.load(Relaxed) == owner && !event.desc().is_null())
}

/// # Safety
///
/// As [`rtrace_register_events`].
unsafe fn register(
    owner: *mut bindings::module,
    descs: &[c::rt_event_desc],
    evals: &[c::rt_eval],
) -> Result {
    if owner.is_null() {
        return Err(EINVAL);
    }
    // SAFETY: A module that calls us is loaded.
    let tracepoints = unsafe { tracepoints::find_all_of_module(descs, owner)? };
    let result = {
        let _groups = GROUPS.lock();
        descs
            .iter()
            .zip(tracepoints.iter())
            .try_for_each(|(desc, &tracepoint)| add(desc, evals, tracepoint, owner))
    };
    if result.is_err() {
        unregister(owner);
    }
    result
}

/// Takes a module's events away. When this returns, nothing of the module is used any more.
pub(crate) fn unregister(owner: *mut bindings::module) {
    let forget = {
        let forget = GROUPS.lock();
        // From here on nobody can attach them.
        of_module(owner).for_each(|event| event.offered.store(false, Relaxed));
        *forget
    };
    if let Some(forget) = forget {
        of_module(owner).for_each(forget);
    }
    super::synchronize();

    let _groups = GROUPS.lock();
    for event in of_module(owner) {
        // INVARIANT: Under the lock, and the hook detached all probes.
        event.desc.store(ptr::null_mut(), Release);
    }
}

/// See `shim/events.h`.
///
/// # Safety
///
/// The bounds enclose arrays that stay valid until [`rtrace_unregister_events`] returns; `owner` is
/// the calling module.
#[no_mangle]
unsafe extern "C" fn rtrace_register_events(
    owner: *mut bindings::module,
    first: *const c::rt_event_desc,
    last: *const c::rt_event_desc,
    evals_first: *const c::rt_eval,
    evals_last: *const c::rt_eval,
) -> c_int {
    // SAFETY: The caller's promise.
    let (descs, evals) = unsafe { (between(first, last), between(evals_first, evals_last)) };
    // SAFETY: The caller's promise.
    from_result(|| unsafe { register(owner, descs, evals) }.map(|()| 0))
}

/// See `shim/events.h`. Does nothing for a module without events.
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
