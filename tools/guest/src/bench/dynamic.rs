// SPDX-License-Identifier: GPL-2.0

//! One event that a user has defined, measured inside the kernel.

use super::inside::{asked, pair, sides, CONTEXTS, FIRST};
use super::kernel::{Cost, Kernel};
use super::table::Table;
use crate::check::Check;
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
    Ok(())
}
