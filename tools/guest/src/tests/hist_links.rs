// SPDX-License-Identifier: GPL-2.0

//! Variables of histograms, references to them and the synthetic events of `onmatch`: the same commands written to
//! both tracers and the same calls, line by line; every error with its caret.

use super::filter::log_of;
use super::hists::{self, total, ENTER};
use super::{exact, pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::soak::record::{CONTEXTS, NMI, RINGS};
use crate::soak::writers::Writers;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;

pub const TESTS: &[Test] = &[
    test("hist.variables", 120, variables),
    test("hist.wrong_links", 120, wrong),
    test("hist.latencies", 60, latencies),
    test("hist.other_keys", 60, other_keys),
    test("hist.chain", 240, chain),
    exact("hist.links_nest", 120, links_nest).with_testapi(),
    test("hist.links_of_module", 60, links_of_module).with_testapi(),
];

pub(super) const EXIT: &str = "syscalls/sys_exit_lseek";

const DEFINITIONS: &str = "lk_one s64 d; int pid\n\
                           lk_two u64 off; u64 wh; unsigned int cpu; char comm[]\n\
                           lk_fix u32 fd; char comm[16]\n\
                           lk_old char a[]; char b[16]; int pid\n\
                           lk_lat u64 lat\n\
                           lk_sum u32 d; u32 who";
const SYNTHETIC: &[&str] = &["lk_one", "lk_two", "lk_fix", "lk_old", "lk_lat", "lk_sum"];

/// Offsets and origins.
const FEED: &[(i64, i64)] = &[
    (1, -1),
    (2, 7),
    (300, 100),
    (300, -5),
    (-1, i64::MAX),
    (2, 7),
];

fn feed() {
    hists::lseek(FEED);
}

/// Defines the synthetic events in both trees for as long as it is there.
struct Defined([Tree; 2]);

impl Defined {
    fn new(context: &Context) -> Check<Self> {
        let trees = [Tree::at(&context.root), Tree::at(&context.reference)];
        for tree in &trees {
            tree.set("synthetic_events", DEFINITIONS)?;
        }
        Ok(Defined(trees))
    }
}

impl Drop for Defined {
    fn drop(&mut self) {
        for tree in &self.0 {
            for name in SYNTHETIC {
                let _ = tree.write("synthetic_events", format!("!{name}").as_bytes());
            }
        }
    }
}

/// The lines of `trace` without tasks and times.
fn recorded(tree: &Tree) -> Check<Vec<String>> {
    let text = tree.get("trace")?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let texts = lines.filter_map(|line| line.split_once(": "));
    Ok(texts.map(|(_, text)| text.to_string()).collect())
}

/// A step of a story.
pub(super) enum Step {
    /// Written to the triggers of the first event, or of the second one.
    Enter(&'static str),
    Exit(&'static str),
    /// Written to `snapshot`.
    Snapshot(&'static str),
    Calls,
}
use Step::{Calls, Enter, Exit};

const STORIES: &[&[Step]] = &[
    // A variable alone.
    &[
        Enter("hist:keys=common_pid:v=offset"),
        Calls,
        Enter("hist:keys=common_pid:v=offset"),
        Enter("hist:keys=common_pid:v=whence"),
        Enter("hist:keys=common_pid:w=offset"),
        Enter("hist:keys=common_pid"),
        Enter("!hist:keys=common_pid:v=whence"),
        Enter("!hist:keys=common_pid:v=offset"),
    ],
    // Taken, left, and never set.
    &[
        Enter("hist:keys=common_pid:v=offset,w=whence:u=fd+1"),
        Exit("hist:keys=common_pid:vals=ret,$v"),
        Calls,
        Enter("!hist:keys=common_pid:v=offset,w=whence:u=fd+1"),
        Exit("!hist:keys=common_pid:vals=ret,$v"),
        Exit("hist:keys=common_pid:d=ret-$v"),
        Calls,
        Exit("!hist:keys=common_pid:d=ret-$v"),
        Exit("hist:keys=common_pid:d=$w+$u:vals=$w"),
        Calls,
        Exit("hist:keys=ret:x=$v"),
        Calls,
        Enter("!hist:keys=common_pid:v=offset,w=whence:u=fd+1"),
        Exit("!hist:keys=common_pid:d=$w+$u:vals=$w"),
        Exit("!hist:keys=ret:x=$v"),
        Enter("!hist:keys=common_pid:v=offset,w=whence:u=fd+1"),
    ],
    // Synthetic events.
    &[
        Enter("hist:keys=common_pid:v=offset,w=whence"),
        Exit("hist:keys=common_pid:d=ret-$v:onmatch(syscalls.sys_enter_lseek).lk_one($d,common_pid)"),
        Calls,
        Exit("hist:keys=common_pid,ret:onmatch(syscalls.sys_enter_lseek).trace(lk_one, $d, common_pid)"),
        Exit("hist:keys=common_pid:vals=ret:onmatch(syscalls.sys_enter_lseek).trace(lk_two,$v,$w,common_cpu,common_comm)"),
        Calls,
        Enter("!hist:keys=common_pid:v=offset,w=whence"),
        Exit("!hist:keys=common_pid:vals=ret:onmatch(syscalls.sys_enter_lseek).trace(lk_two,$v,$w,common_cpu,common_comm)"),
        Calls,
        Exit("!hist:keys=common_pid:d=ret-$v:onmatch(syscalls.sys_enter_lseek).lk_one($d,common_pid)"),
        Enter("!hist:keys=common_pid:v=offset,w=whence"),
    ],
    // Several actions, filters, a text that stands for another.
    &[
        Enter("hist:keys=common_pid:v=offset:y=w,w=whence if offset == 2"),
        Enter("!hist:keys=common_pid:v=offset:y=w,w=whence if offset == 2"),
        Enter("hist:keys=common_pid:w=whence,y=whence-$w,v=offset if offset == 2"),
        Exit(
            "hist:keys=common_pid:d=ret,e=$d:onmatch(syscalls.sys_enter_lseek).lk_one($d,common_pid)\
             :onmatch(syscalls.sys_enter_lseek).trace(lk_two,$v,$w,common_cpu,common_comm) if ret < 0",
        ),
        Calls,
    ],
    // An event switches the histograms of another one, or its own.
    &[
        Exit("disable_hist:syscalls:sys_enter_lseek:2"),
        Enter("hist:keys=common_pid"),
        Enter("hist:keys=offset:v=whence"),
        Calls,
        Enter("hist:keys=common_pid:cont"),
        Calls,
        Exit("disable_hist:syscalls:sys_enter_lseek"),
        Exit("enable_hist:syscalls:sys_enter_lseek:1"),
        Exit("!disable_hist:syscalls:sys_enter_lseek"),
        Exit("enable_hist:syscalls:sys_enter_lseek if ret < 0"),
        Exit("enable_event:syscalls:sys_enter_lseek"),
        Enter("hist:keys=offset:v=whence:pause"),
        Calls,
        Enter("disable_hist:syscalls:sys_enter_lseek"),
        Calls,
        Exit("!enable_hist:syscalls:sys_enter_lseek"),
        Exit("!enable_event:syscalls:sys_enter_lseek"),
        Calls,
    ],
    // A variable that several events have is that of the event that is waited for.
    &[
        Enter("hist:keys=common_pid:v=offset"),
        Exit("hist:keys=common_pid:v=ret"),
        Exit("hist:keys=common_pid:d=ret-$v"),
        Exit("hist:keys=common_pid:d=ret-$v:onmatch(syscalls.sys_enter_lseek).lk_one($d,common_pid)"),
        Calls,
        Exit("!hist:keys=common_pid:d=ret-$v:onmatch(syscalls.sys_enter_lseek).lk_one($d,common_pid)"),
        Exit("hist:keys=ret:dd=ret:onmax($dd).save($v)"),
        Exit("hist:keys=ret:dd=ret:onmax($dd).lk_one($v,common_pid)"),
    ],
    // One of the same command, with the names of its event.
    &[
        Exit("hist:keys=common_pid:x=ret,y=syscalls.sys_exit_lseek.$x+1:onmatch(syscalls.sys_exit_lseek).lk_one(syscalls.sys_exit_lseek.$y,common_pid)"),
        Calls,
        Exit("hist:keys=common_pid:z=ret:onmatch(syscalls.sys_enter_lseek).lk_one(syscalls.sys_exit_lseek.$x,common_pid)"),
        Exit("hist:keys=common_pid:z=ret:onmatch(syscalls.sys_enter_lseek).lk_one(syscalls.sys_enter_lseek.$z,common_pid)"),
        Calls,
        Exit("!hist:keys=common_pid:z=ret:onmatch(syscalls.sys_enter_lseek).lk_one(syscalls.sys_exit_lseek.$x,common_pid)"),
    ],
    // A minus takes no number; two operands do.
    &[
        Enter("hist:keys=common_pid:v=offset"),
        Exit("hist:keys=common_pid:d=-($v)"),
        Calls,
        Exit("!hist:keys=common_pid:d=-($v)"),
        Exit("hist:keys=common_pid:vals=ret:d=-($v+1)"),
        Calls,
    ],
    // Variables that are numbers for all events.
    &[
        Enter("hist:keys=common_pid:zero=0,five=5"),
        Exit("hist:keys=common_pid:y=ret/$zero"),
        Exit("hist:keys=common_pid:y=ret/$five,z=$five+1,w=2*$five:vals=ret"),
        Calls,
        Exit("hist:keys=common_pid,ret:onmatch(syscalls.sys_enter_lseek).lk_two($five,$zero,common_cpu,common_comm)"),
        Calls,
    ],
    // The name of a task as a variable.
    &[
        Enter("hist:keys=common_pid:nm=common_pid.execname,off=offset"),
        Exit("hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_two($off,$off,common_cpu,$nm)"),
        Calls,
        Exit("hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_old($nm,$nm,common_pid)"),
        Exit("hist:keys=ret:own=common_pid.execname:onmatch(syscalls.sys_enter_lseek).lk_two($off,$off,common_cpu,$own)"),
        Calls,
    ],
    // More variables than there is room for are left out of one item, but not of two.
    &[
        Exit("hist:keys=ret:a=1,b=1,c=1,d=1,ee=1,f=1,g=1,h=1,i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1,q=1"),
        Exit("!hist:keys=ret:a=1,b=1,c=1,d=1,ee=1,f=1,g=1,h=1,i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1,q=1"),
        Exit("hist:keys=ret:a=1,b=1,c=1,d=1,ee=1,f=1,g=1,h=1,i=1:j=1,k=1,l=1,m=1,n=1,o=1,p=1,q=1"),
    ],
    // The event itself.
    &[
        Enter("hist:keys=offset:o=offset,f=whence:onmatch(syscalls.sys_enter_lseek).lk_one($f,common_pid)"),
        Calls,
        Enter("hist:keys=whence:pause"),
        Enter("hist:keys=offset:pause"),
        Enter("hist:keys=whence:clear"),
        Calls,
    ],
];

/// Compares everything that both show.
fn compare(report: &mut Report, what: &str, trees: [&Tree; 2]) -> Check {
    for event in [ENTER, EXIT] {
        for file in ["trigger", "hist"] {
            let name = format!("events/{event}/{file}");
            let texts = [trees[0].get(&name), trees[1].get(&name).map(hists::mended)];
            report.expect(texts[0] == texts[1], || {
                let texts = texts.map(|text| text.unwrap_or_default());
                format!("{what}: {name}:\n{}tracefs:\n{}", texts[0], texts[1])
            });
        }
    }
    for name in SYNTHETIC {
        let name = format!("events/synthetic/{name}/hist");
        let texts = trees.map(|tree| tree.get(&name).unwrap_or_default());
        report.expect(texts[0] == texts[1], || {
            format!("{what}: {name}:\n{}tracefs:\n{}", texts[0], texts[1])
        });
    }
    let (found, wanted) = (recorded(trees[0])?, recorded(trees[1])?);
    report.expect(found == wanted, || {
        format!("{what}: trace:\n{found:#?}tracefs:\n{wanted:#?}")
    });
    let logs = (log_of(trees[0])?, log_of(trees[1])?);
    report.expect(logs.0 == logs.1, || {
        format!("{what}:\n{}tracefs:\n{}", logs.0, logs.1)
    });
    for tree in trees {
        tree.empty("error_log")?;
    }
    Ok(())
}

/// Two instances that record the synthetic events of this thread.
fn sides(context: &Context) -> Check<(Instance, Instance)> {
    let (own, reference) = pair(context)?;
    for tree in [&own, &reference] {
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
        tree.set("events/synthetic/enable", "1")?;
        for (name, key) in [("lk_one", "d"), ("lk_two", "wh")] {
            let file = format!("events/synthetic/{name}/trigger");
            tree.set(&file, &format!("hist:keys={key}"))?;
        }
    }
    Ok((own, reference))
}

/// Removes both instances, and first what refers to other events.
fn remove(own: Instance, reference: Instance) -> Check {
    for tree in [&own, &reference] {
        let synthetic = SYNTHETIC.iter().map(|name| format!("synthetic/{name}"));
        for event in [EXIT, ENTER].map(String::from).into_iter().chain(synthetic) {
            let _ = tree.empty(&format!("events/{event}/trigger"));
        }
        tree.set("events/synthetic/enable", "0")?;
    }
    own.remove()?;
    reference.remove()
}

fn variables(context: &Context) -> Check {
    play(context, STORIES)
}

/// Plays the stories with both tracers, and compares what they show after each step.
pub(super) fn play(context: &Context, stories: &[&[Step]]) -> Check {
    // Triggers of the kernel's system calls walk their list in a way that lockdep warns of.
    if sys::proves_locking() {
        return Ok(());
    }
    let defined = Defined::new(context)?;
    let mut report = Report::default();
    for (at, story) in stories.iter().enumerate() {
        let (own, reference) = sides(context)?;
        for (number, step) in story.iter().enumerate() {
            let (file, text) = match step {
                Enter(text) => (format!("events/{ENTER}/trigger"), *text),
                Exit(text) => (format!("events/{EXIT}/trigger"), *text),
                Step::Snapshot(text) => ("snapshot".to_string(), *text),
                Calls => {
                    feed();
                    compare(
                        &mut report,
                        &format!("{at}.{number}: calls"),
                        [&own, &reference],
                    )?;
                    continue;
                }
            };
            let answers = [&own, &reference].map(|tree| tree.write(&file, text.as_bytes()));
            let what = format!("{at}.{number}: {file} <- {text}");
            report.expect(answers[0] == answers[1], || {
                format!("{what}: {:?}, tracefs {:?}", answers[0], answers[1])
            });
            if answers[1].is_ok() {
                // ftrace tells of fields that it then finds with the other event.
                let log = log_of(&own)?;
                report.expect(log.is_empty(), || format!("{what}:\n{log}"));
                reference.empty("error_log")?;
            }
            compare(&mut report, &what, [&own, &reference])?;
        }
        remove(own, reference)?;
    }
    drop(defined);
    report.finish()
}

/// In ftrace each is refused. There is a variable `v` of both events, `w` of the first one and `e` of the second.
const WRONG: &[&str] = &[
    "hist:keys=$w",
    "hist:keys=ret+$w",
    "hist:keys=ret:x=$nosuch",
    "hist:keys=ret:x=",
    "hist:keys=ret:x=ret,y",
    "hist:keys=ret:e=ret",
    "hist:keys=ret:x=$v",
    "hist:keys=ret:x=syscalls.sys_enter_lseek.$nosuch",
    "hist:keys=ret:x=syscalls.nosuch.$w",
    "hist:keys=ret:vals=$nosuch",
    "hist:keys=ret:vals=nosuch.nosuch.$w",
    "hist:keys=ret:x=nosuch",
    "hist:keys=ret:x=ret.foo",
    "hist:keys=ret:x=ret.percent",
    "hist:keys=ret:x=$w+common_timestamp.usecs",
    "hist:keys=ret:a=1:b=1:c=1:d=1:ee=1:f=1:g=1:h=1:i=1:j=1:k=1:l=1:m=1:n=1:o=1:p=1:q=1",
    "hist:keys=ret:onmatch",
    "hist:keys=ret:onmatch(",
    "hist:keys=ret:onmatch(s.e",
    "hist:keys=ret:onmatch(e).lk_one(ret)",
    "hist:keys=ret:onmatch(nosuch.e).lk_one(ret)",
    "hist:keys=ret:onmatch(syscalls.nosuch).lk_one(ret)",
    "hist:keys=ret:onmatch(syscalls.nosuch)",
    "hist:keys=ret:onmatch(syscalls.nosuch).snapshot()",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).lk_one",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).nosuch(ret)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).trace(nosuch,ret)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).trace(lk_one)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).lk_one()",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).lk_one(r)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).lk_one(ret,)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).lk_two($v,$w)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).lk_one(ret,ret)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).lk_one(ret,common_pid,ret)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).lk_one($nosuch,common_pid)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).lk_one($e,common_pid)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).lk_one(foo.bar,common_pid)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).lk_one(common_pid,ret)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).lk_one(common_comm,common_pid)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).lk_fix($w,common_comm)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).lk_one(nosuch,common_pid)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).save(ret)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).snapshot()",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).snapshot(",
    "hist:keys=ret:onmatched(syscalls.sys_enter_lseek).lk_one(ret,common_pid)",
    "hist:keys=ret:ret=ret:onmatch(syscalls.sys_enter_lseek).lk_one(ret,common_pid)",
    "hist:keys=ret:ret=ret:onmatch(syscalls.sys_enter_lseek).lk_one(syscalls.sys_exit_lseek.ret,common_pid)",
    "hist:keys=ret:ret=ret,y=$ret:onmax($y).lk_one(ret,common_pid)",
    "hist:keys=ret:x=syscalls.sys_exit_lseek.$w",
    "hist:keys=ret:x=ret:onmatch(syscalls.sys_enter_lseek).lk_one(syscalls.sys_exit_lseek.$w,common_pid)",
    "hist:keys=ret:x=ret+$v:onmatch(syscalls.sys_enter_lseek).lk_one($x,common_pid):onmatch(syscalls.sys_exit_lseek).lk_one($x,common_pid)",
    "!hist:keys=ret:x=$nosuch",
];

fn wrong(context: &Context) -> Check {
    refused(context, WRONG)
}

/// Writes commands that ftrace refuses to both tracers.
pub(super) fn refused(context: &Context, texts: &[&str]) -> Check {
    if sys::proves_locking() {
        return Ok(());
    }
    let defined = Defined::new(context)?;
    let (own, reference) = sides(context)?;
    let mut report = Report::default();
    for tree in [&own, &reference] {
        tree.set(
            &format!("events/{ENTER}/trigger"),
            "hist:keys=common_pid:v=offset,w=whence",
        )?;
        tree.set(
            &format!("events/{EXIT}/trigger"),
            "hist:keys=common_pid:v=ret,e=ret",
        )?;
    }
    let file = format!("events/{EXIT}/trigger");
    for text in texts {
        let answers = [&own, &reference].map(|tree| tree.write(&file, text.as_bytes()));
        report.expect(answers[0] == answers[1], || {
            format!("{text}: {:?}, tracefs {:?}", answers[0], answers[1])
        });
        report.expect(answers[1].is_err(), || format!("{text}: tracefs takes it"));
        compare(&mut report, text, [&own, &reference])?;
    }
    remove(own, reference)?;
    drop(defined);
    report.finish()
}

/// The time between two events of a task, as a histogram of a synthetic event. What is in use stays.
fn latencies(context: &Context) -> Check {
    let defined = Defined::new(context)?;
    let own = Instance::new(&context.root, "rtg-links")?;
    own.set("set_event_pid", &sys::thread_id().to_string())?;
    let (enter, exit) = (
        format!("events/{ENTER}/trigger"),
        format!("events/{EXIT}/trigger"),
    );
    own.set(&enter, "hist:keys=common_pid:t0=common_timestamp.usecs")?;
    let end = "hist:keys=common_pid:lat=common_timestamp.usecs-$t0\
               :onmatch(syscalls.sys_enter_lseek).lk_lat($lat)";
    own.set(&exit, end)?;
    let lat = "events/synthetic/lk_lat";
    own.set(&format!("{lat}/trigger"), "hist:keys=lat.log2:vals=lat")?;
    own.set(&format!("{lat}/enable"), "1")?;
    (0..50).for_each(|_| feed());
    let calls = 50 * FEED.len();
    let hist = own.get(&format!("{lat}/hist"))?;
    ensure!(hist.contains(&format!("Hits: {calls}\n")), "{hist}");
    let lines = recorded(&own)?;
    ensure_eq!(lines.len(), calls, "synthetic events: {hist}");
    // A time that another event has taken is not used again.
    for line in &lines {
        let lat = line.strip_prefix("lk_lat: lat=").map(str::parse::<u64>);
        let Some(Ok(lat)) = lat else {
            fail!("{line}");
        };
        ensure!(lat < 10_000_000, "{line}");
    }
    // In use.
    for (file, text) in [
        ("synthetic_events", "!lk_lat"),
        ("dynamic_events", "-:lk_lat"),
    ] {
        ensure_eq!(
            Tree::at(&context.root).write(file, text.as_bytes()),
            Err(EBUSY),
            "{text}"
        );
    }
    let start = "!hist:keys=common_pid:t0=common_timestamp.usecs";
    ensure_eq!(own.write(&enter, start.as_bytes()), Err(EBUSY), "{start}");
    own.empty(&enter)?;
    ensure!(
        own.get(&enter)?.starts_with("hist:"),
        "`>` removed what is referred to"
    );
    // Both together go with the instance; nothing is left that keeps the event.
    own.remove()?;
    ensure_eq!(
        Tree::at(&context.root).write("synthetic_events", b"!lk_lat"),
        Ok(7),
        "!lk_lat"
    );
    drop(defined);
    Ok(())
}

/// A key that begins another one, or that another one begins, finds none of its variables, wherever these are.
fn other_keys(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("in tracefs such keys find each other's variables");
    }
    let own = Instance::new(&context.root, "rtg-links")?;
    own.set("set_event_pid", &sys::thread_id().to_string())?;
    let (enter, exit) = (
        format!("events/{ENTER}/trigger"),
        format!("events/{EXIT}/trigger"),
    );
    // What such a call returns.
    const BADF: i64 = -9;
    let calls: Vec<_> = (0..100).map(|whence| (BADF, whence)).collect();
    // Each has the entries in other slots.
    for _ in 0..10 {
        own.set(
            &enter,
            "hist:keys=offset,whence:v=fd:w=common_comm:size=128",
        )?;
        for text in [
            "keys=ret:x=$v",
            "keys=ret:y=$w",
            "keys=ret,common_pid,common_cpu:z=$v",
        ] {
            own.set(&exit, &format!("hist:{text}"))?;
        }
        hists::lseek(&calls);
        let set = own.get(&format!("events/{ENTER}/hist"))?;
        let found = own.get(&format!("events/{EXIT}/hist"))?;
        ensure_eq!(total(&set, "Hits:"), calls.len() as u64, "{set}");
        let hits = found.lines().filter(|line| line.trim() == "Hits: 0");
        ensure_eq!(hits.count(), 3, "{found}");
        own.empty(&exit)?;
        own.empty(&enter)?;
    }
    own.remove()
}

/// More histograms than the stack of a task has room for, if each frees the one that it refers to.
const CHAIN: usize = 600;

/// Histograms of which each refers to the one before go together with their instance: the last one has the last
/// reference to all others.
fn chain(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("in tracefs an instance with variables cannot be removed");
    }
    let own = Instance::new(&context.root, "rtg-links")?;
    let enter = format!("events/{ENTER}/trigger");
    own.set(&enter, "hist:keys=common_pid:size=128:v0=offset:pause")?;
    for at in 1..CHAIN {
        let command = format!("hist:keys=common_pid:size=128:v{at}=$v{}:pause", at - 1);
        own.set(&enter, &command)?;
    }
    own.empty(&enter)?;
    ensure_eq!(own.get(&enter)?.lines().count(), CHAIN, "histograms");
    own.remove()
}

const SOAK: &str = "events/rtsoak/rtsoak_event";
/// Each event sets its number and takes it, and no other event has its key.
const SETS: &str = "hist:keys=who,number:n=number,m=sum:size=65536";
const TAKES: &str = "hist:keys=who,number:d=number-$n,e=$m:size=65536:onmatch(rtsoak.rtsoak_event).trace(lk_sum,$d,who)";

/// Writers in tasks, interrupts and NMIs: each event sets its variable, finds it, and records a synthetic event or
/// counts it as lost.
fn links_nest(context: &Context) -> Check {
    let defined = Defined::new(context)?;
    let own = Instance::new(&context.root, "rtg-soak-a")?;
    own.set("options/event-counts", "1")?;
    own.set("buffer_size_kb", "8192")?;
    let writers = Writers::load(context, &[])?;
    let (trigger, hist) = (format!("{SOAK}/trigger"), format!("{SOAK}/hist"));
    own.set(&trigger, SETS)?;
    own.set(&trigger, TAKES)?;
    own.set("events/synthetic/lk_sum/trigger", "hist:keys=d")?;
    own.set("events/synthetic/lk_sum/enable", "1")?;
    writers.start(7, 20_000, 0, 0)?;
    while writers.busy()? {
        own.get(&hist)?;
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    writers.stop()?;
    let written = writers.written()?;
    let of = |context| written.attempts(RINGS, context);
    let attempts: u64 = (0..CONTEXTS.len()).map(of).sum();
    ensure_chance!(of(NMI) > 0, "no NMIs");
    let text = own.get(&hist)?;
    let (sets, takes) = text.split_once("\n\n\n# event").unwrap_or_default();
    ensure_eq!(
        (total(sets, "Hits:"), total(sets, "Dropped:")),
        (attempts, 0),
        "set"
    );
    ensure_eq!(
        (total(takes, "Hits:"), total(takes, "Dropped:")),
        (attempts, 0),
        "taken"
    );
    let found = own.get("events/synthetic/lk_sum/hist")?;
    let number = |name: &str| -> Check<u64> {
        let text = own.get(&format!("events/synthetic/lk_sum/{name}"))?;
        text.trim().parse().map_err(|_| format!("{name}: {text}"))
    };
    let (hits, lost) = (number("hits")?, number("lost")?);
    println!(
        "{attempts} events, {} from NMIs, {hits} synthetic ones, {lost} lost",
        of(3)
    );
    ensure_eq!(hits + lost, attempts, "synthetic events");
    ensure!(hits > attempts / 2, "{hits} of {attempts}");
    // All with the difference 0.
    ensure_eq!(
        (total(&found, "Entries:"), total(&found, "Hits:")),
        (1, hits),
        "{found}"
    );
    ensure!(found.contains("{ d:          0 }"), "{found}");
    own.remove()?;
    writers.unload()?;
    drop(defined);
    Ok(())
}

/// A histogram that refers to one of a module's event goes with the module, keeps no synthetic event, and takes those
/// along that refer to it.
fn links_of_module(context: &Context) -> Check {
    let defined = Defined::new(context)?;
    let own = Instance::new(&context.root, "rtg-links")?;
    let writers = Writers::load(context, &[])?;
    let exit = format!("events/{EXIT}/trigger");
    own.set(&format!("{SOAK}/trigger"), "hist:keys=number:n=number")?;
    let takes = "hist:keys=common_pid:m=$n:onmatch(rtsoak.rtsoak_event).trace(lk_lat,ret)";
    ensure_eq!(
        own.write(&exit, takes.as_bytes()),
        Err(EINVAL),
        "long for u64"
    );
    let takes = "hist:keys=common_pid:m=$n:onmatch(rtsoak.rtsoak_event).trace(lk_sum,$m,$n)";
    own.set(&exit, takes)?;
    own.set(&exit, "hist:keys=ret")?;
    let enter = format!("events/{ENTER}/trigger");
    own.set(&enter, "hist:keys=common_pid:o=$m")?;
    writers.start(7, 1_000, 0, 0)?;
    feed();
    writers.stop()?;
    writers.unload()?;
    let left = own.get(&exit)?;
    ensure!(
        left.lines().count() == 1 && left.contains("keys=ret:"),
        "{left}"
    );
    // Nor does one that refers to that one.
    let left = own.get(&enter)?;
    ensure!(!left.contains("hist:"), "{left}");
    let top = Tree::at(&context.root);
    ensure_eq!(top.write("synthetic_events", b"!lk_sum"), Ok(7), "!lk_sum");
    own.remove()?;
    drop(defined);
    Ok(())
}
