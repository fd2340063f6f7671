// SPDX-License-Identifier: GPL-2.0

//! Lists of CPUs, and the sets that they name.

use crate::text::{
    number::digits,
    word::is_space, //
};

/// A set of CPUs, in words of 64 bits that the caller owns.
pub(super) struct CpuSet<'a> {
    words: &'a mut [u64],
    cpus: usize,
}

impl<'a> CpuSet<'a> {
    /// Creates an empty set in `words`; `cpus` is the number of possible CPUs.
    pub(super) fn new(words: &'a mut [u64], cpus: usize) -> Self {
        words.fill(0);
        Self { words, cpus }
    }

    fn add(&mut self, cpu: usize) -> Option<()> {
        if cpu >= self.cpus {
            return None;
        }
        let word = self.words.get_mut(cpu >> 6)?;
        *word |= 1u64.wrapping_shl((cpu & 63) as u32);
        Some(())
    }

    /// Adds the CPUs of a list as the kernel writes them: `0-3,8`, `0-15:2/4` (the first two of
    /// each four), `N` for the last one, `all`. A newline ends it. `None` when it is no list, or
    /// names an impossible CPU.
    pub(super) fn parse(&mut self, list: &[u8]) -> Option<()> {
        let mut rest = list;
        loop {
            while let [b',', behind @ ..] = rest {
                rest = behind;
            }
            match rest.split_first() {
                None | Some((b'\n', _)) => return Some(()),
                Some((first, behind)) if is_space(*first) => rest = behind,
                Some(_) => rest = self.region(rest)?,
            }
        }
    }

    /// Adds the region that `list` begins with. Returns what follows it; `None` when it is no
    /// region, or has an impossible CPU.
    fn region<'l>(&mut self, list: &'l [u8]) -> Option<&'l [u8]> {
        let last = self.cpus.checked_sub(1)?;
        let (from, to, mut rest) = match list.split_at_checked(3) {
            Some((all, rest)) if all.eq_ignore_ascii_case(b"all") => (0, last, rest),
            _ => {
                let (from, rest) = number(list, last)?;
                match rest.strip_prefix(b"-") {
                    Some(rest) => {
                        let (to, rest) = number(rest, last)?;
                        (from, to, rest)
                    }
                    None if ends(rest) => (from, from, rest),
                    None => return None,
                }
            }
        };
        let (mut used, mut group) = (1, 1);
        if !ends(rest) {
            (used, rest) = number(rest.strip_prefix(b":")?, last)?;
            (group, rest) = number(rest.strip_prefix(b"/")?, last)?;
        }
        if from > to || group == 0 || used > group {
            return None;
        }
        let mut in_group = 0usize;
        for cpu in from..=to {
            // The CPUs that are left out must be possible ones, too.
            if cpu >= self.cpus {
                return None;
            }
            if in_group < used {
                self.add(cpu)?;
            }
            in_group = in_group.wrapping_add(1);
            if in_group == group {
                in_group = 0;
            }
        }
        Some(rest)
    }
}

/// Returns whether a region ends before `rest`.
fn ends(rest: &[u8]) -> bool {
    rest.first().is_none_or(|b| *b == b',' || is_space(*b))
}

/// Returns the number that `text` begins with, `last` for an `N`, and what follows it.
fn number(text: &[u8], last: usize) -> Option<(usize, &[u8])> {
    if let Some(rest) = text.strip_prefix(b"N") {
        return Some((last, rest));
    }
    let len = text
        .iter()
        .position(|b| !b.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, rest) = text.split_at_checked(len)?;
    let value = digits(number, 10)?;
    Some((u32::try_from(value).ok()? as usize, rest))
}

/// Returns the number of CPUs in a set.
pub(super) fn weight(words: &[u64]) -> u32 {
    words
        .iter()
        .fold(0, |sum, word| sum.wrapping_add(word.count_ones()))
}

/// Returns the first CPU of a set, `None` when it is empty.
pub(super) fn first(words: &[u64]) -> Option<u64> {
    (0u64..)
        .zip(words)
        .find(|(_, word)| **word != 0)
        .map(|(i, word)| {
            i.wrapping_mul(64)
                .wrapping_add(u64::from(word.trailing_zeros()))
        })
}

/// Returns whether a CPU is in a set.
pub(super) fn has(words: &[u64], cpu: u64) -> bool {
    usize::try_from(cpu >> 6)
        .ok()
        .and_then(|i| words.get(i))
        .is_some_and(|word| word.wrapping_shr((cpu & 63) as u32) & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(list: &str) -> Option<Vec<u64>> {
        let mut words = [0; 2];
        CpuSet::new(&mut words, 70).parse(list.as_bytes())?;
        Some((0..128).filter(|cpu| has(&words, *cpu)).collect())
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpus("0"), Some(vec![0]));
        assert_eq!(cpus("1-3,65"), Some(vec![1, 2, 3, 65]));
        assert_eq!(cpus("0-7:1/4"), Some(vec![0, 4]));
        assert_eq!(cpus("0-7:2/4"), Some(vec![0, 1, 4, 5]));
        assert_eq!(cpus("N"), Some(vec![69]));
        assert_eq!(cpus("68-N"), Some(vec![68, 69]));
        assert_eq!(cpus("ALL").map(|all| all.len()), Some(70));
        assert_eq!(cpus("all:1/64 ,,\t3"), Some(vec![0, 3, 64]));
        assert_eq!(cpus("3\n5x"), Some(vec![3]));
        assert_eq!(cpus("0-3:1/N5"), Some(vec![0, 5]));
        assert_eq!(cpus(" ,"), Some(vec![]));
        for bad in [
            "70",
            "3-1",
            "a",
            "1-",
            "-1",
            "0-3:2",
            "0-3:1/0",
            "0-3:3/2",
            "0:1/2",
            "0-70",
            "1-4294967295",
            "4294967296",
            "al",
            "allx",
            "all:",
            "0-3:1/25-6",
        ] {
            assert_eq!(cpus(bad), None, "{bad}");
        }
    }

    #[test]
    fn weight_and_first() {
        assert_eq!(weight(&[0, 6]), 2);
        assert_eq!(first(&[0, 6]), Some(65));
        assert_eq!(first(&[0, 0]), None);
    }
}
