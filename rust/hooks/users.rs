// SPDX-License-Identifier: GPL-2.0

//! The users of an engine: what is the same for the hook of functions and for those of calls.

use crate::probes::Sink;
use kernel::prelude::*;

/// What an engine keeps of an instance that it records for.
pub(super) trait User {
    /// Returns whether it records into `sink`.
    fn is_of(&self, sink: &Sink) -> bool;
}

/// Users, and what the hooks follow.
pub(super) trait Engine {
    type User: User;

    /// Returns the users.
    fn users(&mut self) -> &mut KVec<Self::User>;

    /// Makes the hooks follow the users.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel: the hooks do what they did before.
    fn follow(&mut self) -> Result;

    /// Has nothing call the hooks any more.
    fn clear(&mut self);

    /// Has the hooks record nothing into `sink` any more, and all else as before. Needs no memory.
    fn forget(&mut self, sink: &Sink);
}

/// Adds a user.
///
/// # Errors
///
/// `ENOMEM`, and those of [`Engine::follow`]: nothing has changed.
pub(super) fn attach<E: Engine>(engine: &mut E, user: E::User) -> Result {
    engine.users().push(user, GFP_KERNEL)?;
    engine.follow().inspect_err(|_| {
        engine.users().pop();
    })
}

/// Replaces a part of the user of `sink`, and has the hooks follow it by `follow`.
///
/// # Errors
///
/// `ENOENT` without that user, and those of `follow`: nothing has changed.
pub(super) fn exchange<E: Engine, T>(
    engine: &mut E,
    sink: &Sink,
    part: fn(&mut E::User) -> &mut T,
    other: T,
    follow: impl FnOnce(&mut E) -> Result,
) -> Result {
    let mut of_sink = engine.users().iter_mut();
    let user = of_sink.find(|user| user.is_of(sink)).ok_or(ENOENT)?;
    let before = core::mem::replace(part(user), other);
    let result = follow(engine);
    if result.is_err() {
        let mut of_sink = engine.users().iter_mut();
        if let Some(user) = of_sink.find(|user| user.is_of(sink)) {
            *part(user) = before;
        }
    }
    result
}

/// Takes the user of `sink` out. No hook uses the sink when this returns.
pub(super) fn detach<E: Engine>(engine: &mut E, sink: &Sink) {
    let users = engine.users();
    let Some(at) = users.iter().position(|user| user.is_of(sink)) else {
        return;
    };
    let _ = users.remove(at);
    if users.is_empty() {
        engine.clear();
    } else if engine.follow().is_err() {
        // Without memory for something shorter to follow, functions go on to call the hooks for nothing.
        engine.forget(sink);
    }
}
