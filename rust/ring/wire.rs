// SPDX-License-Identifier: GPL-2.0
//! The bytes that ftrace's readers know: event headers, time records, sub-buffer header.
//!
//! Pure arithmetic on numbers and slices; every writer, reader and tool goes through here.

/// Bytes before the first event of a sub-buffer: `u64 time_stamp`, `u64 commit`.
pub(crate) const HEADER: usize = 16;
/// Offset in it of the stamp.
pub(crate) const STAMP_AT: usize = 0;
/// Offset in it of `commit`: the length of the data, and flags.
pub(crate) const LENGTH_AT: usize = 8;
/// Bit of `commit`: events were lost before this sub-buffer.
pub(crate) const MISSED_EVENTS: u64 = 1 << 31;
/// Bit of `commit`: the number of lost events follows the data as a `u64`.
pub(crate) const MISSED_STORED: u64 = 1 << 30;
/// Bits of `commit` that hold the length of the data.
pub(crate) const LENGTH_MASK: u64 = MISSED_STORED - 1;

/// Bits of `type_len` in an event header.
pub(crate) const TYPE_LEN: u32 = 31;
/// `type_len` of a discarded event or of the unused end of a sub-buffer.
pub(crate) const PADDING: u32 = 29;
/// `type_len` of a record that adds a long delta.
pub(crate) const TIME_EXTEND: u32 = 30;
/// `type_len` of a record that sets the time.
pub(crate) const TIME_STAMP: u32 = 31;
/// Largest payload whose length fits `type_len`.
const SMALL: usize = 28 * 4;

/// Bits of a delta in an event header.
pub(crate) const DELTA_BITS: u32 = 27;
/// Largest delta in an event header.
pub(crate) const DELTA_MAX: u64 = (1 << DELTA_BITS) - 1;
/// Bits that a time record holds: the header's 27 and one more word.
pub(crate) const STAMP_BITS: u32 = DELTA_BITS + 32;
/// Largest value of a time record.
pub(crate) const STAMP_MAX: u64 = (1 << STAMP_BITS) - 1;
/// Bytes of a time record.
pub(crate) const STAMP_SIZE: u32 = 8;

/// Returns an event header word.
#[inline(always)]
pub(crate) const fn header(type_len: u32, delta: u32) -> u32 {
    // A sum, which the compiler makes one instruction.
    (delta << TYPE_LEN.trailing_ones()).wrapping_add(type_len)
}

/// Returns the delta in a header.
#[inline(always)]
pub(crate) const fn delta_of(header: u32) -> u32 {
    header >> TYPE_LEN.trailing_ones()
}

/// Returns the two words of a time record ([`TIME_EXTEND`] or [`TIME_STAMP`]).
#[inline(always)]
pub(crate) const fn time_record(type_len: u32, value: u64) -> [u32; 2] {
    [
        header(type_len, (value & DELTA_MAX) as u32),
        (value >> DELTA_BITS) as u32,
    ]
}

/// Returns the two leading words of a discarded event of `total` bytes (at least 8).
///
/// The delta is 1, because 0 would mean that the rest of the sub-buffer is empty. Decoders disagree
/// whether it counts, so the writer always puts a [`TIME_STAMP`] after it.
#[inline(always)]
pub(crate) const fn padding(total: u32) -> [u32; 2] {
    [header(PADDING, 1), total.wrapping_sub(4)]
}

/// Size of an event in the ring, without a leading time record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventSize {
    /// Bytes, header included: 8, or a multiple of 4 from 16 up.
    pub(crate) total: u32,
    /// 1..=28, or 0 when the length is in the word after the header.
    pub(crate) type_len: u32,
}

impl EventSize {
    /// Returns the size for `payload` bytes; `None` when it cannot fit in `capacity` bytes.
    ///
    /// A total of 12 is widened to 16: a discarded event must have room for a time record beside
    /// its padding.
    #[inline(always)]
    pub(crate) const fn new(payload: usize, capacity: u32) -> Option<Self> {
        if payload > capacity as usize {
            return None;
        }
        let payload = payload as u32;
        let words = payload.wrapping_add(3) >> 2;
        let size = if payload > SMALL as u32 {
            Self {
                total: (words << 2).wrapping_add(8),
                type_len: 0,
            }
        } else if words < 2 {
            Self {
                total: 8,
                type_len: 1,
            }
        } else if words == 2 {
            Self {
                total: 16,
                type_len: 3,
            }
        } else {
            Self {
                total: (words << 2).wrapping_add(4),
                type_len: words,
            }
        };
        if size.total > capacity {
            return None;
        }
        Some(size)
    }

    /// Returns the most bytes of payload that fit in `capacity` bytes, which is a multiple of 4.
    pub(crate) const fn longest(capacity: u32) -> usize {
        capacity.saturating_sub(8) as usize
    }

    /// Returns the size for `payload` bytes, as [`Self::new`] does, if they are as most events
    /// have: more than 8, but few enough that `type_len` holds the length.
    #[inline(always)]
    pub(crate) const fn usual(payload: usize) -> Option<Self> {
        if payload.wrapping_sub(9) > SMALL - 9 {
            return None;
        }
        let words = (payload as u32).wrapping_add(3) >> 2;
        Some(Self {
            total: words.wrapping_add(1) << 2,
            type_len: words,
        })
    }

    /// Returns its 4-byte words after the header.
    #[inline(always)]
    pub(crate) const fn words(self) -> u64 {
        (self.total >> 2).wrapping_sub(1) as u64
    }

    /// Returns the word after the header when `type_len` is 0: the bytes of the payload and of this
    /// word itself.
    #[inline(always)]
    pub(crate) const fn length_word(self) -> u32 {
        self.total.wrapping_sub(4)
    }

    /// Returns whether `payload` bytes are more than `type_len` can tell.
    #[inline(always)]
    pub(crate) const fn is_long(payload: usize) -> bool {
        payload > SMALL
    }
}

/// Returns what [`EventSize::words`] is for `payload` bytes that are long, whatever their number.
#[inline(always)]
pub(crate) const fn long_words(payload: usize) -> u64 {
    ((payload as u64).saturating_add(3) >> 2).wrapping_add(1)
}

/// Returns [`EventSize::length_word`] of a long event that has so many [`EventSize::words`].
#[inline(always)]
pub(crate) const fn length_of(words: u64) -> u32 {
    (words << 2) as u32
}

/// One record, as found in the data of a sub-buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireRecord {
    /// An event: its delta, and where its payload lies relative to the record.
    Data {
        delta: u64,
        payload: usize,
        len: usize,
    },
    /// A discarded event.
    Padding,
    /// Nothing more in this sub-buffer.
    End,
    /// Adds to the time.
    Extend { delta: u64 },
    /// Sets the low [`STAMP_BITS`] of the time.
    Stamp { low: u64 },
}

/// The record does not fit the bytes that hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MalformedRecord;

/// Loads a word of the native byte order.
#[inline]
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let end = at.checked_add(4)?;
    let b: [u8; 4] = bytes.get(at..end)?.try_into().ok()?;
    Some(u32::from_ne_bytes(b))
}

/// Loads two words of the native byte order.
#[cfg(test)]
pub(crate) fn long(bytes: &[u8], at: usize) -> Option<u64> {
    let end = at.checked_add(8)?;
    let b: [u8; 8] = bytes.get(at..end)?.try_into().ok()?;
    Some(u64::from_ne_bytes(b))
}

/// Bytes of the payload of the event with this header, if `type_len` holds the length.
#[inline(always)]
pub(crate) const fn usual_payload(header: u32) -> Option<usize> {
    let type_len = header & TYPE_LEN;
    // One comparison for both bounds: 0 fails it, too.
    if type_len.wrapping_sub(1) < PADDING - 1 {
        Some((type_len as usize) << 2)
    } else {
        None
    }
}

/// Decodes the record at offset `at`; returns it with its size in bytes.
pub(crate) fn record(bytes: &[u8], at: usize) -> Result<(WireRecord, usize), MalformedRecord> {
    let head = word(bytes, at).ok_or(MalformedRecord)?;
    let delta = u64::from(head >> 5);
    let second = || at.checked_add(4).and_then(|a| word(bytes, a));
    let value = || second().map(|hi| (u64::from(hi) << DELTA_BITS) | delta);
    let (record, size) = match head & TYPE_LEN {
        PADDING if delta == 0 => (WireRecord::End, bytes.len().saturating_sub(at)),
        PADDING => {
            let len = second().ok_or(MalformedRecord)? as usize;
            (
                WireRecord::Padding,
                len.checked_add(4).ok_or(MalformedRecord)?,
            )
        }
        TIME_EXTEND => (
            WireRecord::Extend {
                delta: value().ok_or(MalformedRecord)?,
            },
            8,
        ),
        TIME_STAMP => (
            WireRecord::Stamp {
                low: value().ok_or(MalformedRecord)?,
            },
            8,
        ),
        0 => {
            let len = second().ok_or(MalformedRecord)? as usize;
            let len = len.checked_sub(4).ok_or(MalformedRecord)?;
            let room = len.checked_next_multiple_of(4).ok_or(MalformedRecord)?;
            let payload = 8;
            (
                WireRecord::Data {
                    delta,
                    payload,
                    len,
                },
                room.checked_add(payload).ok_or(MalformedRecord)?,
            )
        }
        type_len => {
            let len = (type_len as usize) << 2;
            let payload = 4;
            (
                WireRecord::Data {
                    delta,
                    payload,
                    len,
                },
                len.wrapping_add(payload),
            )
        }
    };
    match at.checked_add(size) {
        Some(end) if end <= bytes.len() && size >= 4 => Ok((record, size)),
        _ => Err(MalformedRecord),
    }
}

/// Fills the header of a finished image of a sub-buffer and stores what was lost before it.
///
/// `image` is header and data; `len` bytes of data are in use. The number of lost events is stored
/// after the data when 8 bytes are free there.
pub(crate) fn finish_image(image: &mut [u8], stamp: u64, len: usize, lost: u64) {
    let mut commit = len as u64 & LENGTH_MASK;
    if lost != 0 {
        commit |= MISSED_EVENTS;
        let at = HEADER.saturating_add(len);
        if let Some(room) = image.get_mut(at..at.saturating_add(8)) {
            room.copy_from_slice(&lost.to_ne_bytes());
            commit |= MISSED_STORED;
        }
    }
    if let Some(h) = image.get_mut(..8) {
        h.copy_from_slice(&stamp.to_ne_bytes());
    }
    if let Some(h) = image.get_mut(8..HEADER) {
        h.copy_from_slice(&commit.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_rule_of_the_kernel() {
        // payload, total, type_len
        let rows = [
            (0, 8, 1),
            (1, 8, 1),
            (4, 8, 1),
            (5, 16, 3),
            (8, 16, 3),
            (9, 16, 3),
            (12, 16, 3),
            (13, 20, 4),
            (112, 116, 28),
            (113, 124, 0),
            (149, 160, 0),
            (4072, 4080, 0),
        ];
        for (payload, total, type_len) in rows {
            assert_eq!(
                EventSize::new(payload, 4080),
                Some(EventSize { total, type_len }),
                "payload {payload}"
            );
        }
        assert_eq!(EventSize::new(4073, 4080), None);
        assert_eq!(EventSize::new(usize::MAX, 4080), None);
    }

    #[test]
    fn the_longest_is_the_last_that_fits() {
        for pages in [1, 2, 8, 128] {
            let capacity = pages * 4096 - 16;
            let longest = EventSize::longest(capacity);
            assert_eq!(longest, pages as usize * 4096 - 24);
            assert!(EventSize::new(longest, capacity).is_some());
            assert_eq!(EventSize::new(longest + 1, capacity), None);
        }
    }

    #[test]
    fn records_of_the_golden_sub_buffer() {
        // Words seen in a sub-buffer that the kernel's own ring buffer wrote (four markers).
        let words = [0x0000_0006u32, 0x66a2_1946, 0xa0b4_64fe, 0x0000_0002];
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        assert_eq!(
            record(&bytes[12..], 0),
            Err(MalformedRecord),
            "six words do not fit in four bytes"
        );
        assert_eq!(
            record(&bytes, 8),
            Ok((
                WireRecord::Extend {
                    delta: (2 << 27) | 0x505_a327
                },
                8
            ))
        );
        let mut long_event = vec![0u8; 160];
        long_event[4..8].copy_from_slice(&156u32.to_ne_bytes());
        assert_eq!(
            record(&long_event, 0),
            Ok((
                WireRecord::Data {
                    delta: 0,
                    payload: 8,
                    len: 152
                },
                160
            ))
        );
    }

    #[test]
    fn no_bytes_make_the_decoder_read_outside() {
        for len in 0..24usize {
            for head in [0u32, 1, 28, 29, 29 | 1 << 5, 30, 31] {
                for second in [0u32, 1, 3, 4, 5, 8, 0xffff_ffff] {
                    let mut b = [head.to_ne_bytes(), second.to_ne_bytes()].concat();
                    b.resize(len, 0);
                    if let Ok((_, size)) = record(&b, 0) {
                        assert!(size <= len, "head {head} second {second} len {len}");
                    }
                }
            }
        }
    }

    #[test]
    fn lost_count_is_stored_only_where_it_fits() {
        let mut image = vec![0u8; 64];
        finish_image(&mut image, 7, 40, 3);
        assert_eq!(long(&image, 0), Some(7));
        assert_eq!(long(&image, 8), Some(40 | MISSED_EVENTS | MISSED_STORED));
        assert_eq!(long(&image, 56), Some(3));
        finish_image(&mut image, 7, 44, 3);
        assert_eq!(long(&image, 8), Some(44 | MISSED_EVENTS));
        finish_image(&mut image, 7, 44, 0);
        assert_eq!(long(&image, 8), Some(44));
    }
}
