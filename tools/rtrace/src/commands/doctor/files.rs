// SPDX-License-Identifier: GPL-2.0

//! What the files of rtracefs say of its instances, what was left there, and whether recording works.

use super::{found, Finding, State};
use crate::instance::Instance;
use crate::job::Pipe;
use crate::parse::counts::Losses;
use crate::tree::Tree;
use anyhow::Result;
use std::path::Path;
use std::time::Duration;

/// Returns what an instance does, of the folder `instances/NAME/`, or of none for the top one.
fn of_instance(tree: &Tree, folder: &str) -> Result<Vec<Finding>> {
    let mut all = Vec::new();
    let get = |file: &str| {
        let text = tree.get(&format!("{folder}{file}"))?;
        Ok::<_, anyhow::Error>(text.trim_end().to_string())
    };
    let path = format!("{}/{folder}", tree.place().display());
    let name = match folder {
        "" => "the top instance",
        other => other.trim_end_matches('/'),
    };
    let mut losses = 0;
    for cpu in tree.names(&format!("{folder}per_cpu")) {
        let of_cpu = Losses::of(&get(&format!("per_cpu/{cpu}/stats"))?);
        losses += of_cpu.all();
        if of_cpu.broken {
            let text = format!("{name}, {cpu}: an invariant does not hold");
            let command = format!("sudo cat {path}per_cpu/{cpu}/stats");
            all.push(found("buffers", State::Bad, text).next(command));
        }
    }
    if losses > 0 {
        let text = format!("{losses} events were lost in {name}");
        let command = format!("sudo sh -c 'echo 16384 > {path}buffer_size_kb'");
        all.push(found("losses", State::Warning, text).next(command));
    }
    let pids = get("set_event_pid")?.lines().count();
    if pids > 0 {
        let text = format!("{name} records events of {pids} tasks only");
        let command = format!("sudo sh -c 'echo > {path}set_event_pid'");
        all.push(found("tasks", State::Warning, text).next(command));
    }
    let events = get("set_event")?.lines().count();
    let tracer = get("current_tracer")?;
    if events > 0 || tracer != "nop" || !folder.is_empty() {
        let text = format!("{name} has {events} events on, and the tracer {tracer}");
        all.push(found("in use", State::Note, text));
    }
    Ok(all)
}

/// Returns what all instances do.
fn instances(tree: &Tree) -> Result<Vec<Finding>> {
    let size = tree.get("buffer_size_kb")?;
    let total = tree.get("buffer_total_size_kb")?;
    let text = format!(
        "{} KiB on each CPU, {} KiB in all",
        size.trim_end(),
        total.trim_end()
    );
    let mut all = vec![found("buffers", State::Good, text)];
    all.extend(of_instance(tree, "")?);
    let names = tree.names("instances");
    for name in &names {
        let folder = format!("instances/{name}/");
        match of_instance(tree, &folder) {
            Ok(more) => all.extend(more),
            // It may go at any time.
            Err(_) if !tree.has(&folder) => {}
            Err(error) => return Err(error),
        }
    }
    all.extend(left_behind(tree, &names)?);
    Ok(all)
}

/// Returns what commands that were killed have left behind.
fn left_behind(tree: &Tree, names: &[String]) -> Result<Vec<Finding>> {
    let place = tree.place().display();
    let mut all = Vec::new();
    for name in names.iter().filter(|name| is_left(name)) {
        let text = format!("instances/{name} is of a command that was killed");
        let command = format!("sudo rmdir {place}/instances/{name}");
        all.push(found("left behind", State::Warning, text).next(command));
    }
    // A line is KIND:GROUP/EVENT and what it is made of.
    let definitions = tree.get("dynamic_events")?;
    let event = |line: &str| {
        line.split_whitespace()
            .next()?
            .split_once(':')
            .map(|(_, name)| name.to_string())
    };
    for name in definitions.lines().filter_map(event) {
        if name.split('/').any(is_left) {
            let text = format!("the event {name} is of a command that was killed");
            let command = format!("sudo sh -c 'echo -:{name} >> {place}/dynamic_events'");
            all.push(found("left behind", State::Warning, text).next(command));
        }
    }
    if tree
        .get("osnoise/options")
        .is_ok_and(|options| options.contains("NO_OSNOISE_WORKLOAD"))
        && !is_measuring(tree, names)
    {
        let text = "osnoise has no threads of its own (NO_OSNOISE_WORKLOAD)";
        let command = format!("sudo sh -c 'echo OSNOISE_WORKLOAD > {place}/osnoise/options'");
        all.push(found("osnoise", State::Note, text).next(command));
    }
    Ok(all)
}

/// Returns whether an instance has a tracer for which the options of `osnoise` are. One that was left behind does
/// not count: it goes before them.
fn is_measuring(tree: &Tree, names: &[String]) -> bool {
    let kept = names.iter().filter(|name| !is_left(name));
    let files = kept.map(|name| format!("instances/{name}/current_tracer"));
    std::iter::once("current_tracer".to_string())
        .chain(files)
        .filter_map(|file| tree.get(&file).ok())
        .any(|tracer| ["osnoise", "timerlat"].contains(&tracer.trim_end()))
}

/// Returns whether the name of an instance, group or event is one of this program whose process
/// has gone.
fn is_left(name: &str) -> bool {
    let rest = name
        .strip_prefix("rtrace-")
        .or_else(|| name.strip_prefix("rtrace_"));
    let pid = rest.and_then(|rest| rest.rsplit(['-', '_']).next());
    let pid = pid.and_then(|pid| pid.parse::<u32>().ok());
    pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
}

/// Records something in an instance of its own, and reads it back.
fn trial(tree: &Tree) -> Result<Finding> {
    let instance = Instance::new(tree, "doctor")?;
    let mut pipe = Pipe::open(&instance, "trace_pipe_json")?;
    instance.enable(&["sched:sched_switch".to_string()])?;
    instance.put("trace_marker", "rtrace doctor")?;
    std::thread::sleep(Duration::from_millis(20));
    instance.put("tracing_on", "0")?;
    let (mut markers, mut switches) = (0, 0);
    let mut count = |line: &str| {
        markers += usize::from(line.contains("rtrace doctor"));
        switches += usize::from(line.contains("\"event\":\"sched_switch\""));
        Ok(())
    };
    while pipe.read(&mut count)? {}
    let text = format!("recorded {switches} switches of tasks in 20 ms, and read them back");
    Ok(match (markers, switches) {
        (1, 1..) => found("trial", State::Good, text),
        _ => found(
            "trial",
            State::Bad,
            format!("{text}: {markers} markers came back of 1"),
        ),
    })
}

/// Returns the findings that need the files.
pub fn findings(verbose: bool) -> Result<Vec<Finding>> {
    let tree = Tree::find(verbose)?;
    let mut all = instances(&tree)?;
    all.push(trial(&tree)?);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_option_is_left_also_while_the_instance_is_that_needed_it() {
        let root = std::env::temp_dir().join(format!("rtrace-doctor-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        };
        write("dynamic_events", "");
        write("current_tracer", "nop\n");
        write("osnoise/options", "NO_OSNOISE_WORKLOAD\n");
        write("instances/mine/current_tracer", "nop\n");
        // Beyond what a pid can be.
        write("instances/rtrace-noise-4194305/current_tracer", "osnoise\n");
        let tree = Tree::fake(root.clone());
        let names = tree.names("instances");
        let told = || {
            let all = left_behind(&tree, &names).expect("findings");
            all.iter().map(|f| f.what).collect::<Vec<_>>()
        };
        assert_eq!(told(), ["left behind", "osnoise"]);
        write("instances/mine/current_tracer", "timerlat\n");
        assert_eq!(told(), ["left behind"]);
        fs::remove_dir_all(&root).expect("removed");
    }

    #[test]
    fn instances_of_ended_processes_are_left_behind() {
        assert!(!is_left(&format!("rtrace-top-{}", std::process::id())));
        // Beyond what a pid can be.
        assert!(is_left("rtrace-top-4194305"));
        assert!(is_left("rtrace_4194305"));
        assert!(is_left("rtrace_wait_4194305"));
        assert!(!is_left("mine"));
        assert!(!is_left("rtrace-top-x"));
    }
}
