// SPDX-License-Identifier: GPL-2.0

//! The probes of tracepoints that users have defined: the tracepoint is called by its name, and may come and go
//! with a module.
//!
//! [`record`] runs in any context, NMI included: no lock, no allocation, no panic.

use super::{
    hit_kernel::HitKernel,
    hit_probe::{
        HitProbe,
        ProbeHook, //
    },
    modules,
    probed_types::ProbedTypes,
    raw,
    raw_probes, //
};
use crate::{
    event::raw::MOST_ARGS,
    events::{
        as_text,
        tracepoints::{
            AttachedProbe,
            Tracepoint, //
        },
        Module, //
    },
    fetch::run::{
        ProbedMachine,
        WORDS, //
    },
    kapi::{
        nesting::NestedWriter,
        percpu::CpuPin,
        strings, //
    }, //
};
use core::ptr;
use kernel::prelude::*;

/// The probe of a definition.
pub(super) type Tprobe = HitProbe<TracepointHook>;

/// A tracepoint, which may not be there.
pub(super) struct TracepointHook {
    name: KVec<u8>,
    /// How many arguments it had when it was there last, if that is known.
    arity: Option<usize>,
    attached: Option<AttachedProbe>,
}

impl TracepointHook {
    /// Returns that of a tracepoint, with so many arguments if it is there and that is known.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(name: &str, arity: Option<usize>) -> Result<Self> {
        let mut kept = KVec::new();
        kept.extend_from_slice(name.as_bytes(), GFP_KERNEL)?;
        Ok(Self {
            name: kept,
            arity,
            attached: None,
        })
    }

    fn name(&self) -> &str {
        as_text(Some(&self.name))
    }

    /// Returns the tracepoint if the module has it.
    fn tracepoint_of<'a>(&self, module: Module<'a>) -> Option<Tracepoint<'a>> {
        let is_it = |tracepoint: &Tracepoint<'_>| tracepoint.name() == self.name();
        module.tracepoints().find(is_it)
    }

    /// Puts the probe on the tracepoint, which is of `module` or of the kernel.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and `EINVAL` in a kernel that compares prototypes at calls.
    ///
    /// # Safety
    ///
    /// As [`ProbeHook::enable`]; the probe is taken off before the tracepoint goes.
    unsafe fn attach(
        &mut self,
        tracepoint: Tracepoint<'_>,
        module: Option<Module<'_>>,
        probe: &Tprobe,
    ) -> Result {
        if self.arity.is_none() {
            self.arity = arity(tracepoint.name(), module.map(Module::name));
        }
        let arity = self.arity.unwrap_or(MOST_ARGS);
        let function = raw_probes::defined_of_arity(arity).ok_or(EINVAL)?;
        probe.set_address(tracepoint.stub_address());
        let data = ptr::from_ref(probe).cast();
        // SAFETY: The function takes a `Tprobe` and as many arguments as the tracepoint has, each of which is passed
        // as one word; or more, which are then what is in other registers and on the stack: it is deeper than that.
        // The caller promises the rest.
        self.attached = Some(unsafe { tracepoint.attach(function, data) }?);
        Ok(())
    }
}

impl ProbeHook for TracepointHook {
    const OWN_DEPTH: u32 = 1;
    const MAY_BE_FOLLOWED: bool = true;

    unsafe fn enable(&mut self, probe: &Tprobe) -> Result {
        probe.recorder().find_symbols()?;
        // The name is borrowed while the hook changes.
        let name = core::mem::take(&mut self.name);
        let attached = modules::with_tracepoint(as_text(Some(&name)), |tracepoint, module| {
            // SAFETY: The caller promises that the probe stays. `module_goes` takes it off before the tracepoint
            // of a module goes, after `with_tracepoint` does not find that any more.
            unsafe { self.attach(tracepoint, module, probe) }
        });
        self.name = name;
        // One that is not there is waited for.
        attached.unwrap_or(Ok(()))
    }

    fn disable(&mut self) {
        self.attached = None;
    }

    fn module_comes(probe: &Tprobe, module: Module<'_>) {
        probe.with_hook(|hook, is_used| {
            if !is_used || hook.attached.is_some() {
                return;
            }
            if let Some(tracepoint) = hook.tracepoint_of(module) {
                // SAFETY: The probe goes after its hook. The tracepoint stays during the call, and
                // `module_goes` is called before it goes.
                if let Err(error) = unsafe { hook.attach(tracepoint, Some(module), probe) } {
                    let name = hook.name();
                    pr_warn!("tracepoint {name} is not followed: {error:?}\n");
                }
            }
        });
    }

    fn module_goes(probe: &Tprobe, module: Module<'_>) {
        probe.with_hook(|hook, _| {
            let Some(tracepoint) = hook.tracepoint_of(module) else {
                return;
            };
            // Another module that brings it may bring another one.
            hook.arity = None;
            let is_on = |attached: &mut AttachedProbe| attached.is_on(tracepoint);
            drop(hook.attached.take_if(is_on));
        });
    }
}

/// Returns how many arguments the tracepoint `name` of a module has, or of the kernel; `None` if BTF does not say,
/// or one of them is not passed as a word.
fn arity(name: &str, module: Option<&str>) -> Option<usize> {
    let types = ProbedTypes::read(module).ok()?;
    types.with(|btf| raw::arity(btf?, raw::prototype(&btf?, name)?))
}

/// The arguments of a tracepoint, and the memory of this machine.
struct TracepointArguments<'a> {
    words: &'a [u64],
    kernel: HitKernel<'a>,
}

impl<'a> ProbedMachine for TracepointArguments<'a> {
    type Kernel = HitKernel<'a>;

    fn kernel(&self) -> &HitKernel<'a> {
        &self.kernel
    }

    fn registers(&self) -> &[u64; WORDS] {
        &[0; WORDS]
    }

    fn parameter(&self, index: u16) -> u64 {
        self.words.get(usize::from(index)).copied().unwrap_or(0)
    }

    fn stack_pointer(&self) -> u64 {
        // They are on the stack.
        self.words.as_ptr().addr() as u64
    }

    fn read(&self, address: u64, to: &mut [u8], user: bool) -> bool {
        strings::read(address, to, user)
    }
}

/// Records a hit of a tracepoint with these arguments. Any context. One for all probes, of which each has a tracepoint's
/// number of arguments.
#[inline(never)]
pub(super) fn record(probe: &Tprobe, words: &[u64]) {
    CpuPin::with(|pin| match probe.recorder().is_plain() {
        true => {
            let (machine, place) = (arguments(probe, words), (probe.address(), None));
            probe.recorder().hit_plain(pin, machine, place);
        }
        false => record_read(probe, words, pin),
    });
}

/// Records a hit for which memory is read, unless too many are inside each other: reading may fault, and the fault has a
/// tracepoint.
#[inline(never)]
fn record_read(probe: &Tprobe, words: &[u64], pin: &CpuPin) {
    match NestedWriter::enter(pin) {
        Some(_nested) => probe.hit(pin, arguments(probe, words), (probe.address(), None)),
        None => probe.recorder().skip_deep(pin),
    }
}

/// Returns what a hit with these arguments is recorded of.
#[inline(always)]
fn arguments<'a>(probe: &'a Tprobe, words: &'a [u64]) -> TracepointArguments<'a> {
    let kernel = HitKernel::new(probe.recorder().shared());
    TracepointArguments { words, kernel }
}
