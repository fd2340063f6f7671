// SPDX-License-Identifier: GPL-2.0

//! Names of functions and of their callers, as the kernel's own tracers write them: those of modules,
//! callers whose place a probe has, and places that records count from the kernel's first code.

use super::dynamic::{recorded, Tops};
use super::graph::{getppid, seen, select, sides, FILTER};
use super::{pair, test, Test};
use crate::check::{Check, Report};
use crate::kernel_modules::{Loaded, Modules};
use crate::module;
use crate::sys;
use crate::tree::Instance;
use crate::vsock;
use crate::Context;

pub const TESTS: &[Test] = &[
    test("graph.module_names", 60, module_names),
    test("kprobe.module_names", 60, probed_modules),
    test("functions.return_probes", 60, return_probes),
    test("kprobe.places_in_fields", 60, places_in_fields),
];

/// What sockets of the module call, as far as this kernel has it.
const OF_MODULE: &[&str] = &[
    "vsock_create",
    "__vsock_create",
    "vsock_bind",
    "vsock_release",
    "__vsock_release",
];

/// What writes back a range of a file, and what it calls at its end for a file that is memory.
const SYNC_RANGE: &str = "vfs_fsync_range";
const SYNC: &str = "noop_fsync";

const CLOSE: usize = 3;
const MMAP: usize = 9;
const MUNMAP: usize = 11;
const MSYNC: usize = 26;
const FTRUNCATE: usize = 77;
const MEMFD_CREATE: usize = 319;
const READ_WRITE: usize = 3;
const SHARED: usize = 1;
const MS_SYNC: usize = 4;

/// Functions of a module have its name after theirs in lines of calls.
fn module_names(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    let modules = Modules::new()?;
    let mut loaded = Loaded::new(&modules);
    loaded.add("vsock-loopback")?;
    if !module::is_loaded("vsock") {
        skip!("vsock is part of the kernel");
    }
    sys::pin_to(0);
    let there = own.top().get("available_filter_functions")?;
    let there: Vec<_> = there.lines().collect();
    let is_there = |name: &&&str| there.contains(&format!("{name} [vsock]").as_str());
    let functions: Vec<_> = OF_MODULE.iter().filter(is_there).copied().collect();
    let functions = functions.join(" ");
    let rows: &[&[&str]] = &[
        &[],
        &["funcgraph-tail"],
        &["funcgraph-args", "funcgraph-tail"],
    ];
    let mut report = Report::default();
    for options in rows {
        for tree in [&own, &reference] {
            tree.set("set_ftrace_pid", &sys::thread_id().to_string())?;
            select(tree, FILTER, &functions)?;
            tree.set("current_tracer", "function_graph")?;
            for option in *options {
                tree.set("trace_options", option)?;
            }
        }
        vsock::talk(1)?;
        for tree in [&own, &reference] {
            tree.set("tracing_on", "0")?;
        }
        // Arguments are addresses, which are the same in both.
        let (found, wanted) = (seen(&own.get("trace")?), seen(&reference.get("trace")?));
        report.expect(found.contains("vsock_create [vsock]("), || {
            format!("{options:?}, too few lines:\n{found}")
        });
        report.expect(found == wanted, || {
            format!("{options:?}:\n{found}\ntracefs:\n{wanted}")
        });
        for tree in [&own, &reference] {
            for option in *options {
                tree.set("trace_options", &format!("no{option}"))?;
            }
            tree.set("current_tracer", "nop")?;
            tree.set("tracing_on", "1")?;
        }
    }
    for tree in [&own, &reference] {
        tree.empty(FILTER)?;
        tree.empty("set_ftrace_pid")?;
    }
    report.finish()
}

/// Events of probes name a function of a module as the kernel's do: with the module where the place is.
fn probed_modules(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let modules = Modules::new()?;
    let mut loaded = Loaded::new(&modules);
    loaded.add("vsock-loopback")?;
    if !module::is_loaded("vsock") {
        skip!("vsock is part of the kernel");
    }
    tops.set(
        "kprobe_events",
        "p:named/begun vsock_bind\np:named/inside vsock_bind+4\nr:named/back vsock_bind\n",
    )?;
    let mut report = Report::default();
    {
        let (own, reference) = pair(context)?;
        for tree in [&own, &reference] {
            tree.set("events/named/enable", "1")?;
            tree.set("set_event_pid", &sys::thread_id().to_string())?;
        }
        vsock::talk(1)?;
        for tree in [&own, &reference] {
            tree.set("events/named/enable", "0")?;
        }
        for option in ["nosym-addr", "sym-addr"] {
            own.set("trace_options", option)?;
            reference.set("trace_options", option)?;
            let (found, wanted) = (recorded(&own)?, recorded(&reference)?);
            report.expect(found.len() == 3 && found == wanted, || {
                format!("{option}: {found:#?}, tracefs {wanted:#?}")
            });
        }
    }
    tops.clear();
    report.finish()
}

/// Writes back a page of shared memory, for which the kernel calls `SYNC` of its file.
fn write_back() -> Check {
    let file = sys::call(MEMFD_CREATE, [c"names".as_ptr() as usize, 0, 0, 0, 0, 0]);
    let file = usize::try_from(file).map_err(|_| format!("memfd_create: {file}"))?;
    sys::call(FTRUNCATE, [file, 4096, 0, 0, 0, 0]);
    let place = sys::call(MMAP, [0, 4096, READ_WRITE, SHARED, file, 0]);
    let place = usize::try_from(place).map_err(|_| format!("mmap: {place}"))?;
    let answer = sys::call(MSYNC, [place, 4096, MS_SYNC, 0, 0, 0]);
    sys::call(MUNMAP, [place, 4096, 0, 0, 0, 0]);
    sys::call(CLOSE, [file, 0, 0, 0, 0, 0]);
    ensure_eq!(answer, 0, "msync");
    Ok(())
}

/// A function to which one with a probe at its return jumps has the kernel's code for such returns as its caller.
fn return_probes(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let (own, reference) = sides(context)?;
    let there = own.top().get("available_filter_functions")?;
    if ![SYNC_RANGE, SYNC]
        .iter()
        .all(|name| there.lines().any(|line| line == *name))
    {
        skip!("the functions of the test have other names");
    }
    sys::pin_to(0);
    // Of the kernel, so that both see the same.
    tops.reference
        .set("kprobe_events", &format!("r:named/back {SYNC_RANGE}"))?;
    tops.reference.set("events/named/enable", "1")?;
    let mut report = Report::default();
    let mut seen = 0;
    for option in ["nosym-offset", "sym-offset", "sym-addr"] {
        for tree in [&own, &reference] {
            tree.set("set_ftrace_pid", &sys::thread_id().to_string())?;
            select(tree, FILTER, SYNC)?;
            tree.set("current_tracer", "function")?;
            tree.set("trace_options", option)?;
        }
        write_back()?;
        for tree in [&own, &reference] {
            tree.set("tracing_on", "0")?;
        }
        let calls = |tree: &Instance| -> Check<Vec<String>> {
            let lines = recorded(tree)?;
            let call = |line: &String| Some(line.get(line.find(SYNC)?..)?.to_string());
            Ok(lines.iter().filter_map(call).collect())
        };
        let (found, wanted) = (calls(&own)?, calls(&reference)?);
        for tree in [&own, &reference] {
            tree.set("current_tracer", "nop")?;
            tree.set("tracing_on", "1")?;
        }
        seen += wanted.concat().matches("<-[unknown/kretprobe'd]").count();
        report.expect(found == wanted && wanted.len() == 1, || {
            format!("{option}: {found:#?}, tracefs {wanted:#?}")
        });
    }
    for tree in [&own, &reference] {
        tree.empty(FILTER)?;
        tree.empty("set_ftrace_pid")?;
    }
    tops.reference.set("events/named/enable", "0")?;
    tops.clear();
    report.finish()?;
    if seen == 0 {
        skip!("{SYNC_RANGE} does not jump to {SYNC}");
    }
    Ok(())
}

/// Under `fields`, numbers of some names are places, which are named before them.
fn places_in_fields(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let function = sys::getppid_function();
    let line = format!(
        "p:named/places {function} caller_offs=\\0x4010:u32 parent_offs=\\0x8000:s32 offs=\\1:u32"
    );
    tops.set("kprobe_events", &line)?;
    let mut report = Report::default();
    {
        let (own, reference) = pair(context)?;
        for tree in [&own, &reference] {
            tree.set("set_event_pid", &sys::thread_id().to_string())?;
            tree.set("events/named/enable", "1")?;
            tree.set("options/fields", "1")?;
        }
        getppid();
        for tree in [&own, &reference] {
            tree.set("events/named/enable", "0")?;
        }
        let (found, wanted) = (recorded(&own)?, recorded(&reference)?);
        let is_named = |line: &String| line.contains("+0x") && line.contains(" 0x4010 (16400)");
        report.expect(found == wanted && wanted.iter().any(is_named), || {
            format!("{found:#?}, tracefs {wanted:#?}")
        });
    }
    tops.clear();
    report.finish()
}
