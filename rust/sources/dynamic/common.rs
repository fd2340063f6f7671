// SPDX-License-Identifier: GPL-2.0

//! What lines of several kinds have in common: names of events, and arguments that BTF knows.

use super::{
    DynamicKind,
    RefusedLine, //
};
use crate::{
    event::btf::Btf,
    fetch::{
        argument::{
            Compiler,
            ProbeSite, //
        },
        command::{
            DefiningLine,
            ProbeNames, //
        },
        error::{
            Code,
            ProbeError,
            ProbeRefusal, //
        },
        expand::{
            self,
            PathOffsets, //
        },
        function::ProbedFunction,
        known_types::KnownTypes,
        shared_parameters::ProbedFunctions,
        spread::{
            self,
            WordOrigin, //
        }, //
    },
    kapi::{
        kprobe::{
            dentry_in_file,
            name_in_dentry,
            symbol_address, //
        },
        symbol::may_move,
        text_buffer::TextBuffer, //
    },
    sources::{
        function_table::PrototypedFunctions,
        probe_layout::ProbeLayout, //
    }, //
};
use kernel::{
    fmt::{
        self,
        Write, //
    },
    prelude::*, //
};

/// Returns group and name of the event of a line that gives `names`, or else `group` and what `write_default`
/// writes.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn event_names<'a>(
    names: ProbeNames<'a>,
    group: &'a str,
    write_default: impl FnOnce(&mut TextBuffer) -> fmt::Result,
) -> Result<(&'a str, TextBuffer)> {
    let mut name = TextBuffer::new();
    match names.event {
        Some(event) => name.write_str(event),
        None => write_default(&mut name),
    }
    .map_err(|_| ENOMEM)?;
    Ok((names.group.unwrap_or(group), name))
}

/// What BTF knows of where a probe is.
#[derive(Clone, Copy)]
pub(super) enum KnownSite<'a> {
    Nothing,
    Function(ProbedFunction<'a>),
    /// Functions that all have the parameters that are named, by their addresses, too.
    Functions(ProbedFunctions<'a>, &'a PrototypedFunctions),
}

impl<'a> From<Option<ProbedFunction<'a>>> for KnownSite<'a> {
    fn from(function: Option<ProbedFunction<'a>>) -> Self {
        function.map_or(Self::Nothing, Self::Function)
    }
}

/// Compiles the arguments of `line`, of a probe at `site`, of which BTF knows `known`, if `btf` is there. The probe looks
/// up symbols that are not there, or are a module's.
pub(super) fn compile(
    kind: &dyn DynamicKind,
    DefiningLine {
        text: line,
        condition,
    }: DefiningLine<'_>,
    site: ProbeSite<'_>,
    (btf, known): (Option<Btf<'_>>, KnownSite<'_>),
) -> Result<ProbeLayout, RefusedLine> {
    let has_parameters = site.has_parameters();
    let is_watched = matches!(site, ProbeSite::Watched);
    let compiler = Compiler::new(site, &symbol_address).with_lookup(&may_move);
    let compiler = compiler.of_types(btf.map(KnownTypes::new));
    let (function, functions) = match known {
        KnownSite::Nothing => (None, None),
        KnownSite::Function(function) => (Some(function), None),
        KnownSite::Functions(functions, _) => (None, Some(functions)),
    };
    let mut compiler = compiler.of_function(function).of_functions(functions);
    let mut spread = TextBuffer::new();
    let mut origins: KVec<WordOrigin> = KVec::new();
    let given = match spread::has_spread(line) {
        true => {
            let mut take = |origin| origins.push(origin, GFP_KERNEL).map_err(|_| fmt::Error);
            spread::spread(line, &mut compiler, &mut spread, &mut take)
                .map_err(|refusal| kind.refused(refusal))?
                .map_err(|_| ENOMEM)?;
            spread.text()
        }
        false => line,
    };
    // Carets point into the line as it was written.
    let refused = |refused: RefusedLine| refused.with_places(|at| WordOrigin::place(&origins, at));
    let mut expanded = TextBuffer::new();
    match is_watched {
        // There are no parameters, as the compiler says.
        true => Ok(expanded.write_str(given)),
        false => expand::expand(given, has_parameters, function.as_ref(), &mut expanded),
    }
    .map_err(|refusal| refused(kind.refused(refusal)))?
    .map_err(|_| ENOMEM)?;
    let mut whole = TextBuffer::new();
    let offsets = PathOffsets {
        name: name_in_dentry(),
        dentry: dentry_in_file(),
    };
    if !expand::expand_paths(expanded.text(), offsets, &mut whole).map_err(|_| ENOMEM)? {
        // As in ftrace.
        return Err(ENOMEM.into());
    }
    let layout = ProbeLayout::compile((given, whole.text()), &mut compiler, kind);
    let mut layout = layout.map_err(refused)?;
    layout.set_places(&origins)?;
    layout.set_condition(condition, kind)?;
    if let KnownSite::Functions(functions, all) = known {
        layout.functions = Some(all.table(&functions, compiler.placed())?);
    }
    if compiler.kept().overflows() {
        let at = expand::argument_at(line, 0);
        let refusal = ProbeRefusal::with(ProbeError::TooManyKept, at, Code::TooBig);
        return Err(kind.refused(refusal));
    }
    Ok(layout)
}
