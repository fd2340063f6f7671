// SPDX-License-Identifier: GPL-2.0

//! Instances that other modules make and remove, with their folders if users see rtracefs at that moment.
//!
//! A module and a user may make or remove an instance of one name at the same moment. The list of instances decides who
//! comes first; the folder follows it. Modules do it one after the other, so that a folder that is there belongs to the
//! instance of that name.
//!
//! Lock: [`TURN`], before that of a mount and those of folders.

use super::{
    superblock::{
        check_name,
        node,
        TYPE, //
    },
    tree, //
};
use crate::{
    instance::{
        registry,
        Instance,
        InstanceRef, //
    },
    kapi::walk::FoundDentry, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

crate::kapi::global::global_mutex! {
    static TURN: Mutex<()> = ();
}

/// Returns the instance `name`, which is made if there is none. Process context.
///
/// # Errors
///
/// `ENAMETOOLONG` and `EINVAL` for a name that users could not give, `ENODEV` if the instance is being removed, `ENOMEM`.
pub(crate) fn obtain(name: &CStr) -> Result<InstanceRef> {
    check_name(name)?;
    let _turn = TURN.lock();
    loop {
        match registry::find(name) {
            Ok(inst) => return inst.get(),
            Err(ENOENT) => {}
            Err(error) => return Err(error),
        }
        match registry::create(name) {
            Ok(inst) => return show(inst),
            // A user has made it since.
            Err(EEXIST) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Makes the folder of a new instance where users see rtracefs. The instance is removed again when that fails.
fn show(inst: Arc<Instance>) -> Result<InstanceRef> {
    let user = inst.get()?;
    let shown = shown_in_mount(&inst);
    if let Err(error) = shown {
        drop(user);
        // As for a user's: one that has a file of it open keeps it.
        let _ = registry::remove(&inst);
        return Err(error);
    }
    Ok(user)
}

fn shown_in_mount(inst: &Arc<Instance>) -> Result {
    let mut result = Ok(());
    for_instances(|instances| {
        let made = node(inst.clone()).and_then(|node| {
            instances.make_folder(inst.name(), node, |node, dir| tree::fill(dir, &node.inst))
        });
        // A mount that began after the instance was on the list has made it.
        result = made.or_else(|error| match error {
            EEXIST => Ok(()),
            error => Err(error),
        });
    });
    result
}

/// Removes the instance at `address`, with its folder. Process context.
///
/// # Errors
///
/// `ENODEV` if none is there, `EBUSY` while one of its files is open or a module has it.
pub(crate) fn destroy(address: *const Instance) -> Result {
    let _turn = TURN.lock();
    let inst = registry::at(address)?;
    registry::remove(&inst)?;
    let Ok(name) = inst.name().to_str() else {
        return Ok(());
    };
    // From here on a user who opens one of its files is told that it is gone.
    for_instances(|instances| instances.in_child(name, |folder| folder.remove()));
    Ok(())
}

/// Calls `look` with `instances/`, if users see it.
fn for_instances(mut look: impl FnMut(&FoundDentry<'_, super::file::FileNode>)) {
    TYPE.for_mounted(|root| root.in_child("instances", &mut look));
}
