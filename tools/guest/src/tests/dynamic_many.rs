// SPDX-License-Identifier: GPL-2.0

//! Many events that users have defined, at once: enabling, disabling and removing them takes as many grace periods
//! as for a few. These are counted: probes of tracefs are on the functions by which a task waits for one.

use super::dynamic::{need_line, Tops};
use super::{test, Test};
use crate::check::{Check, Report};
use crate::program::{Program, SUM};
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;

pub const TESTS: &[Test] = &[test("dynamic.waits", 240, waits)];

/// What a task calls to wait for a grace period, as far as the kernel has them.
const WAITS: &[&str] = &[
    "synchronize_rcu",
    "synchronize_rcu_expedited",
    "synchronize_rcu_tasks",
    "synchronize_rcu_tasks_rude",
    "synchronize_srcu",
    "synchronize_srcu_expedited",
];

/// Counts the waits of this task.
struct Waits<'a> {
    top: &'a Tree,
    instance: Instance,
}

impl<'a> Waits<'a> {
    fn new(context: &Context, top: &'a Tree) -> Check<Self> {
        for name in WAITS {
            // Not every kernel has each.
            let _ = top.write("kprobe_events", format!("p:waits/{name} {name}").as_bytes());
        }
        top.empty("error_log")?;
        let instance = Instance::new(&context.reference, "waits")?;
        instance.set("set_event_pid", &sys::thread_id().to_string())?;
        instance.set("events/waits/enable", "1")?;
        Ok(Self { top, instance })
    }

    /// Returns how many there are while `f` runs.
    fn during(&self, f: impl FnOnce() -> Check) -> Check<usize> {
        self.instance.clear()?;
        f()?;
        let text = self.instance.get("trace")?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let is_wait = |line: &&str| {
            WAITS
                .iter()
                .any(|name| line.contains(&format!(" {name}: ")))
        };
        // One that calls another one is one.
        let outer = |line: &&str| !line.contains("_expedited: (synchronize_rcu_expedited");
        Ok(lines.filter(is_wait).filter(outer).count())
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let _ = self.instance.set("events/waits/enable", "0");
        let _ = self.top.write("kprobe_events", b"-:waits/");
    }
}

/// Returns the waits of enabling, disabling, enabling again, and removing `count` events of the kind `line`, in which
/// `N` is a number.
fn of(waits: &Waits<'_>, own: &Tree, line: &str, count: usize) -> Check<[usize; 5]> {
    let file = "dynamic_events";
    let lines: String = (0..count)
        .map(|n| format!("{}\n", line.replace('N', &n.to_string())))
        .collect();
    let group = match line.starts_with("s:") {
        true => "synthetic",
        false => "many",
    };
    let enable = format!("events/{group}/enable");
    Ok([
        waits.during(|| own.set(file, &lines))?,
        waits.during(|| own.set(&enable, "1"))?,
        waits.during(|| own.set(&enable, "0"))?,
        waits.during(|| own.set(&enable, "1").and_then(|()| own.set(&enable, "0")))?,
        waits.during(|| {
            own.write_truncating(file, b"")
                .map_err(|e| format!("> {e:?}"))
                .map(drop)
        })?,
    ])
}

fn waits(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:there vfs_read")?;
    let program = Program::new("rtg-dynamic-many")?;
    let function = sys::getppid_function();
    let kinds = [
        format!("p:many/eN {function}"),
        format!("p:many/eN {function}+9"),
        format!("r:many/eN {function}"),
        format!("f:many/eN {function}"),
        format!("f:many/eN {function}%return"),
        "t:many/eN task_rename".to_string(),
        "e:many/eN task/task_rename".to_string(),
        format!("p:many/eN {}:{SUM}", program.path.display()),
        "s:eN u64 a".to_string(),
    ];
    let waits = Waits::new(context, &tops.reference)?;
    let mut report = Report::default();
    let many = soak::rounds(20, 100);
    for line in &kinds {
        let few = of(&waits, &tops.own, line, 2)?;
        let all = of(&waits, &tops.own, line, many)?;
        println!(
            "# {line}: define, enable, disable, both, remove: {few:?} of 2, {all:?} of {many}"
        );
        // The kernel itself waits for each fprobe that it unregisters, and for each further probe of a tracepoint.
        let more = match line.as_bytes()[0] {
            b'f' if line.ends_with("%return") => [0, 0, many, many, 0],
            b't' => [0, many, 0, many, 0],
            _ => [0; 5],
        };
        // What else the instance has to do may take one once.
        let is_wanted = |((few, all), more): ((&usize, &usize), usize)| *all <= few + more + 2;
        report.expect(few.iter().zip(&all).zip(more).all(is_wanted), || {
            format!("{line}: {all:?} waits of {many}, {few:?} of 2")
        });
        report.expect(few.iter().all(|count| *count <= 10), || {
            format!("{line}: {few:?}")
        });
    }
    report.finish()
}
