// SPDX-License-Identifier: GPL-2.0

//! The function profiler: which functions are counted, and where. Process context.
//!
//! Each function that was wanted since the profiler began has a number, which it keeps when others are wanted:
//! what was counted stays, and calls that have not returned find their rows. Rows do not grow; where functions are
//! added there are other rows, and what is in those before is added up once no hook counts there any more. When
//! the profiler ends, that sum is kept, and nothing else.

use super::graph::cover;
use crate::{
    functions::table::{
        self,
        Place, //
    },
    kapi::{
        cpus,
        function_hook::{
            FunctionHook,
            HookedFunctions, //
        },
        grace_ref::GraceRef,
        graph_hook::{
            GraphHooks,
            KeptCall, //
        },
        publisher::Publisher,
        sort::{
            self,
            SortedItem, //
        }, //
    },
    probes::{
        ProfileDispatch,
        ProfileRows,
        SleepWatch, //
        PROFILE_DISPATCH,
    },
    text::profile::ProfileTotals, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// What was counted, and where hooks count.
struct ProfileCounts {
    /// The addresses of functions by their numbers; 0 for one that cannot be traced any more.
    functions: KVVec<u64>,
    /// What was counted in rows before those that are there now: as those, by CPU and function.
    before: KVVec<ProfileTotals>,
    /// Where the hooks count.
    rows: Option<Arc<ProfileRows>>,
}

impl ProfileCounts {
    /// Returns that of no functions.
    const fn none() -> Self {
        Self {
            functions: KVVec::new(),
            before: KVVec::new(),
            rows: None,
        }
    }

    /// Returns the addresses of the functions and their numbers.
    fn functions(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let functions = (0..).zip(self.functions.iter().copied());
        functions.filter(|(_, address)| *address != 0)
    }

    /// Returns what was counted of a function on a CPU.
    fn totals(&self, cpu: u32, function: u32) -> ProfileTotals {
        let first = (cpu as usize).wrapping_mul(self.functions.len());
        let before = self.before.get(first.wrapping_add(function as usize));
        let before = before.copied().unwrap_or_default();
        match &self.rows {
            Some(rows) => before.and(rows.totals(cpu, function)),
            None => before,
        }
    }

    /// Returns the same with those of the functions `wanted`, in ascending order, that are missing, and with
    /// rows; `None` if that is what it is. What was counted is to be taken over by [`Self::take_over`].
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn with(&self, wanted: &[u64]) -> Result<Option<Self>> {
        let mut is_known = KVVec::from_elem(false, wanted.len(), GFP_KERNEL)?;
        for (_, address) in self.functions() {
            let at = wanted.binary_search(&address);
            if let Some(place) = at.ok().and_then(|at| is_known.get_mut(at)) {
                *place = true;
            }
        }
        let missing = wanted.iter().zip(&is_known).filter(|(_, known)| !**known);
        let mut missing = missing.map(|(address, _)| *address).peekable();
        if missing.peek().is_none() && self.rows.is_some() {
            return Ok(None);
        }
        let mut functions = KVVec::new();
        for address in &self.functions {
            // The number of a function that went with its module is free: no call of it is left.
            let address = match *address {
                0 => missing.next().unwrap_or(0),
                known => known,
            };
            functions.push(address, GFP_KERNEL)?;
        }
        for address in missing {
            functions.push(address, GFP_KERNEL)?;
        }
        let rows = ProfileRows::new(functions.len())?;
        let len = functions.len().saturating_mul(cpus::most() as usize);
        Ok(Some(Self {
            before: KVVec::from_elem(ProfileTotals::default(), len, GFP_KERNEL)?,
            functions,
            rows: Some(Arc::new(rows, GFP_KERNEL)?),
        }))
    }

    /// Takes over what was counted in `other`, of functions that have the same number here.
    fn take_over(&mut self, other: &Self) {
        let functions = self.functions.len();
        for (at, place) in (0..).zip(self.before.iter_mut()) {
            let (cpu, number) = (at / functions.max(1), at % functions.max(1));
            let address = self.functions.get(number).copied();
            if address == other.functions.get(number).copied() {
                *place = place.and(other.totals(cpu as u32, number as u32));
            }
        }
    }

    /// Returns what was counted, of functions of which anything was, without rows.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn summed(&self) -> Result<Self> {
        let was_hit = |number: u32| (0..cpus::most()).any(|cpu| self.totals(cpu, number).hits != 0);
        let (mut functions, mut numbers) = (KVVec::new(), KVVec::new());
        for (number, address) in self.functions().filter(|(number, _)| was_hit(*number)) {
            functions.push(address, GFP_KERNEL)?;
            numbers.push(number, GFP_KERNEL)?;
        }
        let mut before = KVVec::new();
        for cpu in 0..cpus::most() {
            for number in &numbers {
                before.push(self.totals(cpu, *number), GFP_KERNEL)?;
            }
        }
        Ok(Self {
            functions,
            before,
            rows: None,
        })
    }
}

/// What is measured of calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Measure {
    /// The times of calls, and not hits alone.
    pub(crate) times: bool,
    /// These with the time in which the task slept.
    pub(crate) sleep: bool,
    /// And with the times of the calls in them.
    pub(crate) calls: bool,
}

impl Measure {
    /// Returns whether all time of a call counts.
    fn is_whole(self) -> bool {
        self.sleep && self.calls
    }
}

/// The profiler.
struct ProfileEngine {
    /// Whether it counts, or has ended.
    is_on: bool,
    /// What is, or was, measured.
    measure: Measure,
    /// What does not count of the times of tasks, while it counts and not all does. It goes after `dispatch`.
    times: Option<SleepWatch>,
    counted: ProfileCounts,
    calls: GraphHooks,
    hits: FunctionHook,
    dispatch: Publisher<ProfileDispatch>,
}

crate::kapi::global::global_mutex! {
    static ENGINE: Mutex<ProfileEngine> = ProfileEngine {
        is_on: false,
        measure: Measure {
            times: true,
            sleep: true,
            calls: true,
        },
        times: None,
        counted: ProfileCounts::none(),
        calls: GraphHooks::of_profiler(),
        hits: FunctionHook::of_counts(),
        dispatch: Publisher::of(&PROFILE_DISPATCH),
    };
}

/// A function, and what was counted of it on a CPU.
#[derive(Clone, Copy)]
pub(crate) struct ProfiledFunction {
    pub(crate) address: u64,
    pub(crate) totals: ProfileTotals,
}

impl SortedItem for ProfiledFunction {
    fn key(&self) -> (u64, u64) {
        (self.address, 0)
    }
}

/// What the profiler has counted on a CPU.
pub(crate) struct ProfileReport {
    /// Whether times were measured.
    pub(crate) is_timed: bool,
    /// The functions that were called there, in ascending order of their addresses.
    pub(crate) functions: KVVec<ProfiledFunction>,
}

/// Returns what was counted on `cpu`.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn profile_report(cpu: u32) -> Result<ProfileReport> {
    let engine = ENGINE.lock();
    let mut functions = KVVec::new();
    for (number, address) in engine.counted.functions() {
        let totals = engine.counted.totals(cpu, number);
        if totals.hits != 0 {
            functions.push(ProfiledFunction { address, totals }, GFP_KERNEL)?;
        }
    }
    sort::ascending(&mut functions);
    Ok(ProfileReport {
        is_timed: engine.measure.times,
        functions,
    })
}

/// Makes what the hooks are to follow for the functions `wanted`, in ascending order, all of which are in
/// `counted`.
///
/// # Errors
///
/// `ENOMEM`.
fn dispatch(counted: &ProfileCounts, wanted: &[u64]) -> Result<KBox<ProfileDispatch>> {
    let places = table::places(wanted.len()).ok_or(ENOMEM)?;
    let mut table = KVVec::from_elem(Place::default(), places, GFP_KERNEL)?;
    for (number, address) in counted.functions() {
        if wanted.binary_search(&address).is_ok() {
            table::add(&mut table, address, number.into());
        }
    }
    let dispatch = ProfileDispatch {
        table,
        rows: counted.rows.clone().ok_or(EINVAL)?,
        active: 0,
        times: GraceRef::none(),
        own: false,
    };
    Ok(KBox::new(dispatch, GFP_KERNEL)?)
}

impl ProfileEngine {
    /// Counts calls of the functions `wanted`, in ascending order, and of no others from now on.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel: the same are counted as before.
    fn follow(&mut self, wanted: KVVec<u64>) -> Result {
        let more = self.counted.with(&wanted)?;
        let dispatch = dispatch(more.as_ref().unwrap_or(&self.counted), &wanted)?;
        self.hook(dispatch, wanted)?;
        if let Some(more) = more {
            let before = core::mem::replace(&mut self.counted, more);
            self.counted.take_over(&before);
        }
        Ok(())
    }

    /// Has the functions `wanted` call the hooks, and the hooks follow `dispatch`. None follows what was there
    /// before when this returns.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel: all is as before.
    fn hook(&mut self, mut dispatch: KBox<ProfileDispatch>, wanted: KVVec<u64>) -> Result {
        if self.measure.times {
            let times = self.times.as_ref().map(SleepWatch::times);
            // SAFETY: They are kept in `self.times` until a dispatch without them, or none, was set and hooks
            // have ended.
            unsafe { dispatch.times.set(times) };
            dispatch.own = !self.measure.calls;
            let kept = match times {
                Some(_) => KeptCall::WithTask,
                None => KeptCall::Plain,
            };
            let cover = cover(&mut self.calls, wanted, kept)?;
            dispatch.active = cover.active;
            let before = self.dispatch.set(Some(dispatch));
            self.calls.unhook(cover.stale);
            drop(before);
            return Ok(());
        }
        if wanted.is_empty() {
            self.hits.clear();
        } else {
            // A function that calls the hook too early is in no table, and counted nowhere.
            self.hits.set(&HookedFunctions::Only(&wanted))?;
        }
        drop(self.dispatch.set(Some(dispatch)));
        Ok(())
    }

    /// Has nothing call the hooks any more.
    fn end(&mut self) {
        self.hits.clear();
        let before = self.dispatch.set(None);
        self.calls.unhook(u64::MAX);
        drop(before);
        self.times = None;
        self.is_on = false;
    }
}

/// Begins to count calls of the functions `wanted`, from nothing, and to measure them as `measure` says.
///
/// # Errors
///
/// `ENOMEM`, and those of the kernel: nothing is counted, and what was counted before is kept.
pub(super) fn start(wanted: KVVec<u64>, measure: Measure) -> Result {
    let mut engine = ENGINE.lock();
    if measure.times && !measure.is_whole() {
        engine.times = Some(SleepWatch::start(!measure.sleep)?);
    }
    let counted = core::mem::replace(&mut engine.counted, ProfileCounts::none());
    let measured = core::mem::replace(&mut engine.measure, measure);
    let result = engine.follow(wanted);
    engine.is_on = result.is_ok();
    if result.is_err() {
        engine.counted = counted;
        engine.measure = measured;
        engine.times = None;
    }
    result
}

/// Counts calls of the functions `wanted`, and of no others from now on.
///
/// # Errors
///
/// `ENOMEM`, and those of the kernel: the same are counted as before.
pub(super) fn change(wanted: KVVec<u64>) -> Result {
    let mut engine = ENGINE.lock();
    match engine.is_on {
        true => engine.follow(wanted),
        false => Ok(()),
    }
}

/// Ends that, and keeps what was counted. No hook counts when this returns.
pub(super) fn stop() {
    let mut engine = ENGINE.lock();
    engine.end();
    // Without memory for less, all stays.
    if let Ok(summed) = engine.counted.summed() {
        engine.counted = summed;
    }
}

/// Forgets what was counted of functions that cannot be traced any more.
pub(super) fn forget(is_gone: &dyn Fn(u64) -> bool) {
    let mut engine = ENGINE.lock();
    for address in engine.counted.functions.iter_mut() {
        if is_gone(*address) {
            *address = 0;
        }
    }
}

/// Forgets functions that the kernel has taken out of the sets: those of a module that goes.
pub(super) fn forget_hooks(is_gone: &dyn Fn(u64) -> bool) {
    ENGINE.lock().calls.forget(is_gone);
}

/// Gives back the memory that the engine keeps. The profiler has ended.
pub(super) fn exit() {
    ENGINE.lock().counted = ProfileCounts::none();
}
