// SPDX-License-Identifier: GPL-2.0

//! The options: that both trees have them with the same names, order, defaults and
//! refusals, and that `trace_options` and `options/` say the same.

use super::{like, pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::EINVAL;
use crate::tree::Tree;
use crate::Context;

pub const TESTS: &[Test] = &[
    test("options.list", 30, list),
    test("options.agree", 60, agree),
    test("options.input", 60, input),
    test("options.of_the_tracer", 30, of_the_tracer),
    test("options.inherited", 30, inherited),
    test("options.formats", 30, formats),
];

/// Every option that has to be there, in its order; `-` precedes those of the top instance only.
const OFFERED: &[&str] = &[
    "print-parent",
    "sym-offset",
    "sym-addr",
    "verbose",
    "raw",
    "hex",
    "bin",
    "block",
    "fields",
    "-trace_printk",
    "annotate",
    "userstacktrace",
    "sym-userobj",
    "-printk-msg-only",
    "context-info",
    "latency-format",
    "-record-cmd",
    "overwrite",
    "irq-info",
    "markers",
    "pause-on-trace",
    "hash-ptr",
    "bitmask-list",
    "function-trace",
    "function-fork",
    "display-graph",
    "stacktrace",
    "test_nop_accept",
    "test_nop_refuse",
];

/// The options of `trace_options`, with whether they are on. The tree under test has a name that
/// begins with `no` for none.
pub fn options_of(tree: &Tree) -> Check<Vec<(String, bool)>> {
    let text = tree.get("trace_options")?;
    let option = |line: &str| match line.strip_prefix("no") {
        Some(name) => (name.to_string(), false),
        None => (line.to_string(), true),
    };
    Ok(text.lines().map(option).collect())
}

/// Options of tracers that are not chosen: they have files, and `trace_options` does not list them.
/// Those of function_graph begin with its name: `graph.formats`.
const OF_OTHER_TRACERS: &[&str] = &[
    "func_stack_trace",
    "func-no-repeats",
    "func-args",
    "func-once",
    "sleep-time",
];

fn is_listed(name: &str) -> bool {
    !OF_OTHER_TRACERS.contains(&name) && !name.starts_with("funcgraph-")
}

/// Returns whether only the tree under test has such an option.
fn is_ours(name: &str) -> bool {
    let file = format!("options/{name}");
    like(&file) != file
}

fn list(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for (own, reference, top) in [
        (&own.top(), &reference.top(), true),
        (&own as &Tree, &reference as &Tree, false),
    ] {
        let (mut found, theirs) = (options_of(own)?, options_of(reference)?);
        found.retain(|(name, _)| !is_ours(name));
        let common = |list: &[(String, bool)], other: &[(String, bool)]| -> Vec<(String, bool)> {
            let known = |name: &str| other.iter().any(|(n, _)| n == name);
            list.iter().filter(|(n, _)| known(n)).cloned().collect()
        };
        let (a, b) = (common(&found, &theirs), common(&theirs, &found));
        report.expect(a == found, || {
            format!("{}: more than tracefs", own.shown(""))
        });
        report.expect(a == b, || {
            format!("{}: {a:?}, tracefs {b:?}", own.shown("trace_options"))
        });
        let mut order = found.iter();
        for name in OFFERED {
            let name = name.trim_start_matches('-');
            report.expect(order.any(|(n, _)| n == name), || {
                format!(
                    "{}: {name} is not there, or not in its place",
                    own.shown("")
                )
            });
        }
        // There is a file for each, but for those of the top.
        let mut files = own.list("options")?;
        files.retain(|name| !is_ours(name) && is_listed(name));
        for (name, _) in &found {
            let wanted = top || !OFFERED.contains(&format!("-{name}").as_str());
            report.expect(files.contains(name) == wanted, || {
                format!(
                    "{}: there should {}be one",
                    own.shown(&format!("options/{name}")),
                    if wanted { "" } else { "not " }
                )
            });
            report.expect(
                reference.exists(&format!("options/{name}")) == wanted,
                || {
                    format!(
                        "{}: a surprise",
                        reference.shown(&format!("options/{name}"))
                    )
                },
            );
        }
        report.expect(
            files.len() == found.iter().filter(|(n, _)| files.contains(n)).count(),
            || format!("{}: {files:?}", own.shown("options")),
        );
    }
    report.finish()
}

/// What is written to one file is seen in the other; no other option changes.
fn agree(context: &Context) -> Check {
    let (own, _) = pair(context)?;
    let mut report = Report::default();
    for name in own.list("options")? {
        if name.starts_with("test_nop_") || !is_listed(&name) {
            continue;
        }
        let before = options_of(&own)?;
        let was = before.iter().any(|(n, on)| *n == name && *on);
        let file = format!("options/{name}");
        for (on, by_file) in [(!was, true), (was, false), (!was, false), (was, true)] {
            match by_file {
                true => own.set(&file, if on { "1" } else { "0" })?,
                false => own.set(
                    "trace_options",
                    &format!("{}{name}\n", if on { "" } else { "no" }),
                )?,
            }
            let wanted: Vec<_> = before
                .iter()
                .map(|(n, o)| (n.clone(), if *n == name { on } else { *o }))
                .collect();
            report.expect(options_of(&own)? == wanted, || {
                format!("{name}={on} by file {by_file}: {:?}", options_of(&own))
            });
            let shown = own.get(&file)?;
            report.expect(shown == if on { "1\n" } else { "0\n" }, || {
                format!("{file}: {shown:?} when it is {on}")
            });
        }
    }
    report.finish()
}

/// Wrong writes: the same errno as in tracefs, and nothing changes.
fn input(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let wrong: [&[u8]; 10] = [
        b"2",
        b"-1",
        b"on",
        b"",
        b"\n",
        b" 1",
        b"1 ",
        b"01",
        b"18446744073709551616",
        b"0x1",
    ];
    let theirs = |name: &String| !is_ours(name);
    for name in own.list("options")?.into_iter().filter(theirs) {
        let file = format!("options/{name}");
        // One that the configuration of the kernel leaves out.
        if !reference.exists(&file) {
            continue;
        }
        for bytes in wrong {
            let look = |tree: &Tree| -> Check<(String, String, String)> {
                let result = format!("{:?}", tree.write(&file, bytes));
                let state = (tree.get(&file)?, tree.get("trace_options")?);
                let _ = tree.write(&file, b"0");
                Ok((result, state.0, state.1))
            };
            let before = own.get("trace_options")?;
            let (found, wanted) = (look(&own)?, look(&reference)?);
            report.expect((&found.0, &found.1) == (&wanted.0, &wanted.1), || {
                format!(
                    "{file} {:?}: {found:?}, tracefs {wanted:?}",
                    bytes.escape_ascii()
                )
            });
            report.expect(found.0.starts_with("Ok") || found.2 == before, || {
                format!("{file} {:?} changed something", bytes.escape_ascii())
            });
        }
    }
    // Names by trace_options, in an instance: also those that have their files in the top.
    for (name, _) in options_of(&own)?
        .into_iter()
        .filter(|(name, _)| theirs(name))
    {
        for word in [
            format!("{name} "),
            format!("no{name}"),
            format!("no no{name}"),
            format!("x{name}"),
            format!("{name}x"),
            format!("nono{name}"),
            name.to_uppercase(),
            name.clone(),
            format!("no{name}"),
        ] {
            if name == "record-cmd" || name == "record-tgid" {
                continue;
            }
            let look = |tree: &Tree| -> Check<(String, bool)> {
                let result = format!("{:?}", tree.write("trace_options", word.as_bytes()));
                let on = options_of(tree)?.iter().any(|(n, on)| *n == name && *on);
                Ok((result, on))
            };
            let (found, wanted) = (look(&own)?, look(&reference)?);
            report.expect(found == wanted, || {
                format!("trace_options {word:?}: {found:?}, tracefs {wanted:?}")
            });
        }
    }
    report.finish()
}

/// The two options with which the tracer `nop` tries how options are refused.
fn of_the_tracer(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    for tree in [&own, &reference] {
        tree.set("options/test_nop_accept", "1")?;
        ensure_eq!(tree.get("options/test_nop_accept")?, "1\n", "accept");
        tree.set("trace_options", "notest_nop_accept")?;
        ensure_eq!(tree.get("options/test_nop_accept")?, "0\n", "accept");
        for (file, word) in [
            ("options/test_nop_refuse", "1"),
            ("trace_options", "test_nop_refuse"),
        ] {
            let result = tree.write(file, word.as_bytes());
            ensure_eq!(result, Err(EINVAL), "{} {word}", tree.shown(file));
        }
        ensure_eq!(tree.get("options/test_nop_refuse")?, "0\n", "refuse");
        tree.set("options/test_nop_refuse", "0")?;
        let result = tree.write("trace_options", b"notest_nop_refuse");
        ensure_eq!(result, Err(EINVAL), "switched off by name");
        // All instances share it.
        tree.set("options/test_nop_accept", "1")?;
        let top = tree.top().get("options/test_nop_accept")?;
        tree.set("options/test_nop_accept", "0")?;
        ensure_eq!(top, "1\n", "accept of {}", tree.top().shown(""));
    }
    Ok(())
}

/// An instance begins with the options of the top.
fn inherited(context: &Context) -> Check {
    let top = Tree::at(&context.root);
    let theirs = Tree::at(&context.reference);
    let changed = [
        ("raw", "1"),
        ("hash-ptr", "0"),
        ("stacktrace", "1"),
        ("latency-format", "1"),
        ("test_nop_accept", "1"),
    ];
    let set = |undo: bool| -> Check {
        for tree in [&top, &theirs] {
            for (name, value) in changed {
                let other = if value == "1" { "0" } else { "1" };
                tree.set(&format!("options/{name}"), if undo { other } else { value })?;
            }
        }
        Ok(())
    };
    set(false)?;
    let made = pair(context);
    let look = || -> Check<Vec<(String, String, String)>> {
        let (own, reference) = made?;
        let mut rows = Vec::new();
        for (name, _) in changed {
            let file = format!("options/{name}");
            rows.push((name.to_string(), own.get(&file)?, reference.get(&file)?));
        }
        Ok(rows)
    };
    let rows = look();
    set(true)?;
    for (name, found, wanted) in rows? {
        ensure_eq!(found, wanted, "{name} of a new instance");
    }
    Ok(())
}

/// The formats of the records that the options make.
fn formats(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    for name in ["kernel_stack", "user_stack", "print", "raw_data"] {
        super::same(&own, &reference, &format!("events/ftrace/{name}/format"))?;
    }
    Ok(())
}
