// SPDX-License-Identifier: GPL-2.0

//! Definitions of events of watchpoints: `w`; one of the rows of [`super::KINDS`].

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
    events,
    fetch::{
        argument::ProbeSite,
        command::DefiningLine,
        error::{
            ProbeError,
            ProbeRefusal, //
        },
        expand,
        watch_command::{
            is_same_place,
            WatchHead,
            WatchPlace,
            WatchedAccess,
            GROUP, //
        }, //
    },
    kapi::{
        kprobe::{
            may_probe,
            symbol_address, //
        },
        symbol::Symbol,
        watchpoint::WatchedBytes, //
    },
    sources::{
        hit_probe::HitProbe,
        probed_types::ProbedTypes,
        wprobe::WatchHook, //
    }, //
};
use kernel::{
    fmt::Write,
    prelude::*, //
};

/// Below are those of programs, whatever the page tables of the machine.
const FIRST_OF_KERNEL: u64 = 0xff00_0000_0000_0000;

/// The kind.
pub(super) struct Wprobes;

impl DynamicKind for Wprobes {
    fn author(&self) -> &'static str {
        "wprobe"
    }

    fn is_in(&self, file: ControlledEvents) -> bool {
        file == ControlledEvents::All
    }

    fn is_place(&self, own: &str, given: &str) -> bool {
        is_same_place(own, given)
    }

    fn create(&self, line: DefiningLine<'_>, _: AmbiguityTest<'_>) -> Result<bool, RefusedLine> {
        match WatchHead::parse(line.text).map_err(|refusal| self.refused(refusal))? {
            Some(head) => define(|making| create(line, head, making))?,
            None => return Ok(false),
        }
        Ok(true)
    }
}

/// Returns whether the address is in the image of the variables that each CPU has, which is not used after boot.
fn is_per_cpu(address: u64) -> bool {
    let bounds = (
        symbol_address("__per_cpu_start"),
        symbol_address("__per_cpu_end"),
    );
    match bounds {
        (Some(begin), Some(end)) => (begin..end).contains(&address),
        _ => false,
    }
}

/// Returns `MODULE:SYMBOL` of what is at the address, if that is in a module; otherwise nothing.
///
/// # Errors
///
/// `ENOMEM`.
fn module_symbol(place: WatchPlace<'_>, address: u64) -> Result<(KVec<u8>, i32)> {
    let mut text = KVec::new();
    let WatchPlace::Symbol { name, offset } = place else {
        return Ok((text, 0));
    };
    let begin = address.wrapping_sub(i64::from(offset) as u64);
    let symbol = Symbol::function_at(begin);
    if let Some((_, Some(module))) = symbol.name_and_module() {
        let name = name.split_once(':').map_or(name, |(_, name)| name);
        for part in [module, ":", name] {
            text.extend_from_slice(part.as_bytes(), GFP_KERNEL)?;
        }
    }
    Ok((text, offset))
}

/// Makes an event as `line` defines it, which begins with `head`.
fn create(
    line: DefiningLine<'_>,
    head: WatchHead<'_>,
    making: &DefinitionContext<'_>,
) -> Result<Definition, RefusedLine> {
    let refused = |refusal| Wprobes.refused(refusal);
    may_probe()?;
    if head.access == WatchedAccess::Read {
        // This machine watches what writes, or all.
        return Err(refused(ProbeRefusal::new(
            ProbeError::AccessType,
            head.access_at,
        )));
    }
    let bytes = WatchedBytes {
        address: head
            .address(symbol_address, FIRST_OF_KERNEL)
            .map_err(refused)?,
        len: head.len,
        only_writes: head.access == WatchedAccess::Write,
    };
    if bytes.are_own() || is_per_cpu(bytes.address) {
        return Err(refused(ProbeRefusal::new(
            ProbeError::AccessAddress,
            head.place_at,
        )));
    }
    let names = head.names().map_err(refused)?;
    let (group, name) = event_names(names, GROUP, |name| head.write_default_name(name))?;
    let name = name.text();
    let types = match expand::names_types(line.text) {
        true => ProbedTypes::read(None)?,
        false => ProbedTypes::Unknown,
    };
    let layout = types.with(|btf| {
        common::compile(
            &Wprobes,
            line,
            ProbeSite::Watched,
            (btf, KnownSite::Nothing),
        )
    })?;
    drop(types);
    if events::is_taken(group, name) {
        let is_it =
            |known: &&Definition| (known.event.system(), known.event.name()) == (group, name);
        return Err(match making.known.iter().find(is_it) {
            Some(known) if known.kind.author() == Wprobes.author() => RefusedLine {
                error: EBUSY,
                ..refused(ProbeRefusal::new(ProbeError::WatchSibling, 0))
            },
            _ => refused(ProbeRefusal::exists(ProbeError::EventExists, 0)),
        });
    }
    let symbol = module_symbol(head.place, bytes.address)?;
    let hook = WatchHook::new(bytes, symbol)?;
    let probe = HitProbe::new(layout, hook, bytes.address)?;
    Definition::new(
        &Wprobes,
        (group, name, None),
        (probe, line.condition),
        None,
        |shown| {
            write!(shown, "w:{group}/{name} ")?;
            head.write_place(shown)
        },
    )
    .map_err(RefusedLine::from)
}
