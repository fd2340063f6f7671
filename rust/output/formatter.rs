// SPDX-License-Identifier: GPL-2.0

//! The form in which a reader gets a stream of events: lines or JSON.

use super::{
    json::Json,
    lines::LinePrinter,
    SeenEvent,
    Style,
    Text, //
};
use crate::text::{
    graph::CpuState,
    json,
    line, //
};
use core::fmt;
use kernel::prelude::*;

/// A form, with its printer.
pub(crate) enum EventFormatter {
    /// The lines of `trace`.
    Lines(LinePrinter),
    /// One object per line.
    Json(Json),
}

impl EventFormatter {
    /// Returns the printer of lines.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn lines() -> Result<Self> {
        Ok(Self::Lines(LinePrinter::new()?))
    }

    /// Returns the printer of JSON.
    pub(crate) fn json() -> Self {
        Self::Json(Json::new())
    }

    /// Writes that the reader missed `events` events of `cpu` before the next one.
    pub(crate) fn write_lost(&self, cpu: u32, events: u64, out: &mut Text) -> fmt::Result {
        match self {
            EventFormatter::Lines(_) => line::write_lost(cpu, events, out),
            EventFormatter::Json(_) => json::write_lost(cpu, events, out),
        }
    }

    /// Returns whether the line of `record` depends on the next record of the same CPU.
    pub(crate) fn waits_for_next(&self, style: Style, record: &[u8]) -> bool {
        matches!(self, EventFormatter::Lines(_)) && style.waits_for_next(record)
    }

    /// Returns what the reader has seen of the calls of `cpu`.
    pub(crate) fn seen(&self, cpu: u32) -> CpuState {
        match self {
            EventFormatter::Lines(lines) => lines.graph.seen(cpu),
            EventFormatter::Json(_) => CpuState::NEW,
        }
    }

    /// Forgets what the reader has seen of `cpu` since that was `before`: it does not get that text.
    pub(crate) fn go_back(&mut self, cpu: u32, before: CpuState) {
        if let EventFormatter::Lines(lines) = self {
            lines.graph.go_back(cpu, before);
        }
    }

    /// Writes an event.
    pub(crate) fn write_event(
        &mut self,
        style: Style,
        seen: &SeenEvent<'_>,
        out: &mut Text,
    ) -> fmt::Result {
        match self {
            EventFormatter::Lines(lines) => lines.write_event(style, seen, out),
            EventFormatter::Json(json) => json.write_event(style, seen, out),
        }
    }
}
