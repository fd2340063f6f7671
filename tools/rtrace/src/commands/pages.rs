// SPDX-License-Identifier: GPL-2.0

//! The manual pages and the completions, made of the command line itself.

use crate::args::CommandLine;
use crate::fault::{of_file, STATUSES};
use anyhow::Result;
use clap::{Command, CommandFactory};
use clap_complete::{generate_to, Shell};
use clap_mangen::roff::{bold, roman, Roff};
use clap_mangen::Man;
use std::fs;
use std::path::Path;

/// When what the pages say changed last. Without a date, `man` would take the version for it.
const DATE: &str = "2026-11-30";

/// Returns a page without what `mandoc -T lint` warns of: a blank line between breaks, blanks at the
/// ends of lines.
fn tidy(page: &str) -> String {
    let text = page.replace(".br\n\n.br\n", ".sp\n");
    text.lines()
        .flat_map(|line| [line.trim_end(), "\n"])
        .collect()
}

/// Writes the page of a command.
fn page(command: Command, folder: &Path) -> Result<()> {
    let name = command.get_name().to_string();
    let is_whole = name == "rtrace";
    let has_options = command.get_arguments().any(|a| !a.is_hide_set());
    let version = concat!("rtrace ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command)
        .title(name.to_uppercase())
        .date(DATE)
        .source(version)
        .manual("User Commands");
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    if has_options {
        man.render_options_section(&mut out)?;
    }
    if is_whole {
        man.render_subcommands_section(&mut out)?;
    }
    let mut more = Roff::new();
    more.control("SH", ["EXIT STATUS"]);
    for (number, meaning) in STATUSES {
        more.control("TP", []);
        more.text([bold(*number)]);
        more.text([roman(*meaning)]);
    }
    more.control("SH", ["ENVIRONMENT"]);
    more.control("TP", []);
    more.text([bold("NO_COLOR")]);
    more.text([roman("no colours, also on a terminal, if it is not empty")]);
    more.control("SH", ["FILES"]);
    more.control("TP", []);
    more.text([bold("/sys/kernel/rtracing")]);
    more.text([roman(
        "where rtracefs is mounted; if it is not, rtrace has a mount of its own in no folder",
    )]);
    more.control("TP", []);
    more.text([bold("instances/rtrace-SUBCOMMAND-PID")]);
    more.text([roman(
        "the instance of a running command. SIGKILL leaves it there: rtrace doctor names it, and \
         says how to remove it",
    )]);
    more.control("SH", ["SEE ALSO"]);
    let others: &[&str] = match is_whole {
        true => &["rtrace-run", "trace-cmd"],
        false => &["rtrace"],
    };
    for (at, other) in others.iter().enumerate() {
        let end = if at + 1 < others.len() { "(1)," } else { "(1)" };
        more.text([bold(*other), roman(end)]);
    }
    more.to_writer(&mut out)?;
    let file = folder.join(format!("{name}.1"));
    of_file(&file, fs::write(&file, tidy(&String::from_utf8(out)?)))
}

/// Writes `man/` and `completions/` in a folder.
pub fn write(folder: &Path) -> Result<u8> {
    let man = folder.join("man");
    let completions = folder.join("completions");
    for folder in [&man, &completions] {
        of_file(folder, fs::create_dir_all(folder))?;
    }
    let mut command = CommandLine::command().disable_help_subcommand(true);
    command.build();
    page(command.clone(), &man)?;
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        let name = format!("rtrace-{}", part.get_name());
        let part = part.clone().name(name.clone()).display_name(name.clone());
        let part = part.bin_name(name.replacen('-', " ", 1));
        page(part, &man)?;
    }
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut CommandLine::command(), "rtrace", &completions)?;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_page_for_each_subcommand() {
        let folder = std::env::temp_dir().join(format!("rtrace-pages-{}", std::process::id()));
        assert_eq!(write(&folder).expect("pages"), 0);
        let page = |name: &str| fs::read_to_string(folder.join("man").join(name)).expect(name);
        for name in [
            "rtrace.1",
            "rtrace-top.1",
            "rtrace-hist.1",
            "rtrace-doctor.1",
            "rtrace-record.1",
        ] {
            let text = page(name);
            for section in ["NAME", "SYNOPSIS", "EXIT STATUS"] {
                assert!(text.contains(section), "{name}: {section}");
            }
            let title = text.lines().find(|line| line.starts_with(".TH "));
            let words: Vec<_> = title.expect(name).split(' ').collect();
            assert_eq!(words[3], DATE, "{name}");
            assert!(!text.lines().any(|line| line.ends_with(' ')), "{name}");
        }
        assert!(page("rtrace-top.1").contains("interval"));
        assert!(!folder.join("man/rtrace-pages.1").exists());
        let bash = fs::read_to_string(folder.join("completions/rtrace.bash")).expect("completions");
        assert!(bash.contains("doctor"));
        fs::remove_dir_all(folder).expect("removed");
    }
}
