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
use crate::text::number;

/// Returns what `word` after a field says of the order; `None` for what is unknown.
fn direction(field: SortField, word: Option<&[u8]>) -> Option<SortKey> {
    let (descending, top) = match word {
        None | Some(b"ascending") => (false, None),
        Some(b"descending") => (true, None),
        // Not in ftrace.
        Some(word) => {
            let most = number::parse_c(word.strip_prefix(b"top=")?).ok()?;
            let most = u32::try_from(most).ok().filter(|most| *most != 0)?;
            (true, Some(most))
        }
    };
    Some(SortKey {
        field,
        descending,
        top,
    })
}

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
            top: None,
        };
        match item {
            b"hitcount" | b"hitcount.ascending" => return Ok(hitcount(false)),
            b"hitcount.descending" => return Ok(hitcount(true)),
            _ => {}
        }
        // What the line of a trigger shows is taken as well: there fields have their modifiers.
        let whole = self.fields().find_map(|(field, node)| {
            let rest = self.strip_field(node, text, item)?;
            let word = match rest.split_first() {
                None => None,
                Some((b'.', word)) => Some(word),
                Some(_) => return None,
            };
            direction(field, word)
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
        direction(field, word).ok_or_else(|| {
            let word = word.unwrap_or_default();
            refuse(log, HistErrorKind::BadSortModifier, word)
        })
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
