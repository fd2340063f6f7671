// SPDX-License-Identifier: GPL-2.0

//! The kinds of records that no tracepoint makes, and how each is printed.
//!
//! A new kind is a variant; the compiler then asks for its printers. There is no table of
//! functions, because an indirect call costs more than the comparison.

use super::{
    LinePrinter,
    Text, //
};
use crate::{
    event::{
        format::{
            self,
            Internal, //
        },
        json, //
    },
    events::PrintManner,
    latency::{
        hwlat,
        osnoise,
        sampled,
        timerlat,
        wakeup::{
            self,
            WakeupStep, //
        }, //
    },
    tasks::names,
    text::{
        builtin,
        form::{
            self,
            Form, //
        },
        function,
        options::OptionSet,
        stack,
        writer::ByteWrite, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};

/// A kind of record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// A function that was called.
    Function,
    /// The entry of a function, the same with the place of the call, and the exit.
    GraphEntry,
    GraphRetaddrEntry,
    GraphExit,
    /// How often a function was called again.
    Repeats,
    /// What was written into `trace_marker`.
    Marker,
    /// What was written into `trace_marker_raw`.
    RawData,
    /// A time in which a CPU did nothing that it was asked to.
    Hwlat,
    /// What a period took from a thread that could always run.
    Osnoise,
    /// How late a timer or the thread was that it wakes.
    Timerlat,
    /// How long interrupts or preemption were off, as bounds.
    OffSampled,
    /// A task was woken up, and runs, for the tracers `wakeup`.
    Wakeup(WakeupStep),
    /// The functions of the kernel that led to the event before it.
    KernelStack,
    /// The functions in user space that led to the event before it.
    UserStack,
}

// Each record that has a format of its own is a kind, and each kind has the id of its format.
const _: () = {
    let mut at = 0;
    while at < format::INTERNAL.len() {
        let id = format::INTERNAL[at].id;
        assert!(matches!(RecordKind::by_id(id), Some(kind) if kind.entry().id == id));
        at += 1;
    }
};

impl RecordKind {
    /// Returns the kind of records with this `common_type`.
    #[inline(always)]
    pub(super) const fn by_id(id: u16) -> Option<Self> {
        const FUNCTION: u16 = format::FUNCTION.id;
        const GRAPH_ENTRY: u16 = format::GRAPH_ENTRY.id;
        const GRAPH_RETADDR_ENTRY: u16 = format::GRAPH_RETADDR_ENTRY.id;
        const GRAPH_EXIT: u16 = format::GRAPH_EXIT.id;
        const REPEATS: u16 = format::FUNC_REPEATS.id;
        const MARKER: u16 = format::PRINT.id;
        const RAW_DATA: u16 = format::RAW_DATA.id;
        const HWLAT: u16 = format::HWLAT.id;
        const OSNOISE: u16 = format::OSNOISE.id;
        const TIMERLAT: u16 = format::TIMERLAT.id;
        const OFF_SAMPLED: u16 = format::OFF_SAMPLED.id;
        const WAKEUP: u16 = format::WAKEUP.id;
        const CONTEXT_SWITCH: u16 = format::CONTEXT_SWITCH.id;
        const KERNEL_STACK: u16 = format::KERNEL_STACK.id;
        const USER_STACK: u16 = format::USER_STACK.id;

        Some(match id {
            FUNCTION => RecordKind::Function,
            GRAPH_ENTRY => RecordKind::GraphEntry,
            GRAPH_RETADDR_ENTRY => RecordKind::GraphRetaddrEntry,
            GRAPH_EXIT => RecordKind::GraphExit,
            REPEATS => RecordKind::Repeats,
            MARKER => RecordKind::Marker,
            RAW_DATA => RecordKind::RawData,
            HWLAT => RecordKind::Hwlat,
            OSNOISE => RecordKind::Osnoise,
            TIMERLAT => RecordKind::Timerlat,
            OFF_SAMPLED => RecordKind::OffSampled,
            WAKEUP => RecordKind::Wakeup(WakeupStep::Woken),
            CONTEXT_SWITCH => RecordKind::Wakeup(WakeupStep::Runs),
            KERNEL_STACK => RecordKind::KernelStack,
            USER_STACK => RecordKind::UserStack,
            _ => return None,
        })
    }

    /// Returns the id, the name and the fields.
    #[inline(always)]
    pub(super) const fn entry(self) -> &'static Internal {
        match self {
            RecordKind::Function => &format::FUNCTION,
            RecordKind::GraphEntry => &format::GRAPH_ENTRY,
            RecordKind::GraphRetaddrEntry => &format::GRAPH_RETADDR_ENTRY,
            RecordKind::GraphExit => &format::GRAPH_EXIT,
            RecordKind::Repeats => &format::FUNC_REPEATS,
            RecordKind::Marker => &format::PRINT,
            RecordKind::RawData => &format::RAW_DATA,
            RecordKind::Hwlat => &format::HWLAT,
            RecordKind::Osnoise => &format::OSNOISE,
            RecordKind::Timerlat => &format::TIMERLAT,
            RecordKind::OffSampled => &format::OFF_SAMPLED,
            RecordKind::Wakeup(WakeupStep::Woken) => &format::WAKEUP,
            RecordKind::Wakeup(WakeupStep::Runs) => &format::CONTEXT_SWITCH,
            RecordKind::KernelStack => &format::KERNEL_STACK,
            RecordKind::UserStack => &format::USER_STACK,
        }
    }

    /// Writes what follows the time in `trace`.
    #[inline(always)]
    pub(super) fn write_text(
        self,
        record: &[u8],
        options: OptionSet,
        lines: &mut LinePrinter,
        out: &mut Text,
    ) -> fmt::Result {
        match self {
            RecordKind::Function => {
                let arguments = &mut lines.arguments;
                function::write_text(record, options, lines.printer.symbols(), arguments, out)
            }
            RecordKind::Repeats => {
                let moment = lines.moment;
                function::write_repeats(record, moment, options, lines.printer.symbols(), out)
            }
            // Left by the tracer function_graph in a snapshot: without what the reader knows of the CPU.
            RecordKind::GraphEntry | RecordKind::GraphRetaddrEntry | RecordKind::GraphExit => {
                lines.write_call(record, out)
            }
            RecordKind::Marker => {
                let address = builtin::marker_address(record).unwrap_or(0);
                stack::write_address(address, options, lines.printer.symbols(), out)?;
                out.write_str(": ")?;
                out.write_bytes(builtin::marker_text(record))
            }
            RecordKind::RawData => builtin::write_raw_data(record, out),
            RecordKind::Hwlat => hwlat::write_text(record, out),
            RecordKind::Osnoise => osnoise::write_text(record, out),
            RecordKind::Timerlat => timerlat::write_text(record, out),
            RecordKind::OffSampled => {
                let mut comm = [0; 16];
                let comm = names::comm_of(sampled::pid(record), &mut comm);
                sampled::write_text(record, comm, out)
            }
            RecordKind::Wakeup(step) => {
                let mut comm = [0; 16];
                let comm = names::comm_of(wakeup::next_pid(record), &mut comm);
                wakeup::write_text(step, record, comm, out)
            }
            RecordKind::KernelStack => {
                stack::write_callers(record, options, lines.printer.symbols(), out)
            }
            RecordKind::UserStack => {
                let (process, callers) = (stack::process(record), stack::user_callers(record));
                let manner = PrintManner::of(options);
                out.write_bytes(lines.printer.user_stack(process, &callers, manner))
            }
        }
    }

    /// Prints the same as numbers.
    pub(super) fn write_plain(self, form: Form, record: &[u8], out: &mut Text) -> fmt::Result {
        match (self, form) {
            (RecordKind::Function, Form::Raw) => function::write_raw(record, out),
            (RecordKind::Repeats, Form::Raw) => function::write_raw_repeats(record, out),
            (RecordKind::Function, Form::Hex) => function::write_hex(record, out),
            (RecordKind::Function, Form::Bin) => function::write_bin(record, out),
            (RecordKind::Marker, Form::Raw) => builtin::write_raw_marker(record, out),
            (RecordKind::RawData, Form::Raw) => builtin::write_raw_data(record, out),
            (RecordKind::Hwlat, Form::Raw) => hwlat::write_raw(record, out),
            (RecordKind::Osnoise, Form::Raw) => osnoise::write_raw(record, out),
            (RecordKind::Timerlat, Form::Raw) => timerlat::write_raw(record, out),
            (RecordKind::OffSampled, Form::Raw) => sampled::write_raw(record, out),
            (RecordKind::Wakeup(step), Form::Raw) => wakeup::write_raw(step, record, out),
            (RecordKind::Wakeup(step), Form::Hex) => wakeup::write_hex(step, record, out),
            (RecordKind::Wakeup(_), Form::Bin) => wakeup::write_bin(record, out),
            _ => form::write_type(self.entry().id, out),
        }
    }

    /// Writes the fields as JSON. Returns `false` if the caller has to take them from the format.
    pub(super) fn write_json(self, record: &[u8], out: &mut Text) -> Result<bool, fmt::Error> {
        match self {
            RecordKind::RawData => json::write_raw_data(record, out).map(|()| true),
            RecordKind::Function
            | RecordKind::Repeats
            | RecordKind::GraphEntry
            | RecordKind::GraphRetaddrEntry
            | RecordKind::GraphExit
            | RecordKind::Marker
            | RecordKind::Hwlat
            | RecordKind::Osnoise
            | RecordKind::Timerlat
            | RecordKind::OffSampled
            | RecordKind::Wakeup(_)
            | RecordKind::KernelStack
            | RecordKind::UserStack => Ok(false),
        }
    }
}
