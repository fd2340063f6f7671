// SPDX-License-Identifier: GPL-2.0

//! The operators between a field and a value.

/// An operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Glob,
    Ne,
    Eq,
    Le,
    Lt,
    Ge,
    Gt,
    And,
}

/// The text of each operator. Longer ones come before those that they begin with.
pub(super) const OPS: [(&[u8], Op); 8] = [
    (b"~", Op::Glob),
    (b"!=", Op::Ne),
    (b"==", Op::Eq),
    (b"<=", Op::Le),
    (b"<", Op::Lt),
    (b">=", Op::Ge),
    (b">", Op::Gt),
    (b"&", Op::And),
];
