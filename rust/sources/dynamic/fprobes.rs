// SPDX-License-Identifier: GPL-2.0

//! Definitions of events of functions: `f`; one of the rows of [`super::KINDS`].

use super::{
    define,
    ControlledEvents,
    Definition,
    DynamicKind,
    IsAmbiguous,
    Making,
    RefusedLine, //
};
use crate::{
    event::btf::Btf,
    events,
    fetch::{
        argument::{
            Compiler,
            ProbeSite, //
        },
        error::{
            Code,
            ProbeError,
            ProbeRefusal, //
        },
        expand,
        function::ProbedFunction,
        function_command::{
            FunctionHead,
            FunctionSite, //
        },
        print::RecordHead, //
    },
    kapi::{
        fprobe::IS_THERE,
        kprobe::symbol_address,
        symbol::Symbol,
        text_buffer::TextBuffer, //
    },
    sources::{
        fprobe::{
            self,
            FprobeHook, //
        },
        hit_probe::HitProbe,
        probe_layout::ProbeLayout,
        probed_types::ProbedTypes, //
    }, //
};
use kernel::{
    fmt::Write,
    prelude::*, //
};

/// The kind.
pub(super) struct Fprobes;

impl DynamicKind for Fprobes {
    fn author(&self) -> &'static str {
        "trace_fprobe"
    }

    fn is_in(&self, file: ControlledEvents) -> bool {
        file == ControlledEvents::All
    }

    fn is_place(&self, own: &str, given: &str) -> bool {
        own.strip_suffix("%return").unwrap_or(own) == given
    }

    fn create(&self, line: &str, _: IsAmbiguous<'_>) -> Result<bool, RefusedLine> {
        match FunctionHead::parse(line).map_err(|refusal| self.refused(refusal))? {
            Some(head) if IS_THERE && head.site != FunctionSite::Tracepoint => {
                define(|making| create(line, head, making))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Compiles the arguments of `line`, and says whether one names a symbol that is not there.
fn compile(
    line: &str,
    head: &FunctionHead<'_>,
    btf: Option<Btf<'_>>,
) -> Result<(ProbeLayout, bool), RefusedLine> {
    let function = btf.and_then(|btf| {
        let prototype = btf.function(head.target)?;
        Some(ProbedFunction::new(btf, prototype, 0))
    });
    let mut expanded = TextBuffer::new();
    expand::expand(line, true, function.as_ref(), &mut expanded)
        .map_err(|refusal| Fprobes.refused(refusal))?
        .map_err(|_| ENOMEM)?;
    let (site, record_head) = match head.site {
        FunctionSite::Return => (ProbeSite::End, RecordHead::Return),
        _ => (ProbeSite::Begin, RecordHead::Hit),
    };
    let mut compiler = Compiler::new(site, &symbol_address).of_function(function);
    let lines = (line, expanded.text());
    let layout = ProbeLayout::compile(lines, record_head, &mut compiler, &Fprobes)?;
    if compiler.kept().overflows() {
        let at = expand::argument_at(line, 0);
        let refusal = ProbeRefusal::with(ProbeError::TooManyKept, at, Code::TooBig);
        return Err(Fprobes.refused(refusal));
    }
    Ok((layout, compiler.lacks_symbol))
}

/// Makes an event as `line` defines it, which begins with `head`.
fn create(
    line: &str,
    head: FunctionHead<'_>,
    making: &Making<'_>,
) -> Result<Definition, RefusedLine> {
    let names = head.names().map_err(|refusal| Fprobes.refused(refusal))?;
    let mut name = TextBuffer::new();
    match names.event {
        Some(event) => name.write_str(event),
        None => head.write_default_name(&mut name),
    }
    .map_err(|_| ENOMEM)?;
    let (group, name) = (names.group.unwrap_or(head.site.group()), name.text());
    let found = fprobe::functions(head.target);
    let types = match &found {
        Ok(addresses) if expand::names_types(line) => {
            let function = Symbol::function_at(addresses.first().copied().unwrap_or(0));
            let module = function.name_and_module().and_then(|(_, module)| module);
            ProbedTypes::read(module)?
        }
        Ok(_) => ProbedTypes::Unknown,
        Err(ENOMEM) => return Err(ENOMEM.into()),
        // BTF may have functions that cannot be traced.
        Err(_) => ProbedTypes::read(None)?,
    };
    let (layout, lacks_symbol) = types.with(|btf| compile(line, &head, btf))?;
    drop(types);
    if let Some(other) = events::by_name(group, name) {
        let refusal = making.refusal(&Fprobes, other, (line, &layout));
        // As in ftrace.
        let code = Code::Invalid;
        return Err(Fprobes.refused(ProbeRefusal { code, ..refusal }));
    }
    if let Err(error) = found {
        let error = match error {
            ENOENT => ProbeError::ProbeAddress,
            _ => ProbeError::Registration,
        };
        return Err(Fprobes.refused(ProbeRefusal::new(error, head.target_at)));
    }
    let returns = head.site == FunctionSite::Return;
    let kept = returns.then_some(layout.kept);
    let hook = FprobeHook::new(head.target, kept, lacks_symbol)?;
    let probe = HitProbe::new(layout, hook, 0)?;
    let definition = Definition::new(&Fprobes, (group, name), probe, None, |shown| {
        let suffix = if returns { "%return" } else { "" };
        write!(shown, "f:{group}/{name} {}{suffix}", head.target)
    })?;
    Ok(definition)
}
