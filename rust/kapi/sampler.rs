// SPDX-License-Identifier: GPL-2.0

//! A timer that looks at its CPU again and again, in a hard interrupt: what was interrupted, and how late it came.

use super::{
    c,
    foreign::{
        FinalRef,
        Owned,
        Release, //
    }, //
};
use core::{
    marker::PhantomData,
    ptr, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// What a look finds.
pub(crate) use super::c::rt_look as CpuLook;

/// What is done with a look.
///
/// Contexts: hard interrupt, on the CPU of the sampler.
pub(crate) trait SamplerBody: Sync {
    /// Takes a look. Returns the nanoseconds until the next one.
    fn look(&self, look: &CpuLook) -> u64;
}

impl Release for c::rt_sampler {
    fn release(ending: FinalRef<Self>) {
        c::rt_sampler_free(ending);
    }
}

/// A sampler of the CPU of a thread, whose data is the address of a `&dyn SamplerBody` that lives during `'a`; it looks
/// until it is dropped.
pub(crate) struct Sampler<'a> {
    _sampler: Owned<c::rt_sampler>,
    body: PhantomData<&'a &'a dyn SamplerBody>,
}

impl<'a> Sampler<'a> {
    /// Begins to look, in so many nanoseconds for the first time, on the CPU of the current thread, which is on one
    /// alone.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(body: &'a &'a dyn SamplerBody, period: u64) -> Result<Self> {
        let data = ptr::from_ref(body).cast();
        // SAFETY: The function that gets `data` expects a `&dyn SamplerBody`; it lives during `'a`, and the sampler ends
        // before.
        let sampler = unsafe { c::rt_sampler_new(data, period) };
        Ok(Self {
            _sampler: sampler.ok_or(ENOMEM)?,
            body: PhantomData,
        })
    }
}

impl Drop for Sampler<'_> {
    /// Has the body live until the sampler has ended, after this.
    fn drop(&mut self) {}
}

/// Takes a look.
///
/// # Safety
///
/// `body` is that of [`Sampler::new`], whose sampler has not ended, and `look` is there during the call.
#[no_mangle]
unsafe extern "C" fn rtrace_sampler_look(body: &&dyn SamplerBody, look: &CpuLook) -> u64 {
    body.look(look)
}

/// In a look, has the CPU choose its next task as soon as preemption is enabled, also if it is the same one: the number
/// of choices tells then whether it was.
pub(crate) fn ask_for_choice() {
    c::rt_sampler_ask();
}

/// Choices of tasks are counted, while this lives.
pub(crate) struct ChoiceCounts(());

impl ChoiceCounts {
    /// Begins. One at a time. Process context.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn begin() -> Result<Self> {
        to_result(c::rt_choices_hook())?;
        Ok(Self(()))
    }
}

impl Drop for ChoiceCounts {
    fn drop(&mut self) {
        c::rt_choices_unhook();
    }
}
