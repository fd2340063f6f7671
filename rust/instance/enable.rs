// SPDX-License-Identifier: GPL-2.0

//! Enables and disables the events of an instance: the only place that attaches probes to events.

use super::{
    registry,
    Instance, //
};
use crate::{
    events::{
        self,
        Event,
        FIRST_ROUND, //
    },
    probes::EventFile,
    tasks::names,
    text::options::Opt, //
};
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

crate::kapi::global::global_mutex! {
    static COMMS: Mutex<Comms> = Comms { recorders: 0, recording: None };
}

/// Decides whether names and thread groups of tasks have to be remembered. They are remembered only
/// while events are recorded: otherwise tasks that run later would take the places of those that
/// the trace is about.
struct Comms {
    /// Number of enabled events and of tracers that record, of all instances.
    recorders: usize,
    recording: Option<names::NameRecording>,
}

impl Comms {
    /// Starts or stops remembering, as the options, the enabled events and the tracers require.
    /// `record-cmd` is an option of the top instance only, `record-tgid` of each instance; one
    /// instance that sets it is enough.
    ///
    /// # Errors
    ///
    /// Those of [`names::NameRecording::start`].
    fn apply(&mut self) -> Result {
        let Ok(top) = registry::top() else {
            // The module is being unloaded.
            self.recording = None;
            return Ok(());
        };
        let names = top.options().has(Opt::RecordCmd);
        let tgids = registry::first(|inst| inst.options().has(Opt::RecordTgid)).is_some();
        if self.recorders == 0 || !(names || tgids) {
            self.recording = None;
            return Ok(());
        }
        if self.recording.is_none() {
            self.recording = Some(names::NameRecording::start()?);
        }
        match registry::first(Instance::records) {
            Some(_) => names::remember(names, tgids),
            None => names::rest(),
        }
        Ok(())
    }
}

/// Prepares this file. Called once, before any event is enabled.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn init() -> Result {
    names::init()
}

/// Stops remembering names of tasks for good.
pub(super) fn exit() {
    COMMS.lock().recording = None;
    // Nothing is recorded any more, and no file is open when the instances go.
    names::exit();
}

/// Obeys a change of the options `record-cmd` and `record-tgid` or of `tracing_on`.
///
/// # Errors
///
/// Those of [`names::NameRecording::start`].
pub(super) fn record_tasks_again() -> Result {
    COMMS.lock().apply()
}

/// Does what [`record_tasks_again`] does, for callers that do not fail for lack of names: logs a
/// warning instead.
pub(super) fn try_record_tasks() {
    warn_if_not(COMMS.lock().apply());
}

/// Counts events that are enabled, and tracers that record.
pub(super) fn count_recorders(change: impl FnOnce(usize) -> usize) {
    let mut comms = COMMS.lock();
    comms.recorders = change(comms.recorders);
    warn_if_not(comms.apply());
}

fn warn_if_not(recording: Result) {
    if let Err(e) = recording {
        pr_warn!("names of tasks are not recorded: {e:?}\n");
    }
}

impl Instance {
    /// Returns whether `event` is enabled, or attached for triggers.
    pub(crate) fn event_enabled(&self, event: &Event) -> bool {
        let files = self.events.lock();
        files.iter().any(|file| file.is_for(event))
    }

    /// Returns whether `event` is recorded, and whether it is attached for triggers.
    pub(crate) fn event_state(&self, event: &Event) -> (bool, bool) {
        let files = self.events.lock();
        let file = files.iter().find(|file| file.is_for(event));
        file.map_or((false, false), |file| (!file.is_off(), file.is_soft()))
    }

    /// Returns whether recording is on, or a trigger or a command may switch it on, and an event or a tracer records or
    /// begins to.
    fn records(&self) -> bool {
        let may_turn_on = self.may_turn_on.load(Relaxed) || self.command_may_turn_on.load(Relaxed);
        (self.tracing_on() || may_turn_on)
            && (self.tracer_records()
                || self.beginning.load(Relaxed) != 0
                || !self.events.lock().is_empty())
    }

    /// Calls `begin`, which makes an event or a tracer record unless it returns false, and has names of tasks remembered
    /// from before that: a task that is recorded at once may end at once.
    ///
    /// # Errors
    ///
    /// Those of `begin`.
    pub(super) fn begin_recorder(&self, begin: impl FnOnce() -> Result<bool>) -> Result {
        self.beginning.fetch_add(1, Relaxed);
        count_recorders(|n| n.saturating_add(1));
        let begun = begin();
        // By now it is seen by itself.
        self.beginning.fetch_add(-1, Relaxed);
        if begun != Ok(true) {
            count_recorders(|n| n.saturating_sub(1));
        }
        begun.map(drop)
    }

    /// Enables `event`.
    ///
    /// # Errors
    ///
    /// `ENODEV` for an event whose module is gone, `EBUSY` for one that another instance has and
    /// that cannot be shared, `ENOMEM`, and those of
    /// [`Buffers::expand`](crate::buffers::Buffers::expand).
    pub(crate) fn enable_event(&self, event: &'static Event) -> Result {
        self.buffers().expand()?;
        self.enable(event)
    }

    /// Disables all of `events`. Waits once for the probes of all of them.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    pub(crate) fn disable_events(&self, events: impl Iterator<Item = &'static Event>) -> Result {
        let mut list = KVec::new();
        for event in events {
            list.push(event, GFP_KERNEL)?;
        }
        self.disable(|file| list.iter().any(|event| file.is_for(event)));
        Ok(())
    }

    fn enable(&self, event: &'static Event) -> Result {
        self.with_attached(event, false, |file| file.switch(true))
    }

    /// Calls `f` with the file of `event`, which is attached first if it is not; then `off` says whether it
    /// begins without being recorded.
    ///
    /// # Errors
    ///
    /// Those of attaching it, and `ENOMEM`. Nothing has changed then.
    fn with_attached(
        &self,
        event: &'static Event,
        off: bool,
        f: impl FnOnce(&EventFile),
    ) -> Result {
        self.begin_recorder(|| self.attach_first(event, off, f))
    }

    /// Does that, and returns whether it has attached the event.
    fn attach_first(
        &self,
        event: &'static Event,
        off: bool,
        f: impl FnOnce(&EventFile),
    ) -> Result<bool> {
        let mut files = self.events.lock();
        if let Some(file) = files.iter().find(|file| file.is_for(event)) {
            f(file);
            return Ok(false);
        }
        // SAFETY: The sink is a part of this instance, which outlives its files; the file is put into
        // a box before it is attached, and that goes only after `disable` took the probe off and
        // waited.
        let file = unsafe { EventFile::new(event, &self.sink) };
        let file = KBox::new(file, GFP_KERNEL)?;
        self.filter_again(&file);
        self.pids_again(&file);
        file.set_off(off);
        files.reserve(1, GFP_KERNEL)?;
        // Before a probe can find it.
        f(&file);
        if event.may_go() {
            self.module_records.note();
        }
        self.attach(&file)?;
        files.push(file, GFP_KERNEL)?;
        Ok(true)
    }

    /// Keeps `event` attached, for a trigger. If it is not enabled, it is attached without being recorded.
    ///
    /// # Errors
    ///
    /// Those of attaching it, and `ENOMEM`. Nothing has changed then.
    pub(super) fn hold(&self, event: &'static Event) -> Result<Hold<'_>> {
        self.with_attached(event, true, EventFile::add_soft)?;
        Ok(Hold { inst: self, event })
    }

    /// Ends what [`Hold::keep`] has kept. The last one detaches an event that is not recorded.
    pub(super) fn release(&self, event: &Event) {
        if let Some(file) = self.events.lock().iter().find(|file| file.is_for(event)) {
            file.drop_soft();
        }
        // Not one that triggers need: another one may just have switched it on.
        self.disable(|file| file.is_for(event) && file.is_off() && !file.is_soft());
    }

    /// Disables the events whose files `which` selects. Those that triggers need stay attached.
    pub(super) fn disable(&self, which: impl Fn(&EventFile) -> bool) {
        let mut files = self.events.lock();
        let mut gone = 0usize;
        for file in files.iter_mut().filter(|file| which(file)) {
            if file.is_soft() {
                file.switch(false);
                continue;
            }
            self.detach(file);
            file.retire();
            gone = gone.saturating_add(1);
        }
        if gone == 0 {
            return;
        }
        // Probes that began earlier still use their files.
        events::synchronize();
        files.retain(|file| !file.is_retired());
        drop(files);
        count_recorders(|n| n.saturating_sub(gone));
    }

    /// Disables all events.
    pub(super) fn disable_all(&self) {
        self.disable(|_| true);
    }
}

/// An event that is kept attached as long as this is, or until [`Instance::release`].
#[must_use = "it is released when this is dropped"]
pub(super) struct Hold<'a> {
    inst: &'a Instance,
    event: &'static Event,
}

impl Hold<'_> {
    /// Leaves it to the caller to release the event.
    pub(super) fn keep(self) {
        core::mem::forget(self);
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.inst.release(self.event);
    }
}

/// Disables `event` in all instances: its module is being unloaded, and no caller can enable it any
/// more.
///
/// An instance that is being removed stays on the list until its events are off.
pub(crate) fn disable_everywhere(event: &Event) {
    let concerned = |inst: &Instance| inst.event_enabled(event) || inst.has_filter(event);
    while let Some(inst) = registry::first(concerned) {
        // An event that has triggers, or that some switch, is attached.
        inst.forget_triggers_of(event);
        inst.forget_commands_of(event);
        inst.disable(|file| file.is_for(event));
        inst.forget_filter(event);
    }
}

/// Whether an instance has recorded events of modules.
pub(super) struct ModuleRecords(Atomic<u32>);

// No round looks like one of these.
const _: () = assert!(ModuleRecords::SOME < FIRST_ROUND);

impl ModuleRecords {
    /// It has not.
    const NONE: u32 = 0;
    /// It has, and was not emptied since the first one was enabled.
    const SOME: u32 = 1;

    pub(super) const fn new() -> Self {
        Self(Atomic::new(Self::NONE))
    }

    /// Notes that an event of a module is enabled. The caller holds the lock of the events.
    fn note(&self) {
        if self.0.load(Relaxed) == Self::NONE {
            self.0.store(Self::SOME, Relaxed);
        }
    }

    /// Returns whether the instance has to be emptied in `round`.
    fn concerns(&self, round: u32) -> bool {
        ![Self::NONE, round].contains(&self.0.load(Relaxed))
    }
}

/// Empties the rings of all instances that have recorded events of modules, in the round of that
/// number, and forgets what was counted of the events with these ids: see
/// [`Users`](events::Users::empty). Does nothing while there is a reader of records.
pub(crate) fn empty_of_modules(round: u32, ids: &[u16]) -> bool {
    if events::has_record_readers() {
        return false;
    }
    // An instance that is being removed may be off the list: its files are closed, and no reader
    // comes any more.
    while let Some(inst) = registry::first(|inst| inst.module_records.concerns(round)) {
        inst.module_records.0.store(round, Relaxed);
        inst.begin_again();
        inst.buffers().clear_all(|| {});
        inst.forget_counts(ids);
    }
    !events::has_record_readers()
}
