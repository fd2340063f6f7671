// SPDX-License-Identifier: GPL-2.0

//! The list of all instances, the top one first.

use super::{
    enable,
    marker_copies,
    tracer,
    Instance, //
};
use crate::{
    hooks::FunctionsFollower,
    text::options::{
        Opt,
        OptionSet, //
    },
    tracers, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

crate::kapi::global::global_mutex! {
    static ALL: Mutex<KVec<Arc<Instance>>> = KVec::new();
}

/// Owner of the instances: they exist as long as the module is loaded.
pub(crate) struct Instances(());

impl Instances {
    /// Makes the top instance. Called once, by the module's init.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        let top = Instance::new(c"", true, OptionSet::DEFAULT)?;
        ALL.lock().push(top, GFP_KERNEL)?;
        let this = Self(());
        tracer::begin_to_tell()?;
        enable::init()?;
        Ok(this)
    }
}

impl Drop for Instances {
    fn drop(&mut self) {
        enable::exit();
        let all = core::mem::take(&mut *ALL.lock());
        for inst in &all {
            inst.rest();
        }
        tracer::end_telling();
        tracers::exit();
        drop(all);
    }
}

/// Returns the top instance, which exists from [`Instances::new`] until the module is unloaded.
///
/// # Errors
///
/// `ENODEV` while the module is being unloaded.
pub(crate) fn top() -> Result<Arc<Instance>> {
    ALL.lock().first().cloned().ok_or(ENODEV)
}

/// Returns the instance `name`.
///
/// # Errors
///
/// `ENOENT` if there is none.
pub(crate) fn find(name: &CStr) -> Result<Arc<Instance>> {
    let all = ALL.lock();
    all.iter()
        .find(|inst| inst.name() == name)
        .cloned()
        .ok_or(ENOENT)
}

/// Returns the instance at this address, which may be that of none: only addresses are compared.
///
/// # Errors
///
/// `ENODEV` if there is none.
pub(crate) fn at(address: *const Instance) -> Result<Arc<Instance>> {
    let all = ALL.lock();
    all.iter()
        .find(|inst| core::ptr::eq(Arc::as_ptr(inst), address))
        .cloned()
        .ok_or(ENODEV)
}

/// Returns the instance whose writers use what is at this address.
///
/// # Errors
///
/// `ENODEV` if there is none.
#[cfg(rtrace_test)]
pub(crate) fn with_sink(address: *const crate::probes::Sink) -> Result<Arc<Instance>> {
    let all = ALL.lock();
    all.iter()
        .find(|inst| core::ptr::eq(inst.sink(), address))
        .cloned()
        .ok_or(ENODEV)
}

/// Makes an instance.
///
/// # Errors
///
/// `EEXIST` if there is one of that name, `ENOMEM`.
pub(crate) fn create(name: &CStr) -> Result<Arc<Instance>> {
    // An instance inherits neither the options to follow forks nor those of its tracer.
    let options = top()?.options().of_new_instance();
    let inst = Instance::new(name, false, options)?;
    inst.set_syscall_user_bytes(top()?.syscall_user_bytes());
    let mut all = ALL.lock();
    if all.iter().any(|other| other.name() == name) {
        return Err(EEXIST);
    }
    all.push(inst.clone(), GFP_KERNEL)?;
    Ok(inst)
}

/// Removes an instance: disables its events and makes its files useless. Its memory is freed with
/// the last of them.
///
/// # Errors
///
/// `EBUSY` while one of its files is open or another module has it, `ENODEV` if it has been removed.
pub(crate) fn remove(inst: &Arc<Instance>) -> Result {
    let this = Arc::as_ptr(inst);
    let unlist = || {
        ALL.lock()
            .retain(|other| !core::ptr::eq(Arc::as_ptr(other), this));
    };
    inst.life.remove(|| inst.rest(), unlist)?;
    if inst.options().has(Opt::CopyMarker) {
        marker_copies::follow(inst);
    }
    inst.buffers().wake_all();
    Ok(())
}

/// Calls `f` with each instance that is listed all the while: what follows modules.
///
/// Instances come and go between the calls, so the next one is found by its number: its place may be another one by then.
/// One that comes meanwhile may be left out, because functions are selected for it from those that there are by now.
pub(crate) fn for_each_follower(f: &dyn Fn(&dyn FunctionsFollower)) {
    let mut last = None;
    while let Some(inst) = next_after(last) {
        last = Some(inst.number);
        f(&*inst);
    }
}

/// Returns the instance with the smallest number above `last`, or of all.
fn next_after(last: Option<u64>) -> Option<Arc<Instance>> {
    let all = ALL.lock();
    let later = all.iter().filter(|inst| Some(inst.number) > last);
    later.min_by_key(|inst| inst.number).cloned()
}

/// Returns the first instance that `which` accepts.
pub(super) fn first(which: impl Fn(&Instance) -> bool) -> Option<Arc<Instance>> {
    ALL.lock().iter().find(|inst| which(inst)).cloned()
}

/// Returns the instances that `which` accepts.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn all(which: impl Fn(&Instance) -> bool) -> Result<KVec<Arc<Instance>>> {
    let all = ALL.lock();
    let mut accepted = KVec::with_capacity(all.len(), GFP_KERNEL)?;
    for inst in all.iter().filter(|inst| which(inst)) {
        accepted.push(inst.clone(), GFP_KERNEL)?;
    }
    Ok(accepted)
}

/// Calls `f` for each instance except the top one.
///
/// # Errors
///
/// `ENOMEM`, and the first error of `f`, which ends the calls.
pub(crate) fn for_each(mut f: impl FnMut(&Arc<Instance>) -> Result) -> Result {
    all(|inst| !inst.is_top())?.iter().try_for_each(&mut f)
}
