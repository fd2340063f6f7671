// SPDX-License-Identifier: GPL-2.0

//! What a printer of records is asked for, and what it gets.

use crate::{
    events::Manner,
    text::{
        clock::ClockId,
        form::Form,
        options::OptionSet, //
    }, //
};

/// How lines look at the moment.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// What they show.
    pub(crate) options: OptionSet,
    /// In which form that is.
    pub(super) form: Form,
    /// How the texts of events are printed.
    pub(super) manner: Manner,
    /// What made their stamps.
    pub(super) clock: ClockId,
    /// When the buffers were emptied.
    pub(super) begin: u64,
}

impl Style {
    /// Returns that of an instance with these options and clock, whose buffers were emptied at `begin`.
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

/// An event with its place and time.
pub(crate) struct Seen<'a> {
    /// The CPU that recorded it.
    pub(crate) cpu: u32,
    /// When.
    pub(crate) stamp: u64,
    /// Its bytes.
    pub(crate) record: &'a [u8],
    /// For lines of `latency-format`.
    pub(crate) delay: Option<Delay>,
}

/// Where an event stands among others.
#[derive(Clone, Copy)]
pub(crate) struct Delay {
    /// Which of this reader's events it is.
    pub(crate) number: u64,
    /// When the one behind it happened.
    pub(crate) next: u64,
}
