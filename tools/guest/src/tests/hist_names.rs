// SPDX-License-Identifier: GPL-2.0

//! Histograms of one name, which count together, of several events and instances; and polling `hist` files. The same
//! commands written to both tracers and the same calls, line by line.

use super::hist_links::{
    play, refused,
    Step::{self, Calls, Enter, Exit},
};
use super::hists::{self, ENTER};
use super::{pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::sys::{self, POLLIN, POLLPRI};
use crate::tree::Instance;
use crate::Context;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("hist.names", 120, names),
    test("hist.wrong_names", 120, wrong),
    test("hist.names_are_bytes", 60, names_are_bytes),
    test("hist.names_of_instances", 60, of_instances),
    test("hist.poll", 60, poll),
    test("hist.poll_wakes", 60, poll_wakes),
];

const STORIES: &[&[Step]] = &[
    // Two events; the sizes of the first one count. Each is paused for itself.
    &[
        Enter("hist:name=nn:keys=common_pid"),
        Exit("hist:name=nn:keys=common_pid:size=256"),
        Calls,
        Enter("hist:name=nn:keys=common_pid"),
        Exit("hist:name=nn:keys=common_pid:pause"),
        Calls,
        Exit("hist:name=nn:keys=common_pid:cont"),
        Calls,
        Enter("hist:name=nn:keys=common_pid:clear"),
        Calls,
        Enter("!hist:name=nn:keys=common_pid"),
        Calls,
        Exit("!hist:name=nn:keys=common_pid"),
        Exit("hist:name=nn:keys=common_pid,common_cpu"),
        Calls,
    ],
    // One event with two filters, and a histogram without a name beside them.
    &[
        Enter("hist:name=nn:keys=offset:vals=whence if offset == 2"),
        Enter("hist:name=nn:keys=offset:vals=whence if offset == 300"),
        Enter("hist:keys=offset:vals=whence if offset == 2"),
        Calls,
        Enter("!hist:keys=offset:vals=whence if offset == 2"),
        Enter("!hist:name=nn:keys=offset:vals=whence if offset == 2"),
        Calls,
        Enter("hist:name=mm:keys=offset.log2:sort=offset:vals=whence.hex"),
        Calls,
    ],
    // Modifiers and the order count.
    &[
        Enter("hist:name=nn:keys=common_pid.execname:vals=common_flags:sort=common_flags.descending"),
        Exit("hist:name=nn:keys=common_pid:vals=common_flags:sort=common_flags.descending"),
        Exit("hist:name=nn:keys=common_pid.execname:vals=common_flags:sort=common_flags"),
        Exit("hist:name=nn:keys=common_pid.execname:vals=common_flags:sort=common_flags.descending:NOHC"),
        Calls,
    ],
    // Variables and actions.
    &[
        Enter("hist:name=nn:keys=common_pid:vv=common_cpu"),
        Exit("hist:keys=common_pid:x=$vv"),
        Enter("!hist:name=nn:keys=common_pid:vv=common_cpu"),
        Calls,
        Exit("!hist:keys=common_pid:x=$vv"),
        Enter("!hist:name=nn:keys=common_pid:vv=common_cpu"),
        Exit("hist:name=nn:keys=common_pid:rr=ret:onmax($rr).lk_one($rr,common_pid)"),
        Calls,
    ],
];

fn names(context: &Context) -> Check {
    play(context, STORIES)
}

const WRONG: &[&str] = &[
    "hist:name=:keys=ret",
    "hist:name=aa:keys=nosuch",
    "hist:name=aa:keys=ret:cont",
    "hist:name=aa:keys=ret:clear",
];

fn wrong(context: &Context) -> Check {
    refused(context, WRONG)
}

/// Names that are no UTF-8 are told apart, and shown as they are.
fn names_are_bytes(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let trees = [&own, &reference];
    let (trigger, hist) = (
        format!("events/{ENTER}/trigger"),
        format!("events/{ENTER}/hist"),
    );
    let commands: &[&[u8]] = &[
        b"hist:name=\xff\xfe:keys=offset:w\xfd=whence",
        b"hist:name=\xfe\xff:keys=offset:x=$w\xfd",
        b"hist:name=\xfc:keys=whence:vals=offset:onmax($w\xfd).save(offset)",
        b"hist:keys=offset:y\xe9=whence:onmax($y\xe9).save(whence)",
    ];
    let mut report = Report::default();
    for command in commands {
        let taken = trees.map(|tree| tree.write(&trigger, command));
        report.expect(taken[0] == taken[1], || {
            format!("{}: {taken:?}", command.escape_ascii())
        });
    }
    for tree in trees {
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
    }
    hists::lseek(&[(7, 1), (7, 2), (9, 0)]);
    for file in [&trigger, &hist] {
        let mut texts = Vec::new();
        for tree in trees {
            let text = tree
                .read_bytes(file)
                .map_err(|e| format!("{file}: {e:?}"))?;
            texts.push(text.escape_ascii().to_string());
        }
        report.expect(
            texts[0] == texts[1] && texts[0].contains("\\xff\\xfe"),
            || format!("{file}: {}\n{}", texts[0], texts[1]),
        );
    }
    // Those that refer to others go first.
    for command in commands.iter().rev() {
        let remove = [b"!", *command].concat();
        let removed = trees.map(|tree| tree.write(&trigger, &remove));
        report.expect(removed[0] == removed[1], || {
            format!("!{}: {removed:?}", command.escape_ascii())
        });
    }
    report.finish()
}

const WRITE: usize = 1;
const SENDFILE: usize = 40;

/// A name is one for all instances, and for events whose records have the field in other places.
fn of_instances(context: &Context) -> Check {
    let one = Instance::new(&context.root, "rtg-names-a")?;
    let other = Instance::new(&context.root, "rtg-names-b")?;
    let (enter, exit) = (format!("events/{ENTER}"), "events/raw_syscalls/sys_exit");
    for tree in [&one, &other] {
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
        tree.set(
            &format!("{enter}/trigger"),
            "hist:name=rtg:keys=offset:vals=whence",
        )?;
    }
    hists::lseek(&[(7, 1), (7, 2), (9, 3)]);
    let wanted = "{ offset:          9 } hitcount:          2  whence:          6\n\
                  { offset:          7 } hitcount:          4  whence:          6\n";
    for tree in [&one, &other] {
        let text = tree.get(&format!("{enter}/hist"))?;
        ensure!(text.contains(wanted), "{text}");
    }
    // Another event has no such fields.
    let trigger = format!("{exit}/trigger");
    let text = b"hist:name=rtg:keys=id:vals=ret";
    ensure_eq!(other.write(&trigger, text), Err(EINVAL), "unlike");
    let log = other.get("error_log")?;
    ensure!(log.contains("Named hist trigger doesn't match"), "{log}");
    // The first one goes, what it counted stays; after the last one nothing does.
    one.remove()?;
    hists::lseek(&[(9, 1)]);
    let text = other.get(&format!("{enter}/hist"))?;
    ensure!(
        text.contains("{ offset:          9 } hitcount:          3"),
        "{text}"
    );
    other.empty(&format!("{enter}/trigger"))?;
    other.set(&format!("{enter}/trigger"), "hist:name=rtg:keys=whence")?;
    let text = other.get(&format!("{enter}/hist"))?;
    ensure!(text.contains("Hits: 0\n"), "{text}");
    // A field that two events have in different places.
    let (write, sendfile) = (
        "events/syscalls/sys_enter_write",
        "events/syscalls/sys_enter_sendfile64",
    );
    for event in [write, sendfile] {
        other.set(
            &format!("{event}/trigger"),
            "hist:name=rtg-places:keys=count",
        )?;
    }
    const COUNT: usize = 123_456_789;
    let none = u32::MAX as usize;
    sys::call(WRITE, [none, 0, COUNT, 0, 0, 0]);
    sys::call(SENDFILE, [none, none, 0, COUNT, 0, 0]);
    for event in [write, sendfile] {
        let text = other.get(&format!("{event}/hist"))?;
        let wanted = "{ count:  123456789 } hitcount:          2";
        ensure!(text.contains(wanted), "{event}: {text}");
    }
    other.remove()
}

/// The text of a file, without a call of lseek, which is counted here.
fn whole(file: &File) -> Check<String> {
    let mut bytes = vec![0; 1 << 16];
    let len = file.read_at(&mut bytes, 0);
    bytes.truncate(len.map_err(|e| format!("hist: {e}"))?);
    String::from_utf8(bytes).map_err(|e| format!("hist: {e}"))
}

/// What poll says of `hist` after each step, of a file that is opened first.
fn poll(context: &Context) -> Check {
    if sys::proves_locking() {
        return Ok(());
    }
    let (own, reference) = pair(context)?;
    let trees = [&own, &reference];
    let (hist, trigger) = (
        format!("events/{ENTER}/hist"),
        format!("events/{ENTER}/trigger"),
    );
    for tree in trees {
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
    }
    let open =
        |tree: &Instance| File::open(tree.path().join(&hist)).map_err(|e| format!("{hist}: {e}"));
    let files = [open(&own)?, open(&reference)?];
    let mut report = Report::default();
    let mut look = |files: &[File; 2], what: &str| {
        let [found, wanted] = [0, 1].map(|at| {
            let all = POLLIN | POLLPRI;
            sys::poll_for(&files[at], all, Duration::ZERO)
        });
        report.expect(found == wanted, || {
            format!("{what}: {found:?}, tracefs {wanted:?}")
        });
        wanted
    };
    ensure_eq!(look(&files, "none"), Ok(0), "without a histogram");
    for tree in trees {
        tree.set(&trigger, "hist:keys=offset")?;
    }
    let _ = look(&files, "a histogram");
    hists::lseek(&[(1, 1)]);
    ensure_eq!(look(&files, "a hit"), Ok(POLLIN | POLLPRI), "a hit");
    ensure_eq!(look(&files, "again"), Ok(POLLIN), "no other hit");
    hists::lseek(&[(1, 1)]);
    let _ = look(&files, "another hit");
    for file in &files {
        whole(file)?;
    }
    ensure_eq!(look(&files, "read"), Ok(0), "after it was read");
    hists::lseek(&[(1, 1)]);
    let _ = look(&files, "a hit after that");
    for tree in trees {
        tree.set(&trigger, "hist:keys=whence")?;
    }
    let _ = look(&files, "a second histogram");
    hists::lseek(&[(1, 1)]);
    let _ = look(&files, "two hits");
    for tree in trees {
        tree.set(&trigger, "!hist:keys=offset")?;
    }
    let _ = look(&files, "one is gone");
    for tree in trees {
        tree.set(&trigger, "hist:keys=whence:clear")?;
    }
    let _ = look(&files, "empty");
    let fresh = [open(&own)?, open(&reference)?];
    let _ = look(&fresh, "opened later");
    drop((files, fresh));
    own.remove()?;
    reference.remove()?;
    report.finish()
}

/// A poller sleeps until an event is counted, also by a histogram that comes meanwhile, and by one whose counts are
/// taken while it sleeps. Many rounds, with a writer that comes at any moment.
fn poll_wakes(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-poll")?;
    let (hist, trigger) = (
        format!("events/{ENTER}/hist"),
        format!("events/{ENTER}/trigger"),
    );
    let file = File::open(own.path().join(&hist)).map_err(|e| format!("{hist}: {e}"))?;
    own.set("set_event_pid", &sys::thread_id().to_string())?;
    const ROUNDS: usize = 100;
    let long = Duration::from_secs(30);
    let mut counted = 0;
    for round in 0..ROUNDS {
        let added = round == 0;
        // After that the poller looks for news, and sleeps again if there are none.
        let is_taken = context.is_rtracefs() && round % 5 == 4;
        std::thread::scope(|scope| -> Check {
            let poller = scope.spawn(|| sys::poll_for(&file, POLLIN, long));
            if added {
                own.set(&trigger, "hist:keys=offset")?;
            }
            // Sooner or later than the poller sleeps.
            if round % 2 == 0 {
                std::thread::sleep(Duration::from_millis(round as u64 % 16));
            }
            if is_taken {
                own.get(&format!("events/{ENTER}/hist_take"))?;
                counted = 0;
            }
            hists::lseek(&[(round as i64, 1)]);
            let result = poller.join().map_err(|_| "the poller died".to_string())?;
            ensure_eq!(result, Ok(POLLIN), "round {round}");
            Ok(())
        })?;
        let text = whole(&file)?;
        counted += 1;
        let wanted = format!("Hits: {counted}\n");
        ensure!(text.contains(&wanted), "round {round}:\n{text}");
    }
    drop(file);
    own.remove()
}
