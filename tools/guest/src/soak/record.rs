// SPDX-License-Identifier: GPL-2.0

//! One event of the long run, from a page or from a line, checked word by word.

use crate::check::Check;

/// Instances that are written to directly; the stream after them is the tracepoint's.
pub const RINGS: usize = 3;
pub const STREAMS: usize = RINGS + 1;
pub const CONTEXTS: [&str; 4] = ["task", "softirq", "hardirq", "nmi"];

/// The last of them.
pub const NMI: usize = 3;

const MAGIC: u32 = 0xa5;
/// Bytes of a record before the payload, and of the payload before its filling.
const COMMON: usize = 8;
const HEAD: usize = 12;

const FLAG_HARDIRQ: u8 = 0x08;
const FLAG_SOFTIRQ: u8 = 0x10;
const FLAG_NMI: u8 = 0x40;

/// An event that is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub cpu: usize,
    pub stream: usize,
    pub context: usize,
    /// Of its context, stream and CPU, from 0.
    pub number: u32,
}

pub fn sum(who: u32, number: u32) -> u32 {
    (who ^ 0x9e37_79b9)
        .wrapping_mul(0x85eb_ca6b)
        .wrapping_add(number.wrapping_mul(0xc2b2_ae35))
}

fn check(words: &[u32]) -> Result<Event, String> {
    let [who, number, found, fill @ ..] = words else {
        fail!("{} words", words.len())
    };
    let event = Event {
        cpu: (who >> 8 & 0xff) as usize,
        stream: (who >> 4 & 0xf) as usize,
        context: (who & 0xf) as usize,
        number: *number,
    };
    ensure_eq!(who >> 24, MAGIC, "magic");
    ensure!(
        event.stream < STREAMS && event.context < CONTEXTS.len(),
        "{event:?}"
    );
    ensure_eq!(*found, sum(*who, *number), "{event:?}: sum");
    ensure_eq!(
        fill.len(),
        (who >> 16 & 0xff) as usize,
        "{event:?}: words behind the sum"
    );
    for (i, word) in (1..).zip(fill) {
        ensure_eq!(*word, found ^ i, "{event:?}: word {i}");
    }
    Ok(event)
}

/// Returns the event in a record of a page of `cpu`.
pub fn of_record(cpu: usize, record: &[u8]) -> Check<Event> {
    let bad = |problem| format!("cpu {cpu}: {problem} in {record:02x?}");
    let mut words = [0; 8];
    let payload = record.get(COMMON..).unwrap_or_default();
    let count = payload.len() / 4;
    if payload.len() % 4 != 0 || payload.len() < HEAD || count > words.len() {
        return Err(bad("not a payload".to_string()));
    }
    for (word, bytes) in words.iter_mut().zip(payload.chunks_exact(4)) {
        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    let event = check(&words[..count]).map_err(bad)?;
    if event.cpu != cpu {
        return Err(bad("another cpu".to_string()));
    }
    let flags = record[2];
    let level = match flags {
        _ if flags & FLAG_NMI != 0 => 3,
        _ if flags & FLAG_HARDIRQ != 0 => 2,
        _ if flags & FLAG_SOFTIRQ != 0 => 1,
        _ => 0,
    };
    if event.context != level {
        return Err(bad(format!("flags of {}", CONTEXTS[level])));
    }
    Ok(event)
}

/// What a line of `trace` or `trace_pipe` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    Event(Event),
    /// So many events of a CPU were lost.
    Lost(usize, u64),
    /// A line of the file's head.
    Comment,
}

/// A line without its newline.
pub fn of_line(line: &str) -> Check<Line> {
    parse(line).map_err(|problem| format!("{problem} in {line:?}"))
}

fn parse(line: &str) -> Result<Line, String> {
    if line.starts_with('#') {
        return Ok(Line::Comment);
    }
    if let Some(rest) = line.strip_prefix("CPU:") {
        let (cpu, rest) = rest.split_once(" [LOST ").ok_or("no loss")?;
        let count = rest.strip_suffix(" EVENTS]").ok_or("no count")?;
        let lost = (cpu.parse(), count.parse());
        let (Ok(cpu), Ok(count)) = lost else {
            fail!("no numbers")
        };
        return Ok(Line::Lost(cpu, count));
    }
    let (_, rest) = line.split_once(" [").ok_or("no cpu")?;
    let (cpu, rest) = rest.split_once("] ").ok_or("no cpu")?;
    let (_, rest) = rest.split_once(": ").ok_or("no stamp")?;
    let mut words = [0; 8];
    let mut count = 0;
    if let Some(fields) = rest.strip_prefix("rtsoak_event: ") {
        for (word, field) in words.iter_mut().zip(fields.split(' ')) {
            *word = u32::from_str_radix(field, 16).map_err(|e| e.to_string())?;
            count += 1;
        }
    } else {
        let rest = rest.strip_prefix("# ").ok_or("another event")?;
        let (number, rest) = rest.split_once(" buf: ").ok_or("no bytes")?;
        words[0] = u32::from_str_radix(number, 16).map_err(|e| e.to_string())?;
        let mut bytes = 0;
        for byte in rest.split(' ') {
            let byte = u8::from_str_radix(byte, 16).map_err(|e| e.to_string())?;
            let word = words.get_mut(1 + bytes / 4).ok_or("too long")?;
            *word |= u32::from(byte) << (8 * (bytes % 4));
            bytes += 1;
        }
        count = 1 + bytes / 4;
    }
    let event = check(&words[..count])?;
    ensure_eq!(cpu.parse(), Ok(event.cpu), "cpu");
    Ok(Line::Event(event))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: Event = Event {
        cpu: 1,
        stream: 3,
        context: 2,
        number: 7,
    };

    #[test]
    fn lines() {
        let who = MAGIC << 24 | 0x132;
        let line = |sum: u32| format!("  x-1 [001] d.h1. 1.2: rtsoak_event: {who:x} 7 {sum:x}");
        assert_eq!(of_line(&line(sum(who, 7))), Ok(Line::Event(EVENT)));
        assert!(of_line(&line(sum(who, 7) + 1)).is_err());
        assert!(of_line(&line(sum(who, 8))).is_err());
        assert_eq!(of_line("CPU:1 [LOST 5 EVENTS]"), Ok(Line::Lost(1, 5)));

        let who = MAGIC << 24 | 1 << 16 | 0x100;
        let bytes: Vec<String> = [9, sum(who, 9), sum(who, 9) ^ 1]
            .iter()
            .flat_map(|word: &u32| word.to_le_bytes())
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let line = format!("x-1 [001] ..... 1.2: # {who:x} buf: {}", bytes.join(" "));
        assert!(matches!(
            of_line(&line),
            Ok(Line::Event(Event { number: 9, .. }))
        ));
        assert!(of_line(&line[..line.len() - 3]).is_err());
    }

    #[test]
    fn records() {
        let who = MAGIC << 24 | 0x132;
        let bytes = |flags: u8, number: u32| -> Vec<u8> {
            let mut bytes = vec![5, 0, flags, 0, 0, 0, 0, 0];
            for word in [who, number, sum(who, 7)] {
                bytes.extend(word.to_le_bytes());
            }
            bytes
        };
        assert_eq!(of_record(1, &bytes(FLAG_HARDIRQ, 7)), Ok(EVENT));
        assert!(of_record(0, &bytes(FLAG_HARDIRQ, 7)).is_err());
        assert!(of_record(1, &bytes(FLAG_HARDIRQ, 8)).is_err());
        assert!(of_record(1, &bytes(0, 7)).is_err());
    }
}
