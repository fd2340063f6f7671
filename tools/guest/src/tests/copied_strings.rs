// SPDX-License-Identifier: GPL-2.0

//! Strings that an event copies into arrays of its record, which they may not fit: the same texts as in
//! tracefs, and no byte beside the arrays.

use super::{exact, json, pair, Test};
use crate::check::{Check, Report};
use crate::soak::writers::Writers;
use crate::sys;
use crate::tree::Tree;
use crate::Context;

pub const TESTS: &[Test] = &[exact("side.copied_strings", 120, copied).with_testapi()];

const EVENT: &str = "events/rtsoak/rtsoak_copied";

/// Bytes of the arrays, in the order of the fields.
const ARRAYS: &[usize] = &[8, 16, 20, 64, 72];

/// Texts of every length. Of the last ones each byte but the first has its highest bit.
fn texts() -> Vec<String> {
    let plain = (1..=100).map(|len| "abc\u{1}defgh\u{7f}".chars().cycle().take(len).collect());
    let high = (1..=50).map(|pairs| format!("x{}", "\u{fc}".repeat(pairs)));
    plain.chain(high).collect()
}

/// What the line of a text ends with.
fn wanted(text: &str) -> Check<String> {
    let mut line = String::new();
    for size in ARRAYS {
        let fits = text.get(..text.len().min(size - 1));
        line += fits.ok_or(format!("{text} is cut inside a character"))?;
        line.push('|');
    }
    Ok(line + &"#".repeat(ARRAYS.len()))
}

fn lines(tree: &Tree) -> Check<Vec<String>> {
    const MARK: &str = "rtsoak_copied: ";
    let text = json::drain(tree, "trace_pipe")?;
    let found = text.lines().filter_map(|line| line.split_once(MARK));
    Ok(found.map(|(_, values)| values.to_string()).collect())
}

fn copied(context: &Context) -> Check {
    sys::pin_to(0);
    let writers = Writers::load(context, &[])?;
    let (own, reference) = pair(context)?;
    for tree in [&own as &Tree, &reference] {
        tree.set(&format!("{EVENT}/enable"), "1")?;
    }
    let mut report = Report::default();
    for text in texts() {
        writers.set("text", &text)?;
        let (found, theirs, wanted) = (lines(&own)?, lines(&reference)?, wanted(&text)?);
        report.expect(found == [wanted.as_str()], || {
            format!("{text:?}: {found:?}, it means {wanted:?}")
        });
        report.expect(found == theirs, || {
            format!("{text:?}: {found:?}, tracefs {theirs:?}")
        });
    }
    drop((own, reference));
    writers.unload()?;
    report.finish()
}
