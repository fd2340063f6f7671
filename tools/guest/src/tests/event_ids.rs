// SPDX-License-Identifier: GPL-2.0

//! Ids of events: a module whose definitions change comes and goes more often than there are ids, and
//! nothing that an old event left behind is taken for the new one.

use super::{test, Test};
use crate::check::Check;
use crate::errno::*;
use crate::module;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};

pub const TESTS: &[Test] = &[test("ids.given_back", 600, given_back).with_testapi()];

const NAME: &str = "rtsoak";
/// The system of the copies.
const SYSTEM: &str = "events/rtcopies";
/// Events of one generation.
const COPIES: usize = 700;
/// Ids that there are: `CAPACITY` of rust/events.
const IDS: usize = 4096;

/// The module, which has other events in each generation.
struct Copies(File);

impl Copies {
    fn load(&self, generation: usize) -> Op {
        let parameters = format!("copies={COPIES} generation={generation}");
        sys::finit_module(&self.0, &parameters)
    }

    /// Makes one event.
    fn fire(&self, text: &str) -> Check {
        let file = "/sys/module/rtsoak/parameters/text";
        std::fs::write(file, text).map_err(|e| format!("{file}: {e}"))
    }
}

/// The lines of `trace` that are events.
fn lines(tree: &Tree) -> Check<Vec<String>> {
    let text = tree.get("trace")?;
    let events = text.lines().filter(|line| !line.starts_with('#'));
    Ok(events.map(str::to_string).collect())
}

fn id_of(tree: &Tree, copy: usize) -> Check<usize> {
    let text = tree.get(&format!("{SYSTEM}/copy_{copy}/id"))?;
    text.trim().parse().map_err(|e| format!("{text:?}: {e}"))
}

fn ids_of(tree: &Tree) -> Check<BTreeSet<usize>> {
    (0..COPIES).map(|copy| id_of(tree, copy)).collect()
}

/// Loads generations until one needs ids that others had; returns its number, not loaded.
fn use_up(copies: &Copies, own: &Tree) -> Check<usize> {
    for generation in 1..IDS / COPIES + 2 {
        // A reader may have copies of records: as long as it does, their ids mean the old events.
        let mut reader = own.open("trace").map_err(|e| format!("trace: {e}"))?;
        reader.read(&mut [0; 16]).map_err(|e| e.to_string())?;
        match copies.load(generation) {
            Ok(()) => {}
            Err(ENOSPC) => return Ok(generation),
            Err(e) => fail!("load generation {generation}: {e}"),
        }
        drop(reader);
        module::unload_when_free(NAME)?;
    }
    fail!("there are always more ids")
}

fn given_back(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("the module's events are those of rtrace");
    }
    let image = File::open("/root/rtsoak.ko").map_err(|e| format!("{NAME}: {e}"))?;
    let copies = Copies(image);
    let own = Instance::new(&context.root, "rtg-ids")?;
    let other = Instance::new(&context.root, "rtg-ids-other")?;
    other.set("trace_marker", "stays")?;

    copies.load(0).map_err(|e| format!("load: {e}"))?;
    let first = ids_of(&own)?;
    ensure_eq!(first.len(), COPIES, "different ids");
    own.set("options/event-counts", "1")?;
    own.set(&format!("{SYSTEM}/copy_1/enable"), "1")?;
    copies.fire("first")?;
    copies.fire("once more")?;
    own.set(&format!("{SYSTEM}/copy_2/filter"), "name == \"x\"")?;
    let held = id_of(&own, 3)?;
    let mut format = own
        .open(&format!("{SYSTEM}/copy_3/format"))
        .map_err(|e| format!("format: {e}"))?;
    let mut enable = own
        .open_write(&format!("{SYSTEM}/copy_3/enable"))
        .map_err(|e| format!("enable: {e}"))?;
    module::unload_when_free(NAME)?;

    let generation = use_up(&copies, &own)?;
    let old = lines(&own)?;
    let named = old.iter().filter(|line| line.contains(": copy_1: "));
    ensure_eq!(
        named.count(),
        2,
        "records of an event that is gone: {old:?}"
    );
    copies
        .load(generation)
        .map_err(|e| format!("load generation {generation}: {e}"))?;
    let ids = ids_of(&own)?;
    ensure_eq!(ids.len(), COPIES, "different ids");
    ensure!(
        own.exists("events/rtsoak/rtsoak_text"),
        "what the module registered before"
    );
    ensure!(
        ids.intersection(&first).next().is_some(),
        "the ids of the first generation are still those of events that are gone"
    );
    ensure!(!ids.contains(&held), "the id that an open file has");
    let mut text = String::new();
    ensure_eq!(
        format.read_to_string(&mut text).map_err(Errno::from),
        Err(ENODEV),
        "the open file"
    );
    ensure_eq!(
        enable.write(b"1").map_err(Errno::from),
        Err(ENODEV),
        "the open file"
    );
    ensure_eq!(lines(&own)?, Vec::<String>::new(), "records");
    ensure_eq!(lines(&other)?.len(), 1, "records without such events");
    ensure_eq!(own.get(&format!("{SYSTEM}/copy_2/filter"))?, "none\n", "");
    ensure_eq!(own.get(&format!("{SYSTEM}/enable"))?, "0\n", "");
    for copy in 0..COPIES {
        let hits = own.get(&format!("{SYSTEM}/copy_{copy}/hits"))?;
        ensure_eq!(hits, "0\n", "hits of copy_{copy}");
    }

    own.set(&format!("{SYSTEM}/enable"), "1")?;
    copies.fire("second")?;
    let found: BTreeSet<String> = lines(&own)?
        .iter()
        .filter_map(|line| Some(line.split_once(": copy_")?.1.to_string()))
        .collect();
    let wanted = (0..COPIES).map(|copy| format!("{copy}: second|second|second"));
    ensure_eq!(found, wanted.collect(), "records of the new events");
    own.set(&format!("{SYSTEM}/enable"), "0")?;
    drop((format, enable));
    module::unload_when_free(NAME)?;

    // Also those of the file that was closed, and all of them again.
    for generation in generation + 1..generation + 4 {
        copies
            .load(generation)
            .map_err(|e| format!("load generation {generation}: {e}"))?;
        module::unload_when_free(NAME)?;
    }
    other.remove()?;
    own.remove()
}
