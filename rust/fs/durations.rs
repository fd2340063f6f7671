// SPDX-License-Identifier: GPL-2.0

//! `trace_durations`: the calls in the buffer, by their function and by how long they took. Nothing is consumed.

use super::{
    file::FileIdentity,
    folded, //
};
use crate::output::{
    CallSpread,
    Text, //
};
use kernel::prelude::*;

/// `trace_durations`, as [`folded::show`].
pub(super) fn show(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let mut calls = CallSpread::new();
    folded::for_each_record(at, &mut |_, record| calls.add(record))?;
    calls.write(text)
}
