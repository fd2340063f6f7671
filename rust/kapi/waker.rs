// SPDX-License-Identifier: GPL-2.0

//! Sleeping until an event is published, and waking up from any context.
//!
//! A writer publishes, then looks at `WANTED`; a sleeper sets `WANTED`, then looks at the rings. A
//! CPU may delay its store until after its load, and then both would miss each other. Writers pay
//! nothing against that: the sleeper interrupts all CPUs between its store and its look, which makes
//! their earlier stores visible to it, and their later loads see its store.

use super::{
    deferred::{
        Deferred,
        DeferredWork, //
    },
    each_cpu,
    wait_queue::WaitQueue,
    words::SharedU64, //
};
use crate::ring::port::SharedWord;
use kernel::{
    new_poll_condvar,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Full,
            Relaxed, //
        },
        poll::PollCondVar, //
    }, //
};

/// A reader waits: the next event shall call `queue`.
const WANTED: u64 = 1;
/// Writers have more to do than to wake readers.
const MORE: u64 = 2;

/// The readers that wait for events of one instance.
#[pin_data]
pub(crate) struct Waker {
    #[pin]
    sleepers: Deferred<Sleepers>,
}

/// What they wait by. The deferred work wakes them.
#[pin_data]
struct Sleepers {
    /// What a writer has to do after an event: bits of [`WANTED`] and [`MORE`]. One word, so that a
    /// writer looks once.
    after: SharedU64,
    /// How often all were woken.
    rounds: Atomic<u64>,
    #[pin]
    readers: WaitQueue,
    #[pin]
    pollers: PollCondVar,
}

impl Sleepers {
    fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            after: SharedU64::zero(),
            rounds: Atomic::new(0),
            readers <- WaitQueue::new(),
            pollers <- new_poll_condvar!(),
        })
    }

    /// Sets or clears `bit` of what is to be done.
    fn change(&self, bit: u64, on: bool) {
        let now = |old: u64| if on { old | bit } else { old & !bit };
        loop {
            let old = self.after.load();
            if self.after.cas(old, now(old)) {
                break;
            }
        }
    }
}

impl DeferredWork for Sleepers {
    /// Wakes all to look again. Not from NMI context.
    fn run(&self) {
        self.change(WANTED, false);
        // Full: after the store, before the wake-up. A reader that wants to be woken after this stores
        // its wish anew.
        self.rounds.fetch_add(1, Full);
        self.readers.wake_all();
        self.pollers.notify_all();
    }
}

impl Waker {
    /// Returns one that no reader waits by.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            sleepers <- Deferred::new(Sleepers::new()),
        })
    }

    /// Wakes the readers that wait, after an event was published. Any context, NMI included.
    #[inline(always)]
    pub(crate) fn published(&self) {
        if self.is_wanted() {
            self.queue();
        }
    }

    /// Returns whether a reader waits for the event that was just published.
    #[inline(always)]
    fn is_wanted(&self) -> bool {
        self.sleepers.after.load() & WANTED != 0
    }

    /// Returns whether a writer has nothing to do after an event.
    #[inline(always)]
    pub(crate) fn is_quiet(&self) -> bool {
        self.sleepers.after.load() == 0
    }

    /// Says whether [`Self::is_quiet`] is to be false in any case.
    pub(crate) fn set_more(&self, more: bool) {
        self.sleepers.change(MORE, more);
    }

    #[cold]
    #[inline(never)]
    fn queue(&self) {
        self.sleepers.queue();
    }

    /// Wakes all readers to look again. Not from NMI context.
    pub(crate) fn wake_all(&self) {
        self.sleepers.run();
    }

    /// Has every event that is published from now on wake the caller, and makes those published so
    /// far visible to it. Process context.
    fn want(&self) {
        self.sleepers.change(WANTED, true);
        each_cpu::interrupt_others();
    }

    /// Sleeps until `ready`, looked at after each wake-up, says so. It may sleep itself.
    ///
    /// # Errors
    ///
    /// `ERESTARTSYS` on a signal.
    pub(crate) fn wait(&self, ready: &mut dyn FnMut() -> bool) -> Result {
        while !self.turn(|| true, ready)? {}
        Ok(())
    }

    /// Sleeps until the next wake-up unless `ready` says so before. Returns what `ready` said; does
    /// nothing unless `ask` says that this is the waker to wait for.
    ///
    /// What `ask` stored, writers see when `ready` looks; a change that makes it void must come with a
    /// wake-up.
    ///
    /// # Errors
    ///
    /// As for [`Self::wait`].
    pub(crate) fn turn(
        &self,
        ask: impl FnOnce() -> bool,
        ready: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        let rounds = &self.sleepers.rounds;
        let round = rounds.load(Relaxed);
        if !ask() {
            return Ok(false);
        }
        self.want();
        if ready() {
            return Ok(true);
        }
        let over = || rounds.load(Relaxed) != round;
        self.sleepers.readers.sleep_until(over)?;
        Ok(false)
    }

    /// Returns the queue that `poll` watches. [`Self::poll`] is called afterwards.
    pub(crate) fn pollers(&self) -> &PollCondVar {
        &self.sleepers.pollers
    }

    /// Arms the wake-up of pollers and returns what `ready` says then.
    pub(crate) fn poll(&self, ready: impl FnOnce() -> bool) -> bool {
        self.want();
        ready()
    }
}
