// SPDX-License-Identifier: GPL-2.0

//! Where the kernel keeps what `sched_clock()` is made of, and whether it is made of that.
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
        BtfShape, //
    },
    kapi::{
        c,
        cpus,
        each_cpu,
        kernel_btf::{
            KernelBtf,
            NoBtf, //
        },
        percpu, //
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
const LAYOUT: [(&str, BtfShape, u32); 4] = [
    ("data.cyc2ns_mul", BtfShape::Int(4), latch::MUL),
    ("data.cyc2ns_shift", BtfShape::Int(4), latch::SHIFT),
    ("data.cyc2ns_offset", BtfShape::Int(8), latch::OFFSET),
    ("seq.seqcount.sequence", BtfShape::Int(4), latch::SEQUENCE),
];

/// Comparisons with `sched_clock()` on each CPU.
const COMPARISONS: u32 = 16;

/// The factors may just be changing, for some microseconds.
const TRIES: u32 = 3;
const PAUSE_MS: c_uint = 10;

/// The `cyc2ns` of all CPUs.
///
/// # Invariants
///
/// It is the per-CPU address of a variable of the kernel with the layout of [`latch`].
pub(super) struct Cyc2ns(u64);

impl Cyc2ns {
    /// Returns the per-CPU address.
    pub(super) fn address(&self) -> u64 {
        self.0
    }

    /// Returns what [`latch::now`] says on this CPU. Preemption is disabled.
    fn now(&self) -> Option<u64> {
        // SAFETY: A variable of that layout is there (invariant).
        unsafe { latch::now(self.0) }
    }

    /// Makes the factor of this CPU. Preemption is disabled.
    fn refresh(&self) {
        // SAFETY: A variable of that layout is there (invariant).
        unsafe { latch::refresh(self.0) };
    }

    /// Returns factor and shift of each possible CPU.
    fn factors(&self) -> impl Iterator<Item = (u32, u32)> {
        let base = ptr::without_provenance_mut::<u32>(self.0 as usize);
        cpus::possible()
            .filter_map(move |cpu| percpu::part_of(base, cpu))
            .map(|part| {
                let word = |at: u32| {
                    let word = part.as_ptr().wrapping_byte_add(at as usize);
                    // SAFETY: A variable of that layout is there on each possible CPU (invariant), and each
                    // of these is an aligned word of it.
                    unsafe { word.read_volatile() }
                };
                (word(latch::MUL), word(latch::SHIFT))
            })
    }
}

/// Returns `cyc2ns`, or why its values are not used. Process context.
pub(super) fn find(btf: Result<&KernelBtf, NoBtf>) -> Result<Cyc2ns, &'static str> {
    if c::rt_under_hypervisor() {
        return Err("a hypervisor may have brought another clock");
    }
    let btf = btf.and_then(|kernel| Ok(kernel.btf()?));
    let found = look_up(&btf.map_err(NoBtf::as_str)?)?;
    let mut result = Ok(());
    for _ in 0..TRIES {
        result = prove(&found);
        if result.is_ok() {
            break;
        }
        c::msleep(PAUSE_MS);
    }
    result.map(|()| found)
}

/// Returns it from where BTF says that it is.
fn look_up(btf: &Btf<'_>) -> Result<Cyc2ns, &'static str> {
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
        // INVARIANT: BTF is right about the addresses of two other variables, and has that layout.
        true => Ok(Cyc2ns(
            anchor
                .wrapping_sub(of_anchor)
                .wrapping_add(variable.offset.into()),
        )),
        false => Err("this kernel's cyc2ns has another layout"),
    }
}

/// Says why `sched_clock()` is not what [`latch::now`] says.
///
/// # Errors
///
/// The reason.
fn prove(found: &Cyc2ns) -> Result<(), &'static str> {
    let khz = &raw const bindings::tsc_khz;
    // SAFETY: The variable lives as long as the kernel, and does not change once it is set.
    let khz = unsafe { khz.read_volatile() };
    if khz == 0 {
        return Err("there is no cycle counter");
    }
    let (mut mul, mut shift) = (0, 0);
    c::clocks_calc_mult_shift(&mut mul, &mut shift, khz, NSEC_PER_MSEC as u32, 0);
    // The kernel does not want a shift of 32.
    if shift == 32 {
        (mul, shift) = (mul >> 1, 31);
    }
    if latch::factor(mul, shift).is_none() {
        return Err("the cycle counter is slower than 0.5 GHz");
    }
    if found.factors().any(|factors| factors != (mul, shift)) {
        return Err("the factors are not those of the cycle counter");
    }

    let comparison = Comparison {
        differs: Atomic::new(false),
        far: Atomic::new(false),
        uncompared: Atomic::new(false),
    };
    each_cpu::run(&|_| comparison.compare(found));
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
    /// A value was not between two of `sched_clock()`.
    differs: Atomic<bool>,
    /// A counter is beyond [`latch::FARTHEST`].
    far: Atomic<bool>,
    /// A CPU had no value.
    uncompared: Atomic<bool>,
}

impl Comparison {
    /// Compares on this CPU, with interrupts disabled.
    fn compare(&self, found: &Cyc2ns) {
        if tsc() > latch::FARTHEST {
            self.far.store(true, Relaxed);
        }
        let mut compared = false;
        for _ in 0..COMPARISONS {
            let before = sched_clock_in_order();
            let value = found.now();
            let after = sched_clock_in_order();
            match value {
                Some(value) => {
                    compared = true;
                    if value < before || after < value {
                        self.differs.store(true, Relaxed);
                    }
                }
                // The first time on this CPU.
                None => found.refresh(),
            }
        }
        if !compared {
            self.uncompared.store(true, Relaxed);
        }
    }
}
