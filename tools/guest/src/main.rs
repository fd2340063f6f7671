// SPDX-License-Identifier: GPL-2.0

//! `rtguest`: tests of a running rtracefs, from inside the machine that runs it.
//!
//! `rtguest --list` names the tests, `rtguest run [[--filter] TEXT]...` runs those
//! whose name contains one of the texts and none of those after a `!`. `rtguest bench [PART]...`
//! and `rtguest breakdown [text|trigger|dynamic|latency]` tell what events cost (see `bench`). `--root DIR`
//! points the suite at another tree: with `--root /sys/kernel/tracing` it checks its own
//! idea of ftrace against the kernel's, and skips what only rtracefs promises.

// Shifts bind tighter than the other operators on bits, as in C; and a test may use memory.
#![allow(clippy::precedence, clippy::format_collect)]

#[macro_use]
mod check;
mod absent;
mod align;
mod apparmor;
mod bench;
mod callers;
mod calls;
mod chance;
mod client;
mod errno;
mod faults;
mod format;
mod json;
mod kernel_modules;
mod kmsg;
mod late;
mod leaks;
mod load_task;
mod maps;
mod memory;
mod module;
mod page;
mod process;
mod program;
mod rawcalls;
mod runner;
mod soak;
mod stream;
mod stress;
mod sys;
mod tests;
mod tree;
mod uring;
mod using;
mod vsock;
mod workload;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where the suite works.
#[derive(Clone)]
pub struct Context {
    /// The tree under test.
    pub root: PathBuf,
    /// The kernel's own tracefs, the reference.
    pub reference: PathBuf,
    /// The module that makes the tree under test.
    pub module: PathBuf,
    /// The same with what modules of tests call (rust/testapi), for the tests that need it.
    pub test_module: PathBuf,
    /// The module that writes from every context.
    pub stress: PathBuf,
}

impl Context {
    /// Whether the tree under test is rtracefs, not the reference itself.
    pub fn is_rtracefs(&self) -> bool {
        self.root != self.reference
    }

    /// The same with another module under test.
    pub fn with_module(&self, module: &Path) -> Self {
        Context {
            module: module.into(),
            ..self.clone()
        }
    }
}

enum Command {
    List,
    Run,
    One(String),
    Bench,
    Breakdown,
    Load,
}

const USAGE: &str =
    "usage: rtguest --list | bench [PART]... | breakdown [text|trigger|dynamic|latency] | run [[--filter] TEXT]... [--root DIR] \
                     [--module FILE] [--stress FILE]";

/// The first of the files that is there, or the first.
fn first_of(files: &[&str]) -> PathBuf {
    files
        .iter()
        .find(|file| Path::new(file).exists())
        .unwrap_or(&files[0])
        .into()
}

/// The exit status of commands that are not tests.
fn told(result: check::Check) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("rtguest: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn main() -> ExitCode {
    let mut context = Context {
        root: "/sys/kernel/rtracing".into(),
        reference: "/sys/kernel/tracing".into(),
        module: "/rtrace/rtrace.ko".into(),
        test_module: first_of(&["/root/rtrace.ko", "/rtrace/rtrace.ko"]),
        stress: "/root/rtstress.ko".into(),
    };
    let mut command = None;
    let mut filters = Vec::new();

    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_default();
        match arg.as_str() {
            "--list" => command = Some(Command::List),
            "run" => command = Some(Command::Run),
            "bench" => command = Some(Command::Bench),
            "breakdown" => command = Some(Command::Breakdown),
            // What tests start, see `load_task`.
            "load" => command = Some(Command::Load),
            "one" => command = Some(Command::One(value())),
            "--filter" => filters.push(value()),
            "--root" => context.root = value().into(),
            "--module" => context.module = value().into(),
            "--stress" => context.stress = value().into(),
            name if command.is_some() && !name.starts_with('-') => filters.push(arg),
            _ => {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            }
        }
    }

    match command {
        Some(Command::List) => {
            for test in tests::all() {
                println!("{}", test.name);
            }
            ExitCode::SUCCESS
        }
        Some(Command::Run) => runner::run(&context, &filters),
        Some(Command::Bench) => told(bench::run(&context, &filters)),
        Some(Command::Breakdown) => told(bench::breakdown(&context, &filters)),
        Some(Command::Load) => told(load_task::obey(&filters)),
        Some(Command::One(name)) => runner::run_here(&context, &name),
        None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
