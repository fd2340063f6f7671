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
    /// Returns the promise, for code that C called with preemption disabled.
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

    /// Returns the number of that CPU.
    pub(crate) fn cpu(&self) -> u32 {
        // SAFETY: It reads a per-CPU number, in one instruction and in any context.
        unsafe { bindings::raw_smp_processor_id() as u32 }
    }

    /// Runs `f` with preemption disabled. `f` does not sleep.
    pub(crate) fn with<R>(f: impl FnOnce(&CpuPin) -> R) -> R {
        // SAFETY: It changes the count of this task or interrupt, which is changed back below.
        unsafe { c::rt_preempt_disable_notrace() };
        let result = f(&CpuPin(NotThreadSafe));
        // SAFETY: Preemption was disabled above, and the pin that rested on that is gone.
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
    // SAFETY: It changes the count of this task or interrupt, which the caller changes back.
    unsafe { c::rt_preempt_disable_notrace() };
}

/// Enables preemption, once, as `preempt_enable_notrace()` does.
///
/// # Safety
///
/// It was disabled in the same task or interrupt, and nothing rests on that any more.
#[cfg(CONFIG_PREEMPTION)]
#[inline(always)]
pub(crate) unsafe fn enable_preemption() {
    // SAFETY: The counter of this CPU, in one instruction. It becomes 0 when preemption is not disabled
    // any more and another task waits for the CPU.
    unsafe {
        asm!("dec qword ptr gs:[rip + {s}]", "je {wanted}", s = sym bindings::__preempt_count,
            wanted = label {
                // SAFETY: The count became 0 just now, so that the kernel may switch tasks here.
                return unsafe { c::rt_preempt_schedule_notrace() };
            }, options(nostack))
    };
}

/// Enables preemption, once.
///
/// # Safety
///
/// It was disabled in the same task or interrupt, and nothing rests on that any more.
#[cfg(not(CONFIG_PREEMPTION))]
#[inline(always)]
pub(crate) unsafe fn enable_preemption() {
    // SAFETY: The caller promises that it was disabled and that nothing rests on that.
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

// SAFETY: All CPUs get shared references only, to values that are `Sync`.
unsafe impl<T: Sync> Sync for PerCpu<T> {}
// SAFETY: The values go where it goes, and are `Send`.
unsafe impl<T: Send> Send for PerCpu<T> {}

impl<T> PerCpu<T> {
    /// Makes a value for each possible CPU. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the first error of `make`.
    pub(crate) fn new(mut make: impl FnMut(u32) -> Result<T>) -> Result<Self> {
        let mut places = KVVec::from_elem(ptr::null_mut(), cpus::most() as usize, GFP_KERNEL)?;
        let (size, align) = (mem::size_of::<T>(), mem::align_of::<T>());
        // SAFETY: The size and the alignment are those of a type, and the caller may sleep.
        let base = unsafe { bindings::pcpu_alloc_noprof(size, align, false, bindings::GFP_KERNEL) };
        if base.is_null() {
            return Err(ENOMEM);
        }
        let base = base.cast::<T>();
        for cpu in cpus::possible() {
            // SAFETY: `base` is the new per-CPU allocation, and `cpu` a possible one.
            let place = unsafe { at(base, cpu) };
            if let Some(known) = places.get_mut(cpu as usize) {
                *known = place;
            }
            match make(cpu) {
                // SAFETY: There is room for one `T` of its alignment, and nothing else has the pointer.
                Ok(value) => unsafe { place.write(value) },
                Err(e) => {
                    // SAFETY: The values of the CPUs before `cpu` are initialised; nothing uses them.
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

    /// Returns the value of the CPU that runs this.
    #[inline(always)]
    pub(crate) fn this(&self, pin: &CpuPin) -> &T {
        // SAFETY: The allocation has a value for each possible CPU (invariant), for as long as `self`.
        unsafe { this(self.base, pin) }
    }

    /// Returns the per-CPU address of the values: where one would be on a CPU whose offset is 0.
    pub(crate) fn base(&self) -> *const T {
        self.base
    }

    /// Returns the value of `cpu`, if there can be such a CPU.
    pub(crate) fn of(&self, cpu: u32) -> Option<&T> {
        let place = *self.places.get(cpu as usize)?;
        // SAFETY: It is null or the address of an initialised value (invariant), for as long as `self`.
        unsafe { place.as_ref() }
    }
}

impl<T> Drop for PerCpu<T> {
    fn drop(&mut self) {
        // SAFETY: All values are initialised (invariant), and a value that is dropped has no users.
        unsafe { free(self.base, |_| true) };
    }
}

/// Returns what is at a per-CPU address on the CPU that runs this.
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
    // SAFETY: The caller promises a value for each possible CPU; this is one, and `_pin` keeps this on it.
    unsafe { &*at }
}

/// Returns where the value of `cpu` is.
///
/// # Safety
///
/// `base` is a per-CPU allocation and `cpu` a possible one.
unsafe fn at<T>(base: *mut T, cpu: u32) -> *mut T {
    // SAFETY: The caller promises a per-CPU allocation and a possible CPU.
    unsafe { c::rt_per_cpu_ptr(base.cast(), cpu) }.cast()
}

/// Drops the values of the CPUs that `made` names, and frees the allocation.
///
/// # Safety
///
/// `base` is a per-CPU allocation without users, and those values are initialised.
unsafe fn free<T>(base: *mut T, made: impl Fn(u32) -> bool) {
    for cpu in cpus::possible().filter(|cpu| made(*cpu)) {
        // SAFETY: `cpu` is a possible one, and `base` the caller's per-CPU allocation.
        let place = unsafe { at(base, cpu) };
        // SAFETY: The caller promises that the value of this CPU is initialised and has no users.
        unsafe { ptr::drop_in_place(place) };
    }
    // SAFETY: The caller's per-CPU allocation, whose values are dropped now.
    unsafe { bindings::free_percpu(base.cast()) };
}
