// SPDX-License-Identifier: GPL-2.0
//! The only decoder: bytes of a sub-buffer to events with their times.
//!
//! Every reader and every check uses it, so that they cannot disagree.

use super::wire::{self, MalformedRecord, WireRecord};

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DecodedEvent<'a> {
    /// Its time.
    pub(crate) time: u64,
    /// Offset of its record.
    pub(crate) offset: usize,
    /// Offset of its payload.
    pub(crate) start: usize,
    /// Offset of the first byte after it.
    pub(crate) next: usize,
    /// The bytes that the writer stored, rounded up to 4 bytes as the wire has them.
    pub(crate) payload: &'a [u8],
}

/// Returns the event at `offset`, where the time so far is `time`, if it is of the most frequent
/// kind: only a header before the payload. For all else `None`, even for what is malformed.
#[inline(always)]
pub(crate) fn usual(data: &[u8], offset: usize, time: u64) -> Option<DecodedEvent<'_>> {
    let (header, rest) = data.get(offset..)?.split_first_chunk()?;
    let header = u32::from_ne_bytes(*header);
    let payload = rest.get(..wire::usual_payload(header)?)?;
    let start = offset.wrapping_add(size_of_val(&header));
    Some(DecodedEvent {
        time: time.wrapping_add(u64::from(header >> 5)),
        offset,
        start,
        next: start.wrapping_add(payload.len()),
        payload,
    })
}

/// A place in the data of a sub-buffer.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    data: &'a [u8],
    offset: usize,
    time: u64,
}

impl<'a> Cursor<'a> {
    /// Returns a cursor at the start of `data` (without the header), which begins at `stamp`.
    #[cfg(test)]
    pub(crate) fn new(data: &'a [u8], stamp: u64) -> Self {
        Self::at(data, 0, stamp)
    }

    /// Returns a cursor at `offset`, where the time so far is `time`.
    pub(crate) fn at(data: &'a [u8], offset: usize, time: u64) -> Self {
        Self { data, offset, time }
    }

    /// Returns the offset where the next record starts.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the time so far.
    pub(crate) fn time(&self) -> u64 {
        self.time
    }

    /// Goes past the next event, of any kind, and the records before it; returns the event.
    #[inline(never)]
    fn any(&mut self) -> Option<Result<DecodedEvent<'a>, MalformedRecord>> {
        while self.offset < self.data.len() {
            let offset = self.offset;
            let (record, size) = match wire::record(self.data, offset) {
                Ok(r) => r,
                Err(e) => {
                    self.offset = self.data.len();
                    return Some(Err(e));
                }
            };
            self.offset = offset.saturating_add(size);
            match record {
                // Its delta says only that more follows: first of all its own time.
                WireRecord::Padding => {}
                WireRecord::Extend { delta } => self.time = self.time.wrapping_add(delta),
                WireRecord::Stamp { low } => self.time = self.absolute(low),
                WireRecord::End => return None,
                WireRecord::Data {
                    delta,
                    payload,
                    len,
                } => {
                    self.time = self.time.wrapping_add(delta);
                    let start = offset.saturating_add(payload);
                    let Some(payload) = self.data.get(start..start.saturating_add(len)) else {
                        self.offset = self.data.len();
                        return Some(Err(MalformedRecord));
                    };
                    return Some(Ok(DecodedEvent {
                        time: self.time,
                        offset,
                        start,
                        next: self.offset,
                        payload,
                    }));
                }
            }
        }
        None
    }

    /// Returns the time whose low bits are `low`, not before the time so far: restores what a
    /// [`wire::TIME_STAMP`] had no room for.
    fn absolute(&self, low: u64) -> u64 {
        let time = (self.time & !wire::STAMP_MAX) | low;
        if time < self.time && self.time.wrapping_sub(time) > wire::STAMP_MAX / 2 {
            return time.wrapping_add(wire::STAMP_MAX).wrapping_add(1);
        }
        time
    }
}

impl<'a> Iterator for Cursor<'a> {
    type Item = Result<DecodedEvent<'a>, MalformedRecord>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match usual(self.data, self.offset, self.time) {
            Some(event) => {
                self.offset = event.next;
                self.time = event.time;
                Some(Ok(event))
            }
            None => self.any(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(w: &[u32]) -> Vec<u8> {
        w.iter().flat_map(|w| w.to_ne_bytes()).collect()
    }

    fn times(data: &[u8], stamp: u64) -> Vec<u64> {
        Cursor::new(data, stamp).map(|e| e.unwrap().time).collect()
    }

    #[test]
    fn deltas_extends_and_stamps_add_up() {
        let [x0, x1] = wire::time_record(wire::TIME_EXTEND, 1 << 30);
        let [s0, s1] = wire::time_record(wire::TIME_STAMP, 5_000_000_000);
        let data = words(&[
            wire::header(1, 0),
            7,
            x0,
            x1,
            wire::header(1, 0),
            8,
            s0,
            s1,
            wire::header(1, 0),
            9,
            wire::header(1, 3),
            10,
        ]);
        assert_eq!(
            times(&data, 100),
            [100, 100 + (1 << 30), 5_000_000_000, 5_000_000_003]
        );
    }

    #[test]
    fn a_discarded_event_leaves_the_time_chain_exact() {
        // The writer leaves PADDING and the discarded event's own time.
        let [p0, p1] = wire::padding(12);
        let [s0, s1] = wire::time_record(wire::TIME_STAMP, 1050);
        let data = words(&[p0, p1, 0, s0, s1, wire::header(1, 10), 1]);
        assert_eq!(times(&data, 1000), [1060]);
    }

    #[test]
    fn padding_does_not_carry_into_the_upper_bits() {
        let [p0, p1] = wire::padding(8);
        let [s0, s1] = wire::time_record(wire::TIME_STAMP, wire::STAMP_MAX);
        let data = words(&[p0, p1, s0, s1, wire::header(1, 0), 1]);
        assert_eq!(times(&data, wire::STAMP_MAX), [wire::STAMP_MAX]);
    }

    #[test]
    fn stamps_get_their_upper_bits_back() {
        let base = 3 << wire::STAMP_BITS;
        let [s0, s1] = wire::time_record(wire::TIME_STAMP, 5);
        let data = words(&[s0, s1, wire::header(1, 0), 1]);
        assert_eq!(times(&data, base | 4), [base | 5]);
        // The low bits wrapped since the sub-buffer began.
        assert_eq!(
            times(&data, base | (wire::STAMP_MAX - 1)),
            [(4 << wire::STAMP_BITS) | 5]
        );
    }

    #[test]
    fn padding_at_the_end_ends() {
        let data = words(&[wire::header(1, 0), 1, wire::header(wire::PADDING, 0), 99]);
        assert_eq!(times(&data, 1), [1]);
    }

    #[test]
    fn malformed_data_is_reported_once() {
        let data = words(&[wire::header(4, 0), 1]);
        let mut c = Cursor::new(&data, 0);
        assert_eq!(c.next(), Some(Err(MalformedRecord)));
        assert_eq!(c.next(), None);
    }
}
