// SPDX-License-Identifier: GPL-2.0

//! The tracer of an instance: `current_tracer`.

use super::{
    enable,
    registry,
    Instance, //
};
use crate::{
    buffers::CpuSel,
    functions::{
        commands::CommandWord,
        words::is_for_modules, //
    },
    hooks::{
        Edit,
        FilterKind,
        FunctionsFollower,
        Measure, //
    },
    kapi::worker::Worker,
    probes::GraphRules,
    text::{
        graph::CallLines,
        header::Columns,
        options::{
            Opt,
            OptionSet,
            Owner, //
        },
        writer::ByteWrite, //
    },
    tracers::{
        self,
        Host,
        KeptMaximum,
        Tracer,
        NOP, //
    }, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Full,
            Relaxed, //
        },
        SetOnce, //
    }, //
};

/// The one thing that is wanted of [`TELLER`].
const TELLING: u64 = 1;

/// What tells programs of a longest latency of an instance. Process context.
static TELL: SetOnce<fn(&Instance)> = SetOnce::new();

crate::kapi::global::global_mutex! {
    /// What calls [`TELL`]. It waits for a mount, and a task that has the mount may wait for a folder: so no task
    /// waits for it that has one, as the task does that removes an instance.
    static TELLER: Mutex<Option<Pin<KBox<Worker>>>> = None;
}

/// Makes what tells programs of longest latencies.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn begin_to_tell() -> Result {
    let teller = KBox::pin_init(Worker::new(0, |_, _| tell_maxima()), GFP_KERNEL)?;
    *TELLER.lock() = Some(teller);
    Ok(())
}

/// Returns when nothing is told any more.
pub(super) fn end_telling() {
    let teller = TELLER.lock().take();
    drop(teller);
}

/// Tells programs of the latencies that they have not been told of.
fn tell_maxima() {
    let is_untold = |inst: &Instance| inst.untold.xchg(false, Full);
    while let (Some(tell), Some(inst)) = (TELL.copy(), registry::first(is_untold)) {
        tell(&inst);
    }
}

/// Has `tell` called for each instance whose tracer has seen a longest latency. Called once.
pub(crate) fn tell_maxima_by(tell: fn(&Instance)) {
    TELL.populate(tell);
}

impl Instance {
    /// Returns the name of the present tracer.
    pub(crate) fn tracer_name(&self) -> &'static str {
        self.tracer.lock().name()
    }

    /// Returns what writes the names of the columns of the present tracer, if they are not the usual ones.
    pub(crate) fn tracer_columns(&self) -> Option<Columns> {
        self.tracer.lock().columns()
    }

    /// Returns the owner of the options of the present tracer.
    pub(crate) fn tracer_owner(&self) -> Option<Owner> {
        self.tracer.lock().owner()
    }

    /// Switches an option of `tracer`, which may be another one than the present.
    ///
    /// # Errors
    ///
    /// Those of [`Tracer::set_option`] and [`Tracer::obey`], `ENOMEM`: it is as before.
    pub(super) fn set_tracer_option(
        &self,
        tracer: &'static dyn Tracer,
        opt: Opt,
        on: bool,
    ) -> Result {
        if !tracer.has_options_by_instance() {
            return tracer.set_option(opt, on);
        }
        let present = self.tracer.lock();
        if present.name() == tracer.name() {
            tracer.obey(&self.host(self.options().with(opt, on)))?;
        }
        self.change_options(|old| old.with(opt, on))
    }

    /// Stops the present tracer and starts `tracer`.
    ///
    /// # Errors
    ///
    /// `EBUSY` while a `trace_pipe` is open or a histogram has the snapshot that `tracer` needs, `ENOMEM` without memory
    /// for the buffers: nothing has changed. `ENOMEM` without memory for the options that `tracer` holds, and those of
    /// [`Tracer::start`]: the tracer is `nop`, and the buffers are empty.
    pub(crate) fn set_tracer(&self, tracer: &'static dyn Tracer) -> Result {
        let mut present = self.tracer.lock();
        if present.name() == tracer.name() {
            return Ok(());
        }
        // As in ftrace a histogram has the snapshot for itself.
        if tracer.keeps_maximum() && self.hist_takes_snapshots() {
            return Err(EBUSY);
        }
        if !self.pipes.lock().is_empty() {
            return Err(EBUSY);
        }
        self.buffers().expand()?;
        self.stop_tracer(&mut present);
        self.clear(CpuSel::All)?;
        self.hold_options(tracer)?;
        let start = || tracer.start(&self.host(self.options()));
        let started = match tracer.records() {
            true => self.begin_recorder(|| {
                start()?;
                self.tracer_records.store(true, Relaxed);
                Ok(true)
            }),
            false => start(),
        };
        if started.is_err() {
            self.release_options(tracer);
            return started;
        }
        *present = tracer;
        let lines = tracer.call_lines().map_or(0, |lines| lines as u32);
        self.tracer_lines.store(lines, Relaxed);
        Ok(())
    }

    /// Has nothing record any more but events, for good.
    pub(super) fn forget_tracer(&self) {
        self.stop_tracer(&mut self.tracer.lock());
    }

    fn stop_tracer(&self, present: &mut &'static dyn Tracer) {
        present.stop(&self.host(self.options()));
        self.release_options(*present);
        *present = NOP;
        self.tracer_lines.store(0, Relaxed);
        if self.tracer_records.load(Relaxed) {
            self.tracer_records.store(false, Relaxed);
            enable::count_recorders(|n| n.saturating_sub(1));
        }
    }

    /// Switches on the options that `tracer` holds.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: they are as before.
    fn hold_options(&self, tracer: &dyn Tracer) -> Result {
        self.options_before
            .store(self.options.load(Relaxed), Relaxed);
        self.change_options(|own| {
            let held = tracer.held_options().iter();
            held.fold(own, |set, opt| set.with(*opt, true))
        })
    }

    /// Undoes [`Self::hold_options`].
    fn release_options(&self, tracer: &dyn Tracer) {
        let before = OptionSet::from_bits(self.options_before.load(Relaxed));
        let changed = self.change_options(|own| {
            let held = tracer.held_options().iter();
            held.fold(own, |set, opt| set.with(*opt, before.has(*opt)))
        });
        if changed.is_err() {
            pr_warn!("no memory: options are as the last tracer had them\n");
        }
    }

    /// Has a tracer of latencies obey the options `function-trace` and `display-graph`.
    ///
    /// # Errors
    ///
    /// Those of [`Tracer::obey`].
    pub(super) fn obey_latency_options(&self) -> Result {
        let present = self.tracer.lock();
        match present.keeps_maximum() {
            true => present.obey(&self.host(self.options())),
            false => Ok(()),
        }
    }

    /// Returns whether the present tracer holds `opt`.
    pub(super) fn tracer_holds(&self, opt: Opt) -> bool {
        self.tracer.lock().held_options().contains(&opt)
    }

    /// Returns whether the tracer keeps the trace of the longest latency: `trace` shows it, and the snapshot is not
    /// to be had.
    pub(crate) fn keeps_maximum(&self) -> bool {
        self.tracer.lock().keeps_maximum()
    }

    /// Returns the longest latency whose trace the tracer has kept.
    pub(crate) fn maximum(&self) -> Option<KeptMaximum> {
        self.tracer.lock().maximum()
    }

    /// Has the trace of the longest latency kept, if it is not by now, and the next one as soon as there is one.
    pub(super) fn keep_maximum(&self) {
        self.buffers().settle_exchange();
        // One that comes after that asks for this anew: there may be one all the time.
        if tracers::keep_maximum(&self.sink) {
            self.buffers().settle_exchange();
        }
    }

    /// Has programs be told soon that the tracer has seen a longest latency.
    pub(super) fn tell_maximum(&self) {
        self.untold.store(true, Relaxed);
        if let Some(teller) = &*TELLER.lock() {
            // After the store, which the worker sees.
            teller.want(TELLING);
        }
    }

    /// Returns the longest latency that the tracer has seen, in nanoseconds.
    pub(crate) fn max_latency(&self) -> u64 {
        self.sink.max_latency()
    }

    /// Has longer latencies than this one, in nanoseconds, be seen.
    pub(crate) fn set_max_latency(&self, ns: u64) {
        self.sink.set_max_latency(ns);
    }

    /// Has the tracer obey which CPUs are recorded, and whether recording is on.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; the tracer may record nothing then.
    pub(crate) fn tell_tracer(&self) -> Result {
        self.tracer.lock().follow(&self.host(self.options()))
    }

    /// Returns whether the tracer records anything by itself.
    pub(super) fn tracer_records(&self) -> bool {
        self.tracer_records.load(Relaxed)
    }

    /// Returns whose calls what is recorded is printed as, if it is.
    pub(crate) fn call_lines(&self) -> Option<CallLines> {
        let lines = CallLines::of_number(self.tracer_lines.load(Relaxed))?;
        let shown = lines == CallLines::Tracer || self.options().has(Opt::DisplayGraph);
        shown.then_some(lines)
    }

    /// Has calls from this depth on not be recorded; 0 for all.
    pub(crate) fn set_max_depth(&self, depth: u32) {
        self.functions.set_max_depth(depth);
    }

    /// Returns what is asked of calls.
    pub(crate) fn graph(&self) -> &GraphRules {
        self.functions.rules()
    }

    /// Returns what tracers have of this instance, with these options.
    fn host(&self, options: OptionSet) -> Host<'_> {
        // SAFETY: Both are parts of this instance, which does not move; `forget_tracer` stops the tracer
        // before the instance goes.
        unsafe {
            Host::new(
                &self.sink,
                &self.functions,
                options,
                &self.cpus,
                self.is_top(),
            )
        }
    }

    /// Writes the functions that `kind` selects.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel's list of functions.
    pub(crate) fn show_functions(&self, kind: FilterKind, out: &mut dyn ByteWrite) -> Result {
        self.functions.show(kind, out)?;
        match kind {
            FilterKind::Filter => self.show_commands(out),
            _ => Ok(()),
        }
    }

    /// Begins to edit what `kind` selects, with nothing when `empty`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel's list of functions.
    pub(crate) fn edit_functions(&self, kind: FilterKind, empty: bool) -> Result<Edit> {
        match empty {
            true => {
                self.functions.forget_waiting(kind);
                Ok(Edit::empty(kind))
            }
            false => Edit::of(&self.functions, kind),
        }
    }

    /// Obeys a word of an edited selection. A command counts at once, and one that names a module that is not
    /// loaded is remembered, or forgotten, at once.
    ///
    /// # Errors
    ///
    /// `EINVAL` for one that is wrong or selects nothing, `ENODEV` for a command to the stack tracer or one that names a
    /// module there, those of [`Self::obey_command`], `ENOMEM`, and those of the kernel's list of functions.
    pub(crate) fn obey_word(&self, edit: &mut Edit, word: &[u8]) -> Result {
        match edit.kind() {
            FilterKind::Filter if self.obey_command(word)? => return Ok(()),
            // As in ftrace, the stack tracer is no instance that could obey, nor could a word wait for a module there.
            FilterKind::Stack
                if is_for_modules(word) || !matches!(CommandWord::parse(word), Ok(None)) =>
            {
                return Err(ENODEV);
            }
            _ => {}
        }
        self.functions.obey(edit, word)
    }

    /// Has an edited selection count from now on.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel: it is as before.
    pub(crate) fn store_functions(&self, edit: Edit) -> Result {
        self.functions.store(&self.sink, edit)
    }

    /// Returns whether calls of functions are counted.
    pub(crate) fn profiles_functions(&self) -> bool {
        self.functions.profiles()
    }

    /// Begins to count calls of functions, if it does not already, and to measure their times if `timed`. Of
    /// the top instance alone.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel: nothing is counted.
    pub(crate) fn profile_functions(&self, timed: bool) -> Result {
        let options = self.options();
        self.functions.start_profile(Measure {
            times: timed,
            sleep: options.has(Opt::SleepTime),
            calls: options.has(Opt::GraphTime),
        })
    }

    /// Ends that. What was counted stays.
    pub(crate) fn stop_profile(&self) {
        self.functions.stop_profile();
    }

    /// Returns whether the deepest stack is looked for.
    pub(crate) fn traces_stacks(&self) -> bool {
        self.functions.traces_stacks()
    }

    /// Begins to look for the deepest stack, if it does not already. Of the top instance alone.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel.
    pub(crate) fn trace_stacks(&self) -> Result {
        self.functions.start_stacks()
    }

    /// Ends that. What was seen stays.
    pub(crate) fn stop_stacks(&self) {
        self.functions.stop_stacks();
    }

    /// Has the tracer record what it has counted and not recorded yet.
    pub(crate) fn hand_in(&self) {
        self.functions.hand_in(&self.sink);
    }
}

impl FunctionsFollower for Instance {
    fn came(&self, name: &str) {
        self.functions.welcome(&self.sink, name);
    }

    fn went(&self, is_gone: &dyn Fn(u64) -> bool) {
        self.functions.forget(&self.sink, is_gone);
        self.forget_commands_of_functions(is_gone);
    }
}
