// SPDX-License-Identifier: GPL-2.0

//! Which functions call the hooks at entry and exit, and whose records they make.
//!
//! As in `engine`, a function may call the hooks for no instance, but no instance misses the entry of one
//! that it wants, nor gets one that it does not want. The sets of functions that the kernel knows do not
//! change, so another wish is another set beside those that are there:
//!
//! 1. The kernel hooks the functions that are new; their hooks do not count yet.
//! 2. What the hooks follow is exchanged at once: the new wishes, and which sets count.
//! 3. Sets with functions that none wants any more end, and after a grace period what was followed before
//!    goes. Calls in these sets that have not returned get no exit.

use super::{
    engine::WantedFunctions,
    list,
    users::{
        self,
        Engine as _,
        UserIdentity, //
    }, //
};
use crate::{
    functions::table::{
        self,
        Place, //
    },
    kapi::{
        grace,
        graph_hook::{
            GraphHooks,
            KeptCall, //
        },
        kept::KeptValue,
        publisher::Publisher,
        sort, //
    },
    probes::{
        GraphDispatch,
        GraphRules,
        GraphTarget,
        Sink,
        SleepWatch,
        GRAPH_DISPATCH,
        MOST_GRAPH_TARGETS, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Free sets that are kept, so that one change does not have to wait for another.
const SPARE: usize = 8;

/// An instance that traces calls.
struct CallUser {
    target: GraphTarget,
    /// Its place in [`GraphDispatch::targets`].
    place: usize,
    /// Addresses in ascending order.
    wanted: KVVec<u64>,
    /// Time asleep does not count.
    awake: bool,
}

impl users::User for CallUser {
    fn is_of(&self, whose: UserIdentity<'_>) -> bool {
        self.target.is(whose.sink)
    }
}

/// All users, and what the hooks follow.
struct CallEngine {
    users: KVec<CallUser>,
    hooks: GraphHooks,
    dispatch: Publisher<GraphDispatch>,
    /// How long tasks slept, while a user does not count that. It goes after `dispatch`.
    asleep: Option<SleepWatch>,
    /// The place that the next user gets if it is free. Places go round, so that a call that returns late
    /// does not meet another user in the place of its own.
    next: usize,
}

crate::kapi::global::global_mutex! {
    static ENGINE: Mutex<CallEngine> = CallEngine {
        users: KVec::new(),
        hooks: GraphHooks::of_tracers(),
        dispatch: Publisher::of(&GRAPH_DISPATCH),
        asleep: None,
        next: 0,
    };
}

/// Returns the addresses of the functions `wanted`, in ascending order.
///
/// # Errors
///
/// `ENOMEM`, and those of [`list::current`].
pub(super) fn addresses(wanted: WantedFunctions) -> Result<KVVec<u64>> {
    if let WantedFunctions::Only(addresses) = wanted {
        return Ok(addresses);
    }
    let mut addresses = KVVec::new();
    for function in list::current()?.list().iter() {
        if function.address != 0 {
            addresses.push(function.address, GFP_KERNEL)?;
        }
    }
    sort::ascending(&mut addresses);
    Ok(addresses)
}

fn has(addresses: &[u64], address: u64) -> bool {
    addresses.binary_search(&address).is_ok()
}

/// Sets of functions, one bit each.
pub(super) struct Cover {
    /// Those that count from now on: together they have each function that is wanted.
    pub(super) active: u64,
    /// Those that end once the others count.
    pub(super) stale: u64,
}

/// Hooks those of the functions `wanted`, in ascending order, that are in no set which can stay, by the hooks for
/// `kept`.
///
/// # Errors
///
/// Those of [`GraphHooks::hook`]: nothing has changed.
pub(super) fn cover(hooks: &mut GraphHooks, wanted: KVVec<u64>, kept: KeptCall) -> Result<Cover> {
    let (mut stays, mut stale) = (0u64, 0u64);
    let is_crowded = hooks.free() <= SPARE;
    for (number, functions) in hooks.sets() {
        let is_wanted =
            hooks.kept(number) == kept && functions.iter().all(|address| has(&wanted, *address));
        match is_wanted && !is_crowded {
            true => stays |= 1u64.wrapping_shl(number),
            false => stale |= 1u64.wrapping_shl(number),
        }
    }
    let mut missing = wanted;
    for (number, functions) in hooks.sets() {
        if stays & 1u64.wrapping_shl(number) != 0 {
            missing.retain(|address| !has(functions, *address));
        }
    }
    let added = match missing.is_empty() {
        true => 0,
        false => hooks.hook(&missing, kept)?,
    };
    let active = stays | added;
    Ok(Cover { active, stale })
}

impl CallEngine {
    /// Makes what the hooks are to follow, but for the sets that count.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn dispatch(&self) -> Result<KBox<GraphDispatch>> {
        let mut dispatch = GraphDispatch::default();
        let again = |user: &CallUser| user.target.clone();
        let in_table = match self.users.as_slice() {
            // Each set that counts has functions alone that this one wants.
            [user] => {
                dispatch.alone = again(user);
                dispatch.alone_bit = 1u64.wrapping_shl(user.place as u32);
                &[]
            }
            users => users,
        };
        let lens = in_table.iter().map(|user| user.wanted.len());
        let places = table::places(lens.fold(0, usize::saturating_add)).ok_or(ENOMEM)?;
        dispatch.table = KVVec::from_elem(Place::default(), places, GFP_KERNEL)?;
        for place in 0..MOST_GRAPH_TARGETS {
            let user = self.users.iter().find(|user| user.place == place);
            let target = user.map(again);
            let target = target.unwrap_or_else(GraphTarget::none);
            dispatch.targets.push(target, GFP_KERNEL)?;
        }
        for user in in_table {
            for address in &user.wanted {
                table::add(
                    &mut dispatch.table,
                    *address,
                    1u64.wrapping_shl(user.place as u32),
                );
            }
        }
        Ok(KBox::new(dispatch, GFP_KERNEL)?)
    }

    /// Returns all that any user wants, in ascending order.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn union(&self) -> Result<KVVec<u64>> {
        let mut union = KVVec::new();
        for user in &self.users {
            union.extend_from_slice(&user.wanted, GFP_KERNEL)?;
        }
        sort::ascending_once(&mut union);
        Ok(union)
    }

    /// Returns a place that no user has.
    fn free_place(&mut self) -> Option<usize> {
        let all =
            (0..MOST_GRAPH_TARGETS).map(|step| self.next.wrapping_add(step) % MOST_GRAPH_TARGETS);
        let free = |place: &usize| self.users.iter().all(|user| user.place != *place);
        let place = all.into_iter().find(free)?;
        self.next = place.wrapping_add(1);
        Some(place)
    }
}

impl users::Engine for CallEngine {
    type User = CallUser;

    fn users(&mut self) -> &mut KVec<CallUser> {
        &mut self.users
    }

    fn follow(&mut self) -> Result {
        let union = self.union()?;
        let mut dispatch = self.dispatch()?;
        let is_awake = self.users.iter().any(|user| user.awake);
        let begins = is_awake && self.asleep.is_none();
        if begins {
            // Before the first call that it matters to.
            self.asleep = Some(SleepWatch::start(true)?);
        }
        let (kept, asleep) = match (is_awake, &self.asleep) {
            (true, Some(watch)) => (KeptCall::WithTask, Some(watch.times())),
            _ => (KeptCall::Plain, None),
        };
        // SAFETY: They are kept in `self.asleep` until a dispatch without them was set and hooks have ended.
        unsafe { dispatch.asleep.set(asleep) };
        let cover = cover(&mut self.hooks, union, kept).inspect_err(|_| {
            if begins {
                self.asleep = None;
            }
        })?;
        dispatch.active = cover.active;
        let before = self.dispatch.set(Some(dispatch));
        self.hooks.unhook(cover.stale);
        drop(before);
        if !is_awake {
            self.asleep = None;
        }
        Ok(())
    }

    fn clear(&mut self) {
        let before = self.dispatch.set(None);
        self.hooks.unhook(u64::MAX);
        drop(before);
        self.asleep = None;
    }

    fn forget(&mut self, whose: UserIdentity<'_>) {
        if let Some(dispatch) = self.dispatch.get() {
            dispatch.forget(whose.sink);
            grace::writers_left();
        }
    }
}

/// Begins to record the calls of the functions `wanted` that follow `rules` into `sink`, which counts time asleep
/// unless it is `awake`.
///
/// # Errors
///
/// `ENOSPC` for too many users, `ENOMEM`, and those of the kernel: nothing is recorded.
pub(super) fn attach(
    sink: &KeptValue<Sink>,
    rules: &Arc<GraphRules>,
    wanted: WantedFunctions,
    awake: bool,
) -> Result {
    let wanted = addresses(wanted)?;
    let mut engine = ENGINE.lock();
    let place = engine.free_place().ok_or(ENOSPC)?;
    let user = CallUser {
        target: GraphTarget::new(sink, rules),
        place,
        wanted,
        awake,
    };
    users::attach(&mut *engine, user)
}

/// Records the calls of the functions `wanted` into `sink` instead of those before.
///
/// # Errors
///
/// `ENOMEM`, and those of the kernel: it is as before.
pub(super) fn change(sink: &Sink, wanted: WantedFunctions) -> Result {
    let wanted = addresses(wanted)?;
    let mut engine = ENGINE.lock();
    users::exchange(
        &mut *engine,
        UserIdentity::tracer(sink),
        |user| &mut user.wanted,
        wanted,
        CallEngine::follow,
    )
}

/// Has time asleep not count for `sink`, or count again. Calls that have not returned may get no exit.
///
/// # Errors
///
/// `ENOMEM`, and those of the kernel: it is as before.
pub(super) fn set_awake(sink: &Sink, awake: bool) -> Result {
    let mut engine = ENGINE.lock();
    let mut users = engine.users.iter();
    let whose = UserIdentity::tracer(sink);
    if users.any(|user| users::User::is_of(user, whose) && user.awake == awake) {
        return Ok(());
    }
    users::exchange(
        &mut *engine,
        whose,
        |user| &mut user.awake,
        awake,
        CallEngine::follow,
    )
}

/// Stops recording calls into `sink`. No hook uses it when this returns.
pub(super) fn detach(sink: &Sink) {
    users::detach(&mut *ENGINE.lock(), UserIdentity::tracer(sink));
}

/// Forgets functions that the kernel has forgotten: those of a module that goes.
pub(super) fn forget(is_gone: &dyn Fn(u64) -> bool) {
    ENGINE.lock().hooks.forget(is_gone);
}

/// Gives back the memory that the engine keeps. No user is left.
pub(super) fn exit() {
    ENGINE.lock().users = KVec::new();
}
