// SPDX-License-Identifier: GPL-2.0

//! Where are the members of private structs that some probes read?
//!
//! Fills in the places that `shim/events/include/rt_view.h` left open, from the BTF of the running
//! kernel, and says which probes must not be used because a place is not known.

use super::{
    c,
    own_layouts,
    text, //
};
use crate::event::btf::{
    self,
    Btf,
    BtfError,
    Question,
    Shape, //
};
use core::ptr;
use kernel::{
    alloc::AllocError,
    bindings,
    error::from_err_ptr,
    fmt,
    prelude::*, //
};

/// Where the kernel shows its own BTF.
const BTF_FILE: &CStr = c"/sys/kernel/btf/vmlinux";

/// Longer is not believed; that of a large kernel has 6 MB.
const BTF_MOST: usize = 64 << 20;

/// Why a probe must not be used.
pub(super) struct Refusal {
    layout: &'static c::rt_layout,
    why: &'static str,
}

impl Refusal {
    pub(super) fn concerns(&self, desc: &c::rt_event_desc) -> bool {
        ptr::eq(self.layout.probe, desc.probe.cast_const())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ty, member) = names(self.layout);
        write!(f, "where is {ty}.{member}? {}", self.why)
    }
}

fn names(layout: &c::rt_layout) -> (&str, &str) {
    // SAFETY: The tables hold valid strings, made by the macros of `shim/events/`.
    unsafe { (text(layout.type_), text(layout.member)) }
}

/// Fills in all places, and returns those that could not be.
///
/// Runs while the module is being loaded: no probe reads a place yet.
pub(super) fn check() -> Result<KVec<Refusal>> {
    let layouts = own_layouts();
    let mut questions = KVec::with_capacity(layouts.len(), GFP_KERNEL)?;
    for layout in layouts {
        let (ty, member) = names(layout);
        questions.push(Question::new(ty, member, shape(layout)), GFP_KERNEL)?;
    }
    let problem = match ask(&mut questions) {
        Ok(()) => None,
        Err(Unanswered::NoBtf) => Some("this kernel shows no BTF"),
        Err(Unanswered::Bad(error)) => Some(error.as_str()),
        Err(Unanswered::Memory) => return Err(ENOMEM),
    };

    let mut refused = KVec::new();
    for (layout, question) in layouts.iter().zip(questions.iter()) {
        let why = match (problem, question.place) {
            (None, Ok(place)) => {
                // SAFETY: Points to a static of the expanded header, which nobody else uses now,
                // and which is still writable, as the module's init has not returned.
                unsafe { layout.offset.write(place) };
                continue;
            }
            (Some(problem), _) => problem,
            (None, Err(error)) => error.as_str(),
        };
        refused.push(Refusal { layout, why }, GFP_KERNEL)?;
    }
    Ok(refused)
}

fn shape(layout: &c::rt_layout) -> Shape {
    match u32::from(layout.kind) {
        c::rt_member_kind_RT_MEMBER_PTR => Shape::Ptr,
        c::rt_member_kind_RT_MEMBER_ARRAY => Shape::Array,
        c::rt_member_kind_RT_MEMBER_BIT => Shape::Bit,
        _ => Shape::Int(u32::from(layout.bytes)),
    }
}

enum Unanswered {
    NoBtf,
    Bad(BtfError),
    Memory,
}

impl From<BtfError> for Unanswered {
    fn from(error: BtfError) -> Self {
        Self::Bad(error)
    }
}

impl From<AllocError> for Unanswered {
    fn from(_: AllocError) -> Self {
        Self::Memory
    }
}

fn ask(questions: &mut [Question<'_>]) -> Result<(), Unanswered> {
    if questions.is_empty() {
        return Ok(());
    }
    let bytes = read_btf().map_err(|error| match error {
        ENOMEM => Unanswered::Memory,
        _ => Unanswered::NoBtf,
    })?;
    let mut index = KVVec::from_elem(0, btf::count(&bytes)?, GFP_KERNEL)?;
    Btf::new(&bytes, &mut index)?.answer(questions)?;
    Ok(())
}

/// An open file; closed when dropped.
struct File(*mut bindings::file);

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: Opened by `read_btf`, and closed only here.
        unsafe { bindings::filp_close(self.0, ptr::null_mut()) };
    }
}

fn read_btf() -> Result<KVVec<u8>> {
    // SAFETY: The path is a constant string; the module's init is in process context.
    let file = from_err_ptr(unsafe {
        bindings::filp_open(BTF_FILE.as_char_ptr(), bindings::O_RDONLY as c_int, 0)
    })?;
    let file = File(file);
    // SAFETY: An open file has an inode; a stale size would only make the reading stop early.
    let size = usize::try_from(unsafe { (*(*file.0).f_inode).i_size })?;
    if size == 0 || size > BTF_MOST {
        return Err(EFBIG);
    }

    let mut bytes = KVVec::from_elem(0u8, size, GFP_KERNEL)?;
    let mut position = 0;
    let mut filled = 0usize;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        // SAFETY: The file is open for reading; the buffer is ours and that long.
        let count = unsafe {
            bindings::kernel_read(file.0, room.as_mut_ptr().cast(), room.len(), &mut position)
        };
        match usize::try_from(count) {
            Ok(0) => break,
            Ok(count) => filled = filled.wrapping_add(count),
            Err(_) => return Err(Error::from_errno(count as c_int)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
