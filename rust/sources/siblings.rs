// SPDX-License-Identifier: GPL-2.0

//! The probes of one event: one for each definition that has its name.
//!
//! They have the same fields, so that the first one says what a record is, also when its definition is gone.
//! Process context.
//!
//! Lock: that of the probes, after those of definitions and of an instance's events, before that of a probe. That of an
//! event that is followed comes after those of the probe that follows it, which nothing follows.

use super::defined::DefinedProbe;
use crate::events::{
    self,
    Attachment, //
};
use core::ptr;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// The probes of an event.
#[pin_data]
pub(super) struct SiblingProbes {
    first: Arc<dyn DefinedProbe>,
    #[pin]
    state: Mutex<SiblingState>,
}

/// Keeps an event, which others follow.
pub(super) struct FollowedSiblings(Arc<SiblingProbes>);

impl FollowedSiblings {
    /// Returns one to the event that has these probes. The caller has the definitions locked.
    pub(super) fn new(siblings: Arc<SiblingProbes>) -> Self {
        {
            let mut state = siblings.state.lock();
            state.followers = state.followers.wrapping_add(1);
        }
        Self(siblings)
    }
}

impl Drop for FollowedSiblings {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.followers = state.followers.saturating_sub(1);
    }
}

struct SiblingState {
    /// Number of [`FollowedSiblings`].
    followers: usize,
    /// In the order of their definitions; never none.
    probes: KVec<Arc<dyn DefinedProbe>>,
    /// Where the event is enabled.
    enabled: KVec<Attachment>,
}

impl SiblingProbes {
    /// Returns those of an event that has one.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(first: Arc<dyn DefinedProbe>) -> Result<Arc<Self>> {
        let mut probes = KVec::new();
        probes.push(first.clone(), GFP_KERNEL)?;
        let state = SiblingState {
            followers: 0,
            probes,
            enabled: KVec::new(),
        };
        // Enabling one that follows another event locks that one's, too: two classes of locks.
        match first.followed() {
            Some(_) => Arc::pin_init(
                pin_init!(Self {
                    first,
                    state <- new_mutex!(state),
                }),
                GFP_KERNEL,
            ),
            None => Arc::pin_init(
                pin_init!(Self {
                    first,
                    state <- new_mutex!(state),
                }),
                GFP_KERNEL,
            ),
        }
    }

    /// Returns the one that says what records are.
    pub(super) fn first(&self) -> &dyn DefinedProbe {
        &*self.first
    }

    /// Returns whether an event probe follows the event.
    pub(super) fn is_followed(&self) -> bool {
        self.state.lock().followers != 0
    }

    /// Has all of them record for the event's file of an instance.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and what a probe says: none records.
    pub(super) fn attach(&self, to: Attachment) -> Result {
        let mut state = self.state.lock();
        // So that what follows succeeds.
        state.enabled.reserve(1, GFP_KERNEL)?;
        let pairs = state.probes.iter().map(|probe| (&**probe, to));
        attach_all(pairs)?;
        let _ = state.enabled.push_within_capacity(to);
        Ok(())
    }

    /// Has them record for that no more.
    pub(super) fn detach(&self, from: Attachment) {
        let mut state = self.state.lock();
        state.probes.iter().for_each(|probe| probe.detach(from));
        state.enabled.retain(|file| !file.is_same(&from));
    }

    /// Adds a probe, which records wherever the event is enabled.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and what the probe says: it is not added.
    pub(super) fn add(&self, probe: Arc<dyn DefinedProbe>) -> Result {
        let mut state = self.state.lock();
        state.probes.reserve(1, GFP_KERNEL)?;
        let pairs = state.enabled.iter().map(|file| (&*probe, *file));
        attach_all(pairs)?;
        let _ = state.probes.push_within_capacity(probe);
        Ok(())
    }

    /// Takes `probe` off, unless it is the last one; returns whether it has. Its calls may still run until
    /// `events::synchronize` has returned.
    pub(super) fn take(&self, probe: &Arc<dyn DefinedProbe>) -> bool {
        let mut state = self.state.lock();
        if state.probes.len() <= 1 {
            return false;
        }
        state
            .probes
            .retain(|known| !ptr::addr_eq(&**known, &**probe));
        let enabled = state.enabled.iter();
        enabled.for_each(|file| probe.detach(*file));
        true
    }
}

/// Has each of the probes record for the file beside it.
///
/// # Errors
///
/// What a probe says: none records.
fn attach_all<'a>(
    pairs: impl Iterator<Item = (&'a (dyn DefinedProbe + 'static), Attachment)> + Clone,
) -> Result {
    for ((probe, to), before) in pairs.clone().zip(0usize..) {
        probe
            .attach(to)
            .inspect_err(|_| detach_all(pairs.clone().take(before)))?;
    }
    Ok(())
}

/// Has none of the probes record for the file beside it, and waits for calls that still do.
fn detach_all<'a>(pairs: impl Iterator<Item = (&'a (dyn DefinedProbe + 'static), Attachment)>) {
    let mut has_any = false;
    for (probe, from) in pairs {
        probe.detach(from);
        has_any = true;
    }
    if has_any {
        events::synchronize();
    }
}
