// SPDX-License-Identifier: GPL-2.0

//! The exact texts of the buffer's files: against strings written here, and against
//! the kernel's own tracefs where it has the same file.

use super::{pair, same, test, Test};
use crate::check::{Check, Report};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    test("golden.trace_empty", 20, trace_empty),
    test("golden.trace_headers", 30, trace_headers),
    test("golden.marker_lines", 30, marker_lines),
    test("golden.stats", 20, stats),
    test("golden.buffer_size_kb", 60, buffer_size_kb),
    test("golden.trace_clock", 30, trace_clock),
    test("golden.clock_stamps", 60, clock_stamps),
    test("golden.readme", 10, readme),
];

fn trace_empty(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    let wanted = format!(
        "\
# tracer: nop
#
# entries-in-buffer/entries-written: 0/0   #P:{}
#
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
",
        sys::online_cpus()
    );
    ensure_eq!(own.get("trace")?, wanted, "trace");
    ensure_eq!(own.get("per_cpu/cpu0/trace")?, wanted, "per_cpu/cpu0/trace");
    Ok(())
}

/// The header under each option that changes it, and with events in the buffer.
fn trace_headers(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let header = |tree: &Tree| -> Check<String> {
        let text = tree.get("trace")?;
        Ok(text
            .lines()
            .filter(|l| l.starts_with('#'))
            .map(|l| format!("{l}\n"))
            .collect())
    };
    for marked in [false, true] {
        for option in [
            "irq-info",
            "context-info",
            "record-tgid",
            "annotate",
            "latency-format",
        ] {
            if !own.exists(&format!("options/{option}")) {
                continue;
            }
            for value in ["0", "1"] {
                for tree in [&own, &reference] {
                    tree.set(&format!("options/{option}"), value)?;
                }
                let (found, wanted) = (header(&own)?, header(&reference)?);
                report.expect(found == wanted, || {
                    format!("{option}={value} marked={marked}: {found:?}, tracefs {wanted:?}")
                });
            }
            let default = match option {
                "record-tgid" | "latency-format" => "0",
                _ => "1",
            };
            for tree in [&own, &reference] {
                tree.set(&format!("options/{option}"), default)?;
            }
        }
        for tree in [&own, &reference] {
            tree.set("trace_marker", "hello")?;
        }
    }
    report.finish()
}

/// A trace line with the stamp replaced, since no two markers are made at one time; and without a task
/// that wants to be scheduled, because a tick may come at one of them.
pub fn without_stamp(line: &str) -> String {
    // The stamp is what precedes the first `: ` after the CPU number.
    let Some((head, rest)) = line.split_once("] ") else {
        return line.to_string();
    };
    match rest.split_once(": ") {
        Some((middle, text)) => match middle.rsplit_once(' ') {
            Some((flags, _)) => {
                let mut flags = flags.trim().to_string();
                if flags.len() == 5 && flags.is_ascii() {
                    flags.replace_range(1..2, ".");
                }
                format!("{head}] {flags} STAMP: {text}")
            }
            None => format!("{head}] STAMP: {text}"),
        },
        None => line.to_string(),
    }
}

/// Markers of every shape, as lines of `trace`.
fn marker_lines(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let long = "x".repeat(5000);
    let page = "y".repeat(4096);
    let texts: [&[u8]; 11] = [
        b"hello",
        b"hello\n",
        b"two\nlines\n",
        b"\n",
        b" ",
        b"%d %s",
        b"tab\there",
        b"nul\0inside",
        b"\xff\xfe",
        page.as_bytes(),
        long.as_bytes(),
    ];
    for (options, shown) in [
        (&[][..], "default"),
        (&["irq-info"], "noirq-info"),
        (&["context-info"], "nocontext"),
    ] {
        for option in options {
            for tree in [&own, &reference] {
                tree.set(&format!("options/{option}"), "0")?;
            }
        }
        for text in texts {
            let look = |tree: &Tree| -> Check<(String, Vec<String>)> {
                tree.clear()?;
                let result = format!("{:?}", tree.write("trace_marker", text));
                let lines = tree.get("trace")?;
                let lines = lines
                    .lines()
                    .filter(|l| !l.starts_with('#'))
                    .map(without_stamp)
                    .collect();
                Ok((result, lines))
            };
            let (found, wanted) = (look(&own)?, look(&reference)?);
            report.expect(!wanted.1.is_empty(), || "the marker left no line".into());
            report.expect(found == wanted, || {
                let name: String = text.escape_ascii().to_string().chars().take(20).collect();
                format!("{shown} {name:?}: {found:.300?}, tracefs {wanted:.300?}")
            });
        }
    }
    report.finish()
}

/// `label: value` lines with the values that no two buffers share left out.
fn comparable_stats(tree: &Tree) -> Check<Vec<String>> {
    let text = tree.get("per_cpu/cpu0/stats")?;
    Ok(text
        .lines()
        .map(|line| match line.split_once(" ts: ") {
            // The form of the stamp counts: `seconds.micros` or a plain number.
            Some((label, stamp)) => format!(
                "{label} ts: {}",
                if stamp.contains('.') { "s.us" } else { "n" }
            ),
            None => line.to_string(),
        })
        .collect())
}

/// Writes two markers so fast that nothing has to be stored of the time between them, whatever else
/// the machine does: a record has room for an eighth of a second.
fn two_markers(tree: &Tree) -> Check {
    let mut result = Ok(());
    let fast = sys::wait_until(Duration::from_secs(10), || {
        result = tree.clear();
        let began = Instant::now();
        for _ in 0..2 {
            let marked = tree.set("trace_marker", "hello");
            result = std::mem::replace(&mut result, Ok(())).and(marked);
        }
        result.is_err() || began.elapsed() < Duration::from_millis(100)
    });
    result?;
    ensure!(fast, "{}: two markers take too long", tree.shown(""));
    Ok(())
}

fn stats(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let labels = [
        "entries",
        "overrun",
        "commit overrun",
        "bytes",
        "oldest event ts",
        "now ts",
        "dropped events",
        "read events",
    ];
    let text = own.get("per_cpu/cpu0/stats")?;
    let found: Vec<_> = text
        .lines()
        .filter_map(|l| l.split_once(": "))
        .map(|(label, _)| label)
        .collect();
    ensure_eq!(found, labels, "labels");

    let mut report = Report::default();
    let mut compare = |when: &str| -> Check {
        let (found, wanted) = (comparable_stats(&own)?, comparable_stats(&reference)?);
        report.expect(found == wanted, || {
            format!("{when}: {found:?}, tracefs {wanted:?}")
        });
        Ok(())
    };
    compare("empty")?;
    for tree in [&own, &reference] {
        two_markers(tree)?;
    }
    compare("two markers")?;
    ensure_eq!(
        own.number("per_cpu/cpu0/stats", "bytes")?,
        56,
        "bytes of two markers"
    );
    for tree in [&own, &reference] {
        let pages = crate::stream::drain_cpu(tree, 0)?;
        ensure_eq!(pages.records.len(), 2, "records of {}", tree.shown(""));
    }
    compare("after reading")?;
    for tree in [&own, &reference] {
        tree.clear()?;
    }
    compare("cleared")?;
    for tree in [&own, &reference] {
        tree.set("trace_clock", "counter")?;
    }
    compare("counter clock")?;
    report.finish()
}

fn buffer_size_kb(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let cpus = sys::online_cpus() as u64;
    let mut report = Report::default();
    let files = [
        "buffer_size_kb",
        "buffer_total_size_kb",
        "per_cpu/cpu0/buffer_size_kb",
        "per_cpu/cpu1/buffer_size_kb",
    ];
    ensure_eq!(
        own.get("buffer_size_kb")?,
        "1410\n",
        "size of a new instance"
    );
    for (written, shown) in [
        ("1", 7),
        ("8", 11),
        ("9", 11),
        ("100", 103),
        ("5000", 5000),
        ("1408", 1410),
    ] {
        for tree in [&own, &reference] {
            tree.set("buffer_size_kb", written)?;
        }
        let found = own.get("buffer_size_kb")?;
        report.expect(found == format!("{shown}\n"), || {
            format!("{written} reads {found:?}")
        });
        let found = own
            .get("buffer_total_size_kb")?
            .trim()
            .parse::<u64>()
            .unwrap_or(0);
        report.expect(found.abs_diff(shown * cpus) <= cpus, || {
            format!("{written}: total {found}")
        });
        for file in files {
            report.collect(same(&own, &reference, file));
        }
    }
    // One CPU of its own size makes the common file an X.
    for tree in [&own, &reference] {
        tree.set("per_cpu/cpu0/buffer_size_kb", "100")?;
    }
    for file in files {
        report.collect(same(&own, &reference, file));
    }
    if cpus > 1 {
        report.expect(own.get("buffer_size_kb") == Ok("X\n".into()), || {
            "not X".into()
        });
    }
    report.finish()
}

const CLOCKS: &[&str] = &[
    "local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "tai", "x86-tsc",
];

fn trace_clock(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    report.expect(
        own.get("trace_clock")
            == Ok("[local] global counter uptime perf mono mono_raw boot tai x86-tsc\n".into()),
        || format!("{:?}", own.get("trace_clock")),
    );
    for clock in CLOCKS {
        for tree in [&own, &reference] {
            tree.set("trace_marker", "old")?;
            tree.set("trace_clock", clock)?;
        }
        report.collect(same(&own, &reference, "trace_clock"));
        // Stamps of two clocks in one buffer would make no sense: setting one clears.
        let left = own
            .get("trace")?
            .lines()
            .filter(|line| line.contains("old"))
            .count();
        report.expect(left == 0, || {
            format!("{clock}: {left} lines of the old clock are left")
        });
    }
    report.finish()
}

/// A marker's stamp under each clock lies between those of two markers in tracefs.
fn clock_stamps(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for clock in CLOCKS {
        for tree in [&own, &reference] {
            tree.set("trace_clock", clock)?;
        }
        reference.set("trace_marker", "before")?;
        own.set("trace_marker", "marker")?;
        reference.set("trace_marker", "after")?;
        // The form of the printed stamp: seconds, or a plain number for what is not time.
        let form = |tree: &Tree| -> Check<bool> {
            let text = tree.get("trace")?;
            let line = text
                .lines()
                .find(|line| line.contains("tracing_mark_write: "))
                .unwrap_or_default();
            let stamp = line
                .split(": ")
                .next()
                .and_then(|head| head.rsplit(' ').next());
            Ok(stamp.is_some_and(|stamp| stamp.contains('.')))
        };
        let (found, wanted) = (form(&own)?, form(&reference)?);
        report.expect(found == wanted, || {
            format!("{clock}: decimal point {found}, tracefs {wanted}")
        });

        let stamps = |tree: &Tree| -> Check<Vec<u64>> {
            Ok(crate::stream::drain_cpu(tree, 0)?
                .records
                .iter()
                .map(|record| record.ts)
                .collect())
        };
        let (found, around) = (stamps(&own)?, stamps(&reference)?);
        ensure!(
            found.len() == 1 && around.len() == 2,
            "{clock}: {found:?} and {around:?}"
        );
        // The counter counts each tracer's own events, not time.
        report.expect(
            *clock == "counter" || (around[0] <= found[0] && found[0] <= around[1]),
            || format!("{clock}: {} is not within {around:?}", found[0]),
        );
    }
    report.finish()
}

/// README names every file of the root, since tools look into it.
fn readme(context: &Context) -> Check {
    let top = Tree::at(&context.root);
    let text = top.get("README")?;
    let mut report = Report::default();
    let wanted: &[&str] = if context.is_rtracefs() {
        &[
            "trace",
            "trace_pipe",
            "tracing_on",
            "buffer_size_kb",
            "trace_clock",
            "trace_marker",
            "set_event",
            "events",
            "instances",
            "options",
            "trace_options",
            "per_cpu",
        ]
    } else {
        &["trace", "trace_pipe", "trace_clock", "trace_marker"]
    };
    for name in wanted {
        report.expect(text.contains(name), || format!("{name} is not explained"));
    }
    report.finish()
}
