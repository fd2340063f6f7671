// SPDX-License-Identifier: GPL-2.0

//! Measures "the same as ftrace" in one run, in figures: both tracers record the same work with all
//! events that both offer, and of each kind of event the records and the lines are compared.

use super::side::Pair;
use super::{side_text, test, Test};
use crate::check::Check;
use crate::tree::Tree;
use crate::workload;
use crate::Context;

pub const TESTS: &[Test] = &[test("same.events", 240, events)];

/// Kinds of events that the work makes at least, with the same bytes and the same text.
const KINDS: usize = 60;

/// Systems that are left out: tracefs has no raw events, those of `ftrace` are not switched on, and
/// each system call is one event of `raw_syscalls` here; `syscalls.` compares their own.
const NOT_HERE: &[&str] = &["raw", "ftrace", "syscalls", "osnoise"];

/// The systems of the tree under test that have events in tracefs too.
fn systems(context: &Context) -> Check<Vec<String>> {
    let (own, reference) = (Tree::at(&context.root), Tree::at(&context.reference));
    let mut systems = own.list("events")?;
    systems.retain(|name| {
        let folder = format!("events/{name}");
        reference.file(&folder).is_dir() && !NOT_HERE.contains(&name.as_str())
    });
    Ok(systems)
}

fn events(context: &Context) -> Check {
    let systems = systems(context)?;
    let systems: Vec<_> = systems.iter().map(String::as_str).collect();
    let pair = Pair::new(context, &systems)?;
    let window = pair.run(|| workload::mixed(2))?;
    let lines = side_text::compare_all(&pair)?;
    let records = pair.compare_all(&window)?;
    let shown = |event: &&String| {
        let name = event.rsplit('/').next().unwrap_or_default();
        lines.kinds.contains_key(name)
    };
    let kinds: Vec<_> = records.counts.keys().filter(shown).collect();
    println!(
        "{} records of {} kinds, {} lines of {} kinds, both of {}: {kinds:?}",
        records.counts.values().sum::<usize>(),
        records.counts.len(),
        lines.kinds.values().sum::<usize>(),
        lines.kinds.len(),
        kinds.len(),
    );
    ensure!(kinds.len() >= KINDS, "only {} kinds of events", kinds.len());
    Ok(())
}
