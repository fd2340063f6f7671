// SPDX-License-Identifier: GPL-2.0

//! Stack traces after an event: the options `stacktrace` and `userstacktrace`.
//!
//! A stack is a separate record after that of the event. A writer that interrupts may record
//! between the two.

use super::{
    ActionMemory, //
    Follower,
};
use crate::{
    event::{
        context::Base,
        format, //
    },
    kapi::{
        context,
        stack::{
            self,
            DEPTH, //
        }, //
    },
    probes::{
        Action,
        Hit,
        OWN, //
    },
    text::{
        options::Opt,
        stack::{
            fill,
            HEAD, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The stack in the kernel.
pub(super) struct KernelStack;

/// The stack in user space.
pub(super) struct UserStack;

impl Follower for KernelStack {
    fn option(&self) -> Opt {
        Opt::Stack
    }

    fn action(&self, _: &mut ActionMemory) -> Result<Arc<dyn Action>> {
        stack::prepare()?;
        Ok(Arc::new(KernelStack, GFP_KERNEL)?)
    }
}

impl Follower for UserStack {
    fn option(&self) -> Opt {
        Opt::UserStack
    }

    fn action(&self, _: &mut ActionMemory) -> Result<Arc<dyn Action>> {
        stack::prepare()?;
        Ok(Arc::new(UserStack, GFP_KERNEL)?)
    }
}

impl Action for KernelStack {
    fn recorded(&self, hit: &Hit<'_>) {
        with_callers_of(hit, |callers| {
            put(hit, format::KERNEL_STACK.id, callers.len() as u32, callers);
        });
    }
}

impl Action for UserStack {
    fn recorded(&self, hit: &Hit<'_>) {
        // An NMI cannot fault in pages of the user stack that are not in memory.
        if !context::raw().in_nmi() {
            stack::with_user_callers(hit.pin(), |process, callers| {
                put(hit, format::USER_STACK.id, process, callers);
            });
        }
    }
}

/// Calls `f` with the callers of the probe of `hit`.
#[inline(always)]
pub(super) fn with_callers_of(hit: &Hit<'_>, f: impl FnOnce(&[u64])) {
    let module = || hit.file.event().owner();
    stack::with_callers_of(hit.pin(), hit.frame, module, f);
}

/// Records `number` and `addresses`. The ring counts a record that it refuses.
fn put(hit: &Hit<'_>, id: u16, number: u32, addresses: &[u64]) {
    let addresses = addresses.get(..DEPTH).unwrap_or(addresses);
    let len = HEAD.wrapping_add(addresses.len().wrapping_mul(8));
    let (sink, base) = (hit.file.sink(), Base::new(id, OWN));
    let _ = sink.record(hit.pin(), base, len, |rest| fill(rest, number, addresses));
}
