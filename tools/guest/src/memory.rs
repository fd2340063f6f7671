// SPDX-License-Identifier: GPL-2.0

//! How much memory the kernel has in use, to see what a test left behind.

use crate::check::Check;
use crate::leaks::KMEMLEAK;
use std::collections::BTreeMap;
use std::fs;

/// What available memory does by itself: address space that the kernel gives back late, and
/// other tasks. One leaked buffer per round is far more.
const AVAILABLE_NOISE_KB: u64 = 12_000;

/// The same for small objects, of which one per round is seen.
const SLAB_NOISE_KB: u64 = 1_000;

/// Caches of the kernel's own checks: what they note of others' objects says nothing of ours.
const NOTES: &[&str] = &[
    "kmemleak_object",
    "kmemleak_scan_area",
    "debug_objects_cache",
];

pub struct Usage {
    available_kb: u64,
    slab_kb: u64,
    /// What each cache has, NOTES left out.
    caches_kb: BTreeMap<String, u64>,
}

/// What each CPU keeps free for itself, which counts as neither free nor available. After many
/// allocations that is tens of megabytes.
pub fn kept_by_cpus_kb() -> Check<u64> {
    let text = fs::read_to_string("/proc/zoneinfo").map_err(|e| format!("zoneinfo: {e}"))?;
    let counts = text.lines().filter_map(|line| {
        line.trim()
            .strip_prefix("count:")?
            .trim()
            .parse::<u64>()
            .ok()
    });
    Ok(counts.sum::<u64>() * 4)
}

/// The value of a line of /proc/meminfo, now.
pub fn meminfo_kb(label: &str) -> Check<u64> {
    let text = fs::read_to_string("/proc/meminfo").map_err(|e| format!("meminfo: {e}"))?;
    text.lines()
        .find_map(|line| {
            let value = line.strip_prefix(label)?.strip_prefix(':')?;
            value.split_whitespace().next()?.parse().ok()
        })
        .ok_or_else(|| format!("meminfo has no {label}"))
}

/// Gives back what the allocator of small objects keeps for itself. On a kernel with KASAN these are
/// megabytes of freed objects, which come and go.
fn shrink_slabs() {
    let caches = fs::read_dir("/sys/kernel/slab").into_iter().flatten();
    for cache in caches.flatten() {
        let _ = fs::write(cache.path().join("shrink"), "1");
    }
}

/// What each cache of small objects has, where the kernel says so.
fn caches_kb() -> BTreeMap<String, u64> {
    let text = fs::read_to_string("/proc/slabinfo").unwrap_or_default();
    let cache = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let number = |i: usize| words.get(i)?.parse::<u64>().ok();
        Some((words.first()?.to_string(), number(14)? * number(5)? * 4))
    };
    text.lines().filter_map(cache).collect()
}

impl Usage {
    /// As it is now, with the caches dropped.
    pub fn now() -> Check<Self> {
        let _ = fs::write("/proc/sys/vm/drop_caches", "3");
        shrink_slabs();
        let mut caches_kb = caches_kb();
        let notes: u64 = NOTES
            .iter()
            .filter_map(|name| caches_kb.remove(*name))
            .sum();
        Ok(Usage {
            available_kb: meminfo_kb("MemAvailable")? + kept_by_cpus_kb()?,
            slab_kb: meminfo_kb("SUnreclaim")?.saturating_sub(notes),
            caches_kb,
        })
    }

    /// Fails when more is in use than now, even after a while, or kmemleak knows a leak.
    pub fn expect_no_more(&self) -> Check {
        let (mut lost, mut caches_kb) = ((0, 0), BTreeMap::new());
        let back = crate::sys::wait_until(std::time::Duration::from_secs(10), || {
            let Ok(now) = Usage::now() else { return false };
            lost = (
                self.available_kb.saturating_sub(now.available_kb),
                now.slab_kb.saturating_sub(self.slab_kb),
            );
            caches_kb = now.caches_kb;
            lost.0 <= AVAILABLE_NOISE_KB && lost.1 <= SLAB_NOISE_KB
        });
        let (available, slab) = lost;
        println!("{available} KiB less available, {slab} KiB more in small objects");
        if !back {
            self.show_larger(caches_kb);
        }
        ensure!(
            back,
            "{available} KiB less available, {slab} KiB more in small objects"
        );

        if fs::write(KMEMLEAK, "scan").is_ok() {
            let leaks = fs::read_to_string(KMEMLEAK).unwrap_or_default();
            ensure!(!leaks.contains("unreferenced"), "kmemleak: {leaks:.1500}");
        }
        Ok(())
    }

    /// The caches that have more in `caches_kb`, the largest difference first.
    fn show_larger(&self, caches_kb: BTreeMap<String, u64>) {
        let more = |(name, kb): (String, u64)| {
            let before = self.caches_kb.get(&name).copied().unwrap_or(0);
            (kb.saturating_sub(before), name)
        };
        let mut caches: Vec<_> = caches_kb.into_iter().map(more).collect();
        caches.sort_unstable_by(|a, b| b.cmp(a));
        for (kb, name) in caches.iter().take(8).filter(|(kb, _)| *kb > 0) {
            println!("{name}: {kb} KiB more");
        }
    }
}
