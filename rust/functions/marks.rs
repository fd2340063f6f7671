// SPDX-License-Identifier: GPL-2.0
//! A selection from the list of functions while it is edited: one bit for each line.

use super::{
    list::FunctionList,
    words::{
        FilterWord,
        Selection, //
    }, //
};

/// The lines in a word of marks.
const LINES: usize = u64::BITS as usize;

/// Returns the number of words that marks of a list of `lines` lines take.
pub(crate) const fn words(lines: usize) -> usize {
    lines.div_ceil(LINES)
}

/// Returns whether the line `at` is marked.
#[cfg(test)]
fn has(marks: &[u64], at: usize) -> bool {
    let word = marks.get(at / LINES).copied().unwrap_or(0);
    word & bit(at) != 0
}

const fn bit(at: usize) -> u64 {
    1u64.wrapping_shl((at % LINES) as u32)
}

/// Marks the line `at`, or unmarks it.
pub(crate) fn put(marks: &mut [u64], at: usize, on: bool) {
    if let Some(word) = marks.get_mut(at / LINES) {
        match on {
            true => *word |= bit(at),
            false => *word &= !bit(at),
        }
    }
}

/// Returns how many lines are marked.
pub(crate) fn count(marks: &[u64]) -> u64 {
    marks.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Returns whether no line is marked.
pub(crate) fn is_empty(marks: &[u64]) -> bool {
    marks.iter().all(|word| *word == 0)
}

/// Does what `word` says. Returns whether it selects any function. `breathe` is called now and then.
pub(crate) fn obey(
    marks: &mut [u64],
    list: FunctionList<'_>,
    word: &FilterWord<'_>,
    mut breathe: impl FnMut(),
) -> bool {
    if let Selection::Line(at) = word.selection {
        if at >= list.len() {
            return false;
        }
        put(marks, at, !word.removes);
        return true;
    }
    let mut any = false;
    for (at, function) in list.iter().enumerate() {
        if at % LINES == 0 {
            breathe();
        }
        if function.address != 0 && word.selection.takes(at, &function) {
            put(marks, at, !word.removes);
            any = true;
        }
    }
    any
}

/// Returns the lines that are marked, in ascending order.
pub(crate) fn iter(marks: &[u64]) -> impl Iterator<Item = usize> + '_ {
    marks.iter().enumerate().flat_map(|(place, word)| {
        let first = place.wrapping_mul(LINES);
        Bits(*word).map(move |bit| first.wrapping_add(bit as usize))
    })
}

/// The bits of a word that are set, the lowest first.
struct Bits(u64);

impl Iterator for Bits {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let lowest = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (lowest < u64::BITS).then_some(lowest)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::list::count_lines,
        *, //
    };

    fn text(lines: usize) -> String {
        (0..lines)
            .map(|at| format!("{:x} f{at}\n", 0xffff_0000 + 16 * at))
            .collect()
    }

    #[test]
    fn words_edit_a_selection() {
        let text = text(200);
        let mut starts = vec![0; count_lines(text.as_bytes())];
        FunctionList::index(text.as_bytes(), &mut starts);
        let list = FunctionList::indexed(text.as_bytes(), &starts);
        let mut marks = vec![0; words(list.len())];
        let mut edit = |word: &str| {
            let word = FilterWord::parse(word.as_bytes()).unwrap();
            let any = obey(&mut marks, list, &word, || {});
            (any, iter(&marks).collect::<Vec<_>>())
        };
        assert_eq!(edit("f1"), (true, vec![1]));
        assert_eq!(edit("nosuch"), (false, vec![1]));
        assert_eq!(edit("200"), (true, vec![1, 199]));
        assert_eq!(edit("201"), (false, vec![1, 199]));
        assert_eq!(
            edit("f6?"),
            (true, [vec![1], (60..70).collect(), vec![199]].concat())
        );
        assert_eq!(edit("!f*"), (true, vec![]));
        assert_eq!(edit("!2"), (true, vec![]));
        assert_eq!(edit("*").1.len(), 200);
    }

    #[test]
    fn marks_are_bits() {
        let mut marks = [0; 2];
        for at in [0, 63, 64, 127] {
            put(&mut marks, at, true);
            assert!(has(&marks, at));
        }
        put(&mut marks, 128, true);
        assert!(!has(&marks, 128) && !has(&marks, 1));
        assert_eq!(iter(&marks).collect::<Vec<_>>(), [0, 63, 64, 127]);
        put(&mut marks, 64, false);
        assert!(!has(&marks, 64) && !is_empty(&marks));
        assert_eq!([words(0), words(1), words(64), words(65)], [0, 1, 1, 2]);
    }
}
