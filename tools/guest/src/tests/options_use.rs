// SPDX-License-Identifier: GPL-2.0

//! Options that change what files do: pausing, polling, and when an option takes
//! effect in a file that is open. The same steps on both trees have the same results.

use super::{pair, test, Test};
use crate::check::Check;
use crate::errno::Errno;
use crate::sys;
use crate::tree::Tree;
use crate::Context;
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom};
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("options.pause", 30, pause),
    test("options.block", 30, block),
    test("options.bare_markers", 30, bare_markers),
    test("options.while_open", 30, while_open),
];

/// While `trace` is open for reading nothing is recorded, if the option says so.
fn pause(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut seen = Vec::new();
    for tree in [&own as &Tree, &reference as &Tree] {
        let mut steps = Vec::new();
        let mut mark = |what: &str| {
            let result = tree.write("trace_marker", b"mark");
            let on = tree.get("tracing_on");
            steps.push(format!("{what}: {result:?} {on:?}"));
        };
        let unpaused = tree.open("trace").map_err(|e| format!("trace: {e}"))?;
        mark("open without the option");
        tree.set("options/pause-on-trace", "1")?;
        mark("open since before the option");
        let first = tree.open("trace").map_err(|e| format!("trace: {e}"))?;
        mark("open");
        let second = tree
            .open("per_cpu/cpu0/trace")
            .map_err(|e| format!("trace: {e}"))?;
        drop(unpaused);
        drop(first);
        mark("still one open");
        tree.set("options/pause-on-trace", "0")?;
        mark("open, option off");
        tree.set("tracing_on", "0")?;
        tree.set("tracing_on", "1")?;
        mark("open, switched off and on");
        drop(second);
        mark("closed");
        tree.set("options/pause-on-trace", "1")?;
        let writer = tree
            .open_write("trace")
            .map_err(|e| format!("trace: {e}"))?;
        mark("open for writing alone");
        drop(writer);
        let pipe = tree
            .open("trace_pipe")
            .map_err(|e| format!("trace_pipe: {e}"))?;
        mark("trace_pipe");
        drop(pipe);
        let both = OpenOptions::new()
            .read(true)
            .write(true)
            .open(tree.file("trace"))
            .map_err(|e| format!("trace: {e}"))?;
        tree.set("tracing_on", "0")?;
        drop(both);
        mark("closed, but off");
        tree.set("tracing_on", "1")?;
        mark("on");
        seen.push(steps);
    }
    ensure!(
        seen[0].iter().any(|step| step.contains("EBADF")),
        "nothing was refused: {:?}",
        seen[0]
    );
    // A switch during a pause holds, as in tracefs, which also counts pauses.
    ensure_eq!(seen[0], seen[1], "markers");
    Ok(())
}

/// With the option poll says at once that a stream is readable.
fn block(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut seen = Vec::new();
    for tree in [&own as &Tree, &reference as &Tree] {
        let mut steps = Vec::new();
        for file in ["trace_pipe", "per_cpu/cpu0/trace_pipe_raw"] {
            let pipe = tree
                .open_nonblock(file)
                .map_err(|e| format!("{file}: {e}"))?;
            for value in ["0", "1", "0"] {
                tree.set("options/block", value)?;
                let events = sys::poll_in(&pipe, Duration::from_millis(20));
                steps.push(format!("{file} {value}: {events:?}"));
            }
            let mut byte = [0];
            let read = (&pipe).read(&mut byte).map_err(Errno::from);
            steps.push(format!("{file}: {read:?}"));
        }
        seen.push(steps);
    }
    ensure_eq!(seen[0], seen[1], "poll");
    Ok(())
}

/// `printk-msg-only`, which an instance gets through `trace_options`.
fn bare_markers(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut seen = Vec::new();
    for tree in [&own as &Tree, &reference as &Tree] {
        let mut steps = Vec::new();
        for text in ["one", "two\nlines\n", "\n"] {
            tree.set("trace_marker", text)?;
        }
        for options in [
            &["printk-msg-only"][..],
            &["raw"],
            &["fields", "latency-format"],
            &["notrace_printk"],
        ] {
            for option in options {
                tree.set("trace_options", option)?;
            }
            let text = tree.get("trace")?;
            let lines = text.lines().filter(|line| !line.starts_with("# "));
            let shown: Vec<_> = lines
                .map(|line| {
                    line.split("tracing_mark")
                        .last()
                        .unwrap_or(line)
                        .to_string()
                })
                .filter(|line| !line.contains(": UNKNOWN"))
                .collect();
            if !options.contains(&"notrace_printk") {
                steps.push(format!("{options:?}: {shown:?}"));
            }
        }
        // Without trace_printk they are lines again, here in the form of `raw`.
        let text = tree.get("trace")?;
        let raw = text.lines().filter(|line| line.contains(" # ffff")).count();
        steps.push(format!("raw lines: {raw}"));
        seen.push(steps);
    }
    ensure!(
        seen[0][0].contains(r#""one", "two", "lines", """#),
        "{:?}",
        seen[0][0]
    );
    ensure_eq!(seen[0], seen[1], "markers");
    Ok(())
}

/// What takes effect in an open file at once, and what only in the next one.
fn while_open(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    sys::pin_to(0);
    let mut seen = Vec::new();
    for tree in [&own as &Tree, &reference as &Tree] {
        let mut steps = Vec::new();
        for _ in 0..3 {
            tree.set("trace_marker", "mark")?;
        }
        let mut file = tree.open("trace").map_err(|e| format!("trace: {e}"))?;
        for option in [
            "latency-format",
            "raw",
            "noraw",
            "nocontext-info",
            "context-info",
        ] {
            tree.set("trace_options", option)?;
            file.seek(SeekFrom::Start(0)).map_err(|e| e.to_string())?;
            let mut text = vec![0; 1 << 16];
            let mut len = 0;
            while let Ok(n @ 1..) = file.read(&mut text[len..]) {
                len += n;
            }
            let text = String::from_utf8_lossy(&text[..len]).into_owned();
            let line = text
                .lines()
                .find(|line| line.contains("mark"))
                .unwrap_or("none");
            let form = if line.contains("us") {
                "latency"
            } else if line.contains(" # ") {
                "raw"
            } else if line.starts_with("tracing_mark") {
                "bare"
            } else {
                "plain"
            };
            steps.push(format!("{option}: {form}, {} lines", text.lines().count()));
        }
        let again = tree.get("trace")?;
        steps.push(format!(
            "opened again: {}",
            again.contains("latency trace v1.1.5")
        ));
        let mut pipe = tree
            .open_nonblock("trace_pipe")
            .map_err(|e| format!("trace_pipe: {e}"))?;
        tree.set("trace_options", "nolatency-format")?;
        let mut bytes = [0; 4096];
        let n = pipe.read(&mut bytes).map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&bytes[..n]).into_owned();
        steps.push(format!(
            "pipe: {}",
            text.lines().all(|line| line.contains("us : "))
        ));
        seen.push(steps);
    }
    ensure_eq!(seen[0], seen[1], "forms");
    ensure!(seen[0][0].contains("plain"), "{:?}", seen[0]);
    ensure!(
        seen[0].ends_with(&["pipe: true".to_string()]),
        "{:?}",
        seen[0]
    );
    Ok(())
}
