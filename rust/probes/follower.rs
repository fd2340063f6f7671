// SPDX-License-Identifier: GPL-2.0

//! Files that follow an event without recording it.
//!
//! Such a file is no instance's: it has one trigger, which looks at each record of the event and records
//! something else. It does so whether the event is enabled anywhere or not.

use super::{
    trigger::{
        Effect,
        Trigger,
        TriggerList, //
    },
    EventFile,
    Filter, //
};
use crate::{
    events::{
        Attachment,
        Event,
        Recipient, //
    },
    kapi::scratch,
    text::trigger::UNLIMITED, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A file that follows an event.
pub(crate) struct EventFollower {
    file: EventFile,
    triggers: TriggerList,
}

impl EventFollower {
    /// Returns one of `event` that has `effect` look at the records that `filter` lets through. Recording is on
    /// where it is in the instance of `of`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// # Safety
    ///
    /// The result is detached before the file `of` is, and goes when after that
    /// [`crate::events::synchronize`] has returned.
    pub(crate) unsafe fn new(
        event: &'static Event,
        of: &EventFile,
        effect: KBox<dyn Effect>,
        filter: Option<KBox<Filter>>,
    ) -> Result<KBox<Self>> {
        scratch::prepare_all_levels()?;
        let mut triggers = KVec::new();
        let trigger = Trigger::new(effect, UNLIMITED, filter, false);
        triggers.push(Arc::new(trigger, GFP_KERNEL)?, GFP_KERNEL)?;
        // SAFETY: No probe uses the sink after this was detached, before which that file is there and so is its sink;
        // the box stays until it goes.
        let file = unsafe { EventFile::new(event, of.sink()) };
        let triggers = TriggerList::new(triggers, true);
        let this = KBox::new(Self { file, triggers }, GFP_KERNEL)?;
        this.file.set_off(true);
        // SAFETY: The list is in the same box, and goes after the probes, as the caller promises.
        unsafe { this.file.set_triggers(Some(&this.triggers)) };
        Ok(this)
    }

    /// Returns what the source of the event is told; `user_bytes` as in [`EventFile::attachment`].
    pub(crate) fn attachment(&self, user_bytes: u64) -> Attachment {
        self.file.attachment_of(self.recipient(), user_bytes)
    }

    /// Returns the name by which the source knows it: it is apart from all instances.
    pub(crate) fn recipient(&self) -> Recipient {
        Recipient::at(self)
    }

    /// Returns the event.
    pub(crate) fn event(&self) -> &'static Event {
        self.file.event()
    }

    /// Returns whether it follows the event for the instance that sources know as `recipient`.
    pub(crate) fn is_for(&self, event: &Event, recipient: Recipient) -> bool {
        self.file.is_for(event) && Recipient::at(self.file.sink()) == recipient
    }
}
