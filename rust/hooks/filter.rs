// SPDX-License-Identifier: GPL-2.0

//! What `set_ftrace_filter` and `set_ftrace_notrace` of one instance select, and the editing of it.
//!
//! A selection is changed as a whole: a file that is open for writing edits a copy, which counts from
//! when the file is closed. Process context.

use super::{
    engine::{
        self,
        Wanted, //
    },
    graph,
    list::{
        self,
        Functions, //
    }, //
};
use crate::{
    functions::{
        marks,
        words::FilterWord, //
    },
    kapi::{
        c,
        grace,
        sort, //
    },
    probes::{
        GraphPlaces,
        GraphRules,
        Sink, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};
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
    fn is_of_calls(self) -> bool {
        matches!(self, Self::GraphFunction | Self::GraphNotrace)
    }
}

/// Addresses of functions in ascending order; `None` when none was selected. An empty list is what is
/// left when the modules of all functions in it went.
type Selection = Option<KVVec<u64>>;

/// The selections of an instance.
struct Selections {
    filter: Selection,
    notrace: Selection,
    graph_function: Selection,
    graph_notrace: Selection,
    /// What the hooks see of the latter two.
    places: Option<KBox<GraphPlaces>>,
    /// Whether the instance records functions.
    is_on: bool,
    /// It records their calls from entry to exit.
    graphs: bool,
}

impl Selections {
    fn of(&self, kind: FilterKind) -> &Selection {
        match kind {
            FilterKind::Filter => &self.filter,
            FilterKind::Notrace => &self.notrace,
            FilterKind::GraphFunction => &self.graph_function,
            FilterKind::GraphNotrace => &self.graph_notrace,
        }
    }

    fn of_mut(&mut self, kind: FilterKind) -> &mut Selection {
        match kind {
            FilterKind::Filter => &mut self.filter,
            FilterKind::Notrace => &mut self.notrace,
            FilterKind::GraphFunction => &mut self.graph_function,
            FilterKind::GraphNotrace => &mut self.graph_notrace,
        }
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
    selections: Mutex<Selections>,
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
            }),
            rules: GraphRules::new(),
        })
    }

    /// Returns what is asked of calls besides.
    pub(crate) fn rules(&self) -> &GraphRules {
        &self.rules
    }

    /// Begins to record the selected functions into `sink`, for which it does not record already.
    ///
    /// # Errors
    ///
    /// `ENOSPC` when too many instances do, `ENOMEM`, and those of the kernel.
    ///
    /// # Safety
    ///
    /// The sink stays until [`Self::stop`] for it has returned; it is always the same.
    pub(crate) unsafe fn start(&self, sink: &Sink) -> Result {
        let mut selections = self.selections.lock();
        let wanted = selections.wanted()?;
        // SAFETY: The sink stays until `stop` has returned, which detaches it.
        unsafe { engine::attach(sink, wanted) }?;
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

    /// Stops that. Nothing is recorded into `sink` any more when this returns.
    pub(crate) fn stop(&self, sink: &Sink) {
        let mut selections = self.selections.lock();
        if selections.is_on {
            selections.detach(sink);
        }
    }

    /// Writes the functions of a selection, one per line.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of [`list::current`].
    pub(crate) fn show(&self, kind: FilterKind, out: &mut dyn Write) -> Result {
        let selections = self.selections.lock();
        let Some(selection) = selections.of(kind) else {
            return out
                .write_str(match kind {
                    FilterKind::Filter | FilterKind::GraphFunction => {
                        "#### all functions enabled ####\n"
                    }
                    FilterKind::Notrace | FilterKind::GraphNotrace => {
                        "#### no functions disabled ####\n"
                    }
                })
                .map_err(|fmt::Error| ENOMEM);
        };
        if selection.is_empty() {
            return Ok(());
        }
        let functions = list::current()?;
        for function in functions.list().iter() {
            if selection.binary_search(&function.address).is_ok() {
                let name = core::str::from_utf8(function.shown).map_err(|_| EINVAL)?;
                writeln!(out, "{name}").map_err(|fmt::Error| ENOMEM)?;
            }
        }
        Ok(())
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
        let selected = edit.into_selection()?;
        self.put(&mut selections, sink, kind, selected)
    }

    /// Replaces a selection, and has the hook follow.
    fn put(
        &self,
        selections: &mut Selections,
        sink: &Sink,
        kind: FilterKind,
        selected: Selection,
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
    pub(super) fn forget(&self, sink: &Sink, is_gone: &dyn Fn(u64) -> bool) {
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

    /// Takes new functions in where all but some are selected.
    pub(super) fn welcome(&self, sink: &Sink) {
        let mut selections = self.selections.lock();
        if selections.is_on && selections.all_is_a_list() {
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

/// Lets other tasks run.
fn breathe() {
    c::rt_cond_resched();
}

/// A selection that is being edited.
pub(crate) struct Edit {
    kind: FilterKind,
    lines: Option<Lines>,
}

/// Marks in a list of functions.
struct Lines {
    functions: Arc<Functions>,
    marks: KVVec<u64>,
}

impl Lines {
    /// Returns marks of no function.
    fn none() -> Result<Self> {
        let functions = list::current()?;
        let words = marks::words(functions.list().len());
        Ok(Self {
            marks: KVVec::from_elem(0, words, GFP_KERNEL)?,
            functions,
        })
    }

    /// Returns marks of the functions at `addresses`, which are in ascending order.
    fn of(addresses: &[u64]) -> Result<Self> {
        let mut lines = Self::none()?;
        for (at, function) in lines.functions.list().iter().enumerate() {
            if addresses.binary_search(&function.address).is_ok() {
                marks::put(&mut lines.marks, at, true);
            }
        }
        Ok(lines)
    }

    /// Returns the addresses that are marked, in ascending order.
    fn addresses(&self) -> Result<KVVec<u64>> {
        let mut addresses = KVVec::new();
        let list = self.functions.list();
        for function in marks::iter(&self.marks).filter_map(|at| list.get(at)) {
            addresses.push(function.address, GFP_KERNEL)?;
        }
        sort::ascending(&mut addresses);
        Ok(addresses)
    }
}

impl Edit {
    /// Begins with nothing selected.
    pub(crate) fn empty(kind: FilterKind) -> Self {
        Self { kind, lines: None }
    }

    /// Begins with what `filter` has.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of [`list::current`].
    pub(crate) fn of(filter: &FunctionFilter, kind: FilterKind) -> Result<Self> {
        let lines = match filter.selections.lock().of(kind) {
            Some(selection) => Some(Lines::of(selection)?),
            None => None,
        };
        Ok(Self { kind, lines })
    }

    /// Obeys a word.
    ///
    /// # Errors
    ///
    /// `EINVAL` for one that is wrong or selects no function, `ENOMEM`, and those of [`list::current`].
    pub(crate) fn obey(&mut self, word: &[u8]) -> Result {
        let word = FilterWord::parse(word).map_err(|_| EINVAL)?;
        if self.kind.is_of_calls() && !word.selection.is_plain() {
            return Err(EINVAL);
        }
        let lines = match self.lines.take() {
            Some(lines) => lines,
            None => Lines::none()?,
        };
        let Lines { functions, marks } = self.lines.insert(lines);
        let before = marks::count(marks);
        let any = match marks::obey(marks, functions.list(), &word, breathe) {
            // Of calls, a word that takes nothing out is wrong.
            true => !word.removes || !self.kind.is_of_calls() || marks::count(marks) != before,
            false => false,
        };
        any.then_some(()).ok_or(EINVAL)
    }

    /// Returns the addresses that are selected.
    fn into_selection(self) -> Result<Selection> {
        let Some(lines) = self.lines else {
            return Ok(None);
        };
        if marks::is_empty(&lines.marks) {
            return Ok(None);
        }
        let addresses = lines.addresses()?;
        if list::is_current(&lines.functions) {
            return Ok(Some(addresses));
        }
        Ok(Some(Lines::of(&addresses)?.addresses()?))
    }
}
