// SPDX-License-Identifier: GPL-2.0

//! How a tracer wants functions to be recorded, and what that needs. Process context.

use super::list;
use crate::{
    kapi::stack,
    probes::{
        CalledFunctions,
        FollowedPart,
        Manner,
        Repeats, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// How a tracer wants functions to be recorded.
#[derive(Clone, Copy, Default)]
pub(crate) struct RecordingRequest {
    /// A record of the callers follows each.
    pub(crate) stack: bool,
    /// Repeats are recorded as a number.
    pub(crate) no_repeats: bool,
    /// With their arguments.
    pub(crate) args: bool,
    /// Each one once.
    pub(crate) once: bool,
    /// Only where a tracer of latencies follows this.
    pub(crate) of_followed: Option<FollowedPart>,
}

impl RecordingRequest {
    /// Returns the manner that this means for an instance that has `present`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn manner(self, present: &Manner) -> Result<Manner> {
        if self.stack {
            stack::prepare()?;
        }
        let repeats = match (self.no_repeats, &present.repeats) {
            (false, _) => None,
            (true, Some(repeats)) => Some(repeats.clone()),
            (true, None) => Some(Arc::new(Repeats::new()?, GFP_KERNEL)?),
        };
        let once = match (self.once, &present.once) {
            (false, _) => None,
            (true, Some(once)) => Some(once.clone()),
            (true, None) => {
                // Half as many more may come with modules.
                let functions = list::current()?.list().len();
                let once = CalledFunctions::new(functions)?;
                Some(Arc::new(once, GFP_KERNEL)?)
            }
        };
        Ok(Manner {
            once,
            stack: self.stack,
            args: self.args,
            of_followed: self.of_followed,
            repeats,
            pids: present.pids.clone(),
            commands: None,
        })
    }
}
