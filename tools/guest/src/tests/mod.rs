// SPDX-License-Identifier: GPL-2.0

//! The list of all tests. A test is a function and the time it may take on a
//! slow (emulated) machine.

mod contexts;
mod ends;
mod faults;
mod fs_mount;
mod fs_tree;
mod golden;
mod golden_events;
mod hostile;
mod input;
mod life;
mod load;
mod pipe;
mod raw;
mod security;
mod side;
mod side_text;
mod size;
mod size_load;
mod size_memory;
mod soak;
mod wakes;

use crate::check::Check;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::time::Duration;

#[derive(Clone, Copy)]
pub struct Test {
    pub name: &'static str,
    pub limit: Duration,
    pub run: fn(&Context) -> Check,
}

/// One row of a group's table.
const fn test(name: &'static str, seconds: u64, run: fn(&Context) -> Check) -> Test {
    Test {
        name,
        limit: Duration::from_secs(seconds),
        run,
    }
}

const GROUPS: &[&[Test]] = &[
    fs_tree::TESTS,
    fs_mount::TESTS,
    golden::TESTS,
    golden_events::TESTS,
    input::TESTS,
    side::TESTS,
    side_text::TESTS,
    pipe::TESTS,
    raw::TESTS,
    contexts::TESTS,
    faults::TESTS,
    life::TESTS,
    soak::TESTS,
    load::TESTS,
    hostile::TESTS,
    wakes::TESTS,
    ends::TESTS,
    size::TESTS,
    size_memory::TESTS,
    size_load::TESTS,
    security::TESTS,
    // What cannot be undone.
    security::LAST,
];

/// All tests in the order in which they run.
pub fn all() -> impl Iterator<Item = Test> {
    GROUPS.iter().copied().flatten().copied()
}

/// An instance of the tree under test, and one of the reference.
fn pair(context: &Context) -> Check<(Instance, Instance)> {
    let own = Instance::new(&context.root, "rtg-own")?;
    let reference = Instance::new(&context.reference, "rtg-ref")?;
    Ok((own, reference))
}

/// One file has the same text on both trees.
fn same(own: &Tree, reference: &Tree, file: &str) -> Check {
    let (found, wanted) = (own.get(file)?, reference.get(file)?);
    ensure_eq!(found, wanted, "{file}");
    Ok(())
}
