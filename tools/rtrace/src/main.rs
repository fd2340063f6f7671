// SPDX-License-Identifier: GPL-2.0

//! `rtrace`: shows what the kernel does, with the files of rtracefs.
//!
//! | module | what it does |
//! |---|---|
//! | `args` | the command line |
//! | `tree` | the files: reading, writing, telling of it |
//! | `instance` | what is made there and goes with its value |
//! | `job` | how long it takes: a time, a command, a signal |
//! | `parse` | what the texts of files say; pure |
//! | `commands` | one module per subcommand |
//! | `output`, `fault`, `stop` | stdout and stderr; errors and exit statuses; signals |

// A destructor that panics leaves behind what the others would have removed: see output::tell.
#![deny(clippy::print_stderr)]

mod args;
mod commands;
mod fault;
mod instance;
mod job;
mod output;
mod parse;
mod stop;
mod tree;

use anyhow::Result;
use args::{CommandLine, Subcommand};
use clap::Parser;
use output::Output;
use std::process::ExitCode;
use tree::Tree;

fn main() -> ExitCode {
    match run(CommandLine::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let (code, is_shown) = fault::exit_status(&error);
            if is_shown {
                output::tell(&format!("rtrace: {error:#}"));
            }
            ExitCode::from(code)
        }
    }
}

/// Returns the exit status.
fn run(line: CommandLine) -> Result<u8> {
    let out = Output::new(line.json);
    let tree = || Tree::find(line.verbose);
    match &line.subcommand {
        // These become another program, which has its own signals.
        Subcommand::Record(passed) => {
            return commands::record::record(&passed.arguments, line.verbose)
        }
        Subcommand::Report(passed) => {
            return commands::record::report(&passed.arguments, line.verbose)
        }
        Subcommand::Pages { folder } => return commands::pages::write(folder),
        _ => stop::watch()?,
    }
    match &line.subcommand {
        Subcommand::Doctor => commands::doctor::run(out, line.verbose),
        Subcommand::Top(top) => commands::top::run(&tree()?, out, top),
        Subcommand::Hist(hist) => commands::hist::run(&tree()?, out, hist),
        Subcommand::Probe(probe) => commands::probe::run(&tree()?, out, probe),
        Subcommand::Flame(flame) => commands::flame::run(&tree()?, out, flame),
        Subcommand::Graph(graph) => commands::graph::run(&tree()?, out, graph),
        Subcommand::Latency(latency) => commands::latency::run(&tree()?, out, latency),
        Subcommand::Snapshot(snapshot) => commands::snapshot::run(&tree()?, out, snapshot),
        Subcommand::Export(export) if export.input.is_some() => {
            commands::export::convert(out, export)
        }
        Subcommand::Export(export) => commands::export::run(&tree()?, out, export),
        Subcommand::Record(_) | Subcommand::Report(_) | Subcommand::Pages { .. } => Ok(0),
    }
}
