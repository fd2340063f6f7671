// SPDX-License-Identifier: GPL-2.0

//! The probes of raw events.
//!
//! A tracepoint calls its probes with a cookie and its arguments. Each argument of a raw event takes
//! one register or one place on the stack (`event::btf::functions`), so a function of as many 64-bit
//! numbers is called as the real prototype would be. What is above an argument's own bytes is garbage
//! and is not recorded. A kernel that compares prototypes at such calls (CONFIG_CFI) offers no raw
//! events.
//!
//! Like the other probes: any context, NMI included; preemption is off from the reservation to the
//! commit, and `rtrace_reserve` and `rtrace_commit` do the rest.

use super::raw_desc::RawDesc;
use crate::{
    kapi::{
        c::rt_raw_arg,
        percpu, //
    },
    probes::{
        parts,
        rtrace_commit,
        rtrace_reserve,
        EventFile, //
    },
    ring::packed::PackedSize, //
};
use core::slice;
use kernel::prelude::*;

/// Records one event.
///
/// # Safety
///
/// `cookie` is that of an attached probe of a raw event.
#[inline(always)]
unsafe fn record(cookie: *mut c_void, values: &[u64]) {
    // SAFETY: The cookie of a probe is an event's file, and `Instance::disable` waits for probes before the
    // file goes.
    let file = unsafe { &*cookie.cast::<EventFile>() };
    // SAFETY: What the file of a raw event got from its source is the descriptor, which lives as long as
    // the event.
    let desc = unsafe { &*file.probe_data().cast::<RawDesc>() };
    let (args, size) = (desc.args(), desc.record_size());
    // SAFETY: Undone below, or by the commit.
    unsafe { percpu::disable_preemption() };
    // SAFETY: The caller's cookie, preemption is off.
    let reserved = unsafe { rtrace_reserve(cookie, PackedSize::new(size).word()) };
    let Some((entry, token)) = parts(reserved) else {
        // SAFETY: Disabled above.
        return unsafe { percpu::enable_preemption() };
    };
    // SAFETY: The record is that long, and ours until the commit.
    let record = unsafe { slice::from_raw_parts_mut(entry.cast::<u8>().as_ptr(), size) };
    for (arg, value) in args.iter().zip(values) {
        put(record, arg, *value);
    }
    // SAFETY: As returned by the reservation; preemption was disabled above.
    unsafe { rtrace_commit(cookie, entry.as_ptr(), token) };
}

/// Puts the low bytes of `value` into their place.
#[inline(always)]
fn put(record: &mut [u8], arg: &rt_raw_arg, value: u64) {
    let Some(place) = record.get_mut(usize::from(arg.offset)..) else {
        return;
    };
    match arg.size {
        8 => put_bytes(place, value.to_le_bytes()),
        4 => put_bytes(place, (value as u32).to_le_bytes()),
        2 => put_bytes(place, (value as u16).to_le_bytes()),
        _ => put_bytes(place, (value as u8).to_le_bytes()),
    }
}

#[inline(always)]
fn put_bytes<const N: usize>(place: &mut [u8], bytes: [u8; N]) {
    if let Some(place) = place.first_chunk_mut::<N>() {
        *place = bytes;
    }
}

/// Makes a probe for each list of arguments, and the table of them.
macro_rules! probes {
    ($($name:ident($($arg:ident)*);)*) => {
        $(
            /// # Safety
            ///
            /// Called by a tracepoint that it is attached to with a cookie.
            unsafe extern "C" fn $name(cookie: *mut c_void $(, $arg: u64)*) {
                // SAFETY: By the contract.
                unsafe { record(cookie, &[$($arg),*]) }
            }
        )*

        /// Returns the probe of a tracepoint with that many arguments.
        pub(super) fn of_arity(args: usize) -> Option<*mut c_void> {
            const PROBES: [*mut c_void; crate::event::raw::MOST_ARGS + 1] =
                [$($name as *mut c_void),*];

            PROBES.get(args).copied()
        }
    };
}

probes! {
    raw_0();
    raw_1(a);
    raw_2(a b);
    raw_3(a b c);
    raw_4(a b c d);
    raw_5(a b c d e);
    raw_6(a b c d e f);
    raw_7(a b c d e f g);
    raw_8(a b c d e f g h);
    raw_9(a b c d e f g h i);
    raw_10(a b c d e f g h i j);
    raw_11(a b c d e f g h i j k);
    raw_12(a b c d e f g h i j k l);
}
