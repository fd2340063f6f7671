// SPDX-License-Identifier: GPL-2.0

//! The commands of trace-cmd that switch and show, side by side: a session of them on tracefs and on
//! rtracefs. Each ends with the same status and says the same, and after each the files that it may
//! have changed say the same. Then what `rtrace-run` itself promises.

use super::{test, Test};
use crate::check::{Check, Report};
use crate::client::{lines, without_numbers, Client, Own, Reference, Said, RTRACE_RUN};
use crate::sys;
use crate::tree::Tree;
use crate::Context;

pub const TESTS: &[Test] = &[
    test("clients.session", 120, |c| session(c, SESSION)),
    test("clients.instance_session", 120, |c| {
        session(c, INSTANCE_SESSION)
    }),
    test("clients.refusals", 120, |c| session(c, REFUSALS)),
    test("clients.snapshot", 60, snapshot),
    test("clients.list", 60, list),
    test("clients.show", 60, show),
    test("clients.run", 30, run),
    test("clients.hides_nothing", 30, hides_nothing),
];

/// What is compared of a command's words.
#[derive(Clone, Copy, PartialEq)]
enum Words {
    /// All, but for numbers.
    All,
    /// What it prints tells of things that the trees do not share.
    Errors,
    /// All, letter by letter in no order: several processes say it at the same time.
    Letters,
}
use Words::*;

type Step = (&'static str, Words);

const SESSION: &[Step] = &[
    ("stat", All),
    ("start -e sched:sched_switch -e irq:softirq_entry", All),
    ("stat", All),
    ("stop", All),
    ("show", Errors),
    ("restart", All),
    ("clear", All),
    ("start -p nop", All),
    ("stat", All),
    ("set -e sched:sched_waking -b 200", All),
    ("set -C mono -e irq:softirq_exit", All),
    ("set -e sched:sched_switch -f prev_pid==0", All),
    ("stat", All),
    ("set -O nooverwrite -O noirq-info", All),
    ("set -O overwrite -O irq-info", All),
    ("stop", All),
    ("show --tracing_on", All),
    ("show --buffer_size", All),
    ("show --current_tracer", All),
    ("show -c 0", Errors),
    ("clear -a", All),
    ("set -C local -b 1410", All),
    ("reset", All),
    ("stat", All),
];

const INSTANCE_SESSION: &[Step] = &[
    ("start -B rtg-cl -e sched:sched_switch", All),
    ("stat -B rtg-cl", All),
    ("list -B", All),
    ("stop -B rtg-cl", All),
    ("show -B rtg-cl", Errors),
    ("clear -B rtg-cl", All),
    ("start -B rtg-cl -b 300 -C mono -e irq:softirq_entry", All),
    ("stat -B rtg-cl", All),
    ("set -B rtg-cl -e sched:sched_switch -f next_pid==0", All),
    ("stat", All),
    ("extract -B rtg-cl -o /tmp/rtg-cl.dat", All),
    ("list -B", All),
    ("start -B rtg-one -B rtg-two -e sched:sched_switch", All),
    ("list -B", All),
    ("reset -B rtg-one", All),
    ("list -B", All),
    ("reset -B rtg-two -d", All),
    ("reset -a -d", All),
    ("list -B", All),
    ("reset", All),
];

const REFUSALS: &[Step] = &[
    ("start -e nosuch", All),
    ("start -e sched:nosuch", All),
    ("start -p nosuch", All),
    ("start -C nosuch -e sched:sched_switch", All),
    ("start -O nosuch -e sched:sched_switch", All),
    ("start -e sched:sched_switch -f nosuch==1", All),
    ("start -e sched:sched_switch -f prev_pid==", All),
    ("set -b nosuch", All),
    ("set -b 0", All),
    ("show -B nosuch", All),
    ("stat -B nosuch", All),
    ("extract -B nosuch -o /tmp/rtg-cl.dat", All),
    ("show -c 4711", All),
    ("record -e nosuch true", All),
    ("record -o /nosuch/file -e sched:sched_switch true", Letters),
    ("record -B a/b -e sched:sched_switch true", Letters),
    ("record -N 127.0.0.1:1 -e sched:sched_switch true", Letters),
    ("reset", All),
];

/// Files that commands change.
const STATE: &[&str] = &[
    "tracing_on",
    "current_tracer",
    "trace_clock",
    "set_event",
    "buffer_size_kb",
    "options/overwrite",
    "options/irq-info",
    "options/record-cmd",
    "events/sched/sched_switch/filter",
];

/// What a tree says of itself after a command.
fn state(tree: &Tree) -> Check<Vec<String>> {
    let mut all = Vec::new();
    for file in STATE {
        let text = tree.get(file)?;
        // Clocks are compared by the one in use: that of a hypervisor is not offered.
        let words = match *file {
            "trace_clock" => text.split_whitespace().find(|word| word.starts_with('[')),
            _ => Some(text.trim()),
        };
        all.push(format!("{file}: {}", words.unwrap_or_default()));
    }
    all.push(format!("instances: {:?}", tree.list("instances")?));
    Ok(all)
}

/// A text that can be compared: numbers aside, without the mistakes of the past that trees collect and
/// without the losses of a buffer that a slow machine filled, with lines in an order of their own, since
/// folders have none.
fn comparable(text: &str) -> String {
    let text = text.split("Error log:").next().unwrap_or_default();
    let text = without_numbers(text);
    let mut lines: Vec<_> = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.ends_with("events lost"))
        .collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// The letters of a text, sorted.
fn letters(text: &str) -> String {
    let text = without_numbers(text);
    let mut letters: Vec<_> = text.chars().filter(|c| !c.is_whitespace()).collect();
    letters.sort_unstable();
    letters.into_iter().collect()
}

/// Does the same to both trees at the same time, for each command takes long; commands that write the
/// same files, one after the other.
pub(super) fn on_both<T: Send>(
    apart: bool,
    run: impl Fn(Client) -> Check<T> + Sync,
) -> Check<(T, T)> {
    if apart {
        return Ok((run(Own)?, run(Reference)?));
    }
    std::thread::scope(|scope| {
        let own = scope.spawn(|| run(Own));
        let reference = run(Reference);
        let own = own.join().unwrap_or_else(|_| Err("a thread died".into()));
        Ok((own?, reference?))
    })
}

fn session(context: &Context, steps: &[Step]) -> Check {
    Client::of(context)?;
    let (own, reference) = (Tree::at(&context.root), Tree::at(&context.reference));
    on_both(false, |client| client.text(&["reset"]))?;
    for tree in [&own, &reference] {
        tree.set("buffer_size_kb", "1410")?;
    }
    let mut report = Report::default();
    for (words, compared) in steps {
        let words: Vec<_> = words.split(' ').collect();
        let run = |client: Client| -> Check<(i32, String, String)> {
            let Said { status, out, err } = client.trace_cmd(&words, &[])?;
            Ok(match compared {
                All => (status, comparable(&out), comparable(&err)),
                Errors => (status, String::new(), comparable(&err)),
                Letters => (status, letters(&out), letters(&err)),
            })
        };
        let apart = words.contains(&"-o") || words[0] == "record";
        let (mut found, mut wanted) = on_both(apart, run)?;
        // Which of the processes comes to say something before the command ends is chance: what
        // they say is the same at least once.
        let mut again = if *compared == Letters { 5 } else { 0 };
        while found != wanted && again > 0 {
            (found, wanted) = (run(Own)?, run(Reference)?);
            again -= 1;
        }
        report.expect(found == wanted, || {
            format!("{words:?}: {found:?}, on tracefs {wanted:?}")
        });
        let (found, wanted) = (state(&own)?, state(&reference)?);
        for (found, wanted) in found.iter().zip(&wanted) {
            report.expect(found == wanted, || {
                format!("after {words:?}: {found}, on tracefs {wanted}")
            });
        }
    }
    on_both(false, |client| client.text(&["reset"]))?;
    report.finish()
}

/// `trace-cmd snapshot`: exchanges, shows, empties and frees as on tracefs.
fn snapshot(context: &Context) -> Check {
    Client::of(context)?;
    if !Tree::at(&context.reference).exists("snapshot") {
        skip!("this kernel's tracefs is built without snapshots");
    }
    let mut shown = Vec::new();
    for (client, root) in [(Own, &context.root), (Reference, &context.reference)] {
        let tree = Tree::at(root);
        tree.clear()?;
        let mut said = Vec::new();
        let count = |text: &str| text.matches("tracing_mark_write: rtg-").count();
        tree.set("trace_marker", "rtg-kept")?;
        for words in [
            "snapshot -s",
            "snapshot",
            "snapshot -r",
            "snapshot",
            "snapshot -f",
        ] {
            let words: Vec<_> = words.split(' ').collect();
            let answer = client.trace_cmd(&words, &[])?;
            said.push((
                answer.status,
                count(&answer.out),
                count(&tree.get("trace")?),
            ));
        }
        let allocated = !tree.get("snapshot")?.contains("Snapshot is freed");
        client.text(&["reset"])?;
        shown.push((said, allocated));
    }
    ensure_eq!(
        shown[0],
        shown[1],
        "status, markers in the snapshot, in the trace"
    );
    ensure!(
        shown[0].0[1].1 == 1,
        "the marker is not in the snapshot: {:?}",
        shown[0]
    );
    Ok(())
}

/// `trace-cmd list`: what the tree offers, as its files say it.
fn list(context: &Context) -> Check {
    let client = Client::of(context)?;
    let top = Tree::at(&context.root);
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        lines.sort_unstable();
        lines
    };
    let mut report = Report::default();
    for (words, file) in [
        ("list -e", "available_events"),
        ("list -t", "available_tracers"),
        ("list -C", "trace_clock"),
    ] {
        let words: Vec<_> = words.split(' ').collect();
        let (found, wanted) = (client.text(&words)?, top.get(file)?);
        // What libtracefs itself adds.
        let found = found.replace(" tsc2nsec", "");
        let (found, wanted) = (sorted(&found), sorted(&wanted));
        report.expect(found.len() == wanted.len(), || {
            format!("{words:?}: {} lines, {file} {}", found.len(), wanted.len())
        });
        let wrong = found
            .iter()
            .zip(&wanted)
            .find(|(a, b)| a.trim() != b.trim());
        report.expect(wrong.is_none(), || {
            format!("{words:?}: {wrong:?} in {file}")
        });
    }
    // Formats of single events are those of the kernel, ids aside.
    for words in [
        "list -e sched:sched_switch -F",
        "list -e irq:softirq_entry --full",
        "list -e ^sched:sched_wak",
    ] {
        let words: Vec<_> = words.split(' ').collect();
        let (found, wanted) = (client.text(&words)?, Reference.text(&words)?);
        let (found, wanted) = (comparable(&found), comparable(&wanted));
        report.expect(found == wanted, || {
            format!("{words:?}: {found:?}, on tracefs {wanted:?}")
        });
    }
    report.finish()
}

/// `trace-cmd show` prints what `trace` says; with `-p` what is read is gone.
fn show(context: &Context) -> Check {
    let client = Client::of(context)?;
    let top = Tree::at(&context.root);
    top.clear()?;
    client.text(&["start", "-e", "sched:sched_switch"])?;
    crate::workload::mixed(1);
    client.text(&["stop"])?;
    let trace = top.get("trace")?;
    ensure!(lines(&trace)?.len() > 10, "a trace of {trace:?}");
    ensure_eq!(client.text(&["show"])?, trace, "show");
    ensure_eq!(
        client.text(&["show", "-c", "0"])?,
        top.get("per_cpu/cpu0/trace")?,
        "show -c 0"
    );
    client.text(&["reset"]).map(drop)
}

/// What `rtrace-run` answers when it cannot run a program, and the statuses that it passes on.
fn run(context: &Context) -> Check {
    let client = Client::of(context)?;
    for (words, status, says) in [
        (&["sh", "-c", "exit 3"][..], 3, ""),
        (&["nosuch-program"], 127, "nosuch-program"),
        (&["/etc/passwd"], 126, "/etc/passwd"),
        (&["--help"], 0, ""),
        (&["--version"], 0, ""),
        (&["--nosuch"], 125, "no option --nosuch"),
        (&[], 125, "usage: rtrace-run CMD"),
        (&["perf", "stat", "true"], 125, "without rtrace-run"),
        (&["perf", "ftrace"], 127, "perf"),
        (&["/usr/bin/bpftrace", "-l"], 125, "without rtrace-run"),
        // A run inside of a run.
        (&[RTRACE_RUN, "sh", "-c", "exit 4"], 4, ""),
        (&["env", "-i", "/bin/true"], 0, ""),
    ] {
        let said = client.run(words)?;
        ensure_eq!(said.status, status, "status of {words:?}");
        ensure!(said.err.contains(says), "{words:?} says {:?}", said.err);
    }
    for (word, says) in [
        ("--help", "usage: rtrace-run CMD"),
        ("--version", "rtrace-run 0."),
    ] {
        let said = client.run(&[word])?;
        ensure!(
            said.out.starts_with(says) && said.err.is_empty(),
            "{word} says {said:?}"
        );
    }
    let nobody = {
        use std::os::unix::process::CommandExt;
        std::process::Command::new("/bin/sh")
            .args([RTRACE_RUN, "true"])
            .uid(1000)
            .output()
            .map_err(|e| format!("sh: {e}"))?
    };
    let says = String::from_utf8_lossy(&nobody.stderr).into_owned();
    ensure_eq!(nobody.status.code(), Some(125), "status for a user");
    ensure!(says.contains("only root"), "to a user: {says:?}");

    // Without the module.
    crate::module::umount(context)?;
    let unloaded = sys::wait_until(std::time::Duration::from_secs(10), || {
        crate::module::unload(crate::module::NAME).is_ok()
    });
    let said = client.run(&["true"]);
    crate::module::restore(context)?;
    ensure!(unloaded, "the module cannot be unloaded");
    let said = said?;
    ensure_eq!(said.status, 125, "status without the module");
    ensure!(
        said.err.contains("load the module (modprobe rtrace"),
        "without the module: {:?}",
        said.err
    );
    Ok(())
}

/// Inside, each path to tracefs leads to rtracefs; outside, nothing has changed.
fn hides_nothing(context: &Context) -> Check {
    let client = Client::of(context)?;
    let mounts = || std::fs::read_to_string("/proc/self/mounts").map_err(|e| e.to_string());
    let before = mounts()?;
    let own = Tree::at(&context.root).get("README")?;
    let reference = Tree::at(&context.reference).get("README")?;
    for path in ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"] {
        let readme = format!("{path}/README");
        let inside = client.run(&["cat", &readme])?.good()?;
        ensure!(inside == own, "{readme} is not that of rtracefs");
        let outside = std::fs::read_to_string(&readme).map_err(|e| format!("{readme}: {e}"))?;
        ensure!(outside == reference, "{readme} is not that of tracefs");
    }
    // Wherever tracefs is mounted.
    let place = std::path::Path::new("/tmp/rtg a\\b");
    let _ = std::fs::create_dir(place);
    sys::mount_fs("tracefs", place, 0, "").map_err(|e| format!("mount tracefs: {e}"))?;
    let readme = place.join("README").display().to_string();
    let inside = client.run(&["cat", &readme]);
    sys::umount(place, 0).map_err(|e| format!("umount {}: {e}", place.display()))?;
    ensure!(inside?.good()? == own, "{readme} is not that of rtracefs");
    // Looking at the second path made the kernel mount tracefs there.
    let added = |text: &str| -> Vec<String> {
        let new = text.lines().filter(|line| !before.contains(*line));
        new.filter(|line| line.contains("rtracefs"))
            .map(str::to_string)
            .collect()
    };
    ensure_eq!(
        added(&mounts()?),
        Vec::<String>::new(),
        "mounts left behind"
    );
    Ok(())
}
