// SPDX-License-Identifier: GPL-2.0

//! What the running kernel says of itself.

use super::{
    c,
    foreign::CText, //
};
use core::fmt;

/// Returns the words; none when there is no string.
fn words(string: Option<CText<'static>>) -> &'static str {
    string.map_or("", CText::text)
}

/// Returns the kernel's release.
pub(crate) fn release() -> &'static str {
    words(c::rt_release())
}

/// The kind of a kernel whose soft interrupts and locks can be preempted.
const REALTIME: &str = "PREEMPT_RT";

/// When the kernel takes the CPU from a task, as `uname -v` says it.
pub(crate) struct Preemption;

impl fmt::Display for Preemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, mode) = (c::rt_preemption_kind(), c::rt_preemption_mode());
        match (words(kind), words(mode)) {
            (kind, "") => f.write_str(kind),
            (REALTIME, mode) => write!(f, "PREEMPT_{{RT,{mode}}}"),
            (kind, mode) => write!(f, "{kind}{mode}"),
        }
    }
}
