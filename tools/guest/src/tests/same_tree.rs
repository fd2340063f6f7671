// SPDX-License-Identifier: GPL-2.0

//! Every path of both trees: its name, kind, mode and owner, and what each file that both have says to
//! wrong input. `trees` has the reasons for names that only one tree has.

use super::fs_tree::walk;
use super::same_options::NOT_OFFERED;
use super::trees::{is_missing, is_not_built, is_own, OF_THE_TOP};
use super::{like, pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::soak::Share;
use crate::tree::Tree;
use crate::{rawcalls, sys, Context};
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub const TESTS: &[Test] = &[
    test("same.tree", 120, tree),
    test("same.wrong_input", 400, wrong_input),
    test("same.but_for", 60, but_for),
];

/// Paths that both trees have, in one instance and the top, at least.
const PATHS: usize = 4000;

/// How the options of tracers other than `nop` begin, which have files in tracefs while they are not
/// used, too.
const OF_TRACERS: &[&str] = &[
    "blk_",
    "func-",
    "func_",
    "funcgraph-",
    "sleep-time",
    "graph-time",
];

/// All paths of a tree but what is in `instances`.
fn paths(tree: &Tree) -> Check<BTreeSet<String>> {
    let mut found = Vec::new();
    walk(tree, "", &mut found)?;
    Ok(found.into_iter().collect())
}

/// The folder, around the path, of a system or an event that the tree lacks.
fn not_offered(tree: &Tree, path: &str) -> bool {
    let mut parts = path.splitn(4, '/');
    let ("events", Some(system)) = (parts.next().unwrap_or_default(), parts.next()) else {
        return false;
    };
    let event = parts.next().unwrap_or_default();
    let is_folder = |path: String| tree.file(&path).is_dir();
    !is_folder(format!("events/{system}"))
        || !event.is_empty() && !is_folder(format!("events/{system}/{event}"))
}

/// (kind and mode without the bits of others, owner, group, size)
fn look(tree: &Tree, path: &str) -> Op<(String, u32, u32, u64)> {
    let data = tree.file(path).symlink_metadata()?;
    let mode = format!("{:o}", data.mode() & !0o7);
    Ok((mode, data.uid(), data.gid(), data.size()))
}

fn tree(context: &Context) -> Check {
    if sys::kernel_with_checks() {
        skip!("the tracefs of this kernel has other files: it is built without some");
    }
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let (mut both, mut events, mut missing, mut more) = (0, 0, 0, 0);
    // The top, where every file of tracefs is, comes first.
    let mut in_the_top = BTreeSet::new();
    for (own, reference) in [
        (&own.top(), &reference.top()),
        (&own as &Tree, &reference as &Tree),
    ] {
        let (found, wanted) = (paths(own)?, paths(reference)?);
        in_the_top.extend(wanted.clone());
        for path in &wanted {
            if found.contains(path) {
                let (ours, theirs) = (look(own, path), look(reference, path));
                both += 1;
                events += usize::from(path.ends_with("/format"));
                report.expect(ours == theirs, || {
                    format!("{}: {ours:?}, tracefs {theirs:?}", own.shown(path))
                });
                continue;
            }
            missing += 1;
            let option = path.strip_prefix("options/");
            let named = is_missing(path)
                || option.is_some_and(|name| {
                    NOT_OFFERED.contains(&name) || OF_TRACERS.iter().any(|of| name.starts_with(of))
                })
                || not_offered(own, path);
            report.expect(named, || {
                format!("{}: only in tracefs", reference.shown(path))
            });
        }
        for path in found.difference(&wanted) {
            more += 1;
            let named = is_own(path)
                || like(path) != *path
                || is_not_built(path)
                || OF_THE_TOP.contains(&path.as_str()) && in_the_top.contains(path);
            report.expect(named, || format!("{}: not in tracefs", own.shown(path)));
        }
    }
    println!("{both} paths are the same, {events} of them formats, {missing} only in tracefs, {more} only here");
    report.expect(both >= PATHS, || format!("only {both} paths in common"));
    report.finish()
}

/// Inputs that are wrong for nearly every file. Where one is right it has to do the same.
const INPUTS: &[&[u8]] = &[b"", b"garbage\n", b"-1", b"\xff\0", &[b'x'; 4200]];

/// Reading takes events away, or shows a clock.
const STREAMS: &[&str] = &[
    "trace_pipe",
    "trace_pipe_raw",
    "snapshot_raw",
    "stats",
    "trace",
];

fn wrong_input(context: &Context) -> Check {
    if sys::kernel_with_checks() {
        skip!("the tracefs of this kernel has other files: it is built without some");
    }
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let (mut files, mut writes, mut refused) = (0, 0, 0);
    let mut done = BTreeSet::new();
    // The folders of events are alike.
    let share = Share::one_of(6);
    for (own, reference) in [
        (&own as &Tree, &reference as &Tree),
        (&own.top(), &reference.top()),
    ] {
        for path in paths(own)? {
            let is_file = |tree: &Tree| tree.file(&path).is_file();
            // The top folder has everything that an instance has, and other programs use it.
            let event = path
                .strip_prefix("events/")
                .and_then(|path| path.rsplit_once('/'));
            if event.is_some_and(|(event, _)| event.contains('/') && !share.has(event)) {
                continue;
            }
            if !is_file(own) || !is_file(reference) || !done.insert(path.clone()) {
                continue;
            }
            files += 1;
            let name = path.rsplit('/').next().unwrap_or_default();
            let text = |tree: &Tree| match STREAMS.contains(&name) {
                true => Ok(Vec::new()),
                false => tree.read_bytes(&path),
            };
            let (mut before, mut theirs) = (text(own), text(reference));
            for input in INPUTS {
                let label = String::from_utf8_lossy(&input[..input.len().min(10)]);
                let (found, wanted) = (own.write(&path, input), reference.write(&path, input));
                writes += 1;
                report.expect(found == wanted, || {
                    format!(
                        "{} <- {label:?}: {found:?}, tracefs {wanted:?}",
                        own.shown(&path)
                    )
                });
                let (after, after_theirs) = (text(own), text(reference));
                // A filter shows what was wrong with the last one that it was given.
                if found.is_err() && name != "filter" && name != "error_log" {
                    refused += 1;
                    report.expect(before == after, || {
                        format!("{} <- {label:?}: refused, yet changed", own.shown(&path))
                    });
                }
                report.expect(before != theirs || after == after_theirs, || {
                    let shown = |text: &Op<Vec<u8>>| {
                        let bytes = text.as_deref().unwrap_or_default();
                        String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned()
                    };
                    let (ours, theirs) = (shown(&after), shown(&after_theirs));
                    format!(
                        "{} <- {label:?}: reads {ours:?}, tracefs {theirs:?}",
                        own.shown(&path)
                    )
                });
                (before, theirs) = (after, after_theirs);
            }
        }
    }
    println!("{writes} writes to {files} files, {refused} refused");
    report.expect(files >= share.least(PATHS / 2) && refused > files, || {
        format!("only {files} files, {refused} writes refused")
    });
    report.finish()
}

/// Texts that end in tracefs after the first read, however short.
const ENDS: &[&str] = &[
    "events/header_page",
    "events/header_event",
    "events/sched/filter",
    "events/sched/sched_switch/filter",
];

/// Names of instances that only tracefs takes.
const NAMES: &[&str] = &["rtg space", "rtg\nline", "rtg*", "rtg:b", "rtg\u{e9}"];

/// What Documentation/differences.md lists and no other test shows.
fn but_for(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs does not differ from itself");
    }
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for file in ENDS {
        let pieces = |tree: &Tree| -> Check<usize> {
            let mut open = tree.open(file).map_err(|e| format!("{file}: {e}"))?;
            let (mut bytes, mut len) = ([0; 3], 0);
            while let Ok(n @ 1..) = open.read(&mut bytes) {
                len += n;
            }
            Ok(len)
        };
        let whole = own.get(file)?.len();
        let found = (pieces(&own)?, pieces(&reference)?);
        report.expect(found == (whole, 3), || {
            format!("{file}: {found:?} bytes in pieces of 3, {whole} in one")
        });
    }
    for file in ["tracing_on", "buffer_size_kb", "events/sched/enable"] {
        let spliced = |tree: &Tree| -> Op<usize> {
            let (_end, into) = sys::pipe()?;
            rawcalls::splice(&tree.open(file)?, &into, 100, false)
        };
        let (found, wanted) = (spliced(&own), spliced(&reference));
        let whole = own.get(file)?.len();
        report.expect(found == Ok(whole) && wanted == Err(EINVAL), || {
            format!("splice of {file}: {found:?}, tracefs {wanted:?}")
        });
    }
    let long = "n".repeat(65);
    for name in NAMES.iter().copied().chain([&long[..]]) {
        let made = |root: &Path| -> Op {
            let path = root.join("instances").join(name);
            std::fs::create_dir(&path)?;
            Ok(std::fs::remove_dir(&path)?)
        };
        let (found, wanted) = (made(&context.root), made(&context.reference));
        let refusal = if name == long { ENAMETOOLONG } else { EINVAL };
        report.expect(found == Err(refusal) && wanted == Ok(()), || {
            format!("mkdir {name:?}: {found:?}, tracefs {wanted:?}")
        });
    }
    report.finish()
}
