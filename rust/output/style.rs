// SPDX-License-Identifier: GPL-2.0

//! What a printer of records gets: an event, and how to print it.

use crate::{
    events::Manner,
    text::{
        clock::ClockId,
        form::Form,
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
    pub(super) manner: Manner,
    /// The clock that the stamps are of.
    pub(super) clock: ClockId,
    /// Time at which the buffers were last emptied.
    pub(super) begin: u64,
}

impl Style {
    /// Returns the style of an instance with these options and clock, whose buffers were emptied at
    /// `begin`.
    pub(crate) fn new(options: OptionSet, clock: ClockId, begin: u64) -> Self {
        Self {
            options,
            form: Form::of(options),
            manner: Manner::of(options),
            clock,
            begin,
        }
    }
}

/// An event, with its CPU and time.
pub(crate) struct Seen<'a> {
    /// The CPU that recorded it.
    pub(crate) cpu: u32,
    /// Its time.
    pub(crate) stamp: u64,
    /// The bytes of its record.
    pub(crate) record: &'a [u8],
    /// Its place among other events; only for lines of `latency-format`.
    pub(crate) delay: Option<Delay>,
}

/// Place of an event among those that a reader prints.
#[derive(Clone, Copy)]
pub(crate) struct Delay {
    /// Number of the event, counted by the reader.
    pub(crate) number: u64,
    /// Time of the event after it.
    pub(crate) next: u64,
}
