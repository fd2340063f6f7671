// SPDX-License-Identifier: GPL-2.0

//! In which form the reader of a stream of events gets them: as lines or as JSON.

use super::{
    json::Json,
    lines::Lines,
    Seen,
    Style,
    Text, //
};
use crate::text::{
    json,
    line, //
};
use core::fmt;
use kernel::prelude::*;

/// A form, and what is needed to make it.
pub(crate) enum Maker {
    /// The lines of `trace`.
    Lines(Lines),
    /// One object per line.
    Json(Json),
}

impl Maker {
    /// Lines.
    pub(crate) fn lines() -> Result<Self> {
        Ok(Self::Lines(Lines::new()?))
    }

    /// JSON.
    pub(crate) const fn json() -> Self {
        Self::Json(Json::new())
    }

    /// Writes that the reader did not see `events` events in front of the next one of `cpu`.
    pub(crate) fn write_lost(&self, cpu: u32, events: u64, out: &mut Text) -> fmt::Result {
        match self {
            Maker::Lines(_) => line::write_lost(cpu, events, out),
            Maker::Json(_) => json::write_lost(cpu, events, out),
        }
    }

    /// Writes an event.
    ///
    /// # Safety
    ///
    /// The record is a copy of what a writer of ours committed to a ring, as a whole.
    pub(crate) unsafe fn write_event(
        &mut self,
        style: Style,
        seen: &Seen<'_>,
        out: &mut Text,
    ) -> fmt::Result {
        match self {
            // SAFETY: By the contract.
            Maker::Lines(lines) => unsafe { lines.write_event(style, seen, out) },
            Maker::Json(json) => json.write_event(style, seen, out),
        }
    }
}
