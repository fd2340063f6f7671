// SPDX-License-Identifier: GPL-2.0

//! What the lines of one event have in common: an open file reads it once for each event that it prints.
//!
//! An id means one event as long as a file is open that prints records by it (`events::reuse`), so that a layout is never
//! that of another event.

use super::Text;
use core::fmt;
use kernel::prelude::*;

/// The layouts of the events that were printed so far, by their ids. `M` is what is known of a field.
pub(super) struct EventLayouts<M>(KVVec<EventLayout<M>>);

/// The layout of one event.
pub(super) struct EventLayout<M> {
    id: u16,
    /// What comes before the fields, and the text before the value of each.
    text: Text,
    head_end: usize,
    fields: KVVec<NamedField<M>>,
}

/// A field, and where the text before its value ends in that of the layout. It begins where the one of the field before
/// it ends.
struct NamedField<M> {
    name_end: usize,
    field: M,
}

impl<M> EventLayouts<M> {
    /// Returns one of no event.
    pub(super) const fn new() -> Self {
        Self(KVVec::new())
    }

    /// Returns the layout of the event `id`, which `read` reads when it is printed for the first time; `None` if `read`
    /// says that there is no such event.
    ///
    /// # Errors
    ///
    /// Those of `read`, and without memory for it.
    pub(super) fn of(
        &mut self,
        id: u16,
        read: impl FnOnce() -> Result<Option<EventLayout<M>>, fmt::Error>,
    ) -> Result<Option<&EventLayout<M>>, fmt::Error> {
        let at = match self.0.binary_search_by_key(&id, |layout| layout.id) {
            Ok(at) => at,
            Err(at) => {
                let Some(layout) = read()? else {
                    return Ok(None);
                };
                self.0.push(layout, GFP_KERNEL).map_err(|_| fmt::Error)?;
                if let Some(from @ [_, ..]) = self.0.get_mut(at..) {
                    from.rotate_right(1);
                }
                at
            }
        };
        Ok(self.0.get(at))
    }
}

impl<M> EventLayout<M> {
    /// Returns one of the event `id` without fields, whose lines begin with `head`.
    pub(super) fn new(id: u16, head: Text) -> Self {
        let head_end = head.bytes().len();
        Self {
            id,
            text: head,
            head_end,
            fields: KVVec::new(),
        }
    }

    /// Adds a field; `write_name` writes the text before its value.
    ///
    /// # Errors
    ///
    /// Without memory for it.
    pub(super) fn add(
        &mut self,
        field: M,
        write_name: impl FnOnce(&mut Text) -> fmt::Result,
    ) -> fmt::Result {
        write_name(&mut self.text)?;
        let name_end = self.text.bytes().len();
        let named = NamedField { name_end, field };
        self.fields.push(named, GFP_KERNEL).map_err(|_| fmt::Error)
    }

    /// Returns what its lines begin with.
    pub(super) fn head(&self) -> &[u8] {
        self.text.bytes().get(..self.head_end).unwrap_or_default()
    }

    /// Returns the fields, each after the text before its value.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&[u8], &M)> {
        let mut begin = self.head_end;
        self.fields.iter().map(move |named| {
            let name = self.text.bytes().get(begin..named.name_end);
            begin = named.name_end;
            (name.unwrap_or_default(), &named.field)
        })
    }
}
