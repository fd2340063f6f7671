// SPDX-License-Identifier: GPL-2.0

//! Names and thread groups of tasks, remembered at each switch: a record holds only a pid.
//!
//! A table with one place per pid modulo its size; a later task takes the place of an earlier one. A
//! place is written under its own version word by the writer that gets it first; another one leaves it.
//! A reader of a place that is being written finds nothing there.
//!
//! The scheduler writes with interrupts disabled and readers look with preemption disabled, so
//! a table that was exchanged for another one is free after a grace period. Exchanges take turns by
//! `RESIZE`, inside of which nothing else is locked.

use super::switches::SwitchUse;
pub(crate) use crate::kapi::task::COMM;
use crate::{
    kapi::{
        compat,
        each_cpu,
        grace,
        percpu::{
            CpuPin,
            PinRef, //
        },
        port::Kernel,
        task,
        words::{
            SharedPtr,
            SharedU64, //
        }, //
    },
    ring::port::{
        Port,
        SharedWord, //
    },
    text::{
        cmdlines::FEWEST,
        word, //
    }, //
};
use core::ptr::null_mut;
use kernel::prelude::*;

/// Bits of the word of a task that its pid has.
const PID: u64 = u32::MAX as u64;
/// The lowest bit of those that its thread group has.
const TGID_AT: u32 = u32::BITS;
/// Those bits; all are 0 when it is not known.
const TGID: u64 = (u32::MAX as u64 >> 1) << TGID_AT;
/// The name is known.
const HAS_NAME: u64 = 1 << 63;

/// Returns the word of `task`, of which all is known. No number of a task is negative.
#[inline(always)]
fn word_of(task: &kernel::task::Task) -> u64 {
    let tgid = u64::from(compat::thread_group(task) as u32) << TGID_AT;
    HAS_NAME | tgid & TGID | u64::from(task.pid() as u32)
}

/// What is known of a task.
#[derive(Clone, Copy)]
struct Facts {
    /// [`PID`], [`TGID`] and [`HAS_NAME`].
    word: u64,
    /// Anything when it is not known.
    name: [u64; 2],
}

/// One place.
struct NameSlot {
    /// Odd while a writer writes.
    version: SharedU64,
    /// That of [`Facts`]; 0: no task.
    word: SharedU64,
    name: [SharedU64; 2],
}

impl NameSlot {
    /// Returns one that holds nothing.
    const fn empty() -> Self {
        Self {
            version: SharedU64::zero(),
            word: SharedU64::zero(),
            name: [SharedU64::zero(), SharedU64::zero()],
        }
    }

    /// Returns the name that it holds.
    #[inline(always)]
    fn name(&self) -> [u64; 2] {
        let [first, second] = &self.name;
        [first.load(), second.load()]
    }

    /// Returns whether it holds what is `wanted` of a task, whose word is `word`; anything when a writer is writing.
    #[inline(always)]
    fn has(&self, word: u64, wanted: u64, task: &kernel::task::Task) -> bool {
        (self.word.load() ^ word) & wanted == 0
            && (wanted & HAS_NAME == 0 || self.name() == task::name(task))
    }

    /// Remembers what is `wanted` of a task.
    fn learn(&self, wanted: u64, task: &kernel::task::Task) {
        let word = word_of(task) & wanted;
        let name = task::name(task);
        self.save(wanted, Facts { word, name });
    }

    /// Remembers what `new` has of a task, which is what is `wanted`; what is not wanted stays.
    fn save(&self, wanted: u64, new: Facts) {
        let version = self.version.load();
        if version & 1 != 0 || !self.version.cas(version, version.wrapping_add(1)) {
            return;
        }
        // Only now there is no other writer.
        let old = self.word.load();
        let is_same = (old ^ new.word) & PID == 0;
        let kept = if is_same { old & !wanted } else { 0 };
        self.word.store(new.word | kept);
        if !is_same || wanted & HAS_NAME != 0 {
            for (word, new) in self.name.iter().zip(new.name) {
                word.store(new);
            }
        }
        // Release: a reader that sees this version sees all of the place.
        self.version.store_release(version.wrapping_add(2));
    }

    /// Returns the task, if no writer wrote meanwhile.
    fn look(&self) -> Option<Task> {
        let version = self.version.load_acquire();
        let (word, name) = (self.word.load(), self.name());
        Kernel::read_barrier();
        let stable = version & 1 == 0 && self.version.load() == version;
        let has_task = word & PID != 0;
        let facts = Facts { word, name };
        (stable && has_task).then_some(Task { facts })
    }
}

/// A task that was seen.
pub(crate) struct Task {
    facts: Facts,
}

impl Task {
    /// Returns its number.
    pub(crate) fn pid(&self) -> i32 {
        self.facts.word as i32
    }

    /// Returns its thread group; 0 if these were not remembered.
    pub(crate) fn tgid(&self) -> u32 {
        ((self.facts.word & TGID) >> TGID_AT) as u32
    }

    /// Returns its name, if names were remembered.
    pub(crate) fn comm(&self) -> Option<[u8; COMM]> {
        (self.facts.word & HAS_NAME != 0).then(|| task::bytes_of(self.facts.name))
    }
}

/// The places, a power of two.
struct NameTable(KVVec<NameSlot>);

impl NameTable {
    fn new(places: usize) -> Result<KBox<Self>> {
        let mut table = KVVec::with_capacity(places, GFP_KERNEL | __GFP_NOWARN)?;
        for _ in 0..places {
            table.push(NameSlot::empty(), GFP_KERNEL)?;
        }
        Ok(KBox::new(Self(table), GFP_KERNEL)?)
    }

    /// Returns that of the task whose word is `word`, or its pid.
    #[inline(always)]
    fn place(&self, word: u64) -> Option<&NameSlot> {
        // The pid is in the lowest bits.
        self.0.get(word as usize & self.0.len().wrapping_sub(1))
    }
}

/// The table in use; null before [`init`] and after [`exit`].
static TABLE: SharedPtr<NameTable> = SharedPtr::null();

crate::kapi::global::global_mutex! {
    static RESIZE: Mutex<()> = ();
}

/// Returns the table in use.
fn table(_pin: &CpuPin) -> Option<&NameTable> {
    // Acquire: pairs with the exchange, so that the places are seen initialised.
    let table = TABLE.load_acquire();
    // SAFETY: Null, or a table that `replace` frees only after a grace period, which waits for the end of
    // the pin.
    unsafe { table.as_ref() }
}

/// Calls `f` with the table in use. `f` does not sleep.
fn with_table<R>(f: impl FnOnce(&NameTable) -> R) -> Option<R> {
    CpuPin::with(|pin| table(pin).map(f))
}

/// Exchanges the table, and returns the old one when no user of it is left.
fn replace(table: *mut NameTable) -> Option<KBox<NameTable>> {
    let old = TABLE.exchange(table);
    if old.is_null() {
        return None;
    }
    grace::writers_left();
    // SAFETY: The table was made by `KBox::into_raw`, and no user is left after the grace period.
    Some(unsafe { KBox::from_raw(old) })
}

/// Makes the table. [`exit`] is called before the module goes.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn init() -> Result {
    replace(KBox::into_raw(NameTable::new(FEWEST)?));
    Ok(())
}

/// Frees the table. There is no [`NameRecording`], and none is made and no size is asked for any more.
pub(crate) fn exit() {
    replace(null_mut());
}

/// Returns how many places there are.
pub(crate) fn places() -> usize {
    with_table(|table| table.0.len()).unwrap_or(0)
}

/// Makes another table with `places` places, a power of two. What is remembered stays, where there is a
/// place for it.
///
/// # Errors
///
/// `ENOMEM`, and nothing has changed.
pub(crate) fn resize(places: usize) -> Result {
    let _turn = RESIZE.lock();
    let new = NameTable::new(places)?;
    let Some(old) = replace(KBox::into_raw(new)) else {
        return Ok(());
    };
    for task in old.0.iter().filter_map(NameSlot::look) {
        with_table(|table| {
            let place = table.place(task.facts.word);
            // A task that is there already was seen later.
            if let Some(place) = place.filter(|place| place.look().is_none()) {
                place.save(u64::MAX, task.facts);
            }
        });
    }
    Ok(())
}

/// What is remembered while there is a [`NameRecording`], as bits of the word of a task: [`PID`] with [`HAS_NAME`], [`TGID`]
/// or both; 0: nothing.
static WANTED: SharedU64 = SharedU64::zero();

/// Returns whether anything is remembered.
#[cfg(CONFIG_KUNIT = "y")]
pub(crate) fn are_remembered() -> bool {
    WANTED.load() != 0
}

/// Chooses what is remembered while there is a [`NameRecording`].
pub(crate) fn remember(names: bool, tgids: bool) {
    let facts = if names { HAS_NAME } else { 0 } | if tgids { TGID } else { 0 };
    WANTED.store(if facts != 0 { facts | PID } else { 0 });
}

/// Remembers the tasks that run just now, which may have come before there was a [`NameRecording`], and then
/// nothing any more. Process context; may sleep.
pub(crate) fn rest() {
    let wanted = WANTED.load();
    if wanted == 0 {
        return;
    }
    each_cpu::run(&|pin: &CpuPin| {
        if let Some(table) = table(pin) {
            save(table, wanted, kernel::current!());
        }
    });
    WANTED.store(0);
}

/// Returns whether nothing of what is `wanted` of a task is to be remembered: all of it is known, or the task is the idle
/// one, which has no name of its own.
#[inline(always)]
fn is_known(table: &NameTable, wanted: u64, task: &kernel::task::Task) -> bool {
    let word = word_of(task);
    if word as u32 == 0 {
        return true;
    }
    let Some(place) = table.place(word) else {
        return true;
    };
    place.has(word, wanted, task)
}

/// Remembers a task.
fn save(table: &NameTable, wanted: u64, task: &kernel::task::Task) {
    if is_known(table, wanted, task) {
        return;
    }
    if let Some(place) = table.place(word_of(task)) {
        place.learn(wanted, task);
    }
}

/// Remembers the tasks of a switch, if there is a [`NameRecording`]. Interrupts are disabled. Called by C, see
/// shim/switches.c.
#[no_mangle]
#[allow(improper_ctypes_definitions, reason = "see `probes::fastcall`")]
extern "C" fn rtrace_names_switch(
    prev: &kernel::task::Task,
    next: &kernel::task::Task,
    pin: PinRef<'_>,
) {
    let wanted = WANTED.load();
    if wanted == 0 {
        return;
    }
    // One look at whether there are places is enough for both tasks.
    let Some(table) = table(pin.pin()).filter(|table| !table.0.is_empty()) else {
        return;
    };
    // As it is at nearly every switch.
    if is_known(table, wanted, prev) && is_known(table, wanted, next) {
        return;
    }
    save_both(table, wanted, prev, next);
}

#[cold]
#[inline(never)]
fn save_both(table: &NameTable, wanted: u64, prev: &kernel::task::Task, next: &kernel::task::Task) {
    save(table, wanted, prev);
    save(table, wanted, next);
}

/// Tasks are remembered while this exists. Dropping it waits until no switch is told any more.
pub(crate) struct NameRecording {
    _switches: SwitchUse,
}

impl NameRecording {
    /// Begins to remember tasks, as soon as it is said what of them. One at a time.
    ///
    /// # Errors
    ///
    /// `ENODEV` when the kernel has no such event, `ENOMEM`.
    pub(crate) fn start() -> Result<Self> {
        Ok(Self {
            _switches: SwitchUse::begin()?,
        })
    }
}

impl Drop for NameRecording {
    fn drop(&mut self) {
        // Others may have their use of the same switches.
        WANTED.store(0);
    }
}

/// Returns what is known of the task `pid`.
fn find(pid: i32) -> Option<Task> {
    let place = |table: &NameTable| table.place(pid as u64).and_then(NameSlot::look);
    with_table(place).flatten().filter(|task| task.pid() == pid)
}

/// Returns the name of task `pid` as a line of a trace shows it.
pub(crate) fn comm_of(pid: i32, room: &mut [u8; COMM]) -> &[u8] {
    match pid {
        0 => return b"<idle>",
        ..0 => return b"<XXX>",
        1.. => {}
    }
    let Some(name) = find(pid).and_then(|task| task.comm()) else {
        return b"<...>";
    };
    *room = name;
    room.get(..word::comm_len(room)).unwrap_or(room)
}

/// Returns the thread group of task `pid`; 0 when it is not known.
pub(crate) fn tgid_of(pid: i32) -> u32 {
    match pid {
        1.. => find(pid).map_or(0, |task| task.tgid()),
        ..1 => 0,
    }
}

/// Calls `f` with each task of which something is known. `f` may sleep.
pub(crate) fn for_each(mut f: impl FnMut(&Task)) {
    for at in 0..places() {
        let place = |table: &NameTable| table.0.get(at).and_then(NameSlot::look);
        if let Some(task) = with_table(place).flatten() {
            f(&task);
        }
    }
}
