// SPDX-License-Identifier: GPL-2.0

//! The style in which an instance wants its records printed.

use crate::{
    instance::Instance,
    output::Style, //
};

/// Returns the style that the instance asks for now.
#[inline]
pub(super) fn style_of(inst: &Instance) -> Style {
    Style::new(inst.options(), inst.clock(), inst.begin()).with_calls(inst.call_lines())
}
