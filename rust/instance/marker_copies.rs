// SPDX-License-Identifier: GPL-2.0

//! The instances that get what is written into the marker files of the top one: those with the option
//! `copy_trace_marker`, which of all instances the top one alone has at first.
//!
//! As in ftrace the instance that got the option last is the first one, and one that refuses a marker keeps it from
//! those after it.

use super::{
    registry,
    Instance, //
};
use crate::text::options::Opt;
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

crate::kapi::global::global_mutex! {
    /// The number of times that an instance got the option.
    static TIMES: Mutex<u64> = 0;
}

/// Whether other instances than the top one alone have the option. Changed with [`TIMES`] locked.
static SPREAD: Atomic<bool> = Atomic::new(false);

/// When an instance got the option, for the order of copies.
pub(super) struct CopyStart(Atomic<u64>);

impl CopyStart {
    /// That of a new instance.
    pub(super) const fn new() -> Self {
        Self(Atomic::new(0))
    }
}

/// Returns whether an instance gets copies.
fn has_copies(inst: &Instance) -> bool {
    inst.options().has(Opt::CopyMarker)
}

/// Follows a change of the option: of `inst`, or of which instances there are. Process context.
pub(super) fn follow(inst: &Instance) {
    let mut times = TIMES.lock();
    *times = times.wrapping_add(1);
    inst.copied_since.0.store(*times, Relaxed);
    let is_other = |inst: &Instance| has_copies(inst) != inst.is_top();
    SPREAD.store(registry::first(is_other).is_some(), Relaxed);
}

/// Calls `write` for each instance that gets a marker written into `inst`. Returns what the last call does. Process
/// context.
///
/// # Errors
///
/// `ENOMEM`, `ENODEV` when there is no such instance, and the first error of `write`, which ends the calls.
pub(crate) fn for_each_copy(
    inst: &Instance,
    mut write: impl FnMut(&Instance) -> Result<usize>,
) -> Result<usize> {
    if !inst.is_top() || !SPREAD.load(Relaxed) {
        return write(inst);
    }
    let copies = registry::all(has_copies)?;
    let since = |inst: &Arc<Instance>| inst.copied_since.0.load(Relaxed);
    let (mut written, mut last) = (Err(ENODEV), u64::MAX);
    loop {
        let older = copies.iter().filter(|inst| since(inst) < last);
        let Some(next) = older.max_by_key(|inst| since(inst)) else {
            return written;
        };
        last = since(next);
        written = Ok(write(next)?);
    }
}
