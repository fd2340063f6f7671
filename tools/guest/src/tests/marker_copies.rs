// SPDX-License-Identifier: GPL-2.0

//! The option `copy_trace_marker`: what is written into the marker files of the top instance, beside tracefs.

use super::golden::without_stamp;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::path::Path;

pub const TESTS: &[Test] = &[test("marker.copies", 60, copies)];

const OPTION: &str = "options/copy_trace_marker";
/// Begins every text that is written here, and is the number of every marker of bytes.
const MARK: &str = "copy";

/// A step of the story: what is written into which file of the top instance, `one` or `two`, or which of these goes.
#[derive(Debug)]
enum Step {
    Top(&'static str, &'static str),
    One(&'static str, &'static str),
    Two(&'static str, &'static str),
    OneGoes,
}
use Step::{One, OneGoes, Top, Two};

/// Each step, and whether it is taken.
const STORY: &[(Step, bool)] = &[
    (Top("trace_marker", "copy of none"), true),
    (One(OPTION, "1"), true),
    (Top("trace_marker", "copy for one"), true),
    (Top("trace_marker_raw", "copyraw"), true),
    (One("trace_marker", "copy of its own"), true),
    // The one that came last is asked first, and keeps a marker that it refuses from the others.
    (Two("trace_options", "copy_trace_marker"), true),
    (Two("tracing_on", "0"), true),
    (Top("trace_marker", "copy for nobody"), false),
    (Two("tracing_on", "1"), true),
    (One("tracing_on", "0"), true),
    (Top("trace_marker", "copy for two"), false),
    // What is on already keeps its place.
    (One(OPTION, "1"), true),
    (Top("trace_marker", "copy for two again"), false),
    (One("trace_options", "nocopy_trace_marker"), true),
    (One(OPTION, "1"), true),
    (Top("trace_marker", "copy for nobody again"), false),
    (One("tracing_on", "1"), true),
    (Top("trace_marker", "copy for all"), true),
    (Top("trace_options", "nomarkers"), true),
    (Top("trace_marker", "copy for the markers"), false),
    (Top("trace_options", "markers"), true),
    // Only the option of the top instance is asked.
    (One("trace_options", "nomarkers"), true),
    (Top("trace_marker", "copy for all of them"), true),
    (Top(OPTION, "0"), true),
    (Top("trace_marker", "copy for the others"), true),
    (Top("trace_marker_raw", "copyothers"), true),
    (Top("trace_marker_raw", "cop"), false),
    (OneGoes, true),
    (Top("trace_marker", "copy for the last"), true),
    (Two(OPTION, "0"), true),
    (Top("trace_marker", "copy without an end"), false),
    (Top("trace_marker_raw", "copywithout"), false),
    (Top(OPTION, "1"), true),
    (Top("trace_marker", "copy at the end"), true),
];

/// Returns the markers that an instance has.
fn markers(tree: &Tree) -> Check<Vec<String>> {
    let text = tree.get("trace")?;
    let number = format!("# {:x}", u32::from_le_bytes(*b"copy"));
    let is_ours = |line: &&str| line.contains(MARK) || line.contains(&number);
    Ok(text.lines().filter(is_ours).map(without_stamp).collect())
}

/// Returns what each step answers, and what all have then.
fn told(root: &Path, report: &mut Report) -> Check<Vec<String>> {
    let top = Tree::at(root);
    let mut one = Some(Instance::new(root, "rtg-one")?);
    let two = Instance::new(root, "rtg-two")?;
    top.clear()?;
    let mut lines = vec![format!("{:?} {:?}", top.get(OPTION)?, two.get(OPTION)?)];
    for (step, is_taken) in STORY {
        let answer = match step {
            Top(file, text) => top.write(file, text.as_bytes()),
            Two(file, text) => two.write(file, text.as_bytes()),
            One(file, text) => match &one {
                Some(one) => one.write(file, text.as_bytes()),
                None => fail!("{step:?}: it has gone"),
            },
            OneGoes => {
                one.take().map(Instance::remove).transpose()?;
                Ok(0)
            }
        };
        report.expect(answer.is_ok() == *is_taken, || {
            format!("{}: {step:?}: {answer:?}", root.display())
        });
        lines.push(format!("{step:?}: {answer:?}"));
        let trees = [Some(&top), one.as_deref(), Some(&*two)];
        for tree in trees.into_iter().flatten() {
            lines.push(format!("{:?} {:?}", markers(tree)?, tree.get(OPTION)?));
        }
    }
    Ok(lines)
}

fn copies(context: &Context) -> Check {
    sys::pin_to(0);
    let mut report = Report::default();
    let told = [&context.root, &context.reference].map(|root| {
        let told = told(root, &mut report);
        // Also after a step that was not as it should be.
        let top = Tree::at(root);
        let _ = top.write("trace_options", b"markers");
        let _ = top.write(OPTION, b"1");
        let _ = top.clear();
        told
    });
    let [own, reference] = told;
    for (own, reference) in own?.iter().zip(&reference?) {
        report.expect(own == reference, || format!("{own}, tracefs {reference}"));
    }
    report.finish()
}
