// SPDX-License-Identifier: GPL-2.0

//! Loading and unloading the module under test, and mounting its file system.

use crate::check::Check;
use crate::errno::{Op, EAGAIN, EBUSY};
use crate::sys;
use crate::Context;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

pub const NAME: &str = "rtrace";
pub const FS_TYPE: &str = "rtracefs";

pub fn load(file: &Path, parameters: &str) -> Check {
    let image = File::open(file).map_err(|e| format!("{}: {e}", file.display()))?;
    sys::finit_module(&image, parameters).map_err(|e| format!("load {}: {e}", file.display()))
}

pub fn unload(name: &str) -> Op {
    sys::delete_module(name)
}

/// Unloads a module that a task may still hold for some moments: the process that closes the last
/// file of one is not always the one that opened it.
pub fn unload_when_free(name: &str) -> Check {
    let mut result = Ok(());
    sys::wait_until(Duration::from_secs(10), || {
        result = unload(name);
        result != Err(EAGAIN)
    });
    result.map_err(|e| format!("unload {name}: {e}"))
}

pub fn mount(context: &Context) -> Check {
    sys::mount_fs(FS_TYPE, &context.root, 0, "")
        .map_err(|e| format!("mount {}: {e}", context.root.display()))
}

/// Takes the mount away. A child of a load that is still on its way to its program holds the
/// files that were open when it was forked: EBUSY may last for some moments.
pub fn umount(context: &Context) -> Check {
    let mut result = Ok(());
    sys::wait_until(Duration::from_secs(5), || {
        result = sys::umount(&context.root, 0);
        result != Err(EBUSY)
    });
    result.map_err(|e| format!("umount {}: {e}", context.root.display()))
}

/// Restores the state that the suite starts from, however a test left it.
pub fn restore(context: &Context) -> Check {
    if !is_loaded(NAME) {
        load(&context.module, "")?;
    }
    if !is_mounted(&context.root) {
        mount(context)?;
    }
    Ok(())
}

/// Whether KUnit, if the kernel has it, is to run the tests of a module when that is loaded.
pub fn run_kunit(on: bool) -> Check {
    let glob = Path::new("/sys/module/kunit/parameters/filter_glob");
    if !glob.exists() {
        return Ok(());
    }
    let suites = if on { "*" } else { "none" };
    std::fs::write(glob, suites).map_err(|e| format!("{}: {e}", glob.display()))
}

pub fn is_loaded(name: &str) -> bool {
    let modules = std::fs::read_to_string("/proc/modules").unwrap_or_default();
    modules
        .lines()
        .any(|line| line.split(' ').next() == Some(name))
}

pub fn is_mounted(path: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    mounts
        .lines()
        .any(|line| line.split(' ').nth(1).map(Path::new) == Some(path))
}

/// A new state of the module: out and in again, mounted. What instances held is gone.
pub fn reload(context: &Context) -> Check {
    reload_with(context, "")
}

pub fn reload_with(context: &Context, parameters: &str) -> Check {
    umount(context)?;
    unload_when_free(NAME)?;
    load(&context.module, parameters)?;
    mount(context)
}

/// The module with other parameters, until dropped.
pub struct With<'a>(&'a Context);

impl<'a> With<'a> {
    pub fn parameters(context: &'a Context, parameters: &str) -> Check<Self> {
        reload_with(context, parameters)?;
        Ok(With(context))
    }
}

impl Drop for With<'_> {
    fn drop(&mut self) {
        if let Err(problem) = reload(self.0) {
            println!("the module does not come back: {problem}");
        }
    }
}
