// SPDX-License-Identifier: GPL-2.0

//! What entries keep, as the text of a histogram shows it.

use super::{
    action::Deed,
    expr::NameSpan,
    plan::Plan,
    print::{
        write_text,
        HistNames, //
    },
    sort::SortRow,
    track::Track, //
};
use crate::text::writer::ByteWrite;
use core::fmt;

impl Plan {
    /// Writes a line for each number that is followed, with the fields of `save`.
    pub(super) fn write_kept(
        &self,
        text: &[u8],
        row: SortRow<'_>,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let tracks = || self.kept.parts(row.kept);
        let saved = tracks().find(|(track, _)| track.deed == Deed::Save);
        // Those of snapshots are told for all entries together.
        for (track, words) in tracks().filter(|(track, _)| track.deed != Deed::Snapshot) {
            let number = words.get(1).copied().unwrap_or(0);
            write!(out, "\n\t{}: {number:10}", track.kind.label())?;
            let Some((is_set, words)) = saved.and_then(|(_, words)| words.split_first()) else {
                continue;
            };
            let words = words.get(1..).unwrap_or_default();
            for field in self.kept.saves() {
                let own = field.part(words);
                out.write_str("  ")?;
                out.write_bytes(field.name.text(text))?;
                out.write_str(": ")?;
                let source = self.nodes.atom(field.node).map(|atom| atom.source);
                match source {
                    Some(source) if source.is_text() && *is_set == 0 => {
                        write!(out, "{:<32}", "(null)")?;
                    }
                    Some(source) if source.is_text() => write_text(own, 32, out)?,
                    _ => write!(out, "{:10}", own.first().copied().unwrap_or(0))?,
                }
            }
        }
        Ok(())
    }

    /// Writes by which event a snapshot was taken: its number, and the words of its key and note.
    pub(crate) fn write_taken(
        &self,
        (track, words): (&Track, &[u64]),
        text: &[u8],
        names: &dyn HistNames,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let (number, words) = words.split_first().unwrap_or((&0, &[]));
        let (key, note) = words.split_at_checked(self.key_words()).unwrap_or_default();
        let handler = track.kind.handler();
        let variable = self.variables().get(usize::from(track.variable));
        let variable = variable.map_or(NameSpan::NONE, |variable| variable.name);
        out.write_str("\nSnapshot taken (see tracing/snapshot).  Details:\n")?;
        write!(out, "\ttriggering value {{ {handler}($")?;
        out.write_bytes(variable.text(text))?;
        write!(out, ") }}: {number:10}")?;
        out.write_str("\ttriggered by event with key: ")?;
        let row = SortRow {
            key,
            note,
            sums: &[],
            kept: &[],
        };
        self.write_key(text, row, names, out)?;
        out.write_str("\n")
    }
}
