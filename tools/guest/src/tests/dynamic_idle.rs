// SPDX-License-Identifier: GPL-2.0

//! Events that users have defined on functions and tracepoints of a CPU that goes idle: they are recorded there as in
//! tracefs. What RCU or lockdep would say of a probe in that context is in the kernel's log, which the suite reads.

use super::dynamic::{need_line, Tops};
use super::dynamic_counts::counts_of;
use super::{pair, test, Test};
use crate::check::{Check, Report};
use crate::sys;
use crate::tree::Instance;
use crate::Context;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

pub const TESTS: &[Test] = &[test("dynamic.idle", 120, idle)];

/// What the idle task of a CPU calls, as far as a kernel has them.
const FUNCTIONS: &[&str] = &[
    "tick_nohz_idle_enter",
    "tick_nohz_idle_exit",
    "tick_nohz_idle_stop_tick",
    "cpuidle_select",
    "schedule_idle",
    "flush_smp_call_function_queue",
];

/// The lines that idle tasks have recorded, of the event `name`.
fn lines_of(tree: &Instance, name: &str) -> Check<Vec<String>> {
    let text = tree.get("trace")?;
    let event = format!(" {name}: (");
    let lines = text.lines().filter(|line| line.contains(&event));
    let lines = lines.filter(|line| line.trim_start().starts_with("<idle>-0 "));
    Ok(lines.map(str::to_string).collect())
}

/// Runs `act` while each CPU has a thread that does not sleep: no idle task is in the middle of a hit, whose file
/// may have just gone, when `act` disables the event.
fn without_idle_cpus(act: impl FnOnce() -> Check) -> Check {
    let cpus = sys::online_cpus();
    let (busy, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for cpu in 0..cpus {
            let (busy, done) = (&busy, &done);
            scope.spawn(move || {
                sys::pin_to(cpu);
                busy.fetch_add(1, Ordering::Relaxed);
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        while busy.load(Ordering::Relaxed) < cpus {
            std::thread::yield_now();
        }
        let result = act();
        done.store(true, Ordering::Relaxed);
        result
    })
}

fn idle(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:there vfs_read")?;
    need_line(&tops.reference, "t:there cpu_idle $arg1")?;
    let trees = tops.trees();
    // Of each kind, with what reads memory, and with what looks at the task.
    let mut names = vec!["point".to_string(), "other".to_string()];
    let mut all = vec![
        "t:idle/point cpu_idle state=$arg1:u32 cpu=$arg2:u32 c=$comm".to_string(),
        "e:idle/other power/cpu_idle state=$state c=$comm b=+0(@init_task):x8".to_string(),
    ];
    // Some are there and call no hook, as idle tasks must not in them.
    let hooked = tops.reference.get("available_filter_functions")?;
    for function in FUNCTIONS {
        if !hooked.lines().any(|line| line == *function) {
            continue;
        }
        for (kind, place, rest) in [
            ("p", "", " c=$comm s=$stack0:x64"),
            ("r", "", " c=$comm p=$current->pid"),
            ("f", "", ""),
            ("f", "%return", " c=$comm"),
        ] {
            let which = if place.is_empty() { kind } else { "end" };
            let name = format!("{which}_{function}");
            all.push(format!("{kind}:idle/{name} {function}{place}{rest}"));
            names.push(name);
        }
    }
    ensure!(
        names.len() > 6,
        "no function of {FUNCTIONS:?} can be probed"
    );
    tops.set("dynamic_events", &all.join("\n"))?;
    let (own, reference) = pair(context)?;
    let instances = [&own, &reference];
    own.set("options/event-counts", "1")?;
    for tree in instances {
        tree.set("buffer_size_kb", "4096")?;
        tree.clear()?;
    }
    // The waits of this task are when its CPU is idle. That tracepoint has no function that tracefs could probe: ENOENT.
    let is_compared = |name: &str| name != "point";
    let enable = |on| -> Check {
        own.set("events/idle/enable", on)?;
        for name in names.iter().filter(|name| is_compared(name)) {
            reference.set(&format!("events/idle/{name}/enable"), on)?;
        }
        Ok(())
    };
    enable("1")?;
    std::thread::sleep(Duration::from_millis(300));
    without_idle_cpus(|| enable("0"))?;
    let mut report = Report::default();
    let mut seen = 0;
    for name in &names {
        let lines = [lines_of(&own, name)?, lines_of(&reference, name)?];
        let counts = lines.each_ref().map(Vec::len);
        let first = || lines.each_ref().map(|lines| lines.first().cloned());
        // One of them is enabled a little longer.
        let alike = match is_compared(name) {
            true => (counts[0] == 0) == (counts[1] == 0) || counts.iter().all(|n| *n < 20),
            false => counts[0] > 0,
        };
        report.expect(alike, || {
            format!("{name}: {counts:?} records, {:#?}", first())
        });
        seen += counts[0];
        for line in lines.iter().flatten().filter(|line| line.contains("c=\"")) {
            report.expect(line.contains("c=\"swapper/"), || line.clone());
        }
        let counted = counts_of(trees[0], &format!("idle/{name}"))?;
        let number = |file: &str| -> Check<u64> {
            let text = own.get(&format!("events/idle/{name}/{file}"))?;
            text.trim().parse().map_err(|_| text)
        };
        let outcome = number("hits")? + number("lost")?;
        let told = counted.hits + counted.own + counted.deep;
        // The idle task of a busy CPU is in there, and returns when there is no record any more.
        let returns = matches!(name.as_str(), "r_schedule_idle" | "end_schedule_idle");
        let late = if returns {
            sys::online_cpus() as u64
        } else {
            0
        };
        report.expect((outcome..=outcome + late).contains(&told), || {
            format!("{name}: {counted:?}, {outcome} recorded or lost")
        });
        println!("# {name}: {counts:?}");
    }
    report.expect(seen > 50 * sys::online_cpus().min(2), || {
        format!("{seen} records of idle tasks")
    });
    report.finish()
}
