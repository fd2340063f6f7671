// SPDX-License-Identifier: GPL-2.0

//! The fields of an event as the text that defines it has them: those of user events and of direct events.

use crate::{
    event::format,
    events::{
        Event,
        Fields, //
    },
    kapi::text_buffer::TextBuffer,
    text::writer::ByteWrite,
    user_events::{
        command::{
            self,
            UserCommand, //
        },
        field::UserField,
        print::{
            self,
            BytesForm, //
        },
        record, //
    }, //
};
use kernel::{
    fmt::{
        self,
        Write, //
    },
    prelude::*, //
};

/// Fields, and the text that has their types and names.
pub(super) struct UserFields {
    text: TextBuffer,
    fields: KVec<UserField>,
}

impl UserFields {
    /// Returns those of a definition, and what `of` makes of those of which it makes anything.
    ///
    /// # Errors
    ///
    /// `EINVAL` for fields that are none, `ENOMEM`.
    pub(super) fn new<T>(
        command: UserCommand<'_>,
        of: impl Fn(&UserField, &str) -> Option<T>,
    ) -> Result<(Self, KVec<T>)> {
        let mut text = TextBuffer::new();
        text.write_str(command.fields).map_err(|_| ENOMEM)?;
        let (mut fields, mut made) = (KVec::new(), KVec::new());
        command.for_each_field(|field| -> Result {
            if let Some(one) = of(&field, command.fields) {
                made.push(one, GFP_KERNEL)?;
            }
            Ok(fields.push(field, GFP_KERNEL)?)
        })?;
        Ok((Self { text, fields }, made))
    }

    /// Returns the bytes that a record has at least, without the common fields.
    #[inline(always)]
    pub(super) fn least(&self) -> usize {
        record::least(&self.fields)
    }

    /// Returns whether `given` defines the same fields.
    pub(super) fn is_same(&self, given: &str) -> bool {
        command::is_same(&self.fields, self.text.text(), given)
    }

    /// Calls `visit` with the fields; see [`Source::visit_fields`](crate::events::Source::visit_fields).
    pub(super) fn visit(&self, visit: &mut dyn FnMut(&mut Fields<'_>)) {
        let text = self.text.text();
        visit(&mut self.fields.iter().map(|field| field.declared(text)));
    }

    /// Writes the `format` text of `event`, which has these fields. Fails when `w` does.
    pub(super) fn write_format(
        &self,
        event: &Event,
        bytes: BytesForm,
        w: &mut dyn fmt::Write,
    ) -> fmt::Result {
        let (fields, text) = (&self.fields, self.text.text());
        let mut print = TextBuffer::new();
        print::write_format(fields, text, bytes, &mut print)?;
        let declared = fields.iter().map(|field| field.declared(text));
        let (name, id) = (event.name(), event.id());
        format::write(w, name, id, declared, print.text(), [].into_iter())
    }

    /// Writes the definition of an event called `name`. Fails when `out` does.
    pub(super) fn write_definition(&self, name: &str, out: &mut dyn ByteWrite) -> fmt::Result {
        print::write_definition(name, &self.fields, self.text.text(), out)
    }
}
