// SPDX-License-Identifier: GPL-2.0

//! What a hit records: the steps of its arguments, run for a machine.
//!
//! The length of strings is measured before room is reserved, and the memory may change between the two:
//! no string gets more than was measured. Memory that cannot be read is a zero or a string without
//! length, never what the ring had there before. Any context; nothing here panics or allocates.

use super::{
    plain::suits_hook,
    step::{
        Argument,
        FetchStep, //
    },
    types::ArgumentType,
    MOST_ARGUMENTS, //
};
use crate::text::word::c_string;

/// Bytes that are read at a time when the end of a string is looked for.
pub(super) const CHUNK: usize = 64;
/// No chunk crosses the end of a page: the next one may not be there.
pub(super) const PAGE: u64 = 4096;
/// Most bytes of a string with its NUL.
const LONGEST_STRING: usize = 4096;
/// The last place of a string in a record: the word that says where it is has 16 bits for that.
const LAST_PLACE: usize = u16::MAX as usize;
/// The first address of the kernel.
const KERNEL: u64 = 1 << 63;
/// Bytes of a kernel stack, which begins at a multiple of them.
const STACK: u64 = 16 * 1024;

/// Words of the registers.
pub(crate) const WORDS: usize = 21;
pub(super) const BP: usize = 4;
pub(super) const R9: usize = 8;
pub(super) const R8: usize = 9;
pub(super) const AX: usize = 10;
pub(super) const CX: usize = 11;
pub(super) const DX: usize = 12;
pub(super) const SI: usize = 13;
pub(super) const DI: usize = 14;
pub(super) const ORIG_AX: usize = 15;
/// That of the instruction.
pub(crate) const IP: usize = 16;
pub(super) const SP: usize = 19;
/// The registers of the first parameters, in their order.
pub(super) const PARAMETERS: [usize; IN_REGISTERS] = [DI, SI, DX, CX, R8, R9];
/// So many parameters are in registers.
pub(crate) const IN_REGISTERS: usize = 6;

/// What all machines of a kernel have in common.
pub(crate) trait ProbedKernel {
    /// Notes that a value of a record, or a string, could not be read.
    fn faulted(&self) {}

    /// Notes that a string has no room for all of its bytes.
    fn was_cut(&self) {}

    /// Returns the name of the current task, up to a NUL.
    fn comm(&self) -> [u8; 16];

    /// Returns the address of the current task.
    fn current(&self) -> u64;

    /// Returns the address of this CPU's part of the variable at `address` that each CPU has.
    fn per_cpu(&self, address: u64) -> u64;

    /// Returns the address of a symbol that was looked up when the probe was called from then on, by its slot.
    fn symbol_address(&self, _slot: u8) -> u64 {
        0
    }

    /// Calls `take` with the name of an address.
    fn symbol(&self, address: u64, take: impl FnOnce(&[u8]));
}

/// Registers and memory.
pub(crate) trait ProbedMachine {
    /// The kernel that it belongs to.
    type Kernel: ProbedKernel;

    /// Returns that kernel.
    fn kernel(&self) -> &Self::Kernel;

    /// Returns the words of the registers, in the order of `struct pt_regs`.
    fn registers(&self) -> &[u64; WORDS];

    /// Returns a parameter of the function by its place; 0 is the first.
    fn parameter(&self, index: u16) -> u64
    where
        Self: Sized,
    {
        match PARAMETERS.get(usize::from(index)) {
            Some(place) => register(self, *place),
            // The return address is on the top of the stack.
            None => self.stack_word(u64::from(index).saturating_sub(5)),
        }
    }

    /// Returns a word of the stack; 0 outside of it and where nothing can be read.
    fn stack_word(&self, index: u64) -> u64
    where
        Self: Sized,
    {
        let sp = self.stack_pointer();
        let address = stack_address(sp, index);
        let mut bytes = [0; 8];
        if address & !(STACK - 1) != sp & !(STACK - 1) {
            return 0;
        }
        if !read(self, address, &mut bytes, false) {
            self.kernel().faulted();
            return 0;
        }
        u64::from_le_bytes(bytes)
    }

    /// Returns a parameter that was kept from the beginning of the call.
    fn kept(&self, _slot: u8) -> u64 {
        0
    }

    /// Returns the time, in nanoseconds, by a clock that all CPUs share.
    fn time(&self) -> u64 {
        0
    }

    /// Returns the stack pointer.
    fn stack_pointer(&self) -> u64
    where
        Self: Sized,
    {
        register(self, SP)
    }

    /// Reads memory, of the kernel or of the current process. Returns whether all of it could be read.
    fn read(&self, address: u64, to: &mut [u8], user: bool) -> bool;

    /// Returns the address of the name of the current task.
    fn comm_address(&self) -> u64 {
        0
    }

    /// Returns the address of an offset of the probed file.
    fn file_address(&self, _offset: u64) -> u64 {
        0
    }

    /// Returns the record that is followed, and its address.
    fn record(&self) -> (&[u8], u64) {
        (&[], 0)
    }
}

/// Returns the word `place` of the registers.
pub(super) fn register(machine: &impl ProbedMachine, place: usize) -> u64 {
    machine.registers().get(place).copied().unwrap_or(0)
}

/// Reads memory: that of the current process also where `user` is not set and the address is not the kernel's, as
/// in ftrace. Returns whether all of it could be read.
pub(super) fn read(machine: &impl ProbedMachine, address: u64, to: &mut [u8], user: bool) -> bool {
    machine.read(address, to, user || address < KERNEL)
}

/// Returns the address of the word `index` of the stack whose top is at `sp`.
pub(crate) fn stack_address(sp: u64, index: u64) -> u64 {
    sp.wrapping_add(index.wrapping_mul(8))
}

/// Runs `steps` and returns what they leave; `None` when memory cannot be read. `line` is that of the
/// definition.
fn run(steps: &[FetchStep], line: &[u8], machine: &impl ProbedMachine) -> Option<u64> {
    let mut value = 0u64;
    for step in steps {
        value = match *step {
            FetchStep::Register(place) => register(machine, place.into()),
            FetchStep::Parameter(index) => machine.parameter(index),
            FetchStep::Stack(index) => machine.stack_word(index.into()),
            FetchStep::StackPointer => machine.stack_pointer(),
            FetchStep::Returned => register(machine, AX),
            FetchStep::Kept(slot) => machine.kept(slot),
            FetchStep::Latency(slot) => machine.time().wrapping_sub(machine.kept(slot)),
            FetchStep::Current => machine.kernel().current(),
            FetchStep::PerCpu => machine.kernel().per_cpu(value),
            FetchStep::Immediate(value) => value,
            FetchStep::Symbol { slot, offset, .. } => {
                let address = machine.kernel().symbol_address(slot);
                address.wrapping_add_signed(offset)
            }
            FetchStep::FileOffset(offset) => machine.file_address(offset),
            FetchStep::Field(field) => {
                let (record, address) = machine.record();
                field.value(record, address)?
            }
            // Where no string is asked for, the address.
            FetchStep::Comm => machine.comm_address(),
            FetchStep::Literal(span) => span.bytes_of(line).as_ptr().addr() as u64,
            FetchStep::Load { offset, user } => {
                let mut bytes = [0; 8];
                let address = value.wrapping_add_signed(offset);
                if !read(machine, address, &mut bytes, user) {
                    return None;
                }
                u64::from_le_bytes(bytes)
            }
        };
    }
    Some(value)
}

/// Returns the value of an argument that is no string; of an array the element of this number. 0 is what cannot be read.
fn told_number(
    argument: &Argument,
    element: usize,
    line: &[u8],
    machine: &impl ProbedMachine,
) -> [u8; 8] {
    number(argument, element, line, machine).unwrap_or_else(|| {
        machine.kernel().faulted();
        [0; 8]
    })
}

/// Returns the same; `None` for what cannot be read.
fn number(
    argument: &Argument,
    element: usize,
    line: &[u8],
    machine: &impl ProbedMachine,
) -> Option<[u8; 8]> {
    let steps = argument.steps();
    let size = argument.ty.size().min(8);
    let mut bytes = [0; 8];
    let value = match steps.split_last() {
        // The last one reads no more than the type has.
        Some((FetchStep::Load { offset, user }, before)) => {
            let first = run(before, line, machine)?.wrapping_add_signed(*offset);
            let address = first.wrapping_add(element.wrapping_mul(size) as u64);
            if !read(machine, address, bytes.get_mut(..size)?, *user) {
                return None;
            }
            u64::from_le_bytes(bytes)
        }
        _ => run(steps, line, machine)?,
    };
    Some(argument.bits.of(value, size).to_le_bytes())
}

/// Where a string is.
enum FetchSource<'a> {
    Memory {
        address: u64,
        user: bool,
    },
    Comm([u8; 16]),
    Literal(&'a [u8]),
    /// The name of an address.
    Symbol(u64),
}

impl FetchSource<'_> {
    /// Returns the length of what is no string in memory, without a NUL.
    fn len(&self, machine: &impl ProbedMachine) -> usize {
        match self {
            Self::Memory { .. } => 0,
            Self::Comm(name) => c_string(name).len(),
            Self::Literal(text) => text.len(),
            Self::Symbol(address) => {
                let mut len = 0;
                machine.kernel().symbol(*address, |name| len = name.len());
                len
            }
        }
    }
}

/// Returns where the string of `argument` is, of an array that of this number. `line` is that of the definition.
fn source<'a>(
    argument: &Argument,
    element: usize,
    line: &'a [u8],
    machine: &impl ProbedMachine,
) -> Option<FetchSource<'a>> {
    let wants_user = argument.ty == ArgumentType::UserText;
    if argument.ty == ArgumentType::SymbolText {
        return run(argument.steps(), line, machine).map(FetchSource::Symbol);
    }
    match argument.steps().split_last()? {
        // An array of addresses.
        (FetchStep::Load { offset, user }, before) if argument.count != 0 => {
            let first = run(before, line, machine)?.wrapping_add_signed(*offset);
            let address = first.wrapping_add((element as u64).wrapping_mul(8));
            let mut bytes = [0; 8];
            read(machine, address, &mut bytes, *user).then_some(FetchSource::Memory {
                address: u64::from_le_bytes(bytes),
                user: wants_user,
            })
        }
        _ if argument.count != 0 => None,
        (FetchStep::Comm, _) if !wants_user => Some(FetchSource::Comm(machine.kernel().comm())),
        (FetchStep::Literal(span), _) if !wants_user => {
            Some(FetchSource::Literal(span.bytes_of(line)))
        }
        (FetchStep::Load { offset, user }, before) => Some(FetchSource::Memory {
            address: run(before, line, machine)?.wrapping_add_signed(*offset),
            user: *user || wants_user,
        }),
        _ => Some(FetchSource::Memory {
            address: run(argument.steps(), line, machine)?,
            user: wants_user,
        }),
    }
}

/// Calls `take` with parts of the string at `address`, without a NUL, until its end or until `most` bytes.
/// Returns whether all of it could be read.
fn read_parts(
    machine: &impl ProbedMachine,
    (mut address, user): (u64, bool),
    most: usize,
    mut take: impl FnMut(&[u8]),
) -> bool {
    let mut left = most;
    while left != 0 {
        let in_page = PAGE.wrapping_sub(address % PAGE) as usize;
        let mut chunk = [0; CHUNK];
        let len = CHUNK.min(in_page).min(left);
        let Some(part) = chunk.get_mut(..len) else {
            return false;
        };
        if !read(machine, address, part, user) {
            return false;
        }
        let text = c_string(part);
        take(text);
        if text.len() < len {
            return true;
        }
        left = left.saturating_sub(len);
        address = address.wrapping_add(len as u64);
    }
    true
}

/// Returns the length of a string with its NUL, of which no more than `most` are wanted; 0 when it cannot
/// be read.
fn measure_string(
    source: Option<&FetchSource<'_>>,
    machine: &impl ProbedMachine,
    most: usize,
) -> usize {
    let room = most.saturating_sub(1);
    let len = match source {
        _ if most == 0 => return 0,
        None => return 0,
        Some(FetchSource::Memory { address, user }) => {
            let mut len = 0usize;
            let count = |part: &[u8]| len = len.saturating_add(part.len());
            if !read_parts(machine, (*address, *user), room, count) {
                return 0;
            }
            len
        }
        Some(other) => other.len(machine),
    };
    len.min(room).saturating_add(1)
}

/// Returns whether a string has more bytes than a room that it fills, of so many bytes with its NUL.
#[inline(never)]
fn exceeds(source: Option<&FetchSource<'_>>, machine: &impl ProbedMachine, room: usize) -> bool {
    let Some(source) = source else {
        return false;
    };
    let Some(len) = room.checked_sub(1) else {
        return true;
    };
    let FetchSource::Memory { address, user } = source else {
        return source.len(machine) > len;
    };
    let (next, mut byte) = (address.wrapping_add(len as u64), [0]);
    // What cannot be read is no end.
    !read(machine, next, &mut byte, *user) || byte != [0]
}

/// Fills `to` with a string and zeros after it, the last byte in any case. Returns its length with the
/// NUL; 0 when it cannot be read.
fn copy_string(
    source: Option<&FetchSource<'_>>,
    machine: &impl ProbedMachine,
    to: &mut [u8],
) -> usize {
    to.fill(0);
    let len = put_string(source, machine, to);
    if len == 0 {
        to.fill(0);
    }
    len
}

/// Puts a string at the beginning of `to`, with a NUL. Returns its length with that; 0 when it cannot be read, or
/// when there is no room.
fn put_string(
    source: Option<&FetchSource<'_>>,
    machine: &impl ProbedMachine,
    to: &mut [u8],
) -> usize {
    let room = to.len().saturating_sub(1);
    let mut len = 0usize;
    let mut put = |part: &[u8]| {
        let part = part
            .get(..part.len().min(room.saturating_sub(len)))
            .unwrap_or_default();
        let end = len.saturating_add(part.len());
        if let Some(place) = to.get_mut(len..end) {
            place.copy_from_slice(part);
            len = end;
        }
    };
    let is_read = match source {
        None => false,
        Some(FetchSource::Comm(name)) => {
            put(c_string(name));
            true
        }
        Some(FetchSource::Literal(text)) => {
            put(text);
            true
        }
        Some(FetchSource::Symbol(address)) => {
            machine.kernel().symbol(*address, &mut put);
            true
        }
        Some(FetchSource::Memory { address, user }) => {
            read_parts(machine, (*address, *user), room, &mut put)
        }
    };
    match to.get_mut(len) {
        Some(end) if is_read => {
            *end = 0;
            len.saturating_add(1)
        }
        _ => 0,
    }
}

/// Where a number is put in a record. Those of a definition are put in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NumberPlace {
    at: u16,
    size: u8,
}

impl NumberPlace {
    /// Returns that of `size` bytes, 8 at most, at `at` of a record.
    pub(super) fn new(at: usize, size: usize) -> Self {
        Self {
            at: at as u16,
            size: size as u8,
        }
    }

    /// Puts the number that is the first bytes of a word, if there is room. Any context.
    #[inline(always)]
    pub(super) fn put(self, record: &mut [u8], word: u64) {
        let (at, word) = (usize::from(self.at), word.to_le_bytes());
        let whole = record.get_mut(at..at.wrapping_add(8));
        match whole.and_then(<[u8]>::first_chunk_mut) {
            // What is too much of it is where the next one is put.
            Some(place) => *place = word,
            None => put_word(record, at, self.size.into(), word),
        }
    }
}

/// Puts the first `size` bytes of a word at `at` of the record, if there is room.
#[inline(always)]
pub(super) fn put_word(record: &mut [u8], at: usize, size: usize, value: [u8; 8]) {
    let Some(place) = record.get_mut(at..) else {
        return;
    };
    // By a known number of bytes, which is no call.
    match size {
        8 => put_bytes::<8>(place, value),
        4 => put_bytes::<4>(place, value),
        2 => put_bytes::<2>(place, value),
        _ => put_bytes::<1>(place, value),
    }
}

/// Puts the first bytes of a word at the beginning of `place`, if there is room.
fn put_bytes<const N: usize>(place: &mut [u8], value: [u8; 8]) {
    if let (Some(place), Some(bytes)) = (place.first_chunk_mut::<N>(), value.first_chunk::<N>()) {
        *place = *bytes;
    }
}

/// What is the same for all records of a definition.
#[derive(Clone, Copy)]
pub(crate) struct RecordShape {
    /// Bytes before the first argument.
    pub(crate) head: usize,
    /// Bytes without the strings.
    pub(crate) fixed: usize,
    /// The arguments that are strings, or arrays of them.
    pub(super) texts: usize,
    /// Whether memory is read, which in that of a process may sleep.
    pub(crate) reads_memory: bool,
    /// Whether the registers that a function's hook gets are enough.
    pub(crate) suits_hook: bool,
}

impl RecordShape {
    /// Returns that of records with these arguments after `head` bytes.
    pub(crate) fn of(head: usize, arguments: &[Argument]) -> Self {
        let sizes = arguments.iter().map(Argument::size);
        Self {
            head,
            fixed: sizes.fold(head, usize::saturating_add),
            texts: arguments
                .iter()
                .filter(|argument| argument.ty.is_text())
                .count(),
            reads_memory: arguments.iter().any(Argument::is_in_memory),
            suits_hook: arguments.iter().all(suits_hook),
        }
    }
}

/// What the arguments of a definition record.
#[derive(Clone, Copy)]
pub(crate) struct FetchProgram<'a> {
    /// The line of the definition.
    pub(crate) line: &'a [u8],
    pub(crate) arguments: &'a [Argument],
    pub(crate) shape: RecordShape,
}

/// The room that the strings of a record get.
pub(crate) struct Rooms<'r> {
    /// For each argument that is a string, those of an array together.
    bytes: &'r [u16],
    /// Most bytes of the record.
    most: usize,
}

impl<'r> Rooms<'r> {
    /// Returns what [`FetchProgram::measure`] has measured.
    #[inline(always)]
    pub(super) fn new(bytes: &'r [u16], most: usize) -> Self {
        Self { bytes, most }
    }
}

/// So many strings are measured on a small part of the stack.
const FEW_TEXTS: usize = 4;

impl FetchProgram<'_> {
    /// Calls `record` with the size of a record and the room of its strings, for [`Self::fill`]. Where `most` bytes
    /// are not enough, it has as many as `longest` returns.
    #[inline(always)]
    pub(crate) fn with_rooms(
        &self,
        machine: &impl ProbedMachine,
        most: usize,
        longest: impl FnOnce() -> usize,
        record: impl FnOnce(usize, &Rooms<'_>),
    ) {
        match self.shape.texts {
            0 => record(self.shape.fixed, &Rooms::new(&[], 0)),
            1..=FEW_TEXTS => {
                self.with_some_rooms(&mut [0; FEW_TEXTS], machine, most, longest, record)
            }
            _ => self.with_many_rooms(machine, most, longest, record),
        }
    }

    /// As [`Self::with_rooms`], for more strings than are usual: they take many bytes of the stack.
    #[cold]
    #[inline(never)]
    fn with_many_rooms(
        &self,
        machine: &impl ProbedMachine,
        most: usize,
        longest: impl FnOnce() -> usize,
        record: impl FnOnce(usize, &Rooms<'_>),
    ) {
        self.with_some_rooms(&mut [0; MOST_ARGUMENTS], machine, most, longest, record);
    }

    /// As [`Self::with_rooms`]. `bytes` has a place for each of the strings.
    #[inline(always)]
    fn with_some_rooms(
        &self,
        bytes: &mut [u16],
        machine: &impl ProbedMachine,
        mut most: usize,
        longest: impl FnOnce() -> usize,
        record: impl FnOnce(usize, &Rooms<'_>),
    ) {
        let (mut size, mut cut) = self.measure(machine, most, bytes);
        if size >= most {
            most = longest().max(most).min(LAST_PLACE);
            (size, cut) = self.measure(machine, most, bytes);
        }
        // Of those that are recorded so, not of a first attempt.
        (0..cut).for_each(|_| machine.kernel().was_cut());
        record(size, &Rooms::new(bytes, most));
    }

    /// Returns the size of a record, not more than `most`, and the number of the strings that are longer than their room,
    /// which `rooms` gets. What this needs of the stack is free again when the record is filled.
    #[inline(never)]
    pub(super) fn measure(
        &self,
        machine: &impl ProbedMachine,
        most: usize,
        rooms: &mut [u16],
    ) -> (usize, usize) {
        let (mut size, mut cut) = (self.shape.fixed, 0usize);
        let texts = self
            .arguments
            .iter()
            .filter(|argument| argument.ty.is_text());
        // One by one: a pair of iterators counts in a way that the compiler may not see the end of.
        let mut places = rooms.iter_mut();
        for argument in texts {
            let Some(room) = places.next() else {
                break;
            };
            let mut all = 0usize;
            for element in 0..argument.elements() {
                let left = most.saturating_sub(size).min(LONGEST_STRING);
                let source = source(argument, element, self.line, machine);
                let len = measure_string(source.as_ref(), machine, left);
                if len == left && exceeds(source.as_ref(), machine, left) {
                    cut = cut.saturating_add(1);
                }
                size = size.saturating_add(len);
                all = all.saturating_add(len);
            }
            *room = all as u16;
        }
        (size, cut)
    }

    /// Fills what follows the head of `record`, whose size was measured with `rooms`.
    pub(crate) fn fill(&self, machine: &impl ProbedMachine, rooms: &Rooms<'_>, record: &mut [u8]) {
        let mut at = self.shape.head;
        let mut behind = self.shape.fixed;
        let mut places = rooms.bytes.iter();
        for argument in self.arguments {
            // The usual ones.
            if let Some((step, size)) = argument.plain() {
                let value = match step {
                    FetchStep::Register(place) => register(machine, place.into()),
                    FetchStep::Parameter(index) => machine.parameter(index),
                    step => run(&[step], self.line, machine).unwrap_or_else(|| {
                        machine.kernel().faulted();
                        0
                    }),
                };
                put_word(record, at, size, value.to_le_bytes());
                at = at.saturating_add(size);
                continue;
            }
            let size = argument.ty.size();
            if argument.count == 0 && !argument.ty.is_text() {
                let value = told_number(argument, 0, self.line, machine);
                put_word(record, at, size, value);
                at = at.saturating_add(size);
                continue;
            }
            let room = match argument.ty.is_text() {
                true => places.next().copied().unwrap_or(0),
                false => 0,
            };
            let end = behind.saturating_add(usize::from(room));
            let copy = |source: Option<&FetchSource<'_>>, from: usize, record: &mut [u8]| {
                let place = record.get_mut(from..end).unwrap_or_default();
                let len = copy_string(source, machine, place);
                if len == 0 && from < rooms.most {
                    machine.kernel().faulted();
                }
                len
            };
            (at, behind) = self.put_elements(argument, machine, record, (at, behind), copy);
            // What is left of the room is zero: `copy_string` has filled all of it.
            behind = behind.max(end);
        }
    }

    /// Fills what follows the head of `record`, which has the room of the longest one, and returns its size. All
    /// memory is read once.
    pub(crate) fn gather(&self, machine: &impl ProbedMachine, record: &mut [u8]) -> usize {
        let mut at = self.shape.head;
        let mut behind = self.shape.fixed;
        let copy = |source: Option<&FetchSource<'_>>, from: usize, record: &mut [u8]| {
            let end = from.saturating_add(LONGEST_STRING).min(record.len());
            let place = record.get_mut(from..end).unwrap_or_default();
            let len = put_string(source, machine, place);
            if len == place.len() {
                if exceeds(source, machine, len) {
                    machine.kernel().was_cut();
                }
            } else if len == 0 {
                machine.kernel().faulted();
            }
            len
        };
        for argument in self.arguments {
            (at, behind) = self.put_elements(argument, machine, record, (at, behind), copy);
        }
        behind
    }

    /// Puts the elements of `argument` in the record at `at`, and strings by `copy` where the last one ends. Returns the ends
    /// of both.
    #[inline(always)]
    fn put_elements(
        &self,
        argument: &Argument,
        machine: &impl ProbedMachine,
        record: &mut [u8],
        (mut at, mut behind): (usize, usize),
        copy: impl Fn(Option<&FetchSource<'_>>, usize, &mut [u8]) -> usize,
    ) -> (usize, usize) {
        let size = argument.ty.size();
        for element in 0..argument.elements() {
            let value = match argument.ty.is_text() {
                false => told_number(argument, element, self.line, machine),
                true => {
                    let source = source(argument, element, self.line, machine);
                    let len = copy(source.as_ref(), behind, record);
                    let location = ((len as u64) << 16) | (behind as u64 & 0xffff);
                    behind = behind.saturating_add(len);
                    location.to_le_bytes()
                }
            };
            put_word(record, at, size, value);
            at = at.saturating_add(size);
        }
        (at, behind)
    }
}
