// SPDX-License-Identifier: GPL-2.0

//! The registry of events: which there are, by name and by id.
//!
//! Events come from the sources (`sources/`), at load and with the kernel's modules; other modules
//! may add groups of their own (`groups`). Called by the sources, by `instance` to enable events,
//! and by `fs` for the files under `events/`.
//!
//! An [`Event`] lives until rtrace is unloaded, even when the module that brought it goes away:
//! what comes and goes is its descriptor. So a reference to an event never dangles. An id means the
//! same event as long as a record or an open file has it; when ids run short, those of events whose
//! modules are gone are given back (`reuse`). The table only grows, and is read without a lock; a
//! caller that uses a group's descriptor holds [`GROUPS`], and this lock is a leaf: nothing is
//! locked inside it but the tracepoints' own mutex.

mod described;
pub(crate) mod dynamic;
pub(crate) mod groups;
mod marker;
mod module;
mod printer;
mod reuse;
mod source;
mod symbols;
pub(crate) mod tracepoints;

pub(crate) use self::{
    described::{
        as_text,
        attach,
        detach,
        names,
        own_absent,
        own_descs,
        own_evals,
        own_layouts, //
    },
    groups::{
        set_users,
        Users,
        GROUPS, //
    },
    marker::{
        marker,
        publish_marker,
        with_triggers, //
    },
    module::{
        Module,
        ModuleHold, //
    },
    printer::{
        PrintManner,
        Printer, //
    },
    reuse::{
        has_record_readers,
        IdRef,
        RecordReader,
        FIRST_ROUND, //
    },
    source::{
        Attachment,
        Fields,
        Recipient,
        Source, //
    },
    symbols::Symbols, //
};

use self::{
    described::{
        fields,
        write_format_of,
        HeaderSource, //
    },
    reuse::IdUse,
    source::EventOrigin,
    tracepoints::Tracepoint, //
};
use crate::{
    event::{
        field::{
            self,
            Field,
            COMMON_SIZE, //
        },
        format::{
            Internal,
            INTERNAL,
            INTERNAL_SYSTEM, //
        }, //
    },
    kapi::{
        c,
        late::Unloading,
        words::SharedPtr, //
    }, //
};
use core::ptr;
use kernel::{
    bindings,
    fmt,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        lock::GlobalGuard, //
    }, //
};

/// Ids (`common_type`) below this one are those of records that no tracepoint makes: they are the
/// kernel's.
pub(crate) const RECORDS: u16 = 32;

/// The id of the first event. The kernel counts its own events from [`RECORDS`] and has some 2000:
/// a program that takes an id of ours to perf_event_open(), where it means an event of the kernel,
/// is refused. Beyond 2^15 it would be negative in KernelShark.
pub(crate) const FIRST_ID: u16 = 1 << 14;
const _: () = assert!(FIRST_ID as usize + CAPACITY <= i16::MAX as usize);

/// Most events that there can be, those of unloaded modules included whose ids were not given back.
pub(crate) const CAPACITY: usize = 4096;

/// All events by `id - FIRST_ID`; null where there is none yet.
static TABLE: [SharedPtr<Event>; CAPACITY] = [const { SharedPtr::null() }; CAPACITY];

/// System and name of an event.
///
/// # Invariants
///
/// `joined` is UTF-8, also when cut before and after the byte at `system_len`, a colon, and before [`BEFORE_TEXT`] at
/// its end.
struct EventNames {
    /// `system:name` and [`BEFORE_TEXT`].
    joined: KVec<u8>,
    system_len: usize,
}

/// What is between the name of an event and its text.
const BEFORE_TEXT: &str = ": ";

impl EventNames {
    /// Joins the two. Fails with `ENOMEM`.
    fn new((system, name): (&str, &str)) -> Result<Self> {
        let parts = [system, ":", name, BEFORE_TEXT];
        let len = parts.iter().map(|part| part.len());
        let mut joined = KVec::with_capacity(len.fold(0, usize::saturating_add), GFP_KERNEL)?;
        for part in parts {
            joined.extend_from_slice(part.as_bytes(), GFP_KERNEL)?;
        }
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
        let end = self.joined.len().saturating_sub(BEFORE_TEXT.len());
        Self::cut(self.joined.get(self.system_len.wrapping_add(1)..end))
    }

    /// Returns the name and [`BEFORE_TEXT`].
    fn before_text(&self) -> &[u8] {
        let from = self.system_len.wrapping_add(1);
        self.joined.get(from..).unwrap_or_default()
    }

    /// Returns a part of `joined` before or after the colon as text, without a look at each byte.
    fn cut(part: Option<&[u8]>) -> &str {
        // SAFETY: UTF-8, as `joined` is where `system` and `name` cut it (invariant).
        unsafe { core::str::from_utf8_unchecked(part.unwrap_or(&[])) }
    }
}

/// One event.
///
/// # Invariants
///
/// - Unless null, `desc` is valid; it becomes null only under [`GROUPS`] and only for the event of
///   a module, after all its probes were detached.
/// - While `desc` is not null, `tracepoint` is valid.
pub(crate) struct Event {
    id: u16,
    size: u32,
    names: EventNames,
    /// Name of the module that brought it; empty for the kernel.
    module: KVec<u8>,
    origin: EventOrigin,
    is_usual: bool,
    is_named_in_text: bool,
    is_printed_by_fields: bool,
    /// Which of the events it is that users or other modules define, and remove; 0 if it is none of them.
    serial: u64,
    /// The whole `format` text of an event of a module; the others have it in their tables.
    format: Option<KVVec<u8>>,
    /// Null for an event that C does not describe, too.
    desc: SharedPtr<c::rt_event_desc>,
    tracepoint: Atomic<*mut bindings::tracepoint>,
    /// The module that brought it; null for the kernel.
    owner: Atomic<*mut bindings::module>,
    /// Cleared first when its module goes away.
    offered: Atomic<bool>,
    id_use: IdUse,
}

impl Event {
    /// Returns the name of its system.
    pub(crate) fn system(&self) -> &str {
        self.names.system()
    }

    /// Returns its name within the system.
    pub(crate) fn name(&self) -> &str {
        self.names.name()
    }

    /// Returns the name of the module that brought it; `None` for an event of the kernel itself.
    pub(crate) fn module(&self) -> Option<&str> {
        match as_text(Some(&self.module)) {
            "" => None,
            module => Some(module),
        }
    }

    /// Returns the `common_type` of its records.
    pub(crate) fn id(&self) -> u16 {
        self.id
    }

    /// Returns the bytes of a record without its dynamic arrays.
    pub(crate) fn size(&self) -> usize {
        self.size as usize
    }

    /// Returns where it comes from.
    pub(crate) fn source(&self) -> &dyn Source {
        self.origin.source()
    }

    /// Returns whether it is one of "all events", see [`Source::is_usual`].
    pub(crate) fn is_usual(&self) -> bool {
        self.is_usual
    }

    /// Returns its name as it comes before its text.
    pub(crate) fn name_before_text(&self) -> &[u8] {
        self.names.before_text()
    }

    /// Returns whether its name comes before its text; see [`Source::is_named_in_text`].
    pub(crate) fn is_named_in_text(&self) -> bool {
        self.is_named_in_text
    }

    /// Returns whether its fields are its text; see [`Source::is_printed_by_fields`].
    pub(crate) fn is_printed_by_fields(&self) -> bool {
        self.is_printed_by_fields
    }

    /// Returns what C says of it; null when its module is gone, and when C does not describe it.
    pub(crate) fn desc(&self) -> *const c::rt_event_desc {
        self.desc.load_acquire()
    }

    /// Returns its tracepoint; null when it has none.
    pub(crate) fn tracepoint(&self) -> *mut bindings::tracepoint {
        self.tracepoint.load(Relaxed)
    }

    /// Returns the module that brought it; null for the kernel.
    pub(crate) fn owner(&self) -> *const bindings::module {
        self.owner.load(Relaxed)
    }

    /// Calls `f` with all its own fields and returns the result. `None` when its module is gone.
    pub(crate) fn with_fields<R>(
        &self,
        f: impl FnOnce(&mut dyn Iterator<Item = Field<'_>>) -> R,
    ) -> Option<R> {
        if let Some(desc) = self.hold().desc() {
            return Some(f(&mut field::place(fields(desc), COMMON_SIZE)));
        }
        let (mut f, mut result) = (Some(f), None);
        self.source().visit_fields(self, &mut |fields| {
            if let Some(f) = f.take() {
                result = Some(f(&mut field::place(fields, COMMON_SIZE)));
            }
        });
        result
    }

    /// Keeps the descriptor as it is: only that of a module's event can vanish, and does under
    /// [`GROUPS`].
    pub(crate) fn hold(&self) -> HeldDesc<'_> {
        // INVARIANT: An event with a kept text is a module's.
        HeldDesc {
            event: self,
            _groups: self.format.as_ref().map(|_| GROUPS.lock()),
        }
    }

    /// Keeps the descriptor as it is, and whether the event is offered, whatever event it is.
    fn lock(&self) -> HeldDesc<'_> {
        // INVARIANT: The lock is held for every event.
        HeldDesc {
            event: self,
            _groups: Some(GROUPS.lock()),
        }
    }

    /// Returns whether it can be enabled.
    pub(crate) fn is_offered(&self) -> bool {
        self.offered.load(Relaxed)
    }

    /// Returns whether it may go: with its module, or because a user has defined it.
    pub(crate) fn may_go(&self) -> bool {
        self.format.is_some() || self.serial != 0
    }

    /// Returns whether it is a module's that is gone, or was removed. The caller holds [`GROUPS`].
    fn is_gone(&self) -> bool {
        match self.serial {
            0 => self.format.is_some() && self.desc().is_null(),
            _ => !self.is_offered(),
        }
    }

    /// Returns where it comes in the order in which users defined their events; 0 if none has.
    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }

    /// Writes the text of its `format` file. Fails when `w` does.
    pub(crate) fn write_format(&self, w: &mut dyn fmt::Write) -> fmt::Result {
        if let Some(text) = &self.format {
            return w.write_str(as_text(Some(text)));
        }
        match self.hold().desc() {
            Some(desc) => write_format_of(w, self.id, desc, own_evals()),
            None => self.source().write_format(self, w),
        }
    }

    /// Asks `question` about the event's own field of that name and returns the answer. `None` when
    /// there is no such field, or the module of the event is gone.
    pub(crate) fn field<R>(&self, name: &str, question: impl FnOnce(Field<'_>) -> R) -> Option<R> {
        self.with_fields(|mut fields| {
            Iterator::find(&mut fields, |field| field.declared.name == name).map(question)
        })?
    }
}

/// The descriptor of an event, kept as it is.
///
/// # Invariants
///
/// [`GROUPS`] is held if the event is a module's.
pub(crate) struct HeldDesc<'a> {
    event: &'a Event,
    _groups: Option<GlobalGuard<GROUPS>>,
}

impl HeldDesc<'_> {
    /// Returns the descriptor; `None` when the module of the event is gone, and when C does not
    /// describe it.
    pub(crate) fn desc(&self) -> Option<&c::rt_event_desc> {
        // SAFETY: Null or valid (invariant of `Event`). It stays so as long as this is borrowed:
        // that of a module's event goes only under the lock, which is held (invariant); that of
        // another event is in our module's tables, or its source keeps it until `exit`, after which
        // no event is used.
        unsafe { self.event.desc().as_ref() }
    }
}

/// Waits until no probe that was detached before still runs, and no writer that ran before with preemption disabled,
/// which may take a while. Process context.
pub(crate) fn synchronize() {
    c::rt_tracepoint_synchronize();
}

/// Returns every event that can be enabled, in the order of their ids, which is also ftrace's
/// order.
pub(crate) fn all() -> impl Iterator<Item = &'static Event> {
    used().filter(|event| event.is_offered())
}

/// Returns the event whose records have this `common_type`, even when its module is gone.
pub(crate) fn by_id(id: u16) -> Option<&'static Event> {
    match id.checked_sub(FIRST_ID) {
        Some(at) => TABLE.get(usize::from(at)).and_then(in_slot),
        None => marker().filter(|event| event.id() == id),
    }
}

/// Returns the event of this name that can be enabled.
pub(crate) fn by_name(system: &str, name: &str) -> Option<&'static Event> {
    all().find(|event| event.name() == name && event.system() == system)
}

/// Returns whether an event of this name can be enabled, or records have it that no tracepoint makes.
pub(crate) fn is_taken(system: &str, name: &str) -> bool {
    let is_called = |record: &&Internal| record.name == name;
    system == INTERNAL_SYSTEM && INTERNAL.iter().any(is_called) || by_name(system, name).is_some()
}

/// Returns the first event that each system ever had, from the id `from` on, of the systems with an
/// event that can be enabled.
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

/// Returns the first event that the system ever had, when it has one that can be enabled.
pub(crate) fn system_by_name(system: &[u8]) -> Option<&'static Event> {
    let mut same = used().filter(|event| event.system().as_bytes() == system);
    let first = same.next()?;
    (first.is_offered() || same.any(Event::is_offered)).then_some(first)
}

/// Returns every event that has an id, even when its module is gone.
pub(crate) fn used() -> impl Iterator<Item = &'static Event> {
    TABLE.iter().map_while(in_slot)
}

fn in_slot(slot: &SharedPtr<Event>) -> Option<&'static Event> {
    // Acquire: pairs with the store in `publish`. Without it the event could be seen before its
    // contents.
    let event = slot.load_acquire();
    // SAFETY: Null, or an event that `publish` or `publish_marker` gave up to this place, which keeps it, as
    // `reuse` does when the place is taken, until `exit`; after that no reference to an event is used.
    unsafe { event.as_ref() }
}

/// Returns the id that the next event gets, one that was given back if there are no others. The
/// caller is the only one that publishes: `init`, or a holder of [`GROUPS`].
///
/// # Errors
///
/// `ENOSPC` when the table is full.
pub(crate) fn next_id() -> Result<u16> {
    let used = used().count();
    if used >= CAPACITY {
        return reuse::vacant().map(Event::id).ok_or(ENOSPC);
    }
    Ok(u16::try_from(used)?.wrapping_add(FIRST_ID))
}

/// Makes the event visible. The caller has its id from [`next_id`], and is still the only one that
/// publishes.
///
/// # Errors
///
/// `ENOSPC` for an id that the table does not have.
pub(crate) fn publish(event: KBox<Event>) -> Result<&'static Event> {
    let slot = event
        .id
        .checked_sub(FIRST_ID)
        .and_then(|index| TABLE.get(usize::from(index)))
        .ok_or(ENOSPC)?;
    let replaced = in_slot(slot);
    // Release: pairs with `in_slot`.
    slot.store_release(KBox::into_raw(event));
    replaced.into_iter().for_each(reuse::keep);
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
        tracepoint: Tracepoint<'_>,
    ) -> Result<KBox<Self>> {
        Self::of_source(id, desc, tracepoint, &HeaderSource)
    }

    /// Returns a new event of the kernel, one of the many that `source` has, which is not yet in
    /// the table.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn of_source(
        id: u16,
        desc: &c::rt_event_desc,
        tracepoint: Tracepoint<'_>,
        source: &'static dyn Source,
    ) -> Result<KBox<Self>> {
        let names = EventNames::new(names(desc))?;
        let mut event = Self::new(id, names, u32::from(desc.size), EventOrigin::Shared(source))?;
        // INVARIANT: Both are valid, and the callers hand in those of our tables, or of a module
        // that takes its events away before it goes.
        event.desc = SharedPtr::new(ptr::from_ref(desc).cast_mut());
        event.tracepoint = Atomic::new(tracepoint.as_ptr());
        Ok(event)
    }

    /// Returns a new event with a source of its own, which is not yet in the table. `names` are its
    /// system and its name, `size` the bytes of a record without its dynamic arrays.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn with_source(
        id: u16,
        names: (&str, &str),
        size: u32,
        source: KBox<dyn Source>,
    ) -> Result<KBox<Self>> {
        Self::new(id, EventNames::new(names)?, size, EventOrigin::Own(source))
    }

    /// Returns a new event of a tracepoint, described by the descriptor that its own `source`
    /// keeps, which is not yet in the table.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and `EINVAL` for a source without a descriptor.
    pub(crate) fn of_descriptor(
        id: u16,
        source: KBox<dyn Source>,
        tracepoint: Tracepoint<'_>,
    ) -> Result<KBox<Self>> {
        let desc = source.descriptor().ok_or(EINVAL)?;
        let (names, size) = (EventNames::new(names(desc))?, u32::from(desc.size));
        let desc = ptr::from_ref(desc).cast_mut();
        let mut event = Self::new(id, names, size, EventOrigin::Own(source))?;
        // INVARIANT: The event keeps the source, in a box of its own, and the source the
        // descriptor. The tracepoint is valid, and the kernel's own or that of a module that takes
        // its events away before it goes.
        event.desc = SharedPtr::new(desc);
        event.tracepoint = Atomic::new(tracepoint.as_ptr());
        Ok(event)
    }

    /// Makes it the event of the module `owner`; `format` is its text, which it keeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn set_owner(&mut self, owner: Module<'_>, format: KVVec<u8>) -> Result {
        self.set_module(owner)?;
        self.format = Some(format);
        Ok(())
    }

    /// Notes that it is the event of the module `owner`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn set_module(&mut self, owner: Module<'_>) -> Result {
        let name = owner.name().as_bytes();
        self.module.extend_from_slice(name, GFP_KERNEL)?;
        self.owner = Atomic::new(owner.as_ptr());
        Ok(())
    }

    fn new(id: u16, names: EventNames, size: u32, origin: EventOrigin) -> Result<KBox<Self>> {
        // INVARIANT: There is no descriptor.
        Ok(KBox::new(
            Self {
                id,
                size,
                names,
                module: KVec::new(),
                is_usual: origin.source().is_usual(),
                is_named_in_text: origin.source().is_named_in_text(),
                is_printed_by_fields: origin.source().is_printed_by_fields(),
                serial: 0,
                origin,
                format: None,
                desc: SharedPtr::null(),
                tracepoint: Atomic::new(ptr::null_mut()),
                owner: Atomic::new(ptr::null_mut()),
                offered: Atomic::new(true),
                id_use: IdUse::new(),
            },
            GFP_KERNEL,
        )?)
    }
}

/// Frees all events.
pub(crate) fn exit(_: &Unloading) {
    let in_table = TABLE
        .iter()
        .map(|slot| slot.exchange(ptr::null_mut()))
        .take_while(|event| !event.is_null());
    let kept = core::iter::from_fn(reuse::next_kept);
    let marker = Some(marker::take_marker()).filter(|event| !event.is_null());
    let others = Iterator::chain(kept, marker);
    for event in Iterator::chain(in_table, others) {
        // SAFETY: `publish` or `publish_marker` made the pointer from a box, which is taken back once:
        // it is out of its place, and of the list of those that were kept. No reference to the event is
        // used any more (invariant of `Unloading`).
        drop(unsafe { KBox::from_raw(event) });
    }
}
