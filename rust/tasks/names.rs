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

use super::attached::{
    Attached,
    DetachBarrier,
    Probe,
    RECORDING, //
};
pub(crate) use crate::kapi::task::COMM;
use crate::{
    kapi::{
        compat,
        each_cpu,
        grace,
        percpu::CpuPin,
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

/// What is known of a task besides its pid.
#[derive(Clone, Copy)]
struct Facts {
    /// Nothing when `tgid` alone is remembered.
    name: Option<[u64; 2]>,
    /// 0 when it is not known.
    tgid: u32,
}

/// One place.
struct NameSlot {
    /// Odd while a writer writes.
    version: SharedU64,
    /// 0: no task.
    pid: SharedU64,
    name: [SharedU64; 2],
    /// Thread group, and [`HAS_NAME`].
    rest: SharedU64,
}

/// In [`NameSlot::rest`], beside the 32 bits of the thread group: the name is known.
const HAS_NAME: u64 = 1 << 32;

impl NameSlot {
    /// Returns one that holds nothing.
    const fn empty() -> Self {
        Self {
            version: SharedU64::zero(),
            pid: SharedU64::zero(),
            name: [SharedU64::zero(), SharedU64::zero()],
            rest: SharedU64::zero(),
        }
    }

    /// Returns what it holds; anything when a writer is writing.
    fn facts(&self) -> Facts {
        let [first, second] = &self.name;
        let rest = self.rest.load();
        Facts {
            name: (rest & HAS_NAME != 0).then(|| [first.load(), second.load()]),
            tgid: rest as u32,
        }
    }

    /// Returns whether it holds what is `wanted` of a task; anything when a writer is writing.
    #[inline(always)]
    fn has(&self, wanted: u64, task: &kernel::task::Task) -> bool {
        let rest = self.rest.load();
        let has_name = || {
            let ([first, second], name) = (&self.name, task::name(task));
            rest & HAS_NAME != 0 && [first.load(), second.load()] == name
        };
        self.pid.load() == task.pid() as u64
            && (wanted & NAMES == 0 || has_name())
            && (wanted & TGIDS == 0 || rest as u32 == compat::thread_group(task) as u32)
    }

    /// Remembers what `new` knows of the task `pid`; what it does not know stays.
    #[inline(never)]
    fn save(&self, pid: u64, new: Facts) {
        let version = self.version.load();
        if version & 1 != 0 || !self.version.cas(version, version.wrapping_add(1)) {
            return;
        }
        // Only now there is no other writer.
        let mut wanted = new;
        if self.pid.load() == pid {
            let old = self.facts();
            wanted.name = new.name.or(old.name);
            if new.tgid == 0 {
                wanted.tgid = old.tgid;
            }
        }
        self.pid.store(pid);
        for (word, new) in self.name.iter().zip(wanted.name.unwrap_or_default()) {
            word.store(new);
        }
        let flag = wanted.name.map_or(0, |_| HAS_NAME);
        self.rest.store(flag | u64::from(wanted.tgid));
        // Release: a reader that sees this version sees all of the place.
        self.version.store_release(version.wrapping_add(2));
    }

    /// Returns the task, if no writer wrote meanwhile.
    fn look(&self) -> Option<Task> {
        let version = self.version.load_acquire();
        let (pid, facts) = (self.pid.load(), self.facts());
        Kernel::read_barrier();
        let stable = version & 1 == 0 && self.version.load() == version;
        (stable && pid != 0).then(|| Task {
            pid: pid as i32,
            comm: facts.name.map(task::bytes_of),
            tgid: facts.tgid,
        })
    }
}

/// A task that was seen.
pub(crate) struct Task {
    /// Its number.
    pub(crate) pid: i32,
    /// Its name, if names were remembered.
    pub(crate) comm: Option<[u8; COMM]>,
    /// Its thread group; 0 if these were not remembered.
    pub(crate) tgid: u32,
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

    fn place(&self, pid: u64) -> Option<&NameSlot> {
        self.0.get(pid as usize & self.0.len().wrapping_sub(1))
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
            let place = table.place(task.pid as u64);
            // A task that is there already was seen later.
            if let Some(place) = place.filter(|place| place.look().is_none()) {
                place.save(task.pid as u64, task.facts());
            }
        });
    }
    Ok(())
}

impl Task {
    /// Returns what a place holds of it.
    fn facts(&self) -> Facts {
        let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |b| u64::from_ne_bytes(*b));
        let name = self.comm.as_ref().map(|comm| {
            let (first, second) = comm.split_at(COMM / 2);
            [word(first), word(second)]
        });
        Facts {
            name,
            tgid: self.tgid,
        }
    }
}

/// Which facts are remembered: [`NAMES`], [`TGIDS`].
static WANTED: SharedU64 = SharedU64::zero();
const NAMES: u64 = 1;
const TGIDS: u64 = 2;

/// Chooses what is remembered while there is a [`NameRecording`].
pub(crate) fn remember(names: bool, tgids: bool) {
    let bits = if names { NAMES } else { 0 } | if tgids { TGIDS } else { 0 };
    WANTED.store(bits);
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

/// Remembers a task.
#[inline(always)]
fn save(table: &NameTable, wanted: u64, task: &kernel::task::Task) {
    let (pid, tgid) = (task.pid(), compat::thread_group(task));
    let Some(place) = table.place(pid as u64) else {
        return;
    };
    // As it is at nearly every switch.
    if place.has(wanted, task) || pid <= 0 {
        return;
    }
    let facts = Facts {
        name: (wanted & NAMES != 0).then(|| task::name(task)),
        tgid: if wanted & TGIDS != 0 { tgid as u32 } else { 0 },
    };
    place.save(pid as u64, facts);
}

/// Remembers the tasks of a switch. Interrupts are disabled.
extern "C" fn on_switch(
    wanted: &SharedU64,
    _preempt: bool,
    prev: &kernel::task::Task,
    next: &kernel::task::Task,
    _prev_state: c_uint,
) {
    let wanted = wanted.load();
    if wanted == 0 {
        return;
    }
    // SAFETY: The scheduler has disabled interrupts, and enables them after its tracepoint.
    let pin = unsafe { CpuPin::assume() };
    let Some(table) = table(&pin) else {
        return;
    };
    save(table, wanted, prev);
    save(table, wanted, next);
}

/// Tasks are remembered while this exists. Dropping it waits until the probe has ended everywhere.
pub(crate) struct NameRecording {
    // In this order.
    _probe: Attached,
    _after: DetachBarrier,
}

impl NameRecording {
    /// Begins to remember tasks.
    ///
    /// # Errors
    ///
    /// `ENODEV` when the kernel has no such event, `ENOMEM`.
    pub(crate) fn start() -> Result<Self> {
        let probe = Probe::on_switch(on_switch, RECORDING);
        // SAFETY: `WANTED` stays as long as the module, which goes after its instances and their recording.
        let probe = unsafe { Attached::new(&probe, &WANTED) }?;
        Ok(Self {
            _probe: probe,
            _after: DetachBarrier,
        })
    }
}

/// Returns what is known of the task `pid`.
fn find(pid: i32) -> Option<Task> {
    let place = |table: &NameTable| table.place(pid as u64).and_then(NameSlot::look);
    with_table(place).flatten().filter(|task| task.pid == pid)
}

/// Returns the name of task `pid` as a line of a trace shows it.
pub(crate) fn comm_of(pid: i32, room: &mut [u8; COMM]) -> &[u8] {
    match pid {
        0 => return b"<idle>",
        ..0 => return b"<XXX>",
        1.. => {}
    }
    let Some(name) = find(pid).and_then(|task| task.comm) else {
        return b"<...>";
    };
    *room = name;
    room.get(..word::comm_len(room)).unwrap_or(room)
}

/// Returns the thread group of task `pid`; 0 when it is not known.
pub(crate) fn tgid_of(pid: i32) -> u32 {
    match pid {
        1.. => find(pid).map_or(0, |task| task.tgid),
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
