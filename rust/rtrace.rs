// SPDX-License-Identifier: GPL-2.0

//! rtrace: ftrace's events and ring buffer as a module, with its own file system `rtracefs`.
//!
//! Each folder names only those above it:
//!
//! - `ring`: the ring buffer of one CPU.
//! - `text`: what users write into control files and read from them.
//! - `event`: what an event is: its bytes, its fields, its context.
//! - `expr`: what users ask of a record: filters.
//! - `fetch`: dynamic events as users define them.
//! - `synthetic`: events of values that other events had, as users define them.
//! - `functions`: which functions of the kernel are meant.
//! - `hist`: histograms: commands, keys, the map, texts.
//! - `latency`: what latency tracers make of the times that they read.
//! - `user_events`: events that programs define and write.
//! - `kapi`: the kernel, made safe to use.
//! - `buffers`: the rings of all CPUs.
//! - `events`: which events there are: their registry.
//! - `tasks`: names of tasks, and what the scheduler does with them.
//! - `output`: how records are printed.
//! - `probes`: where events come in, in any context.
//! - `sources`: where events come from, and how a probe gets on each.
//! - `actions`: what follows an event.
//! - `hooks`: the functions of the kernel that are traced.
//! - `tracers`: what an instance records besides its events.
//! - `instance`: a tracer with its name: buffers, options, clock, enabled events.
//! - `fs`: the files.
//! - `exports`: what other modules call: instances of their own, prints into them, and events.
//! - `testapi`: what modules of tests call; only with `RTRACE_TEST=1`.
//!
//! `ring`, `event`, `expr`, `fetch`, `functions`, `hist`, `latency`, `synthetic`, `text` and `user_events` use only
//! `core` and are tested on the host, too.

// Each unsafe block has one operation, and its comment the reason for that one.
#![warn(clippy::multiple_unsafe_ops_per_block)]

use kapi::{
    compat::parameter,
    cpu_watch::CpuWatch,
    kernel_btf::KernelBtf,
    late::Unloading,
    open_file::PrivateMounts, //
};
use kernel::prelude::*;
use sources::RawWish;

mod actions;
mod buffers;
mod event;
mod events;
mod exports;
mod expr;
mod fetch;
mod fs;
mod functions;
mod hist;
mod hooks;
mod instance;
mod kapi;
mod latency;
mod output;
mod probes;
mod ring;
mod sources;
mod synthetic;
mod tasks;
#[cfg(rtrace_test)]
mod testapi;
mod text;
mod tracers;
mod unwind;
mod user_events;

// As other modules have what they use.
#[cfg(CONFIG_KUNIT = "y")]
use exports::user as rtrace;

module! {
    type: Rtrace,
    name: "rtrace",
    authors: ["The rtrace authors"],
    description: "Event tracing with its own file system, in Rust",
    license: "GPL",
    alias: ["fs-rtracefs"],
    params: {
        local_clock: u8 {
            default: 1,
            description: "the clock local: 0 calls sched_clock(), 1 makes its value here where that is proven to be the same",
        },
        raw_events: u8 {
            default: 1,
            description: "events/raw: 0 nothing, 1 tracepoints without another event, 2 all tracepoints",
        },
    },
}

/// State that lives as long as the module is loaded. Fields are dropped in order: modules are
/// watched only while there are instances, no user can open a file any more when the instances go,
/// and no probe is left when the events go.
struct Rtrace {
    _user_events: sources::user_events::UserEventWork,
    _modules: sources::EventModuleWatch,
    _fs: fs::RtracefsRegistration,
    _instances: instance::Instances,
    _cpus: CpuWatch,
    // Modules that go take their functions out of what instances select.
    _functions: hooks::ModuleWatch,
    // Instances read the kernel's list of functions there until they go, and events of modules their BTF.
    _mounts: PrivateMounts,
    _events: EventTable,
}

/// The event registry.
struct EventTable;

impl Drop for EventTable {
    fn drop(&mut self) {
        sources::leave_programs();
        // SAFETY: Everything that uses events and all that records has been dropped before this field, and what sources
        // themselves had on events of the kernel was taken off just now. Unloading runs nothing else, makes no event,
        // and uses none after `events::exit`.
        let unloading = unsafe { Unloading::begin() };
        events::exit(&unloading);
        sources::exit(&unloading);
        kapi::late::exit(unloading);
    }
}

/// Forgets `event` everywhere: its module is being unloaded.
fn forget_event(event: &'static events::Event) {
    sources::dynamic::for_each_follower(event, instance::disable_everywhere);
    instance::disable_everywhere(event);
    fs::remove_event(event);
}

impl kernel::Module for Rtrace {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let mounts = PrivateMounts::begin()?;
        let btf = KernelBtf::read("vmlinux")?;
        let kernel = btf.as_ref().map_err(|why| *why);
        let inline = parameter(&module_parameters::local_clock) != 0;
        // SAFETY: No instance exists yet, so no clock is being read.
        unsafe { kapi::clock::choose_local(inline, kernel) };
        let wish = RawWish::from_number(parameter(&module_parameters::raw_events));
        kapi::symbol::find_places();
        let events = EventTable;
        sources::init(wish, kernel)?;
        drop(btf);
        let cpus = CpuWatch::begin()?;
        sources::set_functions(hooks::matching);
        let instances = instance::Instances::new()?;
        instance::tell_maxima_by(fs::tell_maximum);
        instance::dump_by(fs::dump);
        events::set_users(events::Users {
            forget: forget_event,
            come: instance::enable_awaited,
            empty: instance::empty_of_modules,
        });
        Ok(Self {
            _user_events: sources::user_events::UserEventWork::begin()?,
            _functions: hooks::ModuleWatch::new(instance::registry::for_each_follower)?,
            _modules: sources::EventModuleWatch::new(wish)?,
            _fs: fs::register()?,
            _instances: instances,
            _cpus: cpus,
            _mounts: mounts,
            _events: events,
        })
    }
}
