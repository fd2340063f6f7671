// SPDX-License-Identifier: GPL-2.0

//! The examples of Documentation/using.md, run as they are written there: those after a comment with a name.

use crate::check::Check;
use crate::tree::Tree;
use std::process::Command;

const TEXT: &str = include_str!("../../../Documentation/using.md");

/// Returns the commands of an example.
fn commands(name: &str) -> Check<String> {
    let mark = format!("<!-- {name} -->\n");
    let (_, rest) = TEXT.split_once(&mark).ok_or(format!("no example {name}"))?;
    let lines = rest.lines().map_while(|line| line.strip_prefix("    "));
    Ok(lines.map(|line| format!("{line}\n")).collect())
}

/// Runs an example in the folder of `tree`. Returns what it prints; it must end well.
pub fn run(name: &str, tree: &Tree) -> Check<String> {
    let output = Command::new("sh")
        .args(["-e", "-c", &commands(name)?])
        .current_dir(tree.file("."))
        .output()
        .map_err(|e| format!("{name}: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name}: {}: {said}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
