// SPDX-License-Identifier: GPL-2.0

//! Definitions of events of functions: `f`; one of the rows of [`super::KINDS`].

use super::{
    common::{
        self,
        event_names,
        KnownSite, //
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
        },
        shared_parameters::ProbedFunctions, //
    },
    kapi::{
        fprobe::IS_THERE,
        symbol::Symbol, //
    },
    sources::{
        fprobe::{
            self,
            FprobeHook, //
        },
        function_table::PrototypedFunctions,
        hit_probe::HitProbe,
        probe_layout::ProbeLayout,
        probed_types::ProbedTypes, //
    }, //
};
use core::cell::Cell;
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

    fn is_same_place(&self, place: &str, other: &str) -> bool {
        // What is returned makes it a probe of returns, too.
        place.split('%').next() == other.split('%').next()
    }

    fn create(&self, line: DefiningLine<'_>, _: AmbiguityTest<'_>) -> Result<bool, RefusedLine> {
        match FunctionHead::parse(line.text).map_err(|refusal| self.refused(refusal))? {
            Some(head) if IS_THERE && head.site != FunctionSite::Tracepoint => {
                define(|making| create(line, head, making))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Returns where the probe is.
fn site(head: &FunctionHead<'_>) -> ProbeSite<'static> {
    match head.site {
        FunctionSite::Return => ProbeSite::End,
        _ => ProbeSite::Begin,
    }
}

/// Compiles the arguments of `line`.
fn compile(
    line: DefiningLine<'_>,
    head: &FunctionHead<'_>,
    btf: Option<Btf<'_>>,
) -> Result<ProbeLayout, RefusedLine> {
    let function = btf.and_then(|btf| {
        let prototype = btf.function(head.target)?;
        Some(ProbedFunction::new(btf, prototype, 0))
    });
    common::compile(&Fprobes, line, site(head), (btf, function.into()))
}

/// As [`compile`], of arguments that name parameters of all functions at `addresses` that the kernel itself has.
fn compile_shared(
    line: DefiningLine<'_>,
    head: &FunctionHead<'_>,
    (btf, addresses): (Btf<'_>, &[u64]),
) -> Result<ProbeLayout, RefusedLine> {
    let known = PrototypedFunctions::find(&btf, addresses)?;
    let misfit = Cell::new(None);
    let functions = ProbedFunctions::new(btf, known.prototypes(), &misfit);
    let known_site = KnownSite::Functions(functions, &known);
    let compiled = common::compile(&Fprobes, line, site(head), (Some(btf), known_site));
    if let Some(address) = misfit.get().and_then(|number| known.address(number)) {
        // The texts of ftrace have no room for it.
        let function = Symbol::name_at(address);
        pr_info!("{}: {} does not fit\n", line.text, function.text());
    }
    compiled
}

/// Makes an event as `line` defines it, which begins with `head`.
fn create(
    line: DefiningLine<'_>,
    head: FunctionHead<'_>,
    making: &DefinitionContext<'_>,
) -> Result<Definition, RefusedLine> {
    let names = head.names().map_err(|refusal| Fprobes.refused(refusal))?;
    let group = head.site.group();
    let (group, name) = event_names(names, group, |name| head.write_default_name(name))?;
    let name = name.text();
    let found = fprobe::functions(head.target);
    let is_pattern = head.target.contains(['*', '?', '[']);
    let shares = is_pattern && expand::names_parameters(line.text);
    let types = match &found {
        Ok(_) if shares => ProbedTypes::read(None)?,
        Ok(addresses) if expand::names_types(line.text) => {
            let function = Symbol::function_at(addresses.first().copied().unwrap_or(0));
            let module = function.name_and_module().and_then(|(_, module)| module);
            ProbedTypes::read(module)?
        }
        Ok(_) => ProbedTypes::Unknown,
        Err(ENOMEM) => return Err(ENOMEM.into()),
        // BTF may have functions that cannot be traced.
        Err(_) => ProbedTypes::read(None)?,
    };
    let layout = types.with(|btf| match (btf, &found) {
        (Some(btf), Ok(addresses)) if shares => compile_shared(line, &head, (btf, &**addresses)),
        _ => compile(line, &head, btf),
    })?;
    drop(types);
    let sibling = making.sibling(&Fprobes, (group, name), (line.text, &layout));
    let sibling = sibling.map_err(|refusal| {
        // As in ftrace.
        let code = Code::Invalid;
        Fprobes.refused(ProbeRefusal { code, ..refusal })
    })?;
    if let Err(error) = found {
        let error = match error {
            ENOENT => ProbeError::ProbeAddress,
            _ => ProbeError::Registration,
        };
        return Err(Fprobes.refused(ProbeRefusal::new(error, head.target_at)));
    }
    let returns = head.site == FunctionSite::Return;
    let kept = returns.then_some(layout.kept);
    let hook = FprobeHook::new(head.target, kept)?;
    let probe = HitProbe::new(layout, hook, 0)?;
    let definition = Definition::new(
        &Fprobes,
        (group, name, sibling),
        (probe, line.condition),
        None,
        |shown| {
            let suffix = if returns { "%return" } else { "" };
            write!(shown, "f:{group}/{name} {}{suffix}", head.target)
        },
    )?;
    Ok(definition)
}
