// SPDX-License-Identifier: GPL-2.0

//! Which events are there, and how does a probe get on a tracepoint?
//!
//! The events that rtrace brings come from the tables of `shim/events/`, those of the kernel at load and
//! those of its modules with them (`modules`); modules may add groups of their own (`groups`). Called by
//! the module's init, by `instance` to enable events, and by `fs` for the files under `events/`.
//!
//! An [`Event`] lives until rtrace is unloaded, even when the module that brought it goes away: what
//! comes and goes is its descriptor. So an id in an old record, or a reference in a file that is
//! still open, never dangles. The table only grows, and is read without a lock; whatever uses a
//! group's descriptor holds [`GROUPS`], and this lock is a leaf: nothing is locked inside it but
//! the tracepoints' own mutex.

mod groups;
mod headers;
mod layouts;
mod modules;
mod offers;
mod printer;
mod raw;
mod syscalls;
mod tracepoints;

pub(crate) use self::{
    groups::{
        set_forget, //
    },
    modules::ModuleWatch,
    printer::{
        Manner,
        Printer, //
    },
    raw::RawWish,
    syscalls::{
        Call,
        CALLS,
        USER_BYTES,
        USER_MOST, //
    }, //
};

use self::{
    groups::GROUPS,
    offers::Offers,
    raw::RawDesc, //
};
use crate::{
    event::{
        evals::Eval,
        field::{
            self,
            Declared,
            Field,
            COMMON_SIZE, //
        },
        format, //
    },
    kapi::{
        c,
        kernel_btf::{
            KernelBtf,
            NoBtf, //
        }, //
    }, //
};
use core::{
    mem::size_of,
    ptr, //
};
use kernel::{
    bindings,
    error::to_result,
    fmt,
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Relaxed,
        Release, //
    }, //
};

/// Ids (`common_type`) below are of records that no tracepoint makes: they are those of the kernel.
pub(crate) const RECORDS: u16 = 32;

/// The id of the first event. The kernel counts its own events from [`RECORDS`] and has some 2000: a
/// program that takes an id of ours to perf_event_open(), where it means an event of the kernel, is
/// refused. Beyond 2^15 it would be negative in KernelShark.
pub(crate) const FIRST_ID: u16 = 1 << 14;
const _: () = assert!(FIRST_ID as usize + CAPACITY <= i16::MAX as usize);

/// Most events that there can be, those of unloaded modules included.
pub(crate) const CAPACITY: usize = 4096;

/// All events by `id - FIRST_ID`; null where there is none yet.
static TABLE: [Atomic<*mut Event>; CAPACITY] =
    [const { Atomic::<*mut Event>::new(ptr::null_mut()) }; CAPACITY];

/// One event.
///
/// # Invariants
///
/// - Unless null, `desc` is valid; it becomes null only under [`GROUPS`] and only for the event of a
///   module, after all its probes were detached.
/// - While `desc` is not null, `tracepoint` is valid.
/// - `names` is UTF-8, also when cut before and behind the byte at `system_len`, a colon.
pub(crate) struct Event {
    id: u16,
    size: u32,
    /// `system:name`.
    names: KVec<u8>,
    system_len: usize,
    /// Name of the module that has its tracepoint; empty for the kernel.
    module: KVec<u8>,
    call: Option<Call>,
    /// The whole `format` text of an event of a module; the others have it in their tables.
    format: Option<KVVec<u8>>,
    /// The descriptor of a raw event.
    raw: Option<KBox<RawDesc>>,
    desc: Atomic<*mut c::rt_event_desc>,
    tracepoint: Atomic<*mut bindings::tracepoint>,
    /// The module that has its tracepoint; null for the kernel.
    owner: Atomic<*mut bindings::module>,
    /// Cleared first when its module goes away.
    offered: Atomic<bool>,
}

impl Event {
    pub(crate) fn system(&self) -> &str {
        Self::cut(self.names.get(..self.system_len))
    }

    pub(crate) fn name(&self) -> &str {
        Self::cut(self.names.get(self.system_len.wrapping_add(1)..))
    }

    /// A part of `names` in front of or behind the colon, without a look at each byte.
    fn cut(part: Option<&[u8]>) -> &str {
        // SAFETY: UTF-8, as `names` is where these two cut it (invariant).
        unsafe { core::str::from_utf8_unchecked(part.unwrap_or(&[])) }
    }

    /// Name of the module that brought it; `None` for those of the kernel itself.
    pub(crate) fn module(&self) -> Option<&str> {
        match as_text(Some(&self.module)) {
            "" => None,
            module => Some(module),
        }
    }

    /// `common_type` of its records.
    pub(crate) fn id(&self) -> u16 {
        self.id
    }

    /// Bytes of a record without its dynamic arrays.
    pub(crate) fn size(&self) -> usize {
        self.size as usize
    }

    /// The system call that it is about, of those events that share their tracepoint.
    pub(crate) fn call(&self) -> Option<Call> {
        self.call
    }

    /// Null when its module is gone.
    pub(crate) fn desc(&self) -> *const c::rt_event_desc {
        self.desc.load(Acquire)
    }

    /// Whether its fields are the arguments of a tracepoint as they are. Nobody gets such an event who
    /// does not ask for it by the name of its system.
    pub(crate) fn is_raw(&self) -> bool {
        self.raw.is_some()
    }

    /// The arguments of a raw event, none of another.
    #[inline(always)]
    pub(crate) fn raw_args(&self) -> &[c::rt_raw_arg] {
        self.raw.as_deref().map_or(&[], RawDesc::args)
    }

    /// Its tracepoint.
    pub(crate) fn tracepoint(&self) -> *mut bindings::tracepoint {
        self.tracepoint.load(Relaxed)
    }

    /// The module that has its tracepoint; null for the kernel.
    pub(crate) fn owner(&self) -> *const bindings::module {
        self.owner.load(Relaxed)
    }

    /// Calls `f` with all its own fields. `None` when its module is gone.
    pub(crate) fn with_fields<R>(
        &self,
        f: impl FnOnce(&mut dyn Iterator<Item = Field<'_>>) -> R,
    ) -> Option<R> {
        // Only that of a module's event can vanish.
        let _groups = self.format.as_ref().map(|_| GROUPS.lock());
        // SAFETY: Null or valid, and it stays so under the lock (invariant).
        let desc = unsafe { self.desc().as_ref() }?;
        Some(f(&mut field::place(fields(desc), COMMON_SIZE)))
    }

    /// Whether it can be enabled.
    pub(crate) fn has_tracepoint(&self) -> bool {
        self.offered.load(Relaxed)
    }

    /// Writes the text of its `format` file.
    pub(crate) fn write_format(&self, w: &mut dyn fmt::Write) -> fmt::Result {
        match &self.format {
            Some(text) => w.write_str(as_text(Some(text))),
            // SAFETY: An event without a text of its own is ours, so that its descriptor is one of
            // our module's tables, its own, or of those that `syscalls` keeps until `exit` (invariant).
            None => write_format(w, self.id, unsafe { &*self.desc() }, own_evals()),
        }
    }

    /// Asks `question` about the event's own field of that name. `None` when there is none, or the
    /// module of the event is gone.
    pub(crate) fn field<R>(&self, name: &str, question: impl FnOnce(Field<'_>) -> R) -> Option<R> {
        let _groups = GROUPS.lock();
        // SAFETY: Null or valid, and it stays so under the lock (invariant).
        let desc = unsafe { self.desc().as_ref() }?;
        field::place(fields(desc), COMMON_SIZE)
            .find(|field| field.declared.name == name)
            .map(question)
    }

    /// Puts the event's probe on its tracepoint, with `cookie` as its first argument.
    ///
    /// # Errors
    ///
    /// `ENODEV` when the module of the event is gone; else what the kernel says: `ENOMEM`, and
    /// `EEXIST` when this cookie is attached already.
    ///
    /// # Safety
    ///
    /// `cookie` is what `rtrace_reserve()` expects, and stays so until [`Event::detach`] and, after
    /// that, [`synchronize`] have returned.
    pub(crate) unsafe fn attach(&self, cookie: *mut c_void) -> Result {
        let _groups = GROUPS.lock();
        let desc = self.desc();
        if desc.is_null() || !self.has_tracepoint() {
            return Err(ENODEV);
        }
        // SAFETY:
        // - The descriptor and the tracepoint are valid (invariant), and stay so under the lock.
        // - The probe has the tracepoint's prototype: the C compiler checked that.
        // - The caller vouches for the cookie.
        to_result(unsafe {
            bindings::tracepoint_probe_register(
                self.tracepoint.load(Relaxed),
                (*desc).probe,
                cookie,
            )
        })
    }

    /// Takes the probe off. It may still run until [`synchronize`] returns.
    ///
    /// # Safety
    ///
    /// `cookie` was attached to this event and not detached since.
    pub(crate) unsafe fn detach(&self, cookie: *mut c_void) {
        let desc = self.desc();
        if desc.is_null() {
            return;
        }
        // SAFETY: The probe is attached, so that the module of the event is still there: it goes
        // only after all its events were detached (invariant).
        unsafe {
            bindings::tracepoint_probe_unregister(
                self.tracepoint.load(Relaxed),
                (*desc).probe,
                cookie,
            )
        };
    }
}

/// Waits until no probe that was detached before still runs. May take a while.
pub(crate) fn synchronize() {
    // SAFETY: Waits only; every caller is in process context.
    unsafe { c::rt_tracepoint_synchronize() };
}

/// Every event that can be enabled, in the order of their ids, which is also ftrace's order.
pub(crate) fn all() -> impl Iterator<Item = &'static Event> {
    used().filter(|event| event.has_tracepoint())
}

/// The event whose records have this `common_type`, even when its module is gone.
pub(crate) fn by_id(id: u16) -> Option<&'static Event> {
    TABLE
        .get(usize::from(id.checked_sub(FIRST_ID)?))
        .and_then(in_slot)
}

/// The event of this name that can be enabled.
pub(crate) fn by_name(system: &str, name: &str) -> Option<&'static Event> {
    all().find(|event| event.name() == name && event.system() == system)
}

/// The first event that each system ever had, of the systems with an event that can be enabled and from
/// the id `from` on.
pub(crate) fn systems(from: u16) -> impl Iterator<Item = &'static Event> {
    let mut before: Option<&Event> = None;
    used().filter(move |event| {
        // The events of a system mostly follow each other: this answer is cheap.
        let same = |other: &Event| other.system() == event.system();
        let repeated = before.replace(event).is_some_and(same);
        event.id() >= from
            && !repeated
            && !used().take_while(|other| other.id() < event.id()).any(same)
            && all().any(same)
    })
}

/// The first event that the system ever had, when it has one that can be enabled.
pub(crate) fn system_by_name(system: &[u8]) -> Option<&'static Event> {
    let mut same = used().filter(|event| event.system().as_bytes() == system);
    let first = same.next()?;
    (first.has_tracepoint() || same.any(Event::has_tracepoint)).then_some(first)
}

/// Every event that was ever there.
fn used() -> impl Iterator<Item = &'static Event> {
    TABLE.iter().map_while(in_slot)
}

fn in_slot(slot: &Atomic<*mut Event>) -> Option<&'static Event> {
    // Acquire: pairs with the store in `publish`. Without it the event could be seen before its
    // contents.
    let event = slot.load(Acquire);
    // SAFETY: Null, or an event that `publish` gave up to the table, which keeps it until `exit`.
    unsafe { event.as_ref() }
}

/// The id that the next event gets; `ENOSPC` when the table is full.
///
/// The caller is the only one who publishes: `init`, or a holder of [`GROUPS`].
fn next_id() -> Result<u16> {
    let used = used().count();
    if used >= CAPACITY {
        return Err(ENOSPC);
    }
    Ok(u16::try_from(used)?.wrapping_add(FIRST_ID))
}

/// Makes the event visible.
fn publish(event: KBox<Event>) -> Result<&'static Event> {
    let slot = event
        .id
        .checked_sub(FIRST_ID)
        .and_then(|index| TABLE.get(usize::from(index)))
        .ok_or(ENOSPC)?;
    // Release: pairs with `in_slot`.
    slot.store(KBox::into_raw(event), Release);
    in_slot(slot).ok_or(EINVAL)
}

impl Event {
    /// A new event; not yet in the table.
    fn new(
        id: u16,
        desc: &c::rt_event_desc,
        tracepoint: *mut bindings::tracepoint,
        owner: *mut bindings::module,
        format: Option<KVVec<u8>>,
    ) -> Result<KBox<Self>> {
        let (system, name) = names(desc);
        let mut names = KVec::with_capacity(system.len().wrapping_add(name.len()), GFP_KERNEL)?;
        names.extend_from_slice(system.as_bytes(), GFP_KERNEL)?;
        names.push(b':', GFP_KERNEL)?;
        names.extend_from_slice(name.as_bytes(), GFP_KERNEL)?;
        let mut module = KVec::new();
        if !owner.is_null() {
            // SAFETY: The caller hands in a module that is loaded; its name is terminated.
            let name = unsafe { text((*owner).name.as_ptr()) };
            module.extend_from_slice(name.as_bytes(), GFP_KERNEL)?;
        }
        // INVARIANT: The callers hand in a valid descriptor and tracepoint; the names were two
        // strings.
        Ok(KBox::new(
            Self {
                id,
                size: u32::from(desc.size),
                names,
                system_len: system.len(),
                module,
                call: Call::of(desc),
                format,
                raw: None,
                desc: Atomic::new(ptr::from_ref(desc).cast_mut()),
                tracepoint: Atomic::new(tracepoint),
                owner: Atomic::new(owner),
                offered: Atomic::new(true),
            },
            GFP_KERNEL,
        )?)
    }
}

/// Finds the tracepoints of our own events and offers those that this kernel allows.
///
/// What cannot be recorded exactly as ftrace would is left out, and the kernel log says so. `wish` says
/// which raw events there are besides, `btf` is the kernel's.
///
/// # Safety
///
/// Called once, before anything else of this module; [`exit`] is called before the module goes
/// away, also when this fails.
pub(crate) unsafe fn init(wish: RawWish, btf: Result<&KernelBtf, NoBtf>) -> Result {
    // SAFETY: The caller promises that this is the first call, and the only one.
    unsafe { GROUPS.init() };

    let descs = own_descs();
    let refused = layouts::check(btf)?;
    let tracepoints = tracepoints::find_all(descs)?;
    for absent in own_absent().iter().filter(|absent| absent.when.is_none()) {
        // SAFETY: The tables hold valid strings, made by the macros of `shim/events/`.
        let (system, name, why) =
            unsafe { (text(absent.system), text(absent.name), text(absent.why)) };
        refuse((system, name), &why);
    }
    let mut offers = Offers::new();
    for (desc, &tracepoint) in descs.iter().zip(tracepoints.iter()) {
        if tracepoint.is_null() {
            // Its module is not there, or its subsystem is off: tracefs does not have it either.
            continue;
        } else if let Some(why) = absent_now(desc) {
            refuse(names(desc), &why);
        } else if let Some(refusal) = refused.iter().find(|r| r.concerns(desc)) {
            refuse(names(desc), refusal);
        } else {
            offers.add_of_header(desc, tracepoint)?;
        }
    }
    let calls = syscalls::descs()?;
    let tracepoints = tracepoints::find_all(calls)?;
    for (desc, &tracepoint) in calls.iter().zip(tracepoints.iter()) {
        if !tracepoint.is_null() {
            offers.add(u32::from(desc.ftrace_id), desc, tracepoint)?;
        }
    }
    offers.publish()?;
    raw::offer(wish, btf)
}

/// Tells that an event is left out.
fn refuse((system, name): (&str, &str), why: &dyn fmt::Display) {
    pr_info!("{system}:{name} is not offered: {why}\n");
}

/// Why this event must be left out on the running kernel, if it must.
fn absent_now(desc: &c::rt_event_desc) -> Option<&'static str> {
    own_absent().iter().find_map(|absent| {
        // SAFETY: The tables hold valid strings, made by the macros of `shim/events/`.
        let (system, name, why) =
            unsafe { (text(absent.system), text(absent.name), text(absent.why)) };
        // SAFETY: These functions only look around.
        let holds = (system, name) == names(desc) && unsafe { (absent.when?)() };
        holds.then_some(why)
    })
}

/// Frees all events.
///
/// # Safety
///
/// No reference to any event is used from here on, and no probe is attached.
pub(crate) unsafe fn exit() {
    for slot in &TABLE {
        let event = slot.load(Relaxed);
        if event.is_null() {
            break;
        }
        slot.store(ptr::null_mut(), Relaxed);
        // SAFETY: `publish` made the pointer from a box, and the caller promises that nobody uses
        // the event any more.
        drop(unsafe { KBox::from_raw(event) });
    }
    // SAFETY: No event is left that has one of these descriptors.
    unsafe { syscalls::free() };
}

/// Writes the `format` text of an event.
fn write_format(
    w: &mut dyn fmt::Write,
    id: u16,
    desc: &c::rt_event_desc,
    evals: &[c::rt_eval],
) -> fmt::Result {
    // An eval is for the events of its own header, and these share one system string.
    let evals = evals
        .iter()
        .filter(|eval| eval.system == desc.system)
        .map(|eval| Eval {
            // SAFETY: As for the descriptor below.
            text: unsafe { text(eval.text) },
            value: eval.value as i64,
        });
    // SAFETY: The tables hold valid strings, made by the macros of `shim/events/`.
    let print_fmt = unsafe { text(desc.print_fmt) };
    let (_, name) = names(desc);
    format::write(w, name, id, fields(desc), print_fmt, evals)
}

/// The fields of an event behind the common ones.
fn fields(desc: &c::rt_event_desc) -> impl Iterator<Item = Declared<'_>> {
    let mut index = 0;
    core::iter::from_fn(move || {
        let mut field = c::rt_field {
            type_: ptr::null(),
            name: ptr::null(),
            size: 0,
            align: 0,
            len: 0,
            is_signed: false,
        };
        // SAFETY: The descriptor is valid, and no index before was the last: `from_fn` is not asked
        // again after `None`, by `map`, which `format` puts around it.
        if !unsafe { c::rt_event_field(desc, index, &mut field) } {
            return None;
        }
        index = index.wrapping_add(1);
        // SAFETY: The C compiler made these strings of the header's text.
        let (ty, name) = unsafe { (text(field.type_), text(field.name)) };
        Some(Declared {
            ty,
            name,
            size: field.size,
            align: field.align,
            len: field.len,
            signed: field.is_signed,
        })
    })
}

/// System and name of an event.
fn names(desc: &c::rt_event_desc) -> (&str, &str) {
    // SAFETY: The tables hold valid strings, made by the macros of `shim/events/`.
    unsafe { (text(desc.system), text(desc.name)) }
}

/// A string of C; empty if it should not be UTF-8.
///
/// # Safety
///
/// `string` is valid and terminated, and does not change during `'a`.
unsafe fn text<'a>(string: *const c_char) -> &'a str {
    // SAFETY: The caller's promise.
    let bytes = unsafe { CStr::from_char_ptr(string) }.to_bytes();
    as_text(Some(bytes))
}

fn as_text(bytes: Option<&[u8]>) -> &str {
    bytes
        .and_then(|bytes| core::str::from_utf8(bytes).ok())
        .unwrap_or_default()
}

/// The elements between two bounds of a table.
///
/// # Safety
///
/// The bounds enclose an array of `T` that is valid and does not change during `'a`.
unsafe fn between<'a, T>(first: *const T, last: *const T) -> &'a [T] {
    let bytes = last.addr().saturating_sub(first.addr());
    // SAFETY: The caller's promise.
    unsafe { core::slice::from_raw_parts(first, bytes / size_of::<T>()) }
}

/// Our own tables: `first.c` and `last.c` bound them.
macro_rules! own_table {
    ($name:ident, $type:ident, $first:ident, $last:ident) => {
        fn $name() -> &'static [c::$type] {
            // SAFETY:
            // - Linked first and last, the two enclose the section of their type. It is read-only,
            //   and lives as long as this module.
            // - No gap: the type's size is a multiple of the alignment that the section's
            //   definitions have.
            unsafe { between((&raw const c::$first).cast(), (&raw const c::$last).cast()) }
        }
    };
}

own_table!(own_descs, rt_event_desc, rt_events_first, rt_events_last);
own_table!(own_evals, rt_eval, rt_evals_first, rt_evals_last);
own_table!(own_layouts, rt_layout, rt_layouts_first, rt_layouts_last);
own_table!(own_absent, rt_absent, rt_absent_first, rt_absent_last);
