// SPDX-License-Identifier: GPL-2.0

//! Whose calls the tracer `function_graph` records: `set_ftrace_pid` and `set_ftrace_notrace_pid`, beside
//! those of the kernel.

use super::graph::{forget, functions, getppid, record, seen, select, sides, FILTER, GETPPID};
use super::{test, Test};
use crate::check::{Check, Report};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;

pub const TESTS: &[Test] = &[test("graph.pids", 120, pids)];

const ONLY: &str = "set_ftrace_pid";
const NEVER: &str = "set_ftrace_notrace_pid";

/// Files with lists of tasks, and what is written to each.
type Lists<'a> = &'a [(&'a str, &'a str)];

/// Sets the lists, or drops them.
fn set(tree: &Tree, lists: Lists<'_>) -> Check {
    for file in [ONLY, NEVER] {
        // What is written is added to what is there.
        tree.empty(file)?;
        if let Some((_, pid)) = lists.iter().find(|list| list.0 == file) {
            tree.set(file, pid)?;
        }
    }
    Ok(())
}

/// The same lines for the same lists, also those of children; the lists count in either order with the tracer,
/// and each instance has its own.
fn pids(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    sys::pin_to(0);
    let functions = functions(&own.top())?;
    let me = sys::thread_id().to_string();
    let mut report = Report::default();
    // Whether it records anything, the lists, and the options.
    let rows: &[(bool, Lists<'_>, &[&str])] = &[
        (true, &[(ONLY, &me)], &[]),
        (true, &[(ONLY, &me)], &["function-fork"]),
        (true, &[(ONLY, &me)], &["funcgraph-args", "funcgraph-proc"]),
        (false, &[(ONLY, "99999999")], &[]),
        // The thread of the work.
        (true, &[(NEVER, &me)], &[]),
        (false, &[(NEVER, &me)], &["function-fork"]),
        (true, &[(NEVER, "99999999")], &[]),
        (false, &[(ONLY, &me), (NEVER, &me)], &[]),
        (true, &[(ONLY, &me), (NEVER, "99999999")], &[]),
    ];
    for (any, lists, options) in rows {
        for tree in [&own, &reference] {
            set(tree, lists)?;
        }
        record([&own, &reference], options, &functions)?;
        let (found, wanted) = (seen(&own.get("trace")?), seen(&reference.get("trace")?));
        forget([&own, &reference], options)?;
        report.expect(found.contains(GETPPID) == *any, || {
            format!("{lists:?} {options:?}: {found}")
        });
        report.expect(found == wanted, || {
            format!("{lists:?} {options:?}:\n{found}\ntracefs:\n{wanted}")
        });
    }
    set(&own, &[])?;
    set(&reference, &[])?;
    // While calls are recorded, and beside an instance that has other lists.
    let two = Instance::new(&context.root, "rtg-two")?;
    for tree in [&own, &two] {
        select(tree, FILTER, GETPPID)?;
        tree.set("current_tracer", "function_graph")?;
    }
    set(&two, &[(NEVER, &me)])?;
    let steps: &[(Lists<'_>, usize)] = &[
        (&[], 5),
        (&[(ONLY, "99999999")], 0),
        (&[(ONLY, &me)], 5),
        (&[(NEVER, &me)], 0),
        (&[], 5),
    ];
    for (lists, wanted) in steps {
        set(&own, lists)?;
        own.clear()?;
        (0..5).for_each(|_| getppid());
        let leaf = format!("  {GETPPID}();\n");
        let text = own.get("trace")?;
        report.expect(text.matches(&leaf).count() == *wanted, || {
            format!("{lists:?}, not {wanted}:\n{text}")
        });
        let other = two.get("trace")?;
        report.expect(!other.contains(GETPPID), || {
            format!("{lists:?}: the other instance:\n{other}")
        });
    }
    // The other tracer obeys the lists that were set meanwhile.
    set(&own, &[(NEVER, &me)])?;
    own.set("current_tracer", "function")?;
    getppid();
    let text = own.get("trace")?;
    report.expect(!text.contains(GETPPID), || text.clone());
    two.remove()?;
    report.finish()
}
