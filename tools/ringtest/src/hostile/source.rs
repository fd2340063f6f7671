// SPDX-License-Identifier: GPL-2.0
//! Where hostile inputs come from: numbers near the limits, texts of words that mean something, right
//! bytes with a few things wrong.

/// A stream of random numbers. The same seed and input number give the same stream.
pub struct Source(u64);

impl Source {
    pub fn new(seed: u64, input: u64) -> Self {
        let mut source = Source(seed);

        source.0 ^= source.next() ^ input.wrapping_mul(0xd134_2543_de82_ef95);
        source
    }

    /// All 64 bits are random (splitmix64).
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// One of `0..n`.
    pub fn below(&mut self, n: usize) -> usize {
        (u128::from(self.next()) * n as u128 >> 64) as usize
    }

    /// True once in `n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// A number near a power of two, a small one, or any.
    pub fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(20) as u64,
            1 => self.next(),
            2 => self.next() >> self.below(64),
            _ => (1u64 << self.below(64))
                .wrapping_add(self.below(5) as u64)
                .wrapping_sub(2),
        }
    }

    /// Up to `most` bytes of any value.
    pub fn bytes(&mut self, most: usize) -> Vec<u8> {
        let len = self.below(most + 1);

        (0..len).map(|_| self.next() as u8).collect()
    }

    /// Up to `most` pieces in a row: mostly `words`, some of them bytes of any value.
    pub fn pieces(&mut self, words: &[&str], most: usize) -> Vec<u8> {
        let mut text = vec![];

        for _ in 0..self.below(most + 1) {
            if self.once_in(8) {
                text.extend(self.bytes(3));
            } else {
                text.extend(self.pick(words).bytes());
            }
        }
        text
    }

    /// The same as text.
    pub fn words(&mut self, words: &[&str], most: usize) -> String {
        (0..self.below(most + 1))
            .map(|_| *self.pick(words))
            .collect()
    }

    /// Makes up to three things wrong: flips a bit, changes, cuts, repeats, inserts, sets a word.
    pub fn spoil(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            if bytes.is_empty() {
                bytes.extend(self.bytes(4));
                continue;
            }
            let at = self.below(bytes.len());
            match self.below(7) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = self.next() as u8,
                2 => bytes.truncate(at),
                3 => _ = bytes.remove(at),
                4 => bytes.insert(at, self.next() as u8),
                5 => {
                    let end = (at + self.below(16)).min(bytes.len());
                    bytes.extend_from_within(at..end);
                }
                _ => {
                    let at = at & !3;
                    let word = (self.number() as u32).to_ne_bytes();
                    for (byte, new) in bytes[at..].iter_mut().zip(word) {
                        *byte = new;
                    }
                }
            }
        }
    }
}
