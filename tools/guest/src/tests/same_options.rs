// SPDX-License-Identifier: GPL-2.0

//! Every option, switched to the opposite of its default: both tracers record the same work and
//! show the same lines, and an option that has to change them does.

use super::options::options_of;
use super::options_forms::{binary, record_by, some_processes, stable, Recorded, EVENTS};
use super::options_stacks::blocks;
use super::{like, pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::EINVAL;
use crate::soak::Share;
use crate::tree::Tree;
use crate::{sys, Context};
use std::collections::HashMap;

pub const TESTS: &[Test] = &[
    test("same.options", 180, options),
    test("same.annotations", 60, annotations),
];

/// The effect of an option on the lines of events and markers that were recorded while it was set.
#[derive(PartialEq)]
enum Does {
    /// Shows the same records otherwise.
    Shows,
    /// Changes the number of records.
    Records,
    /// Does not change these lines.
    Nothing,
    /// Has no effect, because it cannot be set.
    Refuses,
}

use Does::*;

const OPTIONS: &[(&str, Does)] = &[
    // Concerns lines of functions, and there are none.
    ("print-parent", Nothing),
    ("sym-offset", Shows),
    ("sym-addr", Shows),
    // Takes away the header; with `latency-format` it does more: `options.latency`.
    ("verbose", Shows),
    ("raw", Shows),
    ("hex", Shows),
    ("bin", Shows),
    ("block", Nothing),
    ("fields", Shows),
    ("trace_printk", Nothing),
    // Concerns losses, and there are none: `same.annotations`.
    ("annotate", Nothing),
    ("userstacktrace", Records),
    ("sym-userobj", Nothing),
    ("printk-msg-only", Shows),
    ("context-info", Shows),
    ("latency-format", Shows),
    ("record-cmd", Nothing),
    ("record-tgid", Shows),
    ("overwrite", Nothing),
    ("irq-info", Shows),
    ("markers", Records),
    ("event-fork", Nothing),
    // Concerns the markers of the top instance: `marker.copies`.
    ("copy_trace_marker", Nothing),
    ("pause-on-trace", Nothing),
    // No event here shows a pointer: `options.pointers`, `options.masks`.
    ("hash-ptr", Nothing),
    ("bitmask-list", Nothing),
    ("disable_on_free", Nothing),
    ("stacktrace", Records),
    // Concerns tracers of latencies: `wakeup.functions`.
    ("function-trace", Nothing),
    // Concerns functions: `functions.pids`.
    ("function-fork", Nothing),
    // Concerns tracers of latencies: `wakeup.calls`.
    ("display-graph", Nothing),
    ("test_nop_accept", Nothing),
    ("test_nop_refuse", Refuses),
];

/// Options of tracefs that rtracefs lacks: Documentation/differences.md.
pub const NOT_OFFERED: &[&str] = &["trace_printk_dest"];

fn options(context: &Context) -> Check {
    let (own, reference) = (Tree::at(&context.root), Tree::at(&context.reference));
    let mut report = Report::default();
    let offered = options_of(&own)?;
    for (name, _) in options_of(&reference)? {
        let known = offered.iter().any(|(own, _)| *own == name);
        let named = NOT_OFFERED.contains(&name.as_str());
        report.expect(known != named || !context.is_rtracefs(), || {
            format!("{name}: offered {known}, named as not offered {named}")
        });
    }
    let mut usual = usual_lines(context)?;
    let (mut same, mut changed, mut chosen) = (0, 0, 0);
    let share = Share::one_of(3);
    for (name, on) in &offered {
        let file = format!("options/{name}");
        if like(&file) != file || !share.has(name) {
            continue;
        }
        chosen += 1;
        let Some((_, does)) = OPTIONS.iter().find(|(option, _)| option == name) else {
            report.expect(!context.is_rtracefs(), || {
                format!("{name}: what should it do?")
            });
            continue;
        };
        let mut result = one(context, name, *on, does, &usual);
        // The kernel makes and ends threads of its own when it likes: two runs need not have the same
        // number of lines, and three pairs of runs do not differ by chance.
        for _ in 0..2 {
            if result.as_ref().is_err_and(|e| e.contains(WITHOUT_IT)) {
                usual = usual_lines(context)?;
                result = one(context, name, *on, does, &usual);
            }
        }
        match result {
            Ok(()) => {
                same += 1;
                changed += usize::from([Shows, Records].contains(does));
            }
            Err(reason) => report.add(format!("{name}: {reason}")),
        }
    }
    report.finish()?;
    println!("{same} options, {changed} of which change these lines");
    ensure_eq!(same, chosen, "options");
    // With the whole list nothing is left out.
    ensure!(same >= share.least(OPTIONS.len()), "only {same} options");
    Ok(())
}

/// How many lines there are without an option.
const WITHOUT_IT: &str = "lines as without it";

fn usual_lines(context: &Context) -> Check<Vec<String>> {
    let usual = record_by(context, "mono", EVENTS, &[], some_processes)?;
    let [usual, _] = seen(&usual, "")?;
    Ok(usual)
}

/// One option; `usual` are the lines at first.
fn one(context: &Context, name: &str, on: bool, does: &Does, usual: &[String]) -> Check {
    let word = if on {
        format!("no{name}")
    } else {
        name.to_string()
    };
    let back = if on {
        name.to_string()
    } else {
        format!("no{name}")
    };
    // An option of the whole tracer stays when its instance goes, and record-cmd is the top's.
    let [own, reference] = [Tree::at(&context.root), Tree::at(&context.reference)];
    let mut words = vec![word.as_str()];
    match name {
        "record-cmd" => {
            own.set("trace_options", &word)?;
            reference.set("trace_options", &word)?;
            words.clear();
        }
        "test_nop_refuse" => words.clear(),
        // Alone they change nothing.
        "sym-offset" | "sym-addr" => words.push("stacktrace"),
        _ => (),
    }
    let recorded = record_by(context, "mono", EVENTS, &words, some_processes);
    if name == "record-cmd" {
        own.set("trace_options", &back)?;
        reference.set("trace_options", &back)?;
    }
    let recorded = recorded?;
    if *does == Refuses {
        for tree in [&recorded.own, &recorded.reference] {
            let refused = tree.write("trace_options", word.as_bytes());
            ensure_eq!(refused, Err(EINVAL), "{}", tree.shown("trace_options"));
        }
    }
    if name == "bin" {
        recorded.set("nobin")?;
        let lines = seen(&recorded, "")?;
        ensure_eq!(lines[0], lines[1], "lines");
        return binary(&recorded);
    }
    let [found, wanted] = seen(&recorded, name)?;
    ensure!(found.len() > 10, "only {found:?}");
    if let Some((found, wanted)) = found.iter().zip(&wanted).find(|(a, b)| a != b) {
        fail!("{found:?}, tracefs {wanted:?}");
    }
    ensure_eq!(found.len(), wanted.len(), "lines");
    if name == "test_nop_accept" {
        recorded.set(&back)?;
    }
    match does {
        Shows => {
            recorded.set(&back)?;
            let [before, _] = seen(&recorded, "")?;
            ensure!(found != before, "the same lines as without it");
        }
        Records => ensure!(found.len() != usual.len(), "{} {WITHOUT_IT}", found.len()),
        Nothing | Refuses => ensure!(
            found.len() == usual.len(),
            "{}, not {} {WITHOUT_IT}",
            found.len(),
            usual.len()
        ),
    }
    Ok(())
}

/// The lines of both trees without stamps, ids, and addresses of the tracers themselves.
fn seen(recorded: &Recorded, option: &str) -> Check<[Vec<String>; 2]> {
    let mut seen = [Vec::new(), Vec::new()];
    for ((tree, ids), seen) in recorded.trees().into_iter().zip(&mut seen) {
        let text = tree.get("trace")?;
        let header = text.lines().take_while(|line| line.starts_with('#'));
        // With `raw` a marker without context begins so too.
        seen.extend(
            header
                .filter(|line| !line.contains(" ffff"))
                .map(str::to_string),
        );
        for block in blocks(&text) {
            // The stack of a marker is that of the tracer's own function.
            let lines = match block[0].contains("tracing_mark_write") {
                true => &block[..1],
                false => &block[..],
            };
            seen.extend(lines.iter().map(|line| comparable(line, ids, option)));
        }
    }
    Ok(seen)
}

fn comparable(line: &str, ids: &HashMap<String, String>, option: &str) -> String {
    match option {
        // Columns, the time since the first event, and the delay to the next.
        "latency-format" if line.len() > 25 && line.is_char_boundary(25) => {
            let text = line.split_once(": ").map_or("", |(_, text)| text);
            format!("{}{}: {text}", &line[..21], &line[22..25])
        }
        // The place of a marker is in the tracer.
        "sym-addr" | "sym-offset" if line.contains("tracing_mark_write") => {
            let (head, text) = line.split_once("tracing_mark_write").unwrap_or((line, ""));
            let text = text.split_once(": ").map_or("", |(_, text)| text);
            format!("{} {text}", stable(head, ids))
        }
        _ => stable(line, ids),
    }
}

/// `annotate`: where a further CPU begins after losses, a line says so. Between which markers, must be
/// the same.
fn annotations(context: &Context) -> Check {
    let last = sys::online_cpus() - 1;
    if last == 0 {
        skip!("there is one CPU");
    }
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for (size, option, wanted) in [
        ("7", "annotate", 1),
        ("7", "noannotate", 0),
        ("1408", "annotate", 0),
    ] {
        for tree in [&own, &reference] {
            tree.clear()?;
            tree.set("buffer_size_kb", size)?;
            tree.set("trace_options", option)?;
            for cpu in [0, last] {
                sys::pin_to(cpu);
                for number in 0..300 {
                    tree.set("trace_marker", &format!("{number} {}", "x".repeat(80)))?;
                }
            }
        }
        for file in ["trace", "per_cpu/cpu0/trace", "snapshot"] {
            let look = |tree: &Tree| -> Check<Vec<[String; 3]>> {
                let text = tree.get(file)?;
                let lines: Vec<_> = text.lines().collect();
                let cpu = |line: &str| {
                    let rest = line.split_once(" [").map_or("", |(_, rest)| rest);
                    rest.chars().take(3).collect::<String>()
                };
                let found = lines
                    .windows(3)
                    .filter(|lines| lines[1].contains("buffer started"));
                Ok(found
                    .map(|lines| [cpu(lines[0]), lines[1].to_string(), cpu(lines[2])])
                    .collect())
            };
            if super::trees::is_not_built(file) {
                continue;
            }
            let (found, theirs) = (look(&own)?, look(&reference)?);
            let wanted = if file == "trace" { wanted } else { 0 };
            report.expect(found == theirs && found.len() == wanted, || {
                format!("{file}, {size} KB, {option}: {found:?}, tracefs {theirs:?}")
            });
        }
    }
    report.finish()
}
