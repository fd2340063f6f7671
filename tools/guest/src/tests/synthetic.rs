// SPDX-License-Identifier: GPL-2.0

//! Synthetic events: the same definitions written to both tracers get the same answers, errors and formats,
//! and the events are like others in every instance.

use super::dynamic::formats;
use super::filter::log_of;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::tree::{Instance, Tree};
use crate::Context;

pub const TESTS: &[Test] = &[
    test("synthetic.right_texts", 60, right_texts),
    test("synthetic.wrong_texts", 60, wrong_texts),
    test("synthetic.filters", 60, filters),
    test("synthetic.life", 60, life),
];

/// The files that show definitions or errors.
const LISTS: [&str; 2] = ["synthetic_events", "dynamic_events"];

/// Removes all definitions of both trees when it goes.
struct NoneDefined<'a>([&'a Tree; 2]);

impl NoneDefined<'_> {
    fn clear(&self) {
        for tree in self.0 {
            let _ = tree.write_truncating("dynamic_events", b"");
            // What other tests have left.
            let _ = tree.empty("error_log");
        }
    }
}

impl Drop for NoneDefined<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The top folders of both.
fn tops(context: &Context) -> (Tree, Tree) {
    (Tree::at(&context.root), Tree::at(&context.reference))
}

/// Writes to both: the same answer, the same lists and the same errors. Returns whether it was taken.
fn compare(report: &mut Report, trees: [&Tree; 2], file: &str, text: &str) -> Check<bool> {
    let [own, reference] = trees;
    let answers = trees.map(|tree| tree.write(file, text.as_bytes()));
    let what = format!("{file} <- {text:.100}");
    report.expect(answers[0] == answers[1], || {
        format!("{what}: {:?}, tracefs {:?}", answers[0], answers[1])
    });
    for list in LISTS {
        let texts = (own.get(list)?, reference.get(list)?);
        report.expect(texts.0 == texts.1, || {
            format!("{what}: {list} is {:?}, in tracefs {:?}", texts.0, texts.1)
        });
    }
    let logs = (log_of(own)?, log_of(reference)?);
    report.expect(logs.0 == logs.1, || {
        format!("{what}: error_log is {}, in tracefs {}", logs.0, logs.1)
    });
    for tree in trees {
        tree.empty("error_log")?;
    }
    Ok(answers[1].is_ok())
}

/// In this order; some remove what is there.
const RIGHT: &[(&str, &str)] = &[
    ("synthetic_events", "lat u64 lat; pid_t pid"),
    ("synthetic_events", "old u64 lat s32 prio char comm[16]\n"),
    ("synthetic_events", "  _blanks1\tu64\ta ;; s8  b;"),
    (
        "synthetic_events",
        "numbers s8 a; u8 b; s16 c; u16 d; s32 e; u32 f; s64 g; u64 h; char i; unsigned char j; int k; \
         unsigned int l; long m; unsigned long n; bool o; pid_t p; gfp_t q",
    ),
    (
        "synthetic_events",
        "strings char a[16]; char[5] b; unsigned char c[256]; char d[]; char[] e; char f[0]; \
         char g[0x9]; char h[1]; unsigned char i[]",
    ),
    (
        "synthetic_events",
        "stacks u64 before; unsigned long[] a; long b[]; long[] c; long d[5]; u64 after",
    ),
    ("synthetic_events", "odd u64 x; u64 x; int common_pid; xchar[4] y; along[ z"),
    ("synthetic_events", "# a comment"),
    ("synthetic_events", ""),
    ("synthetic_events", "  \n\n"),
    ("synthetic_events", "behind u64 a # a comment"),
    ("synthetic_events", "l1 u64 a\nl2 u64 b\n\nl3 u64 c"),
    ("synthetic_events", "!l1\n!l2 u64 b\n!l3 nonsense"),
    ("dynamic_events", "s:d1 u64 a"),
    ("dynamic_events", "p:k1 vfs_read"),
    ("dynamic_events", "s:synthetic/d2 u64 a; char b[16]"),
    ("dynamic_events", "p:k2 vfs_write"),
    ("dynamic_events", "-:d1"),
    ("dynamic_events", "s:d1 long a[]"),
    ("dynamic_events", "!s:d1"),
    ("dynamic_events", "-:synthetic/d2 whatever"),
    ("dynamic_events", "p:twice vfs_read"),
    ("dynamic_events", "s:twice u64 a"),
    ("dynamic_events", "-:twice"),
    ("synthetic_events", "!lat"),
    ("kprobe_events", "-:k1"),
];

fn right_texts(context: &Context) -> Check {
    let (own, reference) = tops(context);
    let trees = [&own, &reference];
    let cleared = NoneDefined(trees);
    cleared.clear();
    let mut report = Report::default();
    for (file, text) in RIGHT {
        let taken = compare(&mut report, trees, file, text)?;
        report.expect(taken, || format!("{text:?}: tracefs refuses it"));
        let both = (
            formats(&own, "synthetic")?,
            formats(&reference, "synthetic")?,
        );
        report.expect(both.0 == both.1, || {
            format!("{text}: formats {:#?}, in tracefs {:#?}", both.0, both.1)
        });
    }
    for tree in trees {
        ensure_eq!(tree.write_truncating("synthetic_events", b""), Ok(0), ">");
    }
    compare(&mut report, trees, "dynamic_events", "")?;
    let left = own.get("dynamic_events")?;
    report.expect(left == "p:kprobes/k2 vfs_write\n", || {
        format!("left of all: {left:?}")
    });
    report.expect(!own.exists("events/synthetic"), || {
        "events/synthetic is left".into()
    });
    report.finish()
}

/// Lines of `synthetic_events` that are refused.
const WRONG: &[&str] = &[
    "e",
    "e u64",
    "e;u64 a",
    "e; u64 a b c",
    ";",
    "e\u{b}u64\u{b}a",
    "1e u64 a",
    "e-f u64 a",
    "e.f u64 a",
    "there u64 a",
    "there u64",
    "there nonsense a",
    "e s33 a",
    "e u64 a; s33 b",
    "e u64 a b",
    "e u64 a; u64",
    "e u64 a; b",
    "e u64 1a",
    "e u64 a-b",
    "e u64 [4]",
    "e u64 a[4]",
    "e u64[4] a",
    "e short a",
    "e unsigned short a",
    "e unsigned a",
    "e u64 a; unsigned",
    "e u64 a; unsigned int",
    "e unsigned u64 a",
    "e unsigned unsigned a b",
    "e char a[257]",
    "e char a[1234]",
    "e char a[0x10]",
    "e char a[1",
    "e char a]",
    "e char a[1]b",
    "e char a[b]",
    "e char a[-1]",
    "e char[4] a[5]",
    "e char[257] a",
    "e char[4]] a",
    "e u64 a; ; u3 b",
    "e __data_loc char[] a",
    "e string a",
    "uu uu u",
    "!",
    "!nosuch",
    "!there;",
    "! there",
    "-:there",
    "s:e u64 a",
];

/// Those of `dynamic_events`.
const WRONG_DYNAMIC: &[&str] = &[
    "s:e",
    "s:e u64",
    "s: u64 a b",
    "s:synthetic/ u64 a b",
    "s:other/e u64 a",
    "s:e u64 a/b",
    "s:1e u64 a",
    "s:!e u64 a",
    "s:synthetic/e s u64 a",
    "s:there u64 a",
    "s:e;",
    "s",
    "-:nosuch",
    "-:synthetic/",
    "-:synthetic/nosuch",
    "-:other/there",
    "!there",
    "!s:nosuch",
];

fn wrong_texts(context: &Context) -> Check {
    let (own, reference) = tops(context);
    let trees = [&own, &reference];
    let cleared = NoneDefined(trees);
    cleared.clear();
    let mut report = Report::default();
    compare(&mut report, trees, "synthetic_events", "there u64 a")?;
    for (file, lines) in [
        ("synthetic_events", WRONG),
        ("dynamic_events", WRONG_DYNAMIC),
    ] {
        for line in lines {
            let taken = compare(&mut report, trees, file, line)?;
            report.expect(!taken, || format!("{line:?}: tracefs takes it"));
        }
    }
    let fields = |count: usize| -> String {
        let fields: Vec<_> = (0..count).map(|at| format!("u8 f{at}")).collect();
        fields.join("; ")
    };
    for (text, right) in [
        (format!("most {}", fields(64)), true),
        (format!("many {}", fields(65)), false),
        (format!("long u64 {}", "x".repeat(4090)), false),
        // Lines before the first wrong one stay.
        ("first u64 a\nsecond x\nthird u64 a".to_string(), false),
    ] {
        let taken = compare(&mut report, trees, "synthetic_events", &text)?;
        report.expect(taken == right, || {
            format!("{text:.30}: tracefs says {taken}")
        });
    }
    report.finish()
}

/// Filters, right and wrong.
const FILTERS: &[&str] = &[
    "lat > 5",
    "small < 0",
    "small == -5",
    "fix == \"abc\"",
    "fix ~ \"a*\"",
    "dyn == \"abc\" || dyn ~ \"*c\"",
    "gf & 0xcc0",
    "stack == 1",
    "stack ~ \"a\"",
    "fix == 1",
    "lat == \"abc\"",
    "nosuch == 1",
    "common_pid == 1 && common_stacktrace == 1",
];

/// The same filters of the same event.
fn filters(context: &Context) -> Check {
    let (own, reference) = tops(context);
    let trees = [&own, &reference];
    let cleared = NoneDefined(trees);
    cleared.clear();
    let mut report = Report::default();
    for tree in trees {
        let line = "ev s64 lat; s8 small; char fix[16]; char dyn[]; gfp_t gf; long stack[]";
        tree.set("synthetic_events", line)?;
    }
    for filter in FILTERS {
        let text = filter.as_bytes();
        super::filter::compare(&mut report, &own, &reference, "synthetic/ev", text);
    }
    for tree in trees {
        let _ = tree.write("events/synthetic/ev/filter", b"0");
    }
    for trigger in [
        "hist:keys=lat:vals=small",
        "hist:keys=fix:sort=fix",
        "hist:keys=dyn",
        "traceoff:1 if lat > 5",
    ] {
        let file = "events/synthetic/ev/trigger";
        let answers = trees.map(|tree| tree.write(file, trigger.as_bytes()));
        report.expect(answers[0] == answers[1], || {
            format!("{trigger}: {:?}, tracefs {:?}", answers[0], answers[1])
        });
        let busy = trees.map(|tree| tree.write("synthetic_events", b"!ev"));
        report.expect(busy == [Err(EBUSY); 2], || {
            format!("{trigger}: removed: {busy:?}")
        });
        let texts = (own.get(file)?, reference.get(file)?);
        report.expect(texts.0 == texts.1, || format!("{trigger}: {texts:?}"));
        for tree in trees {
            tree.set(file, &format!("!{trigger}"))?;
        }
    }
    report.finish()
}

/// Definitions that are in use stay; what is removed is gone in every instance; an event of another layout has
/// another id.
fn life(context: &Context) -> Check {
    let (own, reference) = tops(context);
    let cleared = NoneDefined([&own, &reference]);
    cleared.clear();
    let before = Instance::new(&context.root, "synthetic-before")?;
    own.set("synthetic_events", "life u64 a\nother u64 a")?;
    let after = Instance::new(&context.root, "synthetic-after")?;
    let id = own.get("events/synthetic/life/id")?;
    for tree in [&*before, &*after] {
        ensure_eq!(tree.get("events/synthetic/life/id")?, id, "id");
        ensure_eq!(tree.get("events/synthetic/life/enable")?, "0\n", "enable");
    }
    ensure!(
        own.get("available_events")?.contains("synthetic:life\n"),
        "not in available_events"
    );

    // In use: enabled, or attached for a trigger.
    before.set("set_event", "synthetic:life")?;
    ensure_eq!(before.get("set_event")?, "synthetic:life\n", "set_event");
    let busy = || -> Check {
        ensure_eq!(own.write("synthetic_events", b"!life"), Err(EBUSY), "!life");
        ensure_eq!(own.write("dynamic_events", b"-:life"), Err(EBUSY), "-:life");
        for file in LISTS {
            ensure_eq!(own.write_truncating(file, b""), Err(EBUSY), "{file}");
            ensure_eq!(own.get("synthetic_events")?.lines().count(), 2, "{file}");
        }
        Ok(())
    };
    busy()?;
    before.set("events/synthetic/life/enable", "0")?;
    after.set("events/synthetic/life/trigger", "hist:keys=a")?;
    busy()?;
    after.set("events/synthetic/life/trigger", "!hist:keys=a")?;

    before.set("events/synthetic/life/filter", "a == 2")?;
    let open = own.open("events/synthetic/life/format");
    own.set("synthetic_events", "!life")?;
    drop(open);
    for tree in [&own, &*before, &*after] {
        ensure!(!tree.exists("events/synthetic/life"), "the folder is left");
        ensure!(tree.exists("events/synthetic/other"), "the other is gone");
    }
    ensure_eq!(
        before.write("set_event", b"synthetic:life"),
        Err(EINVAL),
        "gone"
    );
    own.set("synthetic_events", "life u64 a; u64 b")?;
    ensure!(
        own.get("events/synthetic/life/id")? != id,
        "the same id for another layout"
    );
    ensure_eq!(
        before.get("events/synthetic/life/filter")?,
        "none\n",
        "the filter of another event"
    );
    ensure_eq!(own.write_truncating("synthetic_events", b""), Ok(0), ">");
    ensure!(!own.exists("events/synthetic"), "the system is left");
    before.remove()?;
    after.remove()
}
