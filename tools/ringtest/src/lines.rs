// SPDX-License-Identifier: GPL-2.0

//! Many random lines that define dynamic events, by all CPUs: others each time.

use crate::fetch::tests::try_random_lines;
use crate::trail::number_of;
use std::time::{SystemTime, UNIX_EPOCH};

/// Ten million of them; `RTRACE_LINES` says how many, `RTRACE_SEED` which.
#[test]
#[ignore = "minutes, with other lines each time"]
fn many_random_lines_keep_to_their_record() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number_of("RTRACE_SEED", now.as_nanos() as u64) | 1;
    let lines = number_of("RTRACE_LINES", 10_000_000) as usize;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    println!("RTRACE_SEED={seed}: {lines} lines by {threads} threads");
    let compiled: usize = std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads)
            .map(|thread| {
                let seed = seed.wrapping_mul(2 * thread as u64 + 1);
                scope.spawn(move || try_random_lines(seed, lines.div_ceil(threads)))
            })
            .collect();
        all.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    println!("{compiled} were compiled and recorded");
    assert!(compiled > lines / 200, "{compiled}");
}
