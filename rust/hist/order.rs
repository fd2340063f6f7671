// SPDX-License-Identifier: GPL-2.0

//! What the entries of a histogram are sorted by, from the text of a command.

use super::{
    error::{
        refuse,
        HistErrno,
        HistErrorKind,
        Log, //
    },
    plan::{
        Plan,
        SortField,
        SortKey,
        MOST_SORTS, //
    }, //
};

impl Plan {
    /// Resolves what entries are sorted by.
    ///
    /// # Errors
    ///
    /// Those of [`HistErrorKind`].
    pub(super) fn add_sorts(
        &mut self,
        sort: &[u8],
        text: &[u8],
        log: &mut Log<'_>,
    ) -> Result<(), HistErrno> {
        let mut items = sort.split(|byte| *byte == b',').peekable();
        let mut count = 0u8;
        while let Some(item) = items.next() {
            if item.is_empty() {
                return Err(refuse(log, HistErrorKind::EmptySortField, b"sort="));
            }
            if usize::from(count).saturating_add(1) == MOST_SORTS && items.peek().is_some() {
                return Err(refuse(log, HistErrorKind::TooManySortFields, b"sort="));
            }
            let key = self.sort_key(item, text, log)?;
            if let Some(place) = self.sorts.get_mut(usize::from(count)) {
                *place = key;
            }
            count = count.saturating_add(1);
        }
        self.sort_count = count;
        Ok(())
    }

    fn sort_key(&self, item: &[u8], text: &[u8], log: &mut Log<'_>) -> Result<SortKey, HistErrno> {
        let hitcount = |descending| SortKey {
            field: SortField::HitCount,
            descending,
        };
        match item {
            b"hitcount" | b"hitcount.ascending" => return Ok(hitcount(false)),
            b"hitcount.descending" => return Ok(hitcount(true)),
            _ => {}
        }
        // What the line of a trigger shows is taken as well: there fields have their modifiers.
        let whole = self.fields().find_map(|(field, node)| {
            let rest = self.strip_field(node, text, item)?;
            let descending = match rest {
                b"" | b".ascending" => false,
                b".descending" => true,
                _ => return None,
            };
            Some(SortKey { field, descending })
        });
        if let Some(key) = whole {
            return Ok(key);
        }
        let mut parts = item.splitn(2, |byte| *byte == b'.');
        let (name, word) = (parts.next().unwrap_or_default(), parts.next());
        if name.is_empty() {
            return Err(refuse(log, HistErrorKind::EmptySortField, b"sort="));
        }
        let field = match name {
            b"hitcount" => Some(SortField::HitCount),
            _ => self
                .fields()
                .find(|(_, node)| self.is_called(*node, text, name))
                .map(|(field, _)| field),
        };
        let Some(field) = field else {
            return Err(refuse(log, HistErrorKind::BadSortField, name));
        };
        let descending = match word {
            None | Some(b"ascending") => false,
            Some(b"descending") => true,
            Some(word) => return Err(refuse(log, HistErrorKind::BadSortModifier, word)),
        };
        Ok(SortKey { field, descending })
    }

    /// Returns what can be sorted by besides the count of events, values first.
    fn fields(&self) -> impl Iterator<Item = (SortField, u8)> + '_ {
        let values = (0..).zip(self.values());
        let keys = (0..).zip(self.keys());
        values
            .map(|(at, node)| (SortField::Value(at), *node))
            .chain(keys.map(|(at, key)| (SortField::Key(at), key.node)))
    }
}
