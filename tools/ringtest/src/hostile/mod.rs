// SPDX-License-Identifier: GPL-2.0
//! Shows that no bytes make a parser, a decoder or a printer of the pure folders panic, run on or
//! say something wrong.
//!
//! Each target takes random inputs, most of them nearly right, and compares what the module's code
//! makes of them with a second opinion written here. A further parser is one more line in
//! `targets!` and a function. What a target shows about time and memory: the pure folders have no
//! allocator (`scripts/check-deps`), the targets bound what is written and how often an iterator
//! answers.
//!
//! `RTRACE_INPUTS=N` sets how many inputs each target gets, `RTRACE_SEED=N` which ones. Every input
//! is made from the seed and its number alone: a failure tells both, and `RTRACE_FIRST=N` begins
//! there.

mod btf;
mod definitions;
mod filters;
mod formats;
mod hists;
mod json;
mod modes;
mod pages;
mod parsers;
mod printers;
mod selections;
mod sets;
mod sizes;
mod source;
mod triggers;

use crate::trail::number_of;
use source::Source;

/// Number of inputs of each target unless the environment asks for more.
const INPUTS: u64 = 100_000;

const SEED: u64 = 0x7274_7261_6365;

macro_rules! targets {
    ($($module:ident: $($name:ident)*;)*) => {
        $($(
            #[test]
            fn $name() {
                run(stringify!($name), $module::$name);
            }
        )*)*
    };
}

targets! {
    parsers: numbers flags_and_switches buffer_sizes clocks options stripped_words event_words;
    selections: any_bytes_are_a_selection a_selection_names_its_event;
    printers: cmdlines line_prefixes single_lines headers stats markers binary_markers seconds;
    modes: stacks origins latencies field_values;
    formats: common_fields field_lines field_places whole_formats replaced_evals;
    json: json_strings json_records;
    filters: filters_of_broken_records any_text_is_a_filter;
    triggers: any_text_is_a_trigger what_a_trigger_shows_is_what_was_parsed;
    hists: any_text_is_a_histogram histograms_of_broken_records;
    definitions: any_text_is_a_definition broken_synthetic_records;
    sets: lists_of_pids sets_of_cpus;
    btf: right_btf_answers broken_btf_is_refused broken_prototypes_make_whole_events;
    pages: random_pages right_pages broken_pages walks absolute_times images tours;
    sizes: events_of_every_size;
}

/// Tells which input it was if the target panics.
struct Running {
    name: &'static str,
    seed: u64,
    input: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Running { name, seed, input } = self;
            println!("{name}: RTRACE_SEED={seed} RTRACE_FIRST={input}");
        }
    }
}

fn run(name: &'static str, target: fn(&mut Source)) {
    let inputs = number_of("RTRACE_INPUTS", INPUTS);
    let first = number_of("RTRACE_FIRST", 0);
    let seed = number_of("RTRACE_SEED", SEED);
    let mut running = Running {
        name,
        seed,
        input: first,
    };

    while running.input < inputs {
        target(&mut Source::new(seed, running.input));
        running.input += 1;
    }
    println!("{name}: {} inputs", running.input - first);
}
