// SPDX-License-Identifier: GPL-2.0

//! Names and thread groups of tasks, remembered at each switch: a record holds only a pid.
//!
//! A table with one place per pid modulo its size; a later task takes the place of an earlier one. A
//! place is written under its own version word by whoever gets it first; whoever does not, leaves it.
//! Who reads a place that is being written finds nothing there.
//!
//! The scheduler writes with interrupts disabled and everybody else looks with preemption disabled, so
//! a table that was exchanged for another one is free after a grace period. Exchanges take turns by
//! `RESIZE`, inside of which nothing else is locked.

use super::watch;
use crate::{
    events::{
        self,
        Event, //
    },
    kapi::{
        grace,
        percpu::CpuPin,
        port::Kernel,
        words::SharedU64, //
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
use core::{
    cell::UnsafeCell,
    ptr::null_mut, //
};
use kernel::{
    bindings,
    error::to_result,
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Full,
        Relaxed, //
    },
};

/// Bytes of a name.
pub(crate) const COMM: usize = 16;

/// What is known of a task besides its pid.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Facts {
    /// Nothing when `tgid` alone is remembered.
    name: Option<[u64; 2]>,
    /// 0 when it is not known.
    tgid: u32,
}

/// One place.
struct Place {
    /// Odd while somebody writes.
    version: SharedU64,
    /// 0: nobody.
    pid: SharedU64,
    name: [SharedU64; 2],
    /// Thread group, and [`HAS_NAME`].
    rest: SharedU64,
}

/// In [`Place::rest`], beside the 32 bits of the thread group: the name is known.
const HAS_NAME: u64 = 1 << 32;

impl Place {
    const fn empty() -> Self {
        Self {
            version: SharedU64::zero(),
            pid: SharedU64::zero(),
            name: [SharedU64::zero(), SharedU64::zero()],
            rest: SharedU64::zero(),
        }
    }

    /// What it holds; anything when somebody is writing.
    fn facts(&self) -> Facts {
        let [first, second] = &self.name;
        let rest = self.rest.load();
        Facts {
            name: (rest & HAS_NAME != 0).then(|| [first.load(), second.load()]),
            tgid: rest as u32,
        }
    }

    /// Remembers what `new` knows of the task `pid`; what it does not know stays.
    fn save(&self, pid: u64, new: Facts) {
        let merged = || match self.pid.load() == pid {
            true => {
                let old = self.facts();
                let tgid = if new.tgid != 0 { new.tgid } else { old.tgid };
                let name = new.name.or(old.name);
                (old, Facts { name, tgid })
            }
            false => (
                Facts {
                    name: None,
                    tgid: 0,
                },
                new,
            ),
        };
        let (old, wanted) = merged();
        if old == wanted {
            return;
        }
        let version = self.version.load();
        if version & 1 != 0 || !self.version.cas(version, version.wrapping_add(1)) {
            return;
        }
        // Again: only now nobody else writes.
        let (_, wanted) = merged();
        self.pid.store(pid);
        for (word, new) in self.name.iter().zip(wanted.name.unwrap_or_default()) {
            word.store(new);
        }
        let flag = wanted.name.map_or(0, |_| HAS_NAME);
        self.rest.store(flag | u64::from(wanted.tgid));
        // Release: whoever sees this version sees all of the place.
        self.version.store_release(version.wrapping_add(2));
    }

    /// The task, if nobody wrote meanwhile.
    fn look(&self) -> Option<Task> {
        let version = self.version.load_acquire();
        let (pid, facts) = (self.pid.load(), self.facts());
        Kernel::read_barrier();
        let stable = version & 1 == 0 && self.version.load() == version;
        (stable && pid != 0).then(|| Task {
            pid: pid as i32,
            comm: facts.name.map(bytes_of),
            tgid: facts.tgid,
        })
    }
}

fn bytes_of(name: [u64; 2]) -> [u8; COMM] {
    let mut bytes = [0; COMM];
    for (to, word) in bytes.chunks_exact_mut(8).zip(name) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
    bytes
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
struct Table(KVVec<Place>);

impl Table {
    fn new(places: usize) -> Result<KBox<Self>> {
        let mut table = KVVec::with_capacity(places, GFP_KERNEL | __GFP_NOWARN)?;
        for _ in 0..places {
            table.push(Place::empty(), GFP_KERNEL)?;
        }
        Ok(KBox::new(Self(table), GFP_KERNEL)?)
    }

    fn place(&self, pid: u64) -> Option<&Place> {
        self.0.get(pid as usize & self.0.len().wrapping_sub(1))
    }
}

/// The table in use; null before [`init`] and after [`exit`].
static TABLE: Atomic<*mut Table> = Atomic::new(null_mut());

kernel::sync::global_lock! {
    // SAFETY: Initialised by `init`, before anybody can ask for another size.
    unsafe(uninit) static RESIZE: Mutex<()> = ();
}

/// The table in use.
///
/// # Safety
///
/// Preemption is disabled during `'a`.
unsafe fn table<'a>() -> Option<&'a Table> {
    // Acquire: pairs with the exchange, so that the places are seen initialised.
    let table = TABLE.load(Acquire);
    // SAFETY: Null or a table that `replace` frees only after a grace period.
    unsafe { table.as_ref() }
}

/// Calls `f` with the table in use. `f` does not sleep.
fn with_table<R>(f: impl FnOnce(&Table) -> R) -> Option<R> {
    // SAFETY: Preemption is disabled around the closure.
    CpuPin::with(|_| unsafe { table() }.map(f))
}

/// Exchanges the table, and returns the old one when nobody uses it any more.
fn replace(table: *mut Table) -> Option<KBox<Table>> {
    let old = TABLE.xchg(table, Full);
    if old.is_null() {
        return None;
    }
    grace::writers_left();
    // SAFETY: Made by `KBox::into_raw`, and no user is left.
    Some(unsafe { KBox::from_raw(old) })
}

/// Makes the table.
///
/// # Safety
///
/// Called once, before anything else here; [`exit`] is called before the module goes.
pub(crate) unsafe fn init() -> Result {
    // SAFETY: By the contract.
    unsafe { RESIZE.init() };
    replace(KBox::into_raw(Table::new(FEWEST)?));
    Ok(())
}

/// Frees the table.
///
/// # Safety
///
/// There is no [`Recording`], and nobody is going to make one or to resize.
pub(crate) unsafe fn exit() {
    replace(null_mut());
}

/// How many places there are.
pub(crate) fn places() -> usize {
    with_table(|table| table.0.len()).unwrap_or(0)
}

/// Makes another table with so many places, a power of two. What is remembered stays, where there is a
/// place for it.
///
/// # Errors
///
/// `ENOMEM`, and nothing has changed.
pub(crate) fn resize(places: usize) -> Result {
    let _turn = RESIZE.lock();
    let new = Table::new(places)?;
    let Some(old) = replace(KBox::into_raw(new)) else {
        return Ok(());
    };
    for task in old.0.iter().filter_map(Place::look) {
        with_table(|table| {
            let place = table.place(task.pid as u64);
            // Who is there already was seen later.
            if let Some(place) = place.filter(|place| place.look().is_none()) {
                place.save(task.pid as u64, task.facts());
            }
        });
    }
    Ok(())
}

impl Task {
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
static WANTED: Atomic<u32> = Atomic::new(0);
const NAMES: u32 = 1;
const TGIDS: u32 = 2;

/// Chooses what is remembered while there is a [`Recording`].
pub(crate) fn remember(names: bool, tgids: bool) {
    let bits = if names { NAMES } else { 0 } | if tgids { TGIDS } else { 0 };
    WANTED.store(bits, Relaxed);
}

/// Remembers the tasks that run just now, which may have come before there was a [`Recording`], and then
/// nothing any more. Process context; may sleep.
pub(crate) fn rest() {
    let wanted = WANTED.load(Relaxed);
    if wanted == 0 {
        return;
    }
    watch::on_each_cpu(&|_: &CpuPin, _| {
        with_table(|table| {
            // SAFETY: The current task exists.
            unsafe { save(table, wanted, kernel::current!().as_ptr()) }
        });
    });
    WANTED.store(0, Relaxed);
}

/// Remembers a task.
///
/// # Safety
///
/// The task exists.
unsafe fn save(table: &Table, wanted: u32, task: *const bindings::task_struct) {
    // SAFETY: By the contract. The name may be changing; then we get a mix of both, as ftrace does.
    let (pid, tgid, name) = unsafe {
        (
            (&raw const (*task).pid).read_volatile(),
            (&raw const (*task).tgid).read_volatile(),
            (&raw const (*task).comm)
                .cast::<[u64; 2]>()
                .read_unaligned(),
        )
    };
    let facts = Facts {
        name: (wanted & NAMES != 0).then_some(name),
        tgid: if wanted & TGIDS != 0 { tgid as u32 } else { 0 },
    };
    if let (1.., Some(place)) = (pid, table.place(pid as u64)) {
        place.save(pid as u64, facts);
    }
}

/// Called by the scheduler, with interrupts disabled.
///
/// # Safety
///
/// Both tasks exist.
unsafe extern "C" fn on_switch(
    _cookie: *mut c_void,
    _preempt: bool,
    prev: *mut bindings::task_struct,
    next: *mut bindings::task_struct,
    _prev_state: c_uint,
) {
    let wanted = WANTED.load(Relaxed);
    if wanted == 0 {
        return;
    }
    // SAFETY: The scheduler has disabled preemption.
    let Some(table) = (unsafe { table() }) else {
        return;
    };
    // SAFETY: By the contract.
    unsafe { save(table, wanted, prev) };
    // SAFETY: By the contract.
    unsafe { save(table, wanted, next) };
}

/// Tasks are remembered while this exists.
pub(crate) struct Recording {
    event: &'static Event,
}

/// Only its address matters: the kernel tells registrations apart by it.
struct Cookie(UnsafeCell<u8>);
// SAFETY: Nobody reads or writes it.
unsafe impl Sync for Cookie {}
static COOKIE: Cookie = Cookie(UnsafeCell::new(0));

/// The probe as the kernel takes it.
fn probe() -> *mut c_void {
    on_switch as *mut c_void
}

impl Recording {
    /// Begins.
    pub(crate) fn start() -> Result<Self> {
        let event = events::by_name("sched", "sched_switch").ok_or(ENODEV)?;
        // SAFETY: The tracepoint is the kernel's own and there for ever; `on_switch` has its
        // prototype.
        to_result(unsafe {
            bindings::tracepoint_probe_register(event.tracepoint(), probe(), COOKIE.0.get().cast())
        })?;
        Ok(Self { event })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // SAFETY: Registered by `start`.
        unsafe {
            bindings::tracepoint_probe_unregister(
                self.event.tracepoint(),
                probe(),
                COOKIE.0.get().cast(),
            )
        };
        // The code of the probe may go after this.
        events::synchronize();
    }
}

/// What is known of the task `pid`.
fn task(pid: i32) -> Option<Task> {
    let place = |table: &Table| table.place(pid as u64).and_then(Place::look);
    with_table(place).flatten().filter(|task| task.pid == pid)
}

/// The name of task `pid` as a line of a trace shows it.
pub(crate) fn comm_of(pid: i32, room: &mut [u8; COMM]) -> &[u8] {
    match pid {
        0 => return b"<idle>",
        ..0 => return b"<XXX>",
        1.. => {}
    }
    let Some(name) = task(pid).and_then(|task| task.comm) else {
        return b"<...>";
    };
    *room = name;
    room.get(..word::comm_len(room)).unwrap_or(room)
}

/// The thread group of task `pid`; 0 when it is not known.
pub(crate) fn tgid_of(pid: i32) -> u32 {
    match pid {
        1.. => task(pid).map_or(0, |task| task.tgid),
        ..1 => 0,
    }
}

/// Calls `f` with each task of which something is known. `f` may sleep.
pub(crate) fn for_each(mut f: impl FnMut(&Task)) {
    for at in 0..places() {
        let place = |table: &Table| table.0.get(at).and_then(Place::look);
        if let Some(task) = with_table(place).flatten() {
            f(&task);
        }
    }
}
