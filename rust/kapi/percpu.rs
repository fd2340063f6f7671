// SPDX-License-Identifier: GPL-2.0

//! One value per CPU, and the promise to stay on a CPU.

use super::{
    c,
    cpus, //
};
#[cfg(any(CONFIG_SMP, CONFIG_PREEMPTION))]
use core::arch::asm;
use core::{
    marker::PhantomData,
    mem,
    ptr, //
};
use kernel::{
    bindings,
    prelude::*,
    types::NotThreadSafe, //
};

/// The current task stays on its CPU while this exists.
pub(crate) struct CpuPin(NotThreadSafe);

impl CpuPin {
    /// For code that C called with preemption disabled.
    ///
    /// # Safety
    ///
    /// Preemption is disabled for as long as the result exists.
    #[inline(always)]
    pub(crate) unsafe fn assume() -> Self {
        Self(NotThreadSafe)
    }

    /// Returns the same promise as a value without bytes.
    #[inline(always)]
    pub(crate) fn by_value(&self) -> PinRef<'_> {
        PinRef(PhantomData)
    }

    /// The number of that CPU.
    pub(crate) fn cpu(&self) -> u32 {
        // SAFETY: No requirements.
        unsafe { bindings::raw_smp_processor_id() as u32 }
    }

    /// Runs `f` with preemption disabled. `f` does not sleep.
    pub(crate) fn with<R>(f: impl FnOnce(&CpuPin) -> R) -> R {
        // SAFETY: No pointers; undone below.
        unsafe { c::rt_preempt_disable_notrace() };
        let result = f(&CpuPin(NotThreadSafe));
        // SAFETY: Disabled above.
        unsafe { c::rt_preempt_enable_notrace() };
        result
    }
}

/// A `&CpuPin` without bytes, for functions that hand it on in no register.
#[derive(Clone, Copy)]
pub(crate) struct PinRef<'p>(PhantomData<&'p CpuPin>);

const _: () = assert!(mem::size_of::<CpuPin>() == 0);

impl<'p> PinRef<'p> {
    /// Returns the reference.
    #[inline(always)]
    pub(crate) fn pin(self) -> &'p CpuPin {
        // SAFETY: A value without bytes is at every aligned address. That there is one for `'p` is what
        // `self` was made of.
        unsafe { ptr::NonNull::dangling().as_ref() }
    }
}

/// Disables preemption, once more.
///
/// # Safety
///
/// [`enable_preemption`] follows, in the same task or interrupt.
#[inline(always)]
pub(crate) unsafe fn disable_preemption() {
    // SAFETY: No pointers; undone by the caller.
    unsafe { c::rt_preempt_disable_notrace() };
}

/// Enables preemption, once, as `preempt_enable_notrace()` does.
///
/// # Safety
///
/// It was disabled in the same task or interrupt, and nobody rests on that any more.
#[cfg(CONFIG_PREEMPTION)]
#[inline(always)]
pub(crate) unsafe fn enable_preemption() {
    // SAFETY: The counter of this CPU, in one instruction. It becomes 0 when nobody else has disabled
    // preemption and somebody wants to be scheduled.
    unsafe {
        asm!("dec qword ptr gs:[rip + {s}]", "je {wanted}", s = sym bindings::__preempt_count,
            wanted = label {
                // SAFETY: It just became 0.
                return unsafe { c::rt_preempt_schedule_notrace() };
            }, options(nostack))
    };
}

/// Enables preemption, once.
///
/// # Safety
///
/// It was disabled in the same task or interrupt, and nobody rests on that any more.
#[cfg(not(CONFIG_PREEMPTION))]
#[inline(always)]
pub(crate) unsafe fn enable_preemption() {
    // SAFETY: By the contract.
    unsafe { c::rt_preempt_enable_notrace() };
}

/// A value of type `T` for each possible CPU.
///
/// # Invariants
///
/// `base` is a per-CPU allocation that holds an initialised `T` for each possible CPU, and `places` has
/// its address by the number of the CPU, null where there can be none.
pub(crate) struct PerCpu<T> {
    base: *mut T,
    places: KVVec<*mut T>,
    owns: PhantomData<T>,
}

// SAFETY: All CPUs get shared references only.
unsafe impl<T: Sync> Sync for PerCpu<T> {}
// SAFETY: The values go with it.
unsafe impl<T: Send> Send for PerCpu<T> {}

impl<T> PerCpu<T> {
    /// Makes a value for each possible CPU.
    pub(crate) fn new(mut make: impl FnMut(u32) -> Result<T>) -> Result<Self> {
        let mut places = KVVec::from_elem(ptr::null_mut(), cpus::most() as usize, GFP_KERNEL)?;
        let (size, align) = (mem::size_of::<T>(), mem::align_of::<T>());
        // SAFETY: No pointers are passed.
        let base = unsafe { bindings::pcpu_alloc_noprof(size, align, false, bindings::GFP_KERNEL) };
        if base.is_null() {
            return Err(ENOMEM);
        }
        let base = base.cast::<T>();
        for cpu in cpus::possible() {
            // SAFETY: A possible CPU of the new allocation.
            let place = unsafe { at(base, cpu) };
            if let Some(known) = places.get_mut(cpu as usize) {
                *known = place;
            }
            match make(cpu) {
                // SAFETY: Room for one `T` of its alignment, and nobody else has the pointer.
                Ok(value) => unsafe { place.write(value) },
                Err(e) => {
                    // SAFETY: Those before `cpu` are initialised.
                    unsafe { free(base, |made| made < cpu) };
                    return Err(e);
                }
            }
        }
        // INVARIANT: Initialised for each possible CPU just now.
        Ok(Self {
            base,
            places,
            owns: PhantomData,
        })
    }

    /// The value of the CPU that runs this.
    #[inline(always)]
    pub(crate) fn this(&self, pin: &CpuPin) -> &T {
        // SAFETY: By the invariant.
        unsafe { this(self.base, pin) }
    }

    /// The per-CPU address of the values: where one would be on a CPU whose offset is 0.
    pub(crate) fn base(&self) -> *const T {
        self.base
    }

    /// The value of `cpu`, if there can be such a CPU.
    pub(crate) fn of(&self, cpu: u32) -> Option<&T> {
        let place = *self.places.get(cpu as usize)?;
        // SAFETY: By the invariant.
        unsafe { place.as_ref() }
    }
}

impl<T> Drop for PerCpu<T> {
    fn drop(&mut self) {
        // SAFETY: By the invariant all are initialised, and nobody uses them any more.
        unsafe { free(self.base, |_| true) };
    }
}

/// What is at a per-CPU address on the CPU that runs this.
///
/// # Safety
///
/// `base` is in a per-CPU allocation, an initialised `T` is there for each possible CPU, and all stay for
/// `'a`.
#[inline(always)]
pub(crate) unsafe fn this<'a, T>(base: *const T, _pin: &CpuPin) -> &'a T {
    // A kernel for one CPU has the only value there.
    #[cfg_attr(not(CONFIG_SMP), expect(unused_mut, reason = "nothing is added"))]
    let mut at = base;
    #[cfg(CONFIG_SMP)]
    // SAFETY: `this_cpu_off` is the kernel's per-CPU offset of the area that the allocation is in; it
    // does not change for a CPU.
    unsafe {
        asm!("add {r}, qword ptr gs:[rip + {s}]", r = inout(reg) at,
            s = sym bindings::this_cpu_off, options(nostack, readonly, pure))
    };
    // SAFETY: By the contract; this CPU is a possible one, and we stay on it (`_pin`).
    unsafe { &*at }
}

/// Where the value of `cpu` is.
///
/// # Safety
///
/// `base` is a per-CPU allocation and `cpu` a possible one.
unsafe fn at<T>(base: *mut T, cpu: u32) -> *mut T {
    // SAFETY: By the contract.
    unsafe { c::rt_per_cpu_ptr(base.cast(), cpu) }.cast()
}

/// Drops the values of the CPUs that `made` names, and frees the allocation.
///
/// # Safety
///
/// `base` is a per-CPU allocation that nobody uses, and those values are initialised.
unsafe fn free<T>(base: *mut T, made: impl Fn(u32) -> bool) {
    for cpu in cpus::possible().filter(|cpu| made(*cpu)) {
        // SAFETY: By the contract.
        unsafe { ptr::drop_in_place(at(base, cpu)) };
    }
    // SAFETY: By the contract.
    unsafe { bindings::free_percpu(base.cast()) };
}
