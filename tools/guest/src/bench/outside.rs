// SPDX-License-Identifier: GPL-2.0

//! What an event adds to the system call that makes it, and what reading it costs a program.
//!
//! A row is measured several times, and the least is told: the others had a timer interrupt in them.

use crate::check::Check;
use crate::rawcalls;
use crate::sys;
use crate::tree::Instance;

use super::inside::{set_all, Setting};
use super::table::{Row, Table};
use crate::Context;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How often a row is measured, and over how many events. A timer interrupt comes every four million
/// instructions.
const ROUNDS: usize = 12;
const EVENTS: usize = 1000;

/// Events in the buffer when readers are measured.
const TO_READ: usize = 20_000;
/// Entries of a large histogram.
const MANY_ENTRIES: usize = 100_000;

/// An event that one plain system call makes: 40 bytes of fields.
const EVENT: &str = "events/task/task_rename";
/// An event of every system call, for which the kernel takes its slow path in and out.
const CALL_EVENT: &str = "events/raw_syscalls/sys_enter";

const SYS_GETPPID: usize = 110;
const SYS_PRCTL: usize = 157;
const PR_SET_NAME: usize = 15;

/// Instructions, where the machine counts them.
pub fn ticks() -> u64 {
    // SAFETY: Every x86-64 has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// What `tools/guest/bench/plugin.c` takes for the first of two marks: for everything else a no-op.
pub(super) fn mark_begin() {
    // SAFETY: A `nop` whose address is not accessed.
    unsafe { core::arch::asm!(".byte 0x0f, 0x1f, 0x80, 1, 114, 116, 98", options(nostack)) };
}

/// The second one.
pub(super) fn mark_end() {
    // SAFETY: A `nop` whose address is not accessed.
    unsafe { core::arch::asm!(".byte 0x0f, 0x1f, 0x80, 2, 114, 116, 98", options(nostack)) };
}

/// Makes one event of `EVENT`.
fn rename() {
    const NAME: &[u8; 16] = b"rtguest-bench\0\0\0";
    sys::call(SYS_PRCTL, [PR_SET_NAME, NAME.as_ptr() as usize, 0, 0, 0, 0]);
}

/// Makes one event of `CALL_EVENT`.
fn getppid() {
    sys::call(SYS_GETPPID, [0; 6]);
}

/// Instructions of one `work`, with `before` run before each round.
pub fn cost(mut before: impl FnMut() -> Check, work: impl Fn()) -> Check<f64> {
    let mut least = u64::MAX;
    for _ in 0..ROUNDS {
        before()?;
        work();
        let began = ticks();
        for _ in 0..EVENTS {
            work();
        }
        least = least.min(ticks() - began);
    }
    Ok(least as f64 / EVENTS as f64)
}

/// What readers find in the buffer.
struct Content {
    /// Its name in a row.
    name: &'static str,
    /// Number of events.
    events: usize,
    /// Puts that many events there.
    fill: fn(&Instance, usize) -> Check,
}

/// The event of the other rows.
const PLAIN: Content = Content {
    name: "an event",
    events: TO_READ,
    fill: |own, events| {
        own.set(&format!("{EVENT}/enable"), "1")?;
        (0..events).for_each(|_| rename());
        own.set(&format!("{EVENT}/enable"), "0")
    },
};

/// Every kind of record whose text is made in a different way.
const CONTENTS: &[Content] = &[
    PLAIN,
    Content {
        name: "a marker",
        events: TO_READ,
        fill: |own, events| {
            let mut file = own.open_write("trace_marker").map_err(|e| e.to_string())?;
            for number in 0..events {
                let text = format!("marker number {number}");
                std::io::Write::write_all(&mut file, text.as_bytes()).map_err(|e| e.to_string())?;
            }
            Ok(())
        },
    },
    Content {
        name: "an event and its stack",
        events: TO_READ / 10,
        fill: |own, events| {
            own.set("options/stacktrace", "1")?;
            (PLAIN.fill)(own, events)?;
            own.set("options/stacktrace", "0")
        },
    },
    Content {
        name: "a function",
        events: TO_READ,
        fill: |own, events| {
            own.set("set_ftrace_filter", "__do_sys_getppid")?;
            own.set("current_tracer", "function")?;
            (0..events).for_each(|_| getppid());
            own.set("set_ftrace_filter", "__x64_sys_getpgid")
        },
    },
    Content {
        name: "a call (function_graph)",
        events: TO_READ,
        fill: |own, events| {
            own.set("set_ftrace_filter", "__do_sys_getppid")?;
            own.set("current_tracer", "function_graph")?;
            (0..events).for_each(|_| getppid());
            own.set("set_ftrace_filter", "__x64_sys_getpgid")
        },
    },
    FIELDS,
];

/// An event as its fields.
const FIELDS: Content = Content {
    name: "an event, fields",
    events: TO_READ / 2,
    fill: |own, events| {
        (PLAIN.fill)(own, events)?;
        own.set("options/fields", "1")
    },
};

/// The same of an event of a kprobe.
const PROBED: Content = Content {
    name: "an event of a kprobe",
    events: TO_READ / 2,
    fill: |own, events| probed(own, events, "type"),
};

/// What ftrace does not have: numbers that are shown by their names.
const OWN_CONTENTS: &[Content] = &[
    Content {
        name: "an event of a kprobe, an enumeration",
        events: TO_READ / 2,
        fill: |own, events| probed(own, events, "type:enum"),
    },
    Content {
        name: "an event of a kprobe, an error",
        events: TO_READ / 2,
        fill: |own, events| probed(own, events, "type=\\-2:errno"),
    },
];

/// Records calls of a function that each `getppid()` calls once, with this argument.
fn probed(own: &Instance, events: usize, argument: &str) -> Check {
    const FILE: &str = "kprobe_events";
    let _ = own.top().write(FILE, b"-:bench/text");
    let line = format!("p:bench/text __task_pid_nr_ns {argument}");
    own.top().set(FILE, &line)?;
    own.set("events/bench/text/enable", "1")?;
    (0..events).for_each(|_| getppid());
    own.set("events/bench/text/enable", "0")
}

/// One tracer, with an instance of its own.
struct Side {
    own: Instance,
}

impl Side {
    fn new(root: &Path) -> Check<Self> {
        let own = Instance::new(root, "rtg-bench")?;
        own.set("buffer_size_kb", "4096")?;
        Ok(Side { own })
    }

    /// The cost of `work` while `event` is on, after `set` and before `unset`.
    fn event(&self, event: &str, work: fn(), set: Setting, unset: Setting) -> Check<f64> {
        set_all(&self.own, set)?;
        self.own.set(&format!("{event}/enable"), "1")?;
        let result = cost(|| self.own.clear(), work);
        self.own.set(&format!("{event}/enable"), "0")?;
        set_all(&self.own, unset)?;
        result
    }

    /// Puts events into the buffer.
    fn fill(&self, content: &Content) -> Check {
        self.own.set("options/fields", "0")?;
        self.own.set("current_tracer", "nop")?;
        self.own.clear()?;
        (content.fill)(&self.own, content.events)?;
        let entries = self.own.number("per_cpu/cpu0/stats", "entries")?;
        ensure!(
            entries >= content.events as u64,
            "{entries} events in the buffer"
        );
        Ok(())
    }

    /// Returns the cost per event of reading all of `file` with `read`, which returns 0 at the end.
    fn reading(
        &self,
        content: &Content,
        file: &str,
        mut read: impl FnMut(&mut File) -> usize,
    ) -> Check<f64> {
        let mut least = u64::MAX;
        for _ in 0..3 {
            least = least.min(self.read_all(content, file, &mut read)?);
        }
        Ok(least as f64 / content.events as f64)
    }

    /// Instructions of one reading of all of `file`, between the marks of the plugin.
    fn read_all(
        &self,
        content: &Content,
        file: &str,
        read: &mut dyn FnMut(&mut File) -> usize,
    ) -> Check<u64> {
        self.fill(content)?;
        let mut open = OpenOptions::new()
            .read(true)
            .custom_flags(sys::O_NONBLOCK)
            .open(self.own.file(file))
            .map_err(|e| format!("{file}: {e}"))?;
        let mut bytes = 0;
        let began = ticks();
        mark_begin();
        loop {
            match read(&mut open) {
                0 => break,
                n => bytes += n,
            }
        }
        mark_end();
        let took = ticks() - began;
        ensure!(bytes > content.events * 40, "{file}: only {bytes} bytes");
        Ok(took)
    }
}

/// Returns the cost per entry of opening `file` and reading all of it, with a histogram that has an entry for each of
/// so many events.
fn hist_reading(side: &Side, file: &str) -> Check<f64> {
    let mut least = f64::MAX;
    for _ in 0..3 {
        least = least.min(one_hist_reading(side, file, TO_READ)?);
    }
    Ok(least)
}

/// The same once, for so many entries.
fn one_hist_reading(side: &Side, file: &str, entries: usize) -> Check<f64> {
    let trigger = format!("{EVENT}/trigger");
    let size = entries.next_power_of_two();
    let command = format!("hist:keys=common_timestamp:size={size}");
    side.own.set(&trigger, &command)?;
    (0..entries).for_each(|_| rename());
    let mut bytes = 0;
    let began = ticks();
    mark_begin();
    let mut open = File::open(side.own.file(&format!("{EVENT}/{file}")))
        .map_err(|e| format!("{file}: {e}"))?;
    loop {
        match plain(&mut open) {
            0 => break,
            n => bytes += n,
        }
    }
    mark_end();
    let took = ticks() - began;
    ensure!(bytes > entries * 40, "{file}: only {bytes} bytes");
    drop(open);
    side.own.set(&trigger, &format!("!{command}"))?;
    Ok(took as f64 / entries as f64)
}

/// Reads large pieces.
fn plain(file: &mut File) -> usize {
    thread_local!(static BUFFER: std::cell::RefCell<Vec<u8>> = vec![0; 1 << 16].into());
    BUFFER.with_borrow_mut(|buffer| file.read(buffer).unwrap_or(0))
}

/// One row, for both.
fn row(
    table: &mut Table,
    name: &str,
    sides: &(Side, Side),
    mut measure: impl FnMut(&Side) -> Check<f64>,
) -> Check {
    let (ftrace, rtrace) = (measure(&sides.0)?, measure(&sides.1)?);
    table.add(Row::new(name).both(ftrace, rtrace));
    Ok(())
}

/// Measures all rows.
pub(super) fn measure(context: &Context, table: &mut Table) -> Check {
    let sides = (Side::new(&context.reference)?, Side::new(&context.root)?);
    let bare = cost(|| Ok(()), rename)?;
    let bare_call = cost(|| Ok(()), getppid)?;
    table.begin(
        "outside",
        "from user space: more for a system call; per event for a reader",
    );
    const FILTER: &str = "events/task/task_rename/filter";
    let settings: &[(&'static str, Setting, Setting)] = &[
        ("event (task_rename, 48 bytes)", &[], &[]),
        (
            "event, clock x86-tsc",
            &[("trace_clock", "x86-tsc")],
            &[("trace_clock", "local")],
        ),
        (
            "event, clock mono",
            &[("trace_clock", "mono")],
            &[("trace_clock", "local")],
        ),
        (
            "event, overwriting",
            &[("buffer_size_kb", "16")],
            &[("buffer_size_kb", "4096")],
        ),
        (
            "event, refused by a full buffer",
            &[("buffer_size_kb", "16"), ("options/overwrite", "0")],
            &[("options/overwrite", "1"), ("buffer_size_kb", "4096")],
        ),
        (
            "event, filter passes",
            &[(FILTER, "pid != 1")],
            &[(FILTER, "0")],
        ),
        (
            "event, filtered out",
            &[(FILTER, "pid == 1")],
            &[(FILTER, "0")],
        ),
        (
            "event, filtered out by a string",
            &[(FILTER, "newcomm ~ \"*kworker*\"")],
            &[(FILTER, "0")],
        ),
        (
            "event, tracing_on is 0",
            &[("tracing_on", "0")],
            &[("tracing_on", "1")],
        ),
    ];
    for (name, set, unset) in settings {
        row(table, name, &sides, |side| {
            Ok(side.event(EVENT, rename, set, unset)? - bare)
        })?;
    }
    row(
        table,
        "event, in a second instance too (more)",
        &sides,
        |side| {
            let other = Instance::new(side.own.top().path(), "rtg-bench2")?;
            let one = side.event(EVENT, rename, &[], &[])?;
            other.set(&format!("{EVENT}/enable"), "1")?;
            let two = side.event(EVENT, rename, &[], &[])?;
            other.remove()?;
            Ok(two - one)
        },
    )?;
    row(table, "event that is off", &sides, |_| {
        Ok(cost(|| Ok(()), rename)? - bare)
    })?;
    row(
        table,
        "system call, raw_syscalls:sys_enter (more)",
        &sides,
        |side| Ok(side.event(CALL_EVENT, getppid, &[], &[])? - bare_call),
    )?;
    for content in CONTENTS {
        for file in ["trace_pipe", "trace"] {
            let [ftrace, rtrace] =
                [&sides.0, &sides.1].map(|side| side.reading(content, file, plain));
            let (ftrace, rtrace) = (ftrace?, rtrace?);
            let name = format!("text of {}, {file}", content.name);
            table.add(Row::new(&name).both(ftrace, rtrace));
            if content.name != PLAIN.name {
                continue;
            }
            // An instruction is a nanosecond of the guest's time.
            let [ftrace, rtrace] = [ftrace, rtrace].map(|each| 1e9 / each);
            let lines = Row::new(&format!("lines of text a second, {file}")).unit("lines/s");
            table.add(lines.both(ftrace, rtrace));
        }
    }
    row(table, "text of an event of a kprobe", &sides, |side| {
        side.reading(&PROBED, "trace_pipe", plain)
    })?;
    for content in OWN_CONTENTS {
        let own = sides.1.reading(content, "trace_pipe", plain)?;
        table.add(Row::new(&format!("text of {}", content.name)).own(own));
    }
    for side in [&sides.0, &sides.1] {
        side.own.top().set("kprobe_events", "-:bench/text")?;
    }
    let json = sides.1.reading(&PLAIN, "trace_pipe_json", plain)?;
    table.add(Row::new("JSON of an event, trace_pipe_json").own(json));
    row(table, "text of an entry of a histogram", &sides, |side| {
        hist_reading(side, "hist")
    })?;
    row(
        table,
        "text of an entry of a histogram of 100000",
        &sides,
        |side| one_hist_reading(side, "hist", MANY_ENTRIES),
    )?;
    for (name, file) in [
        ("text of an entry that is taken, hist_take", "hist_take"),
        ("JSON of an entry of a histogram, hist_json", "hist_json"),
    ] {
        table.add(Row::new(name).own(hist_reading(&sides.1, file)?));
    }
    row(table, "bytes of an event, read", &sides, |side| {
        side.reading(&PLAIN, "per_cpu/cpu0/trace_pipe_raw", plain)
    })?;
    row(
        table,
        "bytes of an event, splice to /dev/null",
        &sides,
        splice,
    )
}

/// Reads each of the files of lines once; a line for each: events, name. The first one only makes the
/// plugin begin.
pub(super) fn windows(context: &Context) -> Check<String> {
    let sides = (Side::new(&context.reference)?, Side::new(&context.root)?);
    let mut text = String::new();
    for (name, side, content, file) in [
        ("nothing", &sides.0, &PLAIN, "trace_pipe"),
        ("ftrace, trace_pipe", &sides.0, &PLAIN, "trace_pipe"),
        ("rtrace, trace_pipe", &sides.1, &PLAIN, "trace_pipe"),
        ("ftrace, trace", &sides.0, &PLAIN, "trace"),
        ("rtrace, trace", &sides.1, &PLAIN, "trace"),
        ("ftrace, fields", &sides.0, &FIELDS, "trace_pipe"),
        ("rtrace, fields", &sides.1, &FIELDS, "trace_pipe"),
        ("rtrace, JSON", &sides.1, &PLAIN, "trace_pipe_json"),
    ] {
        side.read_all(content, file, &mut plain)?;
        let _ = writeln!(text, "{} {name}", content.events);
    }
    one_hist_reading(&sides.1, "hist", TO_READ)?;
    let _ = writeln!(text, "{TO_READ} rtrace, hist");
    Ok(text)
}

/// The pages of a buffer go through a pipe to nowhere.
fn splice(side: &Side) -> Check<f64> {
    let (out, into) = sys::pipe().map_err(|e| format!("pipe: {e}"))?;
    let nowhere = OpenOptions::new()
        .write(true)
        .open("/dev/null")
        .map_err(|e| e.to_string())?;
    side.reading(&PLAIN, "per_cpu/cpu0/trace_pipe_raw", |file| {
        let moved = rawcalls::splice(file, &into, 1 << 16, true).unwrap_or(0);
        let mut left = moved;
        while left > 0 {
            match rawcalls::splice(&out, &nowhere, left, false) {
                Ok(n) if n > 0 => left -= n,
                _ => return 0,
            }
        }
        moved
    })
}
