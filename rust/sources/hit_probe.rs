// SPDX-License-Identifier: GPL-2.0

//! Probes that the kernel calls: at an instruction of its own or of a program, at a function, at a tracepoint.
//!
//! One hook of the kernel serves all instances: the probe has a list of the files that it records into. It is
//! hit only while the event is enabled somewhere.
//!
//! What records a hit is a [`HitRecorder`].

use super::{
    defined::DefinedProbe,
    hit_counts::HitSums,
    hit_recorder::{
        HitPlace,
        HitRecorder, //
    },
    probe_layout::ProbeLayout, //
};
use crate::{
    events::{
        self,
        Attachment,
        Module, //
    },
    fetch::run::ProbedMachine,
    kapi::{
        kprobe::LeavingProbes,
        percpu::CpuPin,
        words::SharedU64, //
    },
    ring::port::SharedWord as _, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// What has the kernel call a probe. Process context.
pub(super) trait ProbeHook: Send + Unpin {
    /// How often preemption was disabled to record a hit.
    const OWN_DEPTH: u32;
    /// Whether event probes may follow its event; as in ftrace.
    const MAY_BE_FOLLOWED: bool = false;

    /// Has the probe called from now on.
    ///
    /// # Errors
    ///
    /// What the kernel says: the probe is not called.
    ///
    /// # Safety
    ///
    /// `probe` has this hook, and stays until [`Self::disable`] has returned, and after that
    /// `events::synchronize`, or until this was dropped.
    unsafe fn enable(&mut self, probe: &HitProbe<Self>) -> Result
    where
        Self: Sized;

    /// Has it called no more. A call may still run until `events::synchronize` has returned.
    fn disable(&mut self);

    /// Gives up what it has of the kernel, now or together with the other ones that leave.
    fn leave(self, _leaving: &mut LeavingProbes)
    where
        Self: Sized,
    {
    }

    /// Returns how many hits the kernel has missed, if it counts them.
    fn missed(&self) -> Option<u64> {
        None
    }

    /// Follows the code of the module `name`, which comes: its functions can be probed, and its init has not run.
    fn code_comes(_probe: &HitProbe<Self>, _name: &str)
    where
        Self: Sized,
    {
    }

    /// Uses nothing any more of the code of the module `name`, which goes.
    fn code_goes(_probe: &HitProbe<Self>, _name: &str)
    where
        Self: Sized,
    {
    }

    /// Follows a module with tracepoints that comes, before its init runs.
    fn module_comes(_probe: &HitProbe<Self>, _module: Module<'_>)
    where
        Self: Sized,
    {
    }

    /// Uses nothing any more of a module that goes.
    fn module_goes(_probe: &HitProbe<Self>, _module: Module<'_>)
    where
        Self: Sized,
    {
    }
}

/// A probe of a definition.
#[pin_data]
pub(super) struct HitProbe<H> {
    /// Its targets are changed under `state`.
    recorder: HitRecorder,
    /// Where it is hit.
    address: SharedU64,
    #[pin]
    state: Mutex<HookState<H>>,
}

struct HookState<H> {
    /// None after the definition was removed.
    hook: Option<H>,
    users: usize,
    /// The definition is being removed.
    ended: bool,
}

impl<H: ProbeHook + 'static> HitProbe<H> {
    /// Returns that of a definition, hit at `address` if that is known yet.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(layout: ProbeLayout, hook: H, address: u64) -> Result<Arc<Self>> {
        let state = HookState {
            hook: None,
            users: 0,
            ended: false,
        };
        let recorder = HitRecorder::new(layout)?;
        let this = Arc::pin_init(
            pin_init!(Self {
                recorder,
                address: SharedU64::of(address),
                state <- new_mutex!(state),
            }),
            GFP_KERNEL,
        )?;
        this.state.lock().hook = Some(hook);
        Ok(this)
    }

    /// Returns where it is hit. Any context.
    #[inline(always)]
    pub(super) fn address(&self) -> u64 {
        self.address.load()
    }

    /// Sets where it is hit.
    pub(super) fn set_address(&self, address: u64) {
        self.address.store(address);
    }

    /// Calls `f` with the hook, if there is one, and with whether the event is enabled somewhere. No instance enables
    /// or disables it meanwhile.
    pub(super) fn with_hook(&self, f: impl FnOnce(&mut H, bool)) {
        let mut state = self.state.lock();
        let is_used = state.users != 0;
        if let Some(hook) = &mut state.hook {
            f(hook, is_used);
        }
    }

    /// Returns the parameters that are kept from the beginning of a call to its return. Any context.
    pub(super) fn kept(&self) -> &[u16] {
        self.recorder.layout().kept.places()
    }

    /// Returns what records its hits. Any context.
    #[inline(always)]
    pub(super) fn recorder(&self) -> &HitRecorder {
        &self.recorder
    }

    /// As [`HitRecorder::hit`].
    #[inline(always)]
    pub(super) fn hit(&self, pin: &CpuPin, machine: impl ProbedMachine, place: HitPlace) {
        self.recorder.hit(pin, machine, place);
    }
}

impl<H: ProbeHook + 'static> DefinedProbe for HitProbe<H> {
    fn layout(&self) -> &ProbeLayout {
        self.recorder.layout()
    }

    fn attach(&self, to: Attachment) -> Result {
        let mut state = self.state.lock();
        let HookState { hook, users, ended } = &mut *state;
        let hook = hook.as_mut().filter(|_| !*ended).ok_or(ENODEV)?;
        // SAFETY: `detach` removes it, or what follows.
        unsafe { self.recorder.targets().add(&to) }?;
        if *users == 0 {
            // SAFETY: The hook is this probe's. It goes before this does: the state has it until `clear`.
            let enabled = unsafe { hook.enable(self) };
            enabled.inspect_err(|_| {
                self.recorder.targets().remove(&to);
                // A hit that began before the event was disabled elsewhere may have found the file, which goes at once.
                events::synchronize();
            })?;
        }
        *users = users.wrapping_add(1);
        Ok(())
    }

    fn detach(&self, from: Attachment) {
        let mut state = self.state.lock();
        if !self.recorder.targets().remove(&from) {
            return;
        }
        state.users = state.users.saturating_sub(1);
        if let (0, Some(hook)) = (state.users, &mut state.hook) {
            hook.disable();
        }
    }

    fn own_depth(&self) -> u32 {
        H::OWN_DEPTH
    }

    fn may_be_followed(&self) -> bool {
        H::MAY_BE_FOLLOWED
    }

    fn is_used(&self) -> bool {
        self.state.lock().users != 0
    }

    fn end(&self) -> Result {
        let mut state = self.state.lock();
        if state.users != 0 {
            return Err(EBUSY);
        }
        state.ended = true;
        Ok(())
    }

    fn clear(&self, leaving: &mut LeavingProbes) {
        let hook = self.state.lock().hook.take();
        if let Some(hook) = hook {
            hook.leave(leaving);
        }
    }

    fn sums(&self) -> HitSums {
        let missed = self.state.lock().hook.as_ref().and_then(H::missed);
        self.recorder.counts().sums(missed)
    }

    fn code_comes(&self, name: &str) {
        H::code_comes(self, name);
    }

    fn code_goes(&self, name: &str) {
        H::code_goes(self, name);
    }

    fn module_comes(&self, module: Module<'_>) {
        H::module_comes(self, module);
    }

    fn module_goes(&self, module: Module<'_>) {
        H::module_goes(self, module);
    }
}
