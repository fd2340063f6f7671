// SPDX-License-Identifier: GPL-2.0

//! One value per CPU, and the promise to stay on a CPU.

#[cfg(CONFIG_PREEMPTION)]
use super::compat::preempt_count_asm;
use super::{
    c,
    cpus, //
};
#[cfg(any(CONFIG_SMP, CONFIG_PREEMPTION))]
use core::arch::asm;
use core::{
    marker::PhantomData,
    mem,
    ops::Deref,
    ptr::NonNull, //
};
use kernel::{
    bindings,
    cpu::CpuId,
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
        CpuId::current().as_u32()
    }

    /// As [`Self::cpu`], read from memory in one instruction: nothing that can be traced is called.
    #[cfg(CONFIG_SMP)]
    #[inline(always)]
    pub(crate) fn number(&self) -> u32 {
        let number: u32;
        // SAFETY: It reads a per-CPU variable of the kernel, 32 bits wide, which does not change for a CPU.
        unsafe {
            asm!("mov {n:e}, dword ptr gs:[rip + {s}]", n = out(reg) number,
                s = sym bindings::cpu_number, options(nostack, preserves_flags, readonly, pure))
        };
        number
    }

    /// As above, in a kernel for one CPU.
    #[cfg(not(CONFIG_SMP))]
    #[inline(always)]
    pub(crate) fn number(&self) -> u32 {
        0
    }

    /// Runs `f` with preemption disabled. `f` does not sleep.
    pub(crate) fn with<R>(f: impl FnOnce(&CpuPin) -> R) -> R {
        disable_preemption();
        let result = f(&CpuPin(NotThreadSafe));
        // SAFETY: Preemption was disabled above, and the pin that rested on that is gone.
        unsafe { enable_preemption() };
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
        // There is one for `'p`: `self` was made of a reference to it.
        &CpuPin(NotThreadSafe)
    }
}

/// Disables preemption, once more. [`enable_preemption`] follows, in the same task or interrupt.
#[cfg(CONFIG_PREEMPTION)]
#[inline(always)]
pub(crate) fn disable_preemption() {
    // SAFETY: It increments the count of this CPU, in one instruction. The compiler
    // moves no access to memory over it.
    unsafe {
        asm!(preempt_count_asm!(inc), count = sym bindings::__preempt_count, options(nostack))
    };
}

/// Disables preemption, once more. [`enable_preemption`] follows, in the same task or interrupt.
#[cfg(not(CONFIG_PREEMPTION))]
#[inline(always)]
pub(crate) fn disable_preemption() {
    c::rt_preempt_disable_notrace();
}

/// Enables preemption, once, as `preempt_enable_notrace()` does.
///
/// # Safety
///
/// It was disabled in the same task or interrupt, and nothing rests on that any more.
#[cfg(CONFIG_PREEMPTION)]
#[inline(always)]
pub(crate) unsafe fn enable_preemption() {
    // SAFETY: It decrements the count of this CPU, which the caller incremented, in one instruction. It
    // becomes 0 when preemption is not disabled any more and another task waits for the CPU.
    unsafe {
        asm!(preempt_count_asm!(dec), "je {wanted}", count = sym bindings::__preempt_count,
            wanted = label {
                // The kernel may switch tasks here.
                return c::rt_preempt_schedule_notrace();
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

/// Memory with a part for each possible CPU, which holds nothing yet.
///
/// # Invariants
///
/// `base` is a per-CPU allocation with room for a `T` of its alignment, which this value owns.
struct PerCpuMemory<T> {
    base: *mut T,
}

impl<T> PerCpuMemory<T> {
    /// Allocates one. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn new() -> Result<Self> {
        let (size, align) = (mem::size_of::<T>(), mem::align_of::<T>());
        let base = c::pcpu_alloc_noprof(size, align, false, bindings::GFP_KERNEL);
        if base.is_null() {
            return Err(ENOMEM);
        }
        // INVARIANT: Just allocated.
        Ok(Self { base: base.cast() })
    }
}

impl<T> Drop for PerCpuMemory<T> {
    fn drop(&mut self) {
        // SAFETY: The allocation is this value's own (invariant), which goes.
        unsafe { bindings::free_percpu(self.base.cast()) };
    }
}

/// A value in memory of another owner.
///
/// # Invariants
///
/// An initialised `T` is there, which this value owns, and the memory stays longer.
struct PlacedValue<T>(NonNull<T>);

impl<T> Deref for PlacedValue<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: There is an initialised `T` (invariant), and only shared references to it.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Drop for PlacedValue<T> {
    fn drop(&mut self) {
        // SAFETY: The `T` is initialised and this value's own (invariant), which goes.
        unsafe { self.0.drop_in_place() };
    }
}

/// A value of type `T` for each possible CPU.
///
/// # Invariants
///
/// `values` has, by the number of the CPU, that of each possible one, in the CPU's part of `memory`, and
/// none of the others.
pub(crate) struct PerCpu<T> {
    // Before the memory that they are in.
    values: KVVec<Option<PlacedValue<T>>>,
    memory: PerCpuMemory<T>,
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
        // INVARIANT: Each possible CPU has its value when this is returned, and it is not used before.
        let mut this = Self {
            values: KVVec::with_capacity(cpus::most() as usize, GFP_KERNEL)?,
            memory: PerCpuMemory::new()?,
        };
        for cpu in 0..cpus::most() {
            let value = match part_of(this.memory.base, cpu) {
                Some(part) => {
                    let value = make(cpu)?;
                    // SAFETY: The part has room for a `T` of its alignment (invariant of `PerCpuMemory`), and
                    // holds nothing yet.
                    unsafe { part.write(value) };
                    // INVARIANT: Initialised just now; `memory` goes after `values`.
                    Some(PlacedValue(part))
                }
                None => None,
            };
            this.values.push(value, GFP_KERNEL)?;
        }
        Ok(this)
    }

    /// Returns the value of the CPU that runs this.
    #[inline(always)]
    pub(crate) fn this(&self, pin: &CpuPin) -> &T {
        // SAFETY: The memory has a value for each possible CPU (invariant), for as long as `self`.
        unsafe { this(self.memory.base, pin) }
    }

    /// Returns the per-CPU address of the values: where one would be on a CPU whose offset is 0.
    pub(crate) fn base(&self) -> *const T {
        self.memory.base
    }

    /// Returns all values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.values.iter().filter_map(Option::as_deref)
    }

    /// Returns the value of `cpu`, if there can be such a CPU.
    pub(crate) fn of(&self, cpu: u32) -> Option<&T> {
        self.values.get(cpu as usize)?.as_deref()
    }
}

/// Returns where the part of `cpu` is, if there can be such a CPU, of what is at the per-CPU address
/// `base`.
pub(super) fn part_of<T>(base: *mut T, cpu: u32) -> Option<NonNull<T>> {
    if !cpus::is_possible(cpu) {
        return None;
    }
    // SAFETY: The kernel has an offset for each possible CPU, and the function only adds it.
    NonNull::new(unsafe { c::rt_per_cpu_ptr(base.cast(), cpu) }.cast())
}

/// Returns where the part of the CPU that runs this is, of what is at the per-CPU address `base`.
#[inline(always)]
pub(super) fn part_here<T>(base: *const T, _pin: &CpuPin) -> *const T {
    // A kernel for one CPU has the only part there.
    #[cfg_attr(not(CONFIG_SMP), expect(unused_mut, reason = "nothing is added"))]
    let mut part = base;
    #[cfg(CONFIG_SMP)]
    // SAFETY: It adds `this_cpu_off`, the kernel's offset of per-CPU memory, which does not change for a
    // CPU, and stores nothing.
    unsafe {
        asm!("add {r}, qword ptr gs:[rip + {s}]", r = inout(reg) part,
            s = sym bindings::this_cpu_off, options(nostack, readonly, pure))
    };
    part
}

/// Returns the address of the part of this CPU, of what is at the per-CPU address `address`. Who is not pinned may be
/// on another CPU by then. Any context.
pub(crate) fn address_here(address: u64) -> u64 {
    CpuPin::with(|pin| part_here(address as *const u8, pin).addr() as u64)
}

/// Returns what is at a per-CPU address on the CPU that runs this.
///
/// # Safety
///
/// `base` is in a per-CPU allocation, an initialised `T` is there for each possible CPU, and all stay for
/// `'a`.
#[inline(always)]
pub(crate) unsafe fn this<'a, T>(base: *const T, pin: &CpuPin) -> &'a T {
    // SAFETY: The caller promises a value for each possible CPU; this is one, and `pin` keeps the caller
    // on it.
    unsafe { &*part_here(base, pin) }
}
