// SPDX-License-Identifier: GPL-2.0

//! Definitions of events of kprobes and kretprobes: `p` and `r`; one of the rows of [`super::KINDS`].

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
        command::{
            is_same_place,
            DefiningLine,
            Head,
            ProbePlace,
            GROUP, //
        },
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
        symbol::Symbol,
        text_buffer::TextBuffer, //
    },
    sources::{
        hit_probe::HitProbe,
        kprobe::{
            KprobeHook,
            KprobePlace, //
        },
        probe_layout::ProbeLayout,
        probed_types::ProbedTypes, //
    }, //
};
use kernel::{
    fmt::Write,
    prelude::*, //
};

/// The kind.
pub(super) struct Kprobes;

impl DynamicKind for Kprobes {
    fn author(&self) -> &'static str {
        "trace_kprobe"
    }

    fn is_in(&self, file: ControlledEvents) -> bool {
        matches!(file, ControlledEvents::Kprobes | ControlledEvents::All)
    }

    fn is_same_place(&self, place: &str, other: &str) -> bool {
        is_same_place(place, other)
    }

    fn create(
        &self,
        line: DefiningLine<'_>,
        is_ambiguous: AmbiguityTest<'_>,
    ) -> Result<bool, RefusedLine> {
        match Head::parse(line.text).map_err(|refusal| self.refused(refusal))? {
            Some(head) => define(|making| create(line, head, (making, is_ambiguous)))?,
            None => return Ok(false),
        }
        Ok(true)
    }
}

/// Compiles the arguments of `line`.
fn compile(
    line: DefiningLine<'_>,
    head: &Head<'_>,
    at_entry: bool,
    btf: Option<Btf<'_>>,
) -> Result<ProbeLayout, RefusedLine> {
    let function = match (head.place, btf) {
        (ProbePlace::Symbol { name, .. }, Some(btf)) => btf
            .function(name)
            .map(|prototype| ProbedFunction::new(btf, prototype, 0)),
        _ => None,
    };
    let site = match (head.place, head.returns) {
        (ProbePlace::Address(_), true) => ProbeSite::AddressReturn,
        // As in ftrace, which does not ask whether a function begins there.
        (ProbePlace::Address(_), false) => ProbeSite::Inside,
        (ProbePlace::Symbol { .. }, true) => ProbeSite::Return,
        (ProbePlace::Symbol { .. }, false) if at_entry => ProbeSite::Entry,
        (ProbePlace::Symbol { .. }, false) => ProbeSite::Inside,
    };
    common::compile(&Kprobes, line, site, (btf, function.into()))
}

/// Makes an event as `line` defines it, which begins with `head`.
fn create(
    line: DefiningLine<'_>,
    head: Head<'_>,
    (making, is_ambiguous): (&DefinitionContext<'_>, AmbiguityTest<'_>),
) -> Result<Definition, RefusedLine> {
    let refuse = |error| Kprobes.refused(ProbeRefusal::new(error, head.place_at));
    let (symbol, address, offset) = match head.place {
        ProbePlace::Address(address) => (None, address, 0),
        ProbePlace::Symbol { name, offset } => (Some(name), 0, offset),
    };
    // One in a module that is not there waits for it.
    let waits = symbol.is_some_and(is_of_absent_module);
    let place = KprobePlace {
        symbol,
        address,
        offset,
        max_active: head.returns.then_some(head.max_active),
        keeps: head.returns && expand::needs_kept(line.text),
    };
    let probe = place.register();
    if let Some(name) = symbol.filter(|_| !waits) {
        // To look a symbol up takes a grace period.
        if probe.is_err() && symbol_address(name).is_none() {
            return Err(refuse(ProbeError::ProbeAddress));
        }
        if is_ambiguous(name)? {
            return Err(refuse(ProbeError::NotUnique));
        }
    }
    if let (true, true, Err(EINVAL)) = (head.returns, offset != 0, &probe) {
        return Err(refuse(ProbeError::ReturnPlace));
    }
    let names = head.names().map_err(|refusal| Kprobes.refused(refusal))?;
    let (group, name) = event_names(names, GROUP, |name| head.write_default_name(name))?;
    let at_entry = match &probe {
        Ok(probe) => probe.is_at_entry(),
        Err(_) => offset == 0 && !waits,
    };
    let types = match (symbol, &probe) {
        _ if !expand::names_types(line.text) => ProbedTypes::Unknown,
        (Some(_), Ok(probe)) => {
            let function = Symbol::function_at(probe.address());
            let module = function.name_and_module().and_then(|(_, module)| module);
            ProbedTypes::read(module)?
        }
        _ => ProbedTypes::read(None)?,
    };
    let layout = types.with(|btf| compile(line, &head, at_entry, btf))?;
    drop(types);
    let sibling = making
        .sibling(&Kprobes, (group, name.text()), (line.text, &layout))
        .map_err(|refusal| Kprobes.refused(refusal))?;
    // One that waits looks them up when the module comes, which may bring them.
    let looks_later = waits && probe.is_err();
    if layout.lacks_symbol && !looks_later {
        let code = Code::Missing;
        return Err(Kprobes.refused(ProbeRefusal::with(
            ProbeError::ProbeAddress,
            head.place_at,
            code,
        )));
    }
    let probe = match probe {
        Err(ENOENT) if waits => Ok(None),
        probe => probe.map(Some),
    };
    let probe = probe.map_err(|error| match error {
        ENOMEM | EPERM => error.into(),
        _ if error.to_errno() == -(kernel::bindings::EILSEQ as i32) => Kprobes.refused(
            ProbeRefusal::with(ProbeError::Boundary, head.place_at, Code::Sequence),
        ),
        _ => RefusedLine {
            error,
            ..refuse(ProbeError::Registration)
        },
    })?;
    let (max_active, address) = match &probe {
        Some(probe) => (probe.max_active(), probe.address()),
        None => (head.max_active as i32, 0),
    };
    let is_there = probe.is_some();
    let probe = HitProbe::new(layout, KprobeHook::new(probe, &place)?, address)?;
    if is_there {
        // It is called at once where another probe of the event is.
        probe.recorder().find_symbols()?;
    }
    let name = name.text();
    let definition = Definition::new(
        &Kprobes,
        (group, name, sibling),
        (probe, line.condition),
        None,
        |shown| {
            match head.returns {
                true if max_active == 0 => write!(shown, "r:{group}/{name} ")?,
                true => write!(shown, "r{max_active}:{group}/{name} ")?,
                false => write!(shown, "p:{group}/{name} ")?,
            }
            head.write_place(shown)
        },
    )?;
    Ok(definition)
}

/// Returns whether `symbol` is in a module, by name, that is not loaded.
fn is_of_absent_module(symbol: &str) -> bool {
    let Some((module, function)) = symbol.split_once(':') else {
        return false;
    };
    let is_loaded = || {
        let mut own = TextBuffer::new();
        // Each module has this symbol.
        write!(own, "{module}:__this_module").is_ok() && symbol_address(own.text()).is_some()
    };
    !module.is_empty() && !function.is_empty() && !is_loaded()
}
