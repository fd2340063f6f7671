// SPDX-License-Identifier: GPL-2.0

//! Which events users and other modules mean when they name some: one, those of a system, or all.

use super::{
    waiting::ARRIVALS,
    Instance, //
};
use crate::{
    events::{
        self,
        Event, //
    },
    kapi::symbol,
    text::set_event::EventSelection, //
};
use kernel::prelude::*;

impl Instance {
    /// Returns whether `event` is one of "all events": a raw one only when it is recorded already. ftrace does not have
    /// them, and a tool that wants all events of ftrace gets these.
    pub(crate) fn means(&self, event: &Event) -> bool {
        event.is_usual() || self.event_enabled(event)
    }

    /// Switches all of `wanted`, tries each of them, and returns the first error.
    ///
    /// # Errors
    ///
    /// Those of [`Self::enable_event`] and [`Self::disable_events`].
    pub(crate) fn switch_events(
        &self,
        wanted: impl Iterator<Item = &'static Event>,
        on: bool,
    ) -> Result {
        if !on {
            return self.disable_events(wanted);
        }
        let mut result = Ok(());
        for event in wanted {
            result = result.and(self.enable_event(event));
        }
        result
    }

    /// Switches the events of `system` that are called `event`; `None` stands for each name.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no such event, and those of [`Self::switch_events`].
    pub(crate) fn switch_named(
        &self,
        system: Option<&[u8]>,
        event: Option<&[u8]>,
        on: bool,
    ) -> Result {
        let fits = |wanted: Option<&[u8]>, name: &str| {
            wanted.is_none_or(|wanted| wanted == name.as_bytes())
        };
        let is_one = |found: &Event| fits(system, found.system()) && fits(event, found.name());
        match self.switch_selected(is_one, system.is_none() && event.is_none(), on)? {
            true => Ok(()),
            false => Err(EINVAL),
        }
    }

    /// Switches the events that `is_one` selects; when it `means_all`, only those that are [meant](Self::means). Returns
    /// whether there was any.
    ///
    /// # Errors
    ///
    /// Those of [`Self::switch_events`].
    fn switch_selected(
        &self,
        is_one: impl Fn(&Event) -> bool,
        means_all: bool,
        on: bool,
    ) -> Result<bool> {
        let mut any = false;
        let wanted = events::all()
            .filter(|event| is_one(event) && (!means_all || self.means(event)))
            .inspect(|_| any = true);
        self.switch_events(wanted, on)?;
        Ok(any)
    }

    /// Obeys a word of `set_event`.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no such event, unless it names a module that may come; those of [`Self::switch_events`] and
    /// [`Self::await_module`].
    pub(crate) fn obey_selection(&self, word: &[u8]) -> Result {
        let wish = EventSelection::parse(word);
        let is_one = |event: &Event| wish.matches(event.system(), event.name(), event.module());
        ARRIVALS.obey_or_wait(
            || self.switch_selected(is_one, wish.means_all(), wish.enable),
            || match wish.module() {
                Some(module) if !symbol::is_module(module)? => self.await_module(word),
                _ => Err(EINVAL),
            },
            // One that switches off does not wait.
            || wish.enable && self.stop_awaiting(word),
        )
    }
}
