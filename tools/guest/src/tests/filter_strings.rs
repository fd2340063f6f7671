// SPDX-License-Identifier: GPL-2.0

//! Filters of strings, wherever a record has them: in itself, where a word in it says, counted from
//! its beginning or from that word, and through a pointer. The same records as tracefs keeps, and
//! those that the pattern means.

use super::{exact, pair, Test};
use crate::check::{Check, Report};
use crate::soak::writers::Writers;
use crate::sys;
use crate::tree::Tree;
use crate::Context;
use std::collections::BTreeSet;

pub const TESTS: &[Test] = &[exact("filter.strings", 120, strings).with_testapi()];

const EVENT: &str = "events/rtsoak/rtsoak_text";

/// Texts that are recorded, each once. The pointer of the last two cannot be followed.
const TEXTS: &[&str] = &[
    "a",
    "ab",
    "abc",
    "xabc",
    "abcx",
    "xabcx",
    "a c",
    "a*c",
    "[b]",
    "-",
    "9lives",
    "Abc",
    "fifteen-letters",
    "exactly-sixteen!",
    "longer-than-sixteen-letters",
    "kworker/0:1-events",
    "gr\u{fc}n",
    "null",
    "nowhere",
];

const FIELDS: &[&str] = &["name", "dyn", "rel", "ptr"];

/// Operator and string, and the texts that it means.
type Wanted = fn(&str) -> bool;
const QUESTIONS: &[(&str, Wanted)] = &[
    ("== \"abc\"", |text| text == "abc"),
    ("!= 'abc'", |text| text != "abc"),
    ("== \"\"", |_| false),
    ("== \"exactly-sixteen!\"", |text| text == "exactly-sixteen!"),
    ("!= \"exactly-sixteen!\"", |text| text != "exactly-sixteen!"),
    ("~ \"abc\"", |text| text == "abc"),
    ("~ \"abc*\"", |text| text.starts_with("abc")),
    ("~ \"*abc\"", |text| text.ends_with("abc")),
    ("~ \"*abc*\"", |text| text.contains("abc")),
    ("~ \"a*c\"", |text| {
        text.starts_with('a') && text.ends_with('c')
    }),
    ("~ \"a?c\"", |text| {
        text.len() == 3 && text.starts_with('a') && text.ends_with('c')
    }),
    ("~ \"[ab]*\"", |text| text.starts_with(['a', 'b'])),
    ("~ \"[!ab]*\"", |text| !text.starts_with(['a', 'b'])),
    ("~ \"[a-c][b-c]\"", |text| text == "ab"),
    ("~ '\\[b]'", |text| text == "[b]"),
    ("~ '!abc*'", |text| !text.starts_with("abc")),
    ("~ \"9*\"", |_| false),
    ("~ \"9lives\"", |text| text == "9lives"),
    ("~ \"k*:?-*\"", |text| text.starts_with("kworker")),
    ("~ \"*\"", |_| true),
];

/// What tracefs answers otherwise: differences.md.
fn quirk(field: &str, question: &str) -> bool {
    field == "name" && question == "~ \"*abc\""
}

/// The texts that were kept since the last call; each line ends with that of `rel`, which is whole.
fn kept(tree: &Tree) -> Check<BTreeSet<String>> {
    let text = super::json::drain(tree, "trace_pipe")?;
    let lines = text.lines().filter(|line| line.contains("rtsoak_text: "));
    Ok(lines
        .filter_map(|line| line.rsplit('|').next())
        .map(str::to_string)
        .collect())
}

fn strings(context: &Context) -> Check {
    sys::pin_to(0);
    let writers = Writers::load(context, &[])?;
    let (own, reference) = pair(context)?;
    let trees = [&own as &Tree, &reference];
    let mut report = Report::default();
    let (mut some, mut all) = (0, 0);
    for tree in trees {
        tree.set(&format!("{EVENT}/enable"), "1")?;
    }
    for field in FIELDS {
        for (question, wanted) in QUESTIONS {
            let filter = format!("{field} {question}");
            for tree in trees {
                tree.set(&format!("{EVENT}/filter"), &filter)?;
            }
            for text in TEXTS {
                writers.set("text", text)?;
            }
            let (found, theirs) = (kept(&own)?, kept(&reference)?);
            report.expect(found == theirs || quirk(field, question), || {
                format!("{filter}: {found:?}, tracefs {theirs:?}")
            });
            // A field of 16 bytes has the beginning of a longer text.
            let seen = |text: &str| match *field == "name" {
                true => {
                    String::from_utf8_lossy(&text.as_bytes()[..text.len().min(16)]).into_owned()
                }
                false => text.to_string(),
            };
            let readable = |text: &&&str| *field != "ptr" || !["null", "nowhere"].contains(*text);
            let meant: BTreeSet<String> = TEXTS
                .iter()
                .filter(readable)
                .filter(|text| wanted(&seen(text)))
                .map(|text| text.to_string())
                .collect();
            report.expect(found == meant, || {
                format!("{filter}: {found:?}, it means {meant:?}")
            });
            some += usize::from(!found.is_empty() && found.len() < TEXTS.len());
            all += 1;
        }
    }
    println!("{all} filters, {some} let some through");
    report.expect(some > all / 2, || format!("{some} of {all} choose"));
    drop((own, reference));
    writers.unload()?;
    report.finish()
}
