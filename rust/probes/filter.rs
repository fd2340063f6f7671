// SPDX-License-Identifier: GPL-2.0

//! The filter of an event in an instance: compiled in process context, asked by the probe.

use super::{
    fill_common,
    EventFile,
    COMMON, //
};
use crate::{
    event::{
        field::Field,
        field_type::AddressSpace, //
    },
    events::Event,
    expr::{
        error,
        fetch::{
            Env,
            Operand, //
        },
        gate::{
            Gate,
            TextGate, //
        },
        predicate::Names,
        program::{
            Node,
            PredicateText, //
            Program,
        },
        range::Range,
        structure, //
    },
    kapi::{
        cpus,
        percpu::CpuPin,
        scratch,
        strings, //
    },
    tasks::names, //
};
use core::cell::OnceCell;
use kernel::prelude::*;

/// A compiled filter.
pub(crate) struct Filter {
    /// Its [`Gate`].
    gate: (scratch::PlacedWord, Range),
    alone: bool,
    /// What is asked first when that is about a string.
    text_gate: Option<TextGate>,
    text: KVec<u8>,
    nodes: KVec<Node>,
    sets: KVec<u64>,
    cpus: usize,
}

/// Returns what a field is to filters.
pub(crate) fn operand(field: Field<'_>) -> Operand {
    let declared = &field.declared;
    Operand::stored(declared.ty, field.offset, declared.size, declared.signed)
}

/// Finds what names in a filter stand for: fields by this function.
struct FilteredFields<'a>(&'a dyn Fn(&str) -> Option<Operand>);

impl Names for FilteredFields<'_> {
    fn field(&self, name: &str) -> Option<Operand> {
        (self.0)(name)
    }

    fn function(&self, name: &str) -> Option<(u64, u64)> {
        strings::function(name)
    }

    fn function_at(&self, address: u64) -> Option<(u64, u64)> {
        strings::function_at(address)
    }
}

/// The environment in which a probe evaluates a filter.
struct Surroundings<'a> {
    pin: &'a CpuPin,
    /// The name of the current task, once it was asked for.
    comm: OnceCell<[u8; names::COMM]>,
}

impl Env for Surroundings<'_> {
    fn cpu(&self) -> u32 {
        self.pin.cpu()
    }

    fn comm(&self) -> &[u8] {
        if self.comm.get().is_none() {
            // It was empty, so that this does not fail.
            let _ = self.comm.set(strings::comm());
        }
        self.comm.get().map_or(&[], |comm| comm.as_slice())
    }

    fn string(
        &self,
        address: u64,
        space: AddressSpace,
        question: impl FnOnce(&[u8]) -> bool,
    ) -> Option<bool> {
        strings::with_string(address, space == AddressSpace::User, question)
    }
}

impl Filter {
    /// Author of the entries in `error_log` about filters.
    pub(crate) const AUTHOR: &'static str = "event filter parse error";

    /// Compiles `text` for `event`. The inner error is the user's.
    pub(crate) fn new(
        event: &Event,
        text: &[u8],
    ) -> Result<core::result::Result<KBox<Self>, error::Error>> {
        let field = |name: &str| event.field(name, operand);
        Self::of_fields(&field, event.size(), text)
    }

    /// Compiles `text` for records of `size` bytes without their strings, whose fields `field` finds by their names.
    /// The inner error is the user's.
    pub(crate) fn of_fields(
        field: &dyn Fn(&str) -> Option<Operand>,
        size: usize,
        text: &[u8],
    ) -> Result<core::result::Result<KBox<Self>, error::Error>> {
        scratch::prepare()?;
        let needs = match structure::measure(text) {
            Ok(needs) => needs,
            Err(wrong) => return Ok(Err(wrong)),
        };
        let cpus = cpus::most() as usize;
        let words = needs.sets.saturating_mul(cpus.div_ceil(64));
        let mut filter = KBox::new(
            Self {
                gate: (scratch::PlacedWord::FIRST, Range::ALL),
                alone: false,
                text_gate: None,
                text: KVec::with_capacity(text.len(), GFP_KERNEL)?,
                nodes: KVec::from_elem(Node::UNUSED, needs.preds, GFP_KERNEL)?,
                sets: KVec::from_elem(0, words, GFP_KERNEL)?,
                cpus,
            },
            GFP_KERNEL,
        )?;
        filter.text.extend_from_slice(text, GFP_KERNEL)?;
        let source = PredicateText { text, cpus };
        let this = &mut *filter;
        match source.compile(&FilteredFields(field), &mut this.nodes, &mut this.sets) {
            Ok(used) => this.nodes.truncate(used),
            Err(wrong) => return Ok(Err(wrong)),
        }
        if let Some(gate) = Gate::new(&this.nodes, COMMON..size) {
            if let Some(at) = scratch::PlacedWord::new(gate.offset) {
                (this.gate, this.alone) = ((at, gate.range), gate.alone);
            }
        }
        this.text_gate = TextGate::new(&this.nodes);
        Ok(Ok(filter))
    }

    /// Returns whether a record is let through that a probe has made beside the rings, for a file of its event among
    /// others. The common fields are filled here. Any context.
    pub(crate) fn lets_through(&self, pin: &CpuPin, file: &EventFile, record: &mut [u8]) -> bool {
        fill_common(record, file.base);
        self.matches(pin, record)
    }

    /// Whether a record may be one that is let through, by what one number of it says; the common fields
    /// do not matter.
    #[inline(always)]
    pub(super) fn may_match(&self, record: &scratch::Record<'_>) -> bool {
        let (at, range) = &self.gate;
        range.holds(record.word(*at))
    }

    /// Returns whether the gate decides alone: the filter lets through every record that may match.
    pub(super) fn is_one_number(&self) -> bool {
        self.alone
    }

    /// Returns what the filter says of a record when the first thing that it asks decides, which is about a string
    /// of the event; the common fields do not matter. `None` when all of the filter is to be asked. Any context.
    #[inline(always)]
    pub(super) fn by_text(&self, record: &scratch::Record<'_>) -> Option<bool> {
        let gate = self.text_gate.as_ref()?;
        match gate.passes(&self.text, record.to_read().bytes()) {
            true => gate.alone.then_some(true),
            false => Some(false),
        }
    }

    /// Whether a record is let through. Any context.
    pub(super) fn matches(&self, pin: &CpuPin, record: &[u8]) -> bool {
        Program {
            text: &self.text,
            nodes: &self.nodes,
            sets: &self.sets,
            cpus: self.cpus,
        }
        .matches(
            record,
            &Surroundings {
                pin,
                comm: OnceCell::new(),
            },
        )
    }
}
