// SPDX-License-Identifier: GPL-2.0

//! Definitions of events of tracepoints: `t`; one of the rows of [`super::KINDS`].

use super::{
    common::{
        self,
        event_names, //
    },
    define,
    AmbiguityTest,
    ControlledEvents,
    Definition,
    DefinitionContext,
    DynamicKind,
    RefusedLine, //
};
use crate::{
    event::btf::Btf,
    fetch::{
        argument::ProbeSite,
        command::DefiningLine,
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
        }, //
    },
    kapi::text_buffer::TextBuffer,
    sources::{
        hit_probe::HitProbe,
        modules,
        probe_layout::ProbeLayout,
        probed_types::ProbedTypes,
        raw,
        tprobe::TracepointHook, //
    }, //
};
use kernel::{
    fmt::Write,
    prelude::*, //
};

/// The kind.
pub(super) struct Tprobes;

impl DynamicKind for Tprobes {
    fn author(&self) -> &'static str {
        "trace_fprobe"
    }

    fn is_in(&self, file: ControlledEvents) -> bool {
        file == ControlledEvents::All
    }

    fn create(&self, line: DefiningLine<'_>, _: AmbiguityTest<'_>) -> Result<bool, RefusedLine> {
        match FunctionHead::parse(line.text).map_err(|refusal| self.refused(refusal))? {
            Some(head) if head.site == FunctionSite::Tracepoint => {
                define(|making| create(line, head, making))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The tracepoint that a line names, if it is there.
struct FoundTracepoint {
    /// The name of the module that has it; empty if it is the kernel's.
    module: TextBuffer,
}

impl FoundTracepoint {
    fn find(name: &str) -> Result<Option<Self>> {
        let found = modules::with_tracepoint(name, |_, module| {
            let mut kept = TextBuffer::new();
            let name = module.map_or("", |module| module.name());
            kept.write_str(name).map_err(|_| ENOMEM)?;
            Ok(Self { module: kept })
        });
        found.transpose()
    }

    fn module(&self) -> Option<&str> {
        Some(self.module.text()).filter(|name| !name.is_empty())
    }
}

/// What a line compiles to.
struct CompiledLine {
    layout: ProbeLayout,
    /// How many arguments the tracepoint has, if that is known.
    arity: Option<usize>,
}

/// Compiles the arguments of `line`, of a tracepoint that is there if `is_there` is set.
fn compile(
    line: DefiningLine<'_>,
    head: &FunctionHead<'_>,
    is_there: bool,
    btf: Option<Btf<'_>>,
) -> Result<CompiledLine, RefusedLine> {
    // As in ftrace, what is not there is looked for among the functions.
    let prototype = |btf: &Btf<'_>| match is_there {
        true => raw::prototype(btf, head.target),
        false => btf.function(head.target),
    };
    let found = btf.and_then(|btf| Some((btf, prototype(&btf)?)));
    let function = found.map(|(btf, prototype)| ProbedFunction::new(btf, prototype, 1));
    let layout = common::compile(
        &Tprobes,
        line,
        ProbeSite::Tracepoint,
        (btf, function.into()),
    )?;
    let arity = found.filter(|_| is_there);
    let arity = arity.and_then(|(btf, prototype)| raw::arity(btf, prototype));
    Ok(CompiledLine { layout, arity })
}

/// Makes an event as `line` defines it, which begins with `head`.
fn create(
    line: DefiningLine<'_>,
    head: FunctionHead<'_>,
    making: &DefinitionContext<'_>,
) -> Result<Definition, RefusedLine> {
    let names = head.names().map_err(|refusal| Tprobes.refused(refusal))?;
    let group = head.site.group();
    let (group, name) = event_names(names, group, |name| head.write_default_name(name))?;
    let name = name.text();
    let found = FoundTracepoint::find(head.target)?;
    let module = found.as_ref().and_then(FoundTracepoint::module);
    let types = match found.is_some() || expand::names_types(line.text) {
        true => ProbedTypes::read(module)?,
        false => ProbedTypes::Unknown,
    };
    let compiled = types.with(|btf| compile(line, &head, found.is_some(), btf))?;
    drop(types);
    let sibling = making.sibling(&Tprobes, (group, name), (line.text, &compiled.layout));
    let sibling = sibling.map_err(|refusal| {
        // As in ftrace.
        let code = Code::Invalid;
        Tprobes.refused(ProbeRefusal { code, ..refusal })
    })?;
    if cfg!(CONFIG_CFI) {
        // The kernel compares prototypes at calls.
        let refusal = ProbeRefusal::new(ProbeError::Registration, head.target_at);
        return Err(Tprobes.refused(refusal));
    }
    let hook = TracepointHook::new(head.target, compiled.arity)?;
    let probe = HitProbe::new(compiled.layout, hook, 0)?;
    let definition = Definition::new(
        &Tprobes,
        (group, name, sibling),
        (probe, line.condition),
        None,
        |shown| write!(shown, "t:{group}/{name} {}", head.target),
    )?;
    Ok(definition)
}
