// SPDX-License-Identifier: GPL-2.0

//! The probes of instructions of programs. The kernel has one registered while its event is enabled somewhere.
//!
//! [`rtrace_user_hit`] runs in the task that was hit, which may sleep: while memory of the process is read, nothing
//! is reserved in a ring. No panic.

use super::{
    hit_kernel::HitKernel,
    hit_probe::{
        HitProbe,
        ProbeHook, //
    }, //
};
use crate::{
    fetch::{
        run::{
            stack_address,
            ProbedKernel as _,
            ProbedMachine,
            WORDS, //
        },
        user_command::UserPlace, //
    },
    kapi::{
        uprobe::UserProbe,
        user_memory, //
    }, //
};
use core::ptr;
use kernel::prelude::*;

/// The probe of a definition.
pub(super) type Uprobe = HitProbe<UserHook>;

/// What has the kernel call it.
pub(super) struct UserHook {
    probe: UserProbe,
    place: UserPlace,
}

impl UserHook {
    /// Returns that of a probe at a place of its file.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(probe: UserProbe, place: UserPlace) -> Result<Self> {
        user_memory::prepare()?;
        Ok(Self { probe, place })
    }
}

impl ProbeHook for UserHook {
    // Preemption is disabled here.
    const OWN_DEPTH: u32 = 1;

    unsafe fn enable(&mut self, probe: &Uprobe) -> Result {
        let UserPlace {
            offset,
            counter,
            returns,
        } = self.place;
        let data = ptr::from_ref(probe).cast();
        // SAFETY: The function expects a `Uprobe`, which the caller promises to stay until this is dropped.
        unsafe { self.probe.register((offset, counter), returns, data) }
    }

    fn disable(&mut self) {
        self.probe.unregister();
    }
}

/// The registers of a process that was hit, and its memory.
struct UserRegisters<'a> {
    words: &'a [u64; WORDS],
    /// Where the process has the first byte of the file.
    file: u64,
    kernel: HitKernel<'a, true>,
}

impl<'a> ProbedMachine for UserRegisters<'a> {
    type Kernel = HitKernel<'a, true>;

    fn kernel(&self) -> &HitKernel<'a, true> {
        &self.kernel
    }

    fn registers(&self) -> &[u64; WORDS] {
        self.words
    }

    fn stack_word(&self, index: u64) -> u64 {
        let mut bytes = [0; 8];
        let address = stack_address(self.stack_pointer(), index);
        match user_memory::read(address, &mut bytes) {
            true => u64::from_le_bytes(bytes),
            false => {
                self.kernel.faulted();
                0
            }
        }
    }

    fn read(&self, address: u64, to: &mut [u8], _user: bool) -> bool {
        user_memory::read(address, to)
    }

    fn file_address(&self, offset: u64) -> u64 {
        self.file.wrapping_add(offset)
    }
}

/// Records a hit of a probe. In the task that was hit; sleeps.
///
/// # Safety
///
/// - `probe` is the one that the probe was registered with.
/// - `words` are a `struct pt_regs` of the process that does not change meanwhile.
#[no_mangle]
unsafe extern "C" fn rtrace_user_hit(
    probe: &Uprobe,
    words: &[u64; WORDS],
    address: usize,
    returned_to: usize,
) {
    let (address, returned_to) = (address as u64, returned_to as u64);
    let recorder = probe.recorder();
    let machine = UserRegisters {
        words,
        // What the probe is known by is the offset in the file.
        file: address.wrapping_sub(probe.address()),
        kernel: HitKernel::new(recorder.shared()),
    };
    recorder.hit_in_task(machine, (address, Some(returned_to)));
}
