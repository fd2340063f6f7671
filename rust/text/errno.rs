// SPDX-License-Identifier: GPL-2.0
//! Which ways a text can be wrong.
//!
//! Made by the parsers of this folder. The edge in `fs` turns each into the kernel error of the same
//! name.

/// Why a control file refuses what was written into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errno {
    /// `EINVAL`: not of the form that the file takes, or a name that does not exist.
    Inval,
    /// `ERANGE`: a number that does not fit into 64 bits.
    Range,
}
