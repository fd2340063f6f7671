// SPDX-License-Identifier: GPL-2.0

//! The three functions that the probes in C call. See shim/events.h.

use super::{
    fill_common,
    for_c,
    give_up,
    leave,
    refused,
    stack::{
        self,
        Stacks, //
    },
    tell,
    EventFile,
    Recorder,
    COMMON, //
};
use crate::{
    instance::Bank,
    kapi::{
        c::rt_reserved,
        clock,
        context,
        percpu::CpuPin,
        port::{
            Kernel,
            Ring, //
        },
        scratch, //
    },
    ring::{
        reserved::Reserved,
        writer::{
            Declined,
            Left,
            Refused, //
        }, //
    }, //
};
use core::{
    mem::size_of,
    ptr::{
        null_mut,
        NonNull, //
    }, //
};
use kernel::prelude::*;

/// How often the probe of a tracepoint has disabled preemption when it records.
pub(super) const OWN: u64 = 1;

/// The token of a record that is filled beside the ring; no token of a ring has the bit.
const TOKEN_SCRATCH: u64 = 1 << 30;
/// The token of a record in the ring that the filter is to be asked about, has this bit besides.
const TOKEN_ASK: u64 = 1 << 29;

/// Nothing is to be recorded.
const NOTHING: rt_reserved = rt_reserved {
    entry: null_mut(),
    token: 0,
};

/// Reserves a record of `size` bytes; its common fields are filled.
///
/// This is the way of most events. What is rare goes on in another function, at the end of this one,
/// so that nothing has to be kept for it.
///
/// # Safety
///
/// `cookie` is that of an attached probe, preemption is disabled until [`rtrace_commit`] or
/// [`rtrace_discard`], one of which follows unless the entry is null.
#[no_mangle]
pub(super) unsafe extern "C" fn rtrace_reserve(cookie: *mut c_void, size: usize) -> rt_reserved {
    // SAFETY: By the contract; `disable` waits for probes before the file goes.
    let file = unsafe { &*cookie.cast::<EventFile>() };
    if !file.takes_all() {
        return reserve_chosen(file, size);
    }
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let buffers = unsafe { file.buffers.as_ref() };
    let (bank, ring) = buffers.rings().this(&pin);
    if ring.is_disabled() {
        return reserve_off(file, ring);
    }
    // SAFETY: By the invariant of `EventFile`.
    let recorder = unsafe { file.recorder.as_ref() };
    let Some(clock) = recorder.clock_here() else {
        return reserve_by_call(file, size, ring, bank);
    };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    match writer.reserve_on(size, || clock.now()) {
        Ok(reserved) => given(file, bank, reserved, 0),
        Err(declined) => reserve_long(file, size, bank, declined),
    }
}

/// As [`rtrace_reserve`], in a ring that records, with a clock that is a function.
#[inline(never)]
extern "C" fn reserve_by_call(
    file: &EventFile,
    size: usize,
    ring: &Ring,
    bank: Bank,
) -> rt_reserved {
    // SAFETY: By the invariant of `EventFile`.
    let recorder = unsafe { file.recorder.as_ref() };
    // SAFETY: Only `rtrace_reserve` calls this: the ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    match writer.reserve_on(size, || Some(clock::read(recorder.clock()))) {
        Ok(reserved) => given(file, bank, reserved, 0),
        Err(declined) => reserve_long(file, size, bank, declined),
    }
}

/// What C gets of a reservation.
#[inline(always)]
fn given(
    file: &EventFile,
    bank: Bank,
    mut reserved: Reserved<'_, Kernel>,
    bits: u64,
) -> rt_reserved {
    let here = context::raw();
    let mut filled = true;
    if let Some(common) = reserved.payload().first_chunk_mut::<COMMON>() {
        match here.task_word(file.id, OWN) {
            Some(word) => *common = word.to_le_bytes(),
            None => filled = false,
        }
    }
    let (entry, token) = reserved.into_raw();
    let reserved = for_c(entry, bank, token | bits);
    if !filled {
        // SAFETY: Reserved just now, and long enough.
        return unsafe { given_elsewhere(reserved.entry, reserved.token, file.id) };
    }
    reserved
}

/// As [`given`], in other contexts than that of most tasks.
///
/// # Safety
///
/// `entry` is a reservation of [`COMMON`] bytes at least.
#[inline(never)]
unsafe extern "C" fn given_elsewhere(entry: *mut c_void, token: u64, id: u16) -> rt_reserved {
    let common = context::raw().any_word(id, OWN).to_le_bytes();
    // SAFETY: By the contract.
    unsafe { entry.cast::<[u8; COMMON]>().write(common) };
    rt_reserved { entry, token }
}

/// What C gets of an attempt to reserve.
#[inline(always)]
fn answer(
    pin: &CpuPin,
    file: &EventFile,
    (bank, ring): (Bank, &Ring),
    attempt: Result<Reserved<'_, Kernel>, Refused>,
    bits: u64,
) -> rt_reserved {
    match attempt {
        Ok(reserved) => given(file, bank, reserved, bits),
        Err(why) => {
            lost(pin, file, ring, why);
            NOTHING
        }
    }
}

/// What C gets when recording is off.
#[inline(never)]
extern "C" fn reserve_off(file: &EventFile, ring: &Ring) -> rt_reserved {
    if ring.is_broken() {
        // SAFETY: Only `rtrace_reserve` calls this.
        let pin = unsafe { CpuPin::assume() };
        lost(&pin, file, ring, ring.refusal());
    }
    NOTHING
}

/// Reserves in `bank` what the short way declined.
#[cold]
#[inline(never)]
extern "C" fn reserve_long(
    file: &EventFile,
    size: usize,
    bank: Bank,
    declined: Declined,
) -> rt_reserved {
    // SAFETY: Only `rtrace_reserve` and `reserve_by_call` call this.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, recorder) = unsafe { (file.buffers.as_ref(), file.recorder.as_ref()) };
    let ring = buffers.rings().here(&pin, bank);
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    let attempt = writer.reserve_long(size, declined, || clock::read(recorder.clock()));
    answer(&pin, file, (bank, ring), attempt, 0)
}

/// As [`rtrace_reserve`], for a file that does not take all events.
#[inline(never)]
extern "C" fn reserve_chosen(file: &EventFile, size: usize) -> rt_reserved {
    // SAFETY: Only `rtrace_reserve` calls this.
    let pin = unsafe { CpuPin::assume() };
    if file.ignores(&pin) {
        return NOTHING;
    }
    let mut bits = 0;
    if file.has_filter() {
        if let Some(record) = scratch::begin(&pin, size) {
            fill_common(record, file.id, OWN);
            return rt_reserved {
                entry: record.as_mut_ptr().cast(),
                token: TOKEN_SCRATCH,
            };
        }
        bits = TOKEN_ASK;
    }
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, recorder) = unsafe { (file.buffers.as_ref(), file.recorder.as_ref()) };
    let (bank, ring) = buffers.rings().this(&pin);
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    let attempt = writer.reserve(size, || clock::read(recorder.clock()));
    answer(&pin, file, (bank, ring), attempt, bits)
}

/// The event of `file` was refused by `ring`.
#[cold]
fn lost(pin: &CpuPin, file: &EventFile, ring: &Ring, why: Refused) {
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, recorder) = unsafe { (file.buffers.as_ref(), file.recorder.as_ref()) };
    refused(ring, buffers, why);
    if let (true, Some(counts)) = (why != Refused::Disabled, recorder.counts()) {
        counts.lost(pin, file.id);
    }
}

/// The event of `file` was recorded.
#[inline(always)]
fn recorded(pin: &CpuPin, file: &EventFile, recorder: &Recorder) {
    if let Some(counts) = recorder.counts() {
        counts.hit(pin, file.id);
    }
    let stacks = recorder.stacks();
    if stacks != Stacks::NONE {
        stack::follow(pin, file, stacks);
    }
}

/// Copies a record to where there is room for it, by words.
#[inline(always)]
fn copy_record(to: &mut [u8], from: &[u8]) {
    const WORD: usize = size_of::<u64>();
    // There may be more room than was asked for.
    let Some(to) = to.get_mut(..from.len()) else {
        return;
    };
    let (mut to, mut from) = (to.chunks_exact_mut(WORD), from.chunks_exact(WORD));
    for (to, from) in to.by_ref().zip(from.by_ref()) {
        if let (Some(to), Some(from)) = (to.first_chunk_mut::<WORD>(), from.first_chunk::<WORD>()) {
            *to = *from;
        }
    }
    for (to, from) in to.into_remainder().iter_mut().zip(from.remainder()) {
        *to = *from;
    }
}

/// Records what was filled beside the ring, if the filter lets it through.
///
/// # Safety
///
/// The place was given to the probe of `file`, which has filled it.
#[inline(never)]
unsafe fn commit_scratch(pin: &CpuPin, file: &EventFile) {
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, recorder, waker) = unsafe {
        (
            file.buffers.as_ref(),
            file.recorder.as_ref(),
            file.waker.as_ref(),
        )
    };
    let copy = |record: &[u8]| {
        // Without a filter it was taken away a moment ago: everything is wanted.
        if file
            .filter()
            .is_some_and(|filter| !filter.matches(pin, record))
        {
            return false;
        }
        let (_, ring) = buffers.rings().this(pin);
        // SAFETY: The ring of the CPU that we are pinned to.
        let writer = unsafe { ring.writer() };
        match writer.reserve(record.len(), || clock::read(recorder.clock())) {
            Ok(mut reserved) => {
                copy_record(reserved.payload(), record);
                tell(ring, buffers, waker, reserved.commit());
                true
            }
            Err(why) => {
                lost(pin, file, ring, why);
                false
            }
        }
    };
    // SAFETY: By the contract.
    if unsafe { scratch::end(pin, copy) } == Some(true) {
        recorded(pin, file, recorder);
    }
}

/// Makes a record final, or gives it up when the filter does not let it through.
///
/// This is the way of most events, as in [`rtrace_reserve`].
///
/// # Safety
///
/// `cookie` as it was given to [`rtrace_reserve`], `entry` and `token` as that returned them, and
/// `entry` is not null; preemption is still disabled.
#[no_mangle]
pub(super) unsafe extern "C" fn rtrace_commit(cookie: *mut c_void, entry: *mut c_void, token: u64) {
    // SAFETY: As in `rtrace_reserve`.
    let file = unsafe { &*cookie.cast::<EventFile>() };
    if token & (TOKEN_SCRATCH | TOKEN_ASK) != 0 {
        // SAFETY: By the contract.
        return unsafe { commit_chosen(file, entry, token) };
    }
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let buffers = unsafe { file.buffers.as_ref() };
    let (bank, _) = Bank::marked(token);
    let ring = buffers.rings().here(&pin, bank);
    // SAFETY: The ring of the CPU that we are pinned to, in the bank of the reservation.
    let writer = unsafe { ring.writer() };
    // SAFETY: The last reservation in this ring that is not over is the one of this probe.
    if let Err(left) = unsafe { writer.commit_short() } {
        return commit_long(file, bank, left);
    }
    // SAFETY: By the invariant of `EventFile`.
    let (recorder, waker) = unsafe { (file.recorder.as_ref(), file.waker.as_ref()) };
    if waker.is_wanted() || !recorder.is_simple() {
        told(file);
    }
}

/// Behind an event that made its way out and may have something to tell.
#[cold]
#[inline(never)]
extern "C" fn told(file: &EventFile) {
    // SAFETY: Only functions that were called with preemption disabled call this.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let (recorder, waker) = unsafe { (file.recorder.as_ref(), file.waker.as_ref()) };
    waker.published();
    recorded(&pin, file, recorder);
}

/// Goes the long way out of `bank`.
#[cold]
#[inline(never)]
extern "C" fn commit_long(file: &EventFile, bank: Bank, left: Left) {
    // SAFETY: Only `rtrace_commit` calls this.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, recorder, waker) = unsafe {
        (
            file.buffers.as_ref(),
            file.recorder.as_ref(),
            file.waker.as_ref(),
        )
    };
    // SAFETY: The short way said so.
    unsafe { leave(&pin, buffers, waker, bank, left) };
    recorded(&pin, file, recorder);
}

/// As [`rtrace_commit`], for a record that the filter is to be asked about.
///
/// # Safety
///
/// As for [`rtrace_commit`].
#[inline(never)]
unsafe extern "C" fn commit_chosen(file: &EventFile, entry: *mut c_void, token: u64) {
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    if token == TOKEN_SCRATCH {
        // SAFETY: By the contract, and the token says so.
        return unsafe { commit_scratch(&pin, file) };
    }
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, recorder, waker) = unsafe {
        (
            file.buffers.as_ref(),
            file.recorder.as_ref(),
            file.waker.as_ref(),
        )
    };
    let (bank, token) = Bank::marked(token & !TOKEN_ASK);
    let ring = buffers.rings().here(&pin, bank);
    // SAFETY: The ring of the CPU that we are pinned to, in the bank of the reservation.
    let writer = unsafe { ring.writer() };
    let Some(entry) = NonNull::new(entry.cast()) else {
        return;
    };
    // SAFETY: By the contract.
    let mut reserved = unsafe { Reserved::from_raw(writer, entry, token) };
    // Without a filter it was taken away a moment ago: everything is wanted.
    let wanted = file
        .filter()
        .is_none_or(|filter| filter.matches(&pin, reserved.payload()));
    let published = match wanted {
        true => reserved.commit(),
        false => reserved.discard(),
    };
    tell(ring, buffers, waker, published);
    if wanted {
        recorded(&pin, file, recorder);
    }
}

/// Gives a record up.
///
/// # Safety
///
/// As for [`rtrace_commit`].
#[no_mangle]
unsafe extern "C" fn rtrace_discard(cookie: *mut c_void, entry: *mut c_void, token: u64) {
    // SAFETY: As in `rtrace_reserve`.
    let file = unsafe { &*cookie.cast::<EventFile>() };
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    if token == TOKEN_SCRATCH {
        // SAFETY: By the contract, and the token says so.
        let _ = unsafe { scratch::end(&pin, |_| ()) };
        return;
    }
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, waker) = unsafe { (file.buffers.as_ref(), file.waker.as_ref()) };
    // SAFETY: By the contract.
    unsafe { give_up(&pin, buffers, waker, entry, token & !TOKEN_ASK) };
}
