// SPDX-License-Identifier: GPL-2.0

//! Synthetic events: those that `synthetic_events` defines, and that actions of histograms write.
//!
//! A synthetic event has no probe. An action has a [`SyntheticRef`], which keeps the event, and calls
//! [`SyntheticEvent::write`] with the values; the record goes wherever the event is enabled, in all
//! instances.
//!
//! Locks: [`CHANGES`], then those of an instance's triggers, events and files; [`DEFINED`] and the state of
//! an event are leaves.

use super::{
    fields_defined::{
        self,
        DefinedFields,
        FieldsDefinitions, //
    },
    probe::{
        self,
        RecordBytes,
        RecordInRing, //
    },
    targets::RecordTargets, //
};
use crate::{
    event::format,
    events::{
        self,
        Attachment,
        Event,
        Fields,
        PrintManner,
        Printer,
        Source,
        Symbols, //
    },
    kapi::{
        nesting::{
            NestedCount,
            NestedWriter, //
        },
        percpu::CpuPin,
        symbol,
        text_buffer::TextBuffer, //
    },
    probes::{
        EventFile,
        Exit, //
    },
    synthetic::{
        command::{
            SyntheticCommand,
            SyntheticDraft,
            SYSTEM, //
        },
        error::SyntheticRefusal,
        field::SyntheticField,
        print::{
            SyntheticLayout,
            SyntheticNames, //
        },
        record::{
            self,
            SyntheticValue, //
        }, //
    },
    text::writer::ByteWrite, //
};
use core::ops::{
    Deref,
    Range, //
};
use kernel::{
    fmt,
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

crate::kapi::global::global_mutex! {
    static CHANGES: Mutex<()> = ();
}

crate::kapi::global::global_mutex! {
    static DEFINED: Mutex<FieldsDefinitions<SyntheticEvent>> =
        FieldsDefinitions::new();
}

/// Why a line is refused.
pub(crate) enum LineRefusal {
    /// Without an entry in `error_log`.
    Error(Error),
    Refused(SyntheticRefusal),
    /// There is an event of that name.
    Exists(SyntheticRefusal),
}

impl From<Error> for LineRefusal {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<SyntheticRefusal> for LineRefusal {
    fn from(refusal: SyntheticRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A synthetic event: its fields, and where it is enabled.
#[pin_data]
pub(crate) struct SyntheticEvent {
    name: TextBuffer,
    /// Types and names of the fields.
    text: TextBuffer,
    fields: KVec<SyntheticField>,
    /// Bytes of a record without its dynamic arrays.
    size: RecordBytes,
    /// The bits that a record has of each number, if there are numbers alone; else none.
    masks: KVec<u64>,
    /// Those of its only field, if that is a number; else none.
    sole_mask: u64,
    /// Changed under `state`.
    targets: RecordTargets,
    #[pin]
    state: Mutex<SyntheticState>,
}

struct SyntheticState {
    /// Number of instances that have it enabled, or attached for triggers.
    users: usize,
    /// Number of [`SyntheticRef`]s.
    refs: usize,
    /// It was removed.
    gone: bool,
}

impl SyntheticEvent {
    /// Returns the fields, and the text that has their types and names.
    pub(crate) fn layout(&self) -> SyntheticLayout<'_> {
        SyntheticLayout {
            text: self.text.text(),
            fields: &self.fields,
        }
    }

    /// Returns whether [`Self::write`] has anything to do. Any context.
    #[inline(always)]
    pub(crate) fn may_be_recorded(&self) -> bool {
        self.targets.may_be()
    }

    /// Records one wherever the event is enabled, with a value for each field, in their order. A number takes
    /// the lower bytes of a number, a string or a stack what its type has; a value of another kind, or a
    /// missing one, is 0 or empty.
    ///
    /// Any context, NMI included: no lock, no allocation. A writer inside of too many others is refused: an
    /// event that leads to itself is recorded as often as in ftrace. Such a loss is counted by the option
    /// `event-counts`.
    pub(crate) fn write(&self, pin: &CpuPin, values: &[SyntheticValue<'_>]) {
        let fixed = self.size.len();
        let size = || RecordBytes::new(record::size(&self.fields, fixed, values));
        self.record(pin, size, |record| {
            record::fill(&self.fields, fixed, values, record)
        });
    }

    /// Returns whether all fields are numbers, for [`Self::write_numbers`].
    pub(crate) fn has_numbers_alone(&self) -> bool {
        !self.masks.is_empty()
    }

    /// As [`Self::write`], for an event that [`Self::has_numbers_alone`].
    pub(crate) fn write_numbers(&self, pin: &CpuPin, numbers: &[u64]) {
        let Some(_nested) = NestedWriter::enter(pin) else {
            return self.targets.miss(pin);
        };
        match self.targets.sole(pin) {
            // Nearly all events, without a look through the places of others.
            Some(file) => self.put_numbers(file, numbers),
            None => self.put_numbers_everywhere(pin, numbers),
        }
    }

    /// Returns whether its only field is a number, for [`Self::write_number`].
    pub(crate) fn has_one_number(&self) -> bool {
        self.sole_mask != 0
    }

    /// As [`Self::write_numbers`], for an event that [`Self::has_one_number`]. Ends `exit`.
    #[inline(always)]
    pub(crate) fn write_number(&self, number: u64, exit: Exit) {
        match self.targets.sole_until(&exit) {
            // By a jump, when all is known that is needed.
            Some(file) => put_number(file, number & self.sole_mask, exit),
            None if self.may_be_recorded() => self.put_number_everywhere(number, exit),
            None => exit.end(),
        }
    }

    /// Records numbers for one file.
    #[inline(always)]
    fn put_numbers(&self, file: &EventFile, numbers: &[u64]) {
        probe::record(file, &self.size, |record| {
            record::fill_numbers(&self.masks, numbers, record)
        });
    }

    /// Records numbers wherever the event is enabled.
    #[inline(never)]
    fn put_numbers_everywhere(&self, pin: &CpuPin, numbers: &[u64]) {
        for file in self.targets.files(pin) {
            self.put_numbers(file, numbers);
        }
    }

    /// The same with one number, which comes in a register. Ends `exit`.
    #[inline(never)]
    fn put_number_everywhere(&self, number: u64, exit: Exit) {
        match NestedWriter::enter(exit.pin().pin()) {
            Some(_nested) => self.put_numbers_everywhere(exit.pin().pin(), &[number]),
            None => self.targets.miss(exit.pin().pin()),
        }
        exit.end();
    }

    /// Records one of `size()`, of which `fill` writes those after the common fields, or counts a loss.
    #[inline(always)]
    fn record(&self, pin: &CpuPin, size: impl FnOnce() -> RecordBytes, fill: impl Fn(&mut [u8])) {
        let Some(_nested) = NestedWriter::enter(pin) else {
            return self.targets.miss(pin);
        };
        self.targets.record(pin, size(), fill);
    }

    /// Makes one as `draft` defines it.
    fn new(name: &str, draft: SyntheticDraft<'_>) -> Result<Arc<Self>, LineRefusal> {
        let mut own_name = TextBuffer::new();
        own_name.write_bytes(name.as_bytes()).map_err(|_| ENOMEM)?;
        let (mut text, mut fields) = (TextBuffer::new(), KVec::new());
        draft.for_each_field(|field| -> Result<(), LineRefusal> {
            let len = text.bytes().len();
            let field = field.write(&mut text, len).map_err(|_| ENOMEM)?;
            fields.push(field, GFP_KERNEL).map_err(Error::from)?;
            Ok(())
        })?;
        let state = SyntheticState {
            users: 0,
            refs: 0,
            gone: false,
        };
        let size = RecordBytes::new(record::fixed_size(&fields));
        let mut masks = KVec::new();
        for mask in record::masks(&fields) {
            masks.push(mask, GFP_KERNEL).map_err(Error::from)?;
        }
        let sole_mask = match masks[..] {
            [mask] => mask,
            _ => 0,
        };
        Ok(Arc::pin_init(
            pin_init!(Self {
                name: own_name,
                text,
                fields,
                size,
                masks,
                sole_mask,
                targets: RecordTargets::none(),
                state <- new_mutex!(state),
            }),
            GFP_KERNEL,
        )?)
    }
}

/// Records an event whose only field is this number for a file. Ends `exit`.
#[inline(never)]
fn put_number(file: &EventFile, number: u64, exit: Exit) {
    let Some(nested) = NestedCount::enter(exit.pin().pin()) else {
        return miss(file, exit);
    };
    let size = RecordBytes::new(record::ONE_NUMBER);
    // SAFETY: It is committed below, and nothing is reserved meanwhile.
    let mut reserved = match unsafe { RecordInRing::reserve_until(file, &size, exit) } {
        Ok(reserved) => reserved,
        Err(exit) => {
            nested.leave(exit.pin().pin());
            return exit.end();
        }
    };
    record::fill_number(number, reserved.bytes());
    if reserved.is_final() {
        // The end of it is the last jump: what follows leads to no event but those of a user stack, of which a CPU takes
        // one at a time.
        nested.leave(reserved.pin());
        return reserved.commit();
    }
    let exit = Exit::begin();
    reserved.commit();
    nested.leave(exit.pin().pin());
    exit.end();
}

/// Counts one that was not recorded because too many are inside each other. Ends `exit`.
#[cold]
#[inline(never)]
fn miss(file: &EventFile, exit: Exit) {
    file.miss(exit.pin().pin());
    exit.end();
}

impl SyntheticState {
    /// Returns whether the event is enabled, has triggers or is referred to.
    fn is_busy(&self) -> bool {
        self.users != 0 || self.refs != 0
    }
}

impl DefinedFields for SyntheticEvent {
    fn name(&self) -> &str {
        self.name.text()
    }

    fn is_busy(&self) -> bool {
        self.state.lock().is_busy()
    }

    fn end(&self) -> Result {
        let mut state = self.state.lock();
        if state.is_busy() {
            return Err(EBUSY);
        }
        state.gone = true;
        Ok(())
    }

    fn write_definition(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        self.layout().write_definition(self.name.text(), out)
    }
}

/// A reference to a synthetic event, which cannot be removed as long as this is there: `EBUSY`.
pub(crate) struct SyntheticRef(Arc<SyntheticEvent>);

impl SyntheticRef {
    /// Returns one to the event of that name; `None` when there is none. Process context.
    pub(crate) fn find(name: &[u8]) -> Option<Self> {
        let defined = DEFINED.lock();
        let synthetic = defined.find(name)?.made_of.clone();
        {
            let mut state = synthetic.state.lock();
            if state.gone {
                return None;
            }
            state.refs = state.refs.wrapping_add(1);
        }
        Some(Self(synthetic))
    }

    /// Returns the event, for an owner of this who keeps it no longer.
    pub(crate) fn event(&self) -> Arc<SyntheticEvent> {
        self.0.clone()
    }
}

impl Deref for SyntheticRef {
    type Target = SyntheticEvent;

    fn deref(&self) -> &SyntheticEvent {
        &self.0
    }
}

impl Drop for SyntheticRef {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.refs = state.refs.saturating_sub(1);
    }
}

/// The source of the event.
struct SyntheticSource(Arc<SyntheticEvent>);

impl Source for SyntheticSource {
    fn attach(&self, to: Attachment) -> Result {
        let mut state = self.0.state.lock();
        if state.gone {
            return Err(ENODEV);
        }
        // SAFETY: `detach` removes it before it returns.
        unsafe { self.0.targets.add(&to) }?;
        state.users = state.users.wrapping_add(1);
        Ok(())
    }

    fn detach(&self, from: Attachment) {
        let mut state = self.0.state.lock();
        if self.0.targets.remove(&from) {
            state.users = state.users.saturating_sub(1);
        }
    }

    fn visit_fields(&self, _: &Event, visit: &mut dyn FnMut(&mut Fields<'_>)) {
        visit(&mut self.0.layout().declared());
    }

    fn write_format(&self, event: &Event, w: &mut dyn fmt::Write) -> fmt::Result {
        let layout = self.0.layout();
        let mut text = TextBuffer::new();
        layout.write_format(&mut text)?;
        let (name, id) = (event.name(), event.id());
        format::write(w, name, id, layout.declared(), text.text(), [].into_iter())
    }

    fn print<'p>(
        &self,
        _: &Event,
        record: &[u8],
        manner: PrintManner,
        printer: &'p mut Printer,
    ) -> Option<&'p [u8]> {
        let layout = self.0.layout();
        let has_types = manner.has_types();
        Some(printer.compose(|out, symbols| {
            layout.write_values(record, has_types, &mut KernelNames(symbols), out)
        }))
    }

    fn own_depth(&self) -> u32 {
        1
    }
}

/// The names that this kernel has.
struct KernelNames<'a>(&'a mut Symbols);

impl SyntheticNames for KernelNames<'_> {
    fn write_symbol(&mut self, address: u64, out: &mut dyn ByteWrite) -> fmt::Result {
        self.0.with_text(address, |text| out.write_bytes(text))
    }

    fn write_gfp(&mut self, flags: u64, out: &mut dyn ByteWrite) -> fmt::Result {
        symbol::write_gfp(flags, out)
    }
}

/// Frees the definitions; no event is enabled any more.
pub(super) fn exit() {
    let all = core::mem::replace(&mut *DEFINED.lock(), FieldsDefinitions::new());
    drop(all);
}

/// Obeys a line of `synthetic_events`, which begins with no white space and is not empty. Process context.
pub(crate) fn obey(command: &[u8]) -> Result<(), LineRefusal> {
    match SyntheticCommand::parse(command)? {
        SyntheticCommand::Remove(name) => Ok(remove(name)?),
        SyntheticCommand::Define(draft) => define(draft),
    }
}

/// Obeys a line of `dynamic_events` that begins with `s:`. Process context.
pub(crate) fn obey_dynamic(command: &[u8]) -> Result<(), LineRefusal> {
    define(SyntheticDraft::parse_dynamic(command)?)
}

/// Makes an event.
fn define(draft: SyntheticDraft<'_>) -> Result<(), LineRefusal> {
    let name = draft.name()?;
    let _turn = CHANGES.lock();
    if DEFINED.lock().find(name.as_bytes()).is_some() {
        return Err(LineRefusal::Exists(draft.exists()));
    }
    let synthetic = SyntheticEvent::new(name, draft)?;
    DEFINED.lock().reserve()?;
    let size = u32::try_from(synthetic.size.len()).map_err(|_| EINVAL)?;
    let event = events::dynamic::define((SYSTEM, name), size, || {
        Ok(KBox::new(SyntheticSource(synthetic.clone()), GFP_KERNEL)?)
    })?;
    // There is room: others who add one take turns.
    DEFINED.lock().add(event, synthetic);
    Ok(())
}

/// Removes the event of that name.
///
/// # Errors
///
/// `ENOENT` when there is none, `EBUSY` while it is enabled, has triggers, or an action refers to it.
pub(crate) fn remove(name: &[u8]) -> Result {
    let _turn = CHANGES.lock();
    fields_defined::remove(&DEFINED, |known| known.is_called(name))
}

/// Removes all events, or none.
///
/// # Errors
///
/// `EBUSY` while one of them is enabled, has triggers or is referred to.
pub(crate) fn remove_all() -> Result {
    if is_busy() {
        return Err(EBUSY);
    }
    let _turn = CHANGES.lock();
    fields_defined::remove_all(&DEFINED)
}

/// Returns whether an event is enabled, has triggers or is referred to.
pub(crate) fn is_busy() -> bool {
    DEFINED.lock().is_busy()
}

/// Writes the definitions that `serials` selects by the order in which dynamic events were made, each after
/// `before`. Fails when `out` does.
pub(crate) fn write_definitions(
    serials: Range<u64>,
    before: &str,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    DEFINED.lock().write(serials, before, out)
}
