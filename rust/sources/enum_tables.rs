// SPDX-License-Identifier: GPL-2.0

//! The names of values that the records of a definition show, copied from BTF when it is made.

use crate::{
    fetch::{
        argument::Compiler,
        enumeration::{
            EnumNames,
            Enumerator, //
        }, //
    },
    kapi::text_buffer::TextBuffer, //
};
use kernel::{
    fmt::Write,
    prelude::*, //
};

/// The enumerations of a definition, by their numbers.
pub(super) struct EnumTables {
    rows: KVec<Enumerator>,
    /// Where the rows of each one end.
    ends: KVec<usize>,
    names: TextBuffer,
}

impl EnumTables {
    /// Returns those that `compiler` has numbered. Process context.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn of(compiler: &Compiler<'_>) -> Result<Self> {
        let mut tables = Self {
            rows: KVec::new(),
            ends: KVec::new(),
            names: TextBuffer::new(),
        };
        let Some(types) = compiler.types() else {
            return Ok(tables);
        };
        for ty in compiler.enumerations() {
            let start = tables.rows.len();
            for (value, name) in types.enumerators(*ty) {
                // The first name of a value is the one that is shown.
                let own = tables.rows.get(start..).unwrap_or_default();
                if !own.iter().any(|row| row.is_of(value)) {
                    let row = Enumerator::new(value, tables.names.bytes().len(), name);
                    tables.names.write_str(name).map_err(|_| ENOMEM)?;
                    tables.rows.push(row, GFP_KERNEL)?;
                }
            }
            tables.ends.push(tables.rows.len(), GFP_KERNEL)?;
        }
        Ok(tables)
    }

    /// Returns the names of the enumeration of that number; none if there is no such one.
    pub(super) fn names(&self, number: u8) -> EnumNames<'_> {
        let number = usize::from(number);
        let start = number.checked_sub(1).and_then(|last| self.ends.get(last));
        let start = start.copied().unwrap_or(0);
        let rows = self
            .ends
            .get(number)
            .and_then(|end| self.rows.get(start..*end));
        EnumNames::new(rows.unwrap_or_default(), self.names.text())
    }

    /// Returns whether both have the same names.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.ends.len() == other.ends.len()
            && (0..=u8::MAX)
                .take(self.ends.len())
                .all(|number| Iterator::eq(self.names(number).all(), other.names(number).all()))
    }
}
