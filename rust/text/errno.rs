// SPDX-License-Identifier: GPL-2.0
//! The errors of the parsers in this folder. `fs` turns each into the kernel's error of the same
//! name.

/// Why a control file refuses what was written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errno {
    /// `EINVAL`: not in the form that the file takes, or a name that does not exist.
    Inval,
    /// `ERANGE`: a number that does not fit into 64 bits.
    Range,
}
