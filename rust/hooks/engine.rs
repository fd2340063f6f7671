// SPDX-License-Identifier: GPL-2.0

//! Which functions call the hook of rtrace, and whose records it makes.
//!
//! Each instance that traces functions is a [`FunctionUser`] with the functions that it wants. The hook is on
//! what any of them wants. A change is made in this order, so that a function may call the hook for no
//! user, but no user misses a function that it wants, nor gets one that it does not want:
//!
//! 1. What the hook follows, with the new wishes.
//! 2. The functions that call it.
//! 3. After a grace period, what it followed before goes.

use super::users::{
    self,
    Engine as _,
    Purpose,
    User as _,
    UserIdentity, //
};
use crate::{
    functions::table::{
        self,
        Place, //
    },
    kapi::{
        function_hook::{
            FunctionHook,
            HookedFunctions, //
        },
        grace,
        kept::KeptValue,
        publisher::Publisher,
        sort, //
    },
    probes::{
        Commands,
        Dispatch,
        FunctionTarget,
        Manner,
        Nesting,
        OnlyTarget,
        Sink,
        FUNCTION_DISPATCH,
        MOST_TARGETS, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The functions that a user wants.
#[derive(PartialEq)]
pub(super) enum WantedFunctions {
    /// Every one.
    All,
    /// Those at these addresses, in ascending order.
    Only(KVVec<u64>),
}

impl WantedFunctions {
    /// Returns it without the addresses that `is_gone` names.
    pub(super) fn without(mut self, is_gone: &dyn Fn(u64) -> bool) -> Self {
        if let WantedFunctions::Only(addresses) = &mut self {
            addresses.retain(|address| !is_gone(*address));
        }
        self
    }

    fn addresses(&self) -> &[u64] {
        match self {
            WantedFunctions::All => &[],
            WantedFunctions::Only(addresses) => addresses,
        }
    }
}

/// An instance that traces functions.
struct FunctionUser {
    target: FunctionTarget,
    wish: Wish,
}

/// What a user wants.
struct Wish {
    wanted: WantedFunctions,
    manner: Manner,
}

impl users::User for FunctionUser {
    fn is_of(&self, whose: UserIdentity<'_>) -> bool {
        let is_commands = self.wish.manner.commands.is_some();
        self.target.is(whose.sink) && is_commands == (whose.purpose == Purpose::Commands)
    }
}

/// All users, and what the hook follows.
struct FunctionEngine {
    users: KVec<FunctionUser>,
    hook: FunctionHook,
    dispatch: Publisher<Dispatch>,
    /// Made for the first user with a manner of its own.
    nesting: Option<Arc<Nesting>>,
    /// The hook may be on more than the users want: there was no memory to take it off what one wanted that left.
    is_wider: bool,
}

crate::kapi::global::global_mutex! {
    static ENGINE: Mutex<FunctionEngine> = FunctionEngine {
        users: KVec::new(),
        hook: FunctionHook::of_records(),
        dispatch: Publisher::of(&FUNCTION_DISPATCH),
        nesting: None,
        is_wider: false,
    };
}

impl FunctionEngine {
    /// Makes what the hook is to follow; `agreed` when it is on nothing but what each user wants.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn dispatch(&mut self, agreed: bool) -> Result<KBox<Dispatch>> {
        let alone = agreed && self.users.len() == 1;
        let mut dispatch = Dispatch {
            nesting: self.nesting()?,
            ..Dispatch::default()
        };
        let functions = |user: &FunctionUser| user.wish.wanted.addresses().len();
        let sum = self
            .users
            .iter()
            .map(functions)
            .fold(0, usize::saturating_add);
        if !agreed {
            let places = table::places(sum).ok_or(ENOMEM)?;
            dispatch.table = KVVec::from_elem(Place::default(), places, GFP_KERNEL)?;
        }
        for (at, user) in (0..).zip(&self.users) {
            let bit = 1u64.wrapping_shl(at);
            let target = user.target.clone();
            let target = match alone && dispatch.nesting.is_some() {
                true => match OnlyTarget::new(target, &user.wish.manner) {
                    Ok(only) => {
                        dispatch.only = Some(only);
                        continue;
                    }
                    Err(target) => target,
                },
                false => target,
            };
            if dispatch.nesting.is_some() {
                let by_manner = (target, user.wish.manner.clone());
                dispatch.by_manner.push(by_manner, GFP_KERNEL)?;
            } else if alone {
                dispatch.alone = target;
            } else {
                dispatch.add(target)?;
            }
            if agreed || matches!(user.wish.wanted, WantedFunctions::All) {
                dispatch.always |= bit;
                continue;
            }
            for address in user.wish.wanted.addresses() {
                table::add(&mut dispatch.table, *address, bit);
            }
        }
        if let (Some(both), true) = (dispatch.both(), agreed) {
            dispatch.pair = both;
        }
        Ok(KBox::new(dispatch, GFP_KERNEL)?)
    }

    /// Returns the guard of users with a manner of their own, if there are any.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn nesting(&mut self) -> Result<Option<Arc<Nesting>>> {
        if self.users.iter().all(|user| user.wish.manner.is_usual()) {
            return Ok(None);
        }
        if self.nesting.is_none() {
            self.nesting = Some(Arc::new(Nesting::new()?, GFP_KERNEL)?);
        }
        Ok(self.nesting.clone())
    }

    /// Has the hook record as the users' manners say, of the functions that it is on.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: it records as before.
    fn record_again(&mut self) -> Result {
        let dispatch = self.dispatch(self.agree() && !self.is_wider)?;
        drop(self.dispatch.set(Some(dispatch)));
        Ok(())
    }

    /// Returns whether all users want the same functions.
    fn agree(&self) -> bool {
        let mut wanted = self.users.iter().map(|user| &user.wish.wanted);
        let first = wanted.next();
        wanted.all(|other| Some(other) == first)
    }

    /// Returns all that any user wants; `None` when it is every function.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn union(&self) -> Result<Option<KVVec<u64>>> {
        let mut union = KVVec::new();
        for user in &self.users {
            match &user.wish.wanted {
                WantedFunctions::All => return Ok(None),
                WantedFunctions::Only(addresses) => {
                    union.extend_from_slice(addresses, GFP_KERNEL)?
                }
            }
        }
        sort::ascending_once(&mut union);
        Ok(Some(union))
    }
}

impl users::Engine for FunctionEngine {
    type User = FunctionUser;

    fn users(&mut self) -> &mut KVec<FunctionUser> {
        &mut self.users
    }

    fn follow(&mut self) -> Result {
        let union = self.union()?;
        let agreed = self.agree();
        let dispatch = self.dispatch(agreed && !self.hook.is_on())?;
        // Made now, so that nothing can fail after the functions call the hook.
        let shorter = match agreed && self.hook.is_on() {
            true => Some(self.dispatch(true)?),
            false => None,
        };
        let before = self.dispatch.set(Some(dispatch));
        let hooked = match &union {
            None => self.hook.set(&HookedFunctions::All),
            Some(union) if union.is_empty() => {
                self.hook.clear();
                Ok(())
            }
            Some(union) => self.hook.set(&HookedFunctions::Only(union)),
        };
        if hooked.is_err() {
            drop(self.dispatch.set_again(before));
            return hooked;
        }
        self.is_wider = false;
        match shorter {
            Some(_) => drop(before.and(self.dispatch.set(shorter))),
            None => drop(before),
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.hook.clear();
        self.is_wider = false;
        drop(self.dispatch.set(None));
    }

    fn forget(&mut self, whose: UserIdentity<'_>) {
        self.is_wider = true;
        if let Some(dispatch) = self.dispatch.get() {
            dispatch.forget(whose.sink, whose.purpose == Purpose::Commands);
            grace::writers_left();
        }
    }
}

/// Begins to record the functions `wanted` into `sink`, which is not attached, in this manner.
///
/// # Errors
///
/// `ENOSPC` for too many users, `ENOMEM`, and those of the kernel: nothing is recorded.
pub(super) fn attach(sink: &KeptValue<Sink>, wanted: WantedFunctions, manner: Manner) -> Result {
    let mut engine = ENGINE.lock();
    if engine.users.len() >= MOST_TARGETS {
        return Err(ENOSPC);
    }
    let target = FunctionTarget::new(sink);
    let wish = Wish { wanted, manner };
    users::attach(&mut *engine, FunctionUser { target, wish })
}

/// Has the instance of `sink` obey `commands` and no others.
///
/// # Errors
///
/// As for [`attach`]: it obeys those before. None without commands.
pub(crate) fn follow_commands(sink: &KeptValue<Sink>, commands: Option<Arc<Commands>>) -> Result {
    let whose = UserIdentity::commands(sink);
    let mut engine = ENGINE.lock();
    let Some(commands) = commands else {
        users::detach(&mut *engine, whose);
        return Ok(());
    };
    let wish = Wish {
        wanted: WantedFunctions::Only(commands.addresses()?),
        manner: Manner {
            commands: Some(commands),
            ..Manner::default()
        },
    };
    if engine.users.iter().any(|user| user.is_of(whose)) {
        return users::exchange(
            &mut *engine,
            whose,
            |user| &mut user.wish,
            wish,
            FunctionEngine::follow,
        );
    }
    if engine.users.len() >= MOST_TARGETS {
        return Err(ENOSPC);
    }
    let target = FunctionTarget::new(sink);
    users::attach(&mut *engine, FunctionUser { target, wish })
}

/// Records the functions `wanted` into `sink` instead of those before.
///
/// # Errors
///
/// `ENOMEM`, and those of the kernel: it is as before.
pub(super) fn change(sink: &Sink, wanted: WantedFunctions) -> Result {
    let mut engine = ENGINE.lock();
    users::exchange(
        &mut *engine,
        UserIdentity::tracer(sink),
        |user| &mut user.wish.wanted,
        wanted,
        FunctionEngine::follow,
    )
}

/// Records functions into `sink` in another manner. No hook uses the one before when this returns.
///
/// # Errors
///
/// `ENOMEM`: it is as before.
pub(super) fn change_manner(sink: &Sink, manner: Manner) -> Result {
    let mut engine = ENGINE.lock();
    users::exchange(
        &mut *engine,
        UserIdentity::tracer(sink),
        |user| &mut user.wish.manner,
        manner,
        FunctionEngine::record_again,
    )
}

/// Gives back the memory that the engine keeps. No user is left.
pub(super) fn exit() {
    let mut engine = ENGINE.lock();
    engine.users = KVec::new();
    engine.nesting = None;
}

/// Stops recording functions into `sink`. No hook uses it when this returns.
pub(super) fn detach(sink: &Sink) {
    users::detach(&mut *ENGINE.lock(), UserIdentity::tracer(sink));
}
