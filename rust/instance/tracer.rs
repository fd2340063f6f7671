// SPDX-License-Identifier: GPL-2.0

//! The tracer of an instance: `current_tracer`.

use super::{
    enable,
    Instance, //
};
use crate::{
    buffers::CpuSel,
    hooks::{
        Edit,
        FilterKind,
        FunctionFilter, //
    },
    probes::{
        GraphRules,
        Sink, //
    },
    text::options::Owner,
    tracers::{
        Host,
        Tracer,
        NOP, //
    }, //
};
use core::fmt::Write;
use kernel::{
    prelude::*,
    sync::atomic::Relaxed, //
};

impl Instance {
    /// Returns the name of the present tracer.
    pub(crate) fn tracer_name(&self) -> &'static str {
        self.tracer.lock().name()
    }

    /// Stops the present tracer and starts `tracer`.
    ///
    /// # Errors
    ///
    /// `EBUSY` while a `trace_pipe` is open, `ENOMEM`: nothing has changed. Those of [`Tracer::start`]; then
    /// the tracer is `nop`.
    pub(crate) fn set_tracer(&self, tracer: &'static dyn Tracer) -> Result {
        let mut present = self.tracer.lock();
        if present.name() == tracer.name() {
            return Ok(());
        }
        if !self.pipes.lock().is_empty() {
            return Err(EBUSY);
        }
        self.buffers().expand()?;
        self.stop_tracer(&mut present);
        self.clear(CpuSel::All)?;
        tracer.start(&self.host())?;
        *present = tracer;
        self.tracer_is_graph.store(tracer.is_graph(), Relaxed);
        if tracer.records() {
            self.tracer_records.store(true, Relaxed);
            enable::count_recorders(|n| n.saturating_add(1));
        }
        Ok(())
    }

    /// Has nothing record any more but events, for good.
    pub(super) fn forget_tracer(&self) {
        self.stop_tracer(&mut self.tracer.lock());
    }

    fn stop_tracer(&self, present: &mut &'static dyn Tracer) {
        present.stop(&self.host());
        *present = NOP;
        self.tracer_is_graph.store(false, Relaxed);
        if self.tracer_records.load(Relaxed) {
            self.tracer_records.store(false, Relaxed);
            enable::count_recorders(|n| n.saturating_sub(1));
        }
    }

    /// Returns whether the tracer records anything by itself.
    pub(super) fn tracer_records(&self) -> bool {
        self.tracer_records.load(Relaxed)
    }

    /// Returns whether what is recorded is printed as calls.
    pub(crate) fn tracer_is_graph(&self) -> bool {
        self.tracer_is_graph.load(Relaxed)
    }

    /// Returns the owner of the options that the tracer has besides those of each instance.
    pub(crate) fn tracer_owner(&self) -> Option<Owner> {
        self.tracer_is_graph().then_some(Owner::Graph)
    }

    /// Returns what is asked of calls.
    pub(crate) fn graph(&self) -> &GraphRules {
        self.functions.rules()
    }

    /// Returns what tracers have of this instance.
    fn host(&self) -> Host<'_> {
        // SAFETY: Both are parts of this instance, which does not move; `forget_tracer` stops the tracer
        // before the instance goes.
        unsafe { Host::new(&self.sink, &self.functions) }
    }

    /// Writes the functions that `kind` selects.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel's list of functions.
    pub(crate) fn show_functions(&self, kind: FilterKind, out: &mut dyn Write) -> Result {
        self.functions.show(kind, out)
    }

    /// Begins to edit what `kind` selects, with nothing when `empty`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel's list of functions.
    pub(crate) fn edit_functions(&self, kind: FilterKind, empty: bool) -> Result<Edit> {
        match empty {
            true => Ok(Edit::empty(kind)),
            false => Edit::of(&self.functions, kind),
        }
    }

    /// Has an edited selection count from now on.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel: it is as before.
    pub(crate) fn store_functions(&self, edit: Edit) -> Result {
        self.functions.store(&self.sink, edit)
    }

    /// Calls `f` with what follows modules.
    pub(super) fn with_functions(&self, f: &dyn Fn(&FunctionFilter, &Sink)) {
        f(&self.functions, &self.sink);
    }
}
