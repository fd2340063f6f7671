// SPDX-License-Identifier: GPL-2.0
//! Which cache lines writers store to. Only tests ask: no change may make the writers of two CPUs,
//! or writers and what other CPUs change, meet in one.

use super::cpu::CpuRing;
use super::port::Port;

/// Bytes of a cache line, as a power of two.
const LINE_SHIFT: u32 = 6;

/// A part of memory that is not empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteSpan {
    first: usize,
    last: usize,
}

impl ByteSpan {
    fn of<T: ?Sized>(value: &T) -> Self {
        let first = (&raw const *value).cast::<u8>().addr();
        let size = size_of_val(value);
        Self {
            first,
            last: first.wrapping_add(size).wrapping_sub(1),
        }
    }

    /// Returns whether there is a cache line that both have bytes of.
    pub(crate) fn meets(self, other: Self) -> bool {
        self.first >> LINE_SHIFT <= other.last >> LINE_SHIFT
            && other.first >> LINE_SHIFT <= self.last >> LINE_SHIFT
    }
}

impl<P: Port> CpuRing<P> {
    /// Returns the words that its writers store with each event.
    pub(crate) fn written(&self) -> ByteSpan {
        ByteSpan::of(&self.w)
    }

    /// Returns what they store about sub-buffers: some of it with each event.
    pub(crate) fn written_apart(&self) -> ByteSpan {
        ByteSpan::of(self.subbufs())
    }

    /// Returns the words that other CPUs store.
    pub(crate) fn shared(&self) -> ByteSpan {
        ByteSpan::of(&self.s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_meet_when_they_share_a_line() {
        let span = |first, last| ByteSpan { first, last };
        for (a, b, meet) in [
            (span(0, 63), span(64, 127), false),
            (span(0, 64), span(64, 127), true),
            (span(0, 40), span(41, 50), true),
            (span(0, 1000), span(500, 501), true),
            (span(128, 191), span(0, 127), false),
        ] {
            assert_eq!((a.meets(b), b.meets(a)), (meet, meet), "{a:?} {b:?}");
        }
        let word = [0u64; 8];
        assert_eq!(ByteSpan::of(&word).last - ByteSpan::of(&word).first, 63);
    }
}
