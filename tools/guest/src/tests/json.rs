// SPDX-License-Identifier: GPL-2.0

//! `trace_pipe_json`: strict JSON, whatever is in the records; the same events, with the same values,
//! as the lines of `trace`; no address of the kernel.

use super::dynamic::Tops;
use super::security_text::is_address;
use super::{exact, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::json::Json;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::workload;
use crate::Context;
use std::io::Read;

pub const TESTS: &[Test] = &[
    exact("json.is_trace", 60, is_trace),
    test("json.values", 60, values),
    test("json.strings", 20, strings),
    test("json.everything", 120, everything),
    test("json.markers", 20, markers),
    exact("json.lost", 30, lost),
    test("json.consumers", 20, consumers),
];

fn instance(context: &Context) -> Check<Instance> {
    if !context.is_rtracefs() {
        skip!("tracefs writes no JSON");
    }
    Instance::new(&context.root, "rtg-json")
}

/// All that the file has now.
pub fn drain(tree: &Tree, name: &str) -> Check<String> {
    let mut file = tree
        .open_nonblock(name)
        .map_err(|e| format!("{}: {e}", tree.shown(name)))?;
    let (mut all, mut piece) = (vec![], vec![0; 1 << 16]);
    loop {
        match file.read(&mut piece).map_err(Errno::from) {
            Ok(0) | Err(EAGAIN) => break,
            Ok(n) => all.extend_from_slice(&piece[..n]),
            Err(e) => fail!("{}: {e}", tree.shown(name)),
        }
    }
    String::from_utf8(all).map_err(|e| format!("{}: {e}", tree.shown(name)))
}

/// The objects of a text, one per line.
pub fn objects(text: &str) -> Check<Vec<Json>> {
    ensure!(
        text.is_empty() || text.ends_with('\n'),
        "the last line has no end"
    );
    text.lines().map(Json::parse).collect()
}

fn events(tree: &Tree) -> Check<Vec<Json>> {
    let found = objects(&drain(tree, "trace_pipe_json")?)?;
    Ok(found
        .into_iter()
        .filter(|o| o.get("event").is_some())
        .collect())
}

fn record(tree: &Tree, systems: &[&str]) -> Check {
    tree.set("buffer_size_kb", "4000")?;
    for system in systems {
        tree.set(&format!("events/{system}/enable"), "1")?;
    }
    workload::mixed(2);
    tree.set("events/enable", "0")
}

/// What a line says before the event's own text.
fn head(line: &str) -> Option<(String, i128, i128, String, i128, String)> {
    let (task, rest) = line.split_once(" [")?;
    let (comm, pid) = task.trim().rsplit_once('-')?;
    let (cpu, rest) = rest.split_once("] ")?;
    let (flags, rest) = rest.split_once(' ')?;
    let (stamp, rest) = rest.split_once(": ")?;
    let (seconds, micros) = stamp.trim().split_once('.')?;
    let micros = seconds.parse::<i128>().ok()? * 1_000_000 + micros.parse::<i128>().ok()?;
    let (event, _) = rest.split_once(':')?;
    Some((
        comm.trim_end().to_string(),
        pid.trim().parse().ok()?,
        cpu.parse().ok()?,
        flags.to_string(),
        micros,
        event.to_string(),
    ))
}

/// Event for event, the members before the fields are those of `trace`.
fn is_trace(context: &Context) -> Check {
    let own = instance(context)?;
    record(&own, &["sched", "irq", "timer", "workqueue"])?;
    let text = own.get("trace")?;
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let objects = events(&own)?;
    ensure_eq!(objects.len(), lines.len(), "events");
    ensure!(lines.len() > 100, "only {} events", lines.len());
    let mut report = Report::default();
    for (line, object) in lines.iter().zip(&objects) {
        let text = |name| object.text(name).unwrap_or_default().to_string();
        let number = |name| object.number(name).unwrap_or(-1);
        let found = (
            text("comm"),
            number("pid"),
            number("cpu"),
            text("flags"),
            (number("ts") + 500) / 1000,
            text("event"),
        );
        report.expect(head(line) == Some(found), || {
            format!("{line:?}: {object:?}")
        });
    }
    println!("{} events", lines.len());
    report.finish()
}

/// Values by name and type are those that the event's own text shows.
fn values(context: &Context) -> Check {
    let own = instance(context)?;
    record(&own, &["sched", "raw_syscalls", "signal"])?;
    let text = own.get("trace")?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut report = Report::default();
    let mut looked = 0;
    for (line, object) in lines.zip(events(&own)?) {
        let Some(fields) = object.get("fields") else {
            fail!("no fields: {object:?}");
        };
        let shown = match object.text("event") {
            Some("sched_switch") => format!(
                "prev_comm={} prev_pid={} prev_prio={} ",
                fields.text("prev_comm").unwrap_or("?"),
                fields.number("prev_pid").unwrap_or(-1),
                fields.number("prev_prio").unwrap_or(-1)
            ),
            Some("sched_process_exec") => format!(
                "filename={} pid={} old_pid={}",
                fields.text("filename").unwrap_or("?"),
                fields.number("pid").unwrap_or(-1),
                fields.number("old_pid").unwrap_or(-1)
            ),
            Some("sys_enter") => {
                let args = match fields.get("args") {
                    Some(Json::List(args)) if args.len() == 6 => args,
                    other => fail!("args of {object:?}: {other:?}"),
                };
                let Json::Number(first) = args[0] else {
                    continue;
                };
                format!("NR {} ({first:x}, ", fields.number("id").unwrap_or(-1))
            }
            Some("sys_exit") => format!(
                "NR {} = {}",
                fields.number("id").unwrap_or(-1),
                fields.number("ret").unwrap_or(0)
            ),
            _ => continue,
        };
        looked += 1;
        report.expect(line.contains(&shown), || {
            format!("{line:?}: no {shown:?}: {object:?}")
        });
    }
    ensure!(looked > 100, "only {looked} events");
    println!("{looked} events");
    report.finish()
}

/// An array of strings is a list of them under the name of its field.
fn strings(context: &Context) -> Check {
    let own = instance(context)?;
    let tops = Tops::cleared(context);
    let line = "p:words/open do_sys_openat2 both=+u0(%si):ustring[2] last=\\5:u8";
    tops.own.set("kprobe_events", line)?;
    own.set("set_event_pid", &sys::thread_id().to_string())?;
    own.set("events/words/open/enable", "1")?;
    // What is at the place of a path is the address of another string for the probe.
    let texts = ["one\0", "two\0"].map(|text| text.as_ptr() as usize);
    sys::call(257, [usize::MAX, texts.as_ptr() as usize, 0, 0, 0, 0]);
    own.set("events/words/open/enable", "0")?;
    let text = |word: &str| Json::Text(word.to_string());
    let wanted = Json::List(vec![text("one"), text("two")]);
    let all = events(&own)?;
    let fields: Vec<_> = all
        .iter()
        .filter_map(|object| object.get("fields"))
        .collect();
    let is_ours = |fields: &&&Json| fields.get("both") == Some(&wanted);
    ensure!(
        fields.iter().filter(is_ours).count() == 1,
        "no {wanted:?} in {fields:?}"
    );
    ensure!(
        fields.iter().all(|fields| fields.number("last") == Some(5)),
        "no last: {fields:?}"
    );
    own.remove()?;
    tops.clear();
    Ok(())
}

/// Every event: strict JSON with the fields of its format, and no address of the kernel.
fn everything(context: &Context) -> Check {
    let own = instance(context)?;
    own.set("buffer_size_kb", "8000")?;
    // Events of what this test itself does to the tree would not end.
    own.set("events/enable", "1")?;
    workload::mixed(1);
    own.set("tracing_on", "0")?;
    own.set("events/enable", "0")?;
    let mut kinds = std::collections::BTreeMap::new();
    let mut report = Report::default();
    for object in events(&own)? {
        let (Some(system), Some(event)) = (object.text("system"), object.text("event")) else {
            fail!("no name: {object:?}");
        };
        let name = format!("{system}/{event}");
        let mut numbers = vec![];
        object.numbers(&mut numbers);
        let told = numbers
            .iter()
            .any(|n| u64::try_from(*n).is_ok_and(is_address));
        report.expect(!told, || format!("an address: {object:?}"));
        if kinds.contains_key(&name) {
            continue;
        }
        let format = own.get(&format!("events/{name}/format"))?;
        let wanted: Vec<_> = format
            .lines()
            .filter_map(|line| line.strip_prefix("\tfield:")?.split(';').next())
            .filter_map(|field| {
                let field = field.split_once('[').map_or(field, |(front, behind)| {
                    match behind.split_once(']') {
                        Some((_, name)) if !name.is_empty() => name,
                        _ => front,
                    }
                });
                field.rsplit([' ', '*']).next()
            })
            .filter(|name| !name.starts_with("common_"))
            .map(str::to_string)
            .collect();
        let found: Vec<_> = match object.get("fields") {
            Some(Json::Object(members)) => members.iter().map(|m| m.0.clone()).collect(),
            other => fail!("fields of {name}: {other:?}"),
        };
        report.expect(found == wanted, || {
            format!("{name}: {found:?}, format {wanted:?}")
        });
        kinds.insert(name, ());
    }
    ensure!(kinds.len() > 40, "only {} kinds of events", kinds.len());
    println!("{} kinds of events", kinds.len());
    report.finish()
}

/// Markers and names that no script expects.
fn markers(context: &Context) -> Check {
    let own = instance(context)?;
    let rows: [(&[u8], &str); 6] = [
        (b"hello", "hello\n"),
        (b"\"quoted\" \\ back\n", "\"quoted\" \\ back\n"),
        (b"\x01\x1f\x7f\t\r", "\x01\x1f\x7f\t\r\n"),
        (b"\xff\xfe\xc3(", "\u{fffd}\u{fffd}\u{fffd}(\n"),
        ("gr\u{fc}n \u{1f600}".as_bytes(), "gr\u{fc}n \u{1f600}\n"),
        (b"{\"cpu\":9}", "{\"cpu\":9}\n"),
    ];
    let mut report = Report::default();
    for (bytes, wanted) in rows {
        ensure_eq!(
            own.write("trace_marker", bytes),
            Ok(bytes.len()),
            "a marker"
        );
        let found = events(&own)?;
        let text = found
            .first()
            .and_then(|object| object.get("fields")?.text("buf"));
        report.expect(found.len() == 1 && text == Some(wanted), || {
            format!("{:?}: {found:?}", bytes.escape_ascii().to_string())
        });
    }
    let raw = [0x34, 0x12, 0, 0, 0, 0xff, 0x0a, 0];
    ensure_eq!(
        own.write("trace_marker_raw", &raw),
        Ok(8),
        "a binary marker"
    );
    let found = events(&own)?;
    let fields = found.first().and_then(|object| object.get("fields"));
    let wanted = Json::Object(vec![
        ("id".into(), Json::Number(0x1234)),
        ("buf".into(), Json::Text("00ff0a00".into())),
    ]);
    ensure_eq!(fields, Some(&wanted), "a binary marker");
    // A task with such a name, seen by the scheduler.
    own.set("events/sched/sched_switch/enable", "1")?;
    let seen = std::thread::spawn(|| {
        let renamed = std::fs::write("/proc/thread-self/comm", b"a\"\\\xff\x01");
        std::thread::sleep(std::time::Duration::from_millis(30));
        renamed.map(|()| sys::thread_id())
    });
    let thread = seen
        .join()
        .map_err(|_| "the thread died".to_string())?
        .map_err(|e| format!("comm: {e}"))?;
    own.set("events/sched/sched_switch/enable", "0")?;
    let name = events(&own)?.into_iter().find_map(|object| {
        let fields = object.get("fields")?;
        let own = fields.number("prev_pid") == Some(thread.into());
        let name = fields.text("prev_comm")?;
        (own && name.starts_with("a\"")).then(|| name.to_string())
    });
    ensure_eq!(
        name.as_deref(),
        Some("a\"\\\u{fffd}\x01"),
        "the name of a task"
    );
    report.finish()
}

/// Losses are objects too, and say how many.
fn lost(context: &Context) -> Check {
    sys::pin_to(0);
    let own = instance(context)?;
    own.set("buffer_size_kb", "8")?;
    for at in 0..2000 {
        own.set("trace_marker", &format!("number {at}"))?;
    }
    let found = objects(&drain(&own, "per_cpu/cpu0/trace_pipe_json")?)?;
    let lost: i128 = found
        .iter()
        .filter_map(|object| object.number("lost"))
        .sum();
    let kept = found.iter().filter(|o| o.get("event").is_some()).count();
    ensure!(lost > 0 && kept > 0, "{lost} lost, {kept} kept");
    ensure_eq!(lost + kept as i128, 2000, "lost and kept");
    let first = &found[0];
    ensure!(
        first.number("cpu") == Some(0) && first.number("lost") == Some(lost),
        "the first: {first:?}"
    );
    Ok(())
}

/// It is a consumer like `trace_pipe`: one of both for a CPU.
fn consumers(context: &Context) -> Check {
    let own = instance(context)?;
    let open = |name: &str| own.open_nonblock(name);
    for (held, refused) in [
        ("trace_pipe_json", "trace_pipe"),
        ("trace_pipe", "trace_pipe_json"),
        ("trace_pipe_json", "per_cpu/cpu0/trace_pipe"),
        ("per_cpu/cpu0/trace_pipe_json", "trace_pipe_json"),
    ] {
        let file = open(held).map_err(|e| format!("{held}: {e}"))?;
        ensure_eq!(
            open(refused).map(drop),
            Err(EBUSY),
            "{refused} beside {held}"
        );
        drop(file);
        ensure_eq!(open(refused).map(drop), Ok(()), "{refused} alone");
    }
    ensure_eq!(own.write("trace_pipe_json", b"x"), Err(EINVAL), "a write");
    Ok(())
}
