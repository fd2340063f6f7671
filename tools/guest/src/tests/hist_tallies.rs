// SPDX-License-Identifier: GPL-2.0

//! Values of histograms that are no sums: the least and the greatest number, the average, quantiles; and the largest
//! entries alone.

use super::dynamic::Tops;
use super::hist_forms::{attempts, file, instance, SOAK};
use super::hist_links::EXIT;
use super::hists::{lseek, total, ENTER};
use super::json::objects;
use super::{exact, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::soak::record::CONTEXTS;
use crate::soak::writers::Writers;
use crate::sys;
use crate::using;
use crate::Context;

pub const TESTS: &[Test] = &[
    test("hist.tallies", 60, tallies),
    test("hist.tallies_linked", 60, linked),
    test("hist.quantiles", 60, example),
    test("hist.stack_examples", 60, stack_examples),
    exact("hist.tallied", 120, tallied).with_testapi(),
];

/// The greatest numbers in the contexts of the writers differ much less than this.
const ROUND: u64 = 4_000;

fn feed() {
    lseek(&[(1, 5), (2, 7), (300, 100), (300, 50), (9, 9), (2, 7)]);
}

/// Returns the entries.
fn entries(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines.map(str::to_string).collect()
}

/// Texts, what is refused, and that a line is its own command.
fn tallies(context: &Context) -> Check {
    const ROWS: &[(&str, &[&str])] = &[
        (
            "keys=fd:vals=offset.min,offset.max,whence.avg,offset",
            &["{ fd: 4294967295 } hitcount:          6  offset.min:          1  offset.max:        300  whence.avg:         29.66  offset:        614"],
        ),
        (
            "keys=offset:vals=whence.max,hitcount:sort=whence.max.top=2",
            &[
                "{ offset:        300 } hitcount:          2  whence.max:        100",
                "{ offset:          9 } hitcount:          1  whence.max:          9",
            ],
        ),
        (
            "keys=fd:vals=offset.quantiles:nohitcount",
            &["{ fd: 4294967295 }  offset.p50: 2  offset.p90: ~ 288-319  offset.p99: ~ 288-319  offset.p99.9: ~ 288-319"],
        ),
    ];
    let own = instance(context)?;
    let mut report = Report::default();
    let (trigger, hist) = (file(ENTER, "trigger"), file(ENTER, "hist"));
    let only = format!(" if common_pid == {}", sys::thread_id());
    for (command, wanted) in ROWS {
        let whole = format!("hist:{command}{only}");
        own.set(&trigger, &whole)?;
        feed();
        let text = own.get(&hist)?;
        report.expect(entries(&text) == *wanted, || format!("{command}:\n{text}"));
        // What was taken has them as well, and counting begins again.
        let taken = own.get(&file(ENTER, "hist_take"))?;
        report.expect(entries(&taken) == *wanted, || {
            format!("{command}:\n{taken}")
        });
        feed();
        let again = own.get(&hist)?;
        report.expect(entries(&again) == *wanted, || {
            format!("{command}:\n{again}")
        });
        report.expect(own.write(&trigger, whole.as_bytes()) == Err(EEXIST), || {
            format!("{command} twice")
        });
        let line = own.get(&trigger)?;
        let line = line.trim_end().trim_end_matches(" [active]");
        own.set(&trigger, &format!("!{line}"))?;
        report.expect(!own.get(&trigger)?.contains("hist:keys"), || {
            format!("!{line} removes nothing")
        });
    }
    for (wrong, error) in [
        (
            "keys=fd.max",
            "hist:syscalls:sys_enter_lseek: error: Invalid field modifier",
        ),
        (
            "keys=fd:vals=hitcount.avg",
            "hist:syscalls:sys_enter_lseek: error: Invalid field modifier",
        ),
        (
            "keys=fd:sort=fd.top=0",
            "hist:syscalls:sys_enter_lseek: error: Invalid sort modifier",
        ),
    ] {
        own.empty("error_log")?;
        let refused = own.write(&trigger, format!("hist:{wrong}").as_bytes());
        let log = own.get("error_log")?;
        report.expect(refused == Err(EINVAL) && log.contains(error), || {
            format!("{wrong}: {refused:?}\n{log}")
        });
    }
    own.empty("error_log")?;
    own.remove()?;
    report.finish()
}

/// Beside variables and actions, and of a variable of another event.
fn linked(context: &Context) -> Check {
    let own = instance(context)?;
    let mut report = Report::default();
    let only = format!(" if common_pid == {}", sys::thread_id());
    let enter =
        format!("hist:keys=common_pid:o=offset:vals=whence.max:onmax($o).save(whence){only}");
    let exit = format!("hist:keys=common_pid:vals=$o.max,$o.quantiles,$o.min{only}");
    own.set(&file(ENTER, "trigger"), &enter)?;
    own.set(&file(EXIT, "trigger"), &exit)?;
    feed();
    let text = own.get(&file(ENTER, "hist"))?;
    report.expect(
        text.contains("hitcount:          6  whence.max:        100\n")
            && text.contains("max:        300  whence:        100"),
        || text.clone(),
    );
    let text = own.get(&file(EXIT, "hist"))?;
    report.expect(
        text.contains(
            "hitcount:          6  o.max:        300  o.p50: 2  o.p90: ~ 288-319  o.p99: ~ 288-319  \
             o.p99.9: ~ 288-319  o.min:          1\n",
        ),
        || text.clone(),
    );
    own.set(&file(EXIT, "trigger"), &format!("!{exit}"))?;
    own.set(&file(ENTER, "trigger"), &format!("!{enter}"))?;
    own.remove()?;
    report.finish()
}

/// The examples of Documentation/using.md.
fn example(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let text = using::run("hist.wakeups", own)?;
    ensure!(
        text.contains("us: ~ 2^") && total(&text, "Hits:") != 0,
        "{text}"
    );
    let text = using::run("hist.quantiles", own)?;
    println!("{text}");
    let (_, text) = text
        .rsplit_once("# event histogram")
        .ok_or("no histogram")?;
    let found = entries(text);
    ensure!(!found.is_empty() && found.len() <= 5, "{text}");
    for line in found {
        for word in ["us.p50: ", "us.p99: ", "us.max: "] {
            ensure!(line.contains(word), "{line}");
        }
    }
    for event in [
        "synthetic/wakeup_lat",
        "sched/sched_switch",
        "sched/sched_waking",
    ] {
        own.empty(&file(event, "trigger"))?;
    }
    own.set("synthetic_events", "!wakeup_lat")
}

/// The examples with stacks as keys.
fn stack_examples(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let stacks = using::run("hist.stacks", own)?;
    own.empty(&file("kmem/kmalloc", "trigger"))?;
    let asleep = using::run("hist.asleep", own)?;
    own.empty(&file("synthetic/asleep", "trigger"))?;
    own.set(&file("sched/sched_switch", "trigger"), "!hist:keys=next_pid:took=common_timestamp.usecs-$since,s=$st:onmatch(sched.sched_switch).trace(asleep,$took,$s)")?;
    own.empty(&file("sched/sched_switch", "trigger"))?;
    own.set("synthetic_events", "!asleep")?;
    println!("{stacks}\n{asleep}");
    for (text, key, value, most) in [
        (&stacks, "{ common_stacktrace:", "bytes_alloc: ", 3),
        (&asleep, "{ stack.stacktrace ", "us: ", 2),
    ] {
        let found = text.lines().filter(|line| line.starts_with(key)).count();
        ensure!((1..=most).contains(&found), "{text}");
        let ends = text
            .lines()
            .filter(|line| line.starts_with('}'))
            .collect::<Vec<_>>();
        ensure!(ends.len() == found, "{text}");
        for line in ends {
            ensure!(line.contains(value), "{line}");
        }
    }
    // A task that sleeps is in the scheduler.
    ensure!(asleep.contains("schedule"), "{asleep}");
    Ok(())
}

/// Writers in task, softirq, hardirq and NMI context, each of which interrupts the others with numbers of the same
/// entry: the least, the greatest and the average number and the quantiles are those of what they wrote, exactly.
fn tallied(context: &Context) -> Check {
    let own = instance(context)?;
    let writers = Writers::load(context, &[])?;
    let mut report = Report::default();
    let command =
        "hist:keys=common_cpu:vals=number.min,number.max,number.avg,number.quantiles,number";
    own.set(&file(SOAK, "trigger"), command)?;
    writers.start(7, ROUND, 0, 0)?;
    while writers.busy()? {
        // A reader beside them.
        own.get(&file(SOAK, "hist_json"))?;
    }
    writers.stop()?;
    let json = objects(&own.get(&file(SOAK, "hist_json"))?)?;
    let text = own.get(&file(SOAK, "hist"))?;
    println!("{text}");
    report.expect(total(&text, "Dropped:") == 0, || text.clone());
    let mut seen = 0;
    for entry in &json {
        let (Some(keys), Some(values)) = (entry.get("keys"), entry.get("values")) else {
            continue;
        };
        let cpu = keys.number("common_cpu").ok_or("no CPU")? as usize;
        let of = attempts(&writers, cpu)?;
        ensure_eq!(of.len(), CONTEXTS.len(), "contexts");
        // Each context counts from 0.
        let hits: u64 = of.iter().sum();
        let sum: u64 = of.iter().map(|n| n * n.saturating_sub(1) / 2).sum();
        let greatest = of.iter().max().map_or(0, |n| n.saturating_sub(1));
        let number = |name: &str| values.number(name);
        report.expect(entry.number("hitcount") == Some(hits.into()), || {
            format!("CPU {cpu}: {hits} hits of {of:?}, {entry:?}")
        });
        report.expect(
            number("number.min") == Some(0)
                && number("number.max") == Some(greatest.into())
                && number("number") == Some(sum.into()),
            || format!("CPU {cpu}: {greatest}, {sum} of {of:?}, {entry:?}"),
        );
        let average = format!("{}.{:02}", sum / hits, sum % hits * 100 / hits);
        report.expect(values.decimal("number.avg") == Some(&average), || {
            format!("CPU {cpu}: {average}, {entry:?}")
        });
        let quantiles = values.get("number.quantiles").ok_or("no quantiles")?;
        for (name, part) in [("p50", 500), ("p90", 900), ("p99", 990), ("p99.9", 999)] {
            let bucket = quantiles.get(name).ok_or(name)?;
            let rank = (hits * part).div_ceil(1000);
            // The smallest number of which so many are not above it.
            let upto = |number: u64| of.iter().map(|n| (*n).min(number + 1)).sum::<u64>();
            let wanted = (0..=greatest).find(|number| upto(*number) >= rank);
            let wanted = i128::from(wanted.ok_or("no number")?);
            let (from, to) = (bucket.number("from"), bucket.number("to"));
            report.expect(from <= Some(wanted) && Some(wanted) <= to, || {
                format!("CPU {cpu}: {name} is {wanted}, {bucket:?}")
            });
        }
        seen += 1;
    }
    report.expect(seen == sys::online_cpus(), || format!("{seen} entries"));
    own.set(&file(SOAK, "trigger"), &format!("!{command}"))?;
    writers.unload()?;
    own.remove()?;
    report.finish()
}
