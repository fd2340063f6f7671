// SPDX-License-Identifier: GPL-2.0

//! What is done for user events later: removing those that nothing uses, and setting bits that have to wait.
//!
//! A file system may keep a task that touches a page of a program waiting, for good if it is frozen. So the bits of each
//! program whose page is not there are set by a worker that no other program needs (`Asker`).
//!
//! Lock: [`WORKERS`], a leaf.

use super::{
    bits,
    sweep, //
};
use crate::kapi::{
    program_memory::ProgramMemory,
    worker::{
        self,
        Worker, //
    }, //
};
use kernel::prelude::*;

crate::kapi::global::global_mutex! {
    static WORKERS: Mutex<Option<UserEventWorkers>> = None;
}

/// The longest wait between two looks at programs that end, and the number of looks.
const LONGEST_WAIT_MS: u32 = 64;
const LOOKS: u32 = 20;
/// The most programs whose pages are asked for at a time: each may keep a place of the kernel's queue, which serves others,
/// too, and has 2048.
const MOST_ASKERS: usize = 256;

/// Sets the bits of one program at a time, and may wait for its pages.
struct Asker {
    /// The program, as long as it is at work for it.
    program: Option<ProgramMemory>,
    worker: Pin<KBox<Worker>>,
}

/// The workers.
struct UserEventWorkers {
    // Dropped first: it has the last ones work.
    bits: Pin<KBox<Worker>>,
    /// Has that try again, after as many milliseconds as the least bit that is wanted.
    again: Pin<KBox<Worker>>,
    sweeper: Pin<KBox<Worker>>,
    /// No two are at work for the same program. The number of each is its place: none leaves the list.
    askers: KVec<Asker>,
}

impl UserEventWorkers {
    /// Returns whether an asker is at work for the program.
    fn is_asked(&self, program: &ProgramMemory) -> bool {
        let askers = self.askers.iter();
        let mut programs = askers.filter_map(|asker| asker.program.as_ref());
        programs.any(|known| known.is_same(program))
    }
}

/// The workers work while this exists. Dropping it waits for them, and so for the pages that they wait for.
pub(crate) struct UserEventWork(());

impl UserEventWork {
    /// Begins.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn begin() -> Result<Self> {
        let workers = UserEventWorkers {
            bits: KBox::pin_init(Worker::new(0, |_, _| bring_bits()), GFP_KERNEL)?,
            again: KBox::pin_init(Worker::new(0, |_, waits| try_again(waits)), GFP_KERNEL)?,
            sweeper: KBox::pin_init(Worker::new(0, |_, _| sweep_until_quiet()), GFP_KERNEL)?,
            askers: KVec::with_capacity(MOST_ASKERS, GFP_KERNEL)?,
        };
        *WORKERS.lock() = Some(workers);
        Ok(Self(()))
    }
}

impl Drop for UserEventWork {
    fn drop(&mut self) {
        let workers = WORKERS.lock().take();
        drop(workers);
    }
}

/// Has bits set that have to wait.
pub(super) fn want_bits() {
    if let Some(workers) = &*WORKERS.lock() {
        workers.bits.want(1);
    }
}

/// Has events removed that nothing uses, and programs forgotten that have ended.
pub(super) fn want_sweep() {
    if let Some(workers) = &*WORKERS.lock() {
        workers.sweeper.want(1);
    }
}

/// Returns whether a worker sets the bits of a program just now, and perhaps waits for its pages.
pub(super) fn is_asked(program: &ProgramMemory) -> bool {
    matches!(&*WORKERS.lock(), Some(workers) if workers.is_asked(program))
}

/// Has the bits of a program that are wanted set by a worker that may wait for their pages. Where there is no memory for
/// it, or no place, nothing happens until the next try.
pub(super) fn ask(program: &ProgramMemory) {
    if !begin_to_ask(program) && add_asker().is_ok() {
        begin_to_ask(program);
    }
}

/// Has an asker begin that is not at work. Returns whether one is at work for the program now.
fn begin_to_ask(program: &ProgramMemory) -> bool {
    let mut workers = WORKERS.lock();
    let Some(workers) = &mut *workers else {
        return false;
    };
    if workers.is_asked(program) {
        return true;
    }
    let mut askers = workers.askers.iter_mut();
    let Some(idle) = askers.find(|asker| asker.program.is_none()) else {
        return false;
    };
    idle.program = Some(program.clone());
    idle.worker.want(1);
    true
}

/// Adds an asker. Called by one task at a time, that of `bits`.
///
/// # Errors
///
/// `ENODEV` when the workers are gone, `EBUSY` when there are too many, `ENOMEM`.
fn add_asker() -> Result {
    let number = match &*WORKERS.lock() {
        Some(workers) => workers.askers.len(),
        None => return Err(ENODEV),
    };
    if number >= MOST_ASKERS {
        return Err(EBUSY);
    }
    // Made with nothing locked, and dropped so if it is not wanted any more: a drop waits.
    let worker = Worker::new(number as u64, |number, _| ask_for_bits(number));
    let asker = Asker {
        program: None,
        worker: KBox::pin_init(worker, GFP_KERNEL)?,
    };
    let mut workers = WORKERS.lock();
    let Some(workers) = &mut *workers else {
        return Err(ENODEV);
    };
    // There is room: the list was made for all of them.
    Ok(workers.askers.push(asker, GFP_KERNEL)?)
}

/// Calls `f` with the asker of this number; `None` if the workers are gone.
fn with_asker<R>(number: u64, f: impl FnOnce(&mut Asker) -> R) -> Option<R> {
    let place = usize::try_from(number).ok()?;
    let mut workers = WORKERS.lock();
    let Some(workers) = &mut *workers else {
        return None;
    };
    workers.askers.get_mut(place).map(f)
}

/// Does the work of an asker: sets the bits of its program that are wanted. Waits, perhaps for good.
fn ask_for_bits(number: u64) {
    let Some(Some(program)) = with_asker(number, |asker| asker.program.clone()) else {
        return;
    };
    bits::bring(Some(&program));
    // What was wanted before this, and found it at work, is tried again below; what is wanted later begins it again.
    let done = with_asker(number, |asker| asker.program.take());
    drop(done);
    bring_later();
    // The program may have ended meanwhile: its memory was in use here.
    want_sweep();
}

/// Has bits set whose pages are there, and others later.
fn bring_bits() {
    bits::bring_present();
    bring_later();
}

/// Has the bits that are still wanted tried again, when it is time.
fn bring_later() {
    let Some(wait) = bits::wait() else {
        return;
    };
    if let Some(workers) = &*WORKERS.lock() {
        workers.again.want(1u64.wrapping_shl(wait));
    }
}

/// Has bits tried again after the shortest one of `waits`.
fn try_again(waits: u64) {
    let shortest = waits & waits.wrapping_neg();
    worker::pause(u32::try_from(shortest).unwrap_or(1));
    want_bits();
}

/// Sweeps, and again while the memory of a program that ends is there: for a second, unless another program has it.
fn sweep_until_quiet() {
    let mut wait = 1u32;
    for look in 0..LOOKS {
        sweep();
        if !bits::are_ending(look == LOOKS.saturating_sub(1)) {
            return;
        }
        worker::pause(wait);
        wait = wait.saturating_mul(2).min(LONGEST_WAIT_MS);
    }
}
