// SPDX-License-Identifier: GPL-2.0

//! Whether a signal asked the program to end: it sets a number that loops look at, so that what
//! was made is removed on the ordinary way out.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

static ASKED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// Returns whether this process was started with a signal ignored, by the text of its `status`.
fn is_ignored(signal: i32, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| (mask >> (signal - 1)) & 1 == 1)
}

/// Has SIGINT, SIGTERM, SIGQUIT and SIGHUP be noticed instead of ending the program; not SIGHUP
/// below `nohup`. A second one of them changes nothing: removing takes some milliseconds, and must
/// not be cut short.
pub fn watch() -> io::Result<()> {
    let asked = ASKED.get_or_init(Arc::default);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for signal in [SIGINT, SIGTERM, SIGQUIT, SIGHUP] {
        if signal != SIGHUP || !is_ignored(signal, &status) {
            signal_hook::flag::register_usize(signal, Arc::clone(asked), signal as usize)?;
        }
    }
    Ok(())
}

/// Returns the signal that asked the program to end.
pub fn asked() -> Option<i32> {
    let number = ASKED.get()?.load(Ordering::Relaxed);
    (number != 0).then_some(number as i32)
}

/// Asks as Ctrl-C does: a key of a terminal in raw mode.
pub fn ask() {
    ASKED
        .get_or_init(Arc::default)
        .store(SIGINT as usize, Ordering::Relaxed);
}

/// Returns the exit status for the end that was asked for: Ctrl-C ends a measurement well.
pub fn status() -> Option<u8> {
    match asked()? {
        SIGINT => None,
        signal => u8::try_from(128 + signal).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_bits_of_a_mask() {
        let status = "SigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(SIGHUP, status));
        assert!(!is_ignored(SIGTERM, status));
        assert!(!is_ignored(SIGHUP, "SigIgn:\tx\n"));
        assert!(!is_ignored(SIGHUP, ""));
    }
}
