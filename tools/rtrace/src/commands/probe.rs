// SPDX-License-Identifier: GPL-2.0

//! `rtrace probe`: events that are defined for a moment.

use crate::args::Probe;
use crate::commands::report_losses;
use crate::instance::{Definition, Instance};
use crate::job::{code, Job, Pipe, Watch};
use crate::output::Output;
use crate::tree::Tree;
use anyhow::{bail, Result};

/// Returns a definition whose event is in a group.
fn in_group(line: &str, group: &str) -> Result<String> {
    let line = line.trim();
    let (head, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let (kind, name) = head.split_once(':').unwrap_or((head, ""));
    let letter = kind.chars().next().unwrap_or(' ');
    if !"prftew".contains(letter)
        || !kind[letter.len_utf8()..]
            .chars()
            .all(|c| c.is_ascii_digit())
    {
        bail!("{line}: a definition begins with p, r, f, t, e or w");
    }
    if rest.is_empty() {
        bail!("{line}: a definition says what, after {head} and a blank");
    }
    let event = name.rsplit(['/', '.']).next().unwrap_or(name);
    Ok(format!("{kind}:{group}/{event} {}", rest.trim_start()))
}

/// Defines all lines in a group of this program, which goes with what is returned.
fn define<'a>(tree: &'a Tree, lines: &[String], group: &str) -> Result<Option<Definition<'a>>> {
    let mut definition = None;
    for line in lines {
        tree.add("dynamic_events", &in_group(line, group)?)?;
        definition.get_or_insert_with(|| Definition::adopt(tree, &format!("{group}/")));
    }
    Ok(definition)
}

/// Returns the events of a group.
fn events(tree: &Tree, group: &str) -> Vec<String> {
    let folder = format!("events/{group}");
    let mut names = tree.names(&folder);
    names.retain(|name| tree.has(&format!("{folder}/{name}/format")));
    names
}

/// Defines, shows and removes. Returns the exit status.
pub fn run(tree: &Tree, out: Output, probe: &Probe) -> Result<u8> {
    let group = format!("rtrace_{}", std::process::id());
    let _definition = define(tree, &probe.definitions, &group)?;
    // After the definitions, so that it goes before them.
    let instance = Instance::new(tree, "probe")?;
    if let Some(keys) = &probe.hist {
        let [only] = &events(tree, &group)[..] else {
            bail!("--hist is for one event");
        };
        return count(&instance, out, probe, &format!("{group}/{only}"), keys);
    }
    if probe.stack {
        instance.put("options/stacktrace", "1")?;
    }
    let mut job = Job::prepare(&probe.span, &instance, Watch::Events)?;
    let mut pipe = Pipe::open(&instance, out.pipe())?;
    instance.put(&format!("events/{group}/enable"), "1")?;
    job.begin()?;
    let mut take = |line: &str| out.line(line);
    job.read(&mut pipe, &mut take)?;
    job.read_rest(&mut pipe, &mut take)?;
    report_losses(&instance)?;
    Ok(code(job.end()?))
}

/// Counts the events by keys instead of showing each.
fn count(
    instance: &Instance<'_>,
    out: Output,
    probe: &Probe,
    name: &str,
    keys: &str,
) -> Result<u8> {
    let folder = format!("events/{name}");
    let mut job = Job::prepare(&probe.span, instance, Watch::Events)?;
    instance.put(&format!("{folder}/trigger"), &format!("hist:keys={keys}"))?;
    job.begin()?;
    job.wait()?;
    let file = if out.json { "hist_json" } else { "hist" };
    let text = instance.show(&format!("{folder}/{file}"))?;
    let status = job.end()?;
    out.text(&text)?;
    Ok(code(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        in_group(text, "g").expect("a definition")
    }

    #[test]
    fn definitions_get_the_group() {
        assert_eq!(line("p vfs_read"), "p:g/ vfs_read");
        assert_eq!(
            line("r16:mine vfs_read x=$retval"),
            "r16:g/mine vfs_read x=$retval"
        );
        assert_eq!(line(" f:files/vfs  vfs_*%return "), "f:g/vfs vfs_*%return");
        assert_eq!(
            line("w:who/changes w@panic_timeout:4"),
            "w:g/changes w@panic_timeout:4"
        );
    }

    #[test]
    fn what_is_no_definition_is_refused() {
        for wrong in ["", "x vfs_read", "p", "-:g/e", "pp vfs_read", "ä b"] {
            assert!(in_group(wrong, "g").is_err(), "{wrong}");
        }
    }
}
