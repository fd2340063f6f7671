// SPDX-License-Identifier: GPL-2.0

//! The ring by itself and a whole event, measured inside the kernel: with interrupts off, and in the
//! interrupt of a timer.

use super::kernel::{Asked, Cost, Kernel};
use super::table::{Row, Table};
use crate::check::Check;
use crate::module;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::fmt::Write as _;
use std::path::Path;

pub const EVENTS: u32 = 10_000;
/// So many that a buffer of 256 KiB overwrites its contents.
const AROUND: u32 = 40_000;
/// The first events of a row are not measured.
pub const FIRST: u32 = 100;

const NAME: &str = "rtg-bench";
pub const EVENT: &str = "events/rtbench/rtbench_event";
pub const CONTEXTS: &[(&str, &str)] = &[("off", "irqs off"), ("hardirq", "hardirq")];

pub type Setting = &'static [(&'static str, &'static str)];

const ROOM: Setting = &[("buffer_size_kb", "16384"), ("options/overwrite", "0")];
const SMALL: Setting = &[("buffer_size_kb", "256"), ("options/overwrite", "1")];
const SMALL_TSC: Setting = &[
    ("buffer_size_kb", "256"),
    ("options/overwrite", "1"),
    ("trace_clock", "x86-tsc"),
];

pub fn asked<'a>(row: &'a str, context: &'a str, before: u32) -> Asked<'a> {
    Asked {
        row,
        context,
        events: EVENTS,
        before,
        refused: false,
    }
}

pub fn set_all(tree: &Tree, settings: Setting) -> Check {
    for (file, value) in settings {
        tree.set(file, value)?;
    }
    Ok(())
}

/// A row of two costs.
pub fn pair(name: &str, context: &'static str, ftrace: Cost, rtrace: Cost) -> Row {
    let row = Row::new(name)
        .context(context)
        .both(ftrace.each(), rtrace.each());
    match ftrace.same.zip(rtrace.same) {
        Some((ftrace, rtrace)) => row.same(ftrace && rtrace),
        None => row,
    }
}

/// Clocks, and the rings without events around them.
pub fn ring(context: &Context, table: &mut Table) -> Check {
    table.begin("ring", "the ring alone, the loop included: instructions");
    // The steps of a writer are in this module only; all other parts measure the product.
    let testing = context.with_module(&context.test_module);
    module::reload(&testing)?;
    with_own(&testing, |kernel, own| ring_rows(kernel, own, table))?;
    // The module goes for the next ones.
    Kernel::load()?.unload()?;
    {
        let _called = module::With::parameters(&testing, "local_clock=0")?;
        with_own(&testing, |kernel, own| {
            set_all(own, SMALL)?;
            ring_row(kernel, own, table, OVER_CALLED)
        })?;
        Kernel::load()?.unload()?;
    }
    module::reload(context)
}

/// With an instance that the module writes to.
fn with_own(context: &Context, run: impl FnOnce(&Kernel, &Instance) -> Check) -> Check {
    let kernel = Kernel::load()?;
    let own = Instance::new(&context.root, NAME)?;
    kernel.choose(NAME)?;
    let result = run(&kernel, &own);
    kernel.choose("")?;
    result
}

/// Name, the kernel's row, rtrace's, state of rtrace's buffer, events before.
type RingRow = (&'static str, &'static str, &'static str, Setting, u32);

/// The same as in `ring_rows`, where the clock `local` is a function that is called.
const OVER_CALLED: RingRow = (
    "16 bytes, overwriting, sched_clock() called",
    "kernel.over.16",
    "write.16",
    SMALL,
    AROUND,
);

/// Measures one row in each context, in the state that it asks for.
fn ring_row(kernel: &Kernel, own: &Instance, table: &mut Table, row: RingRow) -> Check {
    let (name, theirs, ours, _, before) = row;
    let ours = format!("rtrace.{ours}");
    for &(short, long) in CONTEXTS {
        let ftrace = kernel.cost(asked(theirs, short, before), || Ok(()))?;
        let rtrace = kernel.cost(asked(&ours, short, before), || own.clear())?;
        table.add(pair(name, long, ftrace, rtrace));
    }
    Ok(())
}

fn ring_rows(kernel: &Kernel, own: &Instance, table: &mut Table) -> Check {
    for &(short, long) in CONTEXTS {
        for name in [
            "empty",
            "clock.sched_clock",
            "clock.ktime_get_mono_fast_ns",
            "clock.rdtsc",
        ] {
            let cost = kernel.cost(asked(name, short, FIRST), || Ok(()))?;
            let row = Row::new(name).context(long).kernel(cost.each());
            table.add(row.same(cost.same == Some(true)));
        }
    }
    let rows: [RingRow; 13] = [
        (
            "clock (trace_clock_local, ours)",
            "clock.trace_clock_local",
            "clock",
            ROOM,
            FIRST,
        ),
        ("16 bytes, room", "kernel.write.16", "write.16", ROOM, FIRST),
        ("32 bytes, room", "kernel.write.32", "write.32", ROOM, FIRST),
        ("64 bytes, room", "kernel.write.64", "write.64", ROOM, FIRST),
        (
            "128 bytes, room",
            "kernel.write.128",
            "write.128",
            ROOM,
            FIRST,
        ),
        (
            "16 bytes, overwriting",
            "kernel.over.16",
            "write.16",
            SMALL,
            AROUND,
        ),
        (
            "32 bytes, overwriting",
            "kernel.over.32",
            "write.32",
            SMALL,
            AROUND,
        ),
        (
            "64 bytes, overwriting",
            "kernel.over.64",
            "write.64",
            SMALL,
            AROUND,
        ),
        (
            "128 bytes, overwriting",
            "kernel.over.128",
            "write.128",
            SMALL,
            AROUND,
        ),
        (
            "16 bytes, discarded",
            "kernel.discard",
            "discard",
            ROOM,
            FIRST,
        ),
        (
            "dearest event, room",
            "kernel.dearest",
            "dearest",
            ROOM,
            FIRST,
        ),
        (
            "dearest event, overwriting",
            "kernel.over.dearest",
            "dearest",
            SMALL,
            AROUND,
        ),
        (
            "16 bytes, overwriting, clock x86-tsc",
            "kernel.over.16",
            "write.16",
            SMALL_TSC,
            AROUND,
        ),
    ];
    let mut last: Setting = &[];
    for row in rows {
        let state = row.3;
        if state != last {
            set_all(own, state)?;
            last = state;
        }
        ring_row(kernel, own, table, row)?;
    }
    set_all(own, &[("trace_clock", "local")])?;
    set_all(own, ROOM)?;
    for &(short, long) in CONTEXTS {
        let refused = |row| Asked {
            refused: true,
            ..asked(row, short, FIRST)
        };
        let ftrace = kernel.cost(refused("kernel.off"), || Ok(()))?;
        own.set("tracing_on", "0")?;
        let rtrace = kernel.cost(refused("rtrace.write.16"), || own.clear());
        own.set("tracing_on", "1")?;
        table.add(pair("16 bytes, recording is off", long, ftrace, rtrace?));
    }
    // Readers sleep: the smallest of many runs.
    for (name, row, per_event) in [
        ("consumed event by event", "consume", false),
        ("consumed by sub-buffers, per sub-buffer", "pages", false),
        ("consumed by sub-buffers, per event", "pages", true),
    ] {
        let cost = |side: &str| {
            let row = format!("{side}.{row}");
            let mut cost = kernel.cost(asked(&row, "task", EVENTS), || own.clear())?;
            if per_event {
                cost.done = EVENTS.into();
            }
            Ok::<_, String>(cost)
        };
        table.add(pair(name, "task", cost("kernel")?, cost("rtrace")?));
    }
    Ok(())
}

/// What makes events: the loop of rtbench, and the event that it makes.
#[derive(Clone, Copy)]
pub struct Maker {
    pub row: &'static str,
    pub event: &'static str,
}

pub const NUMBERS: Maker = Maker {
    row: "event",
    event: EVENT,
};

/// What a module writes itself: of ftrace a synthetic event, of rtrace a direct one.
const WRITTEN: [Maker; 2] = [
    Maker {
        row: "synthetic",
        event: "events/synthetic/rtbench_direct",
    },
    Maker {
        row: "direct",
        event: "events/rtbench/rtbench_direct",
    },
];

/// What a row of rtbench costs in each context, after `before` events.
pub fn costs(kernel: &Kernel, tree: &Tree, row: &str, before: u32) -> Check<Vec<Cost>> {
    let costs = CONTEXTS
        .iter()
        .map(|(short, _)| kernel.cost(asked(row, short, before), || tree.clear()));
    costs.collect()
}

/// Adds a row of two costs for each context.
pub fn add_pairs(table: &mut Table, name: &str, ftrace: &[Cost], rtrace: &[Cost]) {
    for (&(_, long), (ftrace, rtrace)) in CONTEXTS.iter().zip(ftrace.iter().zip(rtrace)) {
        table.add(pair(name, long, *ftrace, *rtrace));
    }
}

/// What an event that is `on` or off costs, with `set` done before and `unset` after.
fn costs_of(
    kernel: &Kernel,
    tree: &Tree,
    of: Maker,
    (set, unset): (Setting, Setting),
    before: u32,
    on: &str,
) -> Check<Vec<Cost>> {
    let enable = format!("{}/enable", of.event);
    set_all(tree, set)?;
    tree.set(&enable, on)?;
    let costs = costs(kernel, tree, of.row, before);
    tree.set(&enable, "0")?;
    set_all(tree, unset)?;
    costs
}

/// A whole event of 24 bytes.
pub fn event(context: &Context, table: &mut Table) -> Check {
    const FILTER: &str = "events/rtbench/rtbench_event/filter";
    type Of = &'static str;
    let rows: &[(Of, Setting, Setting, u32)] = &[
        ("event of 24 bytes", &[], &[], FIRST),
        (
            "overwriting",
            &[("buffer_size_kb", "256")],
            &[("buffer_size_kb", "4096")],
            AROUND,
        ),
        (
            "clock x86-tsc",
            &[("trace_clock", "x86-tsc")],
            &[("trace_clock", "local")],
            FIRST,
        ),
        (
            "clock mono",
            &[("trace_clock", "mono")],
            &[("trace_clock", "local")],
            FIRST,
        ),
        (
            "a filter passes it",
            &[(FILTER, "value == 42")],
            &[(FILTER, "0")],
            FIRST,
        ),
        (
            "filtered out",
            &[(FILTER, "value == 41")],
            &[(FILTER, "0")],
            FIRST,
        ),
        (
            "tracing_on is 0",
            &[("tracing_on", "0")],
            &[("tracing_on", "1")],
            FIRST,
        ),
        (
            "and its stack",
            &[("options/stacktrace", "1")],
            &[("options/stacktrace", "0")],
            FIRST,
        ),
    ];
    let kernel = Kernel::load()?;
    let sides = sides(context)?;
    table.begin("event", "one TRACE_EVENT, the loop included: instructions");
    for &(short, long) in CONTEXTS {
        let off = kernel.cost(asked("event", short, FIRST), || Ok(()))?;
        table.add(pair("event that is off", long, off, off));
    }
    for &(name, set, unset, before) in rows {
        let cost = |tree| costs_of(&kernel, tree, NUMBERS, (set, unset), before, "1");
        add_pairs(table, name, &cost(&sides.0)?, &cost(&sides.1)?);
    }
    let [of_ftrace, of_rtrace] = WRITTEN;
    for (name, on) in [
        ("of a module, without a tracepoint", "1"),
        ("the same, off", "0"),
    ] {
        let cost = |tree, of| costs_of(&kernel, tree, of, (&[], &[]), FIRST, on);
        let (ftrace, rtrace) = (cost(&sides.0, of_ftrace)?, cost(&sides.1, of_rtrace)?);
        add_pairs(table, name, &ftrace, &rtrace);
    }
    Ok(())
}

/// An instance of each tracer, with room.
pub fn sides(context: &Context) -> Check<(Instance, Instance)> {
    let side = |root: &Path| {
        let own = Instance::new(root, NAME)?;
        own.set("buffer_size_kb", "4096")?;
        Ok::<_, String>(own)
    };
    Ok((side(&context.reference)?, side(&context.root)?))
}

/// The runs that scripts/breakdown looks at one by one, and a line for each: events, name.
pub(super) struct Windows<'a> {
    kernel: &'a Kernel,
    pub(super) text: String,
}

impl<'a> Windows<'a> {
    /// Returns the first one, which only starts the plugin.
    pub(super) fn of(kernel: &'a Kernel) -> Check<Self> {
        let mut windows = Self {
            kernel,
            text: String::new(),
        };
        windows.run("empty", "nothing")?;
        Ok(windows)
    }

    /// Runs a row once, after [`FIRST`] events.
    pub(super) fn run(&mut self, row: &str, name: &str) -> Check {
        self.run_in("off", FIRST, row, name)
    }

    /// The same, in a context and after so many events.
    fn run_in(&mut self, context: &str, before: u32, row: &str, name: &str) -> Check {
        let cost = self.kernel.once(asked(row, context, before))?;
        let _ = writeln!(self.text, "{} {name}", cost.done);
        Ok(())
    }
}

/// Runs each loop of scripts/breakdown once; returns a line for each.
pub fn windows(context: &Context) -> Check<String> {
    let kernel = Kernel::load()?;
    let sides = sides(context)?;
    let mut windows = Windows::of(&kernel)?;
    windows.run("empty", "the empty loop")?;
    windows.run("kernel.write.16", "C ring buffer, 16 bytes")?;
    kernel.choose(NAME)?;
    windows.run("rtrace.write.16", "rtrace's ring, 16 bytes")?;
    kernel.choose("")?;
    for (tree, name) in [
        (&sides.0, "ftrace, an event"),
        (&sides.1, "rtrace, an event"),
    ] {
        tree.clear()?;
        tree.set(&format!("{EVENT}/enable"), "1")?;
        windows.run("event", name)?;
        tree.set(&format!("{EVENT}/enable"), "0")?;
    }
    let trigger = format!("{EVENT}/trigger");
    for (what, command) in [
        ("a histogram", "hist:keys=common_pid"),
        ("a variable", "hist:keys=common_pid:v=value"),
    ] {
        for (tree, name) in [(&sides.0, "ftrace"), (&sides.1, "rtrace")] {
            tree.set(&trigger, command)?;
            windows.run("event", &format!("{name}, {what}"))?;
            tree.set(&trigger, &format!("!{command}"))?;
        }
    }
    let mut run = |row, name: &str| windows.run_in("task", EVENTS, row, name);
    run("kernel.consume", "C ring buffer, one event read")?;
    run("kernel.pages", "C ring buffer, a sub-buffer read")?;
    kernel.choose(NAME)?;
    for (row, name) in [
        ("rtrace.consume", "rtrace's ring, one event read"),
        ("rtrace.pages", "rtrace's ring, a sub-buffer read"),
    ] {
        sides.1.clear()?;
        run(row, name)?;
    }
    kernel.choose("")?;
    Ok(windows.text)
}
