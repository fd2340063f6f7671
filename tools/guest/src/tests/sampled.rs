// SPDX-License-Identifier: GPL-2.0

//! The tracers `irqsoff_sampled` and `preemptoff_sampled`: their files, and that nothing of them stays. What they find
//! is compared with known delays in `delays`.

use super::hwlat::threads_named;
use super::osnoise::PATIENCE;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::using;
use crate::Context;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("sampled.files", 60, files),
    test("sampled.format", 30, format),
    test("sampled.threads", 120, threads),
    test("sampled.ends", 120, ends),
    test("sampled.example", 60, example),
];

const PERIOD: &str = "latency_sampler/period_us";
const TRACERS: [&str; 2] = sys::OWN_TRACERS;

fn files(context: &Context) -> Check {
    let top = Tree::at(&context.root);
    let mut report = Report::default();
    ensure_eq!(top.get(PERIOD)?, "1000\n", "at first");
    for (text, expected, then) in [
        ("50", Ok(2), "50\n"),
        ("49", Err(EINVAL), "50\n"),
        ("1000001", Err(EINVAL), "50\n"),
        ("1000000", Ok(7), "1000000\n"),
        ("-1", Err(EINVAL), "1000000\n"),
        ("0x100", Err(EINVAL), "1000000\n"),
        ("18446744073709551616", Err(ERANGE), "1000000\n"),
        ("1000\n", Ok(5), "1000\n"),
    ] {
        let (written, is) = (top.write(PERIOD, text.as_bytes()), top.get(PERIOD)?);
        report.expect(written == expected && is == then, || {
            format!("{PERIOD} <- {text:?}: {written:?}, then {is:?}")
        });
    }
    let own = Instance::new(&context.root, "rtg-sampled")?;
    let other = Instance::new(&context.root, "rtg-sampled2")?;
    ensure!(!own.exists("latency_sampler"), "in an instance");
    for tracer in TRACERS {
        own.set("tracing_max_latency", "17")?;
        own.set("current_tracer", tracer)?;
        ensure_eq!(own.get("options/latency-format")?, "1\n", "{tracer}");
        for second in TRACERS {
            let refused = other.write("current_tracer", second.as_bytes());
            report.expect(refused == Err(EBUSY), || {
                format!("{second} beside {tracer}: {refused:?}")
            });
        }
        let refused = own.read_bytes("snapshot").map(|_| ());
        report.expect(refused == Err(EBUSY), || format!("snapshot: {refused:?}"));
        // Another kind of latency in another instance.
        other.set("current_tracer", "hwlat")?;
        other.set("current_tracer", "nop")?;
        own.set("current_tracer", "nop")?;
        ensure_eq!(own.get("options/latency-format")?, "0\n", "after {tracer}");
    }
    report.finish()
}

/// What programs learn of the record.
fn format(context: &Context) -> Check {
    let text = Tree::at(&context.root).get("events/ftrace/off_sampled/format")?;
    for field in [
        "\tfield:u64 lower;\toffset:8;\tsize:8;\tsigned:0;\n",
        "\tfield:u64 upper;\toffset:16;\tsize:8;\tsigned:0;\n",
        "\tfield:unsigned int looks;\toffset:24;\tsize:4;\tsigned:0;\n",
        "\tfield:int pid;\toffset:28;\tsize:4;\tsigned:1;\n",
        "\tfield:unsigned int what;\toffset:32;\tsize:4;\tsigned:0;\n",
    ] {
        ensure!(text.contains(field), "{field:?} is not in {text}");
    }
    Ok(())
}

fn have_threads(expected: &[&str]) -> Check {
    let there = sys::wait_until(PATIENCE, || threads_named("rtsampler/") == expected);
    let found = threads_named("rtsampler/");
    ensure!(there, "threads {found:?}, not {expected:?}");
    Ok(())
}

/// The CPUs of the instance are looked at while it records, and those that come back.
fn threads(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-sampled")?;
    let all: Vec<_> = (0..sys::online_cpus())
        .map(|cpu| format!("rtsampler/{cpu}"))
        .collect();
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    for tracer in TRACERS {
        own.set("current_tracer", tracer)?;
        have_threads(&all)?;
        own.set("tracing_on", "0")?;
        have_threads(&[])?;
        own.set("tracing_on", "1")?;
        have_threads(&all)?;
        own.set("tracing_cpumask", "1")?;
        have_threads(&all[..1])?;
        own.set("tracing_cpumask", &format!("{:x}", (1u64 << all.len()) - 1))?;
        have_threads(&all)?;
        let online = "/sys/devices/system/cpu/cpu1/online";
        if std::path::Path::new(online).exists() {
            let switch =
                |value: &str| std::fs::write(online, value).map_err(|e| format!("{online}: {e}"));
            switch("0")?;
            let others = all.iter().filter(|name| **name != "rtsampler/1");
            have_threads(&others.copied().collect::<Vec<_>>())?;
            switch("1")?;
            have_threads(&all)?;
        }
        own.set("current_tracer", "nop")?;
        have_threads(&[])?;
    }
    Ok(())
}

/// The tracer goes, its instance goes and settings change while CPUs are looked at.
fn ends(context: &Context) -> Check {
    let top = Tree::at(&context.root);
    let result = (|| {
        for round in 0..soak::rounds(3, 30) {
            for tracer in TRACERS {
                let own = Instance::new(&context.root, "rtg-sampled")?;
                own.set("current_tracer", tracer)?;
                top.set(PERIOD, ["50", "1000", "300"][round % 3])?;
                std::thread::sleep(Duration::from_millis(20));
                own.get("trace")?;
                own.set("tracing_max_latency", "0")?;
                own.set("tracing_on", "0")?;
                own.set("tracing_on", "1")?;
                own.write_truncating("trace", b"")
                    .map_err(|e| format!("truncated: {e:?}"))?;
                own.set("trace_clock", "mono")?;
                own.set("buffer_size_kb", "200")?;
                std::thread::sleep(Duration::from_millis(20));
                own.get("trace")?;
                own.remove()?;
                have_threads(&[])?;
            }
        }
        Ok(())
    })();
    top.set(PERIOD, "1000")?;
    result
}

fn example(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-sampled")?;
    let text = using::run("sampled", &own)?;
    ensure!(text.contains("# tracer: irqsoff_sampled\n"), "{text}");
    own.set("current_tracer", "nop")
}
