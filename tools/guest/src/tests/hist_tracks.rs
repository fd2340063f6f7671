// SPDX-License-Identifier: GPL-2.0

//! `onmax` and `onchange` of histograms with `save`, `snapshot` and synthetic events: the same commands written to
//! both tracers and the same calls, line by line; every error with its caret.

use super::hist_links::{
    play, refused,
    Step::{self, Calls, Enter, Exit, Snapshot},
};
use super::hists::ENTER;
use super::{exact, test, Test};
use crate::check::Check;
use crate::errno::*;
use crate::soak::record::{sum, CONTEXTS, NMI, RINGS};
use crate::soak::writers::Writers;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;

pub const TESTS: &[Test] = &[
    test("hist.tracks", 120, tracks),
    test("hist.wrong_tracks", 120, wrong),
    test("hist.maximum", 60, maximum),
    exact("hist.tracks_nest", 120, tracks_nest).with_testapi(),
];

const STORIES: &[&[Step]] = &[
    // The largest of each entry, with numbers and texts beside it.
    &[
        Enter("hist:keys=offset:mm=whence:onmax($mm).save(whence,common_comm, common_pid,fd.hex)"),
        Calls,
        Enter("hist:keys=offset:mm=whence:onmax($mm).save(whence,common_comm,common_pid,fd.hex)"),
        Enter("hist:keys=offset:mm=whence:onmax($mm).save(whence)"),
        Calls,
        Enter("!hist:keys=offset:mm=whence:onmax($mm).save(whence,common_comm,common_pid,fd.hex)"),
    ],
    // The last change; a change to 0 is none from the beginning.
    &[
        Exit("hist:keys=common_pid:vals=ret:rr=ret:onchange($rr).saved(common_cpu,ret)"),
        Calls,
        Calls,
        Exit("hist:keys=common_pid:vals=ret:rr=ret:onchange($rr).saved(common_cpu,ret):clear"),
        Calls,
        Exit("hist:keys=common_pid:cc=common_cpu-common_cpu:onchange($cc).save(common_comm,ret)"),
        Calls,
    ],
    // Several actions, of which one records.
    &[
        Exit("hist:keys=common_pid:yy=ret"),
        Enter(
            "hist:keys=common_pid:aa=offset,bb=whence:onmax($aa).save(fd,$yy,fd)\
             :onchange($bb).lk_one($bb,common_pid):onmax($bb).trace(lk_one,$aa,common_pid)",
        ),
        Calls,
        Calls,
        Exit("hist:keys=common_pid:dd=ret-$aa:onmax($dd).lk_two($aa,$bb,common_cpu,common_comm)"),
        Calls,
        Exit("!hist:keys=common_pid:dd=ret-$aa:onmax($dd).lk_two($aa,$bb,common_cpu,common_comm)"),
        Enter(
            "!hist:keys=common_pid:aa=offset,bb=whence:onmax($aa).save(fd,$yy,fd)\
             :onchange($bb).lk_one($bb,common_pid):onmax($bb).trace(lk_one,$aa,common_pid)",
        ),
    ],
    // A snapshot, which is nothing else's then.
    &[
        Enter("hist:keys=offset:mm=whence:onmax($mm).snapshot()"),
        Calls,
        Snapshot("1"),
        Snapshot("2"),
        Snapshot("0"),
        Exit("hist:keys=ret:rr=ret:onchange($rr).snapshot()"),
        Enter("!hist:keys=offset:mm=whence:onmax($mm).snapshot(of)"),
        Exit("hist:keys=common_pid.execname,ret:rr=ret:onchange($rr).snapshot():onmax($rr).save(common_comm)"),
        Calls,
        Calls,
        Exit("!hist:keys=common_pid.execname,ret:rr=ret:onchange($rr).snapshot():onmax($rr).save(common_comm)"),
        Exit("hist:keys=ret:rr=ret:onmax($rr).snapshot():onchange($rr).snapshot()"),
        Snapshot("2"),
    ],
];

fn tracks(context: &Context) -> Check {
    play(context, STORIES)
}

const WRONG: &[&str] = &[
    "hist:keys=ret:onmax",
    "hist:keys=ret:onmax(",
    "hist:keys=ret:onmax($e",
    "hist:keys=ret:onmax()",
    "hist:keys=ret:onmax(e)",
    "hist:keys=ret:onmax(e).save(ret)",
    "hist:keys=ret:onmax().save(ret)",
    "hist:keys=ret:onchange($nosuch).save(ret)",
    "hist:keys=ret:onchange($e).save(ret)",
    "hist:keys=ret:onchange($w).save(ret)",
    "hist:keys=ret:xx=ret:onmax($xx)",
    "hist:keys=ret:xx=ret:onmax($xx).save",
    "hist:keys=ret:xx=ret:onmax($xx).save()",
    "hist:keys=ret:xx=ret:onmax($xx).save(r)",
    "hist:keys=ret:xx=ret:onmax($xx).save(nosuch)",
    "hist:keys=ret:xx=ret:onmax($xx).save(ret,nosuch)",
    "hist:keys=ret:xx=ret:onmax($xx).save(ret.foo)",
    "hist:keys=ret:xx=ret:onmax($xx).save(ret+1)",
    "hist:keys=ret:xx=ret:onmax($xx).save($nosuch)",
    "hist:keys=ret:xx=ret:onmax($xx).save($v)",
    "hist:keys=ret:xx=ret:onmax($xx).save($xx)",
    "hist:keys=ret:ret=ret:onmax($ret).save(ret)",
    "hist:keys=ret:xx=ret:onmax($xx).save(ret):onchange($xx).save(ret)",
    "hist:keys=ret:xx=ret:onmax($xx).nosuch(ret)",
    "hist:keys=ret:xx=ret:onmax($xx).trace(nosuch,ret)",
    "hist:keys=ret:xx=ret:onmax($xx).trace(lk_one)",
    "hist:keys=ret:xx=ret:onmax($xx).lk_one(ret,ret)",
    "hist:keys=ret:xx=ret:onmax($xx).lk_one(nosuch,common_pid)",
    "hist:keys=ret:xx=ret:onmax($xx).lk_one($nosuch,common_pid)",
    "hist:keys=ret:xx=ret:onmax($xx).lk_one($v,common_pid)",
    "hist:keys=ret:ret=ret:onmax($ret).lk_one(ret,common_pid)",
    "hist:keys=ret:xx=ret:onchange($xx).snapshot",
    "hist:keys=ret:xx=ret:onchange($xx).snapshot(",
    "hist:keys=ret:xx=ret:onchange($xx).snapshot(x",
    "hist:keys=ret:xx=ret:onmaxi($xx).save(ret)",
];

fn wrong(context: &Context) -> Check {
    refused(context, WRONG)
}

/// A histogram that takes snapshots and a tracer that keeps the trace of a maximum refuse each other, in either order.
fn maximum(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-maximum")?;
    let trigger = format!("events/{ENTER}/trigger");
    let command = "hist:keys=offset:mm=whence:onmax($mm).snapshot()";
    // One that every kernel of rtrace has; ftrace has it in the top instance, or not at all.
    if own.write("current_tracer", b"wakeup").is_err() {
        skip!("no tracer here keeps a maximum");
    }
    let refused = own.write(&trigger, command.as_bytes());
    ensure_eq!(refused, Err(EBUSY), "{command}");
    let left = own.get(&trigger)?;
    ensure!(!left.contains("hist:"), "{left}");
    own.set("current_tracer", "nop")?;
    own.set(&trigger, command)?;
    let refused = own.write("current_tracer", b"wakeup");
    ensure_eq!(refused, Err(EBUSY), "wakeup");
    own.empty(&trigger)?;
    own.set("current_tracer", "wakeup")?;
    own.set("current_tracer", "nop")?;
    own.remove()
}

/// All events have the same key, so that writers in all contexts and on all CPUs follow one number.
const FOLLOWS: &str = "hist:keys=common_type:n=number,m=who:onmax($n).save(number,who,sum):onchange($m).lk_sum(sum,who)";

/// Writers in tasks, interrupts and NMIs: the largest number stays, with the fields of its event beside it, whenever
/// it is read.
fn tracks_nest(context: &Context) -> Check {
    let tree = Tree::at(&context.root);
    tree.set("synthetic_events", "lk_sum u32 d; u32 who")?;
    let own = Instance::new(&context.root, "rtg-soak-a")?;
    own.set("options/event-counts", "1")?;
    let writers = Writers::load(context, &[])?;
    let soak = "events/rtsoak/rtsoak_event";
    own.set(&format!("{soak}/trigger"), FOLLOWS)?;
    own.set("events/synthetic/lk_sum/enable", "1")?;
    writers.start(7, 20_000, 0, 0)?;
    let (mut last, mut reads) = (0, 0);
    loop {
        let more = writers.busy()?;
        let text = own.get(&format!("{soak}/hist"))?;
        if let Some(largest) = largest(&text)? {
            ensure!(last <= largest, "{last}, then {text}");
            last = largest;
            reads += 1;
        }
        if !more {
            break;
        }
    }
    writers.stop()?;
    let text = own.get(&format!("{soak}/hist"))?;
    let written = writers.written()?;
    let mut most = 0;
    for cpu in 0..sys::online_cpus() {
        for which in 0..CONTEXTS.len() {
            most = most.max(written.tally(cpu, RINGS, which).attempts);
        }
    }
    let nmis = written.attempts(RINGS, NMI);
    println!("{reads} reads, the largest {last} of {most}, {nmis} from NMIs");
    ensure_chance!(nmis > 0, "no NMIs");
    ensure_chance!(reads > 1, "{reads} reads");
    // Numbers count from 0 in each context of each CPU.
    ensure_eq!(largest(&text)?, most.checked_sub(1), "{text}");
    own.remove()?;
    tree.set("synthetic_events", "!lk_sum")?;
    writers.unload()
}

/// The largest number of the one entry, which has the fields of one event.
fn largest(text: &str) -> Check<Option<u64>> {
    let Some((_, line)) = text.split_once("\tmax:") else {
        return Ok(None);
    };
    let line = line.lines().next().unwrap_or_default();
    let numbers: Vec<u64> = line
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [largest, number, who, found] = numbers[..] else {
        fail!("{line}");
    };
    // A number has to be larger than 0.
    if largest == 0 {
        ensure_eq!((number, who, found), (0, 0, 0), "{line}");
        return Ok(None);
    }
    ensure_eq!(largest, number, "{line}");
    let wanted = sum(who as u32, number as u32);
    ensure_eq!(found, u64::from(wanted), "{line}");
    Ok(Some(largest))
}
