// SPDX-License-Identifier: GPL-2.0

//! Writers in task, softirq, hardirq and NMI context that interrupt each other
//! (stress/rtstress.c). Every payload that comes back is checked word by word, and
//! every one that does not must be among the counted losses.

use super::{exact, Test};
use crate::check::{Check, Report};
use crate::module;
use crate::stream::{CpuReader, CpuStream, Record};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;

pub const TESTS: &[Test] = &[
    exact("contexts.all_kept", 60, |c| stress(c, ALL_KEPT)).with_testapi(),
    exact("contexts.overwrite", 60, |c| stress(c, PLAN)).with_testapi(),
    exact("contexts.no_overwrite", 60, |c| {
        stress(
            c,
            Plan {
                overwrite: false,
                ..PLAN
            },
        )
    })
    .with_testapi(),
    exact("contexts.smallest_buffer", 60, |c| {
        stress(c, Plan { kb: 1, ..PLAN })
    })
    .with_testapi(),
    exact("contexts.reader", 60, |c| {
        stress(
            c,
            Plan {
                kb: 500,
                reads: true,
                ..PLAN
            },
        )
    })
    .with_testapi(),
    exact("contexts.reader_smallest", 60, |c| {
        stress(
            c,
            Plan {
                kb: 1,
                reads: true,
                ..PLAN
            },
        )
    })
    .with_testapi(),
    exact("contexts.reader_no_overwrite", 60, |c| {
        stress(
            c,
            Plan {
                kb: 8,
                reads: true,
                overwrite: false,
                ..PLAN
            },
        )
    })
    .with_testapi(),
];

struct Plan {
    kb: u32,
    ms: u32,
    overwrite: bool,
    /// How long the threads rest after each write.
    pause_us: u32,
    /// Whether a reader consumes while the writers run.
    reads: bool,
}

const PLAN: Plan = Plan {
    kb: 100,
    ms: 1500,
    overwrite: true,
    pause_us: 0,
    reads: false,
};

/// Room for everything: nothing may be lost.
const ALL_KEPT: Plan = Plan {
    kb: 60_000,
    ms: 2000,
    pause_us: 100,
    ..PLAN
};

pub const NAME: &str = "rtstress";
/// How often each context of each CPU writes at least, which is more than fits into the buffer of
/// PLAN. A tenth of that is how often, in all, one writes inside of another.
const LEAST: u64 = 300;
const MAGIC: u64 = 0x7473_7472;
pub const CONTEXTS: [&str; 4] = ["task", "softirq", "hardirq", "nmi"];
const NMI: usize = 3;

/// Bytes of a payload before its filling.
const HEAD: usize = 20;

const FLAG_HARDIRQ: u8 = 0x08;
const FLAG_SOFTIRQ: u8 = 0x10;
const FLAG_NMI: u8 = 0x40;

/// A number that rtstress left in its parameters.
pub fn parameter(name: &str) -> Check<Vec<u64>> {
    let text = std::fs::read_to_string(format!("/sys/module/{NAME}/parameters/{name}"))
        .map_err(|e| format!("{name}: {e}"))?;
    let numbers = text.trim().split(',').map(|number| number.parse::<u64>());
    numbers
        .collect::<Result<_, _>>()
        .map_err(|e| format!("{name} {text:?}: {e}"))
}

/// What one record says, once it is known to be whole.
pub struct Payload {
    pub context: usize,
    pub number: u64,
}

pub fn check_record(record: &Record) -> Check<Payload> {
    // rtrace stores the payload right after the common fields; the kernel's event has a
    // word there that tells where it is.
    let start = [8, 12]
        .into_iter()
        .find(|at| record.number(*at, 4) == MAGIC);
    let Some(start) = start else {
        fail!("no payload in {:02x?}", record.payload)
    };
    let word = |index: usize| record.number(start + 4 * index, 4) as u32;

    let (cpu, context, number) = (
        (word(1) & 0xffff) as usize,
        (word(1) >> 16) as usize,
        word(2),
    );
    let (len, sum) = (word(3) as usize, word(4));
    let who = format!(
        "cpu {cpu} {} {number}",
        CONTEXTS.get(context).unwrap_or(&"?")
    );
    ensure!(context < CONTEXTS.len(), "{who}: context {context}");
    ensure_eq!(record.cpu, cpu, "{who}: cpu");
    ensure!(len >= HEAD && len % 4 == 0, "{who}: length {len}");
    ensure!(
        (start + len..start + len + 8).contains(&record.payload.len()),
        "{who}: length {len} in a record of {} bytes",
        record.payload.len()
    );
    let mut found = 0u32;
    for index in 0..len / 4 {
        let value = if index == 4 { 0 } else { word(index) };
        found = found.wrapping_mul(31).wrapping_add(value);
        if index >= HEAD / 4 {
            let i = (index - HEAD / 4) as u32;
            let wanted = number
                .wrapping_mul(0x9e37_79b9)
                .wrapping_add(i.wrapping_mul(0x85eb_ca6b))
                .wrapping_add(context as u32);
            ensure_eq!(value, wanted, "{who}: word {index}");
        }
    }
    ensure_eq!(found, sum, "{who}: sum");

    let flags = record.flags();
    let level = if flags & FLAG_NMI != 0 {
        NMI
    } else if flags & FLAG_HARDIRQ != 0 {
        2
    } else {
        usize::from(flags & FLAG_SOFTIRQ != 0)
    };
    ensure_eq!(
        CONTEXTS[level],
        CONTEXTS[context],
        "{who}: flags {flags:02x} say"
    );
    Ok(Payload {
        context,
        number: number.into(),
    })
}

/// Loads rtstress, which writes for a while, and meanwhile reads if the plan says so.
fn run(context: &Context, tree: &Instance, plan: &Plan) -> Check<Vec<CpuStream>> {
    let instance = if context.is_rtracefs() {
        "rtg-stress"
    } else {
        ""
    };
    // One CPU of a slow kernel writes less, so that fewer nest; with a rest after each write, whose
    // shortest takes a tick there, hardly any do.
    let (ms, pause_us) = match (sys::online_cpus(), plan.pause_us) {
        (1, 0) => (plan.ms * 3 / 2, 0),
        (1, _) => (plan.ms / 6, 0),
        (_, pause_us) => (plan.ms, pause_us),
    };
    let parameters = format!("ms={ms} least={LEAST} pause_us={pause_us} instance={instance}");
    let file = context.stress.clone();
    let mut readers = (0..sys::online_cpus())
        .map(|cpu| CpuReader::open(tree, cpu))
        .collect::<Check<Vec<_>>>()?;
    let writer = std::thread::spawn(move || module::load(&file, &parameters));
    while plan.reads && !writer.is_finished() {
        for reader in &mut readers {
            reader.drain()?;
        }
    }
    writer
        .join()
        .map_err(|_| "the loading thread died".to_string())??;
    Ok(readers.into_iter().map(|reader| reader.stream).collect())
}

fn stress(context: &Context, plan: Plan) -> Check {
    let _ = module::unload(NAME);
    let own = Instance::new(&context.root, "rtg-stress")?;
    own.set("buffer_size_kb", &plan.kb.to_string())?;
    own.set("options/overwrite", if plan.overwrite { "1" } else { "0" })?;
    if !context.is_rtracefs() {
        own.set("set_event", &format!(":mod:{NAME}"))?;
    }
    let streams = run(context, &own, &plan)?;
    let result = verify(context, &own, &plan, streams);
    let unloaded = module::unload(NAME).map_err(|e| format!("unload {NAME}: {e}"));
    result.and(unloaded)
}

/// The counters of one CPU that have a part in the account.
struct Account {
    entries: u64,
    overrun: u64,
    refused: u64,
}

fn account(tree: &Tree, cpu: usize) -> Check<Account> {
    let number = |label| tree.number(&format!("per_cpu/cpu{cpu}/stats"), label);
    Ok(Account {
        entries: number("entries")?,
        overrun: number("overrun")?,
        refused: number("commit overrun")? + number("dropped events")?,
    })
}

fn verify(context: &Context, own: &Tree, plan: &Plan, mut streams: Vec<CpuStream>) -> Check {
    let written = parameter("written")?;
    let nested = parameter("nested")?.iter().sum::<u64>();
    let refused = parameter("refused")?.iter().sum::<u64>();
    let mut report = Report::default();
    let (mut all_read, mut all_lost, mut all_refused) = (0, 0, 0);

    for (cpu, stream) in streams.iter_mut().enumerate() {
        // What was read while the writers ran, then the rest.
        let before = account(own, cpu)?;
        let read_before = stream.records.len() as u64;
        let mut rest = CpuReader::open(own, cpu)?;
        rest.stream = std::mem::take(stream);
        rest.drain()?;
        *stream = rest.stream;
        let read = stream.records.len() as u64;
        let after = account(own, cpu)?;

        let mut expected = [0; CONTEXTS.len()];
        let mut gaps = 0;
        for record in &stream.records {
            let payload = check_record(record)?;
            let next = &mut expected[payload.context];
            ensure!(
                payload.number >= *next,
                "cpu {cpu} {}: number {} after {next}",
                CONTEXTS[payload.context],
                payload.number
            );
            gaps += payload.number - *next;
            *next = payload.number + 1;
        }
        let of_cpu = &written[cpu * CONTEXTS.len()..][..CONTEXTS.len()];
        let behind: u64 = of_cpu
            .iter()
            .zip(expected)
            .map(|(written, next)| written - next)
            .sum();
        let total: u64 = of_cpu.iter().sum();
        println!(
            "cpu {cpu}: wrote {of_cpu:?}, read {read}, overrun {}, refused {}",
            after.overrun, after.refused
        );

        report.expect(read - read_before == before.entries, || {
            format!(
                "cpu {cpu}: {} entries, read {}",
                before.entries,
                read - read_before
            )
        });
        report.expect(gaps + behind == after.overrun + after.refused, || {
            format!(
                "cpu {cpu}: {} missing, counted {} overrun and {} refused",
                gaps + behind,
                after.overrun,
                after.refused
            )
        });
        report.expect(read + after.overrun + after.refused == total, || {
            format!("cpu {cpu}: the account of {total} writes is wrong")
        });
        // The pages tell of the same losses, but for a full page without room to say how many.
        report.expect(
            stream.lost() == after.overrun || stream.uncounted_loss,
            || {
                format!(
                    "cpu {cpu}: pages tell of {} lost, overrun is {}",
                    stream.lost(),
                    after.overrun
                )
            },
        );
        for (name, count) in CONTEXTS.iter().zip(of_cpu) {
            report.expect(*count >= LEAST, || {
                format!("cpu {cpu}: only {count} writes of {name}")
            });
        }
        all_read += read;
        all_lost += after.overrun;
        all_refused += after.refused;
    }

    println!("{all_read} read, {all_lost} overwritten, {all_refused} refused, {nested} nested");
    report.expect_chance(nested >= LEAST / 10, || {
        format!("only {nested} writes interrupted another")
    });
    if context.is_rtracefs() {
        report.expect(refused == all_refused, || {
            format!("{refused} writers were refused, counted {all_refused}")
        });
    }
    if plan.kb == ALL_KEPT.kb {
        report.expect(all_lost + all_refused == 0, || {
            "events were lost in a large buffer".into()
        });
    } else if !plan.reads {
        report.expect(all_lost > 0 || !plan.overwrite, || {
            "nothing was overwritten".into()
        });
        report.expect(all_refused > 0 || plan.overwrite, || {
            "nothing was refused".into()
        });
    }
    if plan.overwrite && plan.kb > 100 {
        report.expect(all_refused == 0, || {
            "a write was refused in overwrite mode".into()
        });
    }
    report.finish()
}
