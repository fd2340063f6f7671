// SPDX-License-Identifier: GPL-2.0
//! Nanoseconds per event: alone, inside another one, and with a reader on another CPU.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use ringbench::{Image, Ring};

/// Fits into the cache of a core.
const BYTES: usize = 256 << 10;

fn clock(c: &mut Criterion) {
    // SAFETY: every x86-64 has it.
    c.bench_function("rdtsc alone", |b| {
        b.iter(|| unsafe { std::arch::x86_64::_rdtsc() })
    });
}

fn single(c: &mut Criterion) {
    let mut ring = Ring::new(BYTES);
    let (write, _) = ring.ends();
    c.bench_function("16 bytes", |b| b.iter(|| write.event::<16>()));
    c.bench_function("64 bytes", |b| b.iter(|| write.event::<64>()));
    c.bench_function("128 bytes", |b| b.iter(|| write.event::<128>()));
}

fn nested(c: &mut Criterion) {
    let mut ring = Ring::new(BYTES);
    let (write, _) = ring.ends();
    let mut group = c.benchmark_group("nested");
    group.throughput(Throughput::Elements(2));
    group.bench_function("two of 16 bytes, one in the other", |b| {
        b.iter(|| {
            write.event_around::<16>(|| {
                black_box(write.event::<16>());
            })
        })
    });
    group.finish();
}

fn with_reader(c: &mut Criterion) {
    let mut ring = Ring::new(BYTES);
    let (write, mut take) = ring.ends();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut image = Image::new();
            while !done.load(Ordering::Relaxed) {
                if !take.subbuf(&mut image) {
                    spin_loop();
                }
            }
        });
        c.bench_function("16 bytes, a reader on another CPU", |b| {
            b.iter(|| write.event::<16>())
        });
        done.store(true, Ordering::Relaxed);
    });
}

/// Long enough for numbers that repeat, and all of it in half a minute.
fn config() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3))
}

criterion_group! {
    name = benches;
    config = config();
    targets = clock, single, nested, with_reader
}
criterion_main!(benches);
