// SPDX-License-Identifier: GPL-2.0

//! `rtrace record` and `rtrace report`: trace-cmd, with rtracefs in the place of tracefs. This
//! program becomes it, and what follows is its own.

use crate::fault::{error_text, fault, Status};
use crate::output::tell;
use crate::tree::quoted;
use anyhow::Result;
use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Returns whether a program is where the shell looks for it.
fn is_on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Becomes a program.
fn become_program(words: &[&str], arguments: &[OsString], verbose: bool) -> Result<u8> {
    // Without it rtrace-run would only have the shell's word for what is missing.
    if !is_on_path("trace-cmd") {
        return Err(fault(
            Status::NotFound,
            "trace-cmd is missing: sudo apt install trace-cmd (rtrace export needs none)",
        ));
    }
    if verbose {
        let arguments = arguments.iter().map(|word| quoted(&word.to_string_lossy()));
        let shown: Vec<String> = words
            .iter()
            .map(ToString::to_string)
            .chain(arguments)
            .collect();
        tell(&shown.join(" "));
    }
    let Some((program, rest)) = words.split_first() else {
        return Ok(0);
    };
    let error = Command::new(program).args(rest).args(arguments).exec();
    Err(match error.kind() {
        io::ErrorKind::NotFound => fault(
            Status::NotFound,
            format!("{program} is missing: it is in the package rtrace-tools, and in tools/ of rtrace's source"),
        ),
        _ => fault(Status::CannotRun, format!("{program}: {}", error_text(&error))),
    })
}

/// Becomes `trace-cmd record`, below `rtrace-run`.
pub fn record(arguments: &[OsString], verbose: bool) -> Result<u8> {
    become_program(&["rtrace-run", "trace-cmd", "record"], arguments, verbose)
}

/// Becomes `trace-cmd report`, which needs no tracer.
pub fn report(arguments: &[OsString], verbose: bool) -> Result<u8> {
    become_program(&["trace-cmd", "report"], arguments, verbose)
}
