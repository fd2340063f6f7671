// SPDX-License-Identifier: GPL-2.0

//! The tracer `function_graph` where others follow calls as well, which the depth of a call counts: how long a call is
//! in one of `set_graph_function` or `set_graph_notrace`.

use super::graph::{counted, functions, getpgid, getppid, select, sides, FILTER, GETPGID, GETPPID};
use super::{test, Test};
use crate::check::{Check, Report};
use crate::sys;
use crate::tree::Instance;
use crate::Context;

pub const TESTS: &[Test] = &[test("graph.roots", 60, roots)];

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
