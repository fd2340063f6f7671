// SPDX-License-Identifier: GPL-2.0

//! Measures how much memory the kernel has in use, to find what a test leaked.
//!
//! Memory of the whole kernel has many users. Counted are the kinds that a module can have:
//! pages that are neither free nor of processes, of files, of page tables or of small objects; and
//! small objects that are in use, not the memory that is kept for more of them.

use crate::check::Check;
use crate::leaks::{lost_objects, KMEMLEAK};
use crate::sys;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// What others take and give back in between; a kernel with checks has notes of its own in pages. One
/// leaked buffer per round is far more.
fn pages_noise_kb() -> u64 {
    match sys::kernel_with_checks() {
        true => 12_000,
        false => 8_000,
    }
}

/// The same for small objects, of which one per round is seen.
const SLAB_NOISE_KB: u64 = 1_000;

/// Lines of /proc/meminfo: pages that are accounted for elsewhere. Address space of the kernel and
/// memory of CPUs are not among them, for a module can have both.
const ELSEWHERE: &[&str] = &[
    "MemFree",
    "Buffers",
    "Cached",
    "SwapCached",
    "AnonPages",
    "Slab",
    "KernelStack",
    "PageTables",
];

/// Caches that tell nothing of ours: of the kernel's own checks, which note others' objects, and of files,
/// which go when memory is short.
const NOT_COUNTED: &[&str] = &[
    "kmemleak_object",
    "kmemleak_scan_area",
    "debug_objects_cache",
    "dentry",
    "radix_tree_node",
    "buffer_head",
];

pub struct Usage {
    pages_kb: u64,
    slab_kb: u64,
    /// What is in use of each cache that counts.
    caches_kb: BTreeMap<String, u64>,
}

/// Works until that leaks nothing. What grew once is not lost, nor what another task took
/// meanwhile; what `work` loses, it loses each time.
pub fn steady(mut work: impl FnMut() -> Check) -> Check {
    const TRIES: usize = 3;
    let mut result = Ok(());
    for _ in 0..TRIES {
        let before = Usage::now()?;
        work()?;
        result = before.expect_no_more();
        if result.is_ok() {
            break;
        }
    }
    result
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

/// How many tasks the OOM killer has ended.
pub fn oom_kills() -> u64 {
    let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("oom_kill ")?.parse().ok())
        .unwrap_or(0)
}

/// Gives back what the allocator of small objects keeps for itself. On a kernel with KASAN these are
/// megabytes of freed objects, which come and go.
fn shrink_slabs() {
    let caches = fs::read_dir("/sys/kernel/slab").into_iter().flatten();
    for cache in caches.flatten() {
        let _ = fs::write(cache.path().join("shrink"), "1");
    }
}

/// The objects in use of each cache that counts, where the kernel says so.
fn caches_kb() -> BTreeMap<String, u64> {
    let text = fs::read_to_string("/proc/slabinfo").unwrap_or_default();
    let cache = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let number = |i: usize| words.get(i)?.parse::<u64>().ok();
        let name = *words.first()?;
        let counts = !NOT_COUNTED.contains(&name) && !name.contains("inode");
        counts.then_some((name.to_string(), number(1)? * number(3)? / 1024))
    };
    text.lines().filter_map(cache).collect()
}

impl Usage {
    /// As it is now, with the caches dropped.
    pub fn now() -> Check<Self> {
        let _ = fs::write("/proc/sys/vm/drop_caches", "3");
        shrink_slabs();
        // Counters of single CPUs, which are added up now and then.
        let _ = fs::write("/proc/sys/vm/stat_refresh", "1");
        let caches_kb = caches_kb();
        let elsewhere = ELSEWHERE.iter().map(|label| meminfo_kb(label));
        let elsewhere = elsewhere.sum::<Check<u64>>()? + kept_by_cpus_kb()?;
        Ok(Usage {
            pages_kb: meminfo_kb("MemTotal")?.saturating_sub(elsewhere),
            slab_kb: match caches_kb.is_empty() {
                true => meminfo_kb("SUnreclaim")?,
                false => caches_kb.values().sum(),
            },
            caches_kb,
        })
    }

    /// Fails when more is in use than now, even after a while, or kmemleak knows a leak.
    pub fn expect_no_more(&self) -> Check {
        let (mut lost, mut caches_kb) = ((0, 0), BTreeMap::new());
        let noise_kb = pages_noise_kb();
        let back = sys::wait_until(Duration::from_secs(5), || {
            let Ok(now) = Usage::now() else { return false };
            lost = (
                now.pages_kb.saturating_sub(self.pages_kb),
                now.slab_kb.saturating_sub(self.slab_kb),
            );
            caches_kb = now.caches_kb;
            lost.0 <= noise_kb && lost.1 <= SLAB_NOISE_KB
        });
        let (pages, slab) = lost;
        let lost = format!("{pages} KiB more in pages, {slab} KiB more in small objects");
        println!("{lost}");
        if !back {
            self.show_larger(caches_kb);
        }
        ensure!(back, "{lost}");

        if fs::write(KMEMLEAK, "scan").is_ok() {
            let leaks = lost_objects()?;
            ensure!(leaks.is_empty(), "kmemleak: {:.1500}", leaks.concat());
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
