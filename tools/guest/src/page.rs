// SPDX-License-Identifier: GPL-2.0

//! Decodes a sub-buffer as `trace_pipe_raw` hands it out.
//!
//! Written from the description of the format alone and shares no line with the
//! module's decoder: two readers that agree are worth more than one used twice.

/// Bytes before the events: the stamp and the commit word.
pub const HEADER: usize = 16;

const MISSED: u32 = 1 << 31;
const MISSED_STORED: u32 = 1 << 30;

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// An absolute stamp holds 59 bits; the reader adds the rest from what it knows.
const STAMP_BITS: u32 = 59;

#[derive(Debug, PartialEq, Eq)]
pub struct Event<'a> {
    pub ts: u64,
    pub payload: &'a [u8],
}

#[derive(Debug, PartialEq, Eq)]
pub struct Page<'a> {
    pub ts: u64,
    /// Bytes of events.
    pub len: usize,
    /// Events were lost between the page before and this one.
    pub missed: bool,
    /// How many, when the page had room to say so.
    pub missed_count: Option<u64>,
    pub events: Vec<Event<'a>>,
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, String> {
    let word = bytes
        .get(at..at + 4)
        .ok_or_else(|| format!("no word at {at}"))?;
    Ok(u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, String> {
    Ok(u64::from(u32_at(bytes, at)?) | u64::from(u32_at(bytes, at + 4)?) << 32)
}

/// Decodes a whole page; any byte out of place is an error that names the offset.
pub fn decode(bytes: &[u8]) -> Result<Page<'_>, String> {
    let page_ts = u64_at(bytes, 0)?;
    let commit = u32_at(bytes, 8)?;
    let len = (commit & !(MISSED | MISSED_STORED)) as usize;
    if HEADER + len > bytes.len() {
        return Err(format!("length {len} is more than the page"));
    }
    let missed_count = match commit & MISSED_STORED {
        0 => None,
        _ => Some(u64_at(bytes, HEADER + len)?),
    };

    let data = &bytes[HEADER..HEADER + len];
    let mut events = Vec::new();
    let mut ts = page_ts;
    let mut at = 0;
    while at < len {
        let word = u32_at(data, at)?;
        let (kind, delta) = (word & 0x1f, u64::from(word >> 5));
        let (total, payload) = match kind {
            PADDING if delta == 0 => break,
            PADDING => (4 + u32_at(data, at + 4)? as usize, None),
            TIME_EXTEND | TIME_STAMP => (8, None),
            0 => {
                let length = u32_at(data, at + 4)? as usize;
                if length < 4 {
                    return Err(format!("event at {at} says that it is {length} bytes long"));
                }
                (
                    4 + length.next_multiple_of(4),
                    Some((at + 8, at + 4 + length)),
                )
            }
            words => (
                4 + 4 * words as usize,
                Some((at + 4, at + 4 + 4 * words as usize)),
            ),
        };
        match kind {
            TIME_EXTEND => ts += delta + (u64::from(u32_at(data, at + 4)?) << 27),
            TIME_STAMP => {
                let low = delta | u64::from(u32_at(data, at + 4)?) << 27;
                ts = (ts >> STAMP_BITS << STAMP_BITS) | low;
            }
            _ => ts += delta,
        }
        if let Some((from, to)) = payload {
            let payload = data
                .get(from..to)
                .ok_or_else(|| format!("event at {at} leaves the page"))?;
            events.push(Event { ts, payload });
        }
        at += total;
    }
    Ok(Page {
        ts: page_ts,
        len,
        missed: commit & MISSED != 0,
        missed_count,
        events,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(ts: u64, commit: u32, words: &[u32]) -> Vec<u8> {
        let mut bytes = ts.to_le_bytes().to_vec();
        bytes.extend(u64::from(commit).to_le_bytes());
        words
            .iter()
            .for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.resize(4096, 0);
        bytes
    }

    #[test]
    fn every_kind_of_record() {
        let words = [
            2 | 5 << 5,
            0xaaaa,
            0xbbbb, // Two words, 5 later.
            30 | 1 << 5,
            2, // 1 + 2 * 2^27 later.
            1 << 5,
            8,
            0xcccc, // Length in the first word, 1 later.
            29 | 4 << 5,
            4, // A discarded event, 4 later.
            31 | 7 << 5,
            1, // At 7 + 2^27.
            1,
            0xdddd, // One word, at once.
            29,     // The rest of the page is unused.
        ];
        let bytes = page(1000, 4 * words.len() as u32, &words);
        let page = decode(&bytes).unwrap();
        let found: Vec<_> = page
            .events
            .iter()
            .map(|e| (e.ts, e.payload.len()))
            .collect();
        assert_eq!(
            found,
            [(1005, 8), (1006 + 1 + (2 << 27), 4), (7 + (1 << 27), 4)]
        );
        assert!(!page.missed);
    }

    #[test]
    fn an_absolute_stamp_keeps_the_top_bits() {
        let bytes = page(1 << 60 | 5, 16, &[31 | 9 << 5, 0, 1, 0]);
        assert_eq!(decode(&bytes).unwrap().events[0].ts, 1 << 60 | 9);
    }

    #[test]
    fn missed_events() {
        let bytes = page(0, 8 | MISSED | MISSED_STORED, &[1, 0, 77, 0]);
        let page = decode(&bytes).unwrap();
        assert_eq!(
            (page.len, page.missed, page.missed_count),
            (8, true, Some(77))
        );
    }

    #[test]
    fn what_leaves_the_page_is_refused() {
        assert!(decode(&page(0, 4096, &[])).is_err());
        assert!(decode(&page(0, 8, &[28, 0])).is_err());
        assert!(decode(&page(0, 8, &[0, 400])).is_err());
        assert!(decode(&page(0, 8, &[0, 3])).is_err());
        assert!(decode(&[0; 8]).is_err());
    }
}
