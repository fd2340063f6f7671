// SPDX-License-Identifier: GPL-2.0

//! Where does the kernel keep what `sched_clock()` is made of, and is it made of that?
//!
//! On x86 that is `cyc2ns`, a per-CPU variable that is not exported. BTF tells how far it is from
//! variables that are, and what it looks like. That is believed when
//!
//! - two exported variables are as far from each other as BTF says,
//! - the layout is that of [`latch`],
//! - the factors of all possible CPUs are those that the frequency of the counter asks for,
//! - [`latch`] can count with them, and with a counter that is not about to begin again,
//! - no hypervisor is there for which the kernel may have taken another clock, and
//! - on each CPU that is online, the value lies between two of `sched_clock()`.
//!
//! What is proven when the module is loaded stays so. Which function `sched_clock()` calls is
//! decided while the kernel boots; CPUs that come later have the same variable at the same place.

use super::{
    latch,
    sched_clock_in_order,
    tsc, //
};
use crate::{
    event::btf::{
        Btf,
        BtfError,
        Shape, //
    },
    kapi::{
        c,
        cpus,
        kernel_btf::{
            KernelBtf,
            NoBtf, //
        }, //
    },
};
use core::ptr;
use kernel::{
    bindings,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    time::NSEC_PER_MSEC, //
};

/// The section of the per-CPU variables.
const SECTION: &str = ".data..percpu";

/// What `cyc2ns` must look like.
const LAYOUT: [(&str, Shape, u32); 4] = [
    ("data.cyc2ns_mul", Shape::Int(4), latch::MUL),
    ("data.cyc2ns_shift", Shape::Int(4), latch::SHIFT),
    ("data.cyc2ns_offset", Shape::Int(8), latch::OFFSET),
    ("seq.seqcount.sequence", Shape::Int(4), latch::SEQUENCE),
];

/// Comparisons with `sched_clock()` on each CPU.
const COMPARISONS: u32 = 16;

/// The factors may just be changing, for some microseconds.
const TRIES: u32 = 3;
const PAUSE_MS: c_uint = 10;

/// The per-CPU address of `cyc2ns`, or why its values are not used. Process context.
pub(super) fn find(btf: Result<&KernelBtf, NoBtf>) -> Result<u64, &'static str> {
    // SAFETY: No pointers are involved.
    if unsafe { c::rt_under_hypervisor() } {
        return Err("a hypervisor may have brought another clock");
    }
    let btf = btf.and_then(|kernel| Ok(kernel.btf()?));
    let place = place(&btf.map_err(NoBtf::as_str)?)?;
    let mut result = Ok(());
    for _ in 0..TRIES {
        // SAFETY: `place` found it.
        result = unsafe { prove(place) };
        if result.is_ok() {
            break;
        }
        // SAFETY: Process context.
        unsafe { bindings::msleep(PAUSE_MS) };
    }
    result.map(|()| place)
}

/// Where BTF says that it is.
fn place(btf: &Btf<'_>) -> Result<u64, &'static str> {
    let offset = |name| Ok(u64::from(btf.variable(SECTION, name)?.offset));
    let anchor = (&raw const bindings::this_cpu_off).addr() as u64;
    let other = (&raw const bindings::__preempt_count).addr() as u64;
    let look = || -> Result<_, BtfError> {
        let anchors = (offset("this_cpu_off")?, offset("__preempt_count")?);
        let variable = btf.variable(SECTION, "cyc2ns")?;
        let mut same = variable.size >= latch::SIZE;
        for (path, shape, place) in LAYOUT {
            same &= btf.place_in_variable(&variable, path, shape)? == place;
        }
        Ok((anchors, variable, same))
    };
    let ((of_anchor, of_other), variable, same) = look().map_err(BtfError::as_str)?;
    if other.wrapping_sub(anchor) != of_other.wrapping_sub(of_anchor) {
        return Err("the kernel's BTF has other addresses");
    }
    match same {
        true => Ok(anchor
            .wrapping_sub(of_anchor)
            .wrapping_add(variable.offset.into())),
        false => Err("this kernel's cyc2ns has another layout"),
    }
}

/// Whether `sched_clock()` is what [`latch::now`] says.
///
/// # Safety
///
/// `place` is from [`place`].
unsafe fn prove(place: u64) -> Result<(), &'static str> {
    let (mut mul, mut shift) = (0, 0);
    // SAFETY: Two numbers of ours; `tsc_khz` is a variable that lives as long as the kernel.
    unsafe {
        let khz = (&raw const bindings::tsc_khz).read_volatile();
        if khz == 0 {
            return Err("there is no cycle counter");
        }
        c::clocks_calc_mult_shift(&mut mul, &mut shift, khz, NSEC_PER_MSEC as u32, 0);
    }
    // The kernel does not want a shift of 32.
    if shift == 32 {
        (mul, shift) = (mul >> 1, 31);
    }
    if latch::factor(mul, shift).is_none() {
        return Err("the cycle counter is slower than 0.5 GHz");
    }
    for cpu in cpus::possible() {
        let word = |offset: u32| {
            let base = ptr::without_provenance_mut(place as usize);
            // SAFETY: A per-CPU variable of the kernel (contract), and a possible CPU.
            let own = unsafe { c::rt_per_cpu_ptr(base, cpu) };
            // SAFETY: The offset of a word in it, of 32 bits and aligned.
            unsafe { own.byte_add(offset as usize).cast::<u32>().read_volatile() }
        };
        if (word(latch::MUL), word(latch::SHIFT)) != (mul, shift) {
            return Err("the factors are not those of the cycle counter");
        }
    }

    let comparison = Comparison {
        place,
        differs: Atomic::new(false),
        far: Atomic::new(false),
        uncompared: Atomic::new(false),
    };
    // SAFETY: `compare` gets what it wants, and nobody has it any more afterwards.
    unsafe { c::rt_on_each_cpu(Some(compare), (&raw const comparison).cast_mut().cast()) };
    if comparison.differs.load(Relaxed) {
        return Err("its values are not what cyc2ns makes of the cycle counter");
    }
    if comparison.far.load(Relaxed) {
        return Err("the cycle counter is about to begin again");
    }
    match comparison.uncompared.load(Relaxed) {
        true => Err("cyc2ns changes all the time"),
        false => Ok(()),
    }
}

/// What all CPUs say.
struct Comparison {
    place: u64,
    /// A value was not between two of `sched_clock()`.
    differs: Atomic<bool>,
    /// A counter is beyond [`latch::FARTHEST`].
    far: Atomic<bool>,
    /// A CPU had no value.
    uncompared: Atomic<bool>,
}

/// Compares on this CPU, with interrupts off.
///
/// # Safety
///
/// `arg` is a [`Comparison`] with the place of `cyc2ns`.
unsafe extern "C" fn compare(arg: *mut c_void) {
    // SAFETY: By the contract.
    let comparison = unsafe { &*arg.cast::<Comparison>() };
    if tsc() > latch::FARTHEST {
        comparison.far.store(true, Relaxed);
    }
    let mut compared = false;
    for _ in 0..COMPARISONS {
        let before = sched_clock_in_order();
        // SAFETY: By the contract.
        let value = unsafe { latch::now(comparison.place) };
        let behind = sched_clock_in_order();
        match value {
            Some(value) => {
                compared = true;
                if value < before || behind < value {
                    comparison.differs.store(true, Relaxed);
                }
            }
            // The first time on this CPU.
            // SAFETY: By the contract.
            None => unsafe { latch::refresh(comparison.place) },
        }
    }
    if !compared {
        comparison.uncompared.store(true, Relaxed);
    }
}
