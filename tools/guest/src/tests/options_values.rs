// SPDX-License-Identifier: GPL-2.0

//! Options that change how the kernel prints a value: pointers and masks, as in tracefs.

use super::options_forms::{lines_of, record};
use super::{test, Test};
use crate::check::{Check, Report};
use crate::{sys, workload, Context};

pub const TESTS: &[Test] = &[
    test("options.pointers", 90, pointers),
    test("options.masks", 60, masks),
];

/// `hash-ptr`: the same pointers as in tracefs, hashed or not.
fn pointers(context: &Context) -> Check {
    let recorded = record(context, &["kmem/kfree"], &[], || workload::files(3))?;
    let mut report = Report::default();
    let pid = format!("-{} ", sys::thread_id());
    for option in ["hash-ptr", "nohash-ptr"] {
        recorded.set(option)?;
        let mut seen = Vec::new();
        for (tree, _) in recorded.trees() {
            let text = tree.get("trace")?;
            let pointers: Vec<String> = lines_of(&text)
                .iter()
                .filter(|line| line.contains(&pid))
                .filter_map(|line| line.split_once("kfree: ").map(|(_, text)| text.to_string()))
                .collect();
            seen.push(pointers);
        }
        let (own, theirs) = (&seen[0], &seen[1]);
        report.expect(own.len() > 20, || format!("only {} events", own.len()));
        // Ours was on while tracefs was: its events are an unbroken part of those.
        report.expect(
            crate::align::find(own, theirs, |a, b| a == b).is_ok(),
            || format!("{option}: {:?}, tracefs {:?}", own.first(), theirs.first()),
        );
        // A hash has 32 bits, and no pointer is no pointer in either form.
        let some = own
            .iter()
            .filter(|line| !line.ends_with("ptr=0000000000000000"));
        let some: Vec<_> = some.collect();
        let open = some.iter().filter(|line| line.contains("ptr=ff")).count();
        let wanted = if option == "hash-ptr" { 0 } else { some.len() };
        report.expect(open == wanted && some.len() > 10, || {
            format!(
                "{option}: {open} of {} show an address: {:?}",
                own.len(),
                own.first()
            )
        });
    }
    report.finish()
}

/// `bitmask-list`: masks as ranges, as in tracefs. A tracepoint is switched, which interrupts all other
/// CPUs when code is changed.
fn masks(context: &Context) -> Check {
    if sys::online_cpus() < 3 {
        skip!("nobody interrupts several CPUs here");
    }
    let recorded = record(context, &["ipi/ipi_send_cpumask"], &[], || {
        for value in ["1", "0", "1", "0"] {
            let file = "/sys/kernel/tracing/events/signal/enable";
            std::fs::write(file, value).expect("signal events");
        }
    })?;
    let mut report = Report::default();
    for option in ["nobitmask-list", "bitmask-list"] {
        recorded.set(option)?;
        let mut seen = Vec::new();
        for (tree, _) in recorded.trees() {
            let masks: Vec<String> = lines_of(&tree.get("trace")?)
                .iter()
                .filter_map(|line| {
                    line.split_once("cpumask=")
                        .map(|(_, rest)| rest.to_string())
                })
                .collect();
            seen.push(masks);
        }
        let found = crate::align::find(&seen[0], &seen[1], |a, b| a == b).is_ok();
        report.expect(found && seen[0].len() > 3, || {
            format!("{option}: {:?}, tracefs {:?}", seen[0], seen[1])
        });
    }
    report.finish()
}
