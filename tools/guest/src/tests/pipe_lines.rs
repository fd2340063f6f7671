// SPDX-License-Identifier: GPL-2.0

//! trace_pipe gives whole lines to readers with room for some, and to pipes.

use super::{exact, test, Test};
use crate::check::Check;
use crate::errno::*;
use crate::rawcalls;
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::uring::Uring;
use crate::Context;
use std::fs::File;
use std::io::Read;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("pipe.whole_lines", 30, whole_lines),
    exact("pipe.shared_descriptor", 60, shared_descriptor),
    test("pipe.spliced_lines", 30, spliced_lines),
    exact("pipe.closed", 60, closed),
    test("pipe.registered_buffer", 30, registered_buffer),
];

const EACH: [&str; 2] = ["trace_pipe", "per_cpu/cpu0/trace_pipe"];

/// The trees, and the ways in which an instance of ours is read.
fn trees(context: &Context) -> Check<Vec<(Instance, Vec<&'static str>)>> {
    sys::pin_to(0);
    let own = Instance::new(&context.root, "rtg-lines")?;
    let shared = Instance::new(&context.root, "rtg-lines-shared")?;
    let reference = Instance::new(&context.reference, "rtg-lines-ref")?;
    let mut names = EACH.to_vec();
    if context.is_rtracefs() {
        shared.set("options/pipe-share", "1")?;
        names.push("trace_pipe_json");
    }
    for tree in [&own, &shared, &reference] {
        tree.set("buffer_size_kb", "1000")?;
    }
    if soak::fewer(4) == 1 {
        names.truncate(1);
    }
    Ok(vec![
        (own, names.clone()),
        (shared, names),
        (reference, EACH.to_vec()),
    ])
}

fn open(tree: &Tree, name: &str) -> Check<File> {
    tree.open_nonblock(name)
        .map_err(|e| format!("{}: {e}", tree.shown(name)))
}

fn mark(tree: &Tree, count: usize) -> Check {
    (0..count).try_for_each(|i| {
        tree.set(
            "trace_marker",
            &format!("number {i} {}", "x".repeat(i % 50)),
        )
    })
}

fn numbers(text: &[u8]) -> Check<Vec<usize>> {
    let text = String::from_utf8_lossy(text).into_owned();
    let number = |line: &str| {
        let rest = line.split("number ").nth(1)?;
        rest.split(' ').next()?.parse().ok()
    };
    text.lines()
        .filter(|line| !line.contains("LOST"))
        .map(|line| number(line).ok_or_else(|| format!("no line: {line:?}")))
        .collect()
}

/// Reads of 8 KiB and more end with a line, whatever was read before, and waste no room. Shorter ones
/// are filled to the end.
fn whole_lines(context: &Context) -> Check {
    let lines = soak::fewer(2000);
    for (tree, names) in trees(context)? {
        for name in names {
            tree.clear()?;
            mark(&tree, lines)?;
            let mut file = open(&tree, name)?;
            let (mut all, mut bytes) = (Vec::new(), vec![0; 1 << 17]);
            let mut sizes = [8192, 4096, 8192, 100, 65536, 8193, 1 << 17, 3000, 10000].iter();
            loop {
                let size = *sizes.next().unwrap_or(&16384);
                let n = match file.read(&mut bytes[..size]).map_err(Errno::from) {
                    Ok(n) => n,
                    Err(EAGAIN) => break,
                    Err(e) => fail!("{}: {e}", tree.shown(name)),
                };
                all.extend_from_slice(&bytes[..n]);
                let whole = bytes[..n].ends_with(b"\n");
                ensure!(
                    whole || size < 8192,
                    "{}: a read of {size} gives {n} bytes and ends inside a line",
                    tree.shown(name)
                );
            }
            let wanted: Vec<usize> = (0..lines).collect();
            ensure_eq!(numbers(&all)?, wanted, "{}", tree.shown(name));
        }
        tree.remove()?;
    }
    Ok(())
}

/// Readers that share a descriptor get whole lines, each line one of them.
fn shared_descriptor(context: &Context) -> Check {
    const READERS: usize = 4;
    let lines = soak::fewer(2000);
    for (tree, names) in trees(context)? {
        for name in names {
            tree.clear()?;
            let file = open(&tree, name)?;
            let own = Tree::at(tree.path());
            let done = std::sync::atomic::AtomicBool::new(false);
            let over = &done;
            let texts = std::thread::scope(|scope| -> Check<Vec<Vec<u8>>> {
                let readers: Vec<_> = (0..READERS)
                    .map(|_| {
                        let mut file = &file;
                        scope.spawn(move || {
                            sys::pin_to(sys::online_cpus() - 1);
                            let (mut all, mut bytes) = (Vec::new(), vec![0; 1 << 16]);
                            loop {
                                let last = over.load(std::sync::atomic::Ordering::Acquire);
                                match file.read(&mut bytes).map_err(Errno::from) {
                                    Ok(n) => all.extend_from_slice(&bytes[..n]),
                                    Err(EAGAIN) if last => return all,
                                    Err(_) => std::thread::sleep(Duration::from_millis(1)),
                                }
                            }
                        })
                    })
                    .collect();
                let marked = mark(&own, lines);
                done.store(true, std::sync::atomic::Ordering::Release);
                let texts = readers.into_iter().map(|reader| reader.join());
                let texts = texts.collect::<Result<_, _>>();
                marked?;
                texts.map_err(|_| "a reader died".to_string())
            })?;
            let mut found = Vec::new();
            for text in &texts {
                found.extend(numbers(text)?);
            }
            found.sort();
            ensure_eq!(
                found,
                (0..lines).collect::<Vec<_>>(),
                "{}",
                tree.shown(name)
            );
        }
        tree.remove()?;
    }
    Ok(())
}

/// A pipe gets whole lines, however much is asked for; nothing when no line fits, and nothing is lost.
fn spliced_lines(context: &Context) -> Check {
    for (tree, names) in trees(context)? {
        for name in names {
            tree.clear()?;
            mark(&tree, 40)?;
            let file = open(&tree, name)?;
            let (mut out, into) = sys::pipe().map_err(|e| format!("pipe: {e}"))?;
            let splice = |len| rawcalls::splice(&file, &into, len, false);
            ensure_eq!(splice(10), Ok(0), "{}: no line fits", tree.shown(name));
            let mut all = Vec::new();
            for len in [200, 300, 1000].into_iter().chain(std::iter::repeat(4096)) {
                let n = match splice(len) {
                    Ok(n) => n,
                    Err(EAGAIN) => break,
                    Err(e) => fail!("{}: {e}", tree.shown(name)),
                };
                let mut bytes = vec![0; n];
                out.read_exact(&mut bytes).map_err(|e| e.to_string())?;
                ensure!(
                    n <= len && bytes.ends_with(b"\n"),
                    "{}: {len} gives {:?}",
                    tree.shown(name),
                    String::from_utf8_lossy(&bytes)
                );
                all.extend(bytes);
            }
            ensure_eq!(
                numbers(&all)?,
                (0..40).collect::<Vec<_>>(),
                "{}",
                tree.shown(name)
            );
        }
        tree.remove()?;
    }
    Ok(())
}

/// What a reader with room for whole lines did not get is there for the next one: a file that is closed
/// takes no event with it.
fn closed(context: &Context) -> Check {
    let lines = soak::fewer(1000);
    for (tree, names) in trees(context)? {
        for name in names {
            // A reader of its own begins with the oldest again.
            if tree.get("options/pipe-share").is_ok_and(|on| on == "1\n") {
                continue;
            }
            for spliced in [false, true] {
                // tracefs fills 8 KiB with lines there and hands on 4: differences.md.
                if spliced && tree.path().starts_with(&context.reference) {
                    continue;
                }
                tree.clear()?;
                mark(&tree, lines)?;
                let (mut all, mut bytes) = (Vec::new(), vec![0; 1 << 16]);
                let (mut out, into) = sys::pipe().map_err(|e| format!("pipe: {e}"))?;
                let mut sizes = [8192, 9000, 20_000, 1 << 16].iter().cycle();
                loop {
                    let size = *sizes.next().unwrap_or(&8192);
                    let mut file = open(&tree, name)?;
                    let read = match spliced {
                        true => rawcalls::splice(&file, &into, size / 8, false),
                        false => file.read(&mut bytes[..size]).map_err(Errno::from),
                    };
                    let n = match read {
                        Ok(n) => n,
                        Err(EAGAIN) => break,
                        Err(e) => fail!("{}: {e}", tree.shown(name)),
                    };
                    if spliced {
                        out.read_exact(&mut bytes[..n]).map_err(|e| e.to_string())?;
                    }
                    all.extend_from_slice(&bytes[..n]);
                }
                ensure_eq!(
                    numbers(&all)?,
                    (0..lines).collect::<Vec<_>>(),
                    "{}, spliced {spliced}",
                    tree.shown(name)
                );
            }
        }
        tree.remove()?;
    }
    Ok(())
}

/// io_uring reads into pages of a buffer that was registered, and is no splice: a line that is longer is given in
/// pieces.
fn registered_buffer(context: &Context) -> Check {
    let mut uring = match Uring::new() {
        Ok(uring) => uring,
        Err(EPERM | ENOSYS) => skip!("programs may have no io_uring"),
        Err(e) => fail!("io_uring: {e}"),
    };
    for (tree, names) in trees(context)? {
        for name in names {
            tree.clear()?;
            tree.set("trace_marker", &format!("number 0 {}", "x".repeat(300)))?;
            let mut file = open(&tree, name)?;
            let mut all = Vec::new();
            // io_uring waits for more after a read that got less than it wanted.
            for _ in 0..4 {
                let read = uring.read_fixed(&file, 64);
                let bytes = read.map_err(|e| format!("{}: {e}", tree.shown(name)))?;
                ensure_eq!(bytes.len(), 64, "a read of {}", tree.shown(name));
                all.extend(bytes);
            }
            let mut rest = [0; 4096];
            let n = file.read(&mut rest).map_err(|e| format!("read: {e}"))?;
            all.extend(&rest[..n]);
            ensure_eq!(numbers(&all)?, [0], "{}", tree.shown(name));
        }
        tree.remove()?;
    }
    Ok(())
}
