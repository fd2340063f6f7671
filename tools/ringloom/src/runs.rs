// SPDX-License-Identifier: GPL-2.0
//! How far the checkers go, and what they tell.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Instant;

/// Whether there is time for the large explorations (`RTRACE_LONG=1`).
pub fn long() -> bool {
    std::env::var_os("RTRACE_LONG").is_some_and(|v| v != "0")
}

/// Prints one line that the test harness does not hold back.
pub fn tell(name: &str, executions: u64, began: Instant, how: &str) {
    let line = format!(
        "{name}: {executions} executions, {how}, {:.1} s\n",
        began.elapsed().as_secs_f64()
    );
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Runs every execution of `world` with at most this many preemptions (all without a limit); returns how
/// many.
pub fn every(preemptions: Option<usize>, world: impl Fn() + Send + Sync + 'static) -> u64 {
    let count = Arc::new(AtomicU64::new(0));
    let counted = count.clone();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 20_000;
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        world();
    });
    count.load(Ordering::Relaxed)
}
