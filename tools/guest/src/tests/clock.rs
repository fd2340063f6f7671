// SPDX-License-Identifier: GPL-2.0

//! The clock `local` is the kernel's `sched_clock()`, whether it is read inline or by a call
//! (stress/rtclock.c), and `features` and the kernel log say which.
//!
//! `RTRACE_CLOCK_READINGS` says how many stamps are compared on each CPU; scripts/test-long asks for a
//! million. `RTRACE_CLOCK_HOURS` says how many hours `clock.hours` compares stamps; in a guest whose
//! time jumps while it sleeps (`scripts/guest-suite --icount`) that takes a minute. With other words on
//! the kernel's command line (`scripts/guest-suite --append`) the tests run where there is no cycle
//! counter, or a bad one.

use super::{exact, test, Test};
use crate::check::{Check, Report};
use crate::kmsg;
use crate::module;
use crate::soak::setting;
use crate::stream;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    test("clock.says_which", 60, says_which),
    exact("clock.local", 1200, local).with_testapi(),
    exact("clock.called", 1200, called).with_testapi(),
    test("clock.hours", 200 * 3600, hours).with_testapi(),
];

const NAME: &str = "rtclock";
const MAGIC: u64 = 0x6b6c_6374;
/// Payloads of a batch of rtclock.
const BATCH: u64 = 100;
/// Batches that fit into the buffer.
const BATCHES: u64 = 200;
const BUFFER_KB: &str = "2048";
/// From one comparison of `clock.hours` to the next.
const PAUSE: Duration = Duration::from_secs(600);
/// Stamps of each of them, on each CPU.
const READINGS_OF_ONE: u64 = 1000;
/// Bytes of the common fields, which the payload follows.
const COMMON: usize = 8;

/// How the log begins what it says about `local`.
const SAID: &str = "rtrace: clock local: ";

/// How `local` is read, as `features` has it and as the log does.
fn way(context: &Context) -> Check<(String, String)> {
    if !context.is_rtracefs() {
        skip!("rtrace's own");
    }
    let features = Tree::at(&context.root).get("features")?;
    let mut ways = features
        .lines()
        .filter_map(|line| line.strip_prefix("local_clock "));
    let (way, more) = (ways.next(), ways.next());
    let Some(way) = way.filter(|_| more.is_none()) else {
        fail!("features: {features:?}")
    };
    let Some(said) = kmsg::last_behind(SAID) else {
        fail!("the log has no {SAID:?}")
    };
    Ok((way.to_string(), said))
}

/// Whether `way` and the log agree.
fn agree(way: &str, said: &str) -> bool {
    match way {
        "inline" => said == "read inline, as sched_clock() does",
        "sched_clock" => said.starts_with("calls sched_clock(): "),
        _ => false,
    }
}

/// Why this machine's `sched_clock()` does not count cycles, or why that cannot be known.
fn obstacle() -> Option<&'static str> {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = text("/proc/cpuinfo");
    let flags = cpu.lines().find(|line| line.starts_with("flags"));
    let sources = text("/sys/devices/system/clocksource/clocksource0/available_clocksource");
    if !flags.is_some_and(|flags| flags.split(' ').any(|flag| flag == "tsc")) {
        Some("there is no cycle counter")
    } else if ["kvm-clock", "xen", "hyperv"]
        .iter()
        .any(|source| sources.contains(source))
    {
        Some("a hypervisor may have brought another clock")
    } else if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        Some("this kernel shows no BTF of it")
    } else {
        None
    }
}

/// Where nothing is in the way it is read inline; elsewhere the log tells what is.
fn says_which(context: &Context) -> Check {
    let (way, said) = way(context)?;
    println!("{way}: {said}");
    ensure!(agree(&way, &said), "features: {way}, log: {said}");
    match obstacle() {
        None => ensure_eq!(way, "inline", "nothing is in the way, but {said}"),
        Some(why) => {
            ensure_eq!(way, "sched_clock", "although {why}");
            ensure!(said.ends_with(why), "not {why:?}: {said}");
        }
    }
    Ok(())
}

fn local(context: &Context) -> Check {
    let (way, _) = way(context)?;
    println!("{way}");
    stamps_lie_between(context, readings())
}

/// The same for hours, and the way stays the same.
fn hours(context: &Context) -> Check {
    let before = way(context)?;
    let wanted = Duration::from_secs(3600 * setting("RTRACE_CLOCK_HOURS", 0));
    let began = Instant::now();
    stamps_lie_between(context, READINGS_OF_ONE)?;
    while began.elapsed() < wanted {
        thread::sleep(PAUSE);
        stamps_lie_between(context, READINGS_OF_ONE)?;
    }
    println!("{} s", began.elapsed().as_secs());
    ensure_eq!(way(context)?, before, "way and log");
    Ok(())
}

/// The same, where the user wants the call.
fn called(context: &Context) -> Check {
    way(context)?;
    let _with = module::With::parameters(context, "local_clock=0")?;
    let (way, said) = way(context)?;
    ensure_eq!(way, "sched_clock", "way");
    ensure_eq!(said, "calls sched_clock(): local_clock is 0", "log");
    stamps_lie_between(context, readings())
}

fn readings() -> u64 {
    setting("RTRACE_CLOCK_READINGS", 20_000)
}

/// Each stamp lies between the two readings of `sched_clock()` around its event.
fn stamps_lie_between(context: &Context, readings: u64) -> Check {
    let _ = module::unload(NAME);
    let own = Instance::new(&context.root, "rtg-clock")?;
    own.set("buffer_size_kb", BUFFER_KB)?;
    ensure!(
        own.get("trace_clock")?.starts_with("[local] "),
        "another clock"
    );
    let mut report = Report::default();
    let (mut compared, mut sum, mut done) = (0, 0, 0);
    while done < readings {
        let batches = BATCHES.min((readings - done).div_ceil(BATCH));
        let parameters = format!("instance=rtg-clock batches={batches}");
        module::load(&context.stress.with_file_name("rtclock.ko"), &parameters)?;
        module::unload(NAME).map_err(|e| format!("unload {NAME}: {e}"))?;
        done += batches * BATCH;
        for cpu in 0..sys::online_cpus() {
            let records = stream::drain_cpu(&own, cpu)?.records;
            ensure_eq!(records.len() as u64, batches * BATCH, "cpu {cpu}: events");
            for (number, pair) in records.windows(2).enumerate() {
                let word = |record: usize, at: usize, size| pair[record].number(COMMON + at, size);
                ensure_eq!(word(0, 0, 4), MAGIC, "cpu {cpu} {number}: payload");
                ensure_eq!(word(0, 4, 4), number as u64, "cpu {cpu}: number");
                let (before, stamp, behind) = (word(0, 8, 8), pair[0].ts, word(1, 16, 8));
                report.expect(before <= stamp && stamp <= behind, || {
                    format!("cpu {cpu} {number}: {before} <= {stamp} <= {behind}")
                });
                compared += 1;
                sum += behind.wrapping_sub(before);
            }
        }
    }
    report.finish()?;
    ensure!(compared > 0, "nothing was compared");
    println!(
        "{compared} stamps, each in {} ns on average",
        sum / compared
    );
    Ok(())
}
