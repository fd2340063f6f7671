// SPDX-License-Identifier: GPL-2.0

//! One event that a user has defined, measured inside the kernel; in a program, with what the kernel does for it.

use super::inside::{asked, pair, sides, Windows, CONTEXTS, FIRST};
use super::kernel::{Cost, Kernel};
use super::outside;
use super::table::{Row, Table};
use crate::check::Check;
use crate::program::{Program, SUM, TEXT, WORD};
use crate::sys;
use crate::tree::Instance;
use crate::Context;
use std::fs;
use std::time::Duration;

const FILE: &str = "dynamic_events";

/// Name, row of rtbench, definition.
const ROWS: &[(&str, &str, &str)] = &[
    ("p", "call", "p:bench/hit rtbench_function"),
    (
        "p, two numbers",
        "call",
        "p:bench/hit rtbench_function a=%di b=%si:u32",
    ),
    (
        "p, a string of 24 bytes",
        "call",
        "p:bench/hit rtbench_function s=@rtbench_text:string",
    ),
    (
        "p, a string",
        "call",
        "p:bench/hit rtbench_function s=@linux_proc_banner:string",
    ),
    ("r", "call", "r:bench/hit rtbench_function"),
    ("f", "call", "f:bench/hit rtbench_function"),
    (
        "f, two numbers",
        "call",
        "f:bench/hit rtbench_function a=$arg1 b=$arg2:u32",
    ),
    ("f%return", "call", "f:bench/hit rtbench_function%return"),
    (
        "f%return, a parameter",
        "call",
        "f:bench/hit rtbench_function%return a=$arg1 v=$retval",
    ),
    ("t", "event", "t:bench/hit rtbench_event"),
    (
        "t, two numbers",
        "event",
        "t:bench/hit rtbench_event a=$arg1:u32 b=$arg2",
    ),
    (
        "t, a string",
        "event",
        "t:bench/hit rtbench_event s=@linux_proc_banner:string",
    ),
    ("e", "event", "e:bench/hit rtbench/rtbench_event"),
    (
        "e, two numbers",
        "event",
        "e:bench/hit rtbench/rtbench_event a=$number b=$value",
    ),
];

/// Name and definition of those behind the beginning of a function, where the kernel has a jump or a trap.
const INSIDE_ROWS: &[(&str, &str)] = &[
    ("p behind the beginning", "p:bench/hit rtbench_inside+16"),
    (
        "p behind the beginning, two numbers",
        "p:bench/hit rtbench_inside+16 a=%di b=%si:u32",
    ),
];
/// Says of each kprobe whether there is a jump, and whether there may be some.
const KPROBES: &str = "/sys/kernel/debug/kprobes/list";
const MAY_JUMP: &str = "/proc/sys/debug/kprobes-optimization";

/// The same of what ftrace does not have.
const OWN_ROWS: &[(&str, &str, &str)] = &[
    (
        "r, how long",
        "call",
        "r:bench/hit rtbench_function ns=$latency",
    ),
    (
        "f%return, how long",
        "call",
        "f:bench/hit rtbench_function%return ns=$latency",
    ),
    (
        "p, two numbers, its `if` false",
        "call",
        "p:bench/hit rtbench_function a=%di b=%si:u32 if b == 0xfffffff7",
    ),
    (
        "p, two numbers, its `if` true",
        "call",
        "p:bench/hit rtbench_function a=%di b=%si:u32 if b != 0xfffffff7",
    ),
];

/// Name, function of the program, the letter of the definition and its arguments.
const USER_ROWS: &[(&str, usize, &str, &str)] = &[
    ("u, a nop", SUM, "p", ""),
    ("u, a nop, two numbers", SUM, "p", " a=%di b=%si:u32"),
    ("u, a push, a string", WORD, "p", " a=+0(%si):string"),
    ("u%return", SUM, "r", ""),
];

/// The cost of a call of a function of a program, with the event that `line` defines.
fn cost_of_user(program: &Program, tree: &Instance, function: usize, line: &str) -> Check<f64> {
    let top = tree.top();
    top.set(FILE, line)?;
    tree.set("events/bench/hit/enable", "1")?;
    let text = program.address(TEXT);
    let work = || {
        program.call(function, [1, text, 0]);
    };
    let cost = outside::cost(|| tree.clear(), work);
    tree.set("events/bench/hit/enable", "0")?;
    top.set(FILE, "-:bench/hit")?;
    cost
}

/// The cost of the event that `line` defines.
fn cost_of(kernel: &Kernel, tree: &Instance, row: &str, short: &str, line: &str) -> Check<Cost> {
    cost_when(kernel, tree, (row, short, line), || Ok(()))
}

/// The same, when `ready` returns after it was enabled.
fn cost_when(
    kernel: &Kernel,
    tree: &Instance,
    (row, short, line): (&str, &str, &str),
    ready: impl FnOnce() -> Check,
) -> Check<Cost> {
    while_enabled(tree, line, || {
        ready()?;
        kernel.cost(asked(row, short, FIRST), || tree.clear())
    })
}

/// Returns what `f` does while the event that `line` defines is enabled.
fn while_enabled<T>(tree: &Instance, line: &str, f: impl FnOnce() -> Check<T>) -> Check<T> {
    let top = tree.top();
    top.set(FILE, line)?;
    tree.set("events/bench/hit/enable", "1")?;
    let result = f();
    tree.set("events/bench/hit/enable", "0")?;
    top.set(FILE, "-:bench/hit")?;
    result
}

/// Returns when the kprobe in `rtbench_inside` is a jump, or a trap, as `jump` says.
fn wait_for(jump: bool) -> Check {
    let is_so = || {
        let list = fs::read_to_string(KPROBES).unwrap_or_default();
        let mut lines = list.lines();
        let line = lines.find(|line| line.contains("rtbench_inside"));
        line.is_some_and(|line| line.contains("[OPTIMIZED]") == jump)
    };
    ensure!(
        sys::wait_until(Duration::from_secs(20), is_so),
        "{KPROBES}: the probe is not as wanted, jump {jump}"
    );
    Ok(())
}

/// Measures kprobes behind the beginning of a function, first with a jump there and then with a trap.
fn measure_inside(kernel: &Kernel, sides: &(Instance, Instance), table: &mut Table) -> Check {
    for (jump, how) in JUMP_OR_TRAP {
        allow_jumps(jump)?;
        for (name, line) in INSIDE_ROWS {
            let name = format!("{name}, {how}");
            for &(short, long) in CONTEXTS {
                let cost =
                    |tree| cost_when(kernel, tree, ("inside", short, line), || wait_for(jump));
                table.add(pair(&name, long, cost(&sides.0)?, cost(&sides.1)?));
            }
        }
    }
    allow_jumps(true)
}

const JUMP_OR_TRAP: [(bool, &str); 2] = [(true, "a jump"), (false, "a trap")];

/// Has the kernel make jumps of kprobes, or none.
fn allow_jumps(allowed: bool) -> Check {
    fs::write(MAY_JUMP, if allowed { "1" } else { "0" })
        .map_err(|error| format!("{MAY_JUMP}: {error}"))
}

/// Runs each row once, of ftrace and of rtrace; as [`inside::windows`](super::inside::windows).
pub fn windows(context: &Context) -> Check<String> {
    let kernel = Kernel::load()?;
    let sides = sides(context)?;
    let mut windows = Windows::of(&kernel)?;
    let both = [("ftrace", &sides.0), ("rtrace", &sides.1)];
    for &(name, row, line) in ROWS {
        for (side, tree) in both {
            while_enabled(tree, line, || windows.run(row, &format!("{side}, {name}")))?;
        }
    }
    for (jump, how) in JUMP_OR_TRAP {
        allow_jumps(jump)?;
        for (name, line) in INSIDE_ROWS {
            for (side, tree) in both {
                while_enabled(tree, line, || {
                    wait_for(jump)?;
                    windows.run("inside", &format!("{side}, {name}, {how}"))
                })?;
            }
        }
    }
    allow_jumps(true)?;
    Ok(windows.text)
}

/// Measures each kind, without and with arguments.
pub fn measure(context: &Context, table: &mut Table) -> Check {
    let kernel = Kernel::load()?;
    let sides = sides(context)?;
    table.begin(
        "dynamic",
        "one event that a user has defined, the loop included: instructions",
    );
    for &(name, row, line) in ROWS {
        for &(short, long) in CONTEXTS {
            let ftrace = cost_of(&kernel, &sides.0, row, short, line)?;
            let rtrace = cost_of(&kernel, &sides.1, row, short, line)?;
            table.add(pair(name, long, ftrace, rtrace));
        }
    }
    measure_inside(&kernel, &sides, table)?;
    for &(name, row, line) in OWN_ROWS {
        for &(short, long) in CONTEXTS {
            let rtrace = cost_of(&kernel, &sides.1, row, short, line)?;
            table.add(Row::new(name).context(long).own(rtrace.each()));
        }
    }
    if !sys::has_uprobes() {
        return Ok(());
    }
    let program = Program::new("rtg-bench")?;
    let path = program.path.display();
    for &(name, function, letter, arguments) in USER_ROWS {
        let line = format!("{letter}:bench/hit {path}:{function}{arguments}");
        let ftrace = cost_of_user(&program, &sides.0, function, &line)?;
        let rtrace = cost_of_user(&program, &sides.1, function, &line)?;
        table.add(Row::new(name).context("task").both(ftrace, rtrace));
    }
    Ok(())
}
