// SPDX-License-Identifier: GPL-2.0

//! What rtracefs is as a file system: its name, when it may be mounted, what is in a new mount, and
//! what `mkdir` and `rmdir` in `instances/` do.
//!
//! Instances do not belong to the mount: they stay when it goes, and a new mount shows them again. Those that other
//! modules make are in `fs::held`.

use super::{
    file::{
        Arg,
        FileNode, //
    },
    tree::{
        self,
        TreeDir, //
    },
};
use crate::{
    instance::{
        registry,
        Instance, //
    },
    kapi::{
        compat,
        fs::{
            self,
            FileSystem,
            FsType, //
        },
        mkdir, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The file system.
pub(crate) enum Rtracefs {}

/// The mounted type. Its address is what the VFS knows.
pub(super) static TYPE: FsType<Rtracefs> = FsType::new();

/// The registered file system.
pub(crate) type RtracefsRegistration = fs::Registration<Rtracefs>;

/// Lets users mount rtracefs.
pub(crate) fn register() -> Result<RtracefsRegistration> {
    RtracefsRegistration::new(&TYPE)
}

/// The longest name of an instance.
const LONGEST_NAME: usize = 64;

/// Refuses names that do not fit into logs and into texts that programs parse, and those that no folder can have, which
/// the VFS keeps from users: `ENAMETOOLONG`, `EINVAL`.
pub(super) fn check_name(name: &CStr) -> Result {
    let bytes = name.to_bytes();
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    if bytes.len() > LONGEST_NAME {
        return Err(compat::name_too_long());
    }
    if bytes.iter().all(allowed) && !matches!(bytes, b"" | b"." | b"..") {
        Ok(())
    } else {
        Err(EINVAL)
    }
}

/// Makes the node of the folder of `inst`. Fails with `ENOMEM`.
pub(super) fn node(inst: Arc<Instance>) -> Result<KBox<FileNode>> {
    let node = FileNode {
        inst,
        arg: Arg::Whole,
        handler: None,
        _id: None,
    };
    Ok(KBox::new(node, GFP_KERNEL)?)
}

/// Makes `instances/` and in it the folders of the instances that exist.
pub(crate) fn instances(dir: &TreeDir<'_>, name: &CStr) -> Result {
    let operations = Some(mkdir::operations::<Rtracefs>());
    dir.folder(name, fs::FOLDER_MODE, operations, None, |dir| {
        registry::for_each(|inst| {
            let node = node(inst.clone())?;
            dir.folder(inst.name(), fs::FOLDER_MODE, None, Some(node), |dir| {
                tree::fill(dir, inst)
            })
        })
    })
}

impl FileSystem for Rtracefs {
    type Node = FileNode;

    const NAME: &'static CStr = c"rtracefs";
    const MOUNT_POINT: &'static CStr = c"rtracing";
    // "rtrc".
    const MAGIC: usize = 0x7274_7263;

    fn allowed() -> Result {
        fs::locked_down()
    }

    fn fill(root: &TreeDir<'_>) -> Result {
        tree::fill(root, &registry::top()?)
    }

    fn create(name: &CStr, enter: impl FnOnce(KBox<FileNode>) -> Result) -> Result {
        check_name(name)?;
        let inst = registry::create(name)?;
        let result = node(inst.clone()).and_then(enter);
        if result.is_err() {
            // A user may have a file of the half-made folder open. Then the instance stays, and
            // the next mount shows it.
            let _ = registry::remove(&inst);
        }
        result
    }

    fn fill_created(node: &FileNode, dir: &TreeDir<'_>) -> Result {
        tree::fill(dir, &node.inst)
    }

    fn remove(node: &FileNode) -> Result {
        registry::remove(&node.inst)
    }
}

#[kunit_tests(rtrace_fs_names)]
mod tests {
    use super::*;

    #[test]
    fn names_of_instances() {
        const LONGEST: &CStr = c"0123456789012345678901234567890123456789012345678901234567890123";
        const TOO_LONG: &CStr =
            c"01234567890123456789012345678901234567890123456789012345678901234";

        for (name, expected) in [
            (c"foo", None),
            (c"a-B_1.x", None),
            (c"...", None),
            (c"", Some(EINVAL)),
            (c".", Some(EINVAL)),
            (c"..", Some(EINVAL)),
            (c"a b", Some(EINVAL)),
            (c"a\n", Some(EINVAL)),
            (c"\xc3\xa4", Some(EINVAL)),
            (LONGEST, None),
            (TOO_LONG, Some(compat::name_too_long())),
        ] {
            assert!(check_name(name).err() == expected);
        }
    }
}
