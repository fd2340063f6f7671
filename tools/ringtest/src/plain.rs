// SPDX-License-Identifier: GPL-2.0
//! A second decoder of sub-buffers, as a stranger would write it from the description of the format.
//!
//! It shares no line with `ring::wire` and `ring::cursor`, and it is stricter: whatever a correct
//! writer does not leave is a panic. The tests decode with both and compare.

/// Bits of a time record.
const STAMP: u64 = (1 << 59) - 1;

/// One event: its time, where its record begins and where its payload lies.
#[derive(Debug, PartialEq, Eq)]
pub struct Plain {
    pub time: u64,
    pub payload: Vec<u8>,
    pub next: usize,
}

fn word(data: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(data[at..at + 4].try_into().unwrap())
}

/// All events of `data` from `from` on, where the time so far is `time`.
pub fn decode(data: &[u8], from: usize, mut time: u64) -> Vec<Plain> {
    let mut events = Vec::new();
    let mut at = from;
    while at < data.len() {
        let head = word(data, at);
        let (kind, delta) = (head & 31, u64::from(head >> 5));
        let (payload, len) = match kind {
            29 => {
                assert_ne!(delta, 0, "the writer leaves no unused end");
                at += word(data, at + 4) as usize + 4;
                assert_eq!(word(data, at) & 31, 31, "padding without a time behind it");
                continue;
            }
            30 | 31 => {
                let value = u64::from(word(data, at + 4)) << 27 | delta;
                if kind == 30 {
                    time += value;
                } else {
                    let old = time;
                    time = time & !STAMP | value;
                    if time < old && old - time > STAMP / 2 {
                        time += STAMP + 1;
                    }
                }
                at += 8;
                continue;
            }
            0 => (at + 8, word(data, at + 4) as usize - 4),
            words => (at + 4, words as usize * 4),
        };
        assert!(len == 4 || len >= 12, "an event of {len} bytes");
        time += delta;
        at = payload + len;
        events.push(Plain {
            time,
            payload: data[payload..at].to_vec(),
            next: at,
        });
    }
    assert_eq!(at, data.len(), "the last record is cut");
    events
}

/// An image as `read()` of a raw file gives it: stamp, data, and what the flags say about loss.
pub struct Image<'a> {
    pub stamp: u64,
    pub data: &'a [u8],
    pub missed: bool,
    pub missed_count: Option<u64>,
}

/// Takes an image apart and checks that nothing but data and the count is in it.
pub fn image(bytes: &[u8]) -> Image<'_> {
    let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
    let commit = long(8);
    let end = 16 + (commit & 0x3fff_ffff) as usize;
    assert_eq!(commit >> 32, 0, "unknown flags");
    let (missed, stored) = (commit & 1 << 31 != 0, commit & 1 << 30 != 0);
    assert!(missed || !stored, "a count of nothing");
    assert_eq!(
        stored,
        missed && end + 8 <= bytes.len(),
        "a count where it fits"
    );
    let rest = if stored { end + 8 } else { end };
    assert!(
        bytes[rest..].iter().all(|b| *b == 0),
        "old bytes in an image"
    );
    Image {
        stamp: long(0),
        data: &bytes[16..end],
        missed,
        missed_count: stored.then(|| long(end)),
    }
}
