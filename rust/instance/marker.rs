// SPDX-License-Identifier: GPL-2.0

//! Events that user space and other modules write, instead of a tracepoint.

use super::Instance;
use crate::{
    event::{
        context::Base,
        format::{
            self,
            PRINT_HEAD, //
        }, //
    },
    events,
    kapi::percpu::CpuPin,
    probes,
    ring::writer::ReserveError,
    text::options::{
        Opt,
        OptionSet, //
    }, //
};
use kernel::{
    prelude::*,
    sync::atomic::Relaxed, //
};

/// Bytes added to the text: a newline if it has none, and the terminating zero.
const TAIL: usize = 2;
/// What ends a text that gets no newline.
const END: &[u8] = b"\0";

impl Instance {
    /// Records `text` as an event, with the address `ip` of the code that wrote it. Cuts a text
    /// that is too long. Returns how many bytes of it were recorded.
    ///
    /// # Errors
    ///
    /// `EBADF` if the event cannot be recorded.
    pub(crate) fn marker(&self, text: &[u8], ip: usize) -> Result<usize> {
        CpuPin::with(|pin| {
            let longest = self.sink.longest(pin).ok_or(ReserveError::Disabled)?;
            let (text, len) = cut(text, longest);
            let base = Base::new(format::PRINT.id, 0);
            let recorded = self.sink.record(pin, base, len, |p| fill(p, text, ip));
            recorded.map(|()| text.len())
        })
        .map_err(|_| EBADF)
    }

    /// As [`Self::marker`], for a text that a program wrote: the triggers of `ftrace/print` follow it. They see
    /// it without the newline that is added. Process context.
    ///
    /// # Errors
    ///
    /// As there; the triggers have not acted then.
    pub(crate) fn marker_of_user(&self, text: &[u8], ip: usize) -> Result<usize> {
        if !self.markers_trigger.load(Relaxed) {
            return self.marker(text, ip);
        }
        // The file stays attached as long as they are locked.
        let files = self.events.lock();
        let event = events::marker();
        let file = event.and_then(|event| files.iter().find(|file| file.is_for(event)));
        let Some(file) = file else {
            drop(files);
            return self.marker(text, ip);
        };
        CpuPin::with(|pin| {
            let longest = self.sink.longest(pin).ok_or(ReserveError::Disabled)?;
            let (text, len) = cut(text, longest);
            let kind = (Base::new(format::PRINT.id, 0), len);
            let bare = |record: &mut [u8]| fill_with(record, (text, &b"\0\0"[..]), ip);
            let recorded = file.record_own(pin, kind, bare, |record| fill(record, text, ip));
            recorded.map(|()| text.len())
        })
        .map_err(|_| EBADF)
    }

    /// Records `text` as it is, as an event with the address `ip` of the code that wrote it. Cuts a text that is too
    /// long. Returns how many bytes of it were recorded; 0 if none were, or if the option `trace_printk` is off. Any
    /// context.
    pub(crate) fn print(&self, pin: &CpuPin, text: &[u8], ip: usize) -> usize {
        let Some(longest) = self.sink.longest(pin) else {
            return 0;
        };
        let (text, len) = cut(text, longest);
        // The caller's preemption is told of, not that which is disabled for the print.
        let base = Base::new(format::PRINT.id, 1);
        // Its end takes one byte: there is no newline but that of the text.
        let len = len.saturating_sub(TAIL - END.len());
        let fill = |record: &mut [u8]| fill_with(record, (text, END), ip);
        match self.sink.record(pin, base, len, fill) {
            Ok(()) => text.len(),
            Err(_) => 0,
        }
    }

    /// Returns whether what other modules print is recorded: the option `trace_printk` is on. Any context.
    pub(crate) fn takes_prints(&self) -> bool {
        OptionSet::from_bits(self.options.load(Relaxed)).has(Opt::TracePrintk)
    }

    /// Records `bytes` as a whole: a number of the user's choice and its data. Returns their count.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there are more than fit into an event, `EBADF` if the event cannot be recorded.
    pub(crate) fn raw_marker(&self, bytes: &[u8]) -> Result<usize> {
        // The length of a record is a multiple of four, and readers see all of it: the padding is
        // filled with zeros.
        let len = bytes.len().saturating_add(3) & !3;
        let len = len.saturating_add(probes::COMMON);
        CpuPin::with(|pin| {
            if len > self.sink.longest(pin).ok_or(EBADF)? {
                return Err(EINVAL);
            }
            let base = Base::new(format::RAW_DATA.id, 0);
            let padded = Iterator::chain(bytes.iter().copied(), core::iter::repeat(0));
            let fill = |record: &mut [u8]| {
                for (to, byte) in record.iter_mut().zip(padded) {
                    *to = byte;
                }
            };
            let recorded = self.sink.record(pin, base, len, fill);
            recorded.map_err(|_| EBADF)
        })?;
        Ok(bytes.len())
    }
}

/// Returns as much of the text as fits in a record of `longest` bytes, and the bytes of its record.
fn cut(text: &[u8], longest: usize) -> (&[u8], usize) {
    let most = longest.saturating_sub(PRINT_HEAD + TAIL);
    let text = text.get(..most).unwrap_or(text);
    (text, text.len().saturating_add(PRINT_HEAD + TAIL))
}

/// Fills a record after its common fields.
fn fill(record: &mut [u8], text: &[u8], ip: usize) {
    let tail = match text.last() {
        Some(b'\n') => b"\0\0",
        _ => b"\n\0",
    };
    fill_with(record, (text, &tail[..]), ip);
}

/// The same, with what follows the text.
fn fill_with(record: &mut [u8], (text, tail): (&[u8], &[u8]), ip: usize) {
    let Some((head, rest)) = record.split_at_mut_checked(PRINT_HEAD - probes::COMMON) else {
        return;
    };
    head.copy_from_slice(&ip.to_ne_bytes());
    for (to, from) in rest.iter_mut().zip([text, tail].into_iter().flatten()) {
        *to = *from;
    }
}
