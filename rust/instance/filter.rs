// SPDX-License-Identifier: GPL-2.0

//! The filters of an instance: which records of its events it keeps.
//!
//! An event keeps its filter whether it is enabled or not. As in ftrace, a refused text replaces
//! the filter: the file shows it together with the error, and every record is kept.

use super::{
    error_log::CommandRefusal,
    Instance, //
};
use crate::{
    events::{
        self,
        Event, //
    },
    expr::error::{
        Error as Wrong, //
        PredicateErrno,
    },
    probes::{
        EventFile,
        Filter, //
    },
    text::{
        set_event,
        word,
        writer::ByteWrite, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};
use kernel::prelude::*;

/// The filter of one event, and the text that its file shows.
pub(super) struct ShownFilter {
    id: u16,
    text: KVec<u8>,
    /// `None` if the text was refused.
    filter: Option<KBox<Filter>>,
}

/// A text that grows until memory runs out.
struct GrowingText<'a>(&'a mut KVec<u8>);

impl Write for GrowingText<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0
            .extend_from_slice(text.as_bytes(), GFP_KERNEL)
            .map_err(|_| fmt::Error)
    }
}

/// Returns the kernel's error for a filter that is refused.
pub(super) fn errno(wrong: &Wrong) -> Error {
    match wrong.errno {
        PredicateErrno::Perm => EPERM,
        PredicateErrno::NoEnt => ENOENT,
        PredicateErrno::Srch => ESRCH,
        PredicateErrno::Inval => EINVAL,
    }
}

impl ShownFilter {
    /// Compiles `text`. If it is refused, the result shows the text followed by the error, which is
    /// returned as well. `of_system`: the text is for all events of a system, some of which may
    /// refuse it.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn new(event: &Event, text: &[u8], of_system: bool) -> Result<(Self, Option<Wrong>)> {
        let mut shown = Self {
            id: event.id(),
            text: KVec::with_capacity(text.len(), GFP_KERNEL)?,
            filter: None,
        };
        shown.text.extend_from_slice(text, GFP_KERNEL)?;
        match Filter::new(event, text)? {
            Ok(filter) => {
                shown.filter = Some(filter);
                Ok((shown, None))
            }
            Err(wrong) => {
                let wrong = if of_system { Wrong::of_system() } else { wrong };
                let mut out = GrowingText(&mut shown.text);
                wrong
                    .write(&mut out, text.len())
                    .and_then(|()| out.write_str("\n"))
                    .map_err(|_| ENOMEM)?;
                Ok((shown, Some(wrong)))
            }
        }
    }
}

/// Has `file` obey the filter of `shown`, if it has one. `shown` is in the instance's list, or about
/// to be put there.
fn give_filter(file: &EventFile, shown: Option<&ShownFilter>) {
    let filter = shown.and_then(|shown| shown.filter.as_deref());
    // SAFETY: The filter's box is in the list of filters, and leaves it only by `replace_filters`,
    // which drops it after all probes that may have found it, or with the event, which is off.
    unsafe { file.set_filter(filter) };
}

impl Instance {
    /// Writes what the `filter` file of `event` shows.
    pub(crate) fn show_filter(&self, event: &Event, out: &mut dyn ByteWrite) -> fmt::Result {
        let filters = self.filters.lock();
        match filters.iter().find(|shown| shown.id == event.id()) {
            Some(shown) => out.write_bytes(&shown.text)?,
            None => out.write_str("none")?,
        }
        out.write_str("\n")
    }

    /// Writes the filters of all events that have one, each with its event.
    pub(crate) fn show_all_filters(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        let filters = self.filters.lock();
        for event in events::all() {
            let Some(shown) = filters.iter().find(|shown| shown.id == event.id()) else {
                continue;
            };
            set_event::write_column(out, event.system(), event.name())?;
            out.write_bytes(&shown.text)?;
            out.write_char('\n')?;
        }
        Ok(())
    }

    /// Sets the filter of `event` to the text written into its `filter` file. `0` removes the
    /// filter.
    ///
    /// # Errors
    ///
    /// That of the refused text, which the file shows from then on. `ENOMEM`: nothing has changed.
    pub(crate) fn set_filter(&self, event: &'static Event, command: &[u8]) -> Result {
        let text = word::strip_end(command);
        let mut change = KVec::with_capacity(1, GFP_KERNEL)?;
        if word::strip(text) == b"0" {
            change.push((event, None), GFP_KERNEL)?;
            return self.replace_filters(change);
        }
        let (shown, wrong) = ShownFilter::new(event, text, false)?;
        change.push((event, Some(shown)), GFP_KERNEL)?;
        self.replace_filters(change)?;
        match wrong {
            None => Ok(()),
            Some(wrong) => {
                self.log_refusal(&wrong, text);
                Err(errno(&wrong))
            }
        }
    }

    /// Sets the filters of the `wanted` events to the text written into the `filter` file of their
    /// system. The files of events that refuse it show the error.
    ///
    /// # Errors
    ///
    /// `ENODEV` if there are no `wanted` events, `ENOMEM`. Nothing has changed then.
    pub(crate) fn set_filters(
        &self,
        wanted: impl Iterator<Item = &'static Event>,
        command: &[u8],
    ) -> Result {
        let text = word::strip_end(command);
        let remove = word::strip(text) == b"0";
        let (mut fresh, mut refused) = (KVec::new(), KVec::new());
        for event in wanted {
            if remove {
                fresh.push((event, None), GFP_KERNEL)?;
                continue;
            }
            let (shown, wrong) = ShownFilter::new(event, text, true)?;
            fresh.push((event, Some(shown)), GFP_KERNEL)?;
            if let Some(wrong) = wrong {
                refused.push(wrong, GFP_KERNEL)?;
            }
        }
        if fresh.is_empty() {
            return Err(ENODEV);
        }
        self.replace_filters(fresh)?;
        // Only now: a command that failed for lack of memory is not logged.
        for wrong in &refused {
            self.log_refusal(wrong, text);
        }
        Ok(())
    }

    /// Replaces all these filters or none, and waits until no probe uses the old ones.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    fn replace_filters(&self, changes: KVec<(&'static Event, Option<ShownFilter>)>) -> Result {
        let mut old = KVec::with_capacity(changes.len(), GFP_KERNEL)?;
        let files = self.events.lock();
        let mut filters = self.filters.lock();
        filters.reserve(changes.len(), GFP_KERNEL)?;
        let mut in_use = false;
        // Under the lock: `forget_filter` comes after this, or an event that goes is not offered.
        for (event, shown) in changes.into_iter().filter(|(event, _)| event.is_offered()) {
            let id = event.id();
            if let Some(file) = files.iter().find(|file| file.is_for(event)) {
                give_filter(file, shown.as_ref());
                in_use = true;
            }
            // Both have room for one entry per change.
            if let Some(at) = filters.iter().position(|shown| shown.id == id) {
                let _ = filters
                    .remove(at)
                    .map(|shown| old.push_within_capacity(shown));
            }
            if let Some(shown) = shown {
                let _ = filters.push_within_capacity(shown);
            }
        }
        drop(filters);
        if in_use && old.iter().any(|shown| shown.filter.is_some()) {
            events::synchronize();
        }
        drop(files);
        Ok(())
    }

    /// Gives the filter of the event to `file`, whose probe is not attached yet. The caller holds
    /// `events`.
    pub(super) fn filter_again(&self, file: &EventFile) {
        let filters = self.filters.lock();
        let shown = filters.iter().find(|shown| shown.id == file.event().id());
        give_filter(file, shown);
    }

    /// Returns whether `event` has a filter or a refused text.
    pub(super) fn has_filter(&self, event: &Event) -> bool {
        let filters = self.filters.lock();
        filters.iter().any(|shown| shown.id == event.id())
    }

    /// Drops the filter of `event`, which is disabled and whose module is being unloaded.
    pub(super) fn forget_filter(&self, event: &Event) {
        self.filters.lock().retain(|shown| shown.id != event.id());
    }

    /// Logs that `command` was refused as a filter.
    pub(super) fn log_refusal(&self, wrong: &Wrong, command: &[u8]) {
        let refused = CommandRefusal {
            author: Filter::AUTHOR,
            error: wrong.kind.text(),
            at: wrong.at,
        };
        self.errors.add(refused, command);
    }
}
