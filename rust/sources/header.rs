// SPDX-License-Identifier: GPL-2.0

//! The events of TRACE_EVENT() headers that were expanded into our own tables (`shim/events/`); one
//! of the rows of [`super::KINDS`].
//!
//! Many a header describes events whose tracepoints are in a module. Their descriptors are in our
//! tables all the time; the module brings the tracepoint, and takes it away.

use super::{
    absent_now,
    layouts,
    offers::Offers,
    refuse,
    ComingModule,
    LoadContext, //
    SourceKind,
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
        tracepoints::{
            self,
            Tracepoint, //
        },
        Module, //
    },
    kapi::{
        c,
        kernel_btf::NoBtf, //
    }, //
};
use kernel::prelude::*;

/// The kind of source.
pub(super) struct Headers;

impl SourceKind for Headers {
    /// Offers them while the module is being loaded: no probe reads a place of a private struct
    /// yet.
    fn offer(&self, load: &LoadContext<'_>, offers: &mut Offers) -> Result {
        let descs = own_descs();
        let refused = layouts::check(load.btf)?;
        let tracepoints = tracepoints::find_all(descs)?;
        for absent in own_absent().iter().filter(|absent| absent.when.is_none()) {
            refuse((absent.system(), absent.name()), &absent.why());
        }
        for (desc, &tracepoint) in descs.iter().zip(tracepoints.iter()) {
            let Some(tracepoint) = tracepoint else {
                // Its module is not there, or its subsystem is off: tracefs does not have it
                // either.
                continue;
            };
            if let Some(why) = absent_now(desc) {
                refuse(names(desc), &why);
            } else if let Some(refusal) = refused.iter().find(|r| r.concerns(desc)) {
                refuse(names(desc), refusal);
            } else {
                offers.add_of_header(desc, tracepoint)?;
            }
        }
        Ok(())
    }

    fn prepare(&self, coming: &mut ComingModule<'_>) -> Result {
        coming.headers = of_module(coming.module)?;
        coming.wants_btf |= coming.headers.iter().any(TracedModuleEvent::has_view);
        Ok(())
    }

    fn add_of_module(&self, coming: &ComingModule<'_>, btf: Result<Btf<'_>, NoBtf>) -> Result {
        add(&coming.headers, coming.module, btf)
    }
}

/// Returns our descriptor of these names. The events of one header share the string of their
/// system.
fn find((system, name): (&str, &str)) -> Option<&'static c::rt_event_desc> {
    own_descs()
        .chunk_by(|a, b| a.system == b.system)
        .filter(|header| header.first().is_some_and(|desc| names(desc).0 == system))
        .flatten()
        .find(|desc| names(desc).1 == name)
}

/// Returns whether the constants that we know are the module's: they are in its print format.
/// ftrace may not yet have replaced those that it replaces.
///
/// # Errors
///
/// `ENOMEM`.
fn prints_as(desc: &c::rt_event_desc, print_fmt: &str) -> Result<bool> {
    if format::prints_alike(desc.print_fmt(), print_fmt) {
        return Ok(true);
    }
    let text = groups::format_of(0, desc, own_evals())?;
    let ours = as_text(Some(&text)).split_once("\nprint fmt: ");
    Ok(ours.is_some_and(|(_, ours)| format::prints_alike(ours.trim_end_matches('\n'), print_fmt)))
}

/// An event of a module, and its tracepoint.
pub(super) struct TracedModuleEvent<'a> {
    desc: &'static c::rt_event_desc,
    tracepoint: Option<Tracepoint<'a>>,
}

impl TracedModuleEvent<'_> {
    /// Returns whether BTF must tell where something is.
    pub(super) fn has_view(&self) -> bool {
        layouts::has_view(self.desc)
    }
}

/// Returns the events that a module brings and that we know, in the order in which ftrace lists
/// them.
///
/// Only those of one that was built with the kernel: the prototypes of another module's
/// tracepoints, which the names do not tell, need not be those of the headers that we know.
///
/// # Errors
///
/// `ENOMEM`.
fn of_module(module: Module<'_>) -> Result<KVec<TracedModuleEvent<'_>>> {
    let mut found = KVec::new();
    if module.is_foreign() {
        return Ok(found);
    }
    for event in module.events() {
        let Some(desc) = find(event.names) else {
            continue;
        };
        if let Some(why) = absent_now(desc) {
            refuse(names(desc), &why);
        } else if !prints_as(desc, event.print_fmt)? {
            refuse(names(desc), &"the module prints it otherwise");
        } else {
            let tracepoint = event.tracepoint;
            found.push(TracedModuleEvent { desc, tracepoint }, GFP_KERNEL)?;
        }
    }
    // ftrace puts each new one before the others.
    found.reverse();
    Ok(found)
}

/// Adds `events` of `module`, but for those whose structs `btf` does not know. The caller holds
/// [`GROUPS`](crate::events::GROUPS).
///
/// # Errors
///
/// Those of [`groups::add`].
fn add(
    events: &[TracedModuleEvent<'_>],
    module: Module<'_>,
    btf: Result<Btf<'_>, NoBtf>,
) -> Result {
    for event in events {
        if event.has_view() {
            // No probe reads these places: none is attached while the caller holds the lock, and
            // those that were attached when the module was there before were waited for
            // (`unregister`).
            if let Err(why) = layouts::check_of_module(event.desc, btf)? {
                refuse(names(event.desc), &why);
                continue;
            }
        }
        groups::add(event.desc, own_evals(), event.tracepoint, module)?;
    }
    Ok(())
}
