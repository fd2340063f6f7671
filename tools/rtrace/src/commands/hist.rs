// SPDX-License-Identifier: GPL-2.0

//! `rtrace hist`: a histogram of an event, counted in the kernel without a record of any.

use crate::args::Hist;
use crate::instance::{single_event, Instance};
use crate::job::{code, Job, Watch};
use crate::output::Output;
use crate::tree::Tree;
use anyhow::Result;

/// Returns the command for `trigger`.
fn trigger(hist: &Hist) -> String {
    let quantiles = hist.quantiles.iter().flat_map(|all| all.split(','));
    let quantiles = quantiles.map(|field| format!("{field}.quantiles"));
    let values: Vec<String> = hist.values.iter().cloned().chain(quantiles).collect();
    let mut text = format!("hist:keys={}", hist.keys);
    if !values.is_empty() {
        text += &format!(":vals={}", values.join(","));
    }
    for (name, value) in [("sort", &hist.sort), ("size", &hist.size)] {
        if let Some(value) = value {
            text += &format!(":{name}={value}");
        }
    }
    if let Some(filter) = &hist.filter {
        text += &format!(" if {filter}");
    }
    text
}

/// Counts, and shows what was counted. Returns the exit status.
pub fn run(tree: &Tree, out: Output, hist: &Hist) -> Result<u8> {
    let (system, event) = single_event(tree, &hist.event)?;
    let instance = Instance::new(tree, "hist")?;
    let folder = format!("events/{system}/{event}");
    let mut job = Job::prepare(&hist.span, &instance, Watch::Events)?;
    instance.put(&format!("{folder}/trigger"), &trigger(hist))?;
    job.begin()?;
    job.wait()?;
    let name = if out.json { "hist_json" } else { "hist" };
    let text = instance.show(&format!("{folder}/{name}"))?;
    let status = job.end()?;
    out.text(&text)?;
    Ok(code(status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{CommandLine, Subcommand};
    use clap::Parser;

    fn written(words: &[&str]) -> String {
        let line =
            CommandLine::parse_from([&["rtrace", "hist", "sched:sched_switch"], words].concat());
        match line.subcommand {
            Subcommand::Hist(hist) => trigger(&hist),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_command_has_what_was_asked_for() {
        assert_eq!(written(&["next_comm"]), "hist:keys=next_comm");
        assert_eq!(
            written(&[
                "a,b.log2", "--values", "c", "-q", "d,e", "--sort", "c.top=3", "--size", "auto",
                "--if", "a > 1"
            ]),
            "hist:keys=a,b.log2:vals=c,d.quantiles,e.quantiles:sort=c.top=3:size=auto if a > 1"
        );
    }
}
