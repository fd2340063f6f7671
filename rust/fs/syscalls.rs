// SPDX-License-Identifier: GPL-2.0

//! `syscall_user_buf_size`: how many bytes are recorded of what arguments of system calls point to.

use super::{
    file::FileIdentity,
    text_file::{
        no_memory,
        refused, //
    }, //
};
use crate::{
    output::Text,
    text::number, //
};
use core::fmt::Write;
use kernel::prelude::*;

/// `syscall_user_buf_size`, in bytes.
pub(crate) fn show_user_bytes(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", at.inst.syscall_user_bytes()).map_err(no_memory)
}

/// `syscall_user_buf_size`, in bytes.
pub(crate) fn store_user_bytes(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    at.inst
        .set_syscall_user_bytes(number::parse(command).map_err(refused)?);
    Ok(())
}
