// SPDX-License-Identifier: GPL-2.0

//! What a plan has entries keep: the number that each `onmax` and `onchange` follows, and the fields of
//! `save`.

use super::{
    action::{
        Deed,
        TrackKind,
        MOST_ACTIONS, //
    },
    error::{
        refuse,
        HistErrno,
        HistErrorKind,
        Log, //
    },
    expr::{
        ExprParser,
        NameSpan,
        NamedFields, //
    },
    key::KeyEnv,
    keys::part,
    plan::Plan,
    variable::MOST_VARIABLES, //
};
use crate::ring::port::SharedWord;
use core::ops::Range;

/// Most fields of `save`.
pub(crate) const MOST_SAVES: usize = 14;

/// What an action follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Track {
    /// Which variable of the plan it is.
    pub(crate) variable: u8,
    pub(crate) kind: TrackKind,
    pub(crate) deed: Deed,
}

/// A field that is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SavedField {
    /// As it was written.
    pub(crate) name: NameSpan,
    pub(crate) node: u8,
    /// Its first word among those that are kept with a number, and how many it has.
    pub(crate) at: u16,
    pub(crate) words: u16,
}

impl SavedField {
    /// Returns its words among those that are kept with a number.
    #[inline(always)]
    pub(crate) fn part<'r, W>(&self, kept: &'r [W]) -> &'r [W] {
        part(kept, self.at, self.words)
    }
}

/// What entries keep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptFields {
    tracks: [Track; MOST_ACTIONS],
    track_count: u8,
    saves: [SavedField; MOST_SAVES],
    save_count: u8,
    /// Words of all of them.
    save_words: u16,
}

impl KeptFields {
    /// Returns nothing.
    pub(super) const fn new() -> Self {
        const TRACK: Track = Track {
            variable: 0,
            kind: TrackKind::Maximum,
            deed: Deed::Record,
        };
        const FIELD: SavedField = SavedField {
            name: NameSpan::NONE,
            node: 0,
            at: 0,
            words: 0,
        };
        Self {
            tracks: [TRACK; MOST_ACTIONS],
            track_count: 0,
            saves: [FIELD; MOST_SAVES],
            save_count: 0,
            save_words: 0,
        }
    }

    /// Returns what is followed, in the order of the command.
    pub(crate) fn tracks(&self) -> &[Track] {
        let all = self.tracks.get(..usize::from(self.track_count));
        all.unwrap_or_default()
    }

    /// Returns the fields that `save` names.
    pub(crate) fn saves(&self) -> &[SavedField] {
        let all = self.saves.get(..usize::from(self.save_count));
        all.unwrap_or_default()
    }

    /// Returns the number of words that are kept with the number of a track.
    pub(crate) fn words_with(&self, track: &Track) -> usize {
        match track.deed {
            Deed::Save => self.save_words.into(),
            Deed::Record | Deed::Snapshot => 0,
        }
    }

    /// Returns where the words of each track are in the row of an entry: whether there is something, the number, and
    /// what is kept with it.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&Track, Range<usize>)> {
        let mut at = 0usize;
        self.tracks().iter().map(move |track| {
            let begin = at;
            at = at.saturating_add(2).saturating_add(self.words_with(track));
            (track, begin..at)
        })
    }

    /// Returns the words of each track in `kept`, those of a row.
    pub(super) fn parts<'r>(
        &'r self,
        kept: &'r [u64],
    ) -> impl Iterator<Item = (&'r Track, &'r [u64])> {
        self.places()
            .map(|(track, place)| (track, kept.get(place).unwrap_or_default()))
    }

    /// Returns the number of words of a row for them.
    pub(crate) fn row_words(&self) -> usize {
        self.places().last().map_or(0, |(_, place)| place.end)
    }

    /// Returns whether the words of both are the same.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let words = |kept: &Self, track| kept.words_with(track);
        let mut tracks = self.tracks().iter().zip(other.tracks());
        let place = |field: &SavedField| (field.at, field.words);
        let mut saves = self.saves().iter().zip(other.saves());
        self.tracks().len() == other.tracks().len()
            && self.saves().len() == other.saves().len()
            && tracks.all(|(one, two)| words(self, one) == words(other, two))
            && saves.all(|(one, two)| place(one) == place(two))
    }

    /// Returns the variables that ftrace would make for them.
    fn variables(&self) -> usize {
        self.tracks().len().saturating_add(self.saves().len())
    }
}

impl Plan {
    /// Adds what an action follows: a variable of the plan, which is written with its `$`.
    ///
    /// # Errors
    ///
    /// Those of [`HistErrorKind`], and `Inval` for too many.
    pub(crate) fn add_track(
        &mut self,
        (variable_text, kind, deed): (&[u8], TrackKind, Deed),
        text: &[u8],
        log: &mut Log<'_>,
    ) -> Result<u8, HistErrno> {
        let Some(name) = variable_text.strip_prefix(b"$") else {
            return Err(refuse(log, HistErrorKind::NotAVariable, variable_text));
        };
        let Some(variable) = self.own_variable(text, name) else {
            return Err(refuse(log, HistErrorKind::TrackedNotFound, name));
        };
        if self.variable_shape(variable).is_text() {
            // ftrace compares where its copies are.
            return Err(refuse(log, HistErrorKind::NotAVariable, variable_text));
        }
        let saves = deed == Deed::Save;
        if saves && self.kept.tracks().iter().any(|track| track.deed == deed) {
            log(HistErrorKind::TooManySaves, b"");
            return Err(HistErrno::Exist);
        }
        self.has_room()?;
        let at = self.kept.track_count;
        let place = self.kept.tracks.get_mut(usize::from(at));
        *place.ok_or(HistErrno::Inval)? = Track {
            variable,
            kind,
            deed,
        };
        self.kept.track_count = at.saturating_add(1);
        Ok(at)
    }

    /// Returns whether more than one of its actions takes snapshots.
    pub(crate) fn takes_more_snapshots(&self) -> bool {
        let tracks = self.kept.tracks().iter();
        tracks.filter(|track| track.deed == Deed::Snapshot).count() > 1
    }

    /// Returns whether an entry may have one more variable.
    fn has_room(&self) -> Result<(), HistErrno> {
        let used = self.variables().len();
        match used.saturating_add(self.kept.variables()) < MOST_VARIABLES {
            true => Ok(()),
            false => Err(HistErrno::Inval),
        }
    }

    /// Adds a field of `save`.
    ///
    /// # Errors
    ///
    /// Those of [`HistErrorKind`].
    pub(crate) fn add_save(
        &mut self,
        item: &[u8],
        text: &[u8],
        fields: &dyn NamedFields,
        log: &mut Log<'_>,
    ) -> Result<(), HistErrno> {
        let node = self.saved_node(item, text, fields, log);
        let node = node.and_then(|node| self.push_save(item, node, text));
        node.inspect_err(|_| log(HistErrorKind::NoSavedField, item))
    }

    fn saved_node(
        &mut self,
        item: &[u8],
        text: &[u8],
        fields: &dyn NamedFields,
        log: &mut Log<'_>,
    ) -> Result<u8, HistErrno> {
        let node = {
            let matched = self.matched(text);
            let added = (&mut self.nodes, &mut self.references);
            let mut parser = ExprParser::new(text, fields, log, added, (&[], matched));
            parser.expression_of_field(item)
        };
        self.see_times();
        let node = node.inspect_err(|_| log(HistErrorKind::NoFieldVariable, item))?;
        if self.is_taken(item, text, fields) {
            return Err(refuse(log, HistErrorKind::NoVariableMade, item));
        }
        Ok(node)
    }

    fn push_save(&mut self, item: &[u8], node: u8, text: &[u8]) -> Result<(), HistErrno> {
        self.has_room()?;
        let atom = self.nodes.atom(node);
        // ftrace would show where its copy is.
        if atom.is_some_and(|atom| atom.source.is_stack()) {
            return Err(HistErrno::Inval);
        }
        let words = self.value_words(node);
        let at = self.kept.save_words;
        let place = self.kept.saves.get_mut(usize::from(self.kept.save_count));
        *place.ok_or(HistErrno::Inval)? = SavedField {
            name: NameSpan::of(text, item),
            node,
            at,
            words: words as u16,
        };
        self.kept.save_count = self.kept.save_count.saturating_add(1);
        self.kept.save_words = at.saturating_add(words as u16);
        Ok(())
    }

    /// Writes the fields of `save` that an event has into the words that are kept with a number. Any context.
    pub(crate) fn save<W: SharedWord>(&self, record: &[u8], env: &impl KeyEnv, room: &[W]) {
        for field in self.kept.saves() {
            self.store(field.node, record, env, field.part(room));
        }
    }
}
