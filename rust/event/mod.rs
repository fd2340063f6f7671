// SPDX-License-Identifier: GPL-2.0

//! What an event is: its fields, its `format` text, the context it was recorded in.
//!
//! Pure code over `core`; knows no file, no CPU and no kernel type.

pub(crate) mod btf;
pub(crate) mod context;
pub(crate) mod evals;
pub(crate) mod field;
pub(crate) mod field_type;
pub(crate) mod format;
pub(crate) mod json;
pub(crate) mod number_bits;
pub(crate) mod raw;
pub(crate) mod values;
