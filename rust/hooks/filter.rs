// SPDX-License-Identifier: GPL-2.0

//! The selections of one instance: how they change while its tracer records, and what the hooks are told then.
//!
//! A selection is changed as a whole, by an [`Edit`]. Process context.

use super::{
    deepest,
    edit::Edit,
    engine,
    graph,
    list,
    profile::{
        self,
        Measure, //
    },
    request::RecordingRequest,
    selections::{
        show_selected,
        FilterKind,
        SelectedFunctions,
        Selections, //
    },
    waiting::SelectionWords, //
};
use crate::{
    functions::words,
    kapi::kept::KeptValue,
    probes::{
        GraphPlaces,
        GraphRules,
        Manner,
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

/// The selections of an instance, and whether it records functions.
#[pin_data]
pub(crate) struct FunctionFilter {
    #[pin]
    pub(super) selections: Mutex<Selections>,
    rules: Arc<GraphRules>,
    /// What calls follow that a tracer of latencies records.
    followed: Arc<GraphRules>,
}

impl FunctionFilter {
    /// Returns one that selects every function.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let rules = Arc::new(GraphRules::new(), GFP_KERNEL)?;
        let followed = Arc::new(GraphRules::of_followed(), GFP_KERNEL)?;
        Arc::pin_init(
            pin_init!(Self {
                selections <- new_mutex!(Selections::none()),
                rules,
                followed,
            }),
            GFP_KERNEL,
        )
    }

    /// Returns what is asked of calls besides.
    pub(crate) fn rules(&self) -> &GraphRules {
        &self.rules
    }

    /// Returns the rules of both kinds of calls, which share the depth, the lists of tasks and the places.
    fn all_rules(&self) -> [&GraphRules; 2] {
        [&self.rules, &self.followed]
    }

    /// Has calls from this depth on not be recorded; 0 for all.
    pub(crate) fn set_max_depth(&self, depth: u32) {
        for rules in self.all_rules() {
            rules.set_max_depth(depth);
        }
    }

    /// Begins to record the selected functions into `sink`, for which it does not record already, as `how`
    /// says. It is always the same sink.
    ///
    /// # Errors
    ///
    /// `ENOSPC` when too many instances do, `ENOMEM`, and those of the kernel.
    pub(crate) fn start(&self, sink: &KeptValue<Sink>, how: RecordingRequest) -> Result {
        let mut selections = self.selections.lock();
        let wanted = selections.wanted()?;
        let manner = how.manner(&Manner {
            repeats: None,
            once: None,
            ..selections.manner.clone()
        })?;
        engine::attach(sink, wanted, manner.clone())?;
        selections.is_on = true;
        if let Err(why) = selections.watch_idle(sink, &manner) {
            selections.detach(sink);
            return Err(why);
        }
        selections.manner = manner;
        Ok(())
    }

    /// Begins to record the calls of the selected functions that follow the rules into `sink`, for which it
    /// does not record already. Time asleep counts unless it is `awake`.
    ///
    /// # Errors
    ///
    /// As for [`Self::start`].
    pub(crate) fn start_graph(&self, sink: &KeptValue<Sink>, awake: bool) -> Result {
        self.start_calls(sink, &self.rules, awake)
    }

    /// As [`Self::start_graph`], of the calls on the CPU of the task that a tracer of latencies follows.
    ///
    /// # Errors
    ///
    /// As for [`Self::start`].
    pub(crate) fn start_followed_calls(&self, sink: &KeptValue<Sink>) -> Result {
        self.start_calls(sink, &self.followed, false)
    }

    /// Begins to record the calls that follow `rules`, which are those of `self`.
    fn start_calls(&self, sink: &KeptValue<Sink>, rules: &Arc<GraphRules>, awake: bool) -> Result {
        let mut selections = self.selections.lock();
        selections.graphs = true;
        let attached = selections
            .wanted()
            .and_then(|wanted| graph::attach(sink, rules, wanted, awake));
        selections.is_on = attached.is_ok();
        selections.graphs = attached.is_ok();
        attached
    }

    /// Has time asleep not count in calls that are recorded into `sink`, or count again.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel: it is as before.
    pub(crate) fn set_awake(&self, sink: &Sink, awake: bool) -> Result {
        let selections = self.selections.lock();
        match selections.is_on && selections.graphs {
            true => graph::set_awake(sink, awake),
            false => Ok(()),
        }
    }

    /// Begins to count calls of the selected functions, and to measure their times as `measure` says. Of one
    /// instance at a time.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel: nothing is counted.
    pub(crate) fn start_profile(&self, measure: Measure) -> Result {
        let mut selections = self.selections.lock();
        if !selections.profiles {
            profile::start(selections.profiled()?, measure)?;
            selections.profiles = true;
        }
        Ok(())
    }

    /// Stops that. What was counted stays.
    pub(crate) fn stop_profile(&self) {
        let mut selections = self.selections.lock();
        if core::mem::take(&mut selections.profiles) {
            profile::stop();
        }
    }

    /// Begins to look for the deepest stack at the functions that are selected for that, if it does not already.
    /// Of one instance at a time.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel.
    pub(crate) fn start_stacks(&self) -> Result {
        let mut selections = self.selections.lock();
        if !selections.stacks {
            deepest::start(&selections.measured()?)?;
            selections.stacks = true;
        }
        Ok(())
    }

    /// Stops that. What was seen stays.
    pub(crate) fn stop_stacks(&self) {
        self.selections.lock().detach_stacks();
    }

    /// Returns whether the deepest stack is looked for.
    pub(crate) fn traces_stacks(&self) -> bool {
        self.selections.lock().stacks
    }

    /// Returns whether they are counted.
    pub(crate) fn profiles(&self) -> bool {
        self.selections.lock().profiles
    }

    /// Records functions as `how` says from now on.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: it is as before.
    pub(crate) fn change(&self, sink: &KeptValue<Sink>, how: RecordingRequest) -> Result {
        let mut selections = self.selections.lock();
        let manner = how.manner(&selections.manner)?;
        let before = selections.manner.repeats.clone();
        selections.change_manner(sink, manner)?;
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
            pids: pids.clone(),
            ..selections.manner.clone()
        };
        selections.put_manner(sink, manner)?;
        let [all, followed] = self.all_rules().map(|rules| rules.set_pids(pids.clone()));
        drop(all.and(followed));
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
                FilterKind::Filter | FilterKind::GraphFunction | FilterKind::Stack => {
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

    /// Obeys a word of `edit`. One that selects no function because its module is not loaded is remembered, or
    /// forgotten, from now on.
    ///
    /// # Errors
    ///
    /// Those of [`Edit::obey`]; `EINVAL` for a word that selects no function and names no module, or one that is
    /// loaded; for `!` before one that was not remembered; `ENOSPC` if too many are.
    pub(crate) fn obey(&self, edit: &mut Edit, word: &[u8]) -> Result {
        // Once more for each module that comes or goes meanwhile.
        while !edit.obey(word)? && !self.remember(edit, word)? {}
        Ok(())
    }

    /// Remembers a word that selects no function in `edit`, or forgets one, from now on. Returns false and does
    /// nothing if a module has come or gone since `edit` has obeyed the word.
    ///
    /// # Errors
    ///
    /// As for [`Self::obey`].
    fn remember(&self, edit: &Edit, word: &[u8]) -> Result<bool> {
        let (pattern, module) = words::of_module(word).ok_or(EINVAL)?;
        let mut selections = self.selections.lock();
        // A module that comes from here on waits for the lock, and finds then what waits for it.
        let Some(functions) = edit.current() else {
            return Ok(false);
        };
        let waiting = selections.waiting_of(edit.kind).ok_or(EINVAL)?;
        if word.first() == Some(&b'!') {
            return match waiting.take_out(pattern, module) {
                true => Ok(true),
                false => Err(EINVAL),
            };
        }
        let mut functions = functions.list().iter();
        if functions.any(|function| function.module == Some(module)) {
            return Err(EINVAL);
        }
        waiting.add(word)?;
        Ok(true)
    }

    /// Forgets all that waits for modules.
    pub(crate) fn forget_waiting(&self, kind: FilterKind) {
        if let Some(waiting) = self.selections.lock().waiting_of(kind) {
            *waiting = SelectionWords::none();
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
        if kind == FilterKind::Stack {
            let followed = selections.follow_stacks(&|_| false);
            if followed.is_err() {
                *selections.of_mut(kind) = before;
            }
            return followed;
        }
        let followed = selections.follow(sink, &|_| false);
        if followed.is_err() {
            *selections.of_mut(kind) = before;
            // Where one of them followed, it goes back.
            if selections.profiles && selections.is_on {
                self.follow_again(selections, sink, &|_| false);
            }
        }
        followed
    }

    /// Has the hooks see the selections of calls.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: they see what they saw before.
    fn publish(&self, selections: &mut Selections) -> Result {
        let only = selections.of(FilterKind::GraphFunction);
        let never = selections.of(FilterKind::GraphNotrace);
        let places = match (only, never) {
            (None, None) => None,
            _ => Some(Arc::new(
                GraphPlaces::new(only.as_deref(), never.as_deref())?,
                GFP_KERNEL,
            )?),
        };
        let [all, followed] = self
            .all_rules()
            .map(|rules| rules.set_places(places.clone()));
        drop(all.and(followed));
        Ok(())
    }

    /// Takes the functions out that `is_gone` names: they cannot be traced any more.
    pub(crate) fn forget(&self, sink: &Sink, is_gone: &dyn Fn(u64) -> bool) {
        let mut selections = self.selections.lock();
        let (mut any, mut any_call, mut any_stack) = (false, false, false);
        for kind in FilterKind::ALL {
            if let Some(selection) = selections.of_mut(kind) {
                let len = selection.len();
                selection.retain(|address| !is_gone(*address));
                let some = len != selection.len();
                any |= some && !kind.is_of_calls() && kind != FilterKind::Stack;
                any_call |= some && kind.is_of_calls();
                any_stack |= some && kind == FilterKind::Stack;
            }
        }
        if any_call && self.publish(&mut selections).is_err() {
            pr_warn!("functions of a module that went are still followed\n");
        }
        if any_stack {
            if let Err(error) = selections.follow_stacks(is_gone) {
                pr_warn!("no stack is measured any more: {error:?}\n");
                selections.detach_stacks();
            }
        }
        // All functions but some are a list of addresses, too, which has what went.
        if any || selections.hooks_a_list() {
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
        if is_new || selections.hooks_a_list() {
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
        if let Err(error) = selections.follow(sink, is_gone) {
            pr_warn!("no function is traced any more: {error:?}\n");
            selections.detach_all(sink);
        }
    }
}
