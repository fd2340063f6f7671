// SPDX-License-Identifier: GPL-2.0

//! Which functions one instance selects in its four files, and which ones all four together mean. Process
//! context, under the lock of the filter.

use super::{
    deepest,
    engine::{
        self,
        WantedFunctions, //
    },
    graph,
    list::{
        self,
        Functions, //
    },
    profile,
    waiting::SelectionWords, //
};
use crate::{
    kapi::{
        kept::KeptValue,
        sort, //
    },
    probes::{
        IdleRepeats,
        Manner,
        Sink, //
    },
    text::writer::ByteWrite, //
};
use core::fmt;
use kernel::prelude::*;

/// One of the two selections.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilterKind {
    /// Functions that are traced; none means all.
    Filter,
    /// Functions that are not traced.
    Notrace,
    /// Functions whose calls are followed, with all in them; none means all.
    GraphFunction,
    /// Functions whose calls are not followed, nor what is in them.
    GraphNotrace,
    /// Functions at which the stack tracer looks; none means all.
    Stack,
}

impl FilterKind {
    pub(super) const ALL: [Self; 5] = [
        Self::Filter,
        Self::Notrace,
        Self::GraphFunction,
        Self::GraphNotrace,
        Self::Stack,
    ];

    /// Returns whether it decides over calls and not over functions.
    pub(super) fn is_of_calls(self) -> bool {
        matches!(self, Self::GraphFunction | Self::GraphNotrace)
    }
}

/// Addresses of functions in ascending order; `None` when none was selected. An empty list is what is
/// left when the modules of all functions in it went.
pub(super) type SelectedFunctions = Option<KVVec<u64>>;

/// The selections of an instance.
pub(super) struct Selections {
    filter: SelectedFunctions,
    notrace: SelectedFunctions,
    graph_function: SelectedFunctions,
    graph_notrace: SelectedFunctions,
    stack: SelectedFunctions,
    /// Whether the instance records functions.
    pub(super) is_on: bool,
    /// It records their calls from entry to exit.
    pub(super) graphs: bool,
    /// The profiler counts them.
    pub(super) profiles: bool,
    /// The stack tracer looks at its own.
    pub(super) stacks: bool,
    /// What each selects of modules that are not loaded, the newest first.
    pub(super) waiting: SelectionWords,
    waiting_notrace: SelectionWords,
    /// How it does, or would.
    pub(super) manner: Manner,
    /// Repeats that it counts, while it records functions.
    idle: Option<IdleRepeats>,
}

impl Selections {
    /// Returns those of an instance that selects every function, and records none.
    pub(super) fn none() -> Self {
        Self {
            filter: None,
            notrace: None,
            graph_function: None,
            graph_notrace: None,
            stack: None,
            is_on: false,
            graphs: false,
            profiles: false,
            stacks: false,
            waiting: SelectionWords::none(),
            waiting_notrace: SelectionWords::none(),
            manner: Manner::default(),
            idle: None,
        }
    }

    pub(super) fn of(&self, kind: FilterKind) -> &SelectedFunctions {
        match kind {
            FilterKind::Filter => &self.filter,
            FilterKind::Notrace => &self.notrace,
            FilterKind::GraphFunction => &self.graph_function,
            FilterKind::GraphNotrace => &self.graph_notrace,
            FilterKind::Stack => &self.stack,
        }
    }

    pub(super) fn of_mut(&mut self, kind: FilterKind) -> &mut SelectedFunctions {
        match kind {
            FilterKind::Filter => &mut self.filter,
            FilterKind::Notrace => &mut self.notrace,
            FilterKind::GraphFunction => &mut self.graph_function,
            FilterKind::GraphNotrace => &mut self.graph_notrace,
            FilterKind::Stack => &mut self.stack,
        }
    }

    /// Returns what waits for modules, where anything can.
    pub(super) fn waiting_of(&mut self, kind: FilterKind) -> Option<&mut SelectionWords> {
        match kind {
            FilterKind::Filter => Some(&mut self.waiting),
            FilterKind::Notrace => Some(&mut self.waiting_notrace),
            FilterKind::GraphFunction | FilterKind::GraphNotrace | FilterKind::Stack => None,
        }
    }

    /// Adds what waits for the module `name`, of those of its functions that are in `list`, and forgets it.
    /// Returns whether there was anything.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    pub(super) fn select_of_module(
        &mut self,
        kind: FilterKind,
        name: &[u8],
        list: &Functions,
    ) -> Result<bool> {
        let mut selected = KVVec::new();
        selected.extend_from_slice(self.of(kind).as_deref().unwrap_or_default(), GFP_KERNEL)?;
        let Some(waiting) = self.waiting_of(kind).filter(|waiting| waiting.is_for(name)) else {
            return Ok(false);
        };
        waiting.add_selected(name, list, &mut selected)?;
        waiting.forget(name);
        // Where nothing was found, nothing is selected, and not everything.
        *self.of_mut(kind) = match (kind, selected.is_empty()) {
            (FilterKind::Notrace, true) => None,
            _ => Some(selected),
        };
        Ok(true)
    }

    /// Records repeats that were counted and are not recorded yet.
    pub(super) fn hand_in(&self, sink: &Sink) {
        if let Some(repeats) = &self.manner.repeats {
            repeats.hand_in(sink);
        }
    }

    /// Records functions in another manner.
    pub(super) fn put_manner(&mut self, sink: &Sink, manner: Manner) -> Result {
        // The other tracer, which records calls, has no manners.
        if self.is_on && !self.graphs {
            engine::change_manner(sink, manner.clone())?;
        }
        self.manner = manner;
        Ok(())
    }

    /// The same, where repeats may be counted that were not before, or no longer.
    pub(super) fn change_manner(&mut self, sink: &KeptValue<Sink>, manner: Manner) -> Result {
        if self.is_on && !self.graphs {
            self.watch_idle(sink, &manner)?;
        }
        let before = self.manner.clone();
        self.put_manner(sink, manner).inspect_err(|_| {
            // Without memory for it a reader finds the repeats.
            let _ = self.watch_idle(sink, &before);
        })
    }

    /// Returns the functions that both together mean.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of [`list::current`].
    pub(super) fn wanted(&self) -> Result<WantedFunctions> {
        let without: &[u64] = self.notrace.as_deref().unwrap_or_default();
        let mut wanted = KVVec::new();
        match &self.filter {
            Some(filter) => wanted.extend_from_slice(filter, GFP_KERNEL)?,
            None if without.is_empty() && !self.graphs => return Ok(WantedFunctions::All),
            None => {
                let functions = list::current()?;
                for function in functions.list().iter() {
                    wanted.push(function.address, GFP_KERNEL)?;
                }
                sort::ascending(&mut wanted);
            }
        }
        wanted.retain(|address| *address != 0 && without.binary_search(address).is_err());
        Ok(WantedFunctions::Only(wanted))
    }

    /// Returns whether the functions are a list of all there are, but some.
    pub(super) fn all_is_a_list(&self) -> bool {
        self.filter.is_none() && (self.notrace.is_some() || self.graphs)
    }

    /// Returns whether functions are hooked that are a list of all there are, but some.
    pub(super) fn hooks_a_list(&self) -> bool {
        self.is_on && self.all_is_a_list() || self.profiles && self.filter.is_none()
    }

    /// Returns the addresses of the functions that the profiler counts, in ascending order.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of [`list::current`].
    pub(super) fn profiled(&self) -> Result<KVVec<u64>> {
        graph::addresses(self.wanted()?)
    }

    /// Returns the functions at which the stack tracer looks.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn measured(&self) -> Result<WantedFunctions> {
        let Some(selected) = &self.stack else {
            return Ok(WantedFunctions::All);
        };
        let mut wanted = KVVec::new();
        wanted.extend_from_slice(selected, GFP_KERNEL)?;
        Ok(WantedFunctions::Only(wanted))
    }

    /// Has the stack tracer follow its selection, less what `is_gone` names.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel: it follows what it followed before.
    pub(super) fn follow_stacks(&self, is_gone: &dyn Fn(u64) -> bool) -> Result {
        match self.stacks {
            true => deepest::change(&self.measured()?.without(is_gone)),
            false => Ok(()),
        }
    }

    /// Has the tracer and the profiler follow the selections, less what `is_gone` names.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel: one may follow what it followed before.
    pub(super) fn follow(&self, sink: &Sink, is_gone: &dyn Fn(u64) -> bool) -> Result {
        if self.is_on {
            let wanted = self.wanted()?.without(is_gone);
            match self.graphs {
                true => graph::change(sink, wanted)?,
                false => engine::change(sink, wanted)?,
            }
        }
        if self.profiles {
            let mut wanted = self.profiled()?;
            wanted.retain(|address| !is_gone(*address));
            profile::change(wanted)?;
        }
        Ok(())
    }

    /// Ends the stack tracer, if it is on.
    pub(super) fn detach_stacks(&mut self) {
        if core::mem::take(&mut self.stacks) {
            deepest::stop();
        }
    }

    /// Has the hooks record nothing into `sink` any more, nor count.
    pub(super) fn detach_all(&mut self, sink: &Sink) {
        if self.is_on {
            self.detach(sink);
        }
        if core::mem::take(&mut self.profiles) {
            profile::stop();
        }
    }

    /// Has repeats that `manner` counts recorded when a CPU goes idle.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    pub(super) fn watch_idle(&mut self, sink: &KeptValue<Sink>, manner: &Manner) -> Result {
        let Some(repeats) = &manner.repeats else {
            self.idle = None;
            return Ok(());
        };
        if self.idle.as_ref().is_some_and(|idle| idle.is_of(repeats)) {
            return Ok(());
        }
        match IdleRepeats::new(sink, repeats.clone()) {
            Ok(idle) => self.idle = Some(idle),
            Err(ENOMEM) => return Err(ENOMEM),
            // The kernel does not tell: a reader finds them.
            Err(_) => self.idle = None,
        }
        Ok(())
    }

    /// Has the hooks record nothing into `sink` any more.
    pub(super) fn detach(&mut self, sink: &Sink) {
        self.is_on = false;
        self.idle = None;
        match core::mem::take(&mut self.graphs) {
            true => graph::detach(sink),
            false => engine::detach(sink),
        }
    }
}

/// Writes the names of the functions at these addresses, in the order of the list.
pub(super) fn show_selected(selection: &[u64], out: &mut dyn ByteWrite) -> Result<fmt::Result> {
    if selection.is_empty() {
        return Ok(Ok(()));
    }
    let functions = list::current()?;
    for function in functions.list().iter() {
        if selection.binary_search(&function.address).is_ok() {
            let line = out.write_bytes(function.shown);
            if let Err(error) = line.and_then(|()| out.write_char('\n')) {
                return Ok(Err(error));
            }
        }
    }
    Ok(Ok(()))
}
