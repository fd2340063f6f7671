// SPDX-License-Identifier: GPL-2.0

//! What a printer of records gets: an event, and how to print it.

use crate::{
    events::PrintManner,
    kapi::whole_record::WholeRecord,
    text::{
        clock::ClockId,
        form::Form,
        graph::{
            self,
            CallLines, //
        },
        options::OptionSet, //
    }, //
};

/// How events are printed, by the options of the instance at that time.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// All options.
    pub(crate) options: OptionSet,
    /// The form of the lines.
    pub(super) form: Form,
    /// How the texts of events are printed.
    pub(super) manner: PrintManner,
    /// The clock that the stamps are of.
    pub(super) clock: ClockId,
    /// Time at which the buffers were last emptied.
    pub(super) begin: u64,
    /// Whose calls the lines are, if they are calls.
    pub(super) calls: Option<CallLines>,
}

impl Style {
    /// Returns the style of an instance with these options and clock, whose buffers were emptied at
    /// `begin`.
    pub(crate) fn new(options: OptionSet, clock: ClockId, begin: u64) -> Self {
        Self {
            options,
            form: Form::of(options),
            manner: PrintManner::of(options),
            clock,
            begin,
            calls: None,
        }
    }

    /// Returns whether the line of `record` depends on the next record of the same CPU: whether both may be
    /// one line, the entry and the exit of a function.
    pub(crate) fn waits_for_next(&self, record: &[u8]) -> bool {
        self.is_graph() && graph::is_entry(record)
    }

    /// Returns whether lines are calls.
    #[inline(always)]
    pub(crate) fn is_graph(&self) -> bool {
        self.calls.is_some()
    }

    /// Returns whose calls the lines are, if they are calls.
    pub(crate) fn calls(&self) -> Option<CallLines> {
        self.calls
    }

    /// Returns it for records whose times are shown since `begin`.
    pub(crate) fn with_begin(self, begin: u64) -> Self {
        Self { begin, ..self }
    }

    /// Returns it for lines that are these calls, or none.
    pub(crate) fn with_calls(self, calls: Option<CallLines>) -> Self {
        Self { calls, ..self }
    }
}

/// An event, with its CPU and time.
pub(crate) struct SeenEvent<'a> {
    /// The CPU that recorded it.
    pub(crate) cpu: u32,
    /// Its time.
    pub(crate) stamp: u64,
    /// Its record.
    pub(crate) record: WholeRecord<'a>,
    /// Its place among other events; only for lines of `latency-format`.
    pub(crate) delay: Option<Delay>,
    /// The record after it on the same CPU, if both are one line.
    pub(crate) exit: Option<&'a [u8]>,
}

/// Place of an event among those that a reader prints.
#[derive(Clone, Copy)]
pub(crate) struct Delay {
    /// Number of the event, counted by the reader.
    pub(crate) number: u64,
    /// Time of the event after it.
    pub(crate) next: u64,
}
