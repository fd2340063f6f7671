// SPDX-License-Identifier: GPL-2.0

//! The bits in the memory of programs that are set while an event is enabled.
//!
//! A bit is set where that takes no wait: a user who enables an event must not wait for a program. Where the page is
//! not there, or the program changes its memory at the time, [`bring_present`] tries it again later, and leaves what needs
//! a page to [`bring`], on a worker that sets the bits of this program alone: a file system may keep that one waiting. So
//! a page that does not come keeps no bit of another program from being set.
//!
//! A program that is copied takes its bits along. It has them until its memory is gone.
//!
//! Locks: [`WRITING`], then [`PROGRAMS`], which is held for short only: every fork takes it.

use super::{
    workers,
    UserEvent,
    UserEventUse, //
};
use crate::{
    kapi::{
        compat,
        program_memory::ProgramMemory,
        worker, //
    },
    tasks::programs::ProgramWatcher,
    user_events::request::EnableBit, //
};
use kernel::{
    prelude::*,
    sync::lock::GlobalGuard, //
};

crate::kapi::global::global_mutex! {
    /// Held by those who change a bit in the memory of a program, take bits away, or change whether an event
    /// is enabled.
    pub(super) static WRITING: Mutex<()> = ();
}

crate::kapi::global::global_mutex! {
    static PROGRAMS: Mutex<KVec<RegisteredProgram>> = KVec::new();
}

/// How often a bit is tried again at once for which the page was there.
const MOST_TRIES: u8 = 10;
/// The same before the module goes, each time after twice the wait: all of these are a second.
const LAST_TRIES: u32 = 10;
/// The longest wait before a bit is tried again, as a power of two milliseconds.
const LONGEST_WAIT: u32 = 8;
/// The same for the program that asks for the bit.
const MOST_OWN_TRIES: u32 = 100;

/// A program that has registered.
struct RegisteredProgram {
    memory: ProgramMemory,
    bits: KVec<RegisteredBit>,
    /// It was seen to end.
    ends: bool,
}

/// A bit that a program has registered.
#[derive(Clone)]
struct RegisteredBit {
    event: UserEventUse,
    bit: EnableBit,
    /// 0 if it shows whether the event is enabled; else which try is the next one.
    tries: u8,
}

/// A bit in a memory that does not show what it shall.
struct WantedBit {
    memory: ProgramMemory,
    bit: EnableBit,
    tries: u8,
}

/// Forgets all programs.
pub(super) fn exit() {
    let all = core::mem::take(&mut *PROGRAMS.lock());
    drop(all);
}

/// Sets or clears the bit, if that takes no wait.
fn write(memory: &ProgramMemory, bit: EnableBit, on: bool) -> Result {
    let (address, bit) = bit.in_word();
    memory.set_bit(address, bit, on)
}

/// Returns the event that the bit of a program shows, if it has registered this bit.
fn event_of(memory: &ProgramMemory, bit: EnableBit) -> Option<UserEventUse> {
    let programs = PROGRAMS.lock();
    let mut known = programs.iter();
    let known = known.find(|known| known.memory.is_same(memory))?;
    let mut bits = known.bits.iter();
    Some(bits.find(|known| known.bit == bit)?.event.clone())
}

/// Returns whether the program has registered this bit.
pub(super) fn has(memory: &ProgramMemory, bit: EnableBit) -> bool {
    event_of(memory, bit).is_some()
}

/// Returns whether a program has registered.
pub(super) fn has_programs() -> bool {
    !PROGRAMS.lock().is_empty()
}

/// Calls `change` until it returns that it has changed the bit of the current program, whose memory is `memory`, and has
/// the page of the bit be there in between. Sleeps, perhaps until the program itself brings the page: the caller has
/// nothing locked.
///
/// # Errors
///
/// `no_page` where that cannot be, `EFAULT` for memory that others change all the time, and those of `change`.
pub(super) fn until_changed(
    memory: &ProgramMemory,
    bit: EnableBit,
    no_page: Error,
    change: impl Fn() -> Result<bool>,
) -> Result {
    for _ in 0..MOST_OWN_TRIES {
        if change()? {
            return Ok(());
        }
        memory.fault_in(bit.in_word().0).map_err(|_| no_page)?;
    }
    Err(EFAULT)
}

/// Has the bit of the current program, whose memory is `memory`, show whether `event` is enabled. Returns false if that
/// takes a wait: nothing has changed then.
///
/// # Errors
///
/// `ENOMEM`, and `EADDRINUSE` for a bit that is registered.
pub(super) fn add(memory: &ProgramMemory, event: &UserEventUse, bit: EnableBit) -> Result<bool> {
    let writing = WRITING.lock();
    insert(memory, event, bit)?;
    let is_shown = write(memory, bit, event.is_enabled(&writing)).is_ok();
    if !is_shown {
        // No other task has used it meanwhile but a fork, to whose copy it does no harm.
        take(memory, bit);
    }
    Ok(is_shown)
}

/// Adds a bit to those of a program. The caller has [`WRITING`] locked.
///
/// # Errors
///
/// `EADDRINUSE` if it is there, `ENOMEM`.
fn insert(memory: &ProgramMemory, event: &UserEventUse, bit: EnableBit) -> Result {
    let new = RegisteredBit {
        event: event.clone(),
        bit,
        tries: 0,
    };
    let mut programs = PROGRAMS.lock();
    let mut own = programs.iter_mut();
    if let Some(own) = own.find(|known| known.memory.is_same(memory)) {
        if own.bits.iter().any(|known| known.bit == bit) {
            return Err(compat::address_in_use());
        }
        return Ok(own.bits.push(new, GFP_KERNEL)?);
    }
    let mut bits = KVec::new();
    bits.push(new, GFP_KERNEL)?;
    let new = RegisteredProgram {
        memory: memory.clone(),
        bits,
        ends: false,
    };
    Ok(programs.push(new, GFP_KERNEL)?)
}

/// Takes a bit from those of a program, which goes with its last one. Returns whether it was there. The caller has
/// [`WRITING`] locked.
fn take(memory: &ProgramMemory, bit: EnableBit) -> bool {
    let mut programs = PROGRAMS.lock();
    let mut own = programs.iter_mut();
    let Some(own) = own.find(|known| known.memory.is_same(memory)) else {
        return false;
    };
    let before = own.bits.len();
    own.bits.retain(|known| known.bit != bit);
    let was_there = own.bits.len() != before;
    programs.retain(|known| !known.bits.is_empty());
    was_there
}

/// Has the bit of the current program show nothing any more, which [`clear`] clears.
///
/// # Errors
///
/// `ENOENT` when it is not registered.
pub(super) fn remove(memory: &ProgramMemory, bit: EnableBit) -> Result {
    let _writing = WRITING.lock();
    take(memory, bit).then_some(()).ok_or(ENOENT)
}

/// Clears a bit that was removed. Returns false if that takes a wait.
pub(super) fn clear(memory: &ProgramMemory, bit: EnableBit) -> bool {
    let _writing = WRITING.lock();
    // Another task of the program may have registered it again, for an event that is enabled.
    has(memory, bit) || write(memory, bit, false).is_ok()
}

/// Has the bits of all programs show that `event` was enabled or disabled. `writing` keeps all bits where they
/// are.
pub(super) fn show(event: &UserEvent, writing: &GlobalGuard<WRITING>) {
    let on = event.is_enabled(writing);
    let (mut program, mut at) = (0usize, 0usize);
    loop {
        let (memory, bit) = {
            let mut programs = PROGRAMS.lock();
            let Some(known) = programs.get_mut(program) else {
                return;
            };
            let Some(bit) = known.bits.get_mut(at) else {
                (program, at) = (program.saturating_add(1), 0);
                continue;
            };
            at = at.saturating_add(1);
            if !bit.event.is_of(event) {
                continue;
            }
            bit.tries = 0;
            (known.memory.clone(), bit.bit)
        };
        if matches!(write(&memory, bit, on), Err(EAGAIN)) {
            want(&memory, bit, 1);
            workers::want_bits();
        }
    }
}

/// Has a bit be tried again, for the time `tries`.
fn want(memory: &ProgramMemory, bit: EnableBit, tries: u8) {
    let mut programs = PROGRAMS.lock();
    let mut own = programs.iter_mut();
    let own = own.find(|known| known.memory.is_same(memory));
    let mut bits = own.into_iter().flat_map(|known| known.bits.iter_mut());
    if let Some(bit) = bits.find(|known| known.bit == bit) {
        bit.tries = tries;
    }
}

/// Takes the next bit that does not show what it shall, of the program `of` or of any, from the place `at` in the list
/// on, which is moved on.
fn take_wanted(of: Option<&ProgramMemory>, at: &mut (usize, usize)) -> Option<WantedBit> {
    let mut programs = PROGRAMS.lock();
    loop {
        let known = programs.get_mut(at.0)?;
        if of.is_some_and(|of| !known.memory.is_same(of)) {
            *at = (at.0.saturating_add(1), 0);
            continue;
        }
        let mut bits = known.bits.iter_mut().zip(0usize..).skip(at.1);
        let Some((bit, number)) = bits.find(|(bit, _)| bit.tries != 0) else {
            *at = (at.0.saturating_add(1), 0);
            continue;
        };
        at.1 = number.saturating_add(1);
        return Some(WantedBit {
            memory: known.memory.clone(),
            bit: bit.bit,
            tries: core::mem::take(&mut bit.tries),
        });
    }
}

/// Returns how long to wait before the next try, as a power of two milliseconds; `None` if no bit needs one.
pub(super) fn wait() -> Option<u32> {
    let programs = PROGRAMS.lock();
    let bits = programs.iter().flat_map(|known| known.bits.iter());
    let tries = bits
        .map(|bit| bit.tries)
        .filter(|tries| *tries != 0)
        .min()?;
    Some(u32::from(tries).saturating_sub(2).min(LONGEST_WAIT))
}

impl WantedBit {
    /// Sets or clears it. Returns whether it has to be tried again.
    fn write(&self) -> bool {
        let writing = WRITING.lock();
        // It may have been registered for another event since it was taken.
        let Some(event) = event_of(&self.memory, self.bit) else {
            return false;
        };
        let on = event.is_enabled(&writing);
        let (address, bit) = self.bit.in_word();
        // A page that two programs share after a fork is not copied for nothing.
        self.memory.bit(address, bit) != Ok(on)
            && matches!(write(&self.memory, self.bit, on), Err(EAGAIN))
    }

    /// As [`Self::write`], and asks for the page, for which a file system may have it wait. Returns whether that is all
    /// that can be done.
    fn bring(&self) -> bool {
        for _ in 0..MOST_TRIES {
            if !self.write() {
                return true;
            }
            match self.memory.ask_for(self.bit.in_word().0) {
                Ok(()) => {}
                Err(error) => return error != EAGAIN,
            }
        }
        false
    }
}

/// Has all bits show what they shall whose pages are there, without a wait. The others are tried again, and have their
/// pages asked for by a worker for their program. Called by one task at a time.
pub(super) fn bring_present() {
    // What moves to another place meanwhile still wants to be tried.
    let mut at = (0, 0);
    while let Some(wanted) = take_wanted(None, &mut at) {
        if wanted.write() {
            // First: the worker takes what is wanted when it begins.
            want(&wanted.memory, wanted.bit, wanted.tries.saturating_add(1));
            workers::ask(&wanted.memory);
        }
    }
}

/// Has the bits of the program `of`, or all, show what they shall whose pages are there; the other pages are asked for,
/// which waits where a file system has it wait. What cannot be there is left until the event is enabled or disabled again.
pub(super) fn bring(of: Option<&ProgramMemory>) {
    // As in `bring_present`.
    let mut at = (0, 0);
    while let Some(wanted) = take_wanted(of, &mut at) {
        if !wanted.bring() {
            want(&wanted.memory, wanted.bit, wanted.tries);
        }
    }
}

/// As [`bring`] of all, as often as there is time for before the module goes.
pub(super) fn bring_at_last() {
    for pause in 0..LAST_TRIES {
        bring(None);
        if wait().is_none() {
            return;
        }
        worker::pause(1u32.wrapping_shl(pause));
    }
}

/// Forgets programs whose memory is gone.
pub(super) fn forget_ended() {
    let _writing = WRITING.lock();
    PROGRAMS.lock().retain(|known| !known.memory.is_gone());
}

/// Returns whether a program was seen to end whose memory is not gone. If `last` is set, it is the last time, but for a
/// program whose pages are asked for: that uses the memory, and has it looked at again when it is over.
pub(super) fn are_ending(last: bool) -> bool {
    let mut any = false;
    for known in PROGRAMS.lock().iter_mut() {
        any |= known.ends;
        known.ends = known.ends && (!last || workers::is_asked(&known.memory));
    }
    any
}

/// Follows programs that are copied and that end.
pub(super) struct FollowedPrograms;

impl ProgramWatcher for FollowedPrograms {
    fn copied(&self, from: &ProgramMemory, to: &ProgramMemory) {
        let mut programs = PROGRAMS.lock();
        let mut known = programs.iter();
        let Some(parent) = known.find(|known| known.memory.is_same(from)) else {
            return;
        };
        // Without memory for it the copy has no bits that change, as in the kernel.
        let copy = || {
            let mut bits = KVec::with_capacity(parent.bits.len(), GFP_NOWAIT)?;
            for bit in &parent.bits {
                // The event may have been enabled since the memory was copied.
                let bit = RegisteredBit {
                    tries: 1,
                    ..bit.clone()
                };
                bits.push(bit, GFP_NOWAIT)?;
            }
            Ok::<_, Error>(RegisteredProgram {
                memory: to.clone(),
                bits,
                ends: false,
            })
        };
        if let Ok(copy) = copy() {
            if programs.push(copy, GFP_NOWAIT).is_ok() {
                workers::want_bits();
            }
        }
    }

    fn ends(&self, memory: &ProgramMemory) {
        let mut programs = PROGRAMS.lock();
        let mut known = programs.iter_mut();
        if let Some(known) = known.find(|known| known.memory.is_same(memory)) {
            known.ends = true;
            workers::want_sweep();
        }
    }

    fn replaced(&self) {
        workers::want_sweep();
    }
}
