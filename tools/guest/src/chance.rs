// SPDX-License-Identifier: GPL-2.0

//! Random texts that are nearly what a control file takes. The same seed gives the same texts.

/// The seed of every test that does not say otherwise; tests print it.
pub const SEED: u64 = 0x72_7467_7565_7374;

pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Chance(seed)
    }

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

    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    pub fn bytes(&mut self, most: usize) -> Vec<u8> {
        let len = self.below(most + 1);
        (0..len).map(|_| self.next() as u8).collect()
    }

    /// Some of `words` in a row, then up to three bytes changed, cut, doubled or put in.
    pub fn text(&mut self, words: &[&str]) -> Vec<u8> {
        let count = 1 + self.below(3);
        let mut text: Vec<u8> = (0..count).flat_map(|_| self.pick(words).bytes()).collect();
        for _ in 0..self.below(4) {
            let at = self.below(text.len() + 1);
            match self.below(5) {
                0 => text.truncate(at),
                1 => text.insert(at, self.next() as u8),
                2 => text.extend_from_within(at..),
                3 => text.splice(at..at, self.pick(words).bytes()).for_each(drop),
                _ => text.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1),
            }
        }
        text
    }
}
