// SPDX-License-Identifier: GPL-2.0

//! Runs each test in a process of its own, so that a hang or a crash is one
//! failure and the suite goes on.
//!
//! A failure is a line `not ok NAME: reason`, or `not ok NAME (final): reason` where no disturbance
//! by the machine can be the cause: the kernel complained, the test hung or crashed, memory was lost,
//! an event was miscounted. scripts/guest-suite runs again what failed in the first way only.

use crate::check::{Check, LACK, SKIP};
use crate::kmsg::KernelLog;
use crate::leaks::Leaks;
use crate::module;
use crate::soak::{self, setting};
use crate::tests::{all, Test};
use crate::Context;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Exit statuses of the process that runs one test. Another one, without a reason, is a crash.
const FAILED: u8 = 1;
const LACKED: u8 = 75;
const SKIPPED: u8 = 77;

enum Outcome {
    Passed,
    Skipped(String),
    Failed(String),
    /// A failure that is not run again.
    Final(String),
}

/// Returns whether a test's name contains one of the filters, if there are any, and none after a
/// `!`. A whole name follows `!=`. Of what is selected so, `%K/N` takes the K-th of N shares (from 0).
fn is_selected(name: &str, filters: &[String]) -> bool {
    let (shares, filters): (Vec<&String>, Vec<&String>) =
        filters.iter().partition(|f| f.starts_with('%'));
    if !shares.iter().all(|share| is_in_share(name, share)) {
        return false;
    }
    let is_in = |text: &str| match text.strip_prefix('=') {
        Some(whole) => name == whole,
        None => name.contains(text),
    };
    let mut wanted = filters.iter().filter(|f| !f.starts_with('!')).peekable();
    let unwanted = filters
        .iter()
        .filter_map(|f| f.strip_prefix('!'))
        .any(is_in);
    !unwanted && (wanted.peek().is_none() || wanted.any(|f| is_in(f)))
}

/// Returns whether a test belongs to the share `%K/N`; to each of them if that is not how it reads.
/// Its name alone decides, so that a new test does not move the others.
fn is_in_share(name: &str, share: &str) -> bool {
    let Some((turn, shares)) = share.trim_start_matches('%').split_once('/') else {
        return true;
    };
    let (Ok(turn), Ok(shares @ 1..)) = (turn.parse::<u64>(), shares.parse::<u64>()) else {
        return true;
    };
    soak::hash_of(name, 0) % shares == turn
}

/// Runs the tests that the filters select; the last line counts them.
pub fn run(context: &Context, filters: &[String]) -> ExitCode {
    let (mut passed, mut failed) = (0, 0);
    let mut log = KernelLog::from_now();
    let leaks = Leaks::watch(context);
    // With the module that is loaded.
    let mut loaded = context.clone();

    for test in all() {
        if !is_selected(test.name, filters) {
            continue;
        }
        let began = Instant::now();
        let changed = change_module(context, &mut loaded, &test);
        let mut outcome = match changed {
            Ok(()) => run_one(&loaded, &test),
            Err(reason) => Outcome::Failed(reason),
        };
        if let (true, Outcome::Failed(reason)) = (races_with_the_kernel(&test), &outcome) {
            println!("# first try: {reason}");
            outcome = run_one(&loaded, &test);
        }
        // A test that was killed while the module was out must not fail the next ones.
        if let (true, Err(reason)) = (context.is_rtracefs(), module::restore(&loaded)) {
            outcome = Outcome::Failed(reason);
        }
        let splats = log.splats();
        if !splats.is_empty() {
            outcome = Outcome::Final(format!("kernel log: {}", splats.join(" | ")));
        }
        let seconds = began.elapsed().as_secs_f32();
        match outcome {
            Outcome::Passed => {
                passed += 1;
                println!("ok {} ({seconds:.1}s)", test.name);
            }
            Outcome::Skipped(reason) => println!("skip {}: {reason}", test.name),
            Outcome::Failed(reason) => {
                failed += 1;
                println!("not ok {}: {reason} ({seconds:.1}s)", test.name);
            }
            Outcome::Final(reason) => {
                failed += 1;
                println!("not ok {} (final): {reason} ({seconds:.1}s)", test.name);
            }
        }
    }

    if let Some(leaks) = leaks.filter(|_| passed + failed > 0) {
        let mut result = leaks.check(&loaded);
        let splats = log.splats();
        if !splats.is_empty() {
            result = Err(format!("kernel log: {}", splats.join(" | ")));
        }
        match result {
            Ok(()) => {
                passed += 1;
                println!("ok leaks");
            }
            Err(reason) => {
                failed += 1;
                println!("not ok leaks (final): {reason}");
            }
        }
    }

    // A run without tests shows nothing and is not a success.
    if passed + failed == 0 {
        failed = 1;
        println!("not ok run (final): no test was run");
    }
    println!("{passed} passed, {failed} failed");
    ExitCode::from(if failed == 0 { 0 } else { FAILED })
}

/// Loads the module that the test needs, if that is another one than `loaded` has.
fn change_module(context: &Context, loaded: &mut Context, test: &Test) -> Check {
    let wanted = match test.testapi {
        true => &context.test_module,
        false => &context.module,
    };
    if loaded.module == *wanted || !context.is_rtracefs() {
        return Ok(());
    }
    *loaded = context.with_module(wanted);
    module::reload(loaded)
}

/// The tests that compare two tracers side by side: both read a field of a task, say, but not at
/// the same instant, and another CPU may change it in between. A difference of rtrace's occurs each
/// time; one by chance does not occur twice.
fn races_with_the_kernel(test: &Test) -> bool {
    test.name.starts_with("side.")
}

/// The other side of `run_one`: one test in this process.
pub fn run_here(context: &Context, name: &str) -> ExitCode {
    let Some(test) = all().find(|test| test.name == name) else {
        eprintln!("no test is named {name}");
        return ExitCode::from(2);
    };
    match (test.run)(context) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            let marks = [(SKIP, SKIPPED), (LACK, LACKED)];
            let told = marks
                .iter()
                .find_map(|(mark, status)| Some((*status, reason.strip_prefix(mark)?)));
            let (status, reason) = told.unwrap_or((FAILED, &reason));
            println!("= {}", reason.replace('\n', "\\n"));
            ExitCode::from(status)
        }
    }
}

fn run_one(context: &Context, test: &Test) -> Outcome {
    let output = format!("/tmp/rtguest.{}.out", std::process::id());
    let status = match start(context, test, &output) {
        Ok(child) => wait(child, limit(test)),
        Err(e) => return Outcome::Failed(format!("cannot start: {e}")),
    };
    let text = std::fs::read(&output).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let _ = std::fs::remove_file(&output);

    let mut reason = String::new();
    for line in text.lines() {
        match line.strip_prefix("= ") {
            Some(last) => reason = last.to_string(),
            None => println!("# {line}"),
        }
    }
    let Some(status) = status else {
        return Outcome::Final(format!("no end within {} s", limit(test).as_secs()));
    };
    match status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(0) => Outcome::Passed,
        Some(SKIPPED) => Outcome::Skipped(reason),
        _ if reason.is_empty() => Outcome::Final(describe(status)),
        Some(LACKED) => Outcome::Failed(format!("lack: {reason}")),
        _ if test.exact => Outcome::Final(reason),
        _ => Outcome::Failed(reason),
    }
}

/// The test's time, for an emulated CPU that shares its host with others; a kernel with checks is
/// several times slower. A test that ends is not slowed down by it.
fn limit(test: &Test) -> Duration {
    let factor = if crate::sys::kernel_with_checks() {
        20
    } else {
        10
    };
    // The long run takes as long as it is asked to.
    let asked = (setting("RTRACE_EVENTS", 0) / 3000)
        .max(setting("RTRACE_WAKEUP_SECONDS", 0))
        .max(setting("RTRACE_LEDGER_SECONDS", 0))
        .max(setting("RTRACE_FUZZ_WRITES", 0) / 20);
    test.limit * factor + Duration::from_secs(asked)
}

fn start(context: &Context, test: &Test, output: &str) -> std::io::Result<Child> {
    let file = File::create(output)?;
    Command::new("/proc/self/exe")
        .args(["one", test.name, "--root"])
        .arg(&context.root)
        .arg("--module")
        .arg(&context.module)
        .arg("--stress")
        .arg(&context.stress)
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        // A group of its own: what the test started ends with it.
        .process_group(0)
        .spawn()
}

/// Waits for the end; None when it had to be killed or cannot even be killed.
fn wait(mut child: Child, limit: Duration) -> Option<ExitStatus> {
    let end = Instant::now() + limit;
    let mut status = None;
    while status.is_none() && Instant::now() < end {
        status = child.try_wait().ok()?;
        if status.is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    // Whatever the test left running ends too.
    crate::sys::kill_group(child.id());
    if status.is_none() {
        let reaped = crate::sys::wait_until(Duration::from_secs(5), || {
            matches!(child.try_wait(), Ok(Some(_)))
        });
        if !reaped {
            println!("# process {} does not even die", child.id());
        }
    }
    status
}

fn describe(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("ended by signal {signal}"),
        None => format!("ended with status {}", status.code().unwrap_or(-1)),
    }
}
