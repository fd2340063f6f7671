// SPDX-License-Identifier: GPL-2.0

//! Filters as texts: what is taken, what is refused, with which error, what the file and `error_log`
//! show afterwards. Every write goes to an instance of the kernel's tracefs, too, and must be
//! answered as there.

use super::{pair, same, test, Test};
use crate::check::{Check, Report};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;

pub const TESTS: &[Test] = &[
    test("filter.right_texts", 60, right_texts),
    test("filter.wrong_texts", 60, wrong_texts),
    test("filter.long_texts", 30, long_texts),
    test("filter.systems", 60, systems),
    test("filter.error_log", 30, error_log),
    test("filter.instances", 30, instances),
];

pub const SWITCH: &str = "sched/sched_switch";
pub const HANDLER: &str = "irq/irq_handler_entry";
pub const SOFTIRQ: &str = "irq/softirq_entry";
const TIMER: &str = "timer/hrtimer_start";
const ENTER: &str = "raw_syscalls/sys_enter";
const WORK: &str = "workqueue/workqueue_queue_work";
const SIGNAL: &str = "signal/signal_generate";

/// Event, filter.
const RIGHT: &[(&str, &str)] = &[
    (SWITCH, "prev_pid == 0"),
    (SWITCH, "prev_pid==0"),
    (SWITCH, "  prev_pid\t== 0  \n"),
    (SWITCH, "prev_pid != -1"),
    (SWITCH, "prev_pid < 100 && next_pid >= 100"),
    (SWITCH, "prev_pid<100||next_pid>=0x64"),
    (SWITCH, "!(prev_pid > 5)"),
    (SWITCH, "!!prev_pid > 5"),
    (SWITCH, "!prev_pid > 5"),
    (
        SWITCH,
        "((prev_pid == 1)) && (next_pid == 2 || !(next_pid == 3))",
    ),
    (SWITCH, "prev_comm == \"bash\""),
    (SWITCH, "prev_comm != 'bash'"),
    (SWITCH, "prev_comm ~ \"*sh\" || next_comm ~ \"kworker/*\""),
    (SWITCH, "prev_comm ~ \"!*sh*\""),
    (SWITCH, "prev_comm ~ \"[a-c]?*\\\\x\""),
    (SWITCH, "prev_comm ~ \"\""),
    (SWITCH, "prev_comm == \"\""),
    (SWITCH, "prev_comm == \"it's\" && next_comm == 'a \"b'"),
    (SWITCH, "prev_state & 1"),
    (SWITCH, "prev_state == CPUS{0-1}"),
    (SWITCH, "prev_state.function == schedule"),
    (
        SWITCH,
        "common_pid > 0 && common_flags & 1 && common_preempt_count == 0",
    ),
    (SWITCH, "common_type == 5"),
    (SWITCH, "CPU == 0"),
    (SWITCH, "cpu >= 1"),
    (SWITCH, "common_cpu & 1"),
    (SWITCH, "cpu & CPUS{0}"),
    (SWITCH, "CPU != CPUS{0-1}"),
    (SWITCH, "COMM == \"init\""),
    (SWITCH, "comm ~ \"r*\""),
    (SWITCH, "stacktrace == 5"),
    (SWITCH, "prev_pid.ustring == 5"),
    (SWITCH, "prev_pid == 0777"),
    (SWITCH, "prev_pid == 9223372036854775807"),
    (SWITCH, "prev_pid == -9223372036854775808"),
    (SWITCH, "0"),
    (HANDLER, "irq == 5 || name == \"ata\""),
    (HANDLER, "name ~ \"*a*\""),
    (HANDLER, "irq != CPUS{0-1,1}"),
    (SOFTIRQ, "vec == 7"),
    (SOFTIRQ, "vec & 0xf0"),
    (SOFTIRQ, "vec == 18446744073709551615"),
    (TIMER, "function.function == hrtick"),
    (TIMER, "function.function != schedule && softexpires > 0"),
    (TIMER, " 0 "),
    (ENTER, "id == 1 || id == 39"),
    (ENTER, "args == 5"),
    (WORK, "workqueue == \"events\" && cpu == 1"),
    (WORK, "workqueue ~ \"*unbound*\" || req_cpu & CPUS{all}"),
    (WORK, "req_cpu == CPUS{0-N:1/2}"),
    (SIGNAL, "comm == \"x\" && pid > 1 && sig != 17"),
];

const WRONG: &[(&str, &str)] = &[
    (SWITCH, ""),
    (SWITCH, " "),
    (SWITCH, "\n"),
    (SWITCH, "1"),
    (SWITCH, "00"),
    (SWITCH, "prev_pid"),
    (SWITCH, "prev_pid =="),
    (SWITCH, "prev_pid == "),
    (SWITCH, "== 0"),
    (SWITCH, "nosuch == 0"),
    (SWITCH, "prev_pid == 0 && nosuch == 0"),
    (SWITCH, "prev_pid == nosuch"),
    (SWITCH, "prev_pid == 0x"),
    (SWITCH, "prev_pid == 08"),
    (SWITCH, "prev_pid == 1x"),
    (SWITCH, "prev_pid == -"),
    (SWITCH, "prev_pid == --1"),
    (SWITCH, "prev_pid == +1"),
    (SWITCH, "prev_pid == 9223372036854775808"),
    (SWITCH, "prev_pid == 0000000000000000000000001"),
    (SWITCH, "prev_pid = 0"),
    (SWITCH, "prev_pid === 0"),
    (SWITCH, "prev_pid ! 0"),
    (SWITCH, "prev_pid ~ 0"),
    (SWITCH, "prev_pid !~ \"a\""),
    (SWITCH, "prev_pid == \"0\""),
    (SWITCH, "prev_comm == 0"),
    (SWITCH, "prev_comm < \"a\""),
    (SWITCH, "prev_comm & \"a\""),
    (SWITCH, "prev_comm == bash"),
    (SWITCH, "prev_comm == \"bash"),
    (SWITCH, "prev_comm == \"bash'"),
    (SWITCH, "prev_comm == bash\""),
    (SWITCH, "prev_comm == CPUS{0}"),
    (SWITCH, "(prev_pid == 0"),
    (SWITCH, "(prev_pid == 0 && (next_pid == 0)"),
    (SWITCH, "prev_pid == 0)"),
    (SWITCH, "prev_pid == 0 && (next_pid == 0))"),
    (SWITCH, "()"),
    (SWITCH, "(())"),
    (SWITCH, "!"),
    (SWITCH, "!!"),
    (SWITCH, "!()"),
    (SWITCH, ")("),
    (SWITCH, "prev_pid == 0 &&"),
    (SWITCH, "prev_pid == 0 || "),
    (SWITCH, "&& prev_pid == 0"),
    (SWITCH, "prev_pid == 0 && && next_pid == 0"),
    (SWITCH, "prev_pid == 0 &&& next_pid == 0"),
    (SWITCH, "prev_pid == 0 & next_pid == 0"),
    (SWITCH, "prev_pid == 0 | next_pid == 0"),
    (SWITCH, "prev_pid == 0 next_pid == 0"),
    (SWITCH, "prev_pid == 0 ! next_pid == 0"),
    (SWITCH, "prev_pid == 0 (next_pid == 0)"),
    (SWITCH, "(prev_pid == 0) next_pid == 0"),
    (SWITCH, "prev_pid == 0 && !"),
    (SWITCH, "prev_state == CPUS"),
    (SWITCH, "prev_state == CPUS{"),
    (SWITCH, "prev_state == CPUS{}"),
    (SWITCH, "prev_state == CPUS{0"),
    (SWITCH, "prev_state == CPUS {0}"),
    (SWITCH, "prev_state == CPUS{x}"),
    (SWITCH, "prev_state == CPUS{99999}"),
    (SWITCH, "prev_state < CPUS{0}"),
    (SWITCH, "stacktrace == CPUS{0}"),
    (SWITCH, "prev_state.function == nosuch"),
    (SWITCH, "prev_state.function < schedule"),
    (SWITCH, "prev_state.function == \"schedule\""),
    (SWITCH, "prev_state.function == 0"),
    (SWITCH, "prev_state.function == 0xzz"),
    (SWITCH, "prev_state.function =="),
    (SWITCH, "prev_pid.function == schedule"),
    (SWITCH, "prev_pid.nosuch == 0"),
    (SWITCH, "CPU ~ \"0\""),
    (SWITCH, "CPU == \"0\""),
    (SWITCH, "COMM == 0"),
    (SWITCH, "COMM > \"a\""),
    (SWITCH, "common_pid == \"a\""),
    (SWITCH, "prev_pid == 0;"),
    (SWITCH, "\u{e9} == 0"),
    (SWITCH, "prev_pid\u{a0}== 0"),
    (SWITCH, "a.b == 0"),
    (SOFTIRQ, "vec == -1"),
    (SOFTIRQ, "vec & CPUS{}}"),
    (SWITCH, "COMM.function == schedule"),
    (SWITCH, "prev_state.function != 1"),
    (HANDLER, "name == 5"),
    (HANDLER, "irq == \"a\""),
    (ENTER, "args == \"a\""),
];

/// The length from which tracefs leaves parts out.
const MOST_SHOWN: usize = 8000;

/// Returns a text without the stamps, which two trees do not share.
pub fn log_of(tree: &Tree) -> Check<String> {
    let text = tree.get("error_log")?;
    let lines = text.lines().map(|line| match line.split_once("] ") {
        Some((stamp, rest)) if stamp.starts_with('[') => format!("[] {rest}\n"),
        _ => format!("{line}\n"),
    });
    Ok(lines.collect())
}

/// One filter for both: the same answer, the same texts.
pub fn compare(
    report: &mut Report,
    own: &Tree,
    reference: &Tree,
    event: &str,
    text: &[u8],
) -> bool {
    let file = format!("events/{event}/filter");
    let answers = (own.write(&file, text), reference.write(&file, text));
    let what = || {
        let shown = text.escape_ascii().to_string();
        format!("{event} <- {:.100}", shown)
    };
    report.expect(answers.0 == answers.1, || {
        format!("{}: {:?}, tracefs {:?}", what(), answers.0, answers.1)
    });
    let texts = (own.get(&file), reference.get(&file));
    // tracefs shows no more than two pages, less what does not fit as a whole.
    let fits = texts.0.as_ref().is_ok_and(|text| text.len() < MOST_SHOWN);
    report.expect(texts.0 == texts.1 || !fits, || {
        format!("{}: reads {:?}, tracefs {:?}", what(), texts.0, texts.1)
    });
    answers.1.is_ok()
}

/// Whether a filter asks for a function by its name.
pub fn names_function(text: &str) -> bool {
    let value = |rest: &str| rest.trim_start_matches(['=', '!', ' ']).to_string();
    text.split(".function")
        .skip(1)
        .any(|rest| !value(rest).starts_with(|c: char| c.is_ascii_digit()))
}

fn table(context: &Context, rows: &[(&str, &str)], right: bool) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let by_name = !right || sys::finds_functions();
    for (event, text) in rows.iter().filter(|row| by_name || !names_function(row.1)) {
        let taken = compare(&mut report, &own, &reference, event, text.as_bytes());
        report.expect(taken == right, || {
            format!("{event} <- {text:?}: tracefs says {taken}")
        });
        let logs = (log_of(&own)?, log_of(&reference)?);
        report.expect(logs.0 == logs.1, || {
            format!(
                "{event} <- {text:?}: error_log {:?}, tracefs {:?}",
                logs.0, logs.1
            )
        });
    }
    report.finish()
}

fn right_texts(context: &Context) -> Check {
    let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let address = symbols
        .lines()
        .find_map(|line| line.strip_suffix(" T schedule"));
    let Some(address) = address else {
        fail!("no schedule() in /proc/kallsyms")
    };
    let inside = format!("prev_state.function != 0x{address}");
    table(context, &[RIGHT, &[(SWITCH, &inside)]].concat(), true)
}

fn wrong_texts(context: &Context) -> Check {
    table(context, WRONG, false)
}

/// Texts of all lengths around the limits: of a write, of a string, of a number, of parentheses.
fn long_texts(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let mut texts: Vec<String> = Vec::new();
    for len in [254, 255, 256, 257] {
        texts.push(format!("prev_comm == \"{}\"", "x".repeat(len)));
        texts.push(format!("prev_comm ~ \"*{}*\"", "x".repeat(len - 2)));
    }
    for len in [4094, 4095, 4096, 5000, 70_000] {
        texts.push(format!("prev_pid == 1{}", " ".repeat(len - 13)));
        texts.push(format!("{}prev_pid == 1", " ".repeat(len - 13)));
        texts.push("x".repeat(len));
        texts.push(format!("{0}prev_pid == 1{0}", "(".repeat((len - 13) / 2)));
        let depth = (len - 13) / 2;
        texts.push(format!(
            "{}prev_pid == 1{}",
            "(".repeat(depth),
            ")".repeat(depth)
        ));
        texts.push(format!("{}prev_pid == 1", "!".repeat(len - 13)));
        let count = (len + 2) / 14;
        texts.push(vec!["prev_pid == 1"; count].join("||")[..].into());
        let count = (len + 2) / 15;
        texts.push(vec!["prev_pid == 1"; count].join("&&")[..].into());
        texts.push(format!("prev_state & CPUS{{0{}}}", ",".repeat(len - 19)));
        texts.push(format!("prev_state.function == {}", "x".repeat(len - 23)));
    }
    for text in texts {
        compare(&mut report, &own, &reference, SWITCH, text.as_bytes());
        let logs = (log_of(&own)?, log_of(&reference)?);
        report.expect(logs.0 == logs.1, || {
            format!(
                "{text:.60}: error_log {:.200?}, tracefs {:.200?}",
                logs.0, logs.1
            )
        });
    }
    report.finish()
}

/// A filter for a system: some events take it, the others say that they do not.
fn systems(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let mut events = 0;
    for system in ["irq", "sched", "timer", "workqueue"] {
        let file = format!("events/{system}/filter");
        for text in [
            "irq == 5",
            "vec == 1",
            "common_pid == 0",
            "nosuch == 1",
            "pid > 1 && prio < 5",
            "0",
            "(",
            "COMM == 'x'",
            "pid == ",
            "",
            "0\n",
            "name ~ '*x'",
            " 0 ",
            "function.function == hrtick",
        ] {
            if names_function(text) && !sys::finds_functions() {
                continue;
            }
            let answers = (
                own.write(&file, text.as_bytes()),
                reference.write(&file, text.as_bytes()),
            );
            report.expect(answers.0 == answers.1, || {
                format!(
                    "{file} <- {text:?}: {:?}, tracefs {:?}",
                    answers.0, answers.1
                )
            });
            report.collect(same(&own, &reference, &file));
            let offered = own.list(&format!("events/{system}"))?;
            for event in offered {
                let file = format!("events/{system}/{event}/filter");
                if own.exists(&file) {
                    events += 1;
                    let result = same(&own, &reference, &file);
                    report.collect(result.map_err(|e| format!("{text:?}: {e}")));
                }
            }
        }
        // Every event has logged its error about the same text, so the last eight are alike.
        for tree in [&own, &reference] {
            tree.write_truncating("error_log", b"")
                .map_err(|e| format!("error_log: {e}"))?;
            tree.set(&file, "nosuch == 1")?;
        }
        report.collect(match (log_of(&own)?, log_of(&reference)?) {
            (found, wanted) if found == wanted => Ok(()),
            (found, wanted) => Err(format!("{system}: error_log {found:?}, tracefs {wanted:?}")),
        });
        for tree in [&own, &reference] {
            tree.set(&file, "0")?;
        }
    }
    println!("{events} filters compared");
    report.finish()
}

/// Emptied by truncation only, eight entries, the oldest go.
fn error_log(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let file = format!("events/{SWITCH}/filter");
    let mut report = Report::default();
    let mut look = |what: &str| -> Check {
        let logs = (log_of(&own)?, log_of(&reference)?);
        report.expect(logs.0 == logs.1, || {
            format!("{what}: error_log {:?}, tracefs {:?}", logs.0, logs.1)
        });
        Ok(())
    };
    look("at first")?;
    for count in 0..12 {
        for tree in [&own, &reference] {
            let _ = tree.write(&file, format!("nosuch{count} == 1").as_bytes());
        }
        look(&format!("after {count}"))?;
    }
    for tree in [&own, &reference] {
        tree.set("error_log", "not looked at")?;
    }
    look("after a write")?;
    for tree in [&own, &reference] {
        let taken = tree.write_truncating("error_log", b"x");
        ensure_eq!(taken, Ok(1), "truncating {}", tree.shown("error_log"));
        ensure_eq!(tree.get("error_log")?, "", "{}", tree.shown("error_log"));
    }
    look("after truncation")?;
    report.finish()
}

/// Each instance has its own, a new one has none.
fn instances(context: &Context) -> Check {
    let file = format!("events/{SWITCH}/filter");
    let one = Instance::new(&context.root, "rtg-one")?;
    one.set(&file, "prev_pid == 1")?;
    ensure!(one.write(&file, b"nosuch == 1").is_err(), "taken");
    let two = Instance::new(&context.root, "rtg-two")?;
    ensure_eq!(two.get(&file)?, "none\n", "a new instance");
    ensure_eq!(two.get("error_log")?, "", "error_log of a new instance");
    two.set(&file, "prev_pid == 2")?;
    ensure_eq!(one.top().get(&file)?, "none\n", "the top");
    let shown = "nosuch == 1\n       ^\nparse_error: Field not found\n\n";
    ensure_eq!(one.get(&file)?, shown, "the first instance");
    ensure_eq!(two.get(&file)?, "prev_pid == 2\n", "the second instance");
    one.remove()?;
    ensure_eq!(two.get(&file)?, "prev_pid == 2\n", "the second instance");
    let again = Instance::new(&context.root, "rtg-one")?;
    ensure_eq!(again.get(&file)?, "none\n", "the name used again");
    again.remove()?;
    two.remove()
}
