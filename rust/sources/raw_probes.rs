// SPDX-License-Identifier: GPL-2.0

//! The probes of raw events, and of events that users define on tracepoints.
//!
//! A tracepoint calls its probes with a cookie and its arguments. Each argument of a raw event
//! takes one register or one place on the stack (`event::btf::functions`), so a function of as many
//! 64-bit numbers is called as the real prototype would be. The bytes above an argument's own are
//! garbage and are not recorded. A kernel that compares prototypes at such calls (CONFIG_CFI)
//! offers no raw events.
//!
//! Called by tracepoints, in any context, NMI included.

use super::{
    probe::{
        self,
        RecordBytes, //
    },
    raw_desc::RawDesc,
    tprobe::{
        self,
        Tprobe, //
    }, //
};
use crate::{
    kapi::c::rt_raw_arg,
    probes::EventFile, //
};
use kernel::prelude::*;

/// Records one event, which is a raw one.
#[inline(always)]
fn record(file: &EventFile, values: &[u64]) {
    // SAFETY: What the file of a raw event got from its source is the descriptor, which lives as
    // long as the event.
    let desc = unsafe { &*file.probe_data().cast::<RawDesc>() };
    let (args, size) = (desc.args(), desc.record_size());
    let fill = |record: &mut [u8]| {
        for (arg, value) in args.iter().zip(values) {
            put(record, arg, *value);
        }
    };
    probe::record(file, &RecordBytes::new(size), fill);
}

/// Puts the low bytes of `value` into the place of `arg`.
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

/// Writes `bytes` to the beginning of `place`, if there is room.
#[inline(always)]
fn put_bytes<const N: usize>(place: &mut [u8], bytes: [u8; N]) {
    if let Some(place) = place.first_chunk_mut::<N>() {
        *place = bytes;
    }
}

/// Makes the probes for each list of arguments, and the tables of them.
macro_rules! probes {
    ($($name:ident $defined:ident($($arg:ident)*);)*) => {
        $(
            /// Records a raw event of that many arguments.
            ///
            /// # Safety
            ///
            /// Called by a tracepoint that it was attached to with this file as a cookie, or was until
            /// `events::synchronize` has returned.
            unsafe extern "C" fn $name(file: &EventFile $(, $arg: u64)*) {
                record(file, &[$($arg),*])
            }

            /// Records an event that a user has defined on a tracepoint with that many arguments.
            ///
            /// # Safety
            ///
            /// Called by a tracepoint that it was attached to with this probe, which goes after that.
            unsafe extern "C" fn $defined(probe: &Tprobe $(, $arg: u64)*) {
                tprobe::record(probe, &[$($arg),*])
            }
        )*

        /// Returns the probe of a tracepoint with that many arguments.
        pub(super) fn of_arity(args: usize) -> Option<*mut c_void> {
            const PROBES: [*mut c_void; crate::event::raw::MOST_ARGS + 1] =
                [$($name as *mut c_void),*];

            PROBES.get(args).copied()
        }

        /// Returns the probe of an event that a user has defined on such a tracepoint; none in a kernel that compares
        /// prototypes at calls.
        pub(super) fn defined_of_arity(args: usize) -> Option<*mut c_void> {
            const PROBES: [*mut c_void; crate::event::raw::MOST_ARGS + 1] =
                [$($defined as *mut c_void),*];

            PROBES.get(args).copied().filter(|_| !cfg!(CONFIG_CFI))
        }
    };
}

probes! {
    raw_0 defined_0();
    raw_1 defined_1(a);
    raw_2 defined_2(a b);
    raw_3 defined_3(a b c);
    raw_4 defined_4(a b c d);
    raw_5 defined_5(a b c d e);
    raw_6 defined_6(a b c d e f);
    raw_7 defined_7(a b c d e f g);
    raw_8 defined_8(a b c d e f g h);
    raw_9 defined_9(a b c d e f g h i);
    raw_10 defined_10(a b c d e f g h i j);
    raw_11 defined_11(a b c d e f g h i j k);
    raw_12 defined_12(a b c d e f g h i j k l);
}
