// SPDX-License-Identifier: GPL-2.0

//! The ledger: everything is on at the same time, events are thrown away on purpose, and each event
//! that was recorded is in one line of `totals`.
//!
//! Of one CPU of one instance, when nothing is written any more and all was read or dropped:
//!
//! - recorded by the writers = `recorded events`
//! - `recorded events` = `read events` + `overrun` + `cleared events`
//! - events of the readers = `read events`; where readers are killed, at most as many
//! - refused because full = `dropped events`, refused by a commit overrun = `commit overrun`
//!
//! and of one instance, hits of the tracepoint = records of it that were filled.

use super::account::{self, Ledger};
use super::random::Random;
use super::readers::{self, Wait, WAITS};
use super::record::{CONTEXTS, RINGS};
use super::round::{Crew, Done, Plan, Stage};
use super::seen::Got;
use super::storm::Storm;
use super::writers::{Tally, COMMIT_OVERRUN, FULL, RECURSION};
use crate::check::{joined, Check, Report};
use crate::errno::{Errno, EAGAIN, EBADF};
use crate::page;
use crate::sys;
use crate::tree::{Instance, Tree};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::time::Duration;

/// The event of rtsoak, which is on in the first instance.
const EVENT: &str = "events/rtsoak/rtsoak_event";

/// The instance whose readers are killed.
const OF_VICTIMS: usize = 2;

/// The instance that has readers which consume nothing.
const SHARED: usize = 1;

/// How long a killer waits before it looks whether the round has ended.
const TURN: Duration = Duration::from_millis(20);

/// Sums for the log, and to see whether everything happened.
#[derive(Default)]
pub struct Sums {
    pub ledger: Ledger,
    pub hits: u64,
    pub taken_by_victims: u64,
    pub killed: u64,
    pub signals: u64,
    pub viewed: u64,
}

impl Sums {
    /// Returns what did not happen yet, if anything.
    pub fn lack(&self) -> Option<String> {
        let Ledger {
            read,
            overrun,
            cleared,
            dropped,
            ..
        } = self.ledger;
        let all = [
            ("read", read),
            ("overrun", overrun),
            ("cleared", cleared),
            ("dropped", dropped),
            ("hits", self.hits),
            ("taken by readers that were killed", self.taken_by_victims),
            ("readers killed", self.killed),
            ("signals", self.signals),
            ("viewed", self.viewed),
        ];
        let lacking = all.iter().filter(|(_, count)| *count == 0);
        let lacking: Vec<_> = lacking.map(|(name, _)| *name).collect();
        (!lacking.is_empty()).then(|| lacking.join(", "))
    }

    pub fn told(&self) -> String {
        format!(
            "{:?}; {} hits, {} readers killed, which took {}, {} signals, {} lines viewed",
            self.ledger, self.hits, self.killed, self.taken_by_victims, self.signals, self.viewed
        )
    }
}

/// The ledgers of all CPUs of all instances.
fn ledgers(stage: &Stage) -> Check<Vec<Vec<Ledger>>> {
    let of = |tree: &&Tree| -> Check<Vec<Ledger>> {
        let cpus = 0..stage.cpus;
        cpus.map(|cpu| account::ledger(tree, cpu)).collect()
    };
    stage.trees().iter().map(of).collect()
}

/// Runs a round, compares all numbers, and adds them to `sums`. `told` gets what the storm did.
pub fn round(stage: &Stage, plan: &Plan, sums: &mut Sums, told: &mut String) -> Check {
    prepare(stage, plan)?;
    let before = ledgers(stage)?;
    let done = run(stage, plan, sums, told)?;
    // What the snapshots hold is dropped, and counted as cleared.
    for tree in stage.trees() {
        tree.set("snapshot", "0")?;
    }
    let mut report = Report::default();
    for (ring, tree) in stage.trees().into_iter().enumerate() {
        for (cpu, before) in before[ring].iter().enumerate() {
            check(stage, &done, (tree, ring, cpu), before, sums, &mut report)?;
        }
    }
    check_hits(stage, &done, &before[0], sums, &mut report)?;
    report.finish()
}

/// Everything as at first: empty, on and counted.
fn prepare(stage: &Stage, plan: &Plan) -> Check {
    stage.prepare(plan)?;
    for tree in stage.trees() {
        tree.set("snapshot", "0")?;
    }
    stage.instances[SHARED].set("options/pipe-share", "1")?;
    // They begin at 0 when they are switched on.
    let counted = &stage.instances[0];
    counted.set("options/event-counts", "0")?;
    counted.set("options/event-counts", "1")
}

fn run(stage: &Stage, plan: &Plan, sums: &mut Sums, told: &mut String) -> Check<Done> {
    let trees = stage.trees();
    let (stop, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    let (seed, ended) = (plan.seed, &ended);
    let mut storm = Storm::new(&stage.top, &trees, stage.cpus, plan.seed);
    let done = std::thread::scope(|scope| {
        // The last round has left this thread, and those that it makes, before all others.
        sys::set_nice(0);
        let mut crew = Crew::new(scope, &stop);
        hire(stage, &mut crew, plan, &trees);
        let threads = crew.threads();
        let disturbing = [
            scope.spawn(move || victims(stage, seed, ended)),
            scope.spawn(move || signals(&threads, seed, ended)),
        ];
        let stormed = stage.storm(&mut storm, plan, &crew, Storm::throw_anything);
        ended.store(true, Ordering::Release);
        let [killed, signals] = disturbing.map(joined);
        // Readers end in any case, or the scope would not.
        let stopped = stage.writers.stop();
        let (counts, viewed) = crew.dismiss(stage.instances.len(), stage.cpus);
        stormed.and(stopped)?;
        sums.killed += killed?;
        sums.signals += signals?;
        let viewed = viewed?;
        sums.viewed += viewed;
        Ok(Done {
            written: stage.writers.written()?,
            counts: counts?,
            viewed,
        })
    });
    *told = storm.told();
    done
}

/// Consumers of every kind, of the live buffers and of the snapshots, and readers that consume nothing.
fn hire<'s>(stage: &'s Stage, crew: &mut Crew<'s, '_>, plan: &Plan, trees: &[&'s Tree]) {
    let mut random = Random::new(plan.seed ^ 0x1ed6);
    let sleepers = [Wait::Read, Wait::Poll, Wait::Epoll];
    for (ring, tree) in trees.iter().copied().enumerate() {
        let seen = &stage.seen[ring];
        if ring == 0 {
            let wait = *random.pick(&sleepers);
            crew.consumer(ring, move |stop| {
                let got = Got::consumer(seen, false).unordered();
                readers::pipe(tree, "trace_pipe", wait, got, stop)
            });
        }
        for cpu in 0..stage.cpus {
            let files = ["trace_pipe_raw", "snapshot_raw"];
            for file in &files[usize::from(ring == 0)..] {
                let wait = *random.pick(&WAITS);
                let name = format!("per_cpu/cpu{cpu}/{file}");
                crew.consumer(ring, move |stop| {
                    let got = Got::consumer(seen, false).unordered();
                    readers::raw_of(tree, &name, cpu, wait, got, stop)
                });
            }
        }
        if ring == SHARED {
            for wait in [Wait::Read, Wait::Poll] {
                crew.viewer(move |stop| {
                    let counts = readers::pipe(tree, "trace_pipe", wait, Got::viewer(seen), stop);
                    Ok(counts?.iter().map(|counts| counts.read).sum())
                });
            }
        }
    }
    let (trees, seed) = (trees.to_vec(), plan.seed);
    crew.viewer(move |stop| readers::viewer(&trees, &stage.seen, seed, stop));
}

/// Programs that read in every way, one after the other, each killed wherever it is. A busy machine
/// takes longer to start one than most of them live, so every other one lives until it has read
/// something. Returns how many were killed.
fn victims(stage: &Stage, seed: u64, ended: &AtomicBool) -> Check<u64> {
    let mut random = Random::new(seed ^ 0xdead);
    let (mut killed, mut reads) = (0, false);
    while !ended.load(Ordering::Acquire) {
        reads = !reads;
        let of_cpu = format!("per_cpu/cpu{}", random.below(stage.cpus as u64));
        let (ring, name) = match random.below(8) {
            0 => (0, "trace".to_string()),
            1 => (SHARED, "trace_pipe".to_string()),
            2 => (OF_VICTIMS, format!("{of_cpu}/snapshot_raw")),
            _ => (OF_VICTIMS, format!("{of_cpu}/trace_pipe_raw")),
        };
        let file = stage.instances[ring].file(&name);
        // The first has the kernel move sub-buffers, the others read some or all of one.
        let from = format!("if={}", file.display());
        let mut command = Command::new("dd");
        match random.below(3) {
            0 => {
                command = Command::new("cat");
                command.arg(&file)
            }
            1 => command.args([from.as_str(), "bs=300"]),
            _ => command.args([from.as_str(), "bs=64k"]),
        };
        let output = if reads { Stdio::piped() } else { Stdio::null() };
        let child = command.stdout(output).stderr(Stdio::null()).spawn();
        let mut child = child.map_err(|e| format!("{command:?}: {e}"))?;
        let patience = random.below(if reads { 10_000 } else { 100_000 });
        if let Some(pipe) = &child.stdout {
            // Until something was read, the program ended, or the round did.
            while sys::poll_in(pipe, TURN) == Ok(0) && !ended.load(Ordering::Acquire) {}
        }
        std::thread::sleep(Duration::from_micros(patience));
        let status = child.kill().and_then(|()| child.wait());
        let status = status.map_err(|e| format!("kill: {e}"))?;
        killed += u64::from(status.signal().is_some());
    }
    Ok(killed)
}

/// Signals to readers wherever they are. Returns how many.
fn signals(threads: &Mutex<Vec<u32>>, seed: u64, ended: &AtomicBool) -> Check<u64> {
    let mut random = Random::new(seed ^ 0x5169);
    let mut sent = 0;
    while !ended.load(Ordering::Acquire) {
        let all = threads.lock().map(|all| all.clone()).unwrap_or_default();
        if !all.is_empty() {
            sys::interrupt_thread(*random.pick(&all));
            sent += 1;
        }
        std::thread::sleep(Duration::from_micros(random.below(5000)));
    }
    Ok(sent)
}

/// Compares all numbers of a CPU of an instance.
fn check(
    stage: &Stage,
    done: &Done,
    (tree, ring, cpu): (&Tree, usize, usize),
    before: &Ledger,
    sums: &mut Sums,
    report: &mut Report,
) -> Check {
    let (written, counts, seen) = (&done.written, &done.counts[ring][cpu], &stage.seen[ring]);
    let own = written.of_stream(cpu, ring);
    let event = match ring {
        0 => written.of_stream(cpu, RINGS),
        _ => Tally::default(),
    };
    let now = account::ledger(tree, cpu)?;
    let ledger = now.since(before);
    let who = tree.shown(&format!("per_cpu/cpu{cpu}"));
    let mut expect = |holds: bool, what: &dyn Fn() -> String| {
        report.expect(holds, || format!("{who}: {}: {ledger:?}", what()));
    };

    expect(now.entries == 0, &|| {
        format!("{} entries are left", now.entries)
    });
    let recorded = own.recorded + event.recorded;
    expect(ledger.recorded == recorded, &|| {
        format!("the writers recorded {recorded}")
    });
    expect(
        ledger.recorded == ledger.read + ledger.overrun + ledger.cleared,
        &|| "the sum is another".to_string(),
    );
    let exact = ring != OF_VICTIMS && counts.read == ledger.read;
    let shared = ring == OF_VICTIMS && counts.read <= ledger.read;
    expect(exact || shared, &|| {
        format!("the readers got {}", counts.read)
    });
    sums.taken_by_victims += ledger.read.saturating_sub(counts.read);

    let refused = own.refused.iter().sum::<u64>();
    expect(own.attempts == own.recorded + refused, &|| {
        format!("{} attempts, {} + {refused}", own.attempts, own.recorded)
    });
    let streams = [ring, RINGS];
    let streams = &streams[..if ring == 0 { 2 } else { 1 }];
    for stream in streams {
        for (context, name) in CONTEXTS.iter().enumerate() {
            let tally = written.tally(cpu, *stream, context);
            let came = seen.count(cpu, *stream, context);
            expect(came <= tally.recorded, &|| {
                format!("stream {stream}, {name}: {came} of {}", tally.recorded)
            });
        }
    }
    // Why the tracepoint's was refused only the ring knows.
    let mut rest = event.attempts - event.recorded;
    for (name, counted, told) in [
        ("dropped events", ledger.dropped, own.refused[FULL]),
        (
            "commit overrun",
            ledger.commit_overrun,
            own.refused[COMMIT_OVERRUN],
        ),
    ] {
        expect((told..=told + rest).contains(&counted), &|| {
            format!("{name}: the writers saw {told} of it, the event {rest}")
        });
        rest -= counted.saturating_sub(told).min(rest);
    }
    let stats = tree.get(&format!("per_cpu/cpu{cpu}/stats"))?;
    expect(!stats.contains("broken"), &|| stats.clone());
    sums.ledger.add(&ledger);
    Ok(())
}

/// Compares the counts of the tracepoint, of all CPUs together.
fn check_hits(
    stage: &Stage,
    done: &Done,
    before: &[Ledger],
    sums: &mut Sums,
    report: &mut Report,
) -> Check {
    let tree = &stage.instances[0];
    let count = |name: &str| -> Check<u64> {
        let text = tree.get(&format!("{EVENT}/{name}"))?;
        text.trim().parse().map_err(|e| format!("{name}: {e}"))
    };
    let (hits, lost) = (count("hits")?, count("lost")?);
    let (mut own, mut event, mut counted) = (Tally::default(), Tally::default(), 0);
    for (cpu, before) in before.iter().enumerate() {
        own.add(&done.written.of_stream(cpu, 0));
        event.add(&done.written.of_stream(cpu, RINGS));
        let ledger = account::ledger(tree, cpu)?.since(before);
        counted += ledger.dropped + ledger.commit_overrun;
    }
    report.expect(hits == event.recorded, || {
        format!("{hits} hits, {} records were filled", event.recorded)
    });
    // Those that were nested too deep are lost as well; those that came while recording was off are not.
    let told = own.refused[FULL] + own.refused[COMMIT_OVERRUN];
    let least = counted.saturating_sub(told);
    let refused = event.attempts - event.recorded;
    report.expect((least..=refused).contains(&lost), || {
        format!(
            "{lost} lost, {least} counted, {refused} refused; the others nested too deep {} times",
            own.refused[RECURSION]
        )
    });
    sums.hits += hits;
    Ok(())
}

/// An instance that comes and goes, with markers from each CPU while it is emptied, changed and read:
/// its own ledger is exact.
pub fn short_life(root: &Path, cpus: usize, seed: u64) -> Check {
    let mut random = Random::new(seed);
    let own = Instance::new(root, "rtg-soak-other")?;
    own.set("buffer_size_kb", "8")?;
    let open = |cpu| {
        let name = format!("per_cpu/cpu{cpu}/trace_pipe_raw");
        own.open_nonblock(&name).map_err(|e| format!("{name}: {e}"))
    };
    let files = (0..cpus).map(open).collect::<Check<Vec<_>>>()?;
    let mut read = vec![0; cpus];
    let written = std::thread::scope(|scope| -> Check<Vec<u64>> {
        let tree: &Tree = &own;
        let start = |cpu| {
            let most = 1 + random.below(300);
            scope.spawn(move || mark(tree, cpu, most))
        };
        let writers: Vec<_> = (0..cpus).map(start).collect();
        let disturbed = (0..8).try_for_each(|_| {
            disturb(tree, &mut random)?;
            let mut both = files.iter().zip(&mut read);
            both.try_for_each(|(file, read)| {
                *read += consume(file)?;
                Ok(())
            })
        });
        let written = writers.into_iter().map(joined).collect();
        disturbed.and(written)
    })?;
    own.set("snapshot", "0")?;
    for (cpu, (written, read)) in written.iter().zip(&read).enumerate() {
        let ledger = account::ledger(&own, cpu)?;
        let sum = ledger.entries + ledger.read + ledger.overrun + ledger.cleared;
        let found = (ledger.recorded, ledger.read, sum);
        ensure_eq!(found, (*written, *read, *written), "cpu {cpu}: {ledger:?}");
    }
    drop(files);
    own.remove()
}

/// Writes markers on a CPU. Returns how many were recorded.
fn mark(tree: &Tree, cpu: usize, most: u64) -> Check<u64> {
    sys::pin_to(cpu);
    let mut file = tree
        .open_write("trace_marker")
        .map_err(|e| format!("trace_marker: {e}"))?;
    let mut recorded = 0;
    for _ in 0..most {
        match file.write(b"a marker").map_err(Errno::from) {
            Ok(_) => recorded += 1,
            // The buffer is being changed.
            Err(EBADF) => {}
            Err(e) => fail!("a marker: {e}"),
        }
    }
    Ok(recorded)
}

/// Does something to an instance that throws events away, or might.
fn disturb(tree: &Tree, random: &mut Random) -> Check {
    match random.below(8) {
        0 => tree.clear(),
        1 => tree.empty("per_cpu/cpu0/trace"),
        2 | 3 => tree.set("snapshot", "1"),
        4 => tree.set("snapshot", "2"),
        5 => tree.set("buffer_size_kb", random.pick::<&str>(&["1", "8", "50"])),
        6 => tree.set("buffer_subbuf_size_kb", random.pick::<&str>(&["4", "8"])),
        _ => tree.set("trace_clock", random.pick::<&str>(&["mono", "local"])),
    }
}

/// Consumes a sub-buffer. Returns how many events there were.
fn consume(mut file: &File) -> Check<u64> {
    let mut bytes = vec![0; 1 << 14];
    match file.read(&mut bytes).map_err(Errno::from) {
        Ok(n) => Ok(page::decode(&bytes[..n])?.events.len() as u64),
        Err(EAGAIN) => Ok(0),
        Err(e) => fail!("trace_pipe_raw: {e}"),
    }
}
