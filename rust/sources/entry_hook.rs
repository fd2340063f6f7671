// SPDX-License-Identifier: GPL-2.0

//! What is hit at the beginning of functions: one hook of the kernel for all events that users have defined there.
//!
//! The kernel calls a hook that is alone at a function directly, with the registers of the arguments, and this costs
//! a third of a kprobe or of an fprobe. A second hook on the function would have it go through a list, so that all
//! definitions share one: a table finds by the address those that are hit, one after the other.
//!
//! A change is made in this order, so that a function may call the hook for no definition, but none that is hit is
//! not found:
//!
//! 1. The table with the new definition.
//! 2. The functions that call the hook.
//!
//! One that leaves is first taken out of the table that is in use, which cannot fail. Tables that are used no more
//! are kept until writers have left, for many changes together.
//!
//! [`rtrace_entry_hit`] runs in any context, NMI included: no lock, no allocation, no panic.
//!
//! Lock: [`HOOKED`], after that of a probe; inside it are only the kernel's.

use super::hit_recorder::HitRecorder;
use crate::{
    fetch::run::WORDS,
    functions::table::{
        self,
        Place, //
    },
    kapi::{
        function_hook::{
            self,
            FunctionHook,
            HookedFunctions,
            HAS_ARGUMENTS, //
        },
        grace,
        grace_ref::GraceRef,
        kprobe::may_probe,
        percpu::CpuPin,
        recursion,
        sort, //
    }, //
};
use core::ptr;
use kernel::prelude::*;

/// So many places of tables are kept that are used no more.
const MOST_RETIRED: usize = 1 << 14;

/// A definition that is hit at a function.
struct EntryLink {
    /// None after it has left.
    recorder: GraceRef<HitRecorder>,
    address: u64,
    /// The number of the next one at the same function, which is less than its own; 0 if there is none.
    next: usize,
}

impl EntryLink {
    /// Returns one without a definition.
    fn none() -> Self {
        Self {
            recorder: GraceRef::none(),
            address: 0,
            next: 0,
        }
    }

    /// Records a hit of the definition. Any context.
    #[inline(always)]
    fn record(&self, pin: &CpuPin, words: &[u64; WORDS]) {
        if let Some(recorder) = self.recorder.get() {
            recorder.hit_call((words, &[]), pin, (self.address, None));
        }
    }
}

/// Which definitions are hit at which function.
struct EntryTable {
    /// The number of the first one at a function.
    places: KVVec<Place>,
    /// By their numbers, from 1 on; number 0 has no definition.
    links: KVVec<EntryLink>,
}

impl EntryTable {
    /// Returns that of these definitions.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn new(users: &[HookedDefinition]) -> Result<Self> {
        let addresses = users.iter().map(|user| user.addresses.len());
        let sum = addresses.fold(0, usize::saturating_add);
        let places = table::places(sum).ok_or(ENOMEM)?;
        let mut this = Self {
            places: KVVec::from_elem(Place::default(), places, GFP_KERNEL)?,
            links: KVVec::with_capacity(sum.saturating_add(1), GFP_KERNEL)?,
        };
        this.links.push(EntryLink::none(), GFP_KERNEL)?;
        for user in users {
            for address in &user.addresses {
                let mut next = 0;
                let number = this.links.len();
                table::change(&mut this.places, *address, |first| {
                    next = first as usize;
                    number as u64
                });
                let recorder = GraceRef::none();
                // SAFETY: The recorder stays as `EntryCalls::begin` was promised, and a table is used no more when it
                // goes: `leave` takes it out of the one in use, and those before that are not used any more after the
                // grace period that the promise is about.
                unsafe { recorder.set(user.recorder.get()) };
                let link = EntryLink {
                    recorder,
                    address: *address,
                    next,
                };
                this.links.push(link, GFP_KERNEL)?;
            }
        }
        Ok(this)
    }

    /// Hits the definitions at a function that calls the hook with these registers. Any context.
    #[inline(always)]
    fn hit(&self, pin: &CpuPin, address: u64, words: &[u64; WORDS]) {
        let Some(first) = table::find_at_once(&self.places, address) else {
            return;
        };
        let record = || match self.link(first as usize) {
            // The usual one has nothing to keep over the end of the record.
            Some(link) if link.next == 0 => link.record(pin, words),
            _ => self.record_all(pin, first, words),
        };
        if !recursion::record_once(pin, record) {
            self.skip(pin, first);
        }
    }

    /// Records a hit of the definitions from the one of this number on.
    #[inline(never)]
    fn record_all(&self, pin: &CpuPin, first: u64, words: &[u64; WORDS]) {
        self.for_each(first, |link| link.record(pin, words));
    }

    /// Counts a call by what records itself.
    #[cold]
    #[inline(never)]
    fn skip(&self, pin: &CpuPin, first: u64) {
        self.for_each(first, |link| {
            if let Some(recorder) = link.recorder.get() {
                recorder.skip(pin);
            }
        });
    }

    /// Returns the link of this number.
    #[inline(always)]
    fn link(&self, number: usize) -> Option<&EntryLink> {
        self.links.get(number)
    }

    /// Calls `f` with the links from the one of this number on. Their numbers decrease, so that there is an end.
    #[inline(always)]
    fn for_each(&self, first: u64, f: impl Fn(&EntryLink)) {
        let mut number = first as usize;
        while number != 0 {
            let Some(link) = self.link(number) else {
                return;
            };
            f(link);
            number = link.next;
        }
    }

    /// Has those definitions hit no more that `is_gone` selects, by the recorder and the address.
    fn take_out(&self, is_gone: impl Fn(&HitRecorder, u64) -> bool) {
        for link in &self.links {
            if link
                .recorder
                .get()
                .is_some_and(|recorder| is_gone(recorder, link.address))
            {
                link.recorder.clear();
            }
        }
    }
}

/// What the hook follows. Hooks that began before another one was set may still follow the one before it.
static ENTRY_TABLE: GraceRef<EntryTable> = GraceRef::none();

/// A definition that is hit at functions.
struct HookedDefinition {
    recorder: GraceRef<HitRecorder>,
    addresses: KVVec<u64>,
}

impl HookedDefinition {
    fn is(&self, recorder: *const HitRecorder) -> bool {
        self.recorder
            .get()
            .is_some_and(|own| ptr::eq(own, recorder))
    }
}

/// All of them, and what the hook follows.
struct HookedDefinitions {
    users: KVec<HookedDefinition>,
    hook: FunctionHook,
    /// The functions that call the hook, in ascending order.
    hooked: KVVec<u64>,
    table: Option<KBox<EntryTable>>,
    /// Those that were used before it.
    retired: KVec<KBox<EntryTable>>,
}

crate::kapi::global::global_mutex! {
    static HOOKED: Mutex<HookedDefinitions> = HookedDefinitions {
        users: KVec::new(),
        hook: FunctionHook::of_events(),
        hooked: KVVec::new(),
        table: None,
        retired: KVec::new(),
    };
}

/// Frees what the hook needed. No definition is there any more.
pub(super) fn exit() {
    let mut all = HOOKED.lock();
    all.clear();
    all.users = KVec::new();
}

impl HookedDefinitions {
    /// Has the hook called by what the definitions want, and follow them.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `EINVAL` for a function that calls no hooks, and those of the kernel: the table is as before, and
    /// functions may call the hook for no definition.
    fn follow(&mut self) -> Result {
        let union = self.union()?;
        if union.is_empty() {
            self.clear();
            return Ok(());
        }
        let table = KBox::new(EntryTable::new(&self.users)?, GFP_KERNEL)?;
        // SAFETY: It is kept in `self.table` until another one was set, and in `self.retired` until writers have left.
        unsafe { ENTRY_TABLE.set(Some(&table)) };
        if *union != *self.hooked || !self.hook.is_on() {
            if let Err(error) = self.hook.set(&HookedFunctions::Only(&union)) {
                // SAFETY: The one before is still in `self.table`.
                unsafe { ENTRY_TABLE.set(self.table.as_deref()) };
                self.retire(Some(table));
                return Err(error);
            }
            self.hooked = union;
        }
        let before = self.table.replace(table);
        self.retire(before);
        Ok(())
    }

    /// Returns the functions of all definitions, in ascending order.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn union(&self) -> Result<KVVec<u64>> {
        let mut union = KVVec::new();
        for user in &self.users {
            union.extend_from_slice(&user.addresses, GFP_KERNEL)?;
        }
        sort::ascending_once(&mut union);
        Ok(union)
    }

    /// Keeps a table that is used no more until writers have left.
    fn retire(&mut self, table: Option<KBox<EntryTable>>) {
        let Some(table) = table else {
            return;
        };
        let has_room = self.retired.reserve(1, GFP_KERNEL).is_ok();
        let places = self.retired.iter().map(|table| table.places.len());
        let places = places.fold(table.places.len(), usize::saturating_add);
        if has_room && places <= MOST_RETIRED {
            let _ = self.retired.push_within_capacity(table);
            return;
        }
        grace::writers_left();
        drop(table);
        self.retired = KVec::new();
    }

    /// Has no function call the hook.
    fn clear(&mut self) {
        self.hook.clear();
        ENTRY_TABLE.clear();
        // No hook runs any more.
        self.table = None;
        self.retired = KVec::new();
        self.hooked = KVVec::new();
    }

    /// Follows what is left, after definitions or functions have gone, which were taken out of the table.
    fn follow_less(&mut self) {
        if self.users.iter().all(|user| user.addresses.is_empty()) {
            return self.clear();
        }
        // Without memory functions call the hook for no definition, until the next change.
        let _ = self.follow();
    }
}

/// Whether a definition is hit by the hook; it is hit no more when this is dropped, which sleeps then.
///
/// # Invariants
///
/// It is null, or that of a definition in [`HOOKED`].
pub(super) struct EntryCalls(*const HitRecorder);

// SAFETY: The address is compared and never followed, in any task.
unsafe impl Send for EntryCalls {}

impl EntryCalls {
    /// Returns one that is not hit.
    pub(super) const fn none() -> Self {
        // INVARIANT: It is null.
        Self(ptr::null())
    }

    /// Has `recorder` hit at the functions that call hooks at these addresses. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// `ENODEV` in a kernel whose hooks get no arguments, `EPERM` in one that is locked down, `ENOMEM`, and `EINVAL` for
    /// a function that cannot be traced: it is not hit, and no hit is recorded any more.
    ///
    /// # Safety
    ///
    /// The recorder stays until [`Self::end`] was called and writers have left after that, or until this was dropped.
    pub(super) unsafe fn begin(&mut self, recorder: &HitRecorder, addresses: &[u64]) -> Result {
        if !HAS_ARGUMENTS {
            return Err(ENODEV);
        }
        may_probe()?;
        recursion::prepare()?;
        self.stop();
        let mut user = HookedDefinition {
            recorder: GraceRef::none(),
            addresses: KVVec::new(),
        };
        user.addresses.extend_from_slice(addresses, GFP_KERNEL)?;
        // SAFETY: The caller promises that it stays until writers have left after `end`, which removes it.
        unsafe { user.recorder.set(Some(recorder)) };
        let mut all = HOOKED.lock();
        all.users.push(user, GFP_KERNEL)?;
        match all.follow() {
            // INVARIANT: It was added just now.
            Ok(()) => self.0 = ptr::from_ref(recorder),
            Err(error) => {
                let _ = all.users.pop();
                drop(all);
                // Functions that called the hook already have found it in the table that was taken back.
                grace::writers_left();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Has it hit no more, and returns whether it was. A hit may still be recorded until writers have left. Sleeps.
    pub(super) fn end(&mut self) -> bool {
        // INVARIANT: It is null.
        let recorder = core::mem::replace(&mut self.0, ptr::null());
        if recorder.is_null() {
            return false;
        }
        let mut all = HOOKED.lock();
        if let Some(table) = &all.table {
            table.take_out(|own, _| ptr::eq(own, recorder));
        }
        all.users.retain(|user| !user.is(recorder));
        all.follow_less();
        true
    }

    /// As [`Self::end`], and waits until no hit is recorded.
    fn stop(&mut self) {
        if self.end() {
            grace::writers_left();
        }
    }
}

impl Drop for EntryCalls {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Forgets the functions that `is_gone` names: they call hooks no more, and others may be at their addresses later.
pub(super) fn forget(is_gone: &dyn Fn(u64) -> bool) {
    let mut all = HOOKED.lock();
    if !all.hooked.iter().any(|address| is_gone(*address)) {
        return;
    }
    if let Some(table) = &all.table {
        table.take_out(|_, address| is_gone(address));
    }
    for user in &mut all.users {
        user.addresses.retain(|address| !is_gone(*address));
    }
    all.follow_less();
}

/// Records a call of the function at `address` for the definitions that are hit there.
///
/// # Safety
///
/// Called by the kernel at the beginning of a function.
#[no_mangle]
unsafe extern "C" fn rtrace_entry_hit(
    address: u64,
    _caller: u64,
    _ops: *mut c_void,
    regs: *mut c_void,
) {
    CpuPin::with(|pin| {
        if let Some(table) = ENTRY_TABLE.get() {
            let words = function_hook::registers(regs).cast::<[u64; WORDS]>();
            // SAFETY: The kernel's registers are as many words on its stack until this returns, and it is used no
            // longer. Those that it has not saved are some words.
            table.hit(pin, address, unsafe { &*words });
        }
    });
}
