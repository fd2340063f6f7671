// SPDX-License-Identifier: GPL-2.0

//! What the commands `dump` and `cpudump` of functions print: the lines of `trace`, in the kernel's log. Nothing is
//! consumed.
//!
//! Hooks run in any context, and making text sleeps, so the worker of the instance comes here soon after recording
//! was switched off.

use super::trace::DumpLines;
use crate::{
    buffers::CpuSel,
    instance::Instance,
    kapi::c, //
};
use kernel::{
    prelude::*,
    str::BStr,
    sync::Arc, //
};

/// Bytes of text that are made at a time.
const CHUNK: usize = 4096;
/// What ftrace prints before and after the lines.
const RULE: &str = "---------------------------------";

/// Prints what these CPUs have recorded.
pub(crate) fn dump(inst: &Arc<Instance>, cpus: CpuSel) {
    match inst.name().to_str() {
        Ok("") | Err(_) => pr_info!("Dumping ftrace buffer:\n"),
        Ok(name) => pr_info!("Dumping ftrace instance {name} buffer:\n"),
    }
    match print(inst, cpus) {
        Ok(true) => pr_info!("{RULE}\n"),
        Ok(false) => pr_info!("   (ftrace buffer empty)\n"),
        Err(why) => pr_info!("the rest is not dumped: {why:?}\n"),
    }
}

/// Prints the lines. Returns whether there were any.
///
/// # Errors
///
/// `ENOMEM`, those of reading the buffers, and `ENODEV` when the instance is being removed, which waits for this.
fn print(inst: &Arc<Instance>, cpus: CpuSel) -> Result<bool> {
    let mut lines = DumpLines::new(inst, cpus)?;
    let mut any = false;
    while let Some(text) = lines.next(inst, CHUNK)? {
        for line in text.split(|byte| *byte == b'\n') {
            if inst.is_going() {
                return Err(ENODEV);
            }
            if line.is_empty() {
                continue;
            }
            if !core::mem::replace(&mut any, true) {
                pr_info!("{RULE}\n");
            }
            pr_info!("{}\n", BStr::from_bytes(line));
            c::rt_cond_resched();
        }
    }
    Ok(any)
}
