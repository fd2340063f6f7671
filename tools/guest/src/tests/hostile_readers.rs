// SPDX-License-Identifier: GPL-2.0

//! Hundreds of readers of one descriptor beside dozens of writers, readers of all other kinds, some
//! that are stopped, and a CPU that goes and comes: each marker is read once.

use super::size_load::switch_cpu;
use super::{exact, Test};
use crate::check::{joined, Check};
use crate::errno::*;
use crate::soak::fewer;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

pub const TESTS: &[Test] = &[exact(
    "hostile.hundreds_of_readers",
    120,
    hundreds_of_readers,
)];

const READERS: usize = 200;
const WRITERS: usize = 50;
const VIEWERS: usize = 20;
const POLLERS: usize = 5;
/// Programs with the same descriptor that are stopped while the others read.
const STOPPED: usize = 3;

const SIGSTOP: usize = 19;
const SIGCONT: usize = 18;

fn signal(child: &Child, signal: usize) -> Check {
    const KILL: usize = 62;
    let sent = sys::call(KILL, [child.id() as usize, signal, 0, 0, 0, 0]);
    ensure_eq!(sent, 0, "kill");
    Ok(())
}

/// The numbers of whole lines; a line that is none is an error, and so is a loss.
fn numbers(text: &[u8]) -> Check<Vec<usize>> {
    let text = String::from_utf8_lossy(text);
    let number = |line: &str| line.rsplit_once(": number ")?.1.parse().ok();
    let lines = text.lines();
    lines
        .map(|line| number(line).ok_or_else(|| format!("no line: {line:?}")))
        .collect()
}

/// Reads what there is, in large reads, until the end of the file. Many do it with one descriptor.
fn read_all(mut file: &File) -> Check<Vec<u8>> {
    let (mut all, mut bytes) = (vec![], vec![0; 1 << 16]);
    loop {
        match file.read(&mut bytes).map_err(Errno::from) {
            // Recording was switched off, and nothing is left.
            Ok(0) => return Ok(all),
            Ok(n) => all.extend_from_slice(&bytes[..n]),
            Err(EINTR) => {}
            Err(e) => fail!("trace_pipe: {e}"),
        }
    }
}

/// What goes on beside the consumers until `over`; returns how often.
fn beside(tree: &Tree, shared: &File, which: usize, over: &AtomicBool) -> Check<u64> {
    let mut count = 0;
    while !over.load(Ordering::Acquire) {
        count += 1;
        match which {
            0 => drop(tree.get("trace")?),
            1 => {
                let epoll = sys::epoll_of(shared).map_err(|e| format!("epoll: {e}"))?;
                match sys::epoll_in(&epoll, Duration::from_millis(20)) {
                    Ok(_) | Err(EINTR) => {}
                    Err(e) => fail!("epoll: {e}"),
                }
            }
            // The pipe of all CPUs has a reader.
            _ => {
                let found = tree.open_nonblock("per_cpu/cpu1/trace_pipe").map(drop);
                ensure_eq!(found, Err(EBUSY), "a CPU's pipe");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
    Ok(count)
}

fn hundreds_of_readers(context: &Context) -> Check {
    let each = fewer(200);
    let cpus = sys::online_cpus();
    let own = Instance::new(&context.root, "rtg-hundreds")?;
    // Nothing is overwritten and nothing refused: there is room for all.
    own.set("buffer_size_kb", "3000")?;
    own.set("options/overwrite", "0")?;
    let file = own.open("trace_pipe");
    let file = file.map_err(|e| format!("trace_pipe: {e}"))?;
    let mut stopped = vec![];
    for _ in 0..STOPPED {
        let input = file.try_clone().map_err(|e| format!("dup: {e}"))?;
        let child = Command::new("dd")
            .arg("bs=64k")
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        stopped.push(child.map_err(|e| format!("dd: {e}"))?);
    }
    for child in &stopped {
        signal(child, SIGSTOP)?;
    }
    let over = AtomicBool::new(false);
    let written = AtomicUsize::new(0);
    let tree: &Tree = &own;
    let texts = std::thread::scope(|scope| -> Check<Vec<Vec<u8>>> {
        let shared = &file;
        let start = |_| scope.spawn(move || read_all(shared));
        let readers: Vec<_> = (0..READERS).map(start).collect();
        let kinds = [(0, VIEWERS), (1, POLLERS), (2, 4)];
        let kinds = kinds
            .into_iter()
            .filter(|(which, _)| *which != 2 || cpus > 1);
        let others: Vec<_> = kinds
            .flat_map(|(which, count)| std::iter::repeat_n(which, count))
            .map(|which| {
                let over = &over;
                scope.spawn(move || beside(tree, shared, which, over))
            })
            .collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let written = &written;
                scope.spawn(move || -> Check {
                    let file = tree.open_write("trace_marker");
                    let mut file = file.map_err(|e| format!("trace_marker: {e}"))?;
                    for number in 0..each {
                        let text = format!("number {}", writer * each + number);
                        file.write_all(text.as_bytes())
                            .map_err(|e| format!("a marker: {e}"))?;
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        let mut switched = Ok(());
        while cpus > 1 && switched.is_ok() && writers.iter().any(|w| !w.is_finished()) {
            switched = ["0", "1"]
                .iter()
                .try_for_each(|to| switch_cpu(cpus - 1, to));
        }
        let marked = writers.into_iter().map(joined).collect::<Check<Vec<_>>>();
        let mut texts = vec![];
        let continued = stopped.iter().try_for_each(|child| signal(child, SIGCONT));
        // Readers get what is left, and the end.
        let off = own.set("tracing_on", "0");
        over.store(true, Ordering::Release);
        let read = readers.into_iter().map(joined).collect::<Check<Vec<_>>>();
        let told = others.into_iter().map(joined).collect::<Check<Vec<_>>>();
        for child in stopped.drain(..) {
            let output = child.wait_with_output();
            texts.push(output.map_err(|e| format!("dd: {e}"))?.stdout);
        }
        continued.and(off).and(switched).and(marked)?;
        println!("others: {:?}", told?);
        texts.extend(read?);
        Ok(texts)
    })?;
    let mut found = vec![];
    let mut busy = 0;
    for text in &texts {
        let of_reader = numbers(text)?;
        busy += usize::from(!of_reader.is_empty());
        found.extend(of_reader);
    }
    found.sort_unstable();
    println!("{} markers, {busy} readers had some", found.len());
    ensure_eq!(found.len(), written.load(Ordering::Relaxed), "markers read");
    ensure!(
        found.iter().copied().eq(0..WRITERS * each),
        "some twice, others not"
    );
    ensure!(busy > 1, "one reader had all");
    drop(file);
    own.remove()
}
