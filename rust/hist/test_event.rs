// SPDX-License-Identifier: GPL-2.0

//! An event of every kind of field, and what its histograms ask besides its records, for tests.

use super::{
    expr::{
        DescribedName,
        NamedFields, //
    },
    key::KeyEnv,
    plan::COMM,
    print::HistNames,
    variable::{
        EventPath,
        NamedVariable,
        Reference,
        VariableKind,
        VariableShape, //
    }, //
};
use crate::event::field_type::FieldType;
use core::fmt;

/// The event whose fields are truncations of two numbers and a name.
pub(crate) struct TestEvent;

/// Name, type, offset, size, sign.
const FIELDS: &[(&str, &str, u32, u32, bool)] = &[
    ("common_type", "unsigned short", 0, 2, false),
    ("common_flags", "unsigned char", 2, 1, false),
    ("common_preempt_count", "unsigned char", 3, 1, false),
    ("common_pid", "int", 4, 4, true),
    ("u64f", "u64", 8, 8, false),
    ("s64f", "s64", 16, 8, true),
    ("u32f", "u32", 24, 4, false),
    ("s32f", "s32", 28, 4, true),
    ("u16f", "u16", 32, 2, false),
    ("s16f", "s16", 34, 2, true),
    ("u8f", "u8", 36, 1, false),
    ("s8f", "s8", 37, 1, true),
    ("ptr", "void *", 40, 8, false),
    ("fixed", "char[16]", 48, 16, false),
    ("short", "char[12]", 48, 12, false),
    ("dyn", "__data_loc char[]", 64, 4, false),
    ("arr", "u32[4]", 68, 16, false),
    ("flag", "bool", 84, 1, false),
    ("pstr", "const char *", 88, 8, false),
    ("nothing", "int", 96, 0, true),
    ("stk", "__data_loc unsigned long[]", 96, 8, false),
    ("stacktrace", "__data_loc unsigned long[]", 96, 8, false),
];
/// Bytes of a record before its strings and stacks.
pub(crate) const SIZE: u16 = 104;
/// Where records say in which of their bytes a string is, and a stack.
pub(crate) const PLACES: [usize; 2] = [64, 96];

impl NamedFields for TestEvent {
    fn field(&self, name: &str) -> Option<DescribedName> {
        let found = FIELDS.iter().find(|field| field.0 == name)?;
        let (_, ty, offset, size, signed) = *found;
        let ty = FieldType::of(ty, size);
        Some(DescribedName {
            ty,
            offset,
            size,
            signed,
        })
    }

    /// There are variables of two other histograms, one of which both have.
    fn variable(&self, event: Option<EventPath<'_>>, name: &[u8]) -> NamedVariable {
        let known = |hist, variable, usecs: bool| {
            NamedVariable::Known(Reference {
                hist,
                variable,
                once: false,
                text: 0,
                shape: VariableShape {
                    kind: VariableKind::Number,
                    size: 8,
                    signed: !usecs,
                    usecs,
                },
                constant: None,
            })
        };
        match (event, name) {
            (None | Some((b"s", b"e")), b"t0") => known(1, 0, true),
            (None | Some((b"s", b"f")), b"v") | (Some((b"s", b"f")), b"both") => known(2, 1, false),
            (Some((b"s", b"e")), b"both") => known(1, 2, false),
            (None, b"both") => NamedVariable::Ambiguous,
            _ => NamedVariable::Unknown,
        }
    }

    fn has_variable(&self, name: &[u8]) -> bool {
        name == b"there"
    }

    fn has_event(&self, system: &[u8], _name: &[u8]) -> bool {
        system == b"s"
    }
}

/// What is around an event.
#[derive(Clone, Copy)]
pub(crate) struct TestSurroundings {
    /// The name of its task.
    pub(crate) comm: [u8; COMM],
    /// What all references give.
    pub(crate) reference: u64,
}

impl KeyEnv for TestSurroundings {
    fn cpu(&self) -> u32 {
        1
    }

    fn comm(&self) -> [u8; COMM] {
        self.comm
    }

    fn time(&self, usecs: bool) -> u64 {
        if usecs {
            5
        } else {
            5000
        }
    }

    fn callers(&self, room: &mut [u64]) -> usize {
        room[..2].copy_from_slice(&[0x1000, 0x2000]);
        2
    }

    fn reference(&self, _at: u8) -> u64 {
        self.reference
    }
}

impl HistNames for TestSurroundings {
    fn symbol(
        &self,
        address: u64,
        offset: bool,
        show: &mut dyn FnMut(&str) -> fmt::Result,
    ) -> fmt::Result {
        match (address, offset) {
            (0x1000, true) => show("inner+0x1/0x2"),
            (0x2000, true) => show("outer+0x3/0x4"),
            _ => show(&format!("{address:#x}")),
        }
    }

    fn syscall(
        &self,
        number: u64,
        show: &mut dyn FnMut(Option<&str>) -> fmt::Result,
    ) -> fmt::Result {
        show(match number {
            0 => Some("sys_read"),
            1 => Some("sys_write"),
            2 => Some("sys_open"),
            300 => Some("sys_fanotify_init"),
            _ => None,
        })
    }
}
