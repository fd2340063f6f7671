// SPDX-License-Identifier: GPL-2.0

//! How much memory the kernel has in use, to see what a test left behind.

use crate::check::Check;
use std::fs;

/// A free-memory figure moves by itself: per-CPU lists, other tasks, late frees.
pub const NOISE_KB: u64 = 4000;

const KMEMLEAK: &str = "/sys/kernel/debug/kmemleak";

/// Available memory in KiB with the caches dropped.
pub fn available_kb() -> Check<u64> {
    let _ = fs::write("/proc/sys/vm/drop_caches", "3");
    let text = fs::read_to_string("/proc/meminfo").map_err(|e| format!("meminfo: {e}"))?;
    text.lines()
        .find_map(|line| {
            line.strip_prefix("MemAvailable:")?
                .split_whitespace()
                .next()?
                .parse()
                .ok()
        })
        .ok_or_else(|| "meminfo has no MemAvailable".to_string())
}

/// Fails when less is available than before, even after a while, or kmemleak knows a leak.
pub fn expect_back(before: u64) -> Check {
    let mut now = 0;
    let back = crate::sys::wait_until(std::time::Duration::from_secs(5), || {
        now = available_kb().unwrap_or(0);
        now + NOISE_KB >= before
    });
    ensure!(
        back,
        "{} KiB less are available than before",
        before.saturating_sub(now)
    );
    println!("available before {before} KiB, now {now} KiB");

    if fs::write(KMEMLEAK, "scan").is_ok() {
        let leaks = fs::read_to_string(KMEMLEAK).unwrap_or_default();
        ensure!(!leaks.contains("unreferenced"), "kmemleak: {leaks:.1500}");
    }
    Ok(())
}
