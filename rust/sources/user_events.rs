// SPDX-License-Identifier: GPL-2.0

//! User events: those that programs define by `user_events_data`, and that they write themselves.
//!
//! A user event has no probe. A program that has registered it writes records into it by an index, and they go
//! wherever the event is enabled, in all instances. An event goes with its last use: an open file that has an index
//! of it, a bit in the memory of a program, an instance that has it enabled, an event probe that follows it. One that
//! persists is removed by users.
//!
//! Locks: [`CHANGES`], then those of an instance's events and files, then [`bits::WRITING`]; [`DEFINED`] is a leaf.

mod bits;
mod workers;

pub(crate) use self::workers::UserEventWork;

use self::bits::WRITING;
use super::{
    fields_defined::{
        self,
        DefinedFields,
        FieldsDefinitions, //
    },
    targets::{
        RecordTargets,
        LARGEST_SUBBUF, //
    },
    user_fields::UserFields, //
};
use crate::{
    events::{
        self,
        Attachment,
        Event,
        Fields,
        Source, //
    },
    kapi::{
        compat,
        percpu::CpuPin,
        program_memory::ProgramMemory,
        task,
        text_buffer::TextBuffer,
        user_memory, //
    },
    probes::{
        COMMON,
        MOST_PAYLOAD, //
    },
    tasks::{
        programs,
        watch::TaskWatch, //
    },
    text::writer::ByteWrite,
    user_events::{
        command::{
            UserCommand,
            LONGEST_NAME, //
        },
        print::BytesForm,
        record::{
            self,
            DynamicRule, //
        },
        request::{
            EnableBit,
            MULTI_FORMAT,
            PERSIST, //
        },
        WrongUserEvent,
        MULTI_SYSTEM,
        SYSTEM, //
    }, //
};
use core::{
    ops::{
        Deref,
        Range, //
    },
    ptr, //
};
use kernel::{
    fmt::{
        self,
        Write, //
    },
    prelude::*,
    str::CString,
    sync::{
        atomic::{
            Atomic,
            Full,
            Relaxed, //
        },
        lock::GlobalGuard,
        Arc, //
    }, //
};

crate::kapi::global::global_mutex! {
    static CHANGES: Mutex<UserEventChanges> = UserEventChanges {
        formats: 0,
        watch: None,
    };
}

crate::kapi::global::global_mutex! {
    static DEFINED: Mutex<FieldsDefinitions<UserEvent>> = FieldsDefinitions::new();
}

/// What those who make and remove events have.
struct UserEventChanges {
    /// The number of events that were made of whose name there may be others.
    formats: u64,
    /// Follows programs, as long as one has registered.
    watch: Option<TaskWatch>,
}

static FOLLOWED: bits::FollowedPrograms = bits::FollowedPrograms;

/// A user event: its fields, and where it is enabled.
pub(crate) struct UserEvent {
    /// The name by which it was defined, which is not the event's if there may be others.
    name: TextBuffer,
    fields: UserFields,
    rules: KVec<DynamicRule>,
    flags: u16,
    /// Changed with [`WRITING`] locked, as the next two.
    targets: RecordTargets,
    /// Number of instances that have it enabled, or attached for triggers.
    users: Atomic<u64>,
    /// It was removed.
    gone: Atomic<bool>,
    /// Number of [`UserEventUse`]s.
    uses: Atomic<u64>,
}

impl From<WrongUserEvent> for Error {
    fn from(_: WrongUserEvent) -> Self {
        EINVAL
    }
}

impl UserEvent {
    /// Makes one.
    ///
    /// # Errors
    ///
    /// `EINVAL` for fields that are none, `ENOMEM`.
    fn new(command: UserCommand<'_>, flags: u16) -> Result<Self> {
        let mut name = TextBuffer::new();
        name.write_str(command.name).map_err(|_| ENOMEM)?;
        let (fields, rules) = UserFields::new(command, DynamicRule::of)?;
        Ok(Self {
            name,
            fields,
            rules,
            flags,
            targets: RecordTargets::none(),
            users: Atomic::new(0),
            gone: Atomic::new(false),
            uses: Atomic::new(0),
        })
    }

    fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Returns whether an instance has it enabled, which does not change as long as `WRITING` is locked.
    fn is_enabled(&self, _writing: &GlobalGuard<WRITING>) -> bool {
        self.users.load(Relaxed) != 0
    }

    /// Records what a program has written: `len` bytes that `read` gets, after the common fields. Process context.
    ///
    /// # Errors
    ///
    /// `EINVAL` for fewer bytes than the fields have, `EBADF` where the event is not enabled, and `EFAULT` for bytes
    /// that cannot be read, or that are no record.
    pub(crate) fn write(&self, len: usize, read: impl FnOnce(&mut [u8]) -> bool) -> Result {
        if len < self.fields.least() {
            return Err(EINVAL);
        }
        if !self.targets.may_be() {
            return Err(EBADF);
        }
        let size = len.saturating_add(COMMON);
        if size > MOST_PAYLOAD {
            return self.write_long(size, read);
        }
        let written = user_memory::with_place(|place| {
            let record = place.get_mut(..size).ok_or(EFAULT)?;
            self.write_from(record, read)
        });
        written.unwrap_or(Err(ENOMEM))
    }

    /// As [`Self::write`], a record of so many bytes that only rings of larger sub-buffers take it; the others count
    /// a loss.
    ///
    /// # Errors
    ///
    /// As there, and `ENOMEM`.
    #[cold]
    fn write_long(&self, size: usize, read: impl FnOnce(&mut [u8]) -> bool) -> Result {
        if size >= LARGEST_SUBBUF {
            CpuPin::with(|pin| self.targets.refuse_too_long(pin));
            return Ok(());
        }
        let mut record = KVVec::from_elem(0, size, GFP_KERNEL | __GFP_NOWARN)?;
        self.write_from(&mut record, read)
    }

    /// Records what `read` gets into `record`, after the common fields, if it is one of this event.
    ///
    /// # Errors
    ///
    /// `EFAULT`.
    fn write_from(&self, record: &mut [u8], read: impl FnOnce(&mut [u8]) -> bool) -> Result {
        let bytes = record.get_mut(COMMON..).ok_or(EFAULT)?;
        if !read(bytes) || !record::is_valid(&self.rules, record) {
            return Err(EFAULT);
        }
        let bytes = record.get(COMMON..).unwrap_or_default();
        self.record(record.len(), |to| {
            if let Some(to) = to.get_mut(COMMON..COMMON.wrapping_add(bytes.len())) {
                to.copy_from_slice(bytes);
            }
        });
        Ok(())
    }

    /// Records `size` bytes, of which `fill` writes those after the common fields.
    fn record(&self, size: usize, fill: impl Fn(&mut [u8])) {
        CpuPin::with(|pin| self.targets.record(pin, size, fill));
    }
}

impl DefinedFields for UserEvent {
    fn name(&self) -> &str {
        self.name.text()
    }

    fn is_busy(&self) -> bool {
        self.users.load(Relaxed) != 0 || self.uses.load(Relaxed) != 0
    }

    fn end(&self) -> Result {
        let _writing = WRITING.lock();
        if self.is_busy() {
            return Err(EBUSY);
        }
        may_persist(self.flags)?;
        self.gone.store(true, Relaxed);
        Ok(())
    }

    fn write_definition(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        self.fields.write_definition(self.name.text(), out)
    }
}

/// A use of a user event, which stays as long as this is there.
pub(crate) struct UserEventUse(Arc<UserEvent>);

impl UserEventUse {
    /// Adds a use. The caller has [`CHANGES`] or [`WRITING`] locked, or another use.
    fn new(user: Arc<UserEvent>) -> Self {
        user.uses.add(1, Relaxed);
        Self(user)
    }

    /// Returns a use of the user event that `event` is; `None` when it is none, or was removed.
    pub(super) fn of_event(event: &Event) -> Option<Self> {
        let user = {
            let defined = DEFINED.lock();
            let mut known = defined.iter();
            let known = known.find(|known| ptr::eq(known.event, event))?;
            known.made_of.clone()
        };
        let _writing = WRITING.lock();
        (!user.gone.load(Relaxed)).then(|| Self::new(user))
    }

    /// Returns whether it is one of `user`.
    fn is_of(&self, user: &UserEvent) -> bool {
        ptr::eq(&*self.0, user)
    }

    /// Returns whether both are uses of the same event.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        other.is_of(&self.0)
    }
}

impl Clone for UserEventUse {
    fn clone(&self) -> Self {
        Self::new(self.0.clone())
    }
}

impl Deref for UserEventUse {
    type Target = UserEvent;

    fn deref(&self) -> &UserEvent {
        &self.0
    }
}

impl Drop for UserEventUse {
    fn drop(&mut self) {
        // Full: who finds no use sees all that the last one did.
        if self.0.uses.fetch_sub(1, Full) == 1 && !self.0.has(PERSIST) {
            workers::want_sweep();
        }
    }
}

/// The source of the event.
struct UserEventSource(Arc<UserEvent>);

impl Source for UserEventSource {
    fn attach(&self, to: Attachment) -> Result {
        let writing = WRITING.lock();
        if self.0.gone.load(Relaxed) {
            return Err(ENODEV);
        }
        // SAFETY: `detach` removes it before it returns.
        unsafe { self.0.targets.add(&to) }?;
        if self.0.users.fetch_add(1, Relaxed) == 0 {
            bits::show(&self.0, &writing);
        }
        Ok(())
    }

    fn detach(&self, from: Attachment) {
        let writing = WRITING.lock();
        if self.0.targets.remove(&from) && self.0.users.fetch_sub(1, Relaxed) == 1 {
            bits::show(&self.0, &writing);
            workers::want_sweep();
        }
    }

    fn visit_fields(&self, _: &Event, visit: &mut dyn FnMut(&mut Fields<'_>)) {
        self.0.fields.visit(visit);
    }

    fn write_format(&self, event: &Event, w: &mut dyn fmt::Write) -> fmt::Result {
        self.0.fields.write_format(event, BytesForm::Word, w)
    }

    fn own_depth(&self) -> u32 {
        1
    }

    fn is_printed_by_fields(&self) -> bool {
        true
    }
}

/// Has no program followed any more, by probes on events that are still there; no event is enabled any more, and there
/// is no [`UserEventWork`].
pub(super) fn leave_programs() {
    // All bits are 0 then, also those of programs that are copied meanwhile, but in pages that do not come.
    bits::bring(None);
    let watch = CHANGES.lock().watch.take();
    drop(watch);
    bits::bring_at_last();
}

/// Forgets programs and definitions, after [`leave_programs`].
pub(super) fn exit() {
    bits::exit();
    let all = core::mem::replace(&mut *DEFINED.lock(), FieldsDefinitions::new());
    drop(all);
}

/// Returns the event of this definition, which is made if there is none.
///
/// # Errors
///
/// `EPERM` where the current task may not have one that persists, `EADDRINUSE` when an event of this name has other
/// fields, `EEXIST` when an event of another kind has the name, `EINVAL` for wrong fields, `ENOMEM`, and `ENOSPC`
/// when there are too many events.
fn find_or_define(
    changes: &mut UserEventChanges,
    command: UserCommand<'_>,
    flags: u16,
) -> Result<UserEventUse> {
    may_persist(flags)?;
    let is_multi = flags & MULTI_FORMAT != 0;
    for known in DEFINED.lock().iter() {
        let user = &known.made_of;
        if user.has(MULTI_FORMAT) != is_multi || !known.is_called(command.name.as_bytes()) {
            continue;
        }
        if user.fields.is_same(command.fields) {
            return Ok(UserEventUse::new(user.clone()));
        }
        if !is_multi {
            return Err(compat::address_in_use());
        }
    }
    let number = changes.formats;
    if is_multi {
        // As in the kernel, one whose fields are wrong has a number, too.
        changes.formats = number.wrapping_add(1);
    }
    let new = Arc::new(UserEvent::new(command, flags)?, GFP_KERNEL)?;
    let size = new.fields.least().saturating_add(COMMON);
    let size = u32::try_from(size).map_err(|_| EINVAL)?;
    DEFINED.lock().reserve()?;
    user_memory::prepare()?;
    let source =
        || -> Result<KBox<dyn Source>> { Ok(KBox::new(UserEventSource(new.clone()), GFP_KERNEL)?) };
    let event = match is_multi {
        false => events::dynamic::define((SYSTEM, command.name), size, source)?,
        true => {
            let name = CString::try_from_fmt(fmt!("{}.{number:x}", command.name))?;
            let name = name.to_str().map_err(|_| EINVAL)?;
            if name.len() > LONGEST_NAME {
                return Err(EINVAL);
            }
            events::dynamic::define((MULTI_SYSTEM, name), size, source)?
        }
    };
    let used = UserEventUse::new(new.clone());
    // There is room: others who add one take turns.
    DEFINED.lock().add(event, new);
    Ok(used)
}

/// Fails with `EPERM` if the current task may neither make nor remove events with these flags.
fn may_persist(flags: u16) -> Result {
    match flags & PERSIST != 0 && !task::may_observe() {
        true => Err(EPERM),
        false => Ok(()),
    }
}

/// Obeys a line of `dynamic_events` that begins with `u:`. Process context.
///
/// # Errors
///
/// Those of [`find_or_define`].
pub(crate) fn obey_dynamic(line: &[u8]) -> Result {
    let command = UserCommand::parse_dynamic(line)?;
    find_or_define(&mut CHANGES.lock(), command, PERSIST).map(drop)
}

/// Returns the memory of the current program.
///
/// # Errors
///
/// `EINVAL` for a task that runs none.
pub(crate) fn own_memory() -> Result<ProgramMemory> {
    ProgramMemory::of_current().ok_or(EINVAL)
}

/// Fails with `EADDRINUSE` if the program has registered the bit.
pub(crate) fn may_register(memory: &ProgramMemory, bit: EnableBit) -> Result {
    match bits::has(memory, bit) {
        true => Err(compat::address_in_use()),
        false => Ok(()),
    }
}

/// Returns the event of a definition for a program that registers. Process context.
///
/// # Errors
///
/// Those of [`find_or_define`], and `EINVAL` for no definition.
pub(crate) fn register(definition: &[u8], flags: u16) -> Result<UserEventUse> {
    let command = UserCommand::parse(definition)?;
    find_or_define(&mut CHANGES.lock(), command, flags)
}

/// Has the bit in the memory of the current program show whether `event` is enabled.
///
/// # Errors
///
/// `ENOMEM`, also where no bit can be set, as in the kernel; `EADDRINUSE` for a bit that is registered, `EFAULT` for
/// memory that others change all the time, and `ENODEV` for a kernel that does not tell when programs end.
pub(crate) fn register_bit(memory: &ProgramMemory, event: &UserEventUse, bit: EnableBit) -> Result {
    let add = || {
        let mut changes = CHANGES.lock();
        // Also after a wait, in which no program may have had a bit.
        if changes.watch.is_none() {
            changes.watch = Some(programs::watch(&FOLLOWED)?);
        }
        bits::add(memory, event, bit)
    };
    let result = bits::until_changed(memory, bit, ENOMEM, add);
    if result.is_err() {
        // Perhaps no program is there to be followed.
        workers::want_sweep();
    }
    result
}

/// Ends that. The bit is cleared.
///
/// # Errors
///
/// `ENOENT` when it is not registered, `EFAULT` when it could not be cleared.
pub(crate) fn unregister_bit(memory: &ProgramMemory, bit: EnableBit) -> Result {
    bits::remove(memory, bit)?;
    workers::want_sweep();
    bits::until_changed(memory, bit, EFAULT, || Ok(bits::clear(memory, bit)))
}

/// Removes what the name of a definition means: all of its formats. Process context.
///
/// # Errors
///
/// `ENOENT` when there is none, `EBUSY` while one is in use, `EPERM` for one that persists, `ENOMEM`.
pub(crate) fn delete(name: &[u8]) -> Result {
    let _turn = CHANGES.lock();
    bits::forget_ended();
    fields_defined::remove(&DEFINED, |known| known.is_called(name))
}

/// Removes the events that a line of `dynamic_events` selects, by system, name and the same fields.
///
/// # Errors
///
/// Those of [`delete`].
pub(crate) fn delete_line(system: Option<&str>, name: &str, fields: &str) -> Result {
    if system.is_some_and(|system| ![SYSTEM, MULTI_SYSTEM].contains(&system)) {
        return Err(ENOENT);
    }
    let _turn = CHANGES.lock();
    bits::forget_ended();
    fields_defined::remove(&DEFINED, |known| {
        known.is_called(name.as_bytes()) && known.made_of.fields.is_same(fields)
    })
}

/// Removes all events.
///
/// # Errors
///
/// Those of [`delete`], but nothing if there is none.
pub(crate) fn delete_all() -> Result {
    let _turn = CHANGES.lock();
    fields_defined::remove_all(&DEFINED)
}

/// Returns whether an event is in use.
pub(crate) fn is_busy() -> bool {
    bits::forget_ended();
    DEFINED.lock().is_busy()
}

/// Removes the events that nothing uses, and forgets programs that have ended.
fn sweep() {
    let mut changes = CHANGES.lock();
    bits::forget_ended();
    if !bits::has_programs() {
        let watch = changes.watch.take();
        drop(watch);
    }
    // What is in use again, or finds no memory, is removed another time.
    let _ = fields_defined::remove(&DEFINED, |known| {
        !known.made_of.has(PERSIST) && !known.made_of.is_busy()
    });
}

/// Returns the place of the first event from `from` on in the order in which dynamic events were made.
pub(crate) fn next_serial(from: u64) -> Option<u64> {
    DEFINED.lock().next_serial(from)
}

/// Writes the definitions that `serials` selects. Fails when `out` does.
pub(crate) fn write_definitions(serials: Range<u64>, out: &mut dyn ByteWrite) -> fmt::Result {
    DEFINED.lock().write(serials, "", out)
}

/// Writes the text of `user_events_status`. Fails when `out` does.
pub(crate) fn write_status(out: &mut dyn ByteWrite) -> fmt::Result {
    let defined = DEFINED.lock();
    let (mut active, mut busy) = (0u64, 0u64);
    for known in defined.iter() {
        out.write_str(known.event.name())?;
        active = active.wrapping_add(1);
        if known.made_of.users.load(Relaxed) != 0 {
            out.write_str(" # Used by ftrace")?;
            busy = busy.wrapping_add(1);
        }
        out.write_str("\n")?;
    }
    write!(out, "\nActive: {active}\nBusy: {busy}\n")
}
