// SPDX-License-Identifier: GPL-2.0

//! The files of function tracers: which functions can be traced, which are, and which shall be.

use super::{
    file::{
        FileIdentity,
        FileKind,
        Handler::{
            Knob,
            List, //
            Moving,
            Own,
        },
        Step,
        TraceFile, //
    },
    graph, pids,
    text_file::{
        command,
        no_memory,
        PositionMove,
        TextFile, //
    },
    tree::{
        entry,
        EntryKind::File,
        EntryPlace::{
            Everywhere,
            TopOnly, //
        },
        TreeEntry,
        WRITE, //
    },
};
use crate::{
    hooks::{
        self,
        Edit,
        FilterKind, //
    },
    kapi::{
        c,
        kernel_tracefs, //
    },
    output::Text,
    text::{
        word,
        writer::ByteWrite, //
    }, //
};
use core::fmt::Write;
use kernel::{
    iov::IovIterDest,
    prelude::*,
    uaccess::UserSliceReader, //
};

/// The files.
static ENTRIES: &[TreeEntry] = &[
    entry(
        c"available_filter_functions",
        TopOnly,
        File(List(show_available)),
    ),
    entry(
        c"available_filter_functions_addrs",
        TopOnly,
        File(List(show_addresses)),
    ),
    entry(c"enabled_functions", TopOnly, File(List(show_enabled))),
    entry(
        c"set_ftrace_filter",
        Everywhere,
        File(Own(WRITE, FileKind::LinesRead, FilterFile::open_filter)),
    ),
    entry(
        c"set_ftrace_notrace",
        Everywhere,
        File(Own(WRITE, FileKind::LinesRead, FilterFile::open_notrace)),
    ),
    entry(
        c"set_ftrace_notrace_pid",
        Everywhere,
        File(Own(WRITE, FileKind::Lines, pids::open_no_functions_of)),
    ),
    entry(
        c"set_ftrace_pid",
        Everywhere,
        File(Own(WRITE, FileKind::Lines, pids::open_functions_of)),
    ),
    entry(c"touched_functions", TopOnly, File(List(show_touched))),
];

/// Those of `function_graph`.
static OF_CALLS: &[TreeEntry] = &[
    entry(
        c"max_graph_depth",
        Everywhere,
        File(Knob(graph::show_max_depth, graph::store_max_depth)),
    ),
    entry(
        c"set_graph_function",
        Everywhere,
        File(Own(
            WRITE,
            FileKind::LinesRead,
            FilterFile::open_graph_function,
        )),
    ),
    entry(
        c"set_graph_notrace",
        Everywhere,
        File(Own(
            WRITE,
            FileKind::LinesRead,
            FilterFile::open_graph_notrace,
        )),
    ),
    entry(
        c"tracing_thresh",
        Everywhere,
        File(Moving(
            graph::show_threshold,
            graph::store_threshold,
            PositionMove::Not,
        )),
    ),
];

/// Returns the files; none in a kernel that traces no functions.
pub(super) fn entries() -> impl Iterator<Item = &'static TreeEntry> {
    let functions = ENTRIES.iter().filter(|_| hooks::IS_THERE);
    let is_graph = hooks::IS_THERE && hooks::GRAPH_IS_THERE;
    Iterator::chain(functions, OF_CALLS.iter().filter(move |_| is_graph))
}

/// `available_filter_functions`.
fn show_available(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let functions = hooks::current()?;
    for function in functions.list().iter() {
        text.write_bytes(function.shown).map_err(no_memory)?;
        text.write_char('\n').map_err(no_memory)?;
    }
    Ok(())
}

/// `available_filter_functions_addrs`.
fn show_addresses(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    text.write_bytes(hooks::current()?.text())
        .map_err(no_memory)
}

/// `enabled_functions`: the hooks of the whole kernel, of which ours are some.
fn show_enabled(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    text.write_bytes(&kernel_tracefs::read(c"enabled_functions")?)
        .map_err(no_memory)
}

/// `touched_functions`: the same of all functions that were ever hooked.
fn show_touched(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    text.write_bytes(&kernel_tracefs::read(c"touched_functions")?)
        .map_err(no_memory)
}

/// `set_ftrace_filter` or `set_ftrace_notrace`, open: reads like a text; what is written counts from when
/// it is closed. A write gives one word, which the next write may continue.
pub(super) struct FilterFile {
    kind: FilterKind,
    text: KBox<dyn TraceFile>,
    edit: Option<Edit>,
    /// The beginning of a word that has not ended yet.
    word: KVec<u8>,
}

fn show_filter(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    at.inst.show_functions(FilterKind::Filter, text)
}

fn show_notrace(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    at.inst.show_functions(FilterKind::Notrace, text)
}

fn show_graph_function(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    at.inst.show_functions(FilterKind::GraphFunction, text)
}

fn show_stack(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    at.inst.show_functions(FilterKind::Stack, text)
}

fn show_graph_notrace(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    at.inst.show_functions(FilterKind::GraphNotrace, text)
}

impl FilterFile {
    /// Opens `stack_trace_filter`.
    pub(super) fn open_stack(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        Self::open(FilterKind::Stack, TextFile::show(show_stack)?)
    }

    fn open_graph_function(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        let text = TextFile::show(show_graph_function)?;
        Self::open(FilterKind::GraphFunction, text)
    }

    fn open_graph_notrace(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        let text = TextFile::show(show_graph_notrace)?;
        Self::open(FilterKind::GraphNotrace, text)
    }

    fn open_filter(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        Self::open(FilterKind::Filter, TextFile::show(show_filter)?)
    }

    fn open_notrace(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        Self::open(FilterKind::Notrace, TextFile::show(show_notrace)?)
    }

    fn open(kind: FilterKind, text: KBox<dyn TraceFile>) -> Result<KBox<dyn TraceFile>> {
        let file = Self {
            kind,
            text,
            edit: None,
            word: KVec::new(),
        };
        Ok(KBox::new(file, GFP_KERNEL)?)
    }

    /// Obeys the word that has ended.
    fn obey(&mut self, at: &FileIdentity<'_>) -> Result {
        let word = core::mem::replace(&mut self.word, KVec::new());
        let edit = match self.edit.take() {
            Some(edit) => edit,
            None => at.inst.edit_functions(self.kind, false)?,
        };
        at.inst.obey_word(self.edit.insert(edit), &word)
    }
}

impl TraceFile for FilterFile {
    fn read(
        &mut self,
        at: &FileIdentity<'_>,
        out: &mut IovIterDest<'_>,
        pos: &mut i64,
    ) -> Result<Step> {
        self.text.read(at, out, pos)
    }

    fn truncate(&mut self, at: &FileIdentity<'_>) -> Result {
        self.edit = Some(at.inst.edit_functions(self.kind, true)?);
        Ok(())
    }

    /// Obeys the first word and returns how much of the write that was: the caller writes the rest
    /// again, so that each word has its own answer.
    fn write(
        &mut self,
        at: &FileIdentity<'_>,
        input: &mut UserSliceReader,
        pos: &mut i64,
    ) -> Result<usize> {
        if input.is_empty() {
            return Ok(0);
        }
        if *pos == 0 {
            // As in ftrace: what is written at the beginning continues no word.
            self.word.clear();
        }
        let bytes = command(input)?;
        let separates = |byte: &u8| *byte == 0 || word::is_space(*byte);
        let spaces = match self.word.is_empty() {
            true => bytes
                .iter()
                .take_while(|byte| word::is_space(**byte))
                .count(),
            false => 0,
        };
        let rest = bytes.get(spaces..).unwrap_or_default();
        let len = rest.iter().position(separates);
        let part = rest.get(..len.unwrap_or(rest.len())).unwrap_or_default();
        if self.word.len().saturating_add(part.len()) >= c::RT_LONGEST_WORD as usize {
            self.word.clear();
            return Err(EINVAL);
        }
        self.word.extend_from_slice(part, GFP_KERNEL)?;
        let used = match len {
            Some(len) => spaces.saturating_add(len).saturating_add(1),
            None => bytes.len(),
        };
        if len.is_some() && !self.word.is_empty() {
            self.obey(at)?;
        }
        *pos = pos.saturating_add_unsigned(used as u64);
        Ok(used)
    }

    /// Obeys a word that did not end, and has the selection count. An error has no reader any more: the
    /// file is closed.
    fn released(&mut self, at: &FileIdentity<'_>) {
        if !self.word.is_empty() {
            let _ = self.obey(at);
        }
        if let Some(edit) = self.edit.take() {
            let _ = at.inst.store_functions(edit);
        }
    }
}
