// SPDX-License-Identifier: GPL-2.0

//! The filter of an event in an instance: compiled in process context, asked by the probe.

use super::COMMON;
use crate::{
    event::field_type::AddressSpace,
    events::Event,
    expr::{
        error,
        fetch::{
            Env,
            Operand, //
        },
        gate::Gate,
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
    gate: (scratch::WordAt, Range),
    alone: bool,
    text: KVec<u8>,
    nodes: KVec<Node>,
    sets: KVec<u64>,
    cpus: usize,
}

/// Finds what names in a filter of this event stand for.
struct EventFields<'a>(&'a Event);

impl Names for EventFields<'_> {
    fn field(&self, name: &str) -> Option<Operand> {
        self.0.field(name, |field| {
            let declared = &field.declared;
            Operand::stored(declared.ty, field.offset, declared.size, declared.signed)
        })
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
        scratch::prepare()?;
        let needs = match structure::measure(text) {
            Ok(needs) => needs,
            Err(wrong) => return Ok(Err(wrong)),
        };
        let cpus = cpus::most() as usize;
        let words = needs.sets.saturating_mul(cpus.div_ceil(64));
        let mut filter = KBox::new(
            Self {
                gate: (scratch::WordAt::FIRST, Range::ALL),
                alone: false,
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
        match source.compile(&EventFields(event), &mut this.nodes, &mut this.sets) {
            Ok(used) => this.nodes.truncate(used),
            Err(wrong) => return Ok(Err(wrong)),
        }
        if let Some(gate) = Gate::new(&this.nodes, COMMON..event.size()) {
            if let Some(at) = scratch::WordAt::new(gate.offset) {
                (this.gate, this.alone) = ((at, gate.range), gate.alone);
            }
        }
        Ok(Ok(filter))
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
