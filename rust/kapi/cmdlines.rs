// SPDX-License-Identifier: GPL-2.0

//! Names of tasks, remembered at each switch: a record holds only a pid.
//!
//! A fixed table with one place per pid modulo its size; a later task takes the place of an earlier
//! one. A place is written under its own version word by whoever gets it first; whoever does not,
//! leaves it. Readers look again when the version changed.

use super::{
    events::{
        self,
        Event, //
    },
    words::SharedU64, //
};
use crate::ring::port::{
    Port,
    SharedWord, //
};
use core::cell::UnsafeCell;
use kernel::{
    bindings,
    error::to_result,
    prelude::*, //
};

/// Places. A power of two.
const PLACES: usize = 8192;

/// Bytes of a name.
pub(crate) const COMM: usize = 16;

/// One place.
struct Place {
    /// Odd while somebody writes.
    version: SharedU64,
    /// 0: nobody.
    pid: SharedU64,
    name: [SharedU64; 2],
}

static TABLE: [Place; PLACES] = [const {
    Place {
        version: SharedU64::zero(),
        pid: SharedU64::zero(),
        name: [SharedU64::zero(), SharedU64::zero()],
    }
}; PLACES];

impl Place {
    fn save(&self, pid: u64, name: [u64; 2]) {
        let same = self.pid.load() == pid
            && self
                .name
                .iter()
                .zip(name)
                .all(|(word, new)| word.load() == new);
        if same {
            return;
        }
        let version = self.version.load();
        if version & 1 != 0 || !self.version.cas(version, version.wrapping_add(1)) {
            return;
        }
        self.pid.store(pid);
        for (word, new) in self.name.iter().zip(name) {
            word.store(new);
        }
        // Release: whoever sees this version sees all of the name.
        self.version.store_release(version.wrapping_add(2));
    }

    /// Pid and name, if nobody wrote meanwhile.
    fn look(&self) -> Option<(i32, [u8; COMM])> {
        let version = self.version.load_acquire();
        let pid = self.pid.load();
        let mut name = [0; COMM];
        for (to, word) in name.chunks_exact_mut(8).zip(&self.name) {
            to.copy_from_slice(&word.load().to_ne_bytes());
        }
        super::port::Kernel::read_barrier();
        let stable = version & 1 == 0 && self.version.load() == version;
        (stable && pid != 0).then_some((pid as i32, name))
    }
}

fn place(pid: u64) -> Option<&'static Place> {
    TABLE.get(pid as usize & (PLACES - 1))
}

/// Remembers the name of a task.
///
/// # Safety
///
/// The task exists.
unsafe fn save(task: *const bindings::task_struct) {
    // SAFETY: By the contract. The name may be changing; then we get a mix of both, as ftrace does.
    let (pid, name) = unsafe {
        (
            (&raw const (*task).pid).read_volatile(),
            (&raw const (*task).comm)
                .cast::<[u64; 2]>()
                .read_unaligned(),
        )
    };
    if let (1.., Some(place)) = (pid, place(pid as u64)) {
        place.save(pid as u64, name);
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
    // SAFETY: By the contract.
    unsafe { save(prev) };
    // SAFETY: By the contract.
    unsafe { save(next) };
}

/// Names are remembered while this exists.
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

/// The name of task `pid` as a line of a trace shows it.
pub(crate) fn comm_of(pid: i32, room: &mut [u8; COMM]) -> &[u8] {
    let known = match pid {
        0 => return b"<idle>",
        ..0 => return b"<XXX>",
        1.. => place(pid as u64).and_then(Place::look),
    };
    match known {
        Some((of, name)) if of == pid => {
            *room = name;
            let len = name.iter().position(|byte| *byte == 0).unwrap_or(COMM);
            room.get(..len).unwrap_or(room)
        }
        _ => b"<...>",
    }
}

/// Calls `f` with each task whose name is known.
pub(crate) fn for_each(mut f: impl FnMut(i32, &[u8])) {
    for (pid, name) in TABLE.iter().filter_map(Place::look) {
        f(pid, &name);
    }
}
