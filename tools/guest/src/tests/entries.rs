// SPDX-License-Identifier: GPL-2.0

//! Events at the beginning of functions, which one hook of rtrace hits: several on one function, beside both tracers'
//! own, in every context, inside of what records them, and in a module that comes and goes.

use super::dynamic::{need_line, recorded, Tops};
use super::dynamic_counts::counts_of;
use super::{pair, test, Test};
use crate::check::{Check, Report};
use crate::kernel_modules::{Loaded, Modules};
use crate::module;
use crate::soak::rounds;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::vsock;
use crate::Context;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("kprobe.entries", 60, entries),
    test("kprobe.own_calls", 60, own_calls),
    test("kprobe.nmis", 120, nmis),
    test("modev.probed", 180, probed),
];

const FILE: &str = "dynamic_events";
const GETPPID: usize = 110;

/// The functions that call any hook, as the kernel tells of them.
fn hooked(reference: &Tree) -> Check<Vec<String>> {
    let text = reference.get("enabled_functions")?;
    let names = text
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    Ok(names.map(str::to_string).collect())
}

/// Hits and misses of an event.
fn profile(tree: &Tree, name: &str) -> Check<(u64, u64)> {
    let text = tree.get("kprobe_profile")?;
    let line = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|words| words.first() == Some(&name));
    match line.as_deref() {
        Some([_, hits, missed]) => Ok((
            hits.parse().map_err(|_| text.clone())?,
            missed.parse().map_err(|_| text.clone())?,
        )),
        _ => fail!("{name}: {text}"),
    }
}

/// Many on one function, of which some come and go while others are hit: each hit is recorded once for each, as in
/// tracefs, and the function calls no hook when none is left.
fn entries(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:called/there vfs_read")?;
    let function = sys::getppid_function();
    let before = hooked(&tops.reference)?;
    let lines = format!(
        "p:many/a {function} a=%di b=$arg2:u8 c=%bp d=%sp e=%ax:u32\n\
         p:many/b {function}\n\
         f:many/c {function} a=$arg1 b=$stack1:x16\n\
         f:many/d {function}\n\
         p:many/all {function} a=%r15 b=%bx c=%flags:x16 d=%ip\n\
         p:many/inside {function}+9\n\
         r:many/back {function} v=$retval\n\
         f:many/end {function}%return v=$retval\n"
    );
    tops.set(FILE, &lines)?;
    let mut report = Report::default();
    let (own, reference) = pair(context)?;
    let instances = [&own, &reference];
    for tree in instances {
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
        tree.set("events/many/enable", "1")?;
        tree.clear()?;
    }
    let during = hooked(&tops.reference)?;
    ensure!(during.iter().any(|name| name == function), "not hooked");
    for name in ["", "b", "c", "all", "a", "d"] {
        if !name.is_empty() {
            for tree in instances {
                tree.set(&format!("events/many/{name}/enable"), "0")?;
            }
        }
        for _ in 0..3 {
            sys::call(GETPPID, [0; 6]);
        }
    }
    let shown = |tree: &Instance| -> Check<Vec<String>> {
        let lines = recorded(tree)?.into_iter();
        // The depth counts those that hook the function, too.
        let events = lines.map(|line| line.splitn(3, ' ').nth(2).unwrap_or("").to_string());
        let mut events: Vec<_> = events.collect();
        events.sort();
        Ok(events)
    };
    let lines = [shown(&own)?, shown(&reference)?];
    report.expect(lines[1].len() == 3 * (8 + 7 + 6 + 5 + 4 + 3), || {
        format!("tracefs recorded {:#?}", lines[1])
    });
    report.expect(lines[0] == lines[1], || {
        format!("records {:#?}, tracefs {:#?}", lines[0], lines[1])
    });
    for name in ["a", "b", "all", "inside", "back"] {
        let both = (profile(&tops.own, name)?, profile(&tops.reference, name)?);
        report.expect(both.0 == both.1, || format!("{name}: {both:?}"));
    }
    for tree in instances {
        tree.set("events/many/enable", "0")?;
    }
    ensure_eq!(hooked(&tops.reference)?, before, "hooked");
    report.finish()
}

/// A function that what records calls itself: the call from elsewhere is recorded, the own one is counted.
fn own_calls(context: &Context) -> Check {
    const READ: &str = "copy_from_kernel_nofault";
    const CALLS: u64 = 50;
    let tops = Tops::cleared(context);
    need_line(&tops.reference, &format!("f:own/there {READ}"))?;
    let function = sys::getppid_function();
    // Of tracefs: it reads the memory.
    tops.reference
        .set(FILE, &format!("p:there/read {function} a=+0x70(%di):u64"))?;
    tops.own.set(
        FILE,
        &format!("p:own/read {READ} a=+0(%si):u8\nf:own/fun {READ} a=+0($arg2):u8"),
    )?;
    let (own, reference) = pair(context)?;
    let name = sys::thread_id().to_string();
    own.set("set_event_pid", &name)?;
    own.set("events/own/enable", "1")?;
    reference.set("events/there/enable", "1")?;
    own.clear()?;
    let before = profile(&tops.own, "read")?;
    for _ in 0..CALLS {
        sys::call(GETPPID, [0; 6]);
    }
    let after = profile(&tops.own, "read")?;
    own.set("events/own/enable", "0")?;
    reference.set("events/there/enable", "0")?;
    let (hits, missed) = (after.0 - before.0, after.1 - before.1);
    // Both read once for a hit: each of these calls is missed by both.
    ensure!(
        hits >= CALLS && missed == 2 * hits,
        "{hits} hits, {missed} missed"
    );
    let counted = counts_of(&tops.own, "own/read")?;
    ensure!(
        counted.own == after.1 && counted.hits == after.0,
        "{counted:?}, {after:?}"
    );
    let text = own.get("trace")?;
    let count = |what: &str| text.matches(what).count() as u64;
    let counts = (count(" read: ("), count(" fun: ("));
    ensure!(
        counts.0 >= CALLS && counts.0 == counts.1,
        "{counts:?} records"
    );
    Ok(())
}

/// Hits in an NMI are recorded, as many as tracefs records.
fn nmis(context: &Context) -> Check {
    if sys::online_cpus() < 2 {
        skip!("a CPU does not send itself an NMI");
    }
    const NAME: &str = "rtdelay";
    let tops = Tops::cleared(context);
    let line = format!("p:late/nmi {NAME}:on_nmi a=%di:u32 c=$comm b=+0(%si):x8");
    tops.set(FILE, &line)?;
    let (own, reference) = pair(context)?;
    let instances = [&own, &reference];
    for tree in instances {
        tree.set("events/late/enable", "1")?;
    }
    let file = context.stress.with_file_name(format!("{NAME}.ko"));
    let _ = module::unload(NAME);
    let cpu = sys::online_cpus() - 1;
    module::load(&file, &format!("cpu={cpu} how=nmi us=500 count=20"))?;
    ensure!(
        sys::wait_until(Duration::from_secs(60), || {
            reference
                .get("trace")
                .is_ok_and(|text| text.matches(" nmi: (").count() >= 20)
        }),
        "tracefs has seen no NMI"
    );
    module::unload(NAME).map_err(|e| format!("{NAME}: {e:?}"))?;
    for tree in instances {
        tree.set("events/late/enable", "0")?;
    }
    let texts = [own.get("trace")?, reference.get("trace")?];
    let counts = texts.each_ref().map(|text| text.matches(" nmi: (").count());
    ensure!(counts[0] == counts[1], "{counts:?}: {}", texts[0]);
    let in_nmi = texts.each_ref().map(|text| {
        let lines = text.lines().filter(|line| line.contains(" nmi: ("));
        lines
            .filter(|line| line.contains('Z') || line.contains('z'))
            .count()
    });
    ensure!(in_nmi[0] == in_nmi[1] && in_nmi[0] >= 20, "{in_nmi:?}");
    let both = [&tops.own, &tops.reference].map(|tree| profile(tree, "nmi"));
    ensure_eq!(both[0], both[1], "hits and misses");
    Ok(())
}

/// The module of functions that are hit comes and goes while their events are enabled, disabled, defined and removed
/// elsewhere: nothing is left, and what comes at the same addresses is not hit.
fn probed(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:called/there vfs_read")?;
    let modules = Modules::new()?;
    let before = hooked(&tops.reference)?;
    let own = &tops.own;
    own.set(
        FILE,
        "p:probed/sent vsock:vsock_connectible_sendmsg a=%si:x8\nr:probed/back vsock:vsock_connectible_sendmsg",
    )?;
    let instance = Instance::new(&context.root, "rtg-probed")?;
    instance.set("events/probed/sent/enable", "1")?;
    let done = AtomicBool::new(false);
    let order = Ordering::Relaxed;
    let mut result = Ok(());
    let mut seen = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(order) {
                // What is not there now answers with an error.
                let _ = own.write(FILE, b"f:probed/all vsock_* a=$arg1");
                let _ = own.write("events/probed/all/enable", b"1");
                let _ = own.write("events/probed/all/enable", b"0");
                let _ = own.write(FILE, b"-:probed/all");
            }
        });
        scope.spawn(|| {
            while !done.load(order) {
                let _ = own.write(
                    FILE,
                    b"p:other/here vsock:vsock_connectible_recvmsg c=$comm",
                );
                let _ = own.write("events/other/enable", b"1");
                let _ = own.write("events/probed/back/enable", b"1");
                let _ = own.write("events/probed/back/enable", b"0");
                let _ = own.write("events/other/enable", b"0");
                let _ = own.write(FILE, b"-:other/here");
            }
        });
        for _ in 0..rounds(2, 10) {
            let mut loaded = Loaded::new(&modules);
            result = loaded.add("vsock-loopback").and_then(|()| vsock::talk(20));
            result = result.clone().and_then(|()| loaded.remove());
            if result.is_err() {
                break;
            }
            let text = instance.get("trace").unwrap_or_default();
            seen += usize::from(text.matches(" sent: (").count() >= 20);
            let _ = instance.clear();
        }
        done.store(true, order);
    });
    result?;
    ensure!(seen >= 2, "{seen} rounds were recorded");
    for group in ["probed", "other"] {
        let _ = own.write(&format!("events/{group}/enable"), b"0");
    }
    instance.set("events/enable", "0")?;
    ensure_eq!(hooked(&tops.reference)?, before, "hooked");
    instance.remove()
}
