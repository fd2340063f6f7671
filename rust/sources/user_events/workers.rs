// SPDX-License-Identifier: GPL-2.0

//! What is done for user events later: removing those that nothing uses, and setting bits that have to wait.
//!
//! Lock: [`WORKERS`], a leaf.

use super::{
    bits,
    sweep, //
};
use crate::kapi::worker::{
    self,
    Worker, //
};
use kernel::prelude::*;

crate::kapi::global::global_mutex! {
    static WORKERS: Mutex<Option<UserEventWorkers>> = None;
}

/// The longest wait between two looks at programs that end, and the number of looks.
const LONGEST_WAIT_MS: u32 = 64;
const LOOKS: u32 = 20;

/// The workers.
struct UserEventWorkers {
    bits: Pin<KBox<Worker>>,
    /// Has that try again, after as many milliseconds as the least bit that is wanted.
    again: Pin<KBox<Worker>>,
    sweeper: Pin<KBox<Worker>>,
}

/// The workers work while this exists. Dropping it waits for them.
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

/// Has bits set whose pages are there, and others later.
fn bring_bits() {
    let Some(wait) = bits::bring() else {
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
