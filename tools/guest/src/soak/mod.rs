// SPDX-License-Identifier: GPL-2.0

//! The long run: writers in all contexts (stress/soak.c), readers of every kind and changing
//! settings, at once, and at the end an account of every single event. Used by `tests/soak.rs`.
//!
//! - `writers` starts and stops the writers and knows what they did,
//! - `record` checks one event,
//! - `seen` notes which events came back,
//! - `readers` are the threads that read,
//! - `storm` turns knobs,
//! - `round` runs all of these together,
//! - `account` compares what they say,
//! - `ledger` is a round in which events are thrown away in every way, and its account,
//! - `wakeups` is a run of its own: single events and a sleeping reader.

pub mod account;
pub mod ledger;
pub mod random;
pub mod readers;
pub mod record;
pub mod round;
pub mod seen;
pub mod storm;
pub mod wakeups;
pub mod writers;

/// A number from the environment: how long to run.
pub fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// How often a test does the same thing: `usual` times in `make test`, `long` times in
/// `make test-long`, which sets RTRACE_LONG.
pub fn rounds(usual: usize, long: usize) -> usize {
    match setting("RTRACE_LONG", 0) {
        0 => usual,
        _ => long,
    }
}

/// So many, or a quarter of it where each takes ten times as long; all in the long run.
pub fn fewer(usual: usize) -> usize {
    match crate::sys::checks_memory() {
        true => rounds(usual.div_ceil(4), usual),
        false => usual,
    }
}

/// Returns a number that a name alone, and a seed, decide: FNV-1a without the bits that it mixes least.
pub fn hash_of(name: &str, seed: u64) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, mix) >> 20
}

/// A share of similar cases: all in the long run, else one in `of`, different ones in each run.
pub struct Share {
    seed: u64,
    of: u64,
}

impl Share {
    pub fn one_of(of: u64) -> Self {
        match setting("RTRACE_LONG", 0) {
            0 => Share { seed: seed(), of },
            _ => Share { seed: 0, of: 1 },
        }
    }

    /// Returns whether this one is among them.
    pub fn has(&self, name: &str) -> bool {
        hash_of(name, self.seed) % self.of == 0
    }

    /// Returns how many of `all` are among them at least, with a margin for chance.
    pub fn least(&self, all: usize) -> usize {
        match self.of {
            1 => all,
            of => all / of as usize / 8,
        }
    }
}

/// The seed of this run, printed so that it can be had again.
pub fn seed() -> u64 {
    let now = crate::sys::monotonic_ns() % 1_000_000;
    let seed = setting("RTRACE_SEED", now);
    println!("RTRACE_SEED={seed}");
    seed
}
