// SPDX-License-Identifier: GPL-2.0

//! The events of TRACE_EVENT() headers that were expanded into our own tables (`shim/events/`).
//!
//! Many a header describes events whose tracepoints are in a module. Their descriptors are in our tables
//! all the time; the module brings the tracepoint, and takes it away.

use super::{
    absent_now,
    layouts,
    offers::Offers,
    refuse,
    Coming,
    Kind,
    Load, //
};
use crate::{
    event::{
        btf::Btf,
        format, //
    },
    events::{
        as_text,
        groups,
        names,
        own_absent,
        own_descs,
        own_evals,
        text,
        tracepoints, //
    },
    kapi::{
        c,
        kernel_btf::NoBtf, //
    }, //
};
use core::mem::MaybeUninit;
use kernel::{
    bindings,
    prelude::*, //
};

/// The kind of source.
pub(super) struct Headers;

impl Kind for Headers {
    /// Runs while the module is being loaded: no probe reads a place of a private struct yet.
    fn offer(&self, load: &Load<'_>, offers: &mut Offers) -> Result {
        let descs = own_descs();
        let refused = layouts::check(load.btf)?;
        let tracepoints = tracepoints::find_all(descs)?;
        for absent in own_absent().iter().filter(|absent| absent.when.is_none()) {
            // SAFETY: The tables hold valid strings, made by the macros of `shim/events/`.
            let (system, name, why) =
                unsafe { (text(absent.system), text(absent.name), text(absent.why)) };
            refuse((system, name), &why);
        }
        for (desc, &tracepoint) in descs.iter().zip(tracepoints.iter()) {
            if tracepoint.is_null() {
                // Its module is not there, or its subsystem is off: tracefs does not have it either.
                continue;
            } else if let Some(why) = absent_now(desc) {
                refuse(names(desc), &why);
            } else if let Some(refusal) = refused.iter().find(|r| r.concerns(desc)) {
                refuse(names(desc), refusal);
            } else {
                offers.add_of_header(desc, tracepoint)?;
            }
        }
        Ok(())
    }

    unsafe fn prepare(&self, coming: &mut Coming) -> Result {
        // SAFETY: The module stays, says the caller.
        coming.headers = unsafe { of_module(coming.module)? };
        coming.wants_btf |= coming.headers.iter().any(OfModule::has_view);
        Ok(())
    }

    unsafe fn add_of_module(&self, coming: &Coming, btf: Result<Btf<'_>, NoBtf>) -> Result {
        // SAFETY: The module stays, says the caller, and the events are those that `prepare` found in it.
        unsafe { add(&coming.headers, coming.module, btf) }
    }
}

/// What ftrace calls an event of a module, and its tracepoint.
struct Known<'a> {
    names: (&'a str, &'a str),
    print_fmt: &'a str,
    tracepoint: *mut bindings::tracepoint,
}

/// The events that ftrace has of a module, as the module has them.
///
/// # Safety
///
/// `module` stays loaded as long as the iterator and what it gave are used.
unsafe fn known<'a>(module: *mut bindings::module) -> impl Iterator<Item = Known<'a>> {
    let mut index = 0;
    core::iter::from_fn(move || {
        let mut event = MaybeUninit::<c::rt_module_event>::uninit();
        // SAFETY: The caller's promise; the function checks the index.
        if !unsafe { c::rt_module_event(module, index, event.as_mut_ptr()) } {
            return None;
        }
        index = index.wrapping_add(1);
        // SAFETY: It was filled in, as the answer was yes.
        let event = unsafe { event.assume_init() };
        // SAFETY: Strings of the module, which stays; terminated. ftrace has written what it wants to
        // write into the last one.
        let (system, name, print_fmt) =
            unsafe { (text(event.system), text(event.name), text(event.print_fmt)) };
        Some(Known {
            names: (system, name),
            print_fmt,
            tracepoint: event.tracepoint,
        })
    })
}

/// Our descriptor of these names. The events of one header share the string of their system.
fn find((system, name): (&str, &str)) -> Option<&'static c::rt_event_desc> {
    own_descs()
        .chunk_by(|a, b| a.system == b.system)
        .filter(|header| header.first().is_some_and(|desc| names(desc).0 == system))
        .flatten()
        .find(|desc| names(desc).1 == name)
}

/// Whether the constants that we know are the module's: they are in its print format. ftrace may not
/// yet have replaced those that it replaces.
fn prints_as(desc: &c::rt_event_desc, print_fmt: &str) -> Result<bool> {
    // SAFETY: The tables hold valid strings, made by the macros of `shim/events/`.
    if format::prints_alike(unsafe { text(desc.print_fmt) }, print_fmt) {
        return Ok(true);
    }
    let text = groups::format_of(0, desc, own_evals())?;
    let ours = as_text(Some(&text)).split_once("\nprint fmt: ");
    Ok(ours.is_some_and(|(_, ours)| format::prints_alike(ours.trim_end_matches('\n'), print_fmt)))
}

/// An event of a module, and its tracepoint.
pub(super) struct OfModule {
    desc: &'static c::rt_event_desc,
    tracepoint: *mut bindings::tracepoint,
}

impl OfModule {
    /// Whether BTF must tell where something is.
    pub(super) fn has_view(&self) -> bool {
        layouts::has_view(self.desc)
    }
}

/// The events that a module brings and that we know, in the order in which ftrace lists them.
///
/// Only those of one that was built with the kernel: the prototypes of another module's tracepoints,
/// which the names do not tell, need not be those of the headers that we know.
///
/// # Safety
///
/// `module` stays during the call.
unsafe fn of_module(module: *mut bindings::module) -> Result<KVec<OfModule>> {
    let mut found = KVec::new();
    // SAFETY: By the contract.
    if unsafe { c::rt_module_is_foreign(module) } {
        return Ok(found);
    }
    // SAFETY: By the contract.
    for event in unsafe { known(module) } {
        let Some(desc) = find(event.names) else {
            continue;
        };
        if let Some(why) = absent_now(desc) {
            refuse(names(desc), &why);
        } else if !prints_as(desc, event.print_fmt)? {
            refuse(names(desc), &"the module prints it otherwise");
        } else {
            let tracepoint = event.tracepoint;
            found.push(OfModule { desc, tracepoint }, GFP_KERNEL)?;
        }
    }
    // ftrace puts each new one in front of the others.
    found.reverse();
    Ok(found)
}

/// Adds them, but for those whose structs `btf` does not know. The caller holds
/// [`GROUPS`](super::GROUPS).
///
/// # Safety
///
/// They are of `module`, which stays during the call.
unsafe fn add(
    events: &[OfModule],
    module: *mut bindings::module,
    btf: Result<Btf<'_>, NoBtf>,
) -> Result {
    for event in events {
        if event.has_view() {
            // SAFETY: Nobody attaches a probe while the caller holds the lock, and what was attached
            // when the module was there before was waited for.
            if let Err(why) = unsafe { layouts::check_of_module(event.desc, btf)? } {
                refuse(names(event.desc), &why);
                continue;
            }
        }
        groups::add(event.desc, own_evals(), event.tracepoint, module)?;
    }
    Ok(())
}
