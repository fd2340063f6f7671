// SPDX-License-Identifier: GPL-2.0

//! Definitions of events of kprobes and kretprobes: `p` and `r`; one of the rows of [`super::KINDS`].

use super::{
    ControlledEvents,
    Definition,
    DynamicKind,
    Making,
    RefusedLine, //
};
use crate::{
    events,
    fetch::{
        argument::{
            Compiler,
            ProbeSite, //
        },
        command::{
            words,
            Head,
            ProbePlace,
            GROUP, //
        },
        error::{
            Code,
            ProbeError,
            ProbeRefusal, //
        },
        print::RecordHead, //
    },
    kapi::{
        kprobe::{
            symbol_address,
            KernelProbe, //
        },
        text_buffer::TextBuffer, //
    },
    sources::{
        kprobe::{
            Kprobe,
            KprobeSource, //
        },
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

/// The kind.
pub(super) struct Kprobes;

impl DynamicKind for Kprobes {
    fn author(&self) -> &'static str {
        "trace_kprobe"
    }

    fn is_in(&self, file: ControlledEvents) -> bool {
        matches!(file, ControlledEvents::Kprobes | ControlledEvents::All)
    }

    fn create(&self, line: &str, making: &Making<'_>) -> Result<Option<Definition>, RefusedLine> {
        match Head::parse(line).map_err(|refusal| self.refused(refusal))? {
            Some(head) => create(line, head, making).map(Some),
            None => Ok(None),
        }
    }
}

/// Makes an event as `line` defines it, which begins with `head`.
fn create(line: &str, head: Head<'_>, making: &Making<'_>) -> Result<Definition, RefusedLine> {
    let refuse = |error| Kprobes.refused(ProbeRefusal::new(error, head.place_at));
    let (symbol, address, offset) = match head.place {
        ProbePlace::Address(address) => (None, address, 0),
        ProbePlace::Symbol { name, offset } => (Some(name), 0, offset),
    };
    if let Some(name) = symbol {
        if symbol_address(name).is_none() {
            return Err(refuse(ProbeError::ProbeAddress));
        }
        if (making.is_ambiguous)(name)? {
            return Err(refuse(ProbeError::NotUnique));
        }
    }
    let max_active = head.returns.then_some(head.max_active);
    let probe = KernelProbe::register(symbol, address, offset, max_active);
    if let (true, true, Err(EINVAL)) = (head.returns, offset != 0, &probe) {
        return Err(refuse(ProbeError::ReturnPlace));
    }
    let names = head.names().map_err(|refusal| Kprobes.refused(refusal))?;
    let mut name = TextBuffer::new();
    match names.event {
        Some(event) => name.write_str(event),
        None => head.write_default_name(&mut name),
    }
    .map_err(|_| ENOMEM)?;
    let group = names.group.unwrap_or(GROUP);
    let at_entry = match &probe {
        Ok(probe) => probe.is_at_entry(),
        Err(_) => offset == 0,
    };
    let mut compiler = Compiler {
        site: match at_entry {
            _ if head.returns => ProbeSite::Return,
            true => ProbeSite::Entry,
            false => ProbeSite::Inside,
        },
        symbol: &symbol_address,
        lacks_symbol: false,
        size: 0,
    };
    // As in ftrace, before the arguments are looked at one by one.
    let mut nameless = words(line).skip(2);
    if let (ProbeSite::Inside, Some(word)) = (
        &compiler.site,
        nameless.find(|word| word.text.starts_with("$arg")),
    ) {
        return Err(Kprobes.refused(ProbeRefusal::new(ProbeError::NotAtEntry, word.at)));
    }
    let record_head = match head.returns {
        true => RecordHead::Return,
        false => RecordHead::Hit,
    };
    let layout = ProbeLayout::compile(line, record_head, &mut compiler, &Kprobes)?;
    if let Some(other) = events::by_name(group, name.text()) {
        let error = match making.is_same(other, line) {
            true => ProbeError::SameProbe,
            false => ProbeError::EventExists,
        };
        return Err(Kprobes.refused(ProbeRefusal::with(error, 0, Code::Exists)));
    }
    if compiler.lacks_symbol {
        let code = Code::Missing;
        return Err(Kprobes.refused(ProbeRefusal::with(
            ProbeError::ProbeAddress,
            head.place_at,
            code,
        )));
    }
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
    let shown = show(line, &head, (group, name.text()), &probe, &layout)?;
    let size = u32::try_from(layout.size()).map_err(|_| EINVAL)?;
    let probe = Kprobe::new(layout, probe)?;
    let event = events::dynamic::define((group, name.text()), size, || {
        Ok(KBox::new(KprobeSource(probe.clone()), GFP_KERNEL)?)
    })?;
    Ok(Definition {
        event,
        kind: &Kprobes,
        probe,
        shown,
        _followed: None,
    })
}

/// Returns the line of a definition in the list.
fn show(
    line: &str,
    head: &Head<'_>,
    (group, name): (&str, &str),
    probe: &KernelProbe,
    layout: &ProbeLayout,
) -> Result<TextBuffer> {
    let mut shown = TextBuffer::new();
    let mut write = || {
        match head.returns {
            true => write!(shown, "r{}:{group}/{name} ", probe.max_active())?,
            false => write!(shown, "p:{group}/{name} ")?,
        }
        head.write_place(&mut shown)?;
        for (name, argument) in layout.named() {
            write!(shown, " {name}={}", argument.body.of(line))?;
        }
        Ok::<_, fmt::Error>(())
    };
    write().map_err(|_| ENOMEM)?;
    Ok(shown)
}
