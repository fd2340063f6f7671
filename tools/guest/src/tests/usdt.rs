// SPDX-License-Identifier: GPL-2.0

//! Statically defined probes of programs, by their names. The test itself has one, at two places. ftrace takes offsets
//! alone.

use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

pub const TESTS: &[Test] = &[
    test("uprobe.static", 60, places),
    test("uprobe.static_words", 60, words),
];

const FILE: &str = "uprobe_events";

/// Counts the users of the probe.
#[link_section = ".probes"]
static USERS: AtomicU16 = AtomicU16::new(0);

/// A place of the probe `rtguest:marked`.
macro_rules! marked {
    ($number:expr, $small:expr, $text:expr) => {
        // SAFETY: An instruction that does nothing; the rest is in sections that no program loads.
        unsafe {
            std::arch::asm!(
                "990: nop",
                ".pushsection .note.stapsdt, \"\", @note",
                ".balign 4",
                ".4byte 992f-991f, 994f-993f, 3",
                "991: .asciz \"stapsdt\"",
                "992: .balign 4",
                "993: .8byte 990b",
                ".8byte 0",
                ".8byte {users}",
                ".asciz \"rtguest\"",
                ".asciz \"marked\"",
                ".asciz \"8@%rdi -4@%esi 8@%r9 -4@\\044-7\"",
                "994: .balign 4",
                ".popsection",
                users = sym USERS,
                in("rdi") $number,
                in("esi") $small,
                in("r9") $text,
                options(nostack, preserves_flags),
            );
        }
    };
}

const TEXT: &[u8; 5] = b"text\0";

#[inline(never)]
fn first(number: u64) {
    marked!(number, -6i32, TEXT.as_ptr());
}

#[inline(never)]
fn second(number: u64) {
    marked!(number + 1, i32::MAX, TEXT.as_ptr());
}

/// The file of this program.
fn program() -> Check<String> {
    let path = std::env::current_exe().map_err(|e| e.to_string())?;
    Ok(path.display().to_string())
}

fn top(context: &Context) -> Check<Tree> {
    if !context.is_rtracefs() {
        skip!("tracefs takes offsets alone");
    }
    if !sys::has_uprobes() {
        skip!("no events in programs");
    }
    Ok(Tree::at(&context.root))
}

/// Each place is hit, with the arguments where it has them, and its program sees that it is.
fn places(context: &Context) -> Check {
    let top = top(context)?;
    let mut report = Report::default();
    let path = program()?;
    top.empty(FILE)?;
    top.set(
        FILE,
        &format!("p:rtg/marked {path}@rtguest:marked n=$arg1 $arg2 s=+0($arg3):ustring seven=$arg4 x=$arg1:x8"),
    )?;
    let shown = top.get(FILE)?;
    report.expect(
        shown.lines().count() == 2
            && shown.lines().all(|line| {
                line.starts_with(&format!("p:rtg/marked {path}:0x"))
                    && line.ends_with(
                        ") n=%di:u64 arg2=%si:s32 s=+0(%r9):ustring seven=\\-7:s32 x=%di:x8",
                    )
            }),
        || shown.clone(),
    );
    let users = || USERS.load(Relaxed);
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("set_event_pid", &sys::thread_id().to_string())?;
    let before = users();
    own.set("events/rtg/marked/enable", "1")?;
    let during = users();
    first(5);
    second(16);
    first(0);
    own.set("events/rtg/marked/enable", "0")?;
    first(1);
    report.expect((before, during, users()) == (0, 2, 0), || {
        format!("{before}, {during}, {} users", users())
    });
    let text = own.get("trace")?;
    let lines = text.lines().filter_map(|line| line.split_once(") n="));
    let lines: Vec<_> = lines.map(|(_, rest)| rest).collect();
    report.expect(
        lines
            == [
                "5 arg2=-6 s=\"text\" seven=-7 x=0x5",
                "17 arg2=2147483647 s=\"text\" seven=-7 x=0x11",
                "0 arg2=-6 s=\"text\" seven=-7 x=0x0",
            ],
        || text.clone(),
    );
    own.remove()?;
    top.set(FILE, "-:rtg/marked")?;
    report.expect(top.get(FILE)?.is_empty(), || "still there".into());
    // With the names that it gets by itself.
    top.set(FILE, &format!("p {path}@rtguest:marked $arg2"))?;
    let shown = top.get(FILE)?;
    report.expect(
        shown.lines().all(|line| {
            line.starts_with("p:sdt_rtguest/marked /") && line.ends_with(" arg1=%si:s32")
        }),
        || shown.clone(),
    );
    top.set(FILE, "-:sdt_rtguest/marked")?;
    report.finish()
}

/// What is refused, and where; nothing of it stays.
fn words(context: &Context) -> Check {
    let top = top(context)?;
    let mut report = Report::default();
    let path = program()?;
    top.empty(FILE)?;
    let probe = format!("{path}@rtguest:marked");
    let rows = [
        (format!("p {path}@rtguest:nosuch"), EINVAL, "nosuch"),
        (format!("p {path}@nosuch:marked"), EINVAL, "marked"),
        ("p /nosuch@rtguest:marked".to_string(), ENOENT, "/nosuch"),
        ("p /etc@rtguest:marked".to_string(), EINVAL, "/etc"),
        (format!("p {probe} a=$arg5"), EINVAL, "$arg5"),
        (format!("p {probe} a=$arg1 b=$arg0"), EINVAL, "$arg0"),
        (format!("p {probe} a=$arg1 b=%nosuch"), EINVAL, "%nosuch"),
        (format!("p {probe} a=$arg1 a=$arg2"), EINVAL, "a=$arg2"),
    ];
    for (line, errno, word) in rows {
        top.empty("error_log")?;
        let refused = top.write(FILE, line.as_bytes());
        let log = top.get("error_log")?;
        let caret = log.lines().last().and_then(|line| line.find('^'));
        let command = log.lines().find(|line| line.contains("  Command: "));
        let at = command.and_then(|command| command.find(word));
        report.expect(refused == Err(errno) && at.is_some() && caret == at, || {
            format!("{line}: {refused:?}\n{log}")
        });
        report.expect(top.get(FILE)?.is_empty(), || {
            format!("{line}: {:?}", top.get(FILE))
        });
    }
    top.empty("error_log")?;
    report.finish()
}
