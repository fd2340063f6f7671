// SPDX-License-Identifier: GPL-2.0

//! Definitions of event probes: `e`; one of the rows of [`super::KINDS`].

use super::{
    define,
    AmbiguityTest,
    ControlledEvents,
    Definition,
    DefinitionContext,
    DynamicKind,
    RefusedLine, //
};
use crate::{
    events::{
        self,
        Event, //
    },
    fetch::{
        argument::{
            Compiler,
            ProbeSite, //
        },
        command::DefiningLine,
        error::{
            Code,
            ProbeError,
            ProbeRefusal, //
        },
        event_command::{
            is_same_event,
            EventHead,
            GROUP, //
        },
        expand,
        known_types::KnownTypes,
        step::EventField, //
    },
    kapi::kprobe::symbol_address,
    probes::Filter,
    sources::{
        defined::DefinedProbe,
        eprobe::{
            Eprobe,
            FollowedEvent, //
        },
        probe_layout::ProbeLayout,
        probed_types::ProbedTypes, //
    }, //
};
use kernel::{
    fmt::Write,
    prelude::*,
    sync::Arc, //
};

/// The kind.
pub(super) struct Eprobes;

impl DynamicKind for Eprobes {
    fn author(&self) -> &'static str {
        "event_probe"
    }

    fn is_in(&self, file: ControlledEvents) -> bool {
        file == ControlledEvents::All
    }

    fn create(&self, line: DefiningLine<'_>, _: AmbiguityTest<'_>) -> Result<bool, RefusedLine> {
        match EventHead::parse(line) {
            Some(head) => define(|making| create(head, making))?,
            None => return Ok(false),
        }
        Ok(true)
    }

    fn is_place(&self, own: &str, given: &str) -> bool {
        is_same_event(own, given)
    }
}

/// Makes the event that a line defines.
fn create(head: EventHead<'_>, making: &DefinitionContext<'_>) -> Result<Definition, RefusedLine> {
    let refused = |refusal| Eprobes.refused(refusal);
    let names = head.names().map_err(refused)?;
    let (system, name) = head.followed().map_err(|why| {
        let line = refused(why.1);
        match why.0 {
            Some(first) => line.after(refused(first)),
            None => line,
        }
    })?;
    expand::check_count(head.line, head.line).map_err(refused)?;
    let defined = |event: &Event| making.siblings_of(event);
    let followed = FollowedEvent::find(system, name, defined).ok_or_else(|| {
        let error = ProbeError::AttachedEvent;
        refused(ProbeRefusal::with(error, head.place_at(), Code::NoDevice))
    })?;
    let event = followed.event();
    if let Some(filter) = head.filter {
        if filter.text.is_empty() {
            // ftrace counts a blank after each word.
            return Err(refused(ProbeRefusal::new(
                ProbeError::FilterMissing,
                filter.at,
            )));
        }
        if let Err(wrong) = Filter::new(event, filter.text.as_bytes())? {
            return Err(RefusedLine::of_filter(
                (wrong.kind.text(), wrong.at),
                filter,
            ));
        }
    }
    let field = |name: &str| event_field(event, name);
    let types = match expand::names_types(head.line) {
        true => ProbedTypes::read(None)?,
        false => ProbedTypes::Unknown,
    };
    let layout = types.with(|btf| {
        let compiler = Compiler::new(ProbeSite::Event(&field), &symbol_address);
        let mut compiler = compiler.of_types(btf.map(KnownTypes::new));
        ProbeLayout::compile((head.line, head.line), &mut compiler, &Eprobes)
    })?;
    drop(types);
    let names = (names.group.unwrap_or(GROUP), names.event.unwrap_or(name));
    if events::is_taken(names.0, names.1) {
        let error = ProbeError::EventExists;
        return Err(refused(ProbeRefusal::with(error, 0, Code::Exists)));
    }
    let text = head.filter.map_or("", |filter| filter.text);
    let eprobe = Eprobe::new(layout, event, text)?;
    let (group, name) = names;
    let names = (group, name, None);
    let probe: Arc<dyn DefinedProbe> = eprobe;
    let probe = (probe, head.filter);
    let definition = Definition::new(&Eprobes, names, probe, Some(followed), |shown| {
        let system = event.system();
        write!(shown, "e:{group}/{name} {system}.{}", event.name())
    })?;
    Ok(definition)
}

/// Returns the field of `event` of that name.
fn event_field(event: &Event, name: &str) -> Option<EventField> {
    event.field(name, |field| {
        let declared = &field.declared;
        EventField::of(declared.ty, field.offset, declared.size, declared.signed)
    })?
}
