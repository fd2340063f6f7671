// SPDX-License-Identifier: GPL-2.0

//! Which options `mount` accepts: `uid=`, `gid=` and `mode=`, what they are set to, and how
//! `/proc/mounts` shows them. Called by `kapi::fs` alone.
//!
//! An owner that is named goes to every file and folder, the mode to the root folder only. What a
//! mount or a remount does not name keeps its value.

use super::{
    c,
    dir, //
};
use core::ptr;
use kernel::{
    bindings,
    error::to_result,
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    str::as_char_ptr_in_const_context, //
};

/// The mode of the root folder of a mount that names none.
pub(crate) const ROOT_MODE: u16 = 0o700;
/// The permission bits of a mode, as `chmod` knows them.
const ALL_BITS: u16 = 0o7777;

const GID: u8 = 0;
const MODE: u8 = 1;
const UID: u8 = 2;

/// The options in the order of their numbers, with an empty entry at the end.
pub(crate) const SPECS: &[c::fs_parameter_spec; 4] = &[
    c::fs_parameter_spec {
        name: as_char_ptr_in_const_context(c"gid"),
        type_: Some(c::fs_param_is_gid),
        opt: GID,
        flags: 0,
        data: ptr::null(),
    },
    c::fs_parameter_spec {
        name: as_char_ptr_in_const_context(c"mode"),
        type_: Some(c::fs_param_is_u32),
        opt: MODE,
        flags: 0,
        // The number base travels in this pointer.
        data: ptr::without_provenance(8),
    },
    c::fs_parameter_spec {
        name: as_char_ptr_in_const_context(c"uid"),
        type_: Some(c::fs_param_is_uid),
        opt: UID,
        flags: 0,
        data: ptr::null(),
    },
    c::fs_parameter_spec {
        name: ptr::null(),
        type_: None,
        opt: 0,
        flags: 0,
        data: ptr::null(),
    },
];

/// What one `mount` call named.
#[derive(Clone, Copy, Default)]
pub(crate) struct MountOptions {
    uid: Option<bindings::kuid_t>,
    gid: Option<bindings::kgid_t>,
    mode: Option<u16>,
}

impl MountOptions {
    /// Takes over one parameter of the mount call.
    ///
    /// # Safety
    ///
    /// `fc` and `param` are the valid arguments of a `parse_param` operation.
    pub(crate) unsafe fn parse(
        &mut self,
        fc: *mut c::fs_context,
        param: *mut c::fs_parameter,
    ) -> Result {
        // SAFETY: All fields of the result are integers.
        let mut got: c::fs_parse_result = unsafe { core::mem::zeroed() };
        // SAFETY: `fc` and `param` are valid by the contract, `SPECS` ends with an empty entry.
        let opt = unsafe { c::__fs_parse(&raw mut (*fc).log, SPECS.as_ptr(), param, &raw mut got) };
        to_result(opt)?;
        let value = &got.__bindgen_anon_1;
        match u8::try_from(opt) {
            // SAFETY: fs_param_is_gid() filled this field.
            Ok(GID) => self.gid = Some(unsafe { *value.gid.as_ref() }),
            // SAFETY: fs_param_is_uid() filled this field.
            Ok(UID) => self.uid = Some(unsafe { *value.uid.as_ref() }),
            Ok(MODE) => {
                // SAFETY: fs_param_is_u32() filled this field.
                let mode = unsafe { *value.uint_32.as_ref() };
                self.mode = Some(mode as u16 & ALL_BITS);
            }
            _ => return Err(EINVAL),
        }
        Ok(())
    }

    /// Takes over what `newer` names.
    pub(crate) fn update(&mut self, newer: &Self) {
        self.uid = newer.uid.or(self.uid);
        self.gid = newer.gid.or(self.gid);
        self.mode = newer.mode.or(self.mode);
    }

    /// Gives the root folder its mode, and all files and folders below the named owner.
    ///
    /// # Safety
    ///
    /// `root` is the root dentry of a superblock that cannot go away during the call.
    pub(crate) unsafe fn apply(&self, root: *mut bindings::dentry) {
        if let Some(mode) = self.mode {
            // SAFETY: A root dentry has an inode.
            let inode = unsafe { &mut *(*root).d_inode };
            inode.i_mode = (inode.i_mode & !ALL_BITS) | mode;
        }
        if self.uid.is_some() || self.gid.is_some() {
            // SAFETY: By the contract.
            unsafe { dir::chown_tree(root, self.uid, self.gid) };
        }
    }

    /// Prints what differs from the default, in the form of `/proc/mounts`.
    pub(crate) fn show(&self, m: &SeqFile) {
        if let Some(uid) = self.uid.filter(|uid| uid.val != 0) {
            seq_print!(m, ",uid={}", uid.val);
        }
        if let Some(gid) = self.gid.filter(|gid| gid.val != 0) {
            seq_print!(m, ",gid={}", gid.val);
        }
        if let Some(mode) = self.mode.filter(|mode| *mode != ROOT_MODE) {
            seq_print!(m, ",mode={:o}", mode);
        }
    }
}
