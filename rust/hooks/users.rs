// SPDX-License-Identifier: GPL-2.0

//! The users of an engine: what is the same for the hook of functions and for those of calls.

use crate::probes::Sink;
use kernel::prelude::*;

/// What an instance has hooks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Its tracer records functions or calls.
    Tracer,
    /// It does something when functions are called.
    Commands,
}

/// The instance that a user is of, and what for.
#[derive(Clone, Copy)]
pub(super) struct UserIdentity<'a> {
    pub(super) sink: &'a Sink,
    pub(super) purpose: Purpose,
}

impl<'a> UserIdentity<'a> {
    /// Returns what the tracer of an instance is of.
    pub(super) fn tracer(sink: &'a Sink) -> Self {
        let purpose = Purpose::Tracer;
        Self { sink, purpose }
    }

    /// Returns what the commands of an instance are of.
    pub(super) fn commands(sink: &'a Sink) -> Self {
        let purpose = Purpose::Commands;
        Self { sink, purpose }
    }
}

/// What an engine keeps of an instance that it records for.
pub(super) trait User {
    /// Returns whether it is that user.
    fn is_of(&self, whose: UserIdentity<'_>) -> bool;
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

    /// Has the hooks do nothing for that user any more, and all else as before. Needs no memory.
    fn forget(&mut self, whose: UserIdentity<'_>);
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

/// Replaces a part of a user, and has the hooks follow it by `follow`.
///
/// # Errors
///
/// `ENOENT` without that user, and those of `follow`: nothing has changed.
pub(super) fn exchange<E: Engine, T>(
    engine: &mut E,
    whose: UserIdentity<'_>,
    part: fn(&mut E::User) -> &mut T,
    other: T,
    follow: impl FnOnce(&mut E) -> Result,
) -> Result {
    let mut users = engine.users().iter_mut();
    let user = users.find(|user| user.is_of(whose)).ok_or(ENOENT)?;
    let before = core::mem::replace(part(user), other);
    let result = follow(engine);
    if result.is_err() {
        let mut users = engine.users().iter_mut();
        if let Some(user) = users.find(|user| user.is_of(whose)) {
            *part(user) = before;
        }
    }
    result
}

/// Takes a user out. No hook uses the sink for it when this returns.
pub(super) fn detach<E: Engine>(engine: &mut E, whose: UserIdentity<'_>) {
    let all = engine.users();
    let Some(at) = all.iter().position(|user| user.is_of(whose)) else {
        return;
    };
    let _ = all.remove(at);
    if all.is_empty() {
        engine.clear();
    } else if engine.follow().is_err() {
        // Without memory for something shorter to follow, functions go on to call the hooks for nothing.
        engine.forget(whose);
    }
}
