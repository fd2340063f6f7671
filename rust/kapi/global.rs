// SPDX-License-Identifier: GPL-2.0

//! Global mutexes that nothing has to prepare: the first caller does.
//!
//! The kernel's own need a call of `init` before all others, which is a promise of the file that has the mutex about
//! the order of the module's init. Process context.

use super::percpu::CpuPin;
use core::hint;
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Relaxed,
            Release, //
        },
        GlobalGuard,
        GlobalLock,
        GlobalLockBackend, //
    }, //
};

/// How far a mutex is prepared.
const UNPREPARED: u32 = 0;
const BEING_PREPARED: u32 = 1;
const PREPARED: u32 = 2;

/// A global mutex, which [`global_mutex!`] makes.
///
/// # Invariants
///
/// `lock` is initialised when `stage` is [`PREPARED`], and that is its last value.
pub(crate) struct GlobalMutex<B: GlobalLockBackend> {
    lock: GlobalLock<B>,
    stage: Atomic<u32>,
}

impl<B: GlobalLockBackend> GlobalMutex<B> {
    /// Returns one that guards `data`.
    ///
    /// # Safety
    ///
    /// No other lock is made with `B`.
    pub(crate) const unsafe fn new(data: B::Item) -> Self {
        // INVARIANT: It is not initialised, as `stage` says.
        Self {
            // SAFETY: `lock`, the only function that uses it, initialises it before; the caller promises the rest.
            lock: unsafe { GlobalLock::new(data) },
            stage: Atomic::new(UNPREPARED),
        }
    }

    /// Locks it. May sleep.
    pub(crate) fn lock(&'static self) -> GlobalGuard<B> {
        // Acquire: pairs with the store of `prepare`.
        if self.stage.load(Acquire) != PREPARED {
            self.prepare();
        }
        self.lock.lock()
    }

    /// Initialises the lock, or waits for the task that does so on another CPU.
    #[cold]
    fn prepare(&'static self) {
        // With preemption disabled: a task of a higher priority would wait for ever for one that it has interrupted.
        CpuPin::with(|_| {
            if self
                .stage
                .cmpxchg(UNPREPARED, BEING_PREPARED, Relaxed)
                .is_ok()
            {
                // SAFETY: The stage changes to this value once, so this is the only call; nothing locks before the
                // store below.
                unsafe { self.lock.init() };
                // INVARIANT: It is initialised. Release: who sees the stage sees the lock.
                self.stage.store(PREPARED, Release);
            }
            while self.stage.load(Acquire) != PREPARED {
                hint::spin_loop();
            }
        });
    }
}

/// Gives back the memory of a global list that has nothing left: such a list outlives the module, its memory must not.
pub(crate) fn free_if_empty<T>(list: &mut KVec<T>) {
    if list.is_empty() {
        *list = KVec::new();
    }
}

/// Makes a global mutex: `global_mutex! { static NAME: Mutex<Type> = value; }`. `NAME` is also the type of its guard.
macro_rules! global_mutex {
    ($(#[$meta:meta])* $visible:vis static $name:ident: Mutex<$item:ty> = $value:expr;) => {
        #[doc = concat!("The type that stands for [`static@", stringify!($name), "`].")]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        $visible enum $name {}

        impl ::kernel::sync::GlobalLockBackend for $name {
            const NAME: &'static ::kernel::str::CStr = ::kernel::c_str!(stringify!($name));
            type Item = $item;
            type Backend = ::kernel::sync::lock::mutex::MutexBackend;

            fn get_lock_class() -> ::core::pin::Pin<&'static ::kernel::sync::LockClassKey> {
                ::kernel::static_lock_class!()
            }
        }

        $(#[$meta])*
        $visible static $name: $crate::kapi::global::GlobalMutex<$name> = {
            let data: $item = $value;
            // SAFETY: The type was made just now, for this one.
            unsafe { $crate::kapi::global::GlobalMutex::new(data) }
        };
    };
}
pub(crate) use global_mutex;

#[kunit_tests(rtrace_kapi_global)]
mod tests {
    use super::*;

    global_mutex! {
        static NUMBER: Mutex<u32> = 1;
    }

    #[test]
    fn the_first_caller_prepares_a_mutex() {
        assert_eq!(NUMBER.stage.load(Relaxed), UNPREPARED);
        *NUMBER.lock() += 1;
        assert_eq!(NUMBER.stage.load(Relaxed), PREPARED);
        assert_eq!(*NUMBER.lock(), 2);
    }
}
