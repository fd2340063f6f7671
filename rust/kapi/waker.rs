// SPDX-License-Identifier: GPL-2.0

//! Sleeping until an event is published, and waking up from any context.
//!
//! A writer publishes, then looks at `WANTED`; a sleeper sets `WANTED`, then looks at the rings. A
//! CPU may delay its store behind its load, and then both would miss each other. Writers pay nothing
//! against that: the sleeper interrupts all CPUs between its store and its look, which makes their
//! earlier stores visible to it, and their later loads see its store.

use super::{
    c,
    words::SharedU64, //
};
use crate::ring::port::SharedWord as _;
use kernel::{
    bindings,
    error::to_result,
    new_poll_condvar,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Full,
            Relaxed, //
        },
        poll::PollCondVar, //
    },
    types::Opaque, //
};

/// Somebody waits: the next event shall call `queue`.
const WANTED: u64 = 1;
/// Whoever records has more to do.
const MORE: u64 = 2;

/// Who waits for events of one instance.
#[pin_data(PinnedDrop)]
pub(crate) struct Waker {
    /// What a writer has to do behind an event: bits of [`WANTED`] and [`MORE`]. One word, so that a
    /// writer looks once.
    behind: SharedU64,
    /// How often everybody was woken.
    rounds: Atomic<u64>,
    #[pin]
    work: Opaque<bindings::irq_work>,
    #[pin]
    readers: Opaque<bindings::wait_queue_head>,
    #[pin]
    pollers: PollCondVar,
}

// SAFETY: Everything in it is made for use from several CPUs.
unsafe impl Sync for Waker {}
// SAFETY: As above.
unsafe impl Send for Waker {}

impl Waker {
    /// Nobody waits.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            behind: <SharedU64 as crate::ring::port::SharedWord>::new(0),
            rounds: Atomic::new(0),
            work <- Opaque::ffi_init(|work| {
                // SAFETY: The place is valid and pinned.
                unsafe { c::rt_init_irq_work(work, Some(run)) }
            }),
            readers <- Opaque::ffi_init(|head| {
                let key = kernel::static_lock_class!();
                // SAFETY: The place is valid and pinned; name and key are static.
                unsafe {
                    bindings::__init_waitqueue_head(head, c"rtrace".as_char_ptr(), key.as_ptr())
                }
            }),
            pollers <- new_poll_condvar!(),
        })
    }

    /// After an event was published. Any context, NMI included.
    #[inline(always)]
    pub(crate) fn published(&self) {
        if self.is_wanted() {
            self.queue();
        }
    }

    /// Does somebody wait for the event that was just published?
    #[inline(always)]
    fn is_wanted(&self) -> bool {
        self.behind.load() & WANTED != 0
    }

    /// Is nothing to be done behind an event?
    #[inline(always)]
    pub(crate) fn is_quiet(&self) -> bool {
        self.behind.load() == 0
    }

    /// Says whether [`Self::is_quiet`] is to be false in any case.
    pub(crate) fn set_more(&self, more: bool) {
        self.change(MORE, more);
    }

    /// Sets or clears `bit` of what is to be done.
    fn change(&self, bit: u64, on: bool) {
        let now = |old: u64| if on { old | bit } else { old & !bit };
        loop {
            let old = self.behind.load();
            if self.behind.cas(old, now(old)) {
                break;
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn queue(&self) {
        // SAFETY: Initialised; `drop` waits for it. Already queued is fine.
        unsafe { bindings::irq_work_queue(self.work.get()) };
    }

    /// Wakes everybody to look again. Not from NMI context.
    pub(crate) fn wake_all(&self) {
        self.change(WANTED, false);
        // Full: behind the store, before the wake-up. Whoever wants to be woken after this stores
        // its wish anew.
        self.rounds.fetch_add(1, Full);
        // SAFETY: Initialised.
        unsafe {
            bindings::__wake_up(
                self.readers.get(),
                bindings::TASK_NORMAL,
                0,
                core::ptr::null_mut(),
            )
        };
        self.pollers.notify_all();
    }

    /// Makes every event that is published from now on wake us up, and those published so far
    /// visible to us. Process context.
    fn want(&self) {
        self.change(WANTED, true);
        // SAFETY: The function does nothing and takes no argument; we may be interrupted here.
        unsafe { bindings::smp_call_function(Some(nothing), core::ptr::null_mut(), 1) };
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

    /// Sleeps until the next wake-up unless `ready` says so before. Says what `ready` said; does
    /// nothing unless `ask` says that this is whom to wait for.
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
        let round = self.rounds.load(Relaxed);
        if !ask() {
            return Ok(false);
        }
        self.want();
        if ready() {
            return Ok(true);
        }
        self.sleep(round)?;
        Ok(false)
    }

    /// Sleeps until somebody wakes us for another round.
    fn sleep(&self, round: u64) -> Result {
        let entry = Opaque::<bindings::wait_queue_entry>::uninit();
        // SAFETY: A place of the right type that does not move until `finish_wait`.
        unsafe { bindings::init_wait_entry(entry.get(), 0) };
        let result = loop {
            // SAFETY: Both are initialised.
            let signal = unsafe {
                bindings::prepare_to_wait_event(
                    self.readers.get(),
                    entry.get(),
                    bindings::TASK_INTERRUPTIBLE as c_int,
                )
            };
            if self.rounds.load(Relaxed) != round {
                break Ok(());
            }
            if signal != 0 {
                break to_result(signal as c_int);
            }
            // SAFETY: Process context, nothing held.
            unsafe { bindings::schedule() };
        };
        // SAFETY: As above.
        unsafe { bindings::finish_wait(self.readers.get(), entry.get()) };
        result
    }

    /// For `poll`: the queue to be watched. Call [`Self::poll`] afterwards.
    pub(crate) fn pollers(&self) -> &PollCondVar {
        &self.pollers
    }

    /// Arms the wake-up of pollers and says what `ready` says then.
    pub(crate) fn poll(&self, ready: impl FnOnce() -> bool) -> bool {
        self.want();
        ready()
    }
}

#[pinned_drop]
impl PinnedDrop for Waker {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: Initialised; nobody queues it any more, since the owner goes.
        unsafe { bindings::irq_work_sync(self.work.get()) };
    }
}

/// # Safety
///
/// Called by the kernel with the `work` of a [`Waker`].
unsafe extern "C" fn run(work: *mut bindings::irq_work) {
    let work: *mut Opaque<bindings::irq_work> = work.cast();
    // SAFETY: By the contract; the waker waits for this function before it goes.
    let waker = unsafe { &*kernel::container_of!(work, Waker, work) };
    waker.wake_all();
}

/// # Safety
///
/// None.
unsafe extern "C" fn nothing(_: *mut c_void) {}
