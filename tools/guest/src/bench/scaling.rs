// SPDX-License-Identifier: GPL-2.0

//! Measures whether an event costs the same in a large buffer, what more instances cost, and how
//! much memory a buffer takes.

use super::inside::{asked, EVENT};
use super::kernel::{Cost, Kernel};
use super::table::{Row, Table};
use crate::check::Check;
use crate::memory;
use crate::tree::Instance;
use crate::Context;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// MiB.
const SIZES: &[u64] = &[1, 64, 256, 1024];
const INSTANCES: &[usize] = &[1, 2, 4, 8];
/// KiB of the buffer whose memory is measured.
const MEMORY_KB: u64 = 65536;
/// Free memory that changes by less counts as stable.
const SETTLED_KB: i64 = 32;
/// Bytes of a marker: a sub-buffer holds no second one.
const MARKER: usize = 3000;

fn enable(own: &Instance, on: bool) -> Check {
    own.set(&format!("{EVENT}/enable"), if on { "1" } else { "0" })
}

/// The cost of an event in a buffer of `mib` MiB that has been written from end to end.
fn in_size(kernel: &Kernel, root: &Path, mib: u64) -> Check<Cost> {
    let own = Instance::new(root, "rtg-bench")?;
    own.set("buffer_size_kb", &(mib << 10).to_string())?;
    let marker = own.open_write("trace_marker").map_err(|e| e.to_string())?;
    let text = [b'x'; MARKER];
    let pages = mib << 8;
    for _ in 0..pages + pages / 8 {
        let written = (&marker).write(&text).map_err(|e| format!("marker: {e}"))?;
        ensure!(written == MARKER, "{written} bytes of a marker");
    }
    drop(marker);
    let lost = own.number("per_cpu/cpu0/stats", "overrun")?;
    ensure!(lost != 0, "a buffer of {mib} MiB is not full");
    enable(&own, true)?;
    let cost = kernel.cost(asked("event", "off", 100), || Ok(()));
    enable(&own, false)?;
    own.remove()?;
    cost
}

/// Returns the cost of an event that `count` instances record.
fn in_instances(kernel: &Kernel, root: &Path, count: usize) -> Check<Cost> {
    let all: Check<Vec<_>> = (0..count)
        .map(|number| Instance::new(root, &format!("rtg-bench{number}")))
        .collect();
    let all = all?;
    for own in &all {
        enable(own, true)?;
    }
    let cost = kernel.cost(asked("event", "off", 100), || {
        all.iter().try_for_each(|own| own.clear())
    });
    for own in all {
        enable(&own, false)?;
        own.remove()?;
    }
    cost
}

/// KiB of free memory, now; what the CPU keeps for itself is free, too.
fn free_kb() -> Check<i64> {
    std::fs::write("/proc/sys/vm/drop_caches", "3").map_err(|e| e.to_string())?;
    Ok((memory::meminfo_kb("MemFree")? + memory::kept_by_cpus_kb()?) as i64)
}

/// KiB of free memory once all memory given up has been freed, which takes a while.
fn settled_kb() -> Check<i64> {
    let mut last = free_kb()?;
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(500));
        let now = free_kb()?;
        if (now - last).abs() < SETTLED_KB {
            return Ok(now);
        }
        last = now;
    }
    Err("the free memory does not settle".into())
}

/// KiB that a buffer of `MEMORY_KB` takes: of one CPU, the machine has no other.
fn memory_of(root: &Path) -> Check<f64> {
    let own = Instance::new(root, "rtg-bench")?;
    own.set("buffer_size_kb", "8")?;
    let before = settled_kb()?;
    own.set("buffer_size_kb", &MEMORY_KB.to_string())?;
    let taken = before - settled_kb()?;
    own.remove()?;
    Ok(taken as f64)
}

/// Measures all of it.
pub fn measure(context: &Context, table: &mut Table) -> Check {
    let kernel = Kernel::load()?;
    let roots = (&context.reference, &context.root);
    table.begin(
        "scaling",
        "one TRACE_EVENT, the loop included: instructions",
    );
    for &mib in SIZES {
        let (ftrace, rtrace) = (
            in_size(&kernel, roots.0, mib)?,
            in_size(&kernel, roots.1, mib)?,
        );
        let row = Row::new(&format!("overwriting a buffer of {mib} MiB"));
        table.add(row.context("irqs off").both(ftrace.each(), rtrace.each()));
    }
    for &count in INSTANCES {
        let (ftrace, rtrace) = (
            in_instances(&kernel, roots.0, count)?,
            in_instances(&kernel, roots.1, count)?,
        );
        let row = Row::new(&format!("recorded by instances: {count}"));
        table.add(row.context("irqs off").both(ftrace.each(), rtrace.each()));
    }
    let row = Row::new(&format!(
        "KiB of memory for buffer_size_kb = {MEMORY_KB}, per CPU"
    ));
    table.add(
        row.unit("KiB")
            .both(memory_of(roots.0)?, memory_of(roots.1)?),
    );
    Ok(())
}
