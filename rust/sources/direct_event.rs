// SPDX-License-Identifier: GPL-2.0

//! Direct events: those that other modules define by their fields and write themselves, without a tracepoint.
//!
//! A direct event has no probe. Its module has a [`DirectPlace`] in its own memory: whether an instance has the event
//! enabled, at which its code looks first, and the event, which rtrace finds there when a record is written. Fields and
//! their text are those of user events.
//!
//! Locks: [`DEFINED`], then those of an instance's events, then [`ENABLING`], a leaf.

use super::{
    probe::{
        self,
        RecordBytes, //
    },
    targets::RecordTargets,
    user_fields::UserFields, //
};
use crate::{
    events::{
        self,
        groups,
        Attachment,
        Event,
        Fields,
        Module,
        Source, //
    },
    kapi::{
        global::free_if_empty,
        grace_ref::GraceRef,
        percpu::CpuPin, //
    },
    probes::COMMON,
    user_events::{
        command::UserCommand,
        parts::DynamicField,
        print::BytesForm, //
    }, //
};
use core::{
    iter,
    ptr, //
};
use kernel::{
    bindings,
    fmt,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

crate::kapi::global::global_mutex! {
    static DEFINED: Mutex<KVec<DirectDefinition>> = KVec::new();
}

crate::kapi::global::global_mutex! {
    /// Locked when the targets of an event, and what its place says of them, change.
    static ENABLING: Mutex<()> = ();
}

/// What a module has of its event: `struct rtrace_event` of `exports/include/rtrace.h`. Zeros before it is defined.
#[repr(C)]
pub(crate) struct DirectPlace {
    /// Number of instances that have it enabled, or attached for triggers.
    enabled: Atomic<u32>,
    event: GraceRef<DirectEvent>,
}

/// A part of a record: `struct rtrace_part` of `exports/include/rtrace.h`.
///
/// # Invariants
///
/// `bytes` is that of `len` bytes which do not change as long as this is there, or `len` is 0.
#[repr(C)]
pub(crate) struct RecordPart {
    bytes: *const u8,
    len: usize,
}

impl RecordPart {
    fn bytes(&self) -> &[u8] {
        match self.len {
            0 => &[],
            // SAFETY: There are so many, which do not change (invariant).
            len => unsafe { core::slice::from_raw_parts(self.bytes, len) },
        }
    }
}

/// A direct event: its fields, and where it is enabled.
pub(crate) struct DirectEvent {
    fields: UserFields,
    dynamic: KVec<DynamicField>,
    /// Bytes of the fields, the words of dynamic ones included.
    fixed: usize,
    /// That of a record without dynamic fields.
    size: RecordBytes,
    /// Changed with [`ENABLING`] locked.
    targets: RecordTargets,
    /// That of its module; none after the event was undefined. Used with [`ENABLING`] locked.
    place: GraceRef<DirectPlace>,
}

/// An event that is defined.
struct DirectDefinition {
    event: &'static Event,
    made_of: Arc<DirectEvent>,
}

impl DirectEvent {
    /// Makes one.
    ///
    /// # Errors
    ///
    /// `EINVAL` for fields that are none, `ENOMEM`.
    fn new(command: UserCommand<'_>) -> Result<Self> {
        let (fields, dynamic) = UserFields::new(command, DynamicField::of)?;
        let fixed = fields.least();
        Ok(Self {
            fields,
            dynamic,
            fixed,
            size: COMMON.saturating_add(fixed).into(),
            targets: RecordTargets::none(),
            place: GraceRef::none(),
        })
    }

    /// Takes the event out of its place: it cannot be attached or written any more, but by writers that have found it.
    fn leave_place(&self) {
        let _enabling = ENABLING.lock();
        if let Some(place) = self.place.get() {
            place.event.clear();
            place.enabled.store(0, Relaxed);
        }
        self.place.clear();
    }

    /// Records an event that consists of `parts`: the bytes of all fields, and one part for each dynamic field, whose
    /// words are filled here. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` for other parts than the fields have.
    #[inline(always)]
    fn write(&self, pin: &CpuPin, parts: &[RecordPart]) -> Result {
        let (fixed, tails) = parts.split_first().ok_or(EINVAL)?;
        let fixed = fixed.bytes();
        if fixed.len() != self.fixed || tails.len() != self.dynamic.len() {
            return Err(EINVAL);
        }
        match (tails, self.targets.sole(pin)) {
            // Nearly all events, without a look at what they have not.
            ([], Some(file)) => {
                probe::record(file, &self.size, |record| write_fixed(record, fixed))
            }
            _ => self.write_parts(pin, fixed, tails),
        }
        Ok(())
    }

    /// As [`Self::write`], an event whose parts are those of the fields.
    fn write_parts(&self, pin: &CpuPin, fixed: &[u8], tails: &[RecordPart]) {
        let end = COMMON.wrapping_add(self.fixed);
        let tails = || iter::zip(&self.dynamic, tails);
        let size = tails().fold(end, |size, (field, tail)| {
            size.saturating_add(field.len(tail.bytes()))
        });
        if u16::try_from(size).is_err() {
            // No word says where its bytes are.
            self.targets.refuse_too_long(pin);
            return;
        }
        self.targets.record(pin, size, |record| {
            write_fixed(record, fixed);
            tails().fold(end, |at, (field, tail)| {
                field.write(record, at, tail.bytes())
            });
        });
    }
}

/// Writes the bytes of all fields.
#[inline(always)]
fn write_fixed(record: &mut [u8], fixed: &[u8]) {
    if let Some(room) = record.get_mut(COMMON..COMMON.wrapping_add(fixed.len())) {
        room.copy_from_slice(fixed);
    }
}

/// The source of the event.
struct DirectSource(Arc<DirectEvent>);

impl Source for DirectSource {
    fn attach(&self, to: Attachment) -> Result {
        let _enabling = ENABLING.lock();
        let place = self.0.place.get().ok_or(ENODEV)?;
        // SAFETY: `detach` removes it before it returns.
        unsafe { self.0.targets.add(&to) }?;
        place.enabled.fetch_add(1, Relaxed);
        Ok(())
    }

    fn detach(&self, from: Attachment) {
        let _enabling = ENABLING.lock();
        let was_there = self.0.targets.remove(&from);
        if let Some(place) = self.0.place.get().filter(|_| was_there) {
            place.enabled.fetch_sub(1, Relaxed);
        }
    }

    fn visit_fields(&self, _: &Event, visit: &mut dyn FnMut(&mut Fields<'_>)) {
        self.0.fields.visit(visit);
    }

    fn write_format(&self, event: &Event, w: &mut dyn fmt::Write) -> fmt::Result {
        self.0.fields.write_format(event, BytesForm::Hex, w)
    }

    fn own_depth(&self) -> u32 {
        1
    }

    fn is_printed_by_fields(&self) -> bool {
        true
    }
}

/// Defines an event of the module `owner`: `system` is the name of its system, `definition` its name and its fields as a
/// program gives them to `user_events_data`. Process context.
///
/// # Errors
///
/// `EINVAL` for no such names or fields, `EBUSY` if the place has an event, `EEXIST` when an event of this name can be
/// enabled, `ENOMEM`, and `ENOSPC` when there are too many events.
///
/// # Safety
///
/// `place` stays until [`undefine`] was called with it, or [`module_goes`] for the module, and has returned.
pub(crate) unsafe fn define(
    owner: Module<'_>,
    place: &DirectPlace,
    system: &[u8],
    definition: &[u8],
) -> Result {
    let system = UserCommand::parse(system)?;
    let command = UserCommand::parse(definition)?;
    if !system.fields.is_empty() {
        return Err(EINVAL);
    }
    let new = Arc::new(DirectEvent::new(command)?, GFP_KERNEL)?;
    let size = u32::try_from(new.fixed.saturating_add(COMMON)).map_err(|_| EINVAL)?;
    // SAFETY: The caller promises that the place stays until it is cleared.
    unsafe { new.place.set(Some(place)) };
    {
        let mut defined = DEFINED.lock();
        if !place.event.is_none() {
            return Err(EBUSY);
        }
        defined.reserve(1, GFP_KERNEL)?;
        let source = || -> Result<KBox<dyn Source>> {
            Ok(KBox::new(DirectSource(new.clone()), GFP_KERNEL)?)
        };
        let names = (system.name, command.name);
        let event = events::dynamic::define_of(Some(owner), names, size, source)?;
        // SAFETY: The event's source has it, and an event stays until no module can write any more.
        unsafe { place.event.set(Some(&*new)) };
        // There is room for one.
        let _ = defined.push_within_capacity(DirectDefinition {
            event,
            made_of: new,
        });
    }
    groups::announce(owner.name());
    Ok(())
}

/// Removes the events that `is_meant` selects, which are recorded no more when this returns. Process context.
fn remove(is_meant: impl Fn(&DirectDefinition) -> bool) {
    loop {
        let known = {
            let mut defined = DEFINED.lock();
            let Some(index) = defined.iter().position(&is_meant) else {
                return;
            };
            let known = defined.remove(index);
            free_if_empty(&mut defined);
            known
        };
        if let Ok(known) = known {
            known.made_of.leave_place();
            // Waits for writers that have found it there before.
            events::dynamic::withdraw(|| iter::once(known.event));
        }
    }
}

/// Removes the event of `place`, if it has one, which is recorded no more when this returns. Process context.
pub(crate) fn undefine(place: &DirectPlace) {
    remove(|known| {
        let own = known.made_of.place.get();
        own.is_some_and(|own| ptr::eq(own, place))
    });
}

/// Removes the events that a module has left when it goes. Process context.
pub(super) fn module_goes(module: Module<'_>) {
    let owner: *const bindings::module = module.as_ptr();
    let is_left = |known: &DirectDefinition| ptr::eq(known.event.owner(), owner);
    let left = DEFINED.lock().iter().filter(|known| is_left(known)).count();
    if left != 0 {
        pr_warn!(
            "{}: goes with {left} events that it has not undefined\n",
            module.name()
        );
        remove(is_left);
    }
}

/// Records the event of `place`, which consists of `parts`. Any context, NMI included.
///
/// # Errors
///
/// `EBADF` if there is none, and those of [`DirectEvent::write`].
pub(crate) fn write(place: &DirectPlace, parts: &[RecordPart]) -> Result {
    CpuPin::with(|pin| match place.event.get() {
        Some(event) => event.write(pin, parts),
        None => Err(EBADF),
    })
}
