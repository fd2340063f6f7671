// SPDX-License-Identifier: GPL-2.0

//! Everything at once, and every event accounted for. `RTRACE_EVENTS` says how many are recorded in
//! each of the first two tests, `RTRACE_LEDGER_SECONDS` how long the ledger is kept, `RTRACE_WAKEUPS` the rounds of the third (as many as
//! fit into `RTRACE_WAKEUP_SECONDS`), `RTRACE_SEED` repeats a run.

use super::{exact, Test};
use crate::check::{Check, Report};
use crate::soak::account::{self, Totals};
use crate::soak::record::{CONTEXTS, RINGS};
use crate::soak::round::{Done, Plan, Stage};
use crate::soak::writers::Writers;
use crate::soak::{ledger, seed, setting, wakeups};
use crate::tree::Instance;
use crate::Context;
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    exact("soak.everything", 120, everything).with_testapi(),
    exact("soak.clears", 120, clears).with_testapi(),
    exact("soak.ledger", 120, keeps_a_ledger).with_testapi(),
    exact("soak.wakeups", 120, wakeups).with_testapi(),
];

const EVENTS: u64 = 200_000;
const WAKEUPS: u64 = 1_800;

/// This many in one round, because numbers are counted in a table of limited size.
const ROUND: u64 = 2_500_000;

/// The same where most turns of the writers are calm: an emulated interrupt takes as long as many events.
const CALM_ROUND: u64 = 40_000_000;

/// This many more if something that a round has to have did not happen yet: on which CPU's time the
/// readers run depends on the machine.
const MORE: u64 = 12;

/// What all rounds did, for the log.
#[derive(Default)]
struct Sums {
    by_context: [u64; CONTEXTS.len()],
    deepest: u64,
    nested: u64,
    nmis: u64,
    ns: u64,
    viewed: u64,
}

impl Sums {
    fn recorded(&self) -> u64 {
        self.by_context.iter().sum()
    }

    fn add(&mut self, done: &Done) {
        for (sum, count) in self.by_context.iter_mut().zip(done.written.by_context()) {
            *sum += count;
        }
        self.deepest = self.deepest.max(done.written.deepest());
        self.nested += done.written.nested();
        self.nmis += done.written.nmis();
        self.ns += done.written.ns;
        self.viewed += done.viewed;
    }

    /// What did not happen often enough in `events` events, if anything.
    fn lacks(&self, totals: &Totals, events: u64) -> Check {
        ensure_chance!(
            self.by_context.iter().all(|count| *count > events / 100),
            "too few of a context: {:?}",
            self.by_context
        );
        ensure_chance!(
            self.deepest > CONTEXTS.len() as u64,
            "{} deep",
            self.deepest
        );
        ensure_chance!(totals.read > events / 100, "only {} were read", totals.read);
        ensure_chance!(totals.overrun > 0, "nothing was overwritten");
        Ok(())
    }

    fn print(&self) {
        let seconds = self.ns as f64 / 1e9;
        let events: u64 = self.by_context.iter().sum();
        for (name, count) in CONTEXTS.iter().zip(self.by_context) {
            println!("recorded in {name}: {count}");
        }
        println!(
            "{events} events in {seconds:.1} s of writing: {:.0} events/s, {:.0} NMIs/s",
            events as f64 / seconds,
            self.nmis as f64 / seconds
        );
        println!(
            "{} began inside another, {} deep at most; {} lines viewed without being consumed",
            self.nested, self.deepest, self.viewed
        );
    }
}

/// How fast a round was.
fn rates(done: &Done) -> String {
    let seconds = done.written.ns as f64 / 1e9;
    let rate = |count: u64| count as f64 / seconds;
    format!(
        "{:.0} events/s, {:.0} NMIs/s",
        rate(done.written.recorded()),
        rate(done.written.nmis())
    )
}

/// All readers while buffers change their size, recording goes on and off, the event and overwriting
/// too, instances come and go and a CPU leaves: nothing is thrown away, so every number that a writer
/// used was read once, or is in the counters.
fn everything(context: &Context) -> Check {
    let (seed, events) = (seed(), setting("RTRACE_EVENTS", EVENTS));
    let stage = Stage::new(context)?;
    let (mut sums, mut totals) = (Sums::default(), Totals::default());
    let (mut round, mut more) = (0, 0);
    while totals.recorded < events || (sums.lacks(&totals, events).is_err() && more < MORE) {
        // Writers that rest, so that readers keep up, would take long for a whole round. Each kind
        // comes in a short run, too.
        let (pause_us, calm_turns, nice, most) = [
            (0, 0, -10, ROUND.min(events / 2)),
            (0, 0, -5, ROUND.min(events / 3)),
            (200, 0, -10, (ROUND / 20).min(events / 10)),
            (1000, 0, 0, (ROUND / 50).min(events / 20)),
            (0, 63, -15, CALM_ROUND.min(events / 4)),
        ][round as usize % 5];
        let left = events.saturating_sub(totals.recorded);
        more += u64::from(left == 0);
        let plan = Plan {
            seed: seed + round,
            events: if left == 0 { most } else { left.min(most) },
            pause_us,
            calm_turns,
            nice,
            kb: 400,
            clears: false,
        };
        let mut told = String::new();
        let done = stage.run(&plan, &mut told);
        println!("round {round}: {told}");
        let done = done.map_err(|problem| format!("round {round}: {problem}"))?;
        println!("round {round}: {}", rates(&done));
        sums.add(&done);
        let mut report = Report::default();
        for (ring, tree) in stage.trees().into_iter().enumerate() {
            for (cpu, counts) in done.counts[ring].iter().enumerate() {
                let of = account::Of {
                    tree,
                    seen: &stage.seen[ring],
                    ring,
                    cpu,
                    written: &done.written,
                    counts,
                };
                account::check(&of, &mut totals, &mut report)?;
            }
        }
        report
            .finish()
            .map_err(|problem| format!("round {round}: {problem}"))?;
        round += 1;
    }
    sums.print();
    println!("{}", totals.told());
    sums.lacks(&totals, events)?;
    stage.end()
}

/// Buffers are emptied, clocks changed, while all write and read. The buffers hold a whole round, so
/// nothing is lost but what was emptied: what came in since the last time is there without a gap, up
/// to the last number of each writer, and is as much as `read events` says.
fn clears(context: &Context) -> Check {
    const MOST_CLEARED: u64 = 2_000_000;
    let (seed, events) = (seed(), setting("RTRACE_EVENTS", EVENTS));
    let size = (events / 10).min(60_000);
    let stage = Stage::new(context)?;
    let mut sums = Sums::default();
    let (mut kept, mut read) = (0, 0);
    // One with writers that rest and one with busy ones, at least.
    let rounds = (events / 30).min(MOST_CLEARED).div_ceil(size).max(2);
    let mut round = 0;
    // Where readers keep up with writers that rest, nothing is there to be thrown away; where they are
    // late, nothing is left of what came since the last time.
    let lacks = |sums: &Sums, read: u64, kept: u64| sums.recorded() == read || kept == 0;
    while round < rounds || (lacks(&sums, read, kept) && round < rounds + 2 * MORE) {
        let busy = round % 2 == 1;
        let plan = Plan {
            seed: seed + round,
            events: size,
            pause_us: if busy { 100 } else { 2000 },
            calm_turns: 0,
            nice: if busy { -10 } else { 0 },
            kb: 8000,
            clears: true,
        };
        let mut told = String::new();
        let done = stage.run(&plan, &mut told);
        println!("round {round}: {told}");
        let done = done.map_err(|problem| format!("round {round}: {problem}"))?;
        sums.add(&done);
        for ring in 0..stage.trees().len() {
            for cpu in 0..stage.cpus {
                let of_cpu = suffix(&stage, &done, ring, cpu)
                    .map_err(|problem| format!("round {round}, {ring}, cpu {cpu}: {problem}"))?;
                kept += of_cpu;
                read += done.counts[ring][cpu].read;
            }
        }
        round += 1;
    }
    sums.print();
    let recorded = sums.recorded();
    println!(
        "{read} read, {} thrown away, {kept} since the last time",
        recorded - read
    );
    ensure_chance!(kept > 0, "nothing was checked");
    ensure_chance!(recorded > read, "nothing was thrown away");
    stage.end()
}

/// Checks what a CPU recorded since its ring was last emptied; returns how much that is.
fn suffix(stage: &Stage, done: &Done, ring: usize, cpu: usize) -> Check<u64> {
    let (counts, stats) = (
        &done.counts[ring][cpu],
        account::stats(&stage.instances[ring], cpu)?,
    );
    ensure_eq!(
        (
            stats.entries,
            stats.overrun,
            stats.dropped,
            stats.commit_overrun
        ),
        (0, 0, 0, 0),
        "entries, overrun, dropped events, commit overrun"
    );
    ensure_eq!((counts.lost, counts.uncounted), (0, 0), "losses told");
    let begin = counts.log.len().checked_sub(stats.read as usize);
    let Some(begin) = begin else {
        fail!(
            "{} read events, readers got {}",
            stats.read,
            counts.log.len()
        )
    };
    let mut last = [[None; CONTEXTS.len()]; RINGS + 1];
    for event in &counts.log[begin..] {
        let last = &mut last[event.stream][event.context];
        let wanted = last.map_or(event.number, |number: u32| number + 1);
        ensure_eq!(event.number, wanted, "{event:?}");
        *last = Some(event.number);
    }
    for (stream, last) in last.iter().enumerate() {
        for (context, last) in last.iter().enumerate() {
            if let Some(last) = last {
                let tally = done.written.tally(cpu, stream, context);
                ensure_eq!(
                    u64::from(*last) + 1,
                    tally.attempts,
                    "attempts, stream {stream}, {}",
                    CONTEXTS[context]
                );
            }
        }
    }
    Ok(stats.read)
}

/// Everything at once: nothing stays what it is, events are thrown away in every way, readers get
/// signals and are killed. Each event that was recorded is in one counter.
fn keeps_a_ledger(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs has no totals");
    }
    let seed = seed();
    let time = Duration::from_secs(setting("RTRACE_LEDGER_SECONDS", 15));
    let stage = Stage::new(context)?;
    let (mut sums, mut rounds, began) = (ledger::Sums::default(), 0, Instant::now());
    // Not all happens in a short time on each machine.
    let mut more = 0;
    while began.elapsed() < time || sums.lack().is_some() && more < MORE {
        let is_late = began.elapsed() >= time;
        more += u64::from(is_late);
        // What happens least often is that a full buffer is written to which keeps its oldest events.
        for own in &stage.instances {
            own.set("options/overwrite", if is_late { "0" } else { "1" })?;
        }
        // Busy writers overwrite most, those that rest leave something to read.
        let which = if is_late { 0 } else { rounds as usize % 3 };
        let (pause_us, nice, events) =
            [(0, -10, 60_000), (200, -10, 20_000), (1000, 0, 8_000)][which];
        let plan = Plan {
            seed: seed + rounds,
            events,
            pause_us,
            calm_turns: 0,
            nice,
            kb: 400,
            clears: false,
        };
        let mut told = String::new();
        let result = ledger::round(&stage, &plan, &mut sums, &mut told);
        println!("round {rounds}: {told}");
        result.map_err(|problem| format!("round {rounds}: {problem}"))?;
        rounds += 1;
    }
    println!("{rounds} rounds: {}", sums.told());
    if let Some(lack) = sums.lack() {
        lack!("none of these: {lack}");
    }
    stage.end()
}

/// One event, then silence. Every reader gets each of them, however it waits. There are as many as
/// asked for, or as fit into the time.
fn wakeups(context: &Context) -> Check {
    let readers = wakeups::READERS.len() as u64;
    let seconds = setting("RTRACE_WAKEUP_SECONDS", 30);
    let time = Duration::from_secs(seconds) / readers as u32;
    let (seed, rounds) = (seed(), setting("RTRACE_WAKEUPS", WAKEUPS).div_ceil(readers));
    let mut all = 0;
    for reader in wakeups::READERS {
        // Numbers begin anew.
        let own = Instance::new(&context.root, "rtg-soak-a")?;
        own.set("buffer_percent", "0")?;
        let writers = Writers::load(context, &["rtg-soak-a"])?;
        let (done, slept) = wakeups::run(&own, reader, rounds, time, seed)?;
        println!("{reader:?}: {done} events, asleep {slept} times");
        ensure_chance!(
            done > 50,
            "{reader:?}: there was time for {done} events only"
        );
        // The writer waits for the reader's sleep that often, however slow the machine is.
        ensure!(
            slept >= done / wakeups::ASLEEP,
            "{reader:?}: it slept {slept} times"
        );
        writers.unload()?;
        own.remove()?;
        all += done;
    }
    println!("{all} wake-ups");
    Ok(())
}
