// SPDX-License-Identifier: GPL-2.0
//! What users read: texts made of arbitrary names, records and numbers.

use std::fmt::{
    self,
    Write, //
};

use super::source::Source;
use crate::ring::violation::Violation;
use crate::text::{
    builtin,
    clock::ClockId,
    cmdlines,
    form::{
        self,
        Form, //
    },
    header::Header,
    latency::{LatencyHead, Machine},
    line,
    options::{
        Opt,
        OptionSet, //
    },
    stats::{
        BreakReason,
        CpuStats, //
    },
    time::Seconds,
    writer::ByteWrite, //
};

/// A sink with limited room.
struct Sink {
    bytes: Vec<u8>,
    room: usize,
}

impl Write for Sink {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write_bytes(text.as_bytes())
    }
}

impl ByteWrite for Sink {
    fn write_bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        if bytes.len() > self.room - self.bytes.len() {
            return Err(fmt::Error);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

/// Prints into a sink that is large enough, and into one that is not: then the error comes back.
pub(super) fn print(
    source: &mut Source,
    bound: usize,
    printer: impl Fn(&mut dyn ByteWrite) -> fmt::Result,
) -> Vec<u8> {
    let mut sink = Sink {
        bytes: vec![],
        room: bound,
    };
    printer(&mut sink).expect("the text is longer than it can be");
    let whole = sink.bytes;

    if !whole.is_empty() {
        let mut small = Sink {
            bytes: vec![],
            room: source.below(whole.len()),
        };
        assert_eq!(printer(&mut small), Err(fmt::Error));
        assert!(whole.starts_with(&small.bytes));
    }
    whole
}

/// The name of a task: anything that `prctl` takes, and what no task can have.
fn comm(source: &mut Source) -> Vec<u8> {
    const PARTS: &[&str] = &["kworker/0:1", "%n%s", "\n", "\0", " ", "\x1b[31m", "\u{e9}"];

    source.pieces(PARTS, 4)
}

fn until_nul(bytes: &[u8]) -> Vec<u8> {
    bytes
        .iter()
        .copied()
        .take_while(|byte| *byte != 0)
        .collect()
}

pub fn cmdlines(source: &mut Source) {
    let (pid, comm) = (source.number() as i32, comm(source));
    let found = print(source, comm.len() + 13, |out| {
        cmdlines::write_line(pid, &comm, out)
    });
    let mut wanted = format!("{pid} ").into_bytes();

    wanted.extend(until_nul(&comm));
    wanted.push(b'\n');
    assert_eq!(found, wanted);
}

pub fn line_prefixes(source: &mut Source) {
    let comm = comm(source);
    let (pid, cpu, stamp) = (
        source.number() as i32,
        source.number() as u32,
        source.number(),
    );
    let columns = (!source.once_in(3)).then_some(*b"dNs1.");
    let tgid = source.once_in(2).then(|| source.number() as u32);
    let clock = *source.pick(ClockId::ALL);
    let prefix = line::Prefix {
        comm: &comm,
        pid,
        tgid,
        cpu,
        columns,
        stamp,
        clock,
    };
    let found = print(source, comm.len() + 93, |out| prefix.write_text(out));
    let mut wanted = vec![b' '; 16usize.saturating_sub(comm.len())];

    wanted.extend(&comm);
    wanted.extend(format!("-{pid:<7} ").bytes());
    match tgid {
        None => {}
        Some(0) => wanted.extend(b"(-------) "),
        Some(tgid) => wanted.extend(format!("({tgid:7}) ").bytes()),
    }
    wanted.extend(format!("[{cpu:03}] ").bytes());
    wanted.extend(columns.iter().flatten());
    let time = match clock.in_ns() {
        true => {
            let us = stamp.saturating_add(500) / 1000;
            format!("{:5}.{:06}", us / 1_000_000, us % 1_000_000)
        }
        false => format!("{stamp:12}"),
    };
    wanted.extend(format!(" {time}: ").bytes());
    assert_eq!(found, wanted);
}

pub fn single_lines(source: &mut Source) {
    let (cpu, events) = (source.number() as u32, source.number());
    let lost = print(source, 60, |out| line::write_lost(cpu, events, out));
    let wanted = format!("CPU:{cpu} [LOST {events} EVENTS]\n");
    let wanted = if events == 0 { "" } else { &wanted };
    assert_eq!(lost, wanted.as_bytes());

    let started = print(source, 60, |out| line::write_buffer_started(cpu, out));
    assert_eq!(
        started,
        format!("##### CPU {cpu} buffer started ####\n").as_bytes()
    );
    let unknown = print(source, 60, |out| {
        form::write_unknown(Form::Text, cpu as u16, out)
    });
    assert_eq!(unknown, format!("Unknown type {}\n", cpu as u16).as_bytes());
}

/// The numbers in a text, in their order.
fn numbers_in(text: &str) -> Vec<u64> {
    text.split(|byte: char| !byte.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().unwrap())
        .collect()
}

pub fn headers(source: &mut Source) {
    let options = OptionSet::from_bits(source.next());
    let header = Header {
        tracer: "T",
        entries: source.number(),
        written: source.number(),
        machine: Machine {
            release: "R",
            preemption: "M",
            online_cpus: source.number() as u32,
        },
        head: LatencyHead {
            latency: source.number(),
            cpu: source.number() as u32,
            comm: b"sh",
            pid: source.number() as i32 & i32::MAX,
            uid: source.number() as u32 >> 1,
            nice: source.number() as i32 & 15,
            policy: source.number() as u32,
            rt_priority: source.number() as u32,
            places: None,
        },
        options,
        latency: source.once_in(2),
        empty: source.once_in(2),
        calls: None,
        columns: None,
    };
    let found = print(source, 1500, |mut out| header.write_text(&mut out));
    let text = String::from_utf8(found).unwrap();

    assert!(text.lines().all(|line| line.starts_with('#')));
    assert!(text.ends_with('\n'));
    let (entries, written) = (header.entries, header.written);
    let cpus = u64::from(header.machine.online_cpus);
    let head = &header.head;
    let of_task = [head.pid as u32, head.uid, head.nice as u32];
    let of_policy = [head.policy, head.rt_priority];
    let numbers = match (header.latency, options.has(Opt::ContextInfo)) {
        (true, true) if !header.empty => {
            let cpu = u64::from(head.cpu);
            let mut all = vec![1, 1, 5, head.latency, entries, written, cpu];
            all.extend([0, 0, 0, 0, cpus]);
            all.extend(of_task.into_iter().chain(of_policy).map(u64::from));
            all
        }
        (false, true) if !options.has(Opt::Verbose) => vec![entries, written, cpus],
        _ => vec![],
    };
    assert_eq!(numbers_in(&text), numbers);
}

pub fn stats(source: &mut Source) {
    let refused = source.once_in(4).then(|| source.number());
    let mut number = || source.number();
    let stats = CpuStats {
        entries: number(),
        overrun: number(),
        commit_overrun: number(),
        bytes: number(),
        oldest_ts: number(),
        now_ts: number(),
        dropped: number(),
        read: number(),
        broken: refused.map(|refused| BreakReason {
            violation: Violation::Place,
            refused,
        }),
    };
    let found = print(source, 500, |mut out| {
        stats.write_text(ClockId::Counter, &mut out)
    });
    let text = String::from_utf8(found).unwrap();
    let mut wanted = vec![
        stats.entries,
        stats.overrun,
        stats.commit_overrun,
        stats.bytes,
        stats.oldest_ts,
        stats.now_ts,
        stats.dropped,
        stats.read,
    ];

    assert_eq!(text.lines().count(), 8 + refused.iter().count());
    // Place is invariant 7.
    wanted.extend(refused.iter().flat_map(|refused| [7, *refused]));
    assert_eq!(numbers_in(&text), wanted);
}

pub fn markers(source: &mut Source) {
    let mut record = source.pieces(&["\0", "%s%n", "hello", "\n", "\x1b["], 12);
    if source.once_in(2) {
        record.splice(0..0, [5; 16]);
    }
    let address = record
        .get(8..16)
        .map(|bytes| u64::from_ne_bytes(bytes.try_into().unwrap()));
    let text = until_nul(record.get(16..).unwrap_or_default());
    assert_eq!(builtin::marker_text(&record), text);

    let found = print(source, record.len() + 40, |out| {
        builtin::write_raw_marker(&record, out)
    });
    let mut wanted = format!("# {:x} ", address.unwrap_or(0)).into_bytes();

    wanted.extend(text);
    assert_eq!(found, wanted);
    assert_eq!(builtin::marker_address(&record), address);
}

pub fn binary_markers(source: &mut Source) {
    let record = source.bytes(40);
    let found = print(source, record.len() * 3 + 40, |out| {
        builtin::write_raw_data(&record, out)
    });
    let number = match record.get(8..12) {
        Some(bytes) => u32::from_ne_bytes(bytes.try_into().unwrap()),
        None => 0,
    };
    let mut wanted = format!("# {number:x} buf:");

    for byte in record.iter().skip(12) {
        wanted += &format!(" {byte:02x}");
    }
    assert_eq!(found, format!("{wanted}\n").as_bytes());
}

pub fn seconds(source: &mut Source) {
    let ns = source.number();
    let text = Seconds(ns).to_string();
    let (seconds, fraction) = text.split_once('.').unwrap();

    assert!(text.len() >= 12 && fraction.len() == 6, "{text:?}");
    let us: u64 =
        seconds.trim_start().parse::<u64>().unwrap() * 1_000_000 + fraction.parse::<u64>().unwrap();
    assert_eq!(us, ns.saturating_add(500) / 1000);
}
