// SPDX-License-Identifier: GPL-2.0

//! The examples of the kernel's own document on histograms, `Documentation/trace/histogram.rst` of its source, which
//! scripts/guest-suite lays into the guest: every command of its sessions is given to a shell, once for tracefs and
//! once for rtracefs, and both answer the same. What an example counts depends on the machine and is not compared.

use super::{test, Test};
use crate::check::{Check, Report};
use crate::tree::Tree;
use crate::Context;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

pub const TESTS: &[Test] = &[test("hist.document", 600, document)];

/// Where the document has tracefs.
const THERE: &str = "/sys/kernel/tracing";

/// The commands in the sessions of a document: what follows an indented `#`, with the lines that continue it.
fn commands(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(command) = line.trim_start().strip_prefix("# ") else {
            continue;
        };
        if !line.starts_with(' ')
            || !["echo ", "cat "]
                .iter()
                .any(|word| command.starts_with(word))
        {
            continue;
        }
        let mut command = command.to_string();
        while command.ends_with('\\') {
            let Some(more) = lines.next() else { break };
            // In the document a quoted word goes on behind the indent of the next line.
            command.pop();
            command.push_str(more.trim_start());
        }
        all.push(command);
    }
    all
}

/// The trigger files that a command names.
fn triggers(command: &str) -> impl Iterator<Item = &str> {
    let words = command.split(|c: char| c.is_whitespace() || c == ';');
    words.filter_map(|word| {
        let path = word.strip_prefix(THERE).unwrap_or(word);
        let path = path.trim_start_matches('/');
        (path.starts_with("events/") && path.ends_with("/trigger")).then_some(path)
    })
}

/// What a shell says in `root` to a command: its status, and its output if that is the same at any time.
fn answer(root: &Path, command: &str) -> Check<String> {
    let root_text = root.to_str().ok_or("no path")?;
    let output = Command::new("sh")
        .args(["-c", &command.replace(THERE, root_text)])
        .current_dir(root)
        .output()
        .map_err(|e| format!("sh: {e}"))?;
    let errors = String::from_utf8_lossy(&output.stderr).replace(root_text, THERE);
    let text = String::from_utf8_lossy(&output.stdout);
    let file = command.split_whitespace().nth(1).unwrap_or("");
    let file = file.trim_end_matches(';');
    let kept: Vec<_> = match file.rsplit('/').next() {
        Some("trigger" | "synthetic_events") => text.lines().collect(),
        Some("hist") => text.lines().filter(|line| line.starts_with('#')).collect(),
        _ => Vec::new(),
    };
    Ok(format!("{} {errors}{}", output.status, kept.join("\n")))
}

/// The texts of these trigger files.
fn texts(tree: &Tree, files: &BTreeSet<String>) -> String {
    let of = |file: &String| match tree.get(file) {
        Ok(text) => format!("{file}:\n{text}"),
        Err(_) => format!("{file}: not there\n"),
    };
    files.iter().map(of).collect()
}

/// The texts of the errors, without their times.
fn errors(tree: &Tree) -> Check<String> {
    let text = tree.get("error_log")?;
    let lines = text.lines().map(|line| match line.strip_prefix('[') {
        Some(rest) => rest.split_once("] ").map_or(rest, |(_, rest)| rest),
        None => line,
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// The command that removes what a line of `trigger` shows. tracefs does not take the modifiers that it shows after
/// `sort=`.
fn removal(line: &str) -> String {
    let line = line.split(" [").next().unwrap_or(line);
    let item = |item: &str| match item.strip_prefix("sort=") {
        Some(fields) => {
            let field = |field: &str| {
                let name = field.split('.').next().unwrap_or(field);
                match field.ends_with(".descending") {
                    true => format!("{name}.descending"),
                    false => name.to_string(),
                }
            };
            let fields: Vec<_> = fields.split(',').map(field).collect();
            format!("sort={}", fields.join(","))
        }
        None => item.to_string(),
    };
    let items: Vec<_> = line.split(':').map(item).collect();
    format!("!{}", items.join(":"))
}

/// Takes all away that the commands made.
fn tidy(tree: &Tree, files: &BTreeSet<String>) -> Check {
    // One that refers to another one goes first.
    for _ in 0..4 {
        for file in files {
            let Ok(text) = tree.get(file) else { continue };
            for line in text.lines().rev().filter(|line| !line.starts_with('#')) {
                let _ = tree.write(file, removal(line).as_bytes());
            }
        }
    }
    tree.set("events/enable", "0")?;
    let left = texts(tree, files);
    let left: Vec<_> = left
        .lines()
        .filter(|line| !line.starts_with(['#', 'e']))
        .collect();
    ensure!(left.is_empty(), "left: {left:?}");
    tree.empty("synthetic_events")?;
    let _ = tree.write("snapshot", b"0");
    tree.empty("error_log")?;
    tree.clear()
}

fn document(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("compares rtracefs with tracefs");
    }
    let file = context.stress.with_file_name("histogram.rst");
    let Ok(text) = std::fs::read_to_string(&file) else {
        skip!("the kernel's document is only beside the stock kernel");
    };
    let commands = commands(&text);
    ensure!(commands.len() > 100, "{} commands", commands.len());
    let (reference, ours) = (Tree::at(&context.reference), Tree::at(&context.root));
    reference.empty("error_log")?;
    ours.empty("error_log")?;
    let mut files = BTreeSet::new();
    let mut report = Report::default();
    let mut done = 0;
    for command in &commands {
        files.extend(triggers(command).map(String::from));
        let expected = answer(&context.reference, command)?;
        let said = answer(&context.root, command)?;
        done += usize::from(expected.starts_with("exit status: 0"));
        report.expect(said == expected, || {
            format!("{command}: {said:?}, tracefs {expected:?}")
        });
        let (expected, said) = (texts(&reference, &files), texts(&ours, &files));
        let differs = expected.lines().zip(said.lines()).find(|(a, b)| a != b);
        report.expect(said == expected, || format!("after {command}: {differs:?}"));
    }
    let (expected, said) = (errors(&reference)?, errors(&ours)?);
    report.expect(said == expected, || {
        format!("error_log: {said}\ntracefs: {expected}")
    });
    for tree in [&reference, &ours] {
        report.collect(tidy(tree, &files));
    }
    println!("{} commands, {done} of them valid", commands.len());
    report.finish()
}
