// SPDX-License-Identifier: GPL-2.0

//! The tracer `function_graph` where others follow calls as well, which the depth of a call counts: how long a call is
//! in one of `set_graph_function` or `set_graph_notrace`.

use super::graph::{counted, functions, getpgid, getppid, select, sides, FILTER, GETPGID, GETPPID};
use super::{test, Test};
use crate::check::{Check, Report};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::path::Path;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("graph.roots", 60, roots),
    test("graph.root_tasks", 60, root_tasks),
    test("graph.root_irqs", 120, root_irqs),
];

/// What is inside of a root ends with it, though the depth of a call counts what another instance follows as well.
fn roots(context: &Context) -> Check {
    let (own, _) = sides(context)?;
    sys::pin_to(0);
    let functions = functions(&own.top())?;
    let inner = functions.split(' ').nth(2).unwrap_or_default();
    let two = Instance::new(&context.root, "rtg-two")?;
    let mut report = Report::default();
    select(&own, FILTER, &format!("{GETPPID} {inner}"))?;
    own.set("options/funcgraph-tail", "1")?;
    let both = format!("{GETPGID} {GETPPID}");
    for others in [GETPGID, &both] {
        select(&two, FILTER, others)?;
        two.set("current_tracer", "function_graph")?;
        for (file, roots, inside) in [("set_graph_notrace", 0, 10), ("set_graph_function", 10, 0)] {
            own.set(file, GETPPID)?;
            own.set("current_tracer", "function_graph")?;
            (0..10).for_each(|_| {
                getppid();
                getpgid(1);
            });
            let found = (counted(&own, GETPPID)?, counted(&own, inner)?);
            let wanted = ((roots, roots), (inside, inside));
            report.expect(found == wanted, || {
                format!("{file} beside {others}: {found:?}, not {wanted:?}")
            });
            own.set("current_tracer", "nop")?;
            own.empty(file)?;
        }
        two.set("current_tracer", "nop")?;
    }
    report.finish()
}

/// Has a thread run `work` that has the number `wanted`, or any.
fn numbered(wanted: Option<u32>, work: fn()) -> Check<u32> {
    const LAST: &str = "/proc/sys/kernel/ns_last_pid";
    for _ in 0..100 {
        if let Some(wanted) = wanted {
            if std::fs::write(LAST, format!("{}", wanted - 1)).is_err() {
                skip!("this kernel gives no task the number of another one");
            }
        }
        let thread = std::thread::spawn(move || {
            let number = sys::thread_id();
            if wanted.is_none_or(|wanted| wanted == number) {
                work();
            }
            number
        });
        let number = thread.join().map_err(|_| "the thread panicked")?;
        let gone = || !Path::new(&format!("/proc/{number}")).exists();
        ensure!(
            sys::wait_until(Duration::from_secs(20), gone),
            "task {number} stays"
        );
        if wanted.is_none_or(|wanted| wanted == number) {
            return Ok(number);
        }
    }
    fail!("no task got the number {wanted:?}")
}

/// A task that ends in a root leaves nothing to the next one of its number.
fn root_tasks(context: &Context) -> Check {
    const ROOT: &str = "do_exit";
    let (own, _) = sides(context)?;
    sys::pin_to(0);
    let functions = functions(&own.top())?;
    let inner = functions.split(' ').nth(2).unwrap_or_default();
    let two = Instance::new(&context.root, "rtg-two")?;
    select(&two, FILTER, GETPGID)?;
    two.set("current_tracer", "function_graph")?;
    select(&own, FILTER, &format!("{ROOT} {inner}"))?;
    own.set("set_graph_function", ROOT)?;
    own.set("current_tracer", "function_graph")?;
    let number = numbered(None, || {})?;
    numbered(Some(number), || (0..10).for_each(|_| getpgid(1)))?;
    let text = own.get("trace")?;
    ensure!(
        text.matches(&format!(" {ROOT}() {{")).count() >= 2,
        "{text}"
    );
    ensure!(!text.contains(inner), "outside of the root: {text}");
    Ok(())
}

/// Without `funcgraph-irqs` a root that a hard interrupt calls is recorded, and nothing else that one calls.
fn root_irqs(context: &Context) -> Check {
    const IRQ: &str = "hrtimer_interrupt";
    const ROOT: &str = "set_graph_function";
    const PATIENCE: Duration = Duration::from_secs(20);
    let (own, reference) = sides(context)?;
    let global = reference.top();
    functions(&own.top())?;
    let available = own.top().get("available_filter_functions")?;
    if !available.lines().any(|line| line == IRQ) {
        skip!("this kernel has no {IRQ}");
    }
    for tree in [&own, &reference] {
        select(tree, FILTER, &format!("{GETPPID} {IRQ}"))?;
        tree.set("current_tracer", "function_graph")?;
        tree.set("trace_options", "nofuncgraph-irqs")?;
    }
    let has = |tree: &Tree, function: &str| {
        let text = tree.get("trace").unwrap_or_default();
        text.contains(&format!(" {function}()"))
    };
    let choose = |root: &str| -> Check {
        for tree in [&own as &Tree, &global] {
            select(tree, ROOT, root)?;
        }
        own.clear()?;
        reference.clear()
    };
    choose(IRQ)?;
    let is_told = sys::wait_until(PATIENCE, || has(&reference, IRQ));
    let is_there = is_told && sys::wait_until(PATIENCE, || has(&own, IRQ));
    choose(GETPPID)?;
    let is_called = sys::wait_until(PATIENCE, || {
        (0..100_000).for_each(|_| getppid());
        has(&own, GETPPID)
    });
    let is_else = has(&own, IRQ);
    global.empty(ROOT)?;
    if !is_told {
        skip!("no interrupt of this machine calls {IRQ}");
    }
    ensure!(is_there, "the root that interrupts call is missing");
    ensure!(is_called && !is_else, "in another root");
    Ok(())
}
