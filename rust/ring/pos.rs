// SPDX-License-Identifier: GPL-2.0
//! The position word: which sub-buffer, how many events in it, how far it is used.
//!
//! Only arithmetic. All three are in one word so that one local `cmpxchg` moves them together.

use super::time::LEVEL_BITS;
use super::wire;

/// Sequence number of a sub-buffer, counted since the ring was made (or emptied, when half of the
/// numbers were used: see `unused_seq`).
pub(crate) type Seq = u64;

/// Bits of [`Seq`] that a slot word keeps. What a position has room for is less: 2^40 sub-buffers of
/// 4 KiB, and a quarter of that for each order. A ring that has filled as many refuses further events
/// until it is emptied or gets another size.
pub(crate) const SLOT_SEQ_BITS: u32 = 41;

/// Where the three parts of a position lie. Depends on the size of a sub-buffer.
///
/// With `k` the order: offset in 4-byte units `11 + k` bits, event count `10 + k` bits, the rest is
/// the sequence number.
///
/// A writer needs these numbers once per event, so they are stored, not computed each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Bits of the offset.
    offset_mask: u64,
    /// The same, of an offset in bytes.
    bytes_mask: u64,
    /// One event.
    one_event: u64,
    /// One sub-buffer.
    one_seq: u64,
    /// One event, and the word of its header.
    one_header: u64,
    /// 4-byte words for events in a sub-buffer, less one header.
    payload: u64,
    /// Where the event count begins.
    count_shift: u8,
    /// Where the sequence number begins.
    seq_shift: u8,
    /// Bits of the largest sequence number.
    seq_bits: u8,
}

/// A position. Meaningless without its [`Layout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pos(pub(crate) u64);

/// Bytes of the smallest sub-buffer.
pub(crate) const MIN_SIZE: usize = 4096;
/// Largest order: 512 KiB.
pub(crate) const MAX_ORDER: u32 = 7;

impl Layout {
    /// Returns the layout for sub-buffers of `size` bytes; `None` unless that is a power of two
    /// from 4 KiB to 512 KiB.
    pub(crate) const fn for_size(size: usize) -> Option<Self> {
        let mut order = 0u32;
        while order <= MAX_ORDER {
            if size == MIN_SIZE.wrapping_shl(order) {
                let count_shift = order.wrapping_add(11);
                let seq_shift = order.wrapping_mul(2).wrapping_add(21);
                let one_event = 1u64.wrapping_shl(count_shift);
                let one_seq = 1u64.wrapping_shl(seq_shift);
                return Some(Self {
                    offset_mask: one_event.wrapping_sub(1),
                    bytes_mask: one_event.wrapping_sub(1) << 2,
                    one_event,
                    one_seq,
                    one_header: one_event.wrapping_add(1),
                    payload: ((size as u64).wrapping_sub(wire::HEADER as u64) >> 2).wrapping_sub(1),
                    count_shift: count_shift as u8,
                    seq_shift: seq_shift as u8,
                    seq_bits: seq_bits(seq_shift) as u8,
                });
            }
            order = order.wrapping_add(1);
        }
        None
    }

    /// Returns the bytes of a sub-buffer, header included.
    #[inline(always)]
    pub(crate) const fn size(self) -> usize {
        (self.capacity() as usize).wrapping_add(wire::HEADER)
    }

    /// Returns the bytes for events in a sub-buffer.
    #[inline(always)]
    pub(crate) const fn capacity(self) -> u32 {
        (self.payload.wrapping_add(1) << 2) as u32
    }

    /// Returns the 4-byte words that one event in a sub-buffer has room for after its header.
    #[inline(always)]
    pub(crate) const fn payload_words(self) -> u64 {
        self.payload
    }

    #[inline(always)]
    const fn count_shift(self) -> u32 {
        self.count_shift as u32
    }

    #[inline(always)]
    const fn seq_shift(self) -> u32 {
        self.seq_shift as u32
    }

    /// Returns the largest sequence number that both a slot can hold and a position that has a
    /// level of nesting in its upper bits.
    #[inline(always)]
    pub(crate) const fn max_seq(self) -> Seq {
        1u64.wrapping_shl(self.seq_bits as u32).wrapping_sub(1)
    }

    /// Returns a position from its parts; `offset` in bytes, a multiple of 4.
    #[inline(always)]
    pub(crate) const fn pos(self, seq: Seq, count: u64, offset: u32) -> Pos {
        Pos(seq.wrapping_shl(self.seq_shift())
            | count.wrapping_shl(self.count_shift())
            | (offset as u64 >> 2))
    }

    /// Returns the number of the sub-buffer.
    #[inline(always)]
    pub(crate) const fn seq(self, pos: Pos) -> Seq {
        pos.0.wrapping_shr(self.seq_shift())
    }

    /// Returns the number of events in the sub-buffer.
    #[inline(always)]
    pub(crate) const fn count(self, pos: Pos) -> u64 {
        let in_seq = pos.0 & self.one_seq.wrapping_sub(1);
        in_seq.wrapping_shr(self.count_shift())
    }

    /// Returns the bytes used in the sub-buffer.
    #[inline(always)]
    pub(crate) const fn offset(self, pos: Pos) -> u32 {
        ((pos.0 << 2) & self.bytes_mask) as u32
    }

    /// Returns the 4-byte words used in the sub-buffer.
    #[inline(always)]
    pub(crate) const fn words(self, pos: Pos) -> u64 {
        pos.0 & self.offset_mask
    }

    /// Returns the position one event of `bytes` later.
    #[inline(always)]
    pub(crate) const fn advance(self, pos: Pos, bytes: u32) -> Pos {
        Pos(pos
            .0
            .wrapping_add(self.one_event)
            .wrapping_add(bytes as u64 >> 2))
    }

    /// Returns the position one event later that has `payload` 4-byte words after its header.
    #[inline(always)]
    pub(crate) const fn advance_plain(self, pos: Pos, payload: u64) -> Pos {
        Pos(pos.0.wrapping_add(self.one_header).wrapping_add(payload))
    }

    /// Returns the position one event of `bytes` earlier.
    #[inline(always)]
    pub(crate) const fn roll_back(self, pos: Pos, bytes: u32) -> Pos {
        Pos(pos
            .0
            .wrapping_sub(self.one_event)
            .wrapping_sub(bytes as u64 >> 2))
    }
}

/// Returns the bits of [`Layout::max_seq`] where the sequence number begins at `seq_shift`.
const fn seq_bits(seq_shift: u32) -> u32 {
    let bits = u64::BITS.wrapping_sub(LEVEL_BITS).wrapping_sub(seq_shift);
    if bits < SLOT_SEQ_BITS {
        bits
    } else {
        SLOT_SEQ_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_survive_for_every_order() {
        for order in 0..=MAX_ORDER {
            let l = Layout::for_size(MIN_SIZE << order).unwrap();
            let most = u64::from(l.capacity()) / 8;
            for seq in [0, 1, 12345, l.max_seq()] {
                for count in [0, 1, most] {
                    for offset in [0, 8, l.capacity()] {
                        let p = l.pos(seq, count, offset);
                        assert_eq!((l.seq(p), l.count(p), l.offset(p)), (seq, count, offset));
                    }
                }
            }
            let p = l.pos(3, 1, 8);
            assert_eq!(l.advance(p, 16), l.pos(3, 2, 24));
            assert_eq!(l.roll_back(l.advance(p, 16), 16), p);
        }
    }

    #[test]
    fn odd_sizes_have_no_layout() {
        for size in [0, 1, 2048, 4095, 5000, 12288, 1 << 20, usize::MAX] {
            assert_eq!(Layout::for_size(size), None);
        }
    }
}
