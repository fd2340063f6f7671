// SPDX-License-Identifier: GPL-2.0

//! Debian's trace-cmd, unmodified, with the tracers of functions: whatever it can ask of them is obeyed, and its
//! report of the recording says so.

use super::clients::{read, Folder};
use super::functions::{getpgid_of, getppid, GETPGID, GETPPID};
use super::{test, Test};
use crate::check::Check;
use crate::client::{Client, Line};
use crate::soak;
use crate::sys;
use crate::tree::Tree;
use crate::Context;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

pub const TESTS: &[Test] = &[
    test("clients.functions", 240, functions),
    test("clients.calls", 240, calls),
];

/// What `getpgid` calls.
const INSIDE: &str = "do_getpgid";

/// Runs trace-cmd while this task calls both functions, and others do nothing.
fn beside_calls<T>(run: impl FnOnce() -> Check<T> + Send) -> Check<T>
where
    T: Send,
{
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let client = scope.spawn(|| {
            let result = run();
            is_over.store(true, SeqCst);
            result
        });
        while !is_over.load(SeqCst) {
            getppid();
            getpgid_of(1);
            thread::sleep(std::time::Duration::from_millis(1));
        }
        client
            .join()
            .unwrap_or_else(|_| Err("the client panicked".into()))
    })
}

/// What trace-cmd records with these words, for half a second.
fn recorded(client: Client, file: &str, words: &[&str]) -> Check<Vec<Line>> {
    let words = [&["record", "-o", file], words].concat();
    beside_calls(|| client.trace_cmd(&words, &["sleep", "0.5"])?.good())
        .map_err(|e| format!("{words:?}: {e}"))?;
    read(client, file, &[])
}

/// Whether the kernel can be asked for this tracer.
fn has_tracer(context: &Context, name: &str) -> Check<bool> {
    let there = Tree::at(&context.root).get("available_tracers")?;
    Ok(there.split_whitespace().any(|tracer| tracer == name))
}

/// After all, nothing is left.
fn reset(context: &Context, client: Client) -> Check {
    client.run(&["trace-cmd", "reset"])?.good()?;
    let top = Tree::at(&context.root);
    ensure_eq!(top.get("current_tracer")?, "nop\n", "after reset");
    ensure_eq!(
        top.get("set_ftrace_filter")?,
        "#### all functions enabled ####\n",
        "after reset"
    );
    Ok(())
}

/// The tracer `function`: which functions, of which task, and who called them. trace-cmd writes the numbers of
/// functions, after a look at the list of all.
fn functions(context: &Context) -> Check {
    if !has_tracer(context, "function")? {
        skip!("this kernel traces no functions");
    }
    let client = Client::of(context)?;
    let place = Folder::new("functions")?;
    let file = place.file("trace.dat");
    let task = sys::thread_id().to_string();
    let both = ["-p", "function", "-l", *GETPPID, "-l", GETPGID];
    let counted = |found: &[Line], function: &str| {
        let calls = found.iter().filter(|line| line.event == "function");
        let calls = calls.filter(|line| line.text.contains(function));
        let (own, others) =
            calls.partition::<Vec<_>, _>(|line| line.task.ends_with(&format!("-{task}")));
        (own.len(), others.len())
    };

    // Each of them reads the list of all functions.
    let long = soak::rounds(0, 1) != 0;
    let mut rows = vec![vec!["-n", GETPGID, "-P", &task]];
    if long {
        rows.extend([vec![], vec!["-n", GETPGID], vec!["-P", &task]]);
    }
    for more in rows {
        let words = [&both[..], &more].concat();
        let found = recorded(client, &file, &words)?;
        let (own, others) = counted(&found, *GETPPID);
        ensure!(own > 3, "{words:?}: {} lines", found.len());
        // The shells that run beside ask for their parents as well.
        ensure!(
            others == 0 || !more.contains(&"-P"),
            "{words:?}: {} lines",
            found.len()
        );
        let is_there = counted(&found, GETPGID).0 > 3;
        ensure_eq!(
            is_there,
            !more.contains(&"-n"),
            "{words:?}: {} lines",
            found.len()
        );
    }
    if !long {
        return reset(context, client);
    }
    let words = ["-p", "function", "-l", *GETPPID, "--func-stack"];
    let words = [&["record", "-o", &file], &words[..]].concat();
    beside_calls(|| client.trace_cmd(&words, &["sleep", "0.5"])?.good())?;
    let text = client.text(&["report", "-N", "-i", &file])?;
    let stacks = text.matches("do_syscall_64").count();
    ensure!(
        text.contains("kernel_stack:") && stacks > 3,
        "{words:?}: {text}"
    );
    reset(context, client)
}

/// The tracer `function_graph`: only in a function, not in another one, and not too deep.
fn calls(context: &Context) -> Check {
    if !has_tracer(context, "function_graph")? {
        skip!("this kernel follows no calls");
    }
    let client = Client::of(context)?;
    let there = Tree::at(&context.root).get("available_filter_functions")?;
    if [INSIDE, GETPGID]
        .iter()
        .any(|name| !there.lines().any(|line| line == *name))
    {
        skip!("the functions of the test have other names");
    }
    let place = Folder::new("calls")?;
    let file = place.file("trace.dat");
    let all = [
        "-p",
        "function_graph",
        "-l",
        *GETPPID,
        "-l",
        GETPGID,
        "-l",
        INSIDE,
    ];
    type Row<'a> = (&'a [&'a str], [bool; 3]);
    let rows: [Row<'_>; 4] = [
        (
            &["-g", GETPGID, "--max-graph-depth", "1"],
            [false, true, false],
        ),
        (&["-n", GETPGID], [true, false, false]),
        (&["-g", GETPGID], [false, true, true]),
        (&[], [true, true, true]),
    ];
    // Each of them reads the list of all functions.
    for &(more, wanted) in &rows[..soak::rounds(1, rows.len())] {
        let words = [&all[..], more].concat();
        let found = recorded(client, &file, &words)?;
        let calls = found
            .iter()
            .filter(|line| line.event.starts_with("funcgraph_"));
        let calls: Vec<_> = calls.collect();
        for (name, is_wanted) in [*GETPPID, GETPGID, INSIDE].iter().zip(wanted) {
            let name = format!(" {name} (");
            let is_found = calls.iter().any(|line| line.text.contains(&name));
            ensure_eq!(
                is_found,
                is_wanted,
                "{name} with {words:?} in {} lines",
                found.len()
            );
        }
    }
    reset(context, client)
}
