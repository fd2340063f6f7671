// SPDX-License-Identifier: GPL-2.0

//! What entries keep of values whose modifier is `min`, `max`, `avg` or `quantiles`.
//!
//! The least and the greatest number are words that only grow: of signed numbers the sign is flipped, and of the
//! least one all bits are. So a CPU that has counted nothing has a zero, which changes nothing, and a writer that
//! interrupts another one needs no more than a `cmpxchg` of its CPU.
//!
//! For quantiles the numbers of events are counted in buckets: each power of 2 is divided into [`PER_POWER`] of
//! them, so that a bucket is no wider than an eighth of its first number. What is shown of a quantile is its bucket.
//!
//! | in an entry | words |
//! |---|---|
//! | the count of events | 1 |
//! | the least and the greatest numbers | 1 each |
//! | sums, also those of averages | 1 each |
//! | buckets | [`BUCKETS`] for each value |

use super::{
    expr::{
        Modifier,
        Nodes, //
    },
    key::KeyEnv,
    load::NumberLoad,
    plan::Plan, //
};
use crate::text::writer::ByteWrite;
use core::{
    cmp::Ordering,
    fmt, //
};

/// Most values of a plan that has some of these, without the count of events.
pub(crate) const MOST_VALUES: usize = 8;
/// Buckets of a power of 2, itself one.
const PER_POWER: u64 = 8;
/// The power of 2 that this is.
const POWER_BITS: u32 = PER_POWER.trailing_zeros();
/// Buckets for all numbers: one for each that is less than [`PER_POWER`], and those of the powers from there on.
pub(crate) const BUCKETS: usize = ((u64::BITS - POWER_BITS + 1) as usize) << POWER_BITS;
/// The quantiles that are shown, in thousandths, and their names.
pub(super) const QUANTILES: [(u64, &str); 4] =
    [(500, "p50"), (900, "p90"), (990, "p99"), (999, "p99.9")];
/// Which one of them entries are sorted by.
const SORTED_BY: usize = 2;
/// The usual size of a histogram, as a power of 2, and of one with buckets.
const USUAL_BITS: u32 = 11;
const USUAL_BITS_WITH_BUCKETS: u32 = 8;
/// The sign of a number.
const SIGN: u64 = 1 << 63;

/// What is kept of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TallyKind {
    #[default]
    Sum,
    Least,
    Greatest,
    Average,
    Quantiles,
}

impl TallyKind {
    const fn of(modifier: Modifier) -> Self {
        match modifier {
            Modifier::Min => Self::Least,
            Modifier::Max => Self::Greatest,
            Modifier::Avg => Self::Average,
            Modifier::Quantiles => Self::Quantiles,
            _ => Self::Sum,
        }
    }

    const fn is_raised(self) -> bool {
        matches!(self, Self::Least | Self::Greatest)
    }

    /// Returns the number of words in an entry.
    const fn words(self) -> u16 {
        match self {
            Self::Quantiles => BUCKETS as u16,
            _ => 1,
        }
    }

    /// Returns the number of words in a row.
    const fn row_words(self) -> usize {
        match self {
            Self::Average => 2,
            Self::Quantiles => QUANTILES.len(),
            _ => 1,
        }
    }
}

impl Modifier {
    /// Returns whether it says what is kept of a value.
    pub(super) const fn is_tally(self) -> bool {
        !matches!(TallyKind::of(self), TallyKind::Sum)
    }
}

/// What is kept of one value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    load: NumberLoad,
    kind: TallyKind,
    signed: bool,
    /// Its first word among those of an entry.
    at: u16,
}

impl Tally {
    /// Stands for that of a sum.
    pub(super) const NONE: Self = Self {
        load: NumberLoad::NONE,
        kind: TallyKind::Sum,
        signed: false,
        at: 0,
    };

    /// Returns whether it is no sum.
    pub(super) fn is_no_sum(self) -> bool {
        self.kind != TallyKind::Sum
    }

    /// Returns whether a row has buckets of it, one for each of [`QUANTILES`].
    pub(super) fn is_quantiles(self) -> bool {
        self.kind == TallyKind::Quantiles
    }

    /// Turns a number into one that compares without a sign, and back.
    const fn flipped(self, number: u64) -> u64 {
        match self.signed {
            true => number ^ SIGN,
            false => number,
        }
    }

    /// Returns the word of an entry that a number changes, and what it is raised to or what is added.
    fn change(self, number: u64) -> (usize, u64) {
        let at = usize::from(self.at);
        match self.kind {
            TallyKind::Sum | TallyKind::Average => (at, number),
            TallyKind::Greatest => (at, self.flipped(number)),
            TallyKind::Least => (at, !self.flipped(number)),
            TallyKind::Quantiles => {
                let is_negative = self.signed && number >= SIGN;
                let number = if is_negative { 0 } else { number };
                (at.wrapping_add(bucket(number)), 1)
            }
        }
    }

    /// Gives `each` what a row has of the words of an entry, of which the first one is the count of events.
    fn settle<E>(self, sums: &[u64], each: &mut impl FnMut(u64) -> Result<(), E>) -> Result<(), E> {
        let word = sums.get(usize::from(self.at)).copied().unwrap_or(0);
        match self.kind {
            TallyKind::Sum => each(word),
            TallyKind::Greatest => each(self.flipped(word)),
            TallyKind::Least => each(self.flipped(!word)),
            TallyKind::Average => {
                let hits = sums.first().copied().unwrap_or(0);
                let (whole, hundredths) = average(word, hits, self.signed);
                each(whole)?;
                each(hundredths)
            }
            TallyKind::Quantiles => {
                let buckets = sums.get(usize::from(self.at)..).unwrap_or_default();
                let buckets = buckets.get(..BUCKETS).unwrap_or_default();
                QUANTILES
                    .iter()
                    .try_for_each(|(part, _)| each(quantile(buckets, *part)))
            }
        }
    }

    /// Compares what two rows have of it: quantiles by the third of them.
    pub(super) fn compare(self, one: &[u64], other: &[u64]) -> Ordering {
        let word = |row: &[u64], at: usize| {
            let word = row.get(at).copied().unwrap_or(0);
            match self.kind {
                TallyKind::Sum | TallyKind::Quantiles => word,
                _ => self.flipped(word),
            }
        };
        let first = match self.kind {
            TallyKind::Quantiles => SORTED_BY,
            _ => 0,
        };
        let order = word(one, first).cmp(&word(other, first));
        match self.kind {
            TallyKind::Average => order.then_with(|| word(one, 1).cmp(&word(other, 1))),
            _ => order,
        }
    }

    /// Writes what a row has of a number, `width` characters wide at least.
    pub(super) fn write_number(
        self,
        row: &[u64],
        width: usize,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let word = row.first().copied().unwrap_or(0);
        match (self.kind, self.signed) {
            (TallyKind::Average, signed) => {
                let part = row.get(1).copied().unwrap_or(0) as i64;
                match (word, signed) {
                    (0, _) if part < 0 => write!(out, "{:>width$}", "-0")?,
                    (_, true) => write!(out, "{:width$}", word as i64)?,
                    (_, false) => write!(out, "{word:width$}")?,
                }
                write!(out, ".{:02}", part.unsigned_abs())
            }
            (TallyKind::Least | TallyKind::Greatest, true) => {
                write!(out, "{:width$}", word as i64)
            }
            _ => write!(out, "{word:width$}"),
        }
    }
}

/// Returns the whole part of the average and its hundredths; both have its sign.
fn average(sum: u64, hits: u64, signed: bool) -> (u64, u64) {
    let is_negative = signed && sum >= SIGN;
    let sum = if is_negative { sum.wrapping_neg() } else { sum };
    let whole = sum.checked_div(hits).unwrap_or(0);
    let rest = sum.checked_rem(hits).unwrap_or(0);
    let parts = match rest.checked_mul(100) {
        Some(parts) => parts.checked_div(hits),
        None => rest.checked_div(hits / 100),
    };
    let parts = parts.unwrap_or(0).min(99);
    match is_negative {
        true => (whole.wrapping_neg(), parts.wrapping_neg()),
        false => (whole, parts),
    }
}

/// Returns the bucket of a number.
pub(super) fn bucket(number: u64) -> usize {
    let bits = u64::BITS.saturating_sub(number.leading_zeros());
    let Some(shift) = bits.checked_sub(POWER_BITS.saturating_add(1)) else {
        return number as usize;
    };
    // Its highest bits, the first of which is set: those after it are its bucket among those of its power.
    let high = number.wrapping_shr(shift) as usize;
    high.wrapping_add((shift as usize).wrapping_shl(POWER_BITS))
}

/// Returns the first and the last number of a bucket.
pub(super) fn range(bucket: u64) -> (u64, u64) {
    let Some(shift) = (bucket / PER_POWER).checked_sub(1) else {
        return (bucket, bucket);
    };
    let high = (bucket % PER_POWER).saturating_add(PER_POWER);
    let first = high.wrapping_shl(shift as u32);
    let width = 1u64.wrapping_shl(shift as u32);
    (first, first.wrapping_add(width).wrapping_sub(1))
}

/// Returns the bucket of the number that so many thousandths of all are not more than.
fn quantile(buckets: &[u64], part: u64) -> u64 {
    let total = buckets.iter().fold(0u64, |all, count| {
        all.saturating_add(*count) //
    });
    let rest = (total % 1000).saturating_mul(part).div_ceil(1000);
    let wanted = (total / 1000).saturating_mul(part).saturating_add(rest);
    let mut before = 0u64;
    let found = buckets.iter().position(|count| {
        before = before.saturating_add(*count);
        before >= wanted.max(1)
    });
    found.unwrap_or(0) as u64
}

/// The tallies of a plan: one for each value, or none if no value has a modifier that asks for one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tallies {
    all: [Tally; MOST_VALUES],
    count: u8,
    /// Words of an entry, the count of events included.
    words: u16,
    /// Those after it that are raised.
    raised: u16,
}

impl Tallies {
    /// Returns none.
    pub(super) const fn new() -> Self {
        Self {
            all: [Tally::NONE; MOST_VALUES],
            count: 0,
            words: 1,
            raised: 0,
        }
    }

    /// Returns those of these values.
    pub(super) fn of(nodes: &Nodes, values: &[u8]) -> Self {
        let mut new = Self::new();
        let kind = |node: u8| {
            let atom = nodes.atom(node);
            atom.map_or(TallyKind::Sum, |atom| TallyKind::of(atom.modifier))
        };
        if values.iter().all(|node| kind(*node) == TallyKind::Sum) {
            return new;
        }
        for (place, node) in new.all.iter_mut().zip(values) {
            *place = Tally {
                load: NumberLoad::of(nodes, *node),
                kind: kind(*node),
                signed: nodes.is_signed(*node),
                at: 0,
            };
            new.count = new.count.saturating_add(1);
        }
        // What is raised comes first.
        for is_raised in [true, false] {
            let all = new.all.iter_mut().take(values.len());
            for tally in all.filter(|tally| tally.kind.is_raised() == is_raised) {
                tally.at = new.words;
                new.words = new.words.saturating_add(tally.kind.words());
            }
            if is_raised {
                new.raised = new.words.saturating_sub(1);
            }
        }
        new
    }

    fn all(&self) -> &[Tally] {
        self.all.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// Returns whether there are none.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns how many entries there may be if the command does not say it, as a power of 2: buckets need memory.
    pub(super) fn usual_bits(&self) -> u32 {
        let has_buckets = self.words() > BUCKETS;
        if has_buckets {
            USUAL_BITS_WITH_BUCKETS
        } else {
            USUAL_BITS
        }
    }

    /// Returns the number of words of an entry, the count of events included.
    pub(super) fn words(&self) -> usize {
        self.words.into()
    }

    /// Returns how many of them, after the count of events, are raised instead of added to.
    pub(super) fn raised(&self) -> usize {
        self.raised.into()
    }

    /// Returns what is kept of a value, and where a row has it.
    pub(super) fn shown(&self, value: usize) -> Option<(Tally, usize)> {
        let tally = self.all().get(value)?;
        let before = self.all().iter().take(value);
        let at = before.fold(1usize, |at, tally| {
            at.saturating_add(tally.kind.row_words())
        });
        Some((*tally, at))
    }

    /// Returns the number of words of a row, the count of events included.
    pub(super) fn row_words(&self) -> usize {
        self.shown(usize::from(self.count).saturating_sub(1))
            .map_or(1, |(last, at)| at.saturating_add(last.kind.row_words()))
    }
}

impl Plan {
    /// Calls `each` with each word of an entry that an event changes, and what it is raised to or what is added. Any
    /// context.
    pub(crate) fn tally(&self, record: &[u8], env: &impl KeyEnv, mut each: impl FnMut(usize, u64)) {
        for tally in self.tallies.all() {
            let number = tally.load.read(self, record, env).unwrap_or(0);
            let (at, number) = tally.change(number);
            each(at, number);
        }
    }

    /// Gives `each` what a row has of the words of an entry: the count of events, and what is shown of each value.
    ///
    /// # Errors
    ///
    /// Those of `each`.
    pub(crate) fn settle<E>(
        &self,
        sums: &[u64],
        mut each: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.tallies.is_empty() {
            return sums.iter().try_for_each(|sum| each(*sum));
        }
        each(sums.first().copied().unwrap_or(0))?;
        self.tallies
            .all()
            .iter()
            .try_for_each(|tally| tally.settle(sums, &mut each))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Each number is in the range of its bucket, ranges follow each other, and none is too wide.
    #[test]
    fn buckets() {
        let mut next = 0u64;
        for at in 0..BUCKETS as u64 {
            let (first, last) = range(at);
            assert_eq!(first, next, "{at}");
            assert!(last >= first && last - first <= first / PER_POWER, "{at}");
            for number in [first, last, first + (last - first) / 2] {
                assert_eq!(bucket(number), at as usize, "{number}");
            }
            next = last.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last one ends with the last number");
    }

    /// The bucket of a quantile is that of the number which a sorted list has there.
    #[test]
    fn quantiles() {
        let mut random = Random::new(1);
        for len in [1usize, 2, 3, 9, 10, 11, 99, 100, 101, 1000, 1001, 5000] {
            let mut numbers: Vec<u64> = (0..len)
                .map(|_| {
                    let number = random.next();
                    number >> (number >> 58)
                })
                .collect();
            let mut buckets = vec![0; BUCKETS];
            numbers.iter().for_each(|n| buckets[bucket(*n)] += 1);
            numbers.sort_unstable();
            for (part, name) in QUANTILES {
                let rank = (len as u64 * part).div_ceil(1000).max(1) as usize;
                let wanted = bucket(numbers[rank - 1]) as u64;
                assert_eq!(quantile(&buckets, part), wanted, "{name} of {len}");
            }
        }
        assert_eq!(quantile(&[0; BUCKETS], 500), 0);
    }

    #[test]
    fn averages() {
        let written = |sum: i64, hits: u64, signed| {
            let tally = Tally {
                kind: TallyKind::Average,
                signed,
                ..Tally::NONE
            };
            let (whole, part) = average(sum as u64, hits, signed);
            let mut out = String::new();
            tally.write_number(&[whole, part], 0, &mut out).unwrap();
            out
        };
        assert_eq!(written(7, 2, false), "3.50");
        assert_eq!(written(-7, 2, true), "-3.50");
        assert_eq!(written(-1, 2, true), "-0.50");
        assert_eq!(written(1, 3, true), "0.33");
        assert_eq!(written(-2, 1, false), "18446744073709551614.00");
        assert_eq!(written(0, 0, false), "0.00");
        assert_eq!(written(i64::MIN, 1, true), "-9223372036854775808.00");
    }

    /// What a word of no events is raised to is the number itself.
    #[test]
    fn raised() {
        for (signed, numbers, least, greatest) in [
            (false, [5, 3, u64::MAX], 3, u64::MAX),
            (true, [5, 3, u64::MAX], u64::MAX, 5),
            (true, [SIGN, 0, SIGN - 1], SIGN, SIGN - 1),
            (false, [SIGN, SIGN, SIGN], SIGN, SIGN),
        ] {
            for (kind, wanted) in [(TallyKind::Least, least), (TallyKind::Greatest, greatest)] {
                let tally = Tally {
                    kind,
                    signed,
                    at: 1,
                    ..Tally::NONE
                };
                let raised = numbers.iter().map(|n| tally.change(*n).1).max().unwrap();
                let mut found = Vec::new();
                let mut push = |word| -> Result<(), ()> {
                    found.push(word);
                    Ok(())
                };
                tally.settle(&[3, raised], &mut push).unwrap();
                assert_eq!(found, [wanted], "{kind:?} {numbers:x?}");
            }
        }
    }

    /// A sort puts signed numbers, averages and quantiles in the order of what they mean.
    #[test]
    fn order() {
        let tally = |kind, signed| Tally {
            kind,
            signed,
            ..Tally::NONE
        };
        let minus = |number: i64| number.wrapping_neg() as u64;
        let rows: &[(Tally, &[u64], &[u64])] = &[
            (tally(TallyKind::Least, true), &[minus(1)], &[0]),
            (tally(TallyKind::Greatest, false), &[0], &[minus(1)]),
            (
                tally(TallyKind::Average, true),
                &[minus(1), minus(50)],
                &[minus(1), minus(20)],
            ),
            (tally(TallyKind::Average, true), &[0, minus(1)], &[0, 0]),
            (tally(TallyKind::Average, false), &[3, 10], &[3, 11]),
            (
                tally(TallyKind::Quantiles, false),
                &[9, 9, 1, 9],
                &[1, 1, 2, 1],
            ),
            (tally(TallyKind::Sum, true), &[0], &[minus(1)]),
        ];
        for (tally, less, more) in rows {
            assert_eq!(tally.compare(less, more), Ordering::Less, "{tally:?}");
        }
    }
}
