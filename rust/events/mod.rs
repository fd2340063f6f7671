// SPDX-License-Identifier: GPL-2.0

//! The registry of events: which there are, by name and by id.
//!
//! Events come from the sources (`sources/`), at load and with the kernel's modules; other modules may add
//! groups of their own (`groups`). Called by the sources, by `instance` to enable events, and by `fs` for
//! the files under `events/`.
//!
//! An [`Event`] lives until rtrace is unloaded, even when the module that brought it goes away: what
//! comes and goes is its descriptor. So an id in an old record, or a reference in a file that is
//! still open, never dangles. The table only grows, and is read without a lock; whatever uses a
//! group's descriptor holds [`GROUPS`], and this lock is a leaf: nothing is locked inside it but
//! the tracepoints' own mutex.

mod described;
pub(crate) mod groups;
mod printer;
mod source;
pub(crate) mod tracepoints;

#[cfg(CONFIG_KUNIT = "y")]
pub(crate) use self::source::Fields;
pub(crate) use self::{
    described::{
        as_text,
        attach,
        detach,
        names,
        own_absent,
        own_descs,
        own_evals,
        own_layouts,
        text, //
    },
    groups::{
        set_forget,
        GROUPS, //
    },
    printer::{
        Manner,
        Printer, //
    },
    source::{
        Attachment,
        Recipient,
        Source, //
    }, //
};

use self::{
    described::{
        fields,
        write_format_of,
        Header, //
    },
    source::Origin, //
};
use crate::{
    event::field::{
        self,
        Field,
        COMMON_SIZE, //
    },
    kapi::c, //
};
use core::ptr;
use kernel::{
    bindings,
    fmt,
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Relaxed,
            Release, //
        },
        lock::GlobalGuard, //
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

/// System and name of an event.
///
/// # Invariants
///
/// `joined` is UTF-8, also when cut before and after the byte at `system_len`, a colon.
struct Names {
    /// `system:name`.
    joined: KVec<u8>,
    system_len: usize,
}

impl Names {
    fn new((system, name): (&str, &str)) -> Result<Self> {
        let len = system.len().wrapping_add(name.len()).wrapping_add(1);
        let mut joined = KVec::with_capacity(len, GFP_KERNEL)?;
        joined.extend_from_slice(system.as_bytes(), GFP_KERNEL)?;
        joined.push(b':', GFP_KERNEL)?;
        joined.extend_from_slice(name.as_bytes(), GFP_KERNEL)?;
        // INVARIANT: It was two strings.
        Ok(Self {
            joined,
            system_len: system.len(),
        })
    }

    fn system(&self) -> &str {
        Self::cut(self.joined.get(..self.system_len))
    }

    fn name(&self) -> &str {
        Self::cut(self.joined.get(self.system_len.wrapping_add(1)..))
    }

    /// Returns a part of `joined` before or after the colon as text, without a look at each byte.
    fn cut(part: Option<&[u8]>) -> &str {
        // SAFETY: UTF-8, as `joined` is where these two cut it (invariant).
        unsafe { core::str::from_utf8_unchecked(part.unwrap_or(&[])) }
    }
}

/// One event.
///
/// # Invariants
///
/// - Unless null, `desc` is valid; it becomes null only under [`GROUPS`] and only for the event of a
///   module, after all its probes were detached.
/// - While `desc` is not null, `tracepoint` is valid.
pub(crate) struct Event {
    id: u16,
    size: u32,
    names: Names,
    /// Name of the module that has its tracepoint; empty for the kernel.
    module: KVec<u8>,
    origin: Origin,
    is_usual: bool,
    is_named_in_text: bool,
    /// The whole `format` text of an event of a module; the others have it in their tables.
    format: Option<KVVec<u8>>,
    /// Null for an event that C does not describe, too.
    desc: Atomic<*mut c::rt_event_desc>,
    tracepoint: Atomic<*mut bindings::tracepoint>,
    /// The module that has its tracepoint; null for the kernel.
    owner: Atomic<*mut bindings::module>,
    /// Cleared first when its module goes away.
    offered: Atomic<bool>,
}

impl Event {
    pub(crate) fn system(&self) -> &str {
        self.names.system()
    }

    pub(crate) fn name(&self) -> &str {
        self.names.name()
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

    /// Where it comes from.
    pub(crate) fn source(&self) -> &dyn Source {
        self.origin.source()
    }

    /// Returns whether it is one of "all events"; see [`Source::is_usual`].
    pub(crate) fn is_usual(&self) -> bool {
        self.is_usual
    }

    /// Returns whether its name comes before its text; see [`Source::is_named_in_text`].
    pub(crate) fn is_named_in_text(&self) -> bool {
        self.is_named_in_text
    }

    /// Returns what C says of it; null when its module is gone, and when C does not describe it.
    pub(crate) fn desc(&self) -> *const c::rt_event_desc {
        self.desc.load(Acquire)
    }

    /// Returns its tracepoint; null when it has none.
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
        {
            let _groups = self.hold();
            // SAFETY: Null or valid (invariant), and it stays so while it is held.
            if let Some(desc) = unsafe { self.desc().as_ref() } {
                return Some(f(&mut field::place(fields(desc), COMMON_SIZE)));
            }
        }
        let (mut f, mut result) = (Some(f), None);
        self.source().visit_fields(self, &mut |fields| {
            if let Some(f) = f.take() {
                result = Some(f(&mut field::place(fields, COMMON_SIZE)));
            }
        });
        result
    }

    /// Keeps the descriptor: only that of a module's event can vanish, and does under [`GROUPS`].
    fn hold(&self) -> Option<GlobalGuard<GROUPS>> {
        self.format.as_ref().map(|_| GROUPS.lock())
    }

    /// Returns whether it can be enabled.
    pub(crate) fn is_offered(&self) -> bool {
        self.offered.load(Relaxed)
    }

    /// Writes the text of its `format` file.
    pub(crate) fn write_format(&self, w: &mut dyn fmt::Write) -> fmt::Result {
        if let Some(text) = &self.format {
            return w.write_str(as_text(Some(text)));
        }
        // SAFETY: An event without a kept text is ours, so that its descriptor is one of our module's
        // tables, its own, or of those that its source keeps until `exit` (invariant); or there is none.
        match unsafe { self.desc().as_ref() } {
            Some(desc) => write_format_of(w, self.id, desc, own_evals()),
            None => self.source().write_format(self, w),
        }
    }

    /// Asks `question` about the event's own field of that name. `None` when there is none, or the
    /// module of the event is gone.
    pub(crate) fn field<R>(&self, name: &str, question: impl FnOnce(Field<'_>) -> R) -> Option<R> {
        self.with_fields(|mut fields| {
            Iterator::find(&mut fields, |field| field.declared.name == name).map(question)
        })?
    }
}

/// Waits until no probe that was detached before still runs. May take a while.
pub(crate) fn synchronize() {
    // SAFETY: Waits only; every caller is in process context.
    unsafe { c::rt_tracepoint_synchronize() };
}

/// Every event that can be enabled, in the order of their ids, which is also ftrace's order.
pub(crate) fn all() -> impl Iterator<Item = &'static Event> {
    used().filter(|event| event.is_offered())
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
    (first.is_offered() || same.any(Event::is_offered)).then_some(first)
}

/// Returns every event that was ever there.
pub(crate) fn used() -> impl Iterator<Item = &'static Event> {
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
pub(crate) fn next_id() -> Result<u16> {
    let used = used().count();
    if used >= CAPACITY {
        return Err(ENOSPC);
    }
    Ok(u16::try_from(used)?.wrapping_add(FIRST_ID))
}

/// Makes the event visible.
pub(crate) fn publish(event: KBox<Event>) -> Result<&'static Event> {
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
    /// Returns a new event of a header, which is not yet in the table.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn of_header(
        id: u16,
        desc: &c::rt_event_desc,
        tracepoint: *mut bindings::tracepoint,
        owner: *mut bindings::module,
        format: Option<KVVec<u8>>,
    ) -> Result<KBox<Self>> {
        let mut event = Self::of_source(id, desc, tracepoint, &Header)?;
        event.set_owner(owner, format)?;
        Ok(event)
    }

    /// Returns a new event of the kernel, one of the many that `source` has, which is not yet in the table.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn of_source(
        id: u16,
        desc: &c::rt_event_desc,
        tracepoint: *mut bindings::tracepoint,
        source: &'static dyn Source,
    ) -> Result<KBox<Self>> {
        let names = Names::new(names(desc))?;
        let mut event = Self::new(id, names, u32::from(desc.size), Origin::Shared(source))?;
        // INVARIANT: The callers hand in a valid descriptor and tracepoint.
        event.desc = Atomic::new(ptr::from_ref(desc).cast_mut());
        event.tracepoint = Atomic::new(tracepoint);
        Ok(event)
    }

    /// Returns a new event with a source of its own, which is not yet in the table. `names` are its system
    /// and its name, `size` the bytes of a record without its dynamic arrays.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    #[cfg_attr(
        not(CONFIG_KUNIT = "y"),
        expect(
            dead_code,
            reason = "today all sources but the dummy are described by C"
        )
    )]
    pub(crate) fn with_source(
        id: u16,
        names: (&str, &str),
        size: u32,
        source: KBox<dyn Source>,
    ) -> Result<KBox<Self>> {
        Self::new(id, Names::new(names)?, size, Origin::Own(source))
    }

    /// Returns a new event of a tracepoint, described by the descriptor that its own `source` keeps, which
    /// is not yet in the table.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and `EINVAL` for a source without a descriptor.
    pub(crate) fn of_descriptor(
        id: u16,
        source: KBox<dyn Source>,
        tracepoint: *mut bindings::tracepoint,
    ) -> Result<KBox<Self>> {
        let desc = source.descriptor().ok_or(EINVAL)?;
        let (names, size) = (Names::new(names(desc))?, u32::from(desc.size));
        let desc = ptr::from_ref(desc).cast_mut();
        let mut event = Self::new(id, names, size, Origin::Own(source))?;
        // INVARIANT: The event keeps the source, in a box of its own, and the source the descriptor; the
        // callers hand in a valid tracepoint.
        event.desc = Atomic::new(desc);
        event.tracepoint = Atomic::new(tracepoint);
        Ok(event)
    }

    /// Makes it the event of a module, unless `owner` is null; `format` is its text for keeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn set_owner(
        &mut self,
        owner: *mut bindings::module,
        format: Option<KVVec<u8>>,
    ) -> Result {
        if !owner.is_null() {
            // SAFETY: The callers hand in a module that is loaded; its name is terminated.
            let name = unsafe { text((*owner).name.as_ptr()) };
            self.module.extend_from_slice(name.as_bytes(), GFP_KERNEL)?;
        }
        self.owner = Atomic::new(owner);
        self.format = format;
        Ok(())
    }

    fn new(id: u16, names: Names, size: u32, origin: Origin) -> Result<KBox<Self>> {
        // INVARIANT: There is no descriptor.
        Ok(KBox::new(
            Self {
                id,
                size,
                names,
                module: KVec::new(),
                is_usual: origin.source().is_usual(),
                is_named_in_text: origin.source().is_named_in_text(),
                origin,
                format: None,
                desc: Atomic::new(ptr::null_mut()),
                tracepoint: Atomic::new(ptr::null_mut()),
                owner: Atomic::new(ptr::null_mut()),
                offered: Atomic::new(true),
            },
            GFP_KERNEL,
        )?)
    }
}

/// Prepares the table.
///
/// # Safety
///
/// Called once, before anything else of this room; [`exit`] is called before the module goes away.
pub(crate) unsafe fn init() {
    // SAFETY: The caller promises that this is the first call, and the only one.
    unsafe { GROUPS.init() };
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
}
