// SPDX-License-Identifier: GPL-2.0

//! The list of all tests. A test is a function and the time it may take on a
//! slow (emulated) machine.

mod call_latency;
mod clients;
mod clients_commands;
mod clients_dynamic;
mod clients_functions;
mod clients_sql;
mod clock;
mod conditions;
mod contexts;
mod copied_strings;
mod delays;
mod descriptors;
mod dynamic;
mod dynamic_counts;
mod dynamic_idle;
mod dynamic_lines;
mod dynamic_many;
mod dynamic_removed;
mod ends;
mod entries;
mod eprobes;
mod event_ids;
mod faults;
mod faults_dynamic;
mod faults_files;
mod faults_hists;
mod faults_latency;
mod features;
mod fields_together;
mod files;
mod filter;
mod filter_random;
mod filter_records;
mod filter_strings;
mod fprobe_returns;
mod fprobes;
mod fs_mount;
mod fs_tree;
mod function_names;
mod functions;
mod functions_all;
mod functions_commands;
mod functions_manner;
mod functions_storm;
mod fuzz;
mod golden;
mod golden_events;
mod graph;
mod graph_reads;
mod graph_roots;
mod graph_sums;
mod graph_tasks;
mod hist_contexts;
mod hist_document;
mod hist_fields;
mod hist_forms;
mod hist_growth;
mod hist_links;
mod hist_names;
mod hist_recorded;
mod hist_storm;
mod hist_strings;
mod hist_tallies;
mod hist_tracks;
mod hists;
mod hostile;
mod hostile_memory;
mod hostile_readers;
mod hwlat;
mod input;
mod input_rows;
mod irqsoff;
mod json;
mod kprobes;
mod latency_examples;
mod life;
mod listing;
mod lives;
mod load;
mod mapping;
mod mapping_load;
mod marker_copies;
mod marker_triggers;
mod module_events;
mod moved_symbols;
mod named_values;
mod options;
mod options_forms;
mod options_stacks;
mod options_use;
mod options_values;
mod osnoise;
mod percent;
mod pids;
mod pipe;
mod pipe_lines;
mod preemptoff;
mod profile;
mod quiet;
mod raw;
mod raw_events;
mod raw_marker;
mod same;
mod same_clocks;
mod same_filters;
mod same_options;
mod same_positions;
mod same_tree;
mod sampled;
mod security;
mod security_callers;
mod security_text;
mod share;
mod share_losses;
mod shared_names;
mod siblings;
mod side;
mod side_text;
mod size;
mod size_load;
mod size_memory;
mod snapshot;
mod snapshot_load;
mod soak;
mod splice;
mod stacks;
mod synthetic;
mod syscalls;
mod tasks;
mod timerlat;
mod timerlat_loads;
mod tprobes;
mod trees;
mod triggers;
mod uprobes;
mod usdt;
mod user_calls;
mod user_events;
mod wakes;
mod wakeup;
mod wakeup_calls;
mod watches;

use crate::check::Check;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::time::Duration;

#[derive(Clone, Copy)]
pub struct Test {
    pub name: &'static str,
    pub limit: Duration,
    pub run: fn(&Context) -> Check,
    /// Whether the test accounts for every event.
    pub exact: bool,
    /// Whether the test needs what only a module with rust/testapi has.
    pub testapi: bool,
}

impl Test {
    /// The same row, of a test whose modules call rust/testapi.
    const fn with_testapi(self) -> Self {
        Test {
            testapi: true,
            ..self
        }
    }
}

/// One row of a group's table.
const fn test(name: &'static str, seconds: u64, run: fn(&Context) -> Check) -> Test {
    Test {
        name,
        limit: Duration::from_secs(seconds),
        run,
        exact: false,
        testapi: false,
    }
}

/// A row whose test accounts for every event: nothing that the machine does can make it fail, so
/// a failure is final (see `runner`), but for what chance did not bring (`ensure_chance`).
const fn exact(name: &'static str, seconds: u64, run: fn(&Context) -> Check) -> Test {
    Test {
        exact: true,
        ..test(name, seconds, run)
    }
}

const GROUPS: &[&[Test]] = &[
    fs_tree::TESTS,
    fs_mount::TESTS,
    filter::TESTS,
    filter_random::TESTS,
    filter_records::TESTS,
    filter_strings::TESTS,
    copied_strings::TESTS,
    trees::TESTS,
    triggers::TESTS,
    hists::TESTS,
    hist_contexts::TESTS,
    hist_document::TESTS,
    hist_fields::TESTS,
    hist_growth::TESTS,
    hist_links::TESTS,
    hist_forms::TESTS,
    hist_tallies::TESTS,
    marker_copies::TESTS,
    marker_triggers::TESTS,
    hist_names::TESTS,
    hist_recorded::TESTS,
    hist_storm::TESTS,
    hist_strings::TESTS,
    hist_tracks::TESTS,
    golden::TESTS,
    golden_events::TESTS,
    input::TESTS,
    side::TESTS,
    side_text::TESTS,
    same::TESTS,
    same_clocks::TESTS,
    same_filters::TESTS,
    same_options::TESTS,
    same_positions::TESTS,
    same_tree::TESTS,
    syscalls::TESTS,
    options::TESTS,
    options_forms::TESTS,
    options_stacks::TESTS,
    options_use::TESTS,
    options_values::TESTS,
    pids::TESTS,
    function_names::TESTS,
    functions::TESTS,
    functions_all::TESTS,
    graph::TESTS,
    graph_reads::TESTS,
    graph_roots::TESTS,
    graph_sums::TESTS,
    graph_tasks::TESTS,
    hwlat::TESTS,
    irqsoff::TESTS,
    preemptoff::TESTS,
    sampled::TESTS,
    latency_examples::TESTS,
    quiet::TESTS,
    osnoise::TESTS,
    timerlat::TESTS,
    timerlat_loads::TESTS,
    delays::TESTS,
    wakeup::TESTS,
    wakeup_calls::TESTS,
    watches::TESTS,
    functions_commands::TESTS,
    functions_manner::TESTS,
    functions_storm::TESTS,
    profile::TESTS,
    stacks::TESTS,
    pipe::TESTS,
    pipe_lines::TESTS,
    raw::TESTS,
    raw_events::TESTS,
    module_events::TESTS,
    named_values::TESTS,
    fields_together::TESTS,
    event_ids::TESTS,
    percent::TESTS,
    splice::TESTS,
    mapping::TESTS,
    mapping_load::TESTS,
    raw_marker::TESTS,
    json::TESTS,
    kprobes::TESTS,
    eprobes::TESTS,
    tprobes::TESTS,
    moved_symbols::TESTS,
    uprobes::TESTS,
    usdt::TESTS,
    fprobes::TESTS,
    fprobe_returns::TESTS,
    entries::TESTS,
    call_latency::TESTS,
    descriptors::TESTS,
    synthetic::TESTS,
    user_events::TESTS,
    features::TESTS,
    share::TESTS,
    share_losses::TESTS,
    clients::TESTS,
    clients_commands::TESTS,
    clients_dynamic::TESTS,
    clients_functions::TESTS,
    clients_sql::TESTS,
    clock::TESTS,
    conditions::TESTS,
    contexts::TESTS,
    faults::TESTS,
    faults_files::TESTS,
    faults_hists::TESTS,
    faults_latency::TESTS,
    profile::FAULTS,
    functions_manner::FAULTS,
    stacks::FAULTS,
    faults_dynamic::TESTS,
    life::TESTS,
    listing::TESTS,
    lives::TESTS,
    soak::TESTS,
    tasks::TESTS,
    load::TESTS,
    hostile::TESTS,
    hostile_memory::TESTS,
    hostile_readers::TESTS,
    fuzz::TESTS,
    wakes::TESTS,
    dynamic_counts::TESTS,
    dynamic_idle::TESTS,
    dynamic_lines::TESTS,
    dynamic_many::TESTS,
    dynamic_removed::TESTS,
    ends::TESTS,
    shared_names::TESTS,
    siblings::TESTS,
    size::TESTS,
    size_memory::TESTS,
    size_load::TESTS,
    snapshot::TESTS,
    snapshot_load::TESTS,
    security::TESTS,
    security_callers::TESTS,
    security_text::TESTS,
];

/// All tests in the order in which they run. Those with rust/testapi come together, so that the module
/// changes once, and what cannot be undone comes last.
pub fn all() -> impl Iterator<Item = Test> {
    let with = |testapi| {
        let tests = GROUPS.iter().copied().flatten().copied();
        tests.filter(move |test| test.testapi == testapi)
    };
    with(false)
        .chain(with(true))
        .chain(security_callers::LAST.iter().copied())
        .chain(security::LAST.iter().copied())
}

/// Files that tracefs does not have, each with one that it has and that is its like: of the same mode,
/// and with the same answer to a write.
pub const OURS: &[(&str, &str)] = &[
    ("dynamic_profile", "kprobe_profile"),
    ("event_counts", "trace_pipe"),
    ("features", "README"),
    ("ftrace/fgraph_retaddr_entry", "ftrace/funcgraph_entry"),
    (
        "ftrace/fgraph_retaddr_entry/format",
        "ftrace/funcgraph_entry/format",
    ),
    (
        "ftrace/fgraph_retaddr_entry/hist",
        "ftrace/funcgraph_entry/hist",
    ),
    ("ftrace/off_sampled", "ftrace/funcgraph_entry"),
    ("ftrace/off_sampled/format", "ftrace/funcgraph_entry/format"),
    ("ftrace/off_sampled/hist", "ftrace/funcgraph_entry/hist"),
    ("hist_json", "hist"),
    ("hist_take", "hist"),
    ("latency_sampler", "options"),
    ("latency_sampler/period_us", "current_tracer"),
    ("hits", "id"),
    ("lost", "id"),
    ("options/event-counts", "options/record-tgid"),
    ("options/func-once", "options/func-args"),
    ("options/funcgraph-errors", "options/funcgraph-tail"),
    ("options/funcgraph-stack", "options/funcgraph-tail"),
    ("options/funcgraph-retaddr", "options/funcgraph-tail"),
    ("options/funcgraph-retval", "options/funcgraph-tail"),
    ("options/funcgraph-retval-hex", "options/funcgraph-tail"),
    ("options/graph-time", "options/record-cmd"),
    ("options/pipe-share", "options/record-tgid"),
    ("totals", "stats"),
    ("trace_durations", "trace_pipe"),
    ("trace_folded", "trace_pipe"),
    ("trace_pipe_json", "trace_pipe"),
    ("function_profile_enabled", "tracing_on"),
    ("function_profile_time", "tracing_on"),
    ("stack_tracer_enabled", "tracing_on"),
    ("trace_stat", "options"),
    ("user_events_data", "kprobe_events"),
    ("user_events_status", "kprobe_profile"),
];

/// The path in tracefs that a path of ours is compared with.
pub fn like(path: &str) -> String {
    if path.starts_with("trace_stat/function") {
        return "tracing_on".to_string();
    }
    let ours = OURS.iter().find_map(|(own, like)| {
        let head = path.strip_suffix(own)?;
        (head.is_empty() || head.ends_with('/')).then(|| format!("{head}{like}"))
    });
    ours.unwrap_or_else(|| path.to_string())
}

/// An instance of the tree under test, and one of the reference.
fn pair(context: &Context) -> Check<(Instance, Instance)> {
    let own = Instance::new(&context.root, "rtg-own")?;
    let reference = Instance::new(&context.reference, "rtg-ref")?;
    Ok((own, reference))
}

/// One file has the same text on both trees.
fn same(own: &Tree, reference: &Tree, file: &str) -> Check {
    let (found, wanted) = (own.get(file)?, reference.get(file)?);
    ensure_eq!(found, wanted, "{file}");
    Ok(())
}
