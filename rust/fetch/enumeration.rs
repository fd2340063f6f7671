// SPDX-License-Identifier: GPL-2.0

//! The names that BTF has for the values of an enumeration, kept for the texts of records.

/// A value and its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Enumerator {
    /// With its sign.
    value: u64,
    /// Where its name is among those of all.
    start: u32,
    len: u32,
}

impl Enumerator {
    /// Returns whether it is that of `value`.
    pub(crate) fn is_of(&self, value: u64) -> bool {
        self.value == value
    }

    /// Returns that of `value`, whose name is put at `start` of the others.
    pub(crate) fn new(value: u64, start: usize, name: &str) -> Self {
        // BTF has less than 4 GiB.
        Self {
            value,
            start: start as u32,
            len: name.len() as u32,
        }
    }
}

/// The names of the values of one enumeration. No value is there twice.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EnumNames<'a> {
    rows: &'a [Enumerator],
    /// All names.
    text: &'a str,
}

impl<'a> EnumNames<'a> {
    /// Returns those of `rows`, whose names are in `text`.
    pub(crate) fn new(rows: &'a [Enumerator], text: &'a str) -> Self {
        Self { rows, text }
    }

    /// Returns all values with their names, in the order of the declaration.
    pub(crate) fn all(self) -> impl Iterator<Item = (u64, &'a str)> {
        self.rows
            .iter()
            .map(move |row| (row.value, self.text_of(row)))
    }

    /// Returns the name of `value`.
    pub(crate) fn name(self, value: u64) -> Option<&'a str> {
        // Values mostly follow each other.
        let first = self.rows.first()?.value;
        let near = self.rows.get(value.wrapping_sub(first) as usize);
        let near = near.filter(|row| row.value == value);
        let row = near.or_else(|| self.rows.iter().find(|row| row.value == value))?;
        Some(self.text_of(row))
    }

    fn text_of(self, row: &Enumerator) -> &'a str {
        let start = row.start as usize;
        let end = start.saturating_add(row.len as usize);
        self.text.get(start..end).unwrap_or_default()
    }
}
