// SPDX-License-Identifier: GPL-2.0

//! Prints events of an instance whose tracer is `function_graph`, or one of latencies that shows calls: its records as
//! calls, others as comments between them.

use super::{
    kinds::RecordKind,
    LinePrinter,
    SeenEvent,
    Style,
    Text, //
};
use crate::{
    event::context::Common,
    kapi::cpus,
    tasks::names,
    text::{
        builtin,
        graph::{
            self,
            CallEntry,
            CallExit,
            CallLines,
            CallOrigin,
            CpuState,
            GraphLine,
            Tasks, //
        },
        options::{
            Opt,
            OptionSet, //
        },
        writer::ByteWrite, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};
use kernel::prelude::*;

/// What a reader has seen of each CPU.
pub(super) struct Graph {
    /// Empty before the first line.
    states: KVVec<CpuState>,
    /// The digits of the largest number of a CPU, from the first line on.
    cpu_width: usize,
}

impl Graph {
    /// Returns that of a reader that has seen nothing.
    pub(super) const fn new() -> Self {
        Self {
            states: KVVec::new(),
            cpu_width: 0,
        }
    }

    /// Returns what was seen of `cpu`.
    pub(super) fn seen(&self, cpu: u32) -> CpuState {
        let state = self.states.get(cpu as usize);
        state.copied().unwrap_or(CpuState::NEW)
    }

    /// Forgets what was seen of `cpu` since that was `before`.
    pub(super) fn go_back(&mut self, cpu: u32, before: CpuState) {
        if let Some(state) = self.states.get_mut(cpu as usize) {
            *state = before;
        }
    }

    /// Returns what was seen of `cpu`, to be changed, and the digits of the largest number of a CPU.
    ///
    /// # Errors
    ///
    /// Without memory for it, or without such a CPU.
    fn of(&mut self, cpu: u32) -> Result<(&mut CpuState, usize), fmt::Error> {
        if self.states.is_empty() {
            let room = cpus::most() as usize;
            self.states
                .resize(room, CpuState::NEW, GFP_KERNEL)
                .map_err(|_| fmt::Error)?;
            self.cpu_width = cpu_width();
        }
        let state = self.states.get_mut(cpu as usize).ok_or(fmt::Error)?;
        Ok((state, self.cpu_width))
    }
}

/// The names that were saved.
struct SavedNames;

impl Tasks for SavedNames {
    fn comm<'r>(&self, pid: i32, room: &'r mut [u8; 16]) -> &'r [u8] {
        names::comm_of(pid, room)
    }
}

/// The flag columns where they are not shown.
const NO_COLUMNS: [u8; 5] = [b'.'; 5];

/// Returns the digits of the largest number of a CPU.
fn cpu_width() -> usize {
    let mut rest = cpus::most().saturating_sub(1);
    let mut width = 1usize;
    while rest >= 10 {
        rest /= 10;
        width = width.saturating_add(1);
    }
    width
}

/// Returns who made a call, of which the CPU and the time are `at`.
fn origin(common: &Common, at: (u32, u64), cpu_width: usize, options: OptionSet) -> CallOrigin {
    let (cpu, stamp) = at;
    CallOrigin {
        cpu,
        cpu_width,
        pid: common.pid,
        stamp,
        since: None,
        columns: match options.has(Opt::LatencyFormat) {
            true => common.columns(),
            false => NO_COLUMNS,
        },
        options,
    }
}

impl LinePrinter {
    /// Writes an event as a line among calls. Returns `false` and writes nothing for one that has an
    /// ordinary line there, too.
    #[inline(never)]
    pub(super) fn write_in_graph(
        &mut self,
        lines: CallLines,
        style: Style,
        common: &Common,
        seen: &SeenEvent<'_>,
        out: &mut Text,
    ) -> Result<bool, fmt::Error> {
        let kind = RecordKind::by_id(common.event_type);
        if matches!(kind, Some(RecordKind::KernelStack | RecordKind::Function)) {
            return Ok(false);
        }
        let (state, cpu_width) = self.graph.of(seen.cpu)?;
        let since = || seen.stamp.wrapping_sub(style.begin);
        let at = (seen.cpu, seen.stamp);
        let line = GraphLine {
            state,
            origin: CallOrigin {
                since: lines.have_since().then(since),
                ..origin(common, at, cpu_width, lines.options(style.options))
            },
            tasks: &SavedNames,
            out: &mut *out,
        };
        match kind {
            Some(RecordKind::GraphEntry | RecordKind::GraphRetaddrEntry) => {
                if let Some(entry) = CallEntry::of(&seen.record) {
                    let exit = seen.exit.and_then(CallExit::of);
                    let (symbols, arguments) = (self.printer.symbols(), &mut self.arguments);
                    line.write_entry(&entry, exit.as_ref(), symbols, arguments)?;
                }
            }
            Some(RecordKind::GraphExit) => {
                if let Some(exit) = CallExit::of(&seen.record) {
                    line.write_exit(&exit, self.printer.symbols())?;
                }
            }
            _ => {
                line.begin_comment()?;
                match kind {
                    Some(RecordKind::Marker) => {
                        out.write_bytes(builtin::marker_text(&seen.record))?
                    }
                    _ => {
                        let style = Style {
                            options: style.options.with(Opt::Fields, false),
                            ..style
                        };
                        let id = common.event_type;
                        self.write_text(style, id, seen.record, out)?;
                    }
                }
                if out.bytes().ends_with(b"\n") {
                    out.truncate(out.bytes().len().saturating_sub(1));
                }
                out.write_str(graph::COMMENT_END)?;
            }
        }
        Ok(true)
    }

    /// Writes what follows the context of a record of `function_graph` when that is not the tracer.
    pub(super) fn write_call(&mut self, record: &[u8], out: &mut Text) -> fmt::Result {
        let Some(common) = Common::of(record) else {
            return Ok(());
        };
        // Without the columns, whose numbers the context has.
        let options = OptionSet::DEFAULT.with(Opt::GraphCpu, false);
        let mut unseen = CpuState::NEW;
        let line = GraphLine {
            state: &mut unseen,
            origin: origin(&common, (0, 0), 0, options),
            tasks: &SavedNames,
            out,
        };
        match (CallEntry::of(record), CallExit::of(record)) {
            (Some(entry), _) if graph::is_entry(record) => {
                line.write_entry(&entry, None, self.printer.symbols(), &mut self.arguments)
            }
            (_, Some(exit)) => line.write_exit(&exit, self.printer.symbols()),
            _ => Ok(()),
        }
    }
}
