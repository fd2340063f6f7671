// SPDX-License-Identifier: GPL-2.0

//! The list of events that users define by their fields alone, without a probe: synthetic events and user events
//! have one each.
//!
//! Process context. The lock of a list is a leaf; those who add and remove events take turns by another one.

use crate::{
    events::{
        self,
        Event, //
    },
    kapi::global::GlobalMutex,
    text::writer::ByteWrite, //
};
use core::ops::Range;
use kernel::{
    fmt,
    prelude::*,
    sync::{
        Arc,
        GlobalLockBackend, //
    }, //
};

/// What an event consists of.
pub(super) trait DefinedFields: Sized + 'static {
    /// Returns the name in the definition.
    fn name(&self) -> &str;

    /// Returns whether the event is in use, so that it may not be removed.
    fn is_busy(&self) -> bool;

    /// From here on it cannot be used.
    ///
    /// # Errors
    ///
    /// `EBUSY` while it is in use, and `EPERM` if the current task may not remove it.
    fn end(&self) -> Result;

    /// Writes the definition as a line. Fails when `out` does.
    fn write_definition(&self, out: &mut dyn ByteWrite) -> fmt::Result;
}

/// An event that is defined.
pub(super) struct FieldsDefinition<T> {
    pub(super) event: &'static Event,
    pub(super) made_of: Arc<T>,
}

impl<T> Clone for FieldsDefinition<T> {
    fn clone(&self) -> Self {
        Self {
            event: self.event,
            made_of: self.made_of.clone(),
        }
    }
}

impl<T: DefinedFields> FieldsDefinition<T> {
    /// Returns whether `name` is the one in the definition.
    pub(super) fn is_called(&self, name: &[u8]) -> bool {
        self.made_of.name().as_bytes() == name
    }
}

/// The list.
pub(super) struct FieldsDefinitions<T>(KVec<FieldsDefinition<T>>);

impl<T: DefinedFields> FieldsDefinitions<T> {
    /// Returns an empty list.
    pub(super) const fn new() -> Self {
        Self(KVec::new())
    }

    /// Makes room for one more.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn reserve(&mut self) -> Result {
        Ok(self.0.reserve(1, GFP_KERNEL)?)
    }

    /// Adds one, for which there is room.
    pub(super) fn add(&mut self, event: &'static Event, made_of: Arc<T>) {
        let definition = FieldsDefinition { event, made_of };
        let _ = self.0.push_within_capacity(definition);
    }

    /// Returns the definitions, in the order in which they were made.
    pub(super) fn iter(&self) -> impl Iterator<Item = &FieldsDefinition<T>> {
        self.0.iter()
    }

    /// Returns the definition of this name.
    pub(super) fn find(&self, name: &[u8]) -> Option<&FieldsDefinition<T>> {
        self.iter().find(|known| known.is_called(name))
    }

    /// Returns whether one of the events is in use.
    pub(super) fn is_busy(&self) -> bool {
        self.iter().any(|known| known.made_of.is_busy())
    }

    /// Returns the place of the first event from `from` on in the order in which dynamic events were made.
    pub(super) fn next_serial(&self, from: u64) -> Option<u64> {
        let serials = self.iter().map(|known| known.event.serial());
        serials.filter(|serial| *serial >= from).min()
    }

    /// Writes the definitions that `serials` selects by that order, each after `before`. Fails when `out` does.
    pub(super) fn write(
        &self,
        serials: Range<u64>,
        before: &str,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let mut selected = self
            .iter()
            .filter(|known| serials.contains(&known.event.serial()));
        selected.try_for_each(|known| {
            out.write_str(before)?;
            known.made_of.write_definition(out)
        })
    }
}

/// Removes from `list` the events that `is_meant` selects, up to the first one that may not be removed. Waits once for
/// all. The caller has its turn.
///
/// # Errors
///
/// `ENOENT` when there is none, those of [`DefinedFields::end`], and `ENOMEM`, when nothing was removed.
pub(super) fn remove<T: DefinedFields, B: GlobalLockBackend<Item = FieldsDefinitions<T>>>(
    list: &'static GlobalMutex<B>,
    is_meant: impl Fn(&FieldsDefinition<T>) -> bool,
) -> Result {
    let mut meant = KVec::new();
    for known in list.lock().iter().filter(|known| is_meant(known)) {
        meant.push(known.clone(), GFP_KERNEL)?;
    }
    if meant.is_empty() {
        return Err(ENOENT);
    }
    let mut ended = 0usize;
    let result = meant.iter().try_for_each(|known| {
        known.made_of.end()?;
        ended = ended.saturating_add(1);
        Ok(())
    });
    meant.truncate(ended);
    if meant.is_empty() {
        return result;
    }
    let is_gone = |known: &FieldsDefinition<T>| {
        let mut gone = meant.iter();
        gone.any(|gone| Arc::ptr_eq(&gone.made_of, &known.made_of))
    };
    // First: no list has an event any more when its folder is gone.
    list.lock().0.retain(|known| !is_gone(known));
    events::dynamic::withdraw(|| meant.iter().map(|known| known.event));
    result
}

/// Removes all events of `list`. The caller has its turn.
///
/// # Errors
///
/// As [`remove`], but none if there is no event.
pub(super) fn remove_all<T: DefinedFields, B: GlobalLockBackend<Item = FieldsDefinitions<T>>>(
    list: &'static GlobalMutex<B>,
) -> Result {
    match remove(list, |_| true) {
        Err(ENOENT) => Ok(()),
        result => result,
    }
}
