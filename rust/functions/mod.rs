// SPDX-License-Identifier: GPL-2.0
//! Which functions of the kernel are traced: their list, the words of `set_ftrace_filter`, and sets of
//! functions.
//!
//! - `list`: the functions that can be traced, as the kernel lists them.
//! - `words`: what a word of a filter file selects; `commands`: what it has done.
//! - `marks`: a selection from the list while it is edited.
//! - `table`: which of several tracers a function is traced for.

pub(crate) mod commands;
pub(crate) mod list;
pub(crate) mod marks;
pub(crate) mod table;
pub(crate) mod words;
