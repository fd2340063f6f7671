// SPDX-License-Identifier: GPL-2.0

//! What `set_ftrace_filter` and `set_ftrace_notrace` of one instance select, and how it is recorded.
//!
//! A selection is changed as a whole, by an [`Edit`]. Process context.

use super::{
    edit::Edit,
    engine::{
        self,
        Wanted, //
    },
    graph,
    list::{
        self,
        Functions, //
    },
    waiting::Waiting, //
};
use crate::{
    functions::words,
    kapi::{
        grace,
        sort,
        stack, //
    },
    probes::{
        GraphPlaces,
        GraphRules,
        Manner,
        Repeats,
        Sink,
        TracedPids, //
    },
    text::writer::ByteWrite, //
};
use core::fmt;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

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
}

impl FilterKind {
    const ALL: [Self; 4] = [
        Self::Filter,
        Self::Notrace,
        Self::GraphFunction,
        Self::GraphNotrace,
    ];

    /// Returns whether it decides over calls and not over functions.
    pub(super) fn is_of_calls(self) -> bool {
        matches!(self, Self::GraphFunction | Self::GraphNotrace)
    }
}

/// How a tracer wants functions to be recorded.
#[derive(Clone, Copy)]
pub(crate) struct How {
    /// A record of the callers follows each.
    pub(crate) stack: bool,
    /// Repeats are recorded as a number.
    pub(crate) no_repeats: bool,
    /// With their arguments.
    pub(crate) args: bool,
}

impl How {
    /// Returns the manner that this means for an instance that has `present`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn manner(self, present: &Manner) -> Result<Manner> {
        if self.stack {
            stack::prepare()?;
        }
        let repeats = match (self.no_repeats, &present.repeats) {
            (false, _) => None,
            (true, Some(repeats)) => Some(repeats.clone()),
            (true, None) => Some(Arc::new(Repeats::new()?, GFP_KERNEL)?),
        };
        Ok(Manner {
            stack: self.stack,
            args: self.args,
            repeats,
            pids: present.pids.clone(),
            commands: None,
        })
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
    /// What the hooks see of the latter two.
    places: Option<KBox<GraphPlaces>>,
    /// Whether the instance records functions.
    is_on: bool,
    /// It records their calls from entry to exit.
    graphs: bool,
    /// What each selects of modules that are not loaded, the newest first.
    waiting: Waiting,
    waiting_notrace: Waiting,
    /// How it does, or would.
    manner: Manner,
}

impl Selections {
    pub(super) fn of(&self, kind: FilterKind) -> &SelectedFunctions {
        match kind {
            FilterKind::Filter => &self.filter,
            FilterKind::Notrace => &self.notrace,
            FilterKind::GraphFunction => &self.graph_function,
            FilterKind::GraphNotrace => &self.graph_notrace,
        }
    }

    fn of_mut(&mut self, kind: FilterKind) -> &mut SelectedFunctions {
        match kind {
            FilterKind::Filter => &mut self.filter,
            FilterKind::Notrace => &mut self.notrace,
            FilterKind::GraphFunction => &mut self.graph_function,
            FilterKind::GraphNotrace => &mut self.graph_notrace,
        }
    }

    /// Returns what waits for modules; nothing can where calls are selected.
    fn waiting_of(&mut self, kind: FilterKind) -> Option<&mut Waiting> {
        match kind {
            FilterKind::Filter => Some(&mut self.waiting),
            FilterKind::Notrace => Some(&mut self.waiting_notrace),
            FilterKind::GraphFunction | FilterKind::GraphNotrace => None,
        }
    }

    /// Adds what waits for the module `name`, of those of its functions that are in `list`, and forgets it.
    /// Returns whether there was anything.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    fn select_of_module(
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
    fn hand_in(&self, sink: &Sink) {
        if let Some(repeats) = &self.manner.repeats {
            repeats.hand_in(sink);
        }
    }

    /// Records functions in another manner.
    fn put_manner(&mut self, sink: &Sink, manner: Manner) -> Result {
        // The other tracer, which records calls, has no manners.
        if self.is_on && !self.graphs {
            engine::change_manner(sink, manner.clone())?;
        }
        self.manner = manner;
        Ok(())
    }

    /// Returns the functions that both together mean.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of [`list::current`].
    fn wanted(&self) -> Result<Wanted> {
        let without: &[u64] = self.notrace.as_deref().unwrap_or_default();
        let mut wanted = KVVec::new();
        match &self.filter {
            Some(filter) => wanted.extend_from_slice(filter, GFP_KERNEL)?,
            None if without.is_empty() && !self.graphs => return Ok(Wanted::All),
            None => {
                let functions = list::current()?;
                for function in functions.list().iter() {
                    wanted.push(function.address, GFP_KERNEL)?;
                }
                sort::ascending(&mut wanted);
            }
        }
        wanted.retain(|address| *address != 0 && without.binary_search(address).is_err());
        Ok(Wanted::Only(wanted))
    }

    /// Returns whether the functions are a list of all there are, but some.
    fn all_is_a_list(&self) -> bool {
        self.filter.is_none() && (self.notrace.is_some() || self.graphs)
    }

    /// Has the hooks follow another wish.
    fn change(&self, sink: &Sink, wanted: Wanted) -> Result {
        match self.graphs {
            true => graph::change(sink, wanted),
            false => engine::change(sink, wanted),
        }
    }

    /// Has the hooks record nothing into `sink` any more.
    fn detach(&mut self, sink: &Sink) {
        self.is_on = false;
        match core::mem::take(&mut self.graphs) {
            true => graph::detach(sink),
            false => engine::detach(sink),
        }
    }
}

/// The selections of an instance, and whether it records functions.
#[pin_data]
pub(crate) struct FunctionFilter {
    #[pin]
    pub(super) selections: Mutex<Selections>,
    rules: GraphRules,
}

impl FunctionFilter {
    /// Returns one that selects every function.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            selections <- new_mutex!(Selections {
                filter: None,
                notrace: None,
                graph_function: None,
                graph_notrace: None,
                places: None,
                is_on: false,
                graphs: false,
                waiting: Waiting::none(),
                waiting_notrace: Waiting::none(),
                manner: Manner::default(),
            }),
            rules: GraphRules::new(),
        })
    }

    /// Returns what is asked of calls besides.
    pub(crate) fn rules(&self) -> &GraphRules {
        &self.rules
    }

    /// Begins to record the selected functions into `sink`, for which it does not record already, as `how`
    /// says.
    ///
    /// # Errors
    ///
    /// `ENOSPC` when too many instances do, `ENOMEM`, and those of the kernel.
    ///
    /// # Safety
    ///
    /// The sink stays until [`Self::stop`] for it has returned; it is always the same.
    pub(crate) unsafe fn start(&self, sink: &Sink, how: How) -> Result {
        let mut selections = self.selections.lock();
        let wanted = selections.wanted()?;
        let manner = how.manner(&Manner {
            repeats: None,
            ..selections.manner.clone()
        })?;
        // SAFETY: The sink stays until `stop` has returned, which detaches it.
        unsafe { engine::attach(sink, wanted, manner.clone()) }?;
        selections.manner = manner;
        selections.is_on = true;
        Ok(())
    }

    /// Begins to record the calls of the selected functions that follow the rules into `sink`, for which it
    /// does not record already.
    ///
    /// # Errors
    ///
    /// As for [`Self::start`].
    ///
    /// # Safety
    ///
    /// As for [`Self::start`], and `self` stays as long.
    pub(crate) unsafe fn start_graph(&self, sink: &Sink) -> Result {
        let mut selections = self.selections.lock();
        selections.graphs = true;
        let attached = selections.wanted().and_then(|wanted| {
            // SAFETY: Sink and rules stay until `stop` has returned, which detaches them.
            unsafe { graph::attach(sink, &self.rules, wanted) }
        });
        selections.is_on = attached.is_ok();
        selections.graphs = attached.is_ok();
        attached
    }

    /// Records functions as `how` says from now on.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: it is as before.
    pub(crate) fn change(&self, sink: &Sink, how: How) -> Result {
        let mut selections = self.selections.lock();
        let manner = how.manner(&selections.manner)?;
        let before = selections.manner.repeats.clone();
        selections.put_manner(sink, manner)?;
        // No hook counts there any more, or all go on to.
        if let Some(repeats) = before {
            repeats.hand_in(sink);
        }
        Ok(())
    }

    /// Records functions of these tasks alone from now on, or of all.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: it is as before.
    pub(crate) fn set_pids(&self, sink: &Sink, pids: Option<Arc<TracedPids>>) -> Result {
        let mut selections = self.selections.lock();
        let manner = Manner {
            pids,
            ..selections.manner.clone()
        };
        let before = selections.manner.pids.clone();
        selections.put_manner(sink, manner)?;
        // SAFETY: It is kept in `selections.manner` until other lists, or none, were set and hooks have ended.
        unsafe { self.rules.set_pids(selections.manner.pids.as_deref()) };
        if before.is_some() {
            grace::writers_left();
        }
        Ok(())
    }

    /// Records repeats that were counted and are not recorded yet.
    pub(crate) fn hand_in(&self, sink: &Sink) {
        self.selections.lock().hand_in(sink);
    }

    /// Stops that. Nothing is recorded into `sink` any more when this returns.
    pub(crate) fn stop(&self, sink: &Sink) {
        let mut selections = self.selections.lock();
        if selections.is_on {
            selections.detach(sink);
        }
        // What was counted belongs to what was recorded.
        selections.manner.repeats = None;
    }

    /// Writes the functions of a selection, one per line.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of [`list::current`].
    pub(crate) fn show(&self, kind: FilterKind, out: &mut dyn ByteWrite) -> Result {
        let mut selections = self.selections.lock();
        match selections.of(kind) {
            None => out.write_str(match kind {
                FilterKind::Filter | FilterKind::GraphFunction => {
                    "#### all functions enabled ####\n"
                }
                FilterKind::Notrace | FilterKind::GraphNotrace => {
                    "#### no functions disabled ####\n"
                }
            }),
            Some(selection) => show_selected(selection, out)?,
        }
        .map_err(|fmt::Error| ENOMEM)?;
        match selections.waiting_of(kind) {
            Some(waiting) => waiting.show(out).map_err(|fmt::Error| ENOMEM),
            None => Ok(()),
        }
    }

    /// Remembers a word that selects no function because its module is not loaded, or forgets one, from now
    /// on.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a word that names no module, or one that is loaded; for `!` before one that was not
    /// remembered; `ENOMEM`.
    pub(crate) fn remember(&self, kind: FilterKind, word: &[u8]) -> Result {
        let (pattern, module) = words::of_module(word).ok_or(EINVAL)?;
        if word.first() == Some(&b'!') {
            let mut selections = self.selections.lock();
            let waiting = selections.waiting_of(kind).ok_or(EINVAL)?;
            return match waiting.take_out(pattern, module) {
                true => Ok(()),
                false => Err(EINVAL),
            };
        }
        let functions = list::current()?;
        let mut functions = functions.list().iter();
        if functions.any(|function| function.module == Some(module)) {
            return Err(EINVAL);
        }
        let mut selections = self.selections.lock();
        selections.waiting_of(kind).ok_or(EINVAL)?.add(word)
    }

    /// Forgets all that waits for modules.
    pub(crate) fn forget_waiting(&self, kind: FilterKind) {
        if let Some(waiting) = self.selections.lock().waiting_of(kind) {
            *waiting = Waiting::none();
        }
    }

    /// Has an edited selection count from now on.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel: the selection is as before.
    pub(crate) fn store(&self, sink: &Sink, edit: Edit) -> Result {
        let kind = edit.kind;
        let mut selections = self.selections.lock();
        // A list that is not current has functions of modules that may have gone meanwhile. Modules that go
        // from here on wait for the lock.
        let mut selected = edit.into_selection()?;
        // What waits for a module is all that is selected.
        if kind == FilterKind::Filter && selected.is_none() && !selections.waiting.is_empty() {
            selected = Some(KVVec::new());
        }
        self.put(&mut selections, sink, kind, selected)
    }

    /// Replaces a selection, and has the hook follow.
    fn put(
        &self,
        selections: &mut Selections,
        sink: &Sink,
        kind: FilterKind,
        selected: SelectedFunctions,
    ) -> Result {
        let before = core::mem::replace(selections.of_mut(kind), selected);
        if kind.is_of_calls() {
            let published = self.publish(selections);
            if published.is_err() {
                *selections.of_mut(kind) = before;
            }
            return published;
        }
        if !selections.is_on {
            return Ok(());
        }
        let result = selections
            .wanted()
            .and_then(|wanted| selections.change(sink, wanted));
        if result.is_err() {
            *selections.of_mut(kind) = before;
        }
        result
    }

    /// Has the hooks see the selections of calls.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: they see what they saw before.
    fn publish(&self, selections: &mut Selections) -> Result {
        let (only, never) = (&selections.graph_function, &selections.graph_notrace);
        let places = match (only, never) {
            (None, None) => None,
            _ => Some(KBox::new(
                GraphPlaces::new(only.as_deref(), never.as_deref())?,
                GFP_KERNEL,
            )?),
        };
        // SAFETY: It is kept in `selections.places` until another one, or none, was set and hooks have ended.
        unsafe { self.rules.set_places(places.as_deref()) };
        let before = core::mem::replace(&mut selections.places, places);
        grace::writers_left();
        drop(before);
        Ok(())
    }

    /// Takes the functions out that `is_gone` names: they cannot be traced any more.
    pub(crate) fn forget(&self, sink: &Sink, is_gone: &dyn Fn(u64) -> bool) {
        let mut selections = self.selections.lock();
        let (mut any, mut any_call) = (false, false);
        for kind in FilterKind::ALL {
            if let Some(selection) = selections.of_mut(kind) {
                let len = selection.len();
                selection.retain(|address| !is_gone(*address));
                let some = len != selection.len();
                any |= some && !kind.is_of_calls();
                any_call |= some && kind.is_of_calls();
            }
        }
        if any_call && self.publish(&mut selections).is_err() {
            pr_warn!("functions of a module that went are still followed\n");
        }
        // All functions but some are a list of addresses, too, which has what went.
        let is_list = selections.all_is_a_list();
        if selections.is_on && (any || is_list) {
            self.follow_again(&mut selections, sink, is_gone);
        }
    }

    /// Takes new functions in, of the module `name`: where all but some are selected, and where a word waits
    /// for the module.
    pub(crate) fn welcome(&self, sink: &Sink, name: &str) {
        let mut selections = self.selections.lock();
        let mut is_new = false;
        for kind in [FilterKind::Filter, FilterKind::Notrace] {
            if selections
                .waiting_of(kind)
                .is_none_or(|waiting| waiting.is_empty())
            {
                continue;
            }
            let found = list::current()
                .and_then(|list| selections.select_of_module(kind, name.as_bytes(), &list));
            match found {
                Ok(found) => is_new |= found,
                Err(error) => pr_warn!("functions of {name} are not selected: {error:?}\n"),
            }
        }
        if selections.is_on && (is_new || selections.all_is_a_list()) {
            self.follow_again(&mut selections, sink, &|_| false);
        }
    }

    /// Has the hook follow the selections, less what `is_gone` names.
    fn follow_again(
        &self,
        selections: &mut Selections,
        sink: &Sink,
        is_gone: &dyn Fn(u64) -> bool,
    ) {
        let result = selections
            .wanted()
            .and_then(|wanted| selections.change(sink, wanted.without(is_gone)));
        if let Err(error) = result {
            pr_warn!("no function is traced any more: {error:?}\n");
            selections.detach(sink);
        }
    }
}

/// Writes the names of the functions at these addresses, in the order of the list.
fn show_selected(selection: &[u64], out: &mut dyn ByteWrite) -> Result<fmt::Result> {
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
