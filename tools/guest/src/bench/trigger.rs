// SPDX-License-Identifier: GPL-2.0

//! An event with triggers, measured inside the kernel.

use super::inside::{add_pairs, costs, sides, Maker, Windows, CONTEXTS, FIRST, NUMBERS};
use super::kernel::Kernel;
use super::table::{Row, Table};
use crate::check::Check;
use crate::tree::{Instance, Tree};
use crate::Context;

/// What is recorded of an event with triggers.
#[derive(Clone, Copy)]
enum Recorded {
    Nothing,
    Event,
    /// The synthetic event that the triggers make of it.
    Synthetic,
}

impl Recorded {
    /// The end of a row's name.
    fn words(self) -> &'static str {
        match self {
            Self::Nothing => "not recorded",
            Self::Event => "recorded",
            Self::Synthetic => "its synthetic event recorded",
        }
    }
}

use Recorded::{Event, Nothing, Synthetic};

/// A row: what its triggers are, or nothing if its only one says so; what is recorded; the triggers.
type TriggerRow = (&'static str, Recorded, &'static [&'static str]);

const NAMES: Maker = Maker {
    row: "name",
    event: "events/rtbench/rtbench_name",
};
const STRINGS: Maker = Maker {
    row: "string",
    event: "events/rtbench/rtbench_string",
};
/// Two events, of which the other one is [`END`].
const EVENTS: Maker = Maker {
    row: "pair",
    ..NUMBERS
};
/// What has the last trigger of a row of [`EVENTS`].
const END: &str = "events/rtbench/rtbench_end";

const SYNTHETIC_EVENTS: &str = "rtbench_syn u64 d\nrtbench_str char c[]";
const SYNTHETIC: &str = "events/synthetic/rtbench_syn";

const PAIR: &[&str] = &[
    "hist:keys=common_pid:v=value",
    "hist:keys=common_pid:d=value-$v:onmatch(rtbench.rtbench_event).trace(rtbench_syn,$d)",
];
/// The time between two events, which is what most pairs are made for.
const PAIR_OF_TIMES: &[&str] = &[
    "hist:keys=common_pid:t=common_timestamp.usecs:clock=local",
    "hist:keys=common_pid:d=common_timestamp.usecs-$t:onmatch(rtbench.rtbench_event).trace(rtbench_syn,$d):clock=local",
];

/// An event of 24 bytes with triggers.
const NUMBER_ROWS: &[TriggerRow] = &[
    (
        "traceoff, its filter false",
        Nothing,
        &["traceoff:1 if value == 41"],
    ),
    (
        "traceoff, its filter false",
        Event,
        &["traceoff:1 if value == 41"],
    ),
    ("traceon, recording is on", Nothing, &["traceon"]),
    (
        "enable_event",
        Nothing,
        &["enable_event:irq:irq_handler_exit"],
    ),
    (
        "enable_event",
        Event,
        &["enable_event:irq:irq_handler_exit"],
    ),
    ("", Nothing, &["hist:keys=common_pid"]),
    ("", Event, &["hist:keys=common_pid"]),
    ("", Nothing, &["hist:keys=common_pid:vals=value"]),
    ("", Nothing, &["hist:keys=common_pid,common_cpu"]),
    ("", Nothing, &["hist:keys=value.log2"]),
    ("", Nothing, &["hist:keys=common_comm"]),
    ("", Nothing, &["hist:keys=common_pid:v=value"]),
    ("", Nothing, &["hist:keys=common_pid:c=common_comm"]),
    (
        "a pair with onmatch of a string",
        Nothing,
        &[
            "hist:keys=common_pid:c=common_comm",
            "hist:keys=common_pid:onmatch(rtbench.rtbench_event).trace(rtbench_str,$c)",
        ],
    ),
    ("a pair with onmatch", Nothing, PAIR),
    ("a pair with onmatch", Synthetic, PAIR),
    (
        "onmax and save, another number is larger",
        Nothing,
        &["hist:keys=common_pid:v=value:onmax($v).save(value,common_pid)"],
    ),
    (
        "onchange and save, to another number each time",
        Nothing,
        &["hist:keys=common_pid:v=common_timestamp:onchange($v).save(value,common_pid)"],
    ),
    ("", Event, &["stacktrace"]),
    ("", Nothing, &["hist:keys=common_stacktrace"]),
    // In ftrace what comes after it costs more.
    (
        "hist:keys=common_pid:t=common_timestamp",
        Nothing,
        &["hist:keys=common_pid:t=common_timestamp:clock=local"],
    ),
    (
        "a pair with onmatch and the time between",
        Nothing,
        PAIR_OF_TIMES,
    ),
    (
        "a pair with onmatch and the time between",
        Synthetic,
        PAIR_OF_TIMES,
    ),
    // By the clock that such a pair gets if it names none.
    (
        "a pair with onmatch and the time between, clock=global",
        Nothing,
        &[
            "hist:keys=common_pid:t=common_timestamp.usecs",
            "hist:keys=common_pid:d=common_timestamp.usecs-$t:onmatch(rtbench.rtbench_event).trace(rtbench_syn,$d)",
        ],
    ),
];

/// Two events with a trigger each; what is made of them has the time between.
const EVENTS_ROWS: &[TriggerRow] = &[
    (
        "two events and a histogram of each",
        Nothing,
        &["hist:keys=common_pid", "hist:keys=common_pid"],
    ),
    (
        "two events with onmatch and the time between",
        Nothing,
        TIMES_OF_EVENTS,
    ),
    (
        "two events with onmatch and the time between",
        Synthetic,
        TIMES_OF_EVENTS,
    ),
];

const TIMES_OF_EVENTS: &[&str] = &[
    "hist:keys=common_pid:t=common_timestamp.usecs:clock=local",
    "hist:keys=common_pid:d=common_timestamp.usecs-$t:onmatch(rtbench.rtbench_event).trace(rtbench_syn,$d):clock=local",
];

/// An event that is a string of a fixed length with a trigger.
const NAME_ROWS: &[TriggerRow] = &[(
    "hist: keys are its only field, a string of 16 bytes",
    Nothing,
    &["hist:keys=name"],
)];

/// The event of strings with a trigger.
const STRING_ROWS: &[TriggerRow] = &[
    (
        "hist: keys are a string of 16 bytes",
        Nothing,
        &["hist:keys=name"],
    ),
    (
        "hist: keys are a string of any length",
        Nothing,
        &["hist:keys=text"],
    ),
];

/// What ftrace does not have.
const OWN_ROWS: &[TriggerRow] = &[
    ("", Nothing, &["hist:keys=common_pid:vals=value.max"]),
    (
        "",
        Nothing,
        &["hist:keys=common_pid:vals=value.min,value.max,value.avg"],
    ),
    ("", Nothing, &["hist:keys=common_pid:vals=value.quantiles"]),
];

fn rows() -> impl Iterator<Item = (Maker, &'static TriggerRow)> {
    let all = [
        (NUMBERS, NUMBER_ROWS),
        (EVENTS, EVENTS_ROWS),
        (NAMES, NAME_ROWS),
        (STRINGS, STRING_ROWS),
    ];
    let rows = |(of, rows): (Maker, &'static [TriggerRow])| rows.iter().map(move |row| (of, row));
    all.into_iter().flat_map(rows)
}

fn name_of(&(name, recorded, triggers): &TriggerRow) -> String {
    let name = match name {
        "" => triggers.concat(),
        _ => name.into(),
    };
    format!("{name}, {}", recorded.words())
}

/// Does `work` with the triggers of a row on the event, and what it records enabled.
fn while_set<T>(
    tree: &Instance,
    of: Maker,
    &(_, recorded, triggers): &TriggerRow,
    work: impl FnOnce() -> Check<T>,
) -> Check<T> {
    let file = |at: usize| {
        let is_end = of.row == EVENTS.row && at + 1 == triggers.len();
        format!("{}/trigger", if is_end { END } else { of.event })
    };
    let enable = match recorded {
        Nothing => None,
        Event => Some(format!("{}/enable", of.event)),
        Synthetic => Some(format!("{SYNTHETIC}/enable")),
    };
    for (at, trigger) in triggers.iter().enumerate() {
        tree.set(&file(at), trigger)?;
    }
    if let Some(enable) = &enable {
        tree.set(enable, "1")?;
    }
    let done = work();
    if let Some(enable) = &enable {
        tree.set(enable, "0")?;
    }
    for (at, trigger) in triggers.iter().enumerate().rev() {
        tree.set(&file(at), &format!("!{trigger}"))?;
    }
    done
}

/// Measures all rows.
pub fn measure(context: &Context, table: &mut Table) -> Check {
    let kernel = Kernel::load()?;
    for root in [&context.reference, &context.root] {
        Tree::at(root).set("synthetic_events", SYNTHETIC_EVENTS)?;
    }
    let sides = sides(context)?;
    table.begin(
        "trigger",
        "one TRACE_EVENT with a trigger, the loop included: instructions",
    );
    let costs_of = |tree: &Instance, of: Maker, row: &TriggerRow| {
        while_set(tree, of, row, || costs(&kernel, tree, of.row, FIRST))
    };
    for (of, row) in rows() {
        let ftrace = costs_of(&sides.0, of, row)?;
        let rtrace = costs_of(&sides.1, of, row)?;
        add_pairs(table, &name_of(row), &ftrace, &rtrace);
    }
    for row in OWN_ROWS {
        let rtrace = costs_of(&sides.1, NUMBERS, row)?;
        for (&(_, long), rtrace) in CONTEXTS.iter().zip(&rtrace) {
            table.add(Row::new(&name_of(row)).context(long).own(rtrace.each()));
        }
    }
    Ok(())
}

/// Runs each row once, of rtrace alone; as [`inside::windows`](super::inside::windows).
pub fn windows(context: &Context) -> Check<String> {
    let kernel = Kernel::load()?;
    Tree::at(&context.root).set("synthetic_events", SYNTHETIC_EVENTS)?;
    let (_, tree) = sides(context)?;
    let mut windows = Windows::of(&kernel)?;
    for (of, row) in rows() {
        while_set(&tree, of, row, || {
            tree.clear()?;
            windows.run(of.row, &name_of(row))
        })?;
    }
    Ok(windows.text)
}
