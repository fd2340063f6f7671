// SPDX-License-Identifier: GPL-2.0

//! JSON trace events, which ui.perfetto.dev and chrome://tracing open: tasks and interrupts as slices
//! of their CPU, what else begins and ends as slices of its task, other events as instants. So is an event whose
//! name says that it begins or ends something, and whose other half did not come: `sched_process_exit` has none.

use super::{TraceFormat, Written};
use crate::parse::record::Record;
use crate::parse::symbol;
use anyhow::Result;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::io::Write;

/// The process whose threads are the CPUs: no task has this number.
const CPUS: i64 = 999_999_999;
/// How the names of events begin and end that begin and end something.
const PAIRS: &[(&str, &str)] = &[("_entry", "_exit"), ("_enter", "_exit"), ("_start", "_end")];
/// The systems whose beginnings and ends belong to a CPU; those of others belong to the task.
const OF_CPUS: &[&str] = &["irq", "irq_vectors", "timer"];

/// How many of one stem may be begun in a track. Of more the oldest has no end, as that of `hrtimer_start`.
const DEEPEST: usize = 16;

/// Where a slice is drawn: process and thread.
type Track = (i64, i64);

/// An event as it is, in the track of its task.
struct Instant {
    task: Track,
    system: String,
    event: String,
    ts: u64,
    fields: Value,
}

/// Something that has begun: `SYSTEM:STEM`, how it is called, the event that began it.
struct OpenSlice {
    stem: String,
    name: String,
    event: Instant,
}

/// Makes trace events of records.
pub struct EventList<W: Write> {
    out: W,
    written: u64,
    lost: u64,
    begun: BTreeMap<Track, Vec<OpenSlice>>,
    /// What each CPU runs: pid, and since when.
    running: BTreeMap<u32, (i64, u64)>,
    names: BTreeMap<Track, String>,
}

/// Whether an event begins or ends something.
enum Edge {
    Begin,
    End,
}

/// Returns the stem of the name of an event that begins or ends something.
fn edge(event: &str) -> Option<(Edge, String)> {
    if let Some(rest) = event.strip_prefix("sys_enter") {
        return Some((Edge::Begin, format!("sys{rest}")));
    }
    if let Some(rest) = event.strip_prefix("sys_exit") {
        return Some((Edge::End, format!("sys{rest}")));
    }
    for (begin, end) in PAIRS {
        if let Some(stem) = event.strip_suffix(begin) {
            return Some((Edge::Begin, stem.to_string()));
        }
        if let Some(stem) = event.strip_suffix(end) {
            return Some((Edge::End, stem.to_string()));
        }
    }
    None
}

/// Returns microseconds.
fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

impl<W: Write> EventList<W> {
    /// Returns one without events, whose beginning is written.
    pub fn new(mut out: W) -> Result<Self> {
        out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        Ok(Self {
            out,
            written: 0,
            lost: 0,
            begun: BTreeMap::new(),
            running: BTreeMap::new(),
            names: BTreeMap::new(),
        })
    }

    fn put(&mut self, value: &Value) -> Result<()> {
        let separator = if self.written == 0 { "\n" } else { ",\n" };
        self.written += 1;
        Ok(write!(self.out, "{separator}{value}")?)
    }

    fn slice(
        &mut self,
        (pid, tid): Track,
        name: &str,
        from: u64,
        to: u64,
        args: &Value,
    ) -> Result<()> {
        let dur = us(to.saturating_sub(from));
        self.put(&json!({
            "ph": "X", "name": name, "pid": pid, "tid": tid, "ts": us(from), "dur": dur, "args": args,
        }))
    }

    /// Names a track, by the last name that is seen.
    fn name(&mut self, track: Track, name: &str) {
        if self.names.get(&track).is_none_or(|known| known != name) {
            self.names.insert(track, name.to_string());
        }
    }

    fn instant(&mut self, of: &Instant) -> Result<()> {
        self.put(&json!({
            "ph": "i", "s": "t", "name": of.event, "cat": of.system, "pid": of.task.0,
            "tid": of.task.1, "ts": us(of.ts), "args": of.fields,
        }))
    }

    /// Begins something.
    fn begin(&mut self, track: Track, slice: OpenSlice) -> Result<()> {
        let begun = self.begun.entry(track).or_default();
        let is_same = |other: &OpenSlice| other.stem == slice.stem;
        let mut oldest = None;
        if begun.iter().filter(|other| is_same(other)).count() >= DEEPEST {
            oldest = begun.iter().position(is_same).map(|at| begun.remove(at));
        }
        begun.push(slice);
        match oldest {
            Some(oldest) => self.instant(&oldest.event),
            None => Ok(()),
        }
    }

    /// Ends what has begun last of that stem; what began after it has lost its end.
    fn end(&mut self, track: Track, stem: &str, by: &Instant) -> Result<()> {
        let begun = self.begun.entry(track).or_default();
        let Some(at) = begun.iter().rposition(|begun| begun.stem == stem) else {
            return self.instant(by);
        };
        let mut ended = begun.split_off(at).into_iter();
        if let Some(OpenSlice { name, event, .. }) = ended.next() {
            self.slice(track, &name, event.ts, by.ts, &event.fields)?;
        }
        ended.try_for_each(|lost| self.instant(&lost.event))
    }

    /// Ends what the CPU ran, under the name that the task has then: it may have executed a program.
    fn switch(&mut self, record: &Record, cpu: Track, fields: &Value) -> Result<()> {
        let next = record.number("next_pid").unwrap_or(0);
        let before = match next {
            0 => self.running.remove(&record.cpu),
            _ => self.running.insert(record.cpu, (next, record.ts)),
        };
        match before {
            Some((pid, ts)) if record.number("prev_pid") == Some(pid) => {
                let name = record.text("prev_comm").unwrap_or("?");
                self.slice(cpu, &format!("{name} [{pid}]"), ts, record.ts, fields)
            }
            _ => Ok(()),
        }
    }
}

impl<W: Write> TraceFormat for EventList<W> {
    fn add(&mut self, record: &Record) -> Result<()> {
        let cpu = (CPUS, i64::from(record.cpu));
        self.name(cpu, &format!("CPU {}", record.cpu));
        if let Some(lost) = record.lost {
            self.lost = self.lost.saturating_add(lost);
            return Ok(());
        }
        let task = (
            record.tgid.filter(|tgid| *tgid != 0).unwrap_or(record.pid),
            record.pid,
        );
        self.name(task, &record.comm);
        let fields = Value::Object(record.fields.clone());
        match (&record.system[..], &record.event[..]) {
            ("sched", "sched_switch") => self.switch(record, cpu, &fields),
            ("ftrace", "funcgraph_entry" | "fgraph_retaddr_entry") => Ok(()),
            ("ftrace", "funcgraph_exit") => {
                let time = |name| record.number(name).and_then(|ns| u64::try_from(ns).ok());
                match (time("calltime"), time("rettime")) {
                    (Some(from), Some(to)) => {
                        let function = record.text("func").map_or("?", symbol::function);
                        self.slice(task, function, from, to, &fields)
                    }
                    _ => Ok(()),
                }
            }
            (system, event) => {
                let track = if OF_CPUS.contains(&system) { cpu } else { task };
                let instant = Instant {
                    task,
                    system: system.to_string(),
                    event: event.to_string(),
                    ts: record.ts,
                    fields,
                };
                match edge(event) {
                    Some((Edge::Begin, stem)) => {
                        let name = match record.text("name") {
                            Some(name) => format!("{stem} {name}"),
                            None => stem.clone(),
                        };
                        let name = match (event, record.number("id")) {
                            ("sys_enter", Some(id)) => format!("system call {id}"),
                            _ => name,
                        };
                        let slice = OpenSlice {
                            stem: format!("{system}:{stem}"),
                            name,
                            event: instant,
                        };
                        self.begin(track, slice)
                    }
                    Some((Edge::End, stem)) => {
                        self.end(track, &format!("{system}:{stem}"), &instant)
                    }
                    None => self.instant(&instant),
                }
            }
        }
    }

    /// Writes what has no end, the names of tracks and the end.
    fn finish(mut self: Box<Self>) -> Result<Written> {
        for lost in std::mem::take(&mut self.begun).into_values().flatten() {
            self.instant(&lost.event)?;
        }
        let slices = self.written;
        self.put(
            &json!({"ph": "M", "name": "process_name", "pid": CPUS, "args": {"name": "CPUs"}}),
        )?;
        for ((pid, tid), name) in std::mem::take(&mut self.names) {
            self.put(&json!({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}))?;
            if pid == tid {
                self.put(
                    &json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}),
                )?;
            }
        }
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()?;
        Ok(Written {
            events: slices,
            lost: self.lost,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(lines: &[&str]) -> Vec<Value> {
        let mut bytes = Vec::new();
        let mut list = EventList::new(&mut bytes).expect("a list");
        for line in lines {
            let record = Record::of(line).expect(line);
            list.add(&record).expect(line);
        }
        Box::new(list).finish().expect("the end");
        let value: Value = serde_json::from_slice(&bytes).expect("JSON");
        value["traceEvents"].as_array().expect("a list").clone()
    }

    fn event(cpu: u32, ts: u64, event: &str, fields: &str) -> String {
        let (system, event) = event.split_once(':').expect("a system");
        format!(
            r#"{{"cpu":{cpu},"ts":{ts},"comm":"sh","pid":7,"tgid":5,"flags":".","system":"{system}","event":"{event}","fields":{fields}}}"#
        )
    }

    fn slices(events: &[Value]) -> Vec<(String, f64, f64)> {
        let is_slice = |event: &&Value| event["ph"] == "X";
        let slice = |event: &Value| {
            let name = event["name"].as_str().expect("a name").to_string();
            (
                name,
                event["ts"].as_f64().expect("ts"),
                event["dur"].as_f64().expect("dur"),
            )
        };
        events.iter().filter(is_slice).map(slice).collect()
    }

    #[test]
    fn a_task_is_a_slice_of_its_cpu_from_switch_to_switch() {
        let on = event(
            1,
            2000,
            "sched:sched_switch",
            r#"{"prev_pid":0,"next_comm":"ls","next_pid":9}"#,
        );
        let off = event(
            1,
            5500,
            "sched:sched_switch",
            r#"{"prev_comm":"ls","prev_pid":9,"next_comm":"swapper/1","next_pid":0}"#,
        );
        let on_again = event(
            1,
            9000,
            "sched:sched_switch",
            r#"{"prev_pid":0,"next_comm":"ls","next_pid":9}"#,
        );
        let events = converted(&[&on, &off, &on_again]);
        assert_eq!(slices(&events), [("ls [9]".to_string(), 2.0, 3.5)]);
        let named = events
            .iter()
            .find(|e| e["ph"] == "M" && e["tid"] == 1 && e["pid"] == CPUS);
        assert_eq!(named.expect("a name")["args"]["name"], "CPU 1");
    }

    /// The names of the instants, in the order of time.
    fn instants(events: &[Value]) -> Vec<&str> {
        let mut all: Vec<&Value> = events.iter().filter(|event| event["ph"] == "i").collect();
        all.sort_by(|a, b| a["ts"].as_f64().partial_cmp(&b["ts"].as_f64()).expect("ts"));
        all.iter()
            .map(|event| event["name"].as_str().expect("a name"))
            .collect()
    }

    #[test]
    fn no_event_is_missing_for_its_name() {
        let mut lines = vec![
            event(0, 1000, "sched:sched_process_exit", r#"{"pid":7}"#),
            event(0, 2000, "timer:hrtimer_expire_entry", "{}"),
            event(0, 2100, "timer:hrtimer_start", "{}"),
            event(0, 2900, "timer:hrtimer_expire_exit", "{}"),
            event(0, 3000, "syscalls:sys_enter_exit_group", "{}"),
        ];
        let starts = 2 * DEEPEST as u64;
        lines.extend((0..starts).map(|n| event(0, 4000 + n, "timer:timer_start", "{}")));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let events = converted(&lines);
        assert_eq!(slices(&events), [("hrtimer_expire".to_string(), 2.0, 0.9)]);
        let all = instants(&events);
        assert_eq!(
            all[..3],
            [
                "sched_process_exit",
                "hrtimer_start",
                "sys_enter_exit_group"
            ]
        );
        assert_eq!(all[3..], vec!["timer_start"; 2 * DEEPEST]);
    }

    #[test]
    fn what_calls_itself_is_a_slice_in_a_slice() {
        let lines = [
            event(0, 1000, "a:walk_enter", "{}"),
            event(0, 2000, "a:walk_enter", "{}"),
            event(0, 3000, "a:walk_exit", "{}"),
            event(0, 5000, "a:walk_exit", "{}"),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let expected = [
            ("walk".to_string(), 2.0, 1.0),
            ("walk".to_string(), 1.0, 4.0),
        ];
        assert_eq!(slices(&converted(&lines)), expected);
    }

    #[test]
    fn beginnings_and_ends_are_slices_and_halves_are_instants() {
        let lines = [
            event(0, 1000, "raw_syscalls:sys_enter", r#"{"id":1}"#),
            event(
                0,
                1500,
                "irq:irq_handler_entry",
                r#"{"irq":4,"name":"ttyS0"}"#,
            ),
            event(0, 1600, "irq:softirq_entry", r#"{"vec":1}"#),
            event(0, 1700, "irq:irq_handler_exit", r#"{"irq":4,"ret":1}"#),
            event(0, 3000, "raw_syscalls:sys_exit", r#"{"id":1,"ret":0}"#),
            event(0, 3100, "raw_syscalls:sys_exit", r#"{"id":1,"ret":0}"#),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let events = converted(&lines);
        assert_eq!(
            slices(&events),
            [
                ("irq_handler ttyS0".to_string(), 1.5, 0.2),
                ("system call 1".to_string(), 1.0, 2.0),
            ]
        );
        assert_eq!(instants(&events), ["softirq_entry", "sys_exit"]);
        let call = events
            .iter()
            .find(|e| e["name"] == "system call 1")
            .expect("a call");
        assert_eq!((&call["pid"], &call["tid"]), (&json!(5), &json!(7)));
    }

    #[test]
    fn other_events_are_instants_and_calls_have_their_own_times() {
        let wake = event(0, 1000, "sched:sched_waking", r#"{"pid":3}"#);
        let call = event(
            0,
            9000,
            "ftrace:funcgraph_exit",
            r#"{"func":"vfs_read+0x4/0x40","depth":0,"calltime":4000,"rettime":8000}"#,
        );
        let events = converted(&[&wake, &call, r#"{"cpu":0,"lost":3}"#]);
        assert_eq!(slices(&events), [("vfs_read".to_string(), 4.0, 4.0)]);
        let instant = events.iter().find(|e| e["ph"] == "i").expect("an instant");
        assert_eq!(
            (&instant["name"], &instant["args"]["pid"]),
            (&json!("sched_waking"), &json!(3))
        );
    }

    #[test]
    fn nothing_is_an_empty_trace() {
        assert_eq!(converted(&[]).len(), 1);
    }
}
