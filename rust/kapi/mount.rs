// SPDX-License-Identifier: GPL-2.0

//! Which options `mount` accepts: `uid=`, `gid=` and `mode=`, what they are set to, and how
//! `/proc/mounts` shows them. Called by `kapi::fs_context` and `kapi::superblock`.
//!
//! An owner that is named goes to every file and folder, the mode to the root folder only. What a
//! mount or a remount does not name keeps its value.

use super::{
    c,
    dir,
    inode::Dentry, //
};
use core::ptr;
use kernel::{
    bindings,
    error::to_result,
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    str::as_char_ptr_in_const_context,
    sync::Mutex, //
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

/// The options of a context or of a superblock, which owns them in a box by its `s_fs_info`. Two
/// mounts and a reader of `/proc/mounts` may use them at the same time.
pub(super) type SharedOptions = Mutex<MountOptions>;

/// The options that one `mount` call named.
#[derive(Clone, Copy, Default)]
pub(crate) struct MountOptions {
    uid: Option<bindings::kuid_t>,
    gid: Option<bindings::kgid_t>,
    mode: Option<u16>,
}

impl MountOptions {
    /// Takes over one parameter of the mount call.
    ///
    /// # Errors
    ///
    /// `ENOPARAM` for one that is not known, `EINVAL` for a value that is none.
    ///
    /// # Safety
    ///
    /// `log` is the log of the context, and `param` the parameter, of a `parse_param` operation.
    pub(crate) unsafe fn parse(
        &mut self,
        log: *mut c::p_log,
        param: *mut c::fs_parameter,
    ) -> Result {
        let mut got = c::fs_parse_result {
            negated: false,
            __bindgen_anon_1: c::fs_parse_result__bindgen_ty_1 {
                boolean: c::__BindgenUnionField::new(),
                int_32: c::__BindgenUnionField::new(),
                uint_32: c::__BindgenUnionField::new(),
                uint_64: c::__BindgenUnionField::new(),
                uid: c::__BindgenUnionField::new(),
                gid: c::__BindgenUnionField::new(),
                bindgen_union_field: 0,
            },
        };
        // SAFETY: The caller promises a valid log and parameter, and `SPECS` ends with an empty
        // entry.
        let opt = unsafe { c::__fs_parse(log, SPECS.as_ptr(), param, &raw mut got) };
        to_result(opt)?;
        // The parsers of all three options fill the first 32 bits: a number, or one in a structure.
        let val = got.__bindgen_anon_1.bindgen_union_field as u32;
        match u8::try_from(opt) {
            Ok(GID) => self.gid = Some(bindings::kgid_t { val }),
            Ok(UID) => self.uid = Some(bindings::kuid_t { val }),
            Ok(MODE) => self.mode = Some(val as u16 & ALL_BITS),
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

    /// Gives the root folder its mode, and to it and all below it the owner that is named.
    pub(crate) fn apply<N: Send + Sync + 'static>(&self, root: Dentry<'_, N>) {
        if let (Some(mode), Some(inode)) = (self.mode, root.inode()) {
            inode.set_mode((inode.mode() & !ALL_BITS) | mode);
        }
        if self.uid.is_some() || self.gid.is_some() {
            dir::chown_tree(root, self.uid, self.gid);
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
