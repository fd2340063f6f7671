// SPDX-License-Identifier: GPL-2.0

//! One event that a user has defined, measured inside the kernel; in a program, with what the kernel does for it.

use super::inside::{asked, pair, sides, CONTEXTS, FIRST};
use super::kernel::{Cost, Kernel};
use super::outside;
use super::table::{Row, Table};
use crate::check::Check;
use crate::program::{Program, SUM, TEXT, WORD};
use crate::sys;
use crate::tree::Instance;
use crate::Context;

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
    let top = tree.top();
    top.set(FILE, line)?;
    tree.set("events/bench/hit/enable", "1")?;
    let cost = kernel.cost(asked(row, short, FIRST), || tree.clear());
    tree.set("events/bench/hit/enable", "0")?;
    top.set(FILE, "-:bench/hit")?;
    cost
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
