// SPDX-License-Identifier: GPL-2.0

//! What readers of `trace_pipe` get of calls that fill many sub-buffers, wherever their reads end.

use super::graph::{drain, functions, getpgid, getppid, select, sides, FILTER};
use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::rawcalls;
use crate::sys;
use crate::tree::Tree;
use crate::Context;
use std::io::Read;
use std::sync::Barrier;

pub const TESTS: &[Test] = &[test("graph.reads", 120, reads)];

/// Has the buffer of this CPU full of calls of two tasks in turn, far more than a sub-buffer. Returns the lines.
fn calls_of_two(tree: &Tree, functions: &str) -> Check<Vec<String>> {
    const SCHED_YIELD: usize = 24;
    select(tree, FILTER, functions)?;
    tree.set("current_tracer", "function_graph")?;
    let begin = Barrier::new(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                sys::pin_to(0);
                begin.wait();
                for _ in 0..600 {
                    getppid();
                    getpgid(0);
                    sys::call(SCHED_YIELD, [0; 6]);
                }
            });
        }
    });
    tree.set("tracing_on", "0")?;
    let trace = tree.get("trace")?;
    let lines: Vec<_> = trace
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    let turns = lines.iter().filter(|line| line.contains(" => ")).count();
    ensure_chance!(turns > 100, "{turns} times the other task");
    Ok(lines.into_iter().map(String::from).collect())
}

/// A reader with room for whole lines, and one that splices, get those of `trace`, wherever a read ends; and
/// what they did not get, the next reader gets.
fn reads(context: &Context) -> Check {
    let (own, _) = sides(context)?;
    sys::pin_to(0);
    let functions = functions(&own.top())?;
    let mut report = Report::default();
    let lines = calls_of_two(&own, &functions)?;
    let piped = drain(&own, 8192)?;
    let differs = piped.lines().zip(&lines).position(|(a, b)| a != b);
    report.expect(
        differs.is_none() && piped.lines().count() == lines.len(),
        || {
            let near = differs.map(|at| (piped.lines().nth(at), lines.get(at)));
            format!("line {differs:?} of {}: {near:?}", lines.len())
        },
    );
    // Those of exits name functions whose entries the reader has not seen, and tasks are told of to each reader.
    let is_entry = |line: &&str| line.contains("() {") || line.contains("();");
    for len in [8192, 600, 700] {
        own.set("current_tracer", "nop")?;
        own.clear()?;
        own.set("tracing_on", "1")?;
        let lines = calls_of_two(&own, &functions)?;
        let (mut text, mut bytes) = (Vec::new(), vec![0; len]);
        let (mut out, into) = sys::pipe().map_err(|e| format!("pipe: {e}"))?;
        loop {
            let mut pipe = own
                .open_nonblock("trace_pipe")
                .map_err(|e| format!("trace_pipe: {e}"))?;
            let read = match len {
                8192 => pipe.read(&mut bytes).map_err(Errno::from),
                _ => rawcalls::splice(&pipe, &into, len, false),
            };
            let n = match read {
                Ok(n @ 1..) => n,
                Err(EAGAIN) => break,
                other => fail!("{len} bytes: {other:?}"),
            };
            if len != 8192 {
                out.read_exact(&mut bytes[..n]).map_err(|e| e.to_string())?;
            }
            text.extend_from_slice(&bytes[..n]);
        }
        let text = String::from_utf8(text).map_err(|e| e.to_string())?;
        let found: Vec<_> = text.lines().filter(is_entry).collect();
        let wanted: Vec<_> = lines.iter().map(String::as_str).filter(is_entry).collect();
        report.expect(found == wanted, || {
            let (found, wanted) = (found.len(), wanted.len());
            format!("{found} of {wanted} entries, {len} bytes for each reader")
        });
    }
    own.set("current_tracer", "nop")?;
    report.finish()
}
