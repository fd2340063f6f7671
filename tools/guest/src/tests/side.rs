// SPDX-License-Identifier: GPL-2.0

//! Side by side: the same tracepoints feed an instance of the kernel's tracefs and
//! one of the tree under test, at the same time. Every record must be in both,
//! with the same bytes and in the same order.
//!
//! What "the same order" means: two probes of one tracepoint run one after the
//! other, so an interrupt between them is recorded before the event by one tracer
//! and after it by the other; between the probes a task may even be moved to
//! another CPU. Within one task, and within one interrupt level of one CPU, there
//! is no such freedom: those sequences must be equal.

use super::{test, Test};
use crate::align;
use crate::check::{Check, Report};
use crate::format::Format;
use crate::stream::{self, Record, NEED_RESCHED};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::workload;
use crate::Context;
use std::collections::{BTreeMap, HashMap};

pub const TESTS: &[Test] = &[
    test("side.sched", 60, |c| {
        records(c, &["sched", "task", "signal"], true)
    }),
    test("side.irq", 60, |c| {
        records(c, &["irq", "irq_vectors", "timer"], true)
    }),
    test("side.syscalls", 60, |c| records(c, &["raw_syscalls"], true)),
    test("side.memory", 60, |c| records(c, &["kmem"], true)),
    test("side.net", 60, |c| records(c, &["net", "skb"], true)),
    test("side.workqueue", 60, |c| {
        records(c, &["workqueue", "power"], true)
    }),
    test("side.rare", 60, |c| {
        let rare = [
            "nmi",
            "rcu",
            "block",
            "writeback",
            "napi",
            "oom",
            "percpu",
            "printk",
            "module",
            "msr",
        ];
        records(c, &rare, false)
    }),
    test("side.all", 120, |c| records(c, EVERYTHING, true)),
];

pub const EVERYTHING: &[&str] = &[
    "sched",
    "task",
    "signal",
    "irq",
    "irq_vectors",
    "timer",
    "raw_syscalls",
    "kmem",
    "net",
    "skb",
    "workqueue",
    "power",
    "rcu",
    "nmi",
    "napi",
    "writeback",
    "block",
    "percpu",
];

/// Fields that each probe reads anew, from jiffies, which may advance between the two.
const VOLATILE: &[(&str, &str)] = &[("timer_start", "now"), ("timer_expire_entry", "now")];

/// A task state with "zombie" and "dead" alike: the parent may reap a task that leaves the CPU for
/// good between the two probes.
fn leaving(state: &[u8]) -> Vec<u8> {
    let mut state = state.to_vec();
    if let Some(low) = state.first_mut().filter(|low| **low & 0x30 != 0) {
        *low |= 0x30;
    }
    state
}

const IRQS_OFF: u8 = 0x01;
const BH_OFF: u8 = 0x80;
const HARDIRQ: u8 = 0x08;
const SOFTIRQ: u8 = 0x10;
const NMI: u8 = 0x40;

/// What cannot happen between the two probes of a record, since the record's own
/// context shuts it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ShutOut {
    Nothing,
    /// A switch to another task, whose events carry the pid of the task that leaves.
    Switches,
    /// Also the end of an interrupt, which works on in the context that it interrupted.
    Interrupts,
}

impl ShutOut {
    fn of(record: &Record) -> Self {
        if record.flags() & IRQS_OFF != 0 {
            ShutOut::Interrupts
        } else if record.flags() & BH_OFF != 0 || record.preempt_depth() > 0 {
            ShutOut::Switches
        } else {
            ShutOut::Nothing
        }
    }
}

/// Contexts that run one after the other, whatever else happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Runs {
    Task(i32),
    Idle(usize),
    SoftIrq(usize),
    HardIrq(usize),
    Nmi(usize),
}

type Serial = (Runs, ShutOut);

impl Runs {
    fn of(record: &Record) -> Self {
        let flags = record.flags();
        if flags & NMI != 0 {
            Runs::Nmi(record.cpu)
        } else if flags & HARDIRQ != 0 {
            Runs::HardIrq(record.cpu)
        } else if flags & SOFTIRQ != 0 && !sys::softirqs_are_of_tasks() {
            Runs::SoftIrq(record.cpu)
        } else if record.pid() == 0 {
            Runs::Idle(record.cpu)
        } else {
            Runs::Task(record.pid())
        }
    }
}

/// An event that both trees offer.
struct Event {
    name: String,
    system: String,
    own: Format,
    reference: Format,
}

/// Both trees with the same events enabled and everything switched off.
pub struct Pair {
    pub own: Instance,
    pub reference: Instance,
    events: Vec<Event>,
}

/// The time when both tracers were surely on, by the clock of the records.
pub struct Window {
    on: u64,
    off: u64,
}

impl Pair {
    pub fn new(context: &Context, systems: &[&str]) -> Check<Self> {
        let own = Instance::new(&context.root, "rtg-own")?;
        let reference = Instance::new(&context.reference, "rtg-ref")?;
        for tree in [&own as &Tree, &reference] {
            tree.set("tracing_on", "0")?;
            tree.set("trace_clock", "mono")?;
            tree.set("buffer_size_kb", "16000")?;
        }
        let mut events = Vec::new();
        for system in systems {
            let theirs = reference
                .list(&format!("events/{system}"))
                .unwrap_or_default();
            for name in own.list(&format!("events/{system}")).unwrap_or_default() {
                if name == "enable" || name == "filter" || !theirs.contains(&name) {
                    continue;
                }
                let file = format!("events/{system}/{name}/format");
                events.push(Event {
                    own: Format::parse(&own.get(&file)?)?,
                    reference: Format::parse(&reference.get(&file)?)?,
                    system: system.to_string(),
                    name: name.clone(),
                });
            }
            if events.iter().any(|event| event.system == *system) {
                // What only the reference has besides is left out by its id.
                reference.set(&format!("events/{system}/enable"), "1")?;
                own.set(&format!("events/{system}/enable"), "1")?;
            }
        }
        ensure!(!events.is_empty(), "no event of {systems:?}");
        Ok(Pair {
            own,
            reference,
            events,
        })
    }

    /// Does the work with both tracers on.
    pub fn run(&self, work: impl FnOnce()) -> Check<Window> {
        self.reference.set("tracing_on", "1")?;
        self.own.set("tracing_on", "1")?;
        let on = sys::monotonic_ns();
        work();
        let off = sys::monotonic_ns();
        self.own.set("tracing_on", "0")?;
        self.reference.set("tracing_on", "0")?;
        for tree in [&self.own as &Tree, &self.reference] {
            // A probe that was running while its tracer went off has ended when its event
            // is disabled.
            tree.set("events/enable", "0")?;
            for cpu in 0..sys::online_cpus() {
                let stats = format!("per_cpu/cpu{cpu}/stats");
                for label in ["overrun", "commit overrun", "dropped events"] {
                    ensure_eq!(
                        tree.number(&stats, label)?,
                        0,
                        "{label} of {}",
                        tree.shown(&stats)
                    );
                }
            }
        }
        Ok(Window { on, off })
    }
}

/// A record and which of the pair's events it is.
#[derive(Debug)]
struct Known {
    event: usize,
    record: Record,
}

type Sequences = BTreeMap<Serial, Vec<Known>>;

/// All records of known events, by serial context, in order of time.
fn sequences(tree: &Tree, ids: &HashMap<u16, usize>) -> Check<Sequences> {
    let mut found = Sequences::new();
    for stream in stream::drain(tree)? {
        ensure!(
            stream.lost() == 0 && !stream.uncounted_loss,
            "{}: lost events",
            tree.shown("")
        );
        for record in stream.records {
            if let Some(event) = ids.get(&record.id()) {
                found
                    .entry((Runs::of(&record), ShutOut::of(&record)))
                    .or_default()
                    .push(Known {
                        event: *event,
                        record,
                    });
            }
        }
    }
    // A task's records come from several CPUs; the sort keeps the order of one CPU.
    found
        .values_mut()
        .for_each(|sequence| sequence.sort_by_key(|known| known.record.ts));
    Ok(found)
}

impl Pair {
    /// The first field that differs; None when the records are the same event.
    fn difference(&self, own: &Known, reference: &Known) -> Option<String> {
        let (a, b) = (&self.events[own.event], &self.events[reference.event]);
        if own.event != reference.event {
            return Some(format!("{} against {}", a.name, b.name));
        }
        if own.record.payload.len() != reference.record.payload.len() {
            let (found, wanted) = (own.record.payload.len(), reference.record.payload.len());
            return Some(format!("{}: {found} bytes, tracefs {wanted}", a.name));
        }
        let values = a
            .own
            .values(&own.record.payload)
            .zip(b.reference.values(&reference.record.payload));
        for ((field, found), (_, wanted)) in values {
            let same = match field.name.as_str() {
                "common_type" => true,
                "common_flags" => {
                    own.record.flags() & !NEED_RESCHED == reference.record.flags() & !NEED_RESCHED
                }
                "prev_state" => leaving(found) == leaving(wanted),
                name => found == wanted || VOLATILE.contains(&(&a.name, name)),
            };
            if !same {
                return Some(format!(
                    "{}.{}: {found:02x?}, tracefs {wanted:02x?}",
                    a.name, field.name
                ));
            }
        }
        None
    }

    /// What both have at the end, and what each has before that: together with what both have at the beginning
    /// it says what is missing.
    fn tail(&self, own: &[Known], reference: &[Known]) -> String {
        let reversed = |known: &[Known]| (0..known.len()).rev().collect::<Vec<_>>();
        let same = |a: &usize, b: &usize| self.difference(&own[*a], &reference[*b]).is_none();
        let Err((start, common)) = align::find(&reversed(own), &reversed(reference), same) else {
            return String::new();
        };
        let before = |known: &[Known], behind: usize| {
            let place = known.len().saturating_sub(behind + 3);
            let records = known[place..].iter().take(5).map(|known| {
                let name = &self.events[known.event].name;
                format!("{name} at {} on {}", known.record.ts, known.record.cpu)
            });
            records.collect::<Vec<_>>().join(", ")
        };
        format!(
            "; the last {common} are equal, before them: {}; in tracefs: {}",
            before(own, common),
            before(reference, start + common)
        )
    }

    /// One serial sequence of the tree under test against the reference's.
    fn compare(
        &self,
        window: &Window,
        own: &[Known],
        reference: &[Known],
        moved: &mut usize,
    ) -> Check<u64> {
        let inside = |known: &&Known| window.on <= known.record.ts && known.record.ts <= window.off;
        let skip = own
            .iter()
            .take_while(|known| known.record.ts < window.on)
            .count();
        let len = own[skip..]
            .iter()
            .take_while(|known| known.record.ts <= window.off)
            .count();
        let own = &own[skip..skip + len];

        let same = |a: &Known, b: &Known| self.difference(a, b).is_none();
        let starts = align::find(own, reference, same).map_err(|(start, common)| {
            let at = format!(
                "record {common} of {} ({} in tracefs)",
                own.len(),
                reference.len()
            );
            let found = &own[common];
            match reference.get(start + common) {
                Some(wanted) => {
                    format!(
                        "{at}: {}",
                        self.difference(found, wanted).unwrap_or_default()
                    )
                }
                None => format!("{at}: {} is not in tracefs", self.events[found.event].name),
            }
        });
        let starts = starts.map_err(|reason| format!("{reason}{}", self.tail(own, reference)))?;
        // The stretch is unbroken, so the other lines of tracefs lie before or after it;
        // next to it may stand what was recorded while the tracers were being switched.
        let missing = |known: &[Known]| known.iter().filter(inside).count();
        let sides = |start: usize| {
            (
                missing(&reference[..start]),
                missing(&reference[start + own.len()..]),
            )
        };
        let start = starts
            .into_iter()
            .min_by_key(|start| {
                let (before, behind) = sides(*start);
                before + behind
            })
            .unwrap_or(0);
        let (before, behind) = sides(start);
        ensure!(
            before <= 1 && behind <= 1,
            "{before} events at the start and {behind} at the end are only in tracefs"
        );
        let pairs = || own.iter().zip(&reference[start..]);
        *moved += pairs()
            .filter(|(a, b)| a.record.cpu != b.record.cpu)
            .count();
        Ok(pairs()
            .map(|(a, b)| a.record.ts.abs_diff(b.record.ts))
            .max()
            .unwrap_or(0))
    }
}

/// What was equal on both sides.
pub struct Compared {
    /// Records by event, `SYSTEM/NAME`.
    pub counts: BTreeMap<String, usize>,
    moved: usize,
    largest: u64,
}

impl Pair {
    /// Everything that was recorded in the window, which is read and gone.
    pub fn compare_all(&self, window: &Window) -> Check<Compared> {
        let ids = |id: fn(&Event) -> u16| {
            self.events
                .iter()
                .enumerate()
                .map(|(i, e)| (id(e), i))
                .collect()
        };
        let own = sequences(&self.own, &ids(|event| event.own.id))?;
        let reference = sequences(&self.reference, &ids(|event| event.reference.id))?;

        let mut report = Report::default();
        let (mut largest, mut moved) = (0, 0);
        let keys: std::collections::BTreeSet<_> = own.keys().chain(reference.keys()).collect();
        for key in keys {
            let (own, reference) = (own.get(key), reference.get(key));
            let own = own.map_or(&[][..], Vec::as_slice);
            let reference = reference.map_or(&[][..], Vec::as_slice);
            match self.compare(window, own, reference, &mut moved) {
                Ok(distance) => largest = largest.max(distance),
                Err(reason) => report.add(format!("{key:?}: {reason}")),
            }
        }
        report.finish()?;

        let mut counts = BTreeMap::new();
        for known in own.values().flatten() {
            let event = &self.events[known.event];
            let name = format!("{}/{}", event.system, event.name);
            *counts.entry(name).or_insert(0usize) += 1;
        }
        Ok(Compared {
            counts,
            moved,
            largest,
        })
    }
}

fn records(context: &Context, systems: &[&str], busy: bool) -> Check {
    let pair = Pair::new(context, systems)?;
    let window = pair.run(|| workload::mixed(8))?;
    let compared = pair.compare_all(&window)?;

    let mut report = Report::default();
    let mut counts = BTreeMap::new();
    for (event, count) in &compared.counts {
        let system = event.split('/').next().unwrap_or_default();
        *counts.entry(system).or_insert(0usize) += count;
    }
    let total: usize = counts.values().sum();
    for system in systems {
        let count = counts.get(system).copied().unwrap_or(0);
        report.expect(!busy || count > 0 || systems.len() > 3, || {
            format!("{system}: nothing recorded")
        });
    }
    report.expect(!busy || total > 50, || format!("only {total} records"));
    let moved = compared.moved;
    // Few: a task is moved that was preempted between the two, which a busy machine does more often.
    report.expect(moved <= total / 20 + 1, || {
        format!("{moved} of {total} records on another CPU")
    });
    println!(
        "{counts:?}, {moved} moved between the probes, stamps at most {} us apart",
        compared.largest / 1000
    );
    report.finish()
}
