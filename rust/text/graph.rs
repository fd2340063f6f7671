// SPDX-License-Identifier: GPL-2.0
//! How the records of the tracer `function_graph` are printed: calls of functions as a C program, with
//! the time that each took.
//!
//! Each function is two records, its entry and its exit. A function between whose records nothing else
//! was recorded on its CPU is one line, the others are a line with `{` and one with `}`; the caller shows
//! the printer the next record of the CPU. What a reader has seen of a CPU is a [`CpuState`], so that two
//! readers do not disturb each other.
//!
//! The records are complete, with the eight common bytes first. Names of addresses and of tasks only the
//! kernel knows: [`SymbolNames`], [`Tasks`].

mod columns;
pub(crate) mod returned;

pub(crate) use self::columns::{
    write_header,
    write_time,
    Tasks, //
};

use self::columns::{
    write_columns,
    Fill, //
};
use super::{
    function::{
        self,
        Arguments,
        MOST_ARGUMENTS, //
    },
    options::{
        Opt,
        OptionSet, //
    },
    stack::{
        self,
        NameExtent,
        SymbolNames, //
    },
    writer::ByteWrite, //
};
use core::fmt;

/// The `common_type` of the record of an exit, of an entry, and of one with the place of the call.
pub(crate) const EXIT_ID: u16 = 10;
pub(crate) const ENTRY_ID: u16 = 11;
pub(crate) const RETADDR_ENTRY_ID: u16 = 12;

/// The largest number of an error.
const MOST_ERROR: i64 = 4095;

/// Levels of which a reader remembers the function that was entered.
const LEVELS: usize = 50;
/// Blanks for each level.
const INDENT: usize = 2;
/// Deeper levels are not indented further.
const DEEPEST: usize = 1000;

/// Returns the `N` bytes of `record` at `at`.
fn bytes<const N: usize>(record: &[u8], at: usize) -> Option<[u8; N]> {
    record.get(at..)?.first_chunk().copied()
}

/// Returns the type and the task of a record.
fn common(record: &[u8]) -> Option<(u16, i32)> {
    let id = u16::from_ne_bytes(bytes(record, 0)?);
    Some((id, i32::from_ne_bytes(bytes(record, 4)?)))
}

/// The entry of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallEntry {
    function: u64,
    depth: i64,
    /// Where it returns to, if that was recorded.
    caller: Option<u64>,
    /// What it got in registers, if that was recorded.
    registers: Option<[u64; MOST_ARGUMENTS]>,
}

impl CallEntry {
    /// Returns the least bytes of a record of this type.
    #[inline(always)]
    fn least(id: u16) -> usize {
        match id {
            RETADDR_ENTRY_ID => 32,
            _ => 24,
        }
    }

    /// Returns that of a record; `None` for a record that is too short.
    pub(crate) fn of(record: &[u8]) -> Option<Self> {
        let (id, _) = common(record)?;
        Some(Self {
            function: u64::from_ne_bytes(bytes(record, 8)?),
            depth: i64::from_ne_bytes(bytes(record, 16)?),
            caller: match id {
                RETADDR_ENTRY_ID => Some(u64::from_ne_bytes(bytes(record, 24)?)),
                _ => None,
            },
            registers: function::registers_at(record, Self::least(id)),
        })
    }

    /// Returns the address of the function.
    pub(crate) fn function(&self) -> u64 {
        self.function
    }

    /// Returns how deep the call is.
    pub(crate) fn depth(&self) -> i64 {
        self.depth
    }
}

/// The exit of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallExit {
    function: u64,
    depth: i32,
    overrun: u32,
    duration: u64,
    /// What the function returned, if that was recorded.
    value: Option<u64>,
}

impl CallExit {
    /// The least bytes of a record.
    const LEAST: usize = 40;

    /// Returns that of a record; `None` for a record that is too short.
    pub(crate) fn of(record: &[u8]) -> Option<Self> {
        let word = |at| Some(u64::from_ne_bytes(bytes(record, at)?));
        Some(Self {
            function: word(8)?,
            depth: i32::from_ne_bytes(bytes(record, 16)?),
            overrun: u32::from_ne_bytes(bytes(record, 20)?),
            duration: word(32)?.wrapping_sub(word(24)?),
            value: word(40),
        })
    }

    /// Returns the address of the function.
    pub(crate) fn function(&self) -> u64 {
        self.function
    }

    /// Returns how deep the call is.
    pub(crate) fn depth(&self) -> i64 {
        self.depth.into()
    }

    /// Returns how long the call took, in nanoseconds.
    pub(crate) fn duration(&self) -> u64 {
        self.duration
    }
}

/// Returns whether a record is the entry of a function.
pub(crate) fn is_entry(record: &[u8]) -> bool {
    common(record).is_some_and(|(id, _)| is_entry_id(id))
}

fn is_entry_id(id: u16) -> bool {
    matches!(id, ENTRY_ID | RETADDR_ENTRY_ID)
}

/// Returns whether `next`, the record after `entry` on the same CPU, is the exit of the same call.
pub(crate) fn is_leaf(entry: &[u8], next: &[u8]) -> bool {
    let (Some((id, pid)), Some((next_id, next_pid))) = (common(entry), common(next)) else {
        return false;
    };
    let is_pair = is_entry_id(id) && (next_id, next_pid) == (EXIT_ID, pid);
    is_pair
        && bytes::<8>(entry, 8) == bytes::<8>(next, 8)
        && entry.len() >= CallEntry::least(id)
        && next.len() >= CallExit::LEAST
}

/// What a reader has seen of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuState {
    /// The task of the last record; `None` before the first.
    pid: Option<i32>,
    /// The level at which comments are.
    depth: i64,
    /// The functions that were entered and not left, by their levels; 0 for none.
    entered: [u64; LEVELS],
}

impl CpuState {
    /// Returns that of a reader that has seen nothing.
    pub(crate) const NEW: Self = Self {
        pid: None,
        depth: 0,
        entered: [0; LEVELS],
    };

    /// Returns the place for the function that was entered at `depth`.
    fn entered_at(&mut self, depth: i64) -> Option<&mut u64> {
        self.entered.get_mut(usize::try_from(depth).ok()?)
    }
}

/// Whose lines of calls are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum CallLines {
    /// Those of the tracer `function_graph`, by its options.
    Tracer = 1,
    /// Those of a tracer of latencies under the option `display-graph`: always the same columns, and the time since
    /// the beginning of the trace.
    Latency = 2,
}

impl CallLines {
    /// Returns the one whose number this is.
    pub(crate) fn of_number(number: u32) -> Option<Self> {
        [CallLines::Tracer, CallLines::Latency]
            .into_iter()
            .find(|lines| *lines as u32 == number)
    }

    /// Returns the options by which they are printed, of those of the instance.
    pub(crate) fn options(self, options: OptionSet) -> OptionSet {
        const COLUMNS: [(Opt, bool); 11] = [
            (Opt::GraphOverrun, false),
            (Opt::GraphCpu, true),
            (Opt::GraphOverhead, true),
            (Opt::GraphProc, true),
            (Opt::GraphDuration, true),
            (Opt::GraphAbstime, false),
            (Opt::GraphTail, false),
            (Opt::GraphRetval, false),
            (Opt::GraphRetvalHex, false),
            (Opt::GraphRetaddr, false),
            (Opt::GraphErrors, false),
        ];
        match self {
            CallLines::Tracer => options,
            CallLines::Latency => COLUMNS
                .into_iter()
                .fold(options, |set, (opt, on)| set.with(opt, on)),
        }
    }

    /// Returns whether they have the time since the beginning of the trace.
    pub(crate) fn have_since(self) -> bool {
        self == CallLines::Latency
    }
}

/// Where and when a record was made, and how its line shall look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallOrigin {
    pub(crate) cpu: u32,
    /// The digits of the largest number of a CPU.
    pub(crate) cpu_width: usize,
    pub(crate) pid: i32,
    pub(crate) stamp: u64,
    /// Nanoseconds since the beginning of the trace, where they are shown.
    pub(crate) since: Option<u64>,
    /// The flag columns.
    pub(crate) columns: [u8; 5],
    pub(crate) options: OptionSet,
}

/// Prints the record of one CPU.
pub(crate) struct GraphLine<'a> {
    pub(crate) state: &'a mut CpuState,
    pub(crate) origin: CallOrigin,
    pub(crate) tasks: &'a dyn Tasks,
    pub(crate) out: &'a mut dyn ByteWrite,
}

impl GraphLine<'_> {
    /// Writes an entry; with the exit, if that is the next record of the CPU.
    pub(crate) fn write_entry(
        mut self,
        entry: &CallEntry,
        exit: Option<&CallExit>,
        names: &mut dyn SymbolNames,
        arguments: &mut dyn Arguments,
    ) -> fmt::Result {
        match exit {
            Some(exit) => {
                // Comments that follow are at the level of the function.
                self.state.depth = entry.depth.wrapping_sub(1);
                self.note_entered(entry.depth, 0);
                self.begin(Fill::Time(exit.duration), entry.depth)?;
            }
            None => {
                self.state.depth = entry.depth;
                self.note_entered(entry.depth, entry.function);
                self.begin(Fill::Blank, entry.depth)?;
            }
        }
        stack::write_function(entry.function, NameExtent::ModuleFunction, names, self.out)?;
        let is_called = self.origin.options.has(Opt::GraphRetaddr);
        let caller = entry.caller.filter(|_| is_called);
        let value = exit.and_then(|exit| self.shown(exit));
        if entry.registers.is_none() && caller.is_none() && value.is_none() {
            return self.out.write_str(match exit {
                Some(_) => "();\n",
                None => "() {\n",
            });
        }
        self.out.write_char('(')?;
        if let Some(registers) = &entry.registers {
            arguments.write(entry.function, registers, self.out)?;
        }
        self.out.write_str(match exit {
            Some(_) => ");",
            None => ") {",
        })?;
        if caller.is_some() || value.is_some() {
            self.out.write_str(" /*")?;
            caller.map_or(Ok(()), |caller| self.write_caller(caller, names))?;
            value.map_or(Ok(()), |value| self.write_value(value))?;
            self.out.write_str(" */")?;
        }
        self.out.write_char('\n')
    }

    /// Writes an exit whose entry is not the record before it.
    pub(crate) fn write_exit(
        mut self,
        exit: &CallExit,
        names: &mut dyn SymbolNames,
    ) -> fmt::Result {
        let options = self.origin.options;
        let depth = i64::from(exit.depth);
        self.state.depth = depth.wrapping_sub(1);
        let entered = self.state.entered_at(depth).map(core::mem::take);
        let is_known = entered.is_none_or(|entered| entered == exit.function);
        self.begin(Fill::Time(exit.duration), depth)?;
        let value = self.shown(exit);
        if !is_known || value.is_some() || options.has(Opt::GraphTail) {
            self.out.write_str("} /* ")?;
            stack::write_function(exit.function, NameExtent::ModuleFunction, names, self.out)?;
            value.map_or(Ok(()), |value| self.write_value(value))?;
            self.out.write_str(COMMENT_END)?;
        } else {
            self.out.write_str("}\n")?;
        }
        match options.has(Opt::GraphOverrun) {
            true => writeln!(self.out, " (Overruns: {})", exit.overrun),
            false => Ok(()),
        }
    }

    /// Writes what precedes the text of another record, which becomes a comment. The caller writes the
    /// text without its newline and then [`COMMENT_END`].
    pub(crate) fn begin_comment(mut self) -> fmt::Result {
        let depth = match self.state.depth {
            depth @ 1.. => depth.saturating_add(1),
            _ => 0,
        };
        self.begin(Fill::Blank, depth)?;
        self.out.write_str("/* ")
    }

    /// Returns what the function returned, if it is to be shown.
    fn shown(&self, exit: &CallExit) -> Option<u64> {
        let options = self.origin.options;
        let is_shown = options.has(Opt::GraphRetval) || options.has(Opt::GraphErrors);
        exit.value.filter(|_| is_shown)
    }

    /// Writes a return value: errors in decimal digits, other values in hexadecimal ones.
    fn write_value(&mut self, value: u64) -> fmt::Result {
        match error(value).filter(|_| !self.origin.options.has(Opt::GraphRetvalHex)) {
            Some(error) => write!(self.out, " ret={error}"),
            None => write!(self.out, " ret={value:#x}"),
        }
    }

    /// Writes where a call returns to, always with the offset in the function.
    fn write_caller(&mut self, caller: u64, names: &mut dyn SymbolNames) -> fmt::Result {
        let options = self.origin.options.with(Opt::SymOffset, true);
        self.out.write_str(" <-")?;
        stack::write_address(caller, options, names, self.out)
    }

    fn note_entered(&mut self, depth: i64, function: u64) {
        if let Some(entered) = self.state.entered_at(depth) {
            *entered = function;
        }
    }

    /// Writes the columns, and the blanks of a line at `depth`.
    fn begin(&mut self, fill: Fill, depth: i64) -> fmt::Result {
        let levels = usize::try_from(depth).unwrap_or(0).min(DEEPEST);
        let indent = levels.saturating_mul(INDENT);
        let last = &mut self.state.pid;
        write_columns(last, &self.origin, self.tasks, &fill, indent, self.out)
    }
}

/// Returns the error that a function returned, if the value is one. Of an `int`, the upper half of the register
/// is often 0.
pub(crate) fn error(value: u64) -> Option<i64> {
    let value = match value as i32 {
        low @ ..=-1 if value >> 32 == 0 => i64::from(low),
        _ => value as i64,
    };
    (-MOST_ERROR..0).contains(&value).then_some(value)
}

/// What ends a comment.
pub(crate) const COMMENT_END: &str = " */\n";

#[cfg(test)]
mod tests;
