// SPDX-License-Identifier: GPL-2.0

//! Words of `set_event` that name events of modules that are not loaded. They are obeyed when the module
//! comes.
//!
//! The lock of the words is a leaf lock: a word is taken out before it is obeyed.

use super::{
    arrivals::Arrivals,
    registry,
    triggers::copied,
    Instance, //
};
use crate::{
    events,
    kapi::words::SharedU64,
    text::{
        set_event::EventSelection,
        writer::ByteWrite, //
    }, //
};
use core::fmt;
use kernel::prelude::*;

/// The most words that wait in an instance. ftrace sets no limit.
const MOST: usize = 4096;

/// Counts what [`enable_awaited`] is called for.
pub(super) static ARRIVALS: Arrivals<SharedU64> = Arrivals::of(SharedU64::zero());

/// The words of an instance, the newest first.
pub(super) struct WaitingWords(KVec<KVec<u8>>);

impl WaitingWords {
    /// Returns none.
    pub(super) const fn none() -> Self {
        Self(KVec::new())
    }

    fn add(&mut self, word: &[u8]) -> Result {
        if self.0.len() >= MOST {
            return Err(ENOSPC);
        }
        self.0.push(copied(word)?, GFP_KERNEL)?;
        self.0.rotate_right(1);
        Ok(())
    }

    /// Returns where a word is that waits for the module `name`.
    fn position(&self, name: &str) -> Option<usize> {
        let waits = |word: &KVec<u8>| EventSelection::parse(word).is_of_module(name.as_bytes());
        self.0.iter().position(waits)
    }

    /// Takes out a word that waits for the module `name`.
    fn next_for(&mut self, name: &str) -> Option<KVec<u8>> {
        self.0.remove(self.position(name)?).ok()
    }

    /// Takes out the newest word that is this one. Returns whether there was any.
    fn take_back(&mut self, word: &[u8]) -> bool {
        let at = self.0.iter().position(|other| **other == *word);
        at.is_some_and(|at| self.0.remove(at).is_ok())
    }

    /// Takes out each word for which `f` is true. Returns whether there was any.
    fn take_out(&mut self, f: impl Fn(&EventSelection<'_>) -> bool) -> bool {
        let before = self.0.len();
        self.0.retain(|word| !f(&EventSelection::parse(word)));
        self.0.len() != before
    }
}

impl Instance {
    /// Has `word`, which selects events of a module that is not loaded, obeyed when the module comes; one
    /// that switches off takes such words back.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is none to take back, `ENOSPC` if too many wait, `ENOMEM`.
    pub(crate) fn await_module(&self, word: &[u8]) -> Result {
        let selection = EventSelection::parse(word);
        let mut waiting = self.waiting.lock();
        if selection.enable {
            return waiting.add(word);
        }
        match waiting.take_out(|other| selection.takes_back(other)) {
            true => Ok(()),
            false => Err(EINVAL),
        }
    }

    /// Has `word`, which [`Self::await_module`] has added, not wait any more. Returns whether it still did.
    pub(super) fn stop_awaiting(&self, word: &[u8]) -> bool {
        self.waiting.lock().take_back(word)
    }

    /// Has no word wait any more.
    pub(crate) fn forget_awaited(&self) {
        self.waiting.lock().0.clear();
    }

    /// Writes the words that wait, one per line, as `set_event` shows them.
    pub(crate) fn show_awaited(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        let waiting = self.waiting.lock();
        waiting
            .0
            .iter()
            .try_for_each(|word| EventSelection::parse(word).write_text(out))
    }

    /// Enables what `word` selects. An event that cannot be enabled stays off, as in ftrace: there is no
    /// caller to be told.
    fn obey_awaited(&self, word: &[u8]) {
        let word = EventSelection::parse(word);
        let selected = events::all()
            .filter(|event| word.matches(event.system(), event.name(), event.module()))
            .filter(|event| !word.means_all() || event.is_usual());
        for event in selected {
            if self.enable_event(event).is_err() {
                pr_warn!(
                    "an event that set_event waited for stays off: {}\n",
                    event.name()
                );
            }
        }
    }
}

/// Enables in each instance what waits for the module `name`, whose events are there. Process context;
/// the kernel's list of modules may be locked.
pub(crate) fn enable_awaited(name: &str) {
    ARRIVALS.count();
    let waits = |inst: &Instance| inst.waiting.lock().position(name).is_some();
    while let Some(inst) = registry::first(waits) {
        // It is not removed meanwhile; if it is being removed, its words are dropped.
        let user = inst.get();
        loop {
            let word = inst.waiting.lock().next_for(name);
            match (word, &user) {
                (Some(word), Ok(inst)) => inst.obey_awaited(&word),
                (Some(_), Err(_)) => {}
                (None, _) => break,
            }
        }
    }
}
