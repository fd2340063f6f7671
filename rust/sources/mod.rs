// SPDX-License-Identifier: GPL-2.0

//! The sources of events: what there is at load, and what comes and goes with the kernel's modules.
//!
//! A kind of source is a file of this folder and a row of [`KINDS`]. It makes events of the
//! registry, each with a [`Source`](crate::events::Source) that puts its probe on. The rows are
//! asked in their order: a row sees the events of those before it.

mod call_table;
mod code_watch;
mod defined;
pub(crate) mod direct_event;
#[cfg(CONFIG_KUNIT = "y")]
pub(crate) mod dummy;
pub(crate) mod dynamic;
mod entry_hook;
mod enum_tables;
mod eprobe;
mod fields_defined;
mod fprobe;
mod function_table;
mod header;
mod hit_counts;
mod hit_kernel;
mod hit_probe;
mod hit_recorder;
mod kprobe;
mod layouts;
mod marker;
mod modules;
mod offers;
pub(crate) mod osnoise;
mod own;
mod probe;
mod probe_layout;
mod probed_types;
mod quick_eprobe;
mod raw;
mod raw_desc;
mod raw_probes;
mod registers;
mod siblings;
pub(crate) mod synthetic;
mod syscall;
mod targets;
mod tprobe;
mod uprobe;
pub(crate) mod user_events;
mod user_fields;
mod wprobe;

pub(crate) use self::{
    fprobe::set_functions,
    modules::EventModuleWatch,
    raw::RawWish,
    syscall::{
        set_user_bytes,
        USER_BYTES,
        USER_MOST, //
    }, //
};

use self::offers::Offers;
use crate::{
    event::btf::Btf,
    events::{
        names,
        own_absent,
        Module,
        Recipient, //
    },
    kapi::{
        c,
        kernel_btf::{
            KernelBtf,
            NoBtf, //
        },
        late::Unloading, //
    }, //
};
use kernel::{
    fmt,
    prelude::*, //
};

/// What the kinds learn at load.
struct LoadContext<'a> {
    raw: RawWish,
    btf: Result<&'a KernelBtf, NoBtf>,
}

/// A module of the kernel that is being loaded, as [`SourceKind::prepare`] sees it: what it brings is
/// collected before [`GROUPS`](crate::events::GROUPS) is locked.
struct ComingModule<'a> {
    raw: RawWish,
    module: Module<'a>,
    /// Its events that are known by a header.
    headers: KVec<header::TracedModuleEvent<'a>>,
    wants_btf: bool,
}

/// A kind of source.
///
/// Contexts: process context, at load, at unload, or when the kernel tells of a module.
trait SourceKind: Sync {
    /// Offers its events that get their ids in ftrace's order.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn offer(&self, _load: &LoadContext<'_>, _offers: &mut Offers) -> Result {
        Ok(())
    }

    /// Adds its events that come after those that were offered. No others are added meanwhile.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and `ENOSPC` when there are too many events.
    fn add(&self, _load: &LoadContext<'_>) -> Result {
        Ok(())
    }

    /// Collects what a module brings.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn prepare(&self, _coming: &mut ComingModule<'_>) -> Result {
        Ok(())
    }

    /// Adds the events that a module brings; the caller holds [`GROUPS`](crate::events::GROUPS).
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and `ENOSPC` when there are too many events.
    fn add_of_module(&self, _coming: &ComingModule<'_>, _btf: Result<Btf<'_>, NoBtf>) -> Result {
        Ok(())
    }

    /// Forgets an instance. No event is attached for it, and no probe of it runs.
    fn forget(&self, _recipient: Recipient) {}

    /// Frees what the registry's events named. No event is left.
    fn exit(&self, _unloading: &Unloading) {}
}

/// Every kind, in the order in which they are asked.
static KINDS: &[&dyn SourceKind] = &[
    &header::Headers,
    &syscall::Syscalls,
    &raw::RawTracepoints,
    &own::OwnEvents,
    &marker::Markers,
    #[cfg(CONFIG_KUNIT = "y")]
    &dummy::Dummies,
];

/// Adds the events that this kernel allows.
///
/// What cannot be recorded exactly as ftrace would is left out, and the kernel log says so. `raw`
/// says which raw events there are besides, `btf` is the kernel's.
///
/// # Errors
///
/// `ENOMEM`, and `ENOSPC` when there are too many events.
///
/// Called once; [`exit`] is called before the module goes away, also when this fails.
pub(crate) fn init(raw: RawWish, btf: Result<&KernelBtf, NoBtf>) -> Result {
    let load = LoadContext { raw, btf };
    let mut offers = Offers::new();
    for kind in KINDS {
        kind.offer(&load, &mut offers)?;
    }
    offers.publish()?;
    KINDS.iter().try_for_each(|kind| kind.add(&load))
}

/// Takes the probes of sources off the kernel's own events, which are still there. No event is enabled any more.
pub(crate) fn leave_programs() {
    user_events::leave_programs();
}

/// Frees what events named, after `events::exit` has freed them.
pub(crate) fn exit(unloading: &Unloading) {
    dynamic::exit();
    user_events::exit();
    entry_hook::exit();
    fprobe::exit(unloading);
    synthetic::exit();
    for kind in KINDS {
        kind.exit(unloading);
    }
}

/// Forgets an instance, whose events are off and whose probes have ended.
pub(crate) fn forget(recipient: Recipient) {
    KINDS.iter().for_each(|kind| kind.forget(recipient));
}

/// Tells the kernel log that an event is left out.
fn refuse((system, name): (&str, &str), why: &dyn fmt::Display) {
    pr_info!("{system}:{name} is not offered: {why}\n");
}

/// Returns why this event must be left out on the running kernel, if it must.
fn absent_now(desc: &c::rt_event_desc) -> Option<&'static str> {
    own_absent().iter().find_map(|absent| {
        let when = absent.when?;
        // SAFETY: A function of `shim/events/` that takes nothing and only looks at the running
        // kernel.
        let holds = (absent.system(), absent.name()) == names(desc) && unsafe { when() };
        holds.then_some(absent.why())
    })
}
