// SPDX-License-Identifier: GPL-2.0

//! Histograms of writers in all contexts: every event is a hit or a drop, also of those that are too deep inside each
//! other; and nothing is left of the event of a module.

use super::hist_forms::{attempted, SOAK};
use super::hists::{self, total};
use super::{exact, test, Test};
use crate::check::{Check, Report};
use crate::soak::record::{NMI, RINGS};
use crate::soak::writers::Writers;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    exact("hist.contexts", 180, contexts).with_testapi(),
    exact("hist.deep", 60, deep).with_testapi(),
    test("hist.module", 60, of_a_module).with_testapi(),
];

/// Records beside the ring inside each other on a CPU, and those in it.
const MOST_INSIDE: u64 = 8;

fn trigger() -> String {
    format!("events/{SOAK}/trigger")
}

fn hist() -> String {
    format!("events/{SOAK}/hist")
}

/// Where the events of the writers go besides the histogram.
#[derive(Clone, Copy, Debug)]
enum SoakRing {
    /// Nowhere: recording is off.
    Stopped,
    /// Nowhere: the event is off.
    Off,
    /// Old events are overwritten.
    Large,
    /// New ones are refused.
    Full,
}

impl SoakRing {
    fn choose(self, own: &Tree) -> Check {
        let is_full = matches!(self, Self::Full);
        own.set("buffer_size_kb", if is_full { "16" } else { "4096" })?;
        own.set("options/overwrite", if is_full { "0" } else { "1" })?;
        own.clear()?;
        let is_stopped = matches!(self, Self::Stopped);
        own.set("tracing_on", if is_stopped { "0" } else { "1" })?;
        let on = if matches!(self, Self::Off) { "0" } else { "1" };
        own.set(&format!("events/{SOAK}/enable"), on)
    }

    /// Returns whether the ring may have kept and refused so many. It takes no event that is too deep inside others,
    /// as of those without a histogram; one of the others may have ended just then.
    fn expects(self, kept: u64, refused: u64, events: u64, too_deep: u64) -> bool {
        let all = (events - too_deep..=events).contains(&(kept + refused));
        match self {
            Self::Stopped | Self::Off => kept == 0 && refused == 0,
            Self::Large => all && kept > refused,
            Self::Full => all && kept != 0 && refused > kept,
        }
    }
}

/// How many events the rings have kept, also of those that were overwritten since, and how many they have refused.
fn recorded(own: &Tree) -> Check<(u64, u64)> {
    let (mut kept, mut refused) = (0, 0);
    for cpu in 0..sys::online_cpus() {
        let stats = own.get(&format!("per_cpu/cpu{cpu}/stats"))?;
        let of = |name| total(&stats, name);
        kept += of("entries:") + of("overrun:");
        refused += of("commit overrun:") + of("dropped events:");
    }
    Ok((kept, refused))
}

/// Writers in task, softirq, hardirq and NMI context on all CPUs: hits and drops are the events, exactly.
fn contexts(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-soak-a")?;
    let writers = Writers::load(context, &[])?;
    let mut report = Report::default();
    // One key, few, more than there is room for, and what is not a number.
    for (command, ring) in [
        ("hist:keys=hitcount", SoakRing::Off),
        ("hist:keys=common_cpu,common_flags", SoakRing::Off),
        ("hist:keys=number:size=128", SoakRing::Off),
        (
            "hist:keys=number.log2,common_pid:vals=number,common_cpu",
            SoakRing::Off,
        ),
        (
            "hist:keys=common_comm,number.buckets=1000:size=256",
            SoakRing::Off,
        ),
        // The record is looked at in the ring, or beside it when that is full.
        ("hist:keys=common_pid", SoakRing::Stopped),
        ("hist:keys=common_pid", SoakRing::Large),
        ("hist:keys=common_pid", SoakRing::Full),
        ("hist:keys=number:vals=number:size=128", SoakRing::Large),
        ("hist:keys=number:vals=number:size=128", SoakRing::Full),
        ("hist:keys=common_pid:t=common_timestamp", SoakRing::Full),
        ("hist:keys=common_pid if number >= 0", SoakRing::Large),
        ("hist:keys=common_pid if number >= 0", SoakRing::Full),
    ] {
        ring.choose(&own)?;
        own.set(&trigger(), command)?;
        writers.start(7, 20_000, 0, 0)?;
        while writers.busy()? {
            // Readers and writers do not wait for each other.
            own.get(&hist())?;
            std::thread::sleep(Duration::from_millis(5));
        }
        writers.stop()?;
        let events = attempted(&writers)?;
        let written = writers.written()?;
        let (nmis, too_deep) = (written.attempts(RINGS, NMI), written.too_deep());
        report.expect_chance(nmis > 0, || format!("{command}: no NMIs"));
        let text = own.get(&hist())?;
        let total = |word| total(&text, word);
        let (hits, entries, drops) = (total("Hits:"), total("Entries:"), total("Dropped:"));
        let sum: u64 = hists::entries(&text).map(|(_, hits, _)| hits).sum();
        println!("{command}: {hits} hits, {drops} drops, {entries} entries, {nmis} from NMIs");
        report.expect(hits + drops == events, || {
            format!("{command}: {hits} hits and {drops} drops of {events} events")
        });
        let (kept, refused) = recorded(&own)?;
        println!("{kept} kept, {refused} refused, {too_deep} too deep");
        let of_ring = ring.expects(kept, refused, events, too_deep);
        report.expect(of_ring, || {
            format!("{command}: {kept} events kept and {refused} refused of {events}, {too_deep} too deep")
        });
        report.expect(sum == hits, || {
            format!("{command}: the entries have {sum} of {hits}")
        });
        own.set(&trigger(), &format!("!{command}"))?;
        own.set(&format!("events/{SOAK}/enable"), "0")?;
    }
    writers.unload()?;
    own.remove()?;
    report.finish()
}

/// More events inside each other than there is room for records: a drop is counted for the first one that has none
/// beside the ring and in it, and hits for all others.
fn deep(context: &Context) -> Check {
    // All in the ring of one CPU.
    sys::pin_to(0);
    let own = Instance::new(&context.root, "rtg-soak-a")?;
    let writers = Writers::load(context, &[])?;
    let mut report = Report::default();
    for command in [
        // One for each way of counting.
        "hist:keys=common_pid",
        "hist:keys=common_comm",
        "hist:keys=common_stacktrace",
        "hist:keys=number.buckets=100000000:vals=number.max",
        "hist:keys=common_pid:t=common_timestamp:onmax($t).save(number)",
        "hist:keys=common_pid:size=auto",
        "hist:keys=common_pid if number >= 0",
    ] {
        for (ring, hits) in [
            (SoakRing::Stopped, MOST_INSIDE),
            (SoakRing::Off, 2 * MOST_INSIDE),
            (SoakRing::Full, MOST_INSIDE),
            (SoakRing::Large, 2 * MOST_INSIDE),
        ] {
            ring.choose(&own)?;
            if matches!(ring, SoakRing::Full) {
                fill(&own, &writers)?;
            }
            own.set(&trigger(), command)?;
            let before = attempted(&writers)?;
            writers.set("dive", 1)?;
            writers.set("dive", 2 * MOST_INSIDE + 4)?;
            let events = attempted(&writers)? - before;
            let text = own.get(&hist())?;
            let counted = (total(&text, "Hits:"), total(&text, "Dropped:"));
            report.expect(counted == (1 + hits, 1) && events == 2 + hits, || {
                format!("{command}: {ring:?}: {counted:?} of {events} events")
            });
            own.set(&trigger(), &format!("!{command}"))?;
            own.set(&format!("events/{SOAK}/enable"), "0")?;
        }
    }
    writers.unload()?;
    own.remove()?;
    report.finish()
}

/// Fills the ring of this CPU with markers, so that it refuses the next event: most of it with a few long ones, what is
/// left with the shortest, which is shorter than an event.
fn fill(own: &Tree, writers: &Writers) -> Check {
    for len in [2000, 200, 40, 4] {
        let marker = vec![0; len];
        let mut markers = (0..1000).map(|_| own.write("trace_marker_raw", &marker));
        ensure!(
            markers.any(|taken| taken.is_err()),
            "the ring does not become full"
        );
    }
    let refused = recorded(own)?.1;
    writers.set("dive", 1)?;
    let left = recorded(own)?.1;
    ensure!(left == refused + 1, "the full ring takes an event");
    Ok(())
}

/// The histograms of a module's event go with the module, while they count.
fn of_a_module(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    for round in 0..2 {
        let writers = Writers::load(context, &[])?;
        for command in [
            "hist:keys=number",
            "hist:keys=common_stacktrace:vals=number",
        ] {
            own.set(&trigger(), command)?;
        }
        let open = std::fs::File::open(own.file(&hist())).map_err(|e| format!("{e}"))?;
        writers.start(7, 5_000, 0, 0)?;
        for _ in 0..5 {
            own.set(&trigger(), "hist:keys=number:clear")?;
            own.get(&hist())?;
        }
        writers.stop()?;
        let text = own.get(&hist())?;
        ensure!(
            text.contains("{ common_stacktrace:\n"),
            "round {round}: {text}"
        );
        writers.unload()?;
        ensure!(!own.exists(&hist()), "the file is still there");
        let read = std::io::Read::read(&mut (&open), &mut [0; 64]);
        ensure!(
            read.is_err(),
            "a histogram of an event that is gone: {read:?}"
        );
        let left = own.get("show_event_triggers")?;
        ensure!(left.is_empty(), "still listed: {left}");
    }
    own.remove()
}
