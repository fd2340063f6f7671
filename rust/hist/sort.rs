// SPDX-License-Identifier: GPL-2.0

//! The order in which entries are shown.
//!
//! Entries with equal sort keys are in ftrace's order as well: it sorts by the bytes of the keys first and
//! then, by what the user wants, with the kernel's heap sort, which moves equal ones in its own way. This is
//! that algorithm: a heap with the largest at its root, from which the two largest are taken at a time, and
//! where what replaces them sinks to the bottom before it rises to its place.

use super::{
    expr::{
        ExprSource, //
        PlacedNumber,
    },
    plan::{
        Plan,
        SortField,
        SortKey, //
    },
    tally::Tally, //
};
use core::cmp::Ordering;

/// The words of the entries, row by row: key, note, sums, what is kept.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) words: &'a [u64],
    pub(crate) key_words: usize,
    pub(crate) note_words: usize,
    pub(crate) sums: usize,
    pub(crate) kept: usize,
}

/// An entry.
#[derive(Clone, Copy)]
pub(crate) struct SortRow<'a> {
    pub(crate) key: &'a [u64],
    pub(crate) note: &'a [u64],
    /// The count of events first.
    pub(crate) sums: &'a [u64],
    pub(crate) kept: &'a [u64],
}

impl<'a> Rows<'a> {
    /// Returns the rows that `words` are, of the entries of a histogram with this plan.
    pub(crate) fn new(plan: &Plan, words: &'a [u64]) -> Self {
        Self {
            words,
            key_words: plan.key_words(),
            note_words: plan.note_words(),
            sums: plan.row_sums(),
            kept: plan.kept.row_words(),
        }
    }

    /// Returns the words of a row.
    pub(crate) fn stride(&self) -> usize {
        let shared = self.key_words.saturating_add(self.note_words);
        shared.saturating_add(self.sums).saturating_add(self.kept)
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.words.len().checked_div(self.stride()).unwrap_or(0)
    }

    /// Returns a row; one without words if there is none.
    pub(crate) fn row(&self, at: u32) -> SortRow<'a> {
        let first = (at as usize).saturating_mul(self.stride());
        let words = self.words.get(first..).unwrap_or_default();
        let (key, rest) = words.split_at_checked(self.key_words).unwrap_or_default();
        let (note, rest) = rest.split_at_checked(self.note_words).unwrap_or_default();
        let (sums, rest) = rest.split_at_checked(self.sums).unwrap_or_default();
        let kept = rest.get(..self.kept).unwrap_or_default();
        SortRow {
            key,
            note,
            sums,
            kept,
        }
    }
}

/// An entry that is put into order.
#[derive(Clone, Copy)]
pub(crate) struct SortItem {
    /// Items with different words are in the order of these.
    word: u64,
    row: u32,
}

impl SortItem {
    /// Returns that of a row.
    pub(crate) const fn new(row: u32) -> Self {
        Self { word: 0, row }
    }

    /// Returns the row.
    pub(crate) fn row(self) -> u32 {
        self.row
    }
}

/// How the values of a sort key compare.
#[derive(Clone, Copy)]
enum Compare {
    /// All of them are equal.
    Not,
    Text,
    /// As numbers of so many bits, at the lower end of a word.
    Signed(u32),
    Unsigned(u32),
}

impl Compare {
    fn of(plan: &Plan, node: u8) -> Self {
        let Some(atom) = plan.nodes.atom(node) else {
            return match plan.nodes.is_signed(node) {
                true => Self::Signed(64),
                false => Self::Unsigned(64),
            };
        };
        match atom.source {
            ExprSource::Stack | ExprSource::StackAt(_) => Self::Not,
            ExprSource::Text(_) | ExprSource::Comm => Self::Text,
            // By the type of the field, also when a modifier has made another number of it.
            ExprSource::Number(number) => Self::of_number(number),
            _ => Self::Unsigned(64),
        }
    }

    fn of_number(number: PlacedNumber) -> Self {
        let bits = 64u32.saturating_sub(number.down.into());
        match number {
            _ if number.pointer => Self::Text,
            _ if number.signed => Self::Signed(bits),
            _ => Self::Unsigned(bits),
        }
    }

    fn compare(self, one: &[u64], other: &[u64]) -> Ordering {
        let first = |words: &[u64]| words.first().copied().unwrap_or(0);
        let cut = |word: u64, bits: u32| word.wrapping_shl(64u32.saturating_sub(bits));
        match self {
            Self::Not => Ordering::Equal,
            Self::Text => bytes(one).cmp(bytes(other)),
            Self::Signed(bits) => {
                let number = |words| cut(first(words), bits) as i64;
                number(one).cmp(&number(other))
            }
            Self::Unsigned(bits) => cut(first(one), bits).cmp(&cut(first(other), bits)),
        }
    }
}

impl Compare {
    /// Returns a word of a value: values with different ones compare as these do.
    fn word(self, value: &[u64]) -> u64 {
        const SIGN: u64 = 1 << 63;
        let first = value.first().copied().unwrap_or(0);
        let cut = |bits: u32| first.wrapping_shl(64u32.saturating_sub(bits));
        match self {
            Self::Not => 0,
            Self::Text => first.swap_bytes(),
            Self::Signed(bits) => cut(bits) ^ SIGN,
            Self::Unsigned(bits) => cut(bits),
        }
    }
}

/// Returns the bytes of words in the order of memory, as numbers of 8 that compare in the same way.
fn bytes(words: &[u64]) -> impl Iterator<Item = u64> + '_ {
    words.iter().map(|word| word.swap_bytes())
}

/// One level of the order.
struct Level<'a> {
    plan: &'a Plan,
    rows: Rows<'a>,
    key: SortKey,
    /// The words of the key, if it is one, and how they compare.
    part: (usize, usize, Compare),
    /// What is kept of the value, if it is one.
    tally: Tally,
}

impl<'a> Level<'a> {
    fn new(plan: &'a Plan, rows: Rows<'a>, key: SortKey) -> Self {
        let part = match key.field {
            SortField::Key(at) => plan.keys().get(usize::from(at)),
            _ => None,
        };
        let part = part.map(|part| {
            let at = usize::from(part.at);
            let end = at.saturating_add(part.words.into());
            (at, end, Compare::of(plan, part.node))
        });
        let tally = match key.field {
            SortField::Value(at) => plan.tallies.shown(at.into()),
            _ => None,
        };
        Self {
            plan,
            tally: tally.map_or(Tally::NONE, |(tally, _)| tally),
            rows,
            key,
            part: part.unwrap_or((0, 0, Compare::Not)),
        }
    }

    /// Returns a word of a row: rows with different ones are in the order of these.
    fn word(&self, row: u32) -> u64 {
        let row = self.rows.row(row);
        let first = |words: &[u64]| words.first().copied().unwrap_or(0);
        let word = match self.key.field {
            SortField::HitCount => first(row.sums),
            SortField::Value(_) if self.tally.is_no_sum() => 0,
            SortField::Value(at) => first(self.plan.row_value(row, at.into())),
            SortField::Key(_) => {
                let (at, end, compare) = self.part;
                compare.word(row.key.get(at..end).unwrap_or_default())
            }
        };
        match self.key.descending {
            true => !word,
            false => word,
        }
    }

    /// Returns whether rows with equal words are equal.
    fn is_of_words(&self) -> bool {
        match self.key.field {
            SortField::HitCount => true,
            SortField::Value(_) => !self.tally.is_no_sum(),
            SortField::Key(_) => !matches!(self.part.2, Compare::Text),
        }
    }

    /// Gives the items their words.
    fn prepare(&self, items: &mut [SortItem]) {
        for item in items {
            item.word = self.word(item.row);
        }
    }

    /// Compares items that have their words.
    fn compare(&self, one: &SortItem, other: &SortItem) -> Ordering {
        let order = one.word.cmp(&other.word);
        match order {
            Ordering::Equal if !self.is_of_words() => self.compare_rows(one.row, other.row),
            _ => order,
        }
    }

    #[inline(never)]
    fn compare_rows(&self, one: u32, other: u32) -> Ordering {
        let (one, other) = (self.rows.row(one), self.rows.row(other));
        let order = match self.key.field {
            SortField::HitCount => one.sums.first().cmp(&other.sums.first()),
            SortField::Value(at) => {
                let value = |row| self.plan.row_value(row, at.into());
                self.tally.compare(value(one), value(other))
            }
            SortField::Key(_) => {
                let (at, end, compare) = self.part;
                let words = |row: SortRow<'a>| row.key.get(at..end).unwrap_or_default();
                compare.compare(words(one), words(other))
            }
        };
        match self.key.descending {
            true => order.reverse(),
            false => order,
        }
    }
}

/// Puts rows into the order of the plan. `order` has each of them once.
pub(crate) fn sort(plan: &Plan, rows: Rows<'_>, order: &mut [SortItem]) {
    sort_by_keys(plan, rows, order);
    let mut keys = plan.sorts().iter();
    let Some(first) = keys.next() else {
        return;
    };
    let first = Level::new(plan, rows, *first);
    first.prepare(order);
    match first.is_of_words() {
        true => heap_sort(order, &|one, other| one.word.cmp(&other.word)),
        false => heap_sort(order, &|one, other| first.compare(one, other)),
    }
    if let Some(second) = keys.next() {
        let second = Level::new(plan, rows, *second);
        sort_runs(order, &first, &second);
    }
}

/// Sorts by the bytes of the keys. No two are equal, so that any algorithm gives ftrace's order.
fn sort_by_keys(plan: &Plan, rows: Rows<'_>, order: &mut [SortItem]) {
    let skipped = usize::from(plan.is_variable());
    let key = |row: u32| rows.row(row).key.get(skipped..).unwrap_or_default();
    for item in order.iter_mut() {
        item.word = Compare::Text.word(key(item.row));
    }
    sort_by_words(order);
    let mut rest = order;
    while let Some(first) = rest.first().copied() {
        let run = rest
            .iter()
            .take_while(|item| item.word == first.word)
            .fold(0usize, |len, _| len.saturating_add(1));
        let Some((run, behind)) = core::mem::take(&mut rest).split_at_mut_checked(run) else {
            return;
        };
        heap_sort(run, &|one, other| {
            bytes(key(one.row)).cmp(bytes(key(other.row)))
        });
        rest = behind;
    }
}

/// Items that are few enough to be sorted one by one.
const FEW: usize = 8;

/// Sorts by the words: bit by bit, those that have it go after those that have not.
fn sort_by_words(items: &mut [SortItem]) {
    /// Ranges that wait: each is of another bit, and the first one is of all.
    const MOST: usize = u64::BITS as usize + 1;
    let Some(word) = items.first().map(|item| item.word) else {
        return;
    };
    let differing = items.iter().fold(0, |bits, item| bits | (item.word ^ word));
    let mut waiting = [(0usize, 0usize, 0u64); MOST];
    let (mut used, mut range) = (0usize, (0, items.len(), highest(differing)));
    loop {
        let (start, end, bit) = range;
        let part = items.get_mut(start..end).unwrap_or_default();
        if part.len() > FEW && bit != 0 {
            let middle = start.saturating_add(part_by(part, bit));
            if let Some(place) = waiting.get_mut(used) {
                *place = (middle, end, bit >> 1);
            }
            used = used.saturating_add(1);
            range = (start, middle, bit >> 1);
            continue;
        }
        sort_few(part);
        used = match used.checked_sub(1) {
            Some(used) => used,
            None => return,
        };
        range = waiting.get(used).copied().unwrap_or_default();
    }
}

/// Returns the highest bit of a word, if it has one.
fn highest(word: u64) -> u64 {
    match word {
        0 => 0,
        _ => (1u64 << 63).wrapping_shr(word.leading_zeros()),
    }
}

/// Moves the items whose word has `bit` after the others. Returns how many the others are.
fn part_by(items: &mut [SortItem], bit: u64) -> usize {
    let (mut start, mut end) = (0usize, items.len());
    while start < end {
        match items.get(start) {
            Some(item) if item.word & bit == 0 => start = start.saturating_add(1),
            _ => {
                end = end.saturating_sub(1);
                swap(items, start, end);
            }
        }
    }
    start
}

/// Sorts few items, or those with equal words, by their words.
fn sort_few(items: &mut [SortItem]) {
    for next in 1..items.len() {
        let mut at = next;
        while at != 0 {
            let before = at.saturating_sub(1);
            let word = |at: usize| items.get(at).map_or(0, |item| item.word);
            if word(before) <= word(at) {
                break;
            }
            swap(items, before, at);
            at = before;
        }
    }
}

#[inline(always)]
fn swap(items: &mut [SortItem], one: usize, other: usize) {
    if one < items.len() && other < items.len() {
        items.swap(one, other);
    }
}

/// Sorts each run of rows that `first` finds equal, whose words the items have.
fn sort_runs(order: &mut [SortItem], first: &Level<'_>, second: &Level<'_>) {
    let (mut start, mut len) = (0usize, 1usize);
    let pairs = order.len().saturating_sub(1);
    for at in 0..pairs {
        let next = at.saturating_add(1);
        let pair = (order.get(at).copied(), order.get(next).copied());
        let (Some(one), Some(other)) = pair else {
            return;
        };
        if first.compare(&one, &other) == Ordering::Equal {
            len = len.saturating_add(1);
            if next < pairs {
                continue;
            }
        }
        if len >= 2 {
            let end = start.saturating_add(len);
            if let Some(run) = order.get_mut(start..end) {
                // No item of it is compared by `first` any more.
                second.prepare(run);
                heap_sort(run, &|one, other| second.compare(one, other));
            }
        }
        start = next;
        len = 1;
    }
}

/// Sorts as the kernel does; see the head of this file.
#[inline(always)]
fn heap_sort(items: &mut [SortItem], compare: &impl Fn(&SortItem, &SortItem) -> Ordering) {
    let len = items.len();
    if len < 2 {
        return;
    }
    let mut heap = Heap { items, compare };
    for root in (0..len / 2).rev() {
        heap.sink(root, len);
    }
    let mut end = len;
    while end > 3 {
        end = end.saturating_sub(1);
        heap.swap(0, end);
        // The second largest is one of the two below.
        let second = match heap.compare(1, 2) {
            Ordering::Greater => 1,
            _ => 2,
        };
        end = end.saturating_sub(1);
        heap.swap(second, end);
        heap.sink(second, end);
        heap.sink(0, end);
    }
    end = end.saturating_sub(1);
    heap.swap(0, end);
    if end == 2 && heap.compare(0, 1) == Ordering::Greater {
        heap.swap(0, 1);
    }
}

struct Heap<'a, C> {
    items: &'a mut [SortItem],
    compare: &'a C,
}

impl<C: Fn(&SortItem, &SortItem) -> Ordering> Heap<'_, C> {
    #[inline(always)]
    fn compare(&self, one: usize, other: usize) -> Ordering {
        match (self.items.get(one), self.items.get(other)) {
            (Some(one), Some(other)) => (self.compare)(one, other),
            _ => Ordering::Equal,
        }
    }

    #[inline(always)]
    fn swap(&mut self, one: usize, other: usize) {
        swap(self.items, one, other);
    }

    /// Has the item at `root` find its place below, in a heap of `end` items.
    fn sink(&mut self, root: usize, end: usize) {
        let mut at = root;
        loop {
            let left = at.saturating_mul(2).saturating_add(1);
            let right = left.saturating_add(1);
            if right > end {
                break;
            }
            if right == end {
                // A last leaf without a sibling.
                at = left;
                break;
            }
            at = match self.compare(left, right) {
                Ordering::Greater => left,
                _ => right,
            };
        }
        while at != root && self.compare(root, at) != Ordering::Less {
            at = parent(at);
        }
        let place = at;
        while at != root {
            at = parent(at);
            self.swap(at, place);
        }
    }
}

fn parent(at: usize) -> usize {
    at.saturating_sub(1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_are_put_into_order(
            words in prop::collection::vec(any::<u64>(), 0..200),
            shift in 0u32..64,
        ) {
            // With small shifts most are different, with large ones most are equal.
            let words: Vec<u64> = words.iter().map(|word| word >> shift).collect();
            let mut items: Vec<SortItem> = (0..).map(SortItem::new).take(words.len()).collect();
            for (item, word) in items.iter_mut().zip(&words) {
                item.word = *word;
            }
            sort_by_words(&mut items);
            let mut sorted = words.clone();
            sorted.sort_unstable();
            prop_assert_eq!(items.iter().map(|item| item.word).collect::<Vec<_>>(), sorted);
            let mut rows: Vec<u32> = items.iter().map(|item| item.row).collect();
            prop_assert!(items.iter().all(|item| words[item.row as usize] == item.word));
            rows.sort_unstable();
            prop_assert!(rows.iter().copied().eq(0..words.len() as u32));
        }
    }
}
