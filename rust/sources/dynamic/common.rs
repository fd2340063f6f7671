// SPDX-License-Identifier: GPL-2.0

//! What lines of several kinds have in common: names of events, and arguments that BTF knows.

use super::{
    DynamicKind,
    RefusedLine, //
};
use crate::{
    fetch::{
        argument::{
            Compiler,
            ProbeSite, //
        },
        command::ProbeNames,
        error::{
            Code,
            ProbeError,
            ProbeRefusal, //
        },
        expand,
        function::ProbedFunction, //
    },
    kapi::{
        kprobe::symbol_address,
        text_buffer::TextBuffer, //
    },
    sources::probe_layout::ProbeLayout, //
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

/// Compiles the arguments of `line`, of a probe at `site` in `function`, if BTF knows that. Says also whether an
/// argument names a symbol that is not there.
pub(super) fn compile(
    kind: &dyn DynamicKind,
    line: &str,
    site: ProbeSite<'_>,
    function: Option<ProbedFunction<'_>>,
) -> Result<(ProbeLayout, bool), RefusedLine> {
    let mut expanded = TextBuffer::new();
    let has_parameters = site.has_parameters();
    expand::expand(line, has_parameters, function.as_ref(), &mut expanded)
        .map_err(|refusal| kind.refused(refusal))?
        .map_err(|_| ENOMEM)?;
    let mut compiler = Compiler::new(site, &symbol_address).of_function(function);
    let layout = ProbeLayout::compile((line, expanded.text()), &mut compiler, kind)?;
    if compiler.kept().overflows() {
        let at = expand::argument_at(line, 0);
        let refusal = ProbeRefusal::with(ProbeError::TooManyKept, at, Code::TooBig);
        return Err(kind.refused(refusal));
    }
    Ok((layout, compiler.lacks_symbol))
}
