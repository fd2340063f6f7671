// SPDX-License-Identifier: GPL-2.0

//! What the tests of events that users define have in common: lines written to both tracers, and what both say
//! and record then.

use super::filter::log_of;
use crate::check::{Check, Report};
use crate::tree::{Instance, Tree};
use crate::Context;
use std::collections::BTreeMap;

/// Groups of events that follow others, which go first.
const FOLLOWERS: &[&str] = &["eprobes", "grp-x", "my", "follow"];

/// The top folders of both, without definitions: they are removed now, and when this goes.
pub struct Tops {
    pub own: Tree,
    pub reference: Tree,
}

impl Tops {
    pub fn cleared(context: &Context) -> Self {
        let tops = Self {
            own: Tree::at(&context.root),
            reference: Tree::at(&context.reference),
        };
        tops.clear();
        tops
    }

    pub fn trees(&self) -> [&Tree; 2] {
        [&self.own, &self.reference]
    }

    /// Removes all definitions.
    pub fn clear(&self) {
        for tree in self.trees() {
            for group in FOLLOWERS {
                let _ = tree.write("dynamic_events", format!("-:{group}/").as_bytes());
            }
            let _ = tree.write_truncating("dynamic_events", b"");
            // What other tests have left.
            let _ = tree.empty("error_log");
        }
    }

    /// Defines the same in both.
    pub fn set(&self, file: &str, lines: &str) -> Check {
        self.own.set(file, lines)?;
        self.reference.set(file, lines)
    }

    /// Writes a line to both: the same answer, the same lists and the same errors. Returns whether it was taken.
    pub fn compare(&self, report: &mut Report, file: &str, line: &str) -> Check<bool> {
        let trees = self.trees();
        let answers = trees.map(|tree| tree.write(file, line.as_bytes()));
        let what = format!("{file} <- {line:.100}");
        report.expect(answers[0] == answers[1], || {
            format!("{what}: {:?}, tracefs {:?}", answers[0], answers[1])
        });
        let names = [
            "dynamic_events",
            "kprobe_events",
            "uprobe_events",
            "error_log",
        ];
        let is_there = |name: &&str| self.reference.exists(name);
        for name in names.into_iter().filter(is_there) {
            let text = |tree: &Tree| match name {
                "error_log" => log_of(tree),
                _ => tree.get(name).map(without_filters),
            };
            let (own, reference) = (text(&self.own)?, text(&self.reference)?);
            report.expect(own == reference, || {
                format!("{what}: {name} is {own}, in tracefs {reference}")
            });
        }
        for tree in trees {
            tree.empty("error_log")?;
        }
        Ok(answers[1].is_ok())
    }

    /// Writes lines that tracefs takes: the events of `groups` have the same formats after each.
    pub fn take(&self, report: &mut Report, file: &str, lines: &[&str], groups: &[&str]) -> Check {
        for line in lines {
            let taken = self.compare(report, file, line)?;
            report.expect(taken, || format!("{line:?}: tracefs refuses it"));
            for group in groups {
                let both = (formats(&self.own, group)?, formats(&self.reference, group)?);
                report.expect(both.0 == both.1, || {
                    format!("{line}: formats {:#?}, in tracefs {:#?}", both.0, both.1)
                });
            }
        }
        Ok(())
    }

    /// Removes what is defined in `file`: the same is left in both.
    pub fn truncate(&self, report: &mut Report, file: &str) -> Check {
        for tree in self.trees() {
            ensure_eq!(tree.write_truncating(file, b""), Ok(0), "> {file}");
        }
        self.compare(report, file, "").map(drop)
    }

    /// As [`Self::truncate`]; with its events the folder `group` goes.
    pub fn end(&self, report: &mut Report, file: &str, group: &str) -> Check {
        self.truncate(report, file)?;
        report.expect(!self.own.exists(&format!("events/{group}")), || {
            format!("events/{group} is left")
        });
        Ok(())
    }

    /// Writes lines that tracefs refuses.
    pub fn refuse(&self, report: &mut Report, file: &str, lines: &[&str]) -> Check {
        for line in lines {
            let taken = self.compare(report, file, line)?;
            report.expect(!taken, || format!("{line:?}: tracefs takes it"));
        }
        Ok(())
    }
}

impl Drop for Tops {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Returns lists of definitions without the filters of event probes, which tracefs does not show.
fn without_filters(text: String) -> String {
    let shown = |line: &str| match line.split_once(" if ") {
        Some((line, _)) if line.starts_with("e:") => format!("{line}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(shown).collect()
}

/// Skips a test on a kernel whose own tracer does not take `line`, which has a name.
pub fn need_line(reference: &Tree, line: &str) -> Check {
    let file = "dynamic_events";
    let taken = reference.write(file, line.as_bytes());
    reference.empty("error_log")?;
    let name = line.split([':', ' ']).nth(1).unwrap_or_default();
    match taken {
        Err(_) => skip!("tracefs does not take {line:?}"),
        Ok(_) => reference.set(file, &format!("-:{name}")),
    }
}

/// Skips a test on a kernel without BTF.
pub fn need_types() -> Check {
    if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        skip!("this kernel has no BTF");
    }
    Ok(())
}

/// Returns whether tracefs takes types in definitions: a kernel with BTF can be built without that.
pub fn takes_types(reference: &Tree) -> Check<bool> {
    let file = "dynamic_events";
    let taken = reference.write(file, b"p:typed vfs_read pid=$current->pid");
    reference.empty("error_log")?;
    if taken.is_ok() {
        reference.set(file, "-:typed")?;
    }
    Ok(taken.is_ok())
}

/// Skips a test on a kernel whose own tracer takes no types.
pub fn need_typed_lines(reference: &Tree) -> Check {
    if !takes_types(reference)? {
        skip!("tracefs takes no types");
    }
    Ok(())
}

/// The formats of the events of the group, without their ids.
pub fn formats(tree: &Tree, group: &str) -> Check<BTreeMap<String, String>> {
    let mut formats = BTreeMap::new();
    if !tree.exists(&format!("events/{group}")) {
        return Ok(formats);
    }
    for name in tree.list(&format!("events/{group}"))? {
        let file = format!("events/{group}/{name}/format");
        if tree.exists(&file) {
            let text = tree.get(&file)?;
            let lines = text.lines().filter(|line| !line.starts_with("ID:"));
            formats.insert(name, lines.collect::<Vec<_>>().join("\n"));
        }
    }
    Ok(formats)
}

/// What was recorded, from the flags on, without the time.
pub fn recorded(tree: &Instance) -> Check<Vec<String>> {
    let text = tree.get("trace")?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Ok(lines
        .filter_map(|line| {
            let (task, rest) = line.split_once('[')?;
            let (flags, event) = rest.split_once(": ")?;
            let flags = flags.split_whitespace().nth(1)?;
            // Whether a reschedule is wanted can change between the two records of a hit.
            let flags = format!("{}{}", flags.get(..1)?, flags.get(2..)?);
            Some(format!("{} {flags} {event}", task.trim()))
        })
        .collect())
}
