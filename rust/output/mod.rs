// SPDX-License-Identifier: GPL-2.0

//! How records are printed.
//!
//! - `lines`, `json`: the printers; `maker` is one of them.
//! - `kinds`: records that no tracepoint makes.
//! - `style`: what a printer is asked for; `text`: what it writes into.
//! - `symbols`: names of addresses.
//!
//! Called by the files that show events, with copies of records and no lock held. Contexts: process
//! context; may sleep.

mod json;
mod kinds;
mod lines;
mod maker;
mod style;
mod symbols;
mod text;

pub(crate) use self::{
    lines::Lines,
    maker::Maker,
    style::{
        Delay,
        Seen,
        Style, //
    },
    text::Text, //
};

use self::symbols::Symbols;
