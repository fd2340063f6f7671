// SPDX-License-Identifier: GPL-2.0

//! The places of the members of private structs that some probes read.
//!
//! Fills in the places that `shim/events/include/rt_view.h` left open, from the BTF of the running
//! kernel or of a module, and says which probes must not be used because a place is not known.
//! Called by `header`.

use crate::{
    event::btf::{
        Btf,
        BtfShape, //
        Question,
    },
    events::own_layouts,
    kapi::{
        c,
        kernel_btf::{
            KernelBtf,
            NoBtf, //
        }, //
    }, //
};
use core::ptr;
use kernel::{
    fmt,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// The reason why a probe must not be used.
pub(super) struct LayoutRefusal {
    layout: &'static c::rt_layout,
    why: &'static str,
}

impl LayoutRefusal {
    /// Returns whether the probe is that of `desc`.
    pub(super) fn concerns(&self, desc: &c::rt_event_desc) -> bool {
        ptr::eq(self.layout.probe, desc.probe.cast_const())
    }
}

impl fmt::Display for LayoutRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ty, member) = names(self.layout);
        write!(f, "where is {ty}.{member}? {}", self.why)
    }
}

/// Fills in one place: while this module is being loaded, or later if it is of another module.
fn put(layout: &'static c::rt_layout, place: u32) {
    // SAFETY: The place is a static of an expanded header, which is still writable, or stays so if it
    // is of another module; a probe that read it at the same time would get either value.
    let offset = unsafe { Atomic::<u32>::from_ptr(layout.offset) };
    offset.store(place, Relaxed);
}

/// Returns the names of the type and of its member.
fn names(layout: &'static c::rt_layout) -> (&'static str, &'static str) {
    (layout.type_(), layout.member())
}

/// Fills in all places, as the kernel's BTF tells them, and returns those that it does not tell.
///
/// Called while the module is being loaded: no probe reads a place yet.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn check(kernel: Result<&KernelBtf, NoBtf>) -> Result<KVec<LayoutRefusal>> {
    let layouts = own_layouts();
    let mut questions = KVec::with_capacity(layouts.len(), GFP_KERNEL)?;
    for layout in layouts {
        questions.push(question(layout), GFP_KERNEL)?;
    }
    let problem = match kernel.and_then(|kernel| Ok(kernel.btf()?.answer(&mut questions)?)) {
        Ok(()) => None,
        Err(why) => Some(why.as_str()),
    };

    let mut refused = KVec::new();
    for (layout, question) in layouts.iter().zip(questions.iter()) {
        let why = match (problem, question.place) {
            (None, Ok(place)) => {
                put(layout, place);
                continue;
            }
            (Some(problem), _) => problem,
            (None, Err(error)) => error.as_str(),
        };
        refused.push(LayoutRefusal { layout, why }, GFP_KERNEL)?;
    }
    Ok(refused)
}

/// Returns whether the probe of an event of a module reads a private struct.
pub(super) fn has_view(desc: &c::rt_event_desc) -> bool {
    needs(desc).next().is_some()
}

/// Returns the members that the probe of an event reads.
fn needs(desc: &c::rt_event_desc) -> impl Iterator<Item = &'static c::rt_layout> + '_ {
    own_layouts()
        .iter()
        .filter(|layout| ptr::eq(layout.probe, desc.probe.cast_const()))
}

/// Fills in the places of one event whose module is being loaded, as the module's BTF tells them.
/// The inner result says whether all of them are known.
///
/// # Errors
///
/// `ENOMEM`.
///
/// No probe runs that reads these places: no event of the header is offered yet.
pub(super) fn check_of_module(
    desc: &c::rt_event_desc,
    btf: Result<Btf<'_>, NoBtf>,
) -> Result<Result<(), LayoutRefusal>> {
    let mut questions = KVec::new();
    for layout in needs(desc) {
        questions.push(question(layout), GFP_KERNEL)?;
    }
    let problem = match btf.and_then(|btf| Ok(btf.answer(&mut questions)?)) {
        Ok(()) => None,
        Err(why) => Some(why.as_str()),
    };
    for (layout, question) in needs(desc).zip(questions.iter()) {
        let why = match (problem, question.place) {
            _ if layout.of_module == 0 => "it was looked for in the kernel",
            (None, Ok(place)) => {
                put(layout, place);
                continue;
            }
            (Some(problem), _) => problem,
            (None, Err(error)) => error.as_str(),
        };
        return Ok(Err(LayoutRefusal { layout, why }));
    }
    Ok(Ok(()))
}

/// Returns the question to BTF about a member.
fn question(layout: &'static c::rt_layout) -> Question<'static> {
    let (ty, member) = names(layout);
    Question::new(ty, member, shape(layout))
}

/// Returns the shape that the member must have.
fn shape(layout: &c::rt_layout) -> BtfShape {
    match u32::from(layout.kind) {
        c::rt_member_kind_RT_MEMBER_PTR => BtfShape::Ptr,
        c::rt_member_kind_RT_MEMBER_ARRAY => BtfShape::Array,
        c::rt_member_kind_RT_MEMBER_BIT => BtfShape::Bit,
        _ => BtfShape::Int(u32::from(layout.bytes)),
    }
}
