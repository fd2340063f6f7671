// SPDX-License-Identifier: GPL-2.0

//! `trace_marker` and `trace_marker_raw`: what a program writes into them becomes an event.
//!
//! A write is one event. A text is cut after 4096 bytes; bytes, which begin with a number of 32
//! bits, are recorded as a whole or not at all. What is recorded is copied from the program before
//! the ring is touched, so that a page fault happens where it is allowed.

use super::file::{
    FileIdentity,
    TraceFile, //
};
use crate::{
    instance::for_each_copy,
    kapi::{
        compat,
        symbol, //
    },
    text::options::Opt, //
};
use kernel::{
    prelude::*,
    uaccess::UserSliceReader, //
};

/// The most of a write that is recorded.
const LONGEST: usize = 4096;
/// The number that a binary marker begins with.
const SHORTEST_RAW: usize = 4;

/// The file.
pub(crate) struct Marker;

impl Marker {
    /// Opens it.
    pub(crate) fn open(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        Ok(KBox::new(Self, GFP_KERNEL)?)
    }
}

impl TraceFile for Marker {
    fn write(
        &mut self,
        at: &FileIdentity<'_>,
        input: &mut UserSliceReader,
        _pos: &mut i64,
    ) -> Result<usize> {
        if !at.inst.options().has(Opt::Markers) {
            return Err(EINVAL);
        }
        let mut bytes = compat::zeroed_bytes(input.len().min(LONGEST))?;
        input.read_slice(&mut bytes)?;
        let ip = symbol::marker_address();
        for_each_copy(at.inst, |inst| inst.marker_of_user(&bytes, ip))
    }
}

/// The file for bytes.
pub(crate) struct RawMarker;

impl RawMarker {
    /// Opens it.
    pub(crate) fn open(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        Ok(KBox::new(Self, GFP_KERNEL)?)
    }
}

impl TraceFile for RawMarker {
    fn write(
        &mut self,
        at: &FileIdentity<'_>,
        input: &mut UserSliceReader,
        _pos: &mut i64,
    ) -> Result<usize> {
        if !at.inst.options().has(Opt::Markers) {
            return Err(EINVAL);
        }
        if !(SHORTEST_RAW..=LONGEST).contains(&input.len()) {
            return Err(EINVAL);
        }
        let mut bytes = compat::zeroed_bytes(input.len())?;
        input.read_slice(&mut bytes)?;
        for_each_copy(at.inst, |inst| inst.raw_marker(&bytes))
    }
}
