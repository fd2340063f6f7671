// SPDX-License-Identifier: GPL-2.0
//! How the unwinder goes on from addresses: what it said, in a table.

use crate::ring::port::SharedWord;

/// Steps that a table has room for, and how many of them are looked at for an address.
pub(crate) const PLACES: usize = 4096;
const WAYS: usize = 4;
/// Addresses without a step whose requests are counted, and how many requests of one are one for the unwinder.
pub(crate) const ASKED: usize = 64;
const ASKED_OF: u64 = 16;

/// How the unwinder goes on from an address: a kind, and two numbers of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameStep(u32);

impl FrameStep {
    /// In a way that only the unwinder knows.
    pub(super) const OTHER: u32 = 1;
    /// The stack ends.
    pub(super) const LAST: u32 = 2;
    /// To what was interrupted, or to user space: the registers are the first number of words above the stack pointer.
    pub(super) const REGISTERS: u32 = 3;
    /// To the caller, whose address is right below the place that is so far above the stack pointer.
    pub(super) const UP: u32 = 4;
    /// The same, above the frame pointer.
    pub(super) const UP_BP: u32 = 5;
    /// The same, above the stack pointer of before the switch to the stack of an interrupt.
    pub(super) const SWITCH: u32 = 6;
    /// Where the two numbers are. That of the caller's frame pointer is so far below that place: 0 if it is the same as
    /// before.
    const BY: u32 = 3;
    const BP: u32 = 17;
    /// The most that a number can be. As the second one: only the unwinder knows the frame pointer.
    pub(super) const LOST: u32 = 0x3fff;
    /// The step that only the unwinder knows.
    pub(super) const UNTOLD: Self = Self(Self::OTHER);

    /// Returns the one of this kind and these numbers, the first in bytes; one that only the unwinder knows, if that is
    /// no number of words, or too large a one.
    pub(super) fn new(kind: u32, by: u64, bp: u32) -> Self {
        match by % 8 == 0 && by / 8 < u64::from(Self::LOST) {
            true => Self(kind | (((by / 8) as u32) << Self::BY) | ((bp & Self::LOST) << Self::BP)),
            false => Self::UNTOLD,
        }
    }

    /// Returns its kind.
    pub(super) fn kind(self) -> u32 {
        self.0 & 7
    }

    /// Returns the bytes of the first number.
    pub(super) fn by(self) -> u64 {
        u64::from((self.0 >> Self::BY) & Self::LOST).wrapping_mul(8)
    }

    /// Returns the second number.
    pub(super) fn bp(self) -> u32 {
        (self.0 >> Self::BP) & Self::LOST
    }
}

/// Where a function goes on. The unwinder looks another address up for what was interrupted than for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CodeSite {
    /// After a call, at this address.
    Call(u64),
    /// At this address, where it was interrupted.
    Interrupted(u64),
}

impl CodeSite {
    /// The bit that all addresses of the kernel's code have in the lower half.
    const TOP: u64 = 1 << 31;

    /// Returns the address.
    #[inline(always)]
    pub(crate) fn address(self) -> u64 {
        let (Self::Call(address) | Self::Interrupted(address)) = self;
        address
    }

    /// Returns the lower half of the address, without its highest bit for what was interrupted. `None` if it cannot be
    /// that of code of the kernel.
    #[inline(always)]
    fn key(self) -> Option<u64> {
        let address = self.address();
        let key = (address >> 31 == 0x1_ffff_ffff).then_some(address & 0xffff_ffff)?;
        Some(match self {
            Self::Call(_) => key,
            Self::Interrupted(_) => key ^ Self::TOP,
        })
    }
}

/// Returns a number below [`PLACES`] that is another one for most keys.
#[inline(always)]
fn hash_of(key: u64) -> usize {
    ((key as u32).wrapping_mul(0x9e37_79b1) >> 20) as usize
}

/// What is known, of all CPUs.
pub(crate) struct FrameTable<W> {
    /// The key of a site above the step from there; 0 for a place that is free.
    words: [W; PLACES],
    /// Keys of sites whose step is not known above how often the unwinder was to be asked about them.
    asked: [W; ASKED],
}

impl<W: SharedWord> FrameTable<W> {
    /// Returns one of such words, which are 0.
    pub(crate) const fn of(words: [W; PLACES], asked: [W; ASKED]) -> Self {
        Self { words, asked }
    }

    /// Returns the places where the step of a key may be.
    #[inline(always)]
    fn ways(&self, key: u64) -> &[W] {
        let first = hash_of(key) & (PLACES - WAYS);
        self.words
            .get(first..first.wrapping_add(WAYS))
            .unwrap_or_default()
    }

    /// Returns the step from `site`, if it is known. Any context.
    #[inline(always)]
    pub(super) fn find(&self, site: CodeSite) -> Option<FrameStep> {
        let key = site.key()?;
        let mut words = self.ways(key).iter().map(W::load);
        let word = words.find(|word| word >> 32 == key)?;
        Some(FrameStep(word as u32))
    }

    /// Learns the step from `site`. Any context.
    pub(crate) fn learn(&self, site: CodeSite, step: FrameStep) {
        let Some(key) = site.key() else {
            return;
        };
        let ways = self.ways(key);
        let is_its = |word: &&W| word.load() >> 32 == key || word.load() == 0;
        // One of them goes if all are in use: which one does not matter, but that it is not always the same.
        let other = ways.get((key as usize >> 3) & (WAYS - 1));
        if let Some(word) = ways.iter().find(is_its).or(other) {
            word.store((key << 32) | u64::from(step.0));
        }
    }

    /// Learns that only the unwinder knows the step from `site`, unless a step is known. Any context.
    pub(crate) fn give_up(&self, site: CodeSite) {
        if self.find(site).is_none() {
            self.learn(site, FrameStep::UNTOLD);
        }
    }

    /// Returns whether the unwinder is worth to be asked about `site`: one time in sixteen, unless another such site has
    /// its place. About what was interrupted it is not the first of them: most such places are met once. Any context.
    pub(crate) fn is_to_ask(&self, site: CodeSite) -> bool {
        let Some(key) = site.key() else {
            return false;
        };
        let Some(asked) = self.asked.get(hash_of(key) % ASKED) else {
            return false;
        };
        let times = match asked.load() {
            word if word >> 32 == key => word & 0xffff_ffff,
            _ => 0,
        };
        asked.store((key << 32) | (times.wrapping_add(1) % ASKED_OF));
        times == u64::from(matches!(site, CodeSite::Interrupted(_)))
    }

    /// Forgets all steps: code has gone, and other code may come to where it was.
    pub(crate) fn forget(&self) {
        self.words.iter().for_each(|word| word.store(0));
    }
}
