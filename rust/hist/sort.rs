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
        NumberAt,
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

    fn of_number(number: NumberAt) -> Self {
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

    fn compare(&self, one: u32, other: u32) -> Ordering {
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

/// Puts the numbers of rows into the order of the plan. `order` has each of them once.
pub(crate) fn sort(plan: &Plan, rows: Rows<'_>, order: &mut [u32]) {
    let skipped = usize::from(plan.is_variable());
    heap_sort(order, &|one, other| {
        let key = |row: u32| rows.row(row).key.get(skipped..).unwrap_or_default();
        bytes(key(one)).cmp(bytes(key(other)))
    });
    let mut keys = plan.sorts().iter();
    let Some(first) = keys.next() else {
        return;
    };
    let first = Level::new(plan, rows, *first);
    heap_sort(order, &|one, other| first.compare(one, other));
    if let Some(second) = keys.next() {
        let second = Level::new(plan, rows, *second);
        sort_runs(order, &first, &second);
    }
}

/// Sorts each run of rows that `first` finds equal.
fn sort_runs(order: &mut [u32], first: &Level<'_>, second: &Level<'_>) {
    let (mut start, mut len) = (0usize, 1usize);
    let pairs = order.len().saturating_sub(1);
    for at in 0..pairs {
        let next = at.saturating_add(1);
        let pair = (order.get(at).copied(), order.get(next).copied());
        let (Some(one), Some(other)) = pair else {
            return;
        };
        if first.compare(one, other) == Ordering::Equal {
            len = len.saturating_add(1);
            if next < pairs {
                continue;
            }
        }
        if len >= 2 {
            let end = start.saturating_add(len);
            if let Some(run) = order.get_mut(start..end) {
                heap_sort(run, &|one, other| second.compare(one, other));
            }
        }
        start = next;
        len = 1;
    }
}

/// Sorts as the kernel does; see the head of this file.
fn heap_sort(items: &mut [u32], compare: &dyn Fn(u32, u32) -> Ordering) {
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

struct Heap<'a> {
    items: &'a mut [u32],
    compare: &'a dyn Fn(u32, u32) -> Ordering,
}

impl Heap<'_> {
    fn compare(&self, one: usize, other: usize) -> Ordering {
        let item = |at: usize| self.items.get(at).copied().unwrap_or(0);
        (self.compare)(item(one), item(other))
    }

    fn swap(&mut self, one: usize, other: usize) {
        if one < self.items.len() && other < self.items.len() {
            self.items.swap(one, other);
        }
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
