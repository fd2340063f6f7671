// SPDX-License-Identifier: GPL-2.0
//! The size of a payload as a writer wants it: in one word, ready for the position.
//!
//! Most payloads have more than 8 bytes but few enough that the event's header holds their length.
//! For these the word is the number of their 4-byte words, and no writer has to test which kind it
//! is: any other size makes a word that fits in no sub-buffer, so that the reserve fast path
//! declines it for want of room. A caller in C makes the word at compile time where it knows the
//! size.

use super::wire::EventSize;

/// Shift of an unusual payload in its word.
const UNUSUAL_SHIFT: u32 = 20;
/// In each word of an unusual payload: more 4-byte words than the largest sub-buffer has.
const UNUSUAL: u64 = 1 << 19;

/// The size of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct PackedSize(u64);

impl PackedSize {
    /// Returns the size of an event with `payload` bytes of payload.
    #[inline(always)]
    pub(crate) const fn new(payload: usize) -> Self {
        match EventSize::usual(payload) {
            Some(size) => Self(size.words()),
            None => Self(((payload as u64) << UNUSUAL_SHIFT) | UNUSUAL),
        }
    }

    /// Returns the size that `word` is.
    ///
    /// # Safety
    ///
    /// `word` is [`Self::word`] of a size from [`Self::new`].
    #[inline(always)]
    pub(crate) const unsafe fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// Returns the size as a word.
    pub(crate) const fn word(self) -> u64 {
        self.0
    }

    /// Returns the 4-byte words of the event after its header; too many for any sub-buffer unless
    /// the size is a usual one.
    #[inline(always)]
    pub(super) const fn words(self) -> u64 {
        self.0
    }

    /// Returns the `type_len` in the header of an event of a usual size.
    #[inline(always)]
    pub(super) const fn type_len(self) -> u32 {
        self.0 as u32
    }

    /// Returns whether the size is a usual one.
    #[inline(always)]
    pub(super) const fn is_usual(self) -> bool {
        self.0 & UNUSUAL == 0
    }

    /// Returns the bytes of the payload of a size that is not a usual one.
    #[inline(always)]
    pub(crate) const fn unusual_payload(self) -> Option<usize> {
        match self.is_usual() {
            true => None,
            false => Some((self.0 >> UNUSUAL_SHIFT) as usize),
        }
    }

    /// Returns the bytes of the payload; for a usual size, as many as there is room for.
    #[inline(always)]
    pub(crate) const fn payload(self) -> usize {
        match self.unusual_payload() {
            None => (self.0 << 2) as usize,
            Some(payload) => payload,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pos::{Layout, MAX_ORDER, MIN_SIZE};
    use super::*;

    #[test]
    fn usual_sizes_are_those_of_the_event() {
        for payload in 9..=112 {
            let (size, packed) = (
                EventSize::new(payload, 4080).unwrap(),
                PackedSize::new(payload),
            );
            assert_eq!(packed.words() * 4 + 4, u64::from(size.total));
            assert_eq!(packed.type_len(), size.type_len);
            assert_eq!(packed.payload(), payload.next_multiple_of(4));
        }
    }

    #[test]
    fn others_fit_in_no_sub_buffer() {
        let largest = Layout::for_size(MIN_SIZE << MAX_ORDER).unwrap();
        for payload in (0..=8).chain(113..100_000).chain([1 << 30, 1 << 43]) {
            let packed = PackedSize::new(payload);
            assert_eq!(packed.payload(), payload);
            assert!(packed.words() > largest.payload_words(), "{payload}");
        }
        // Nor when a sum wraps in C.
        for payload in [usize::MAX, usize::MAX << 43] {
            let used = largest.payload_words();
            assert!(used.checked_add(PackedSize::new(payload).words()).is_some());
            assert!(PackedSize::new(payload).words() > used);
        }
    }

    #[test]
    fn words_name_their_size() {
        for payload in [0, 8, 9, 24, 112, 113, 4072] {
            let packed = PackedSize::new(payload);
            // SAFETY: the word is that of a size from `new`.
            assert_eq!(unsafe { PackedSize::from_word(packed.word()) }, packed);
        }
    }
}
