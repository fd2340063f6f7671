// SPDX-License-Identifier: GPL-2.0

//! A command, checked against an event: what its key, its values and its order are made of.

use super::{
    action::{
        HistAction,
        MOST_ACTIONS, //
    },
    command::HistCommand,
    error::{
        HistErrno,
        HistErrorKind,
        Log, //
    },
    expr::{
        split_tally,
        ExprParser,
        ExprSource,
        Modifier,
        NameSpan,
        NamedFields,
        Nodes,
        Role, //
    },
    keys::{
        KeyField,
        Keys,
        MOST_KEYS, //
    },
    load::NumberLoad,
    matched::MatchedEvents,
    sort::SortRow,
    tally::{
        Tallies,
        MOST_VALUES, //
    },
    track::KeptFields,
    variable::{
        Assignment,
        Reference,
        References,
        VariableShape,
        MOST_TEXTS,
        MOST_VARIABLES, //
    }, //
};

/// Most values that are sums, without the count of events.
pub(crate) const MOST_SUMS: usize = 2;
/// The items of `vals=` that are looked at for them: one may be the count of events.
const MOST_SUM_ITEMS: usize = MOST_SUMS + 1;
/// Most fields by which entries are sorted.
pub(crate) const MOST_SORTS: usize = 2;
/// Most callers of a key that is a stack.
pub(crate) const DEPTH: usize = 31;
/// Bytes of the name of a task.
pub(crate) const COMM: usize = 16;
/// A variable that it sets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HistVariable {
    pub(crate) name: NameSpan,
    pub(crate) node: u8,
    /// How writers get it, if it is a number.
    pub(crate) load: NumberLoad,
    /// Of a string or a stack: which one of these it is, from 1.
    pub(crate) text: u8,
    /// Words of its value.
    pub(crate) words: u8,
}

/// What entries are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SortField {
    #[default]
    HitCount,
    Value(u8),
    Key(u8),
}

/// One of the things that entries are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SortKey {
    pub(crate) field: SortField,
    pub(crate) descending: bool,
    /// How many entries are shown, if not all: the largest ones.
    pub(crate) top: Option<u32>,
}

/// A histogram's plan. The text of the command, of which it has parts, goes with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) nodes: Nodes,
    pub(super) references: References,
    variables: [HistVariable; MOST_VARIABLES],
    variable_count: u8,
    /// Whether it has variables, references or actions.
    linked: bool,
    actions: [NameSpan; MOST_ACTIONS],
    /// What its actions have entries keep.
    pub(crate) kept: KeptFields,
    keys: [KeyField; MOST_KEYS],
    key_count: u8,
    values: [u8; MOST_VALUES],
    value_count: u8,
    /// How many of them writers add up by `value_loads`.
    sum_count: u8,
    /// What is kept of values, if one of them is no sum.
    pub(super) tallies: Tallies,
    pub(super) sorts: [SortKey; MOST_SORTS],
    pub(super) sort_count: u8,
    /// How writers get the keys that are numbers, and the values.
    key_loads: [NumberLoad; MOST_KEYS],
    value_loads: [NumberLoad; MOST_SUMS],
    /// Words of the key of an entry.
    key_words: u16,
    /// Whether the first of them is their number: keys differ in length.
    variable: bool,
    /// Whether each entry has the name of a task.
    pub(crate) execname: bool,
    /// Whether times count microseconds.
    pub(crate) usecs: bool,
    pub(crate) timestamps: bool,
    /// The size as a power of 2, and whether it is only that at first.
    pub(crate) size_bits: u32,
    pub(crate) grows: bool,
    pub(crate) no_hitcount: bool,
    pub(crate) clock: Option<NameSpan>,
    pub(crate) name: Option<NameSpan>,
}

/// Returns those assignments that are there.
fn named<'a>(all: &'a [Assignment<'a>]) -> impl Iterator<Item = &'a Assignment<'a>> {
    all.iter()
        .filter(|own| !own.name.is_empty() || !own.value.is_empty())
}

/// Parses a variable.
fn variable(
    own: &Assignment<'_>,
    remove: bool,
    parser: &mut ExprParser<'_, '_>,
) -> Result<HistVariable, HistErrno> {
    if !remove && parser.fields.has_variable(own.name) {
        return Err(parser.refuse(HistErrorKind::VariableExists, own.name));
    }
    let node = parser.expression(own.value, Role::Variable)?;
    if let Some(atom) = parser.nodes.atom(node) {
        if matches!(atom.modifier, Modifier::Buckets(_) | Modifier::Log2) {
            return Err(parser.refuse(HistErrorKind::BadModifier, own.value));
        }
        // A variable has the name alone.
        if atom.modifier == Modifier::Execname {
            parser.nodes.name_task(node);
        }
    }
    Ok(HistVariable {
        name: NameSpan::of(parser.text, own.name),
        node,
        load: NumberLoad::of(parser.nodes, node),
        text: 0,
        words: 1,
    })
}

/// Parses the values. Returns their nodes, and how many there are.
fn values(
    command: &HistCommand<'_>,
    parser: &mut ExprParser<'_, '_>,
) -> Result<([u8; MOST_VALUES], u8), HistErrno> {
    let (mut values, mut count) = ([0; MOST_VALUES], 0u8);
    let mut hitcount = false;
    let mut result = Ok(());
    if let Some(text) = command.values {
        let (mut looked_at, mut sums, mut beyond) = (0usize, 0usize, 0usize);
        for item in text.split(|byte| *byte == b',') {
            if split_tally(item).1 == Modifier::None {
                // As in ftrace: three items, of which a first `hitcount` is none, or two others, and then another
                // `hitcount` without a word about it.
                if looked_at == MOST_SUM_ITEMS || sums == MOST_SUMS {
                    beyond = beyond.saturating_add(1);
                    if beyond > 1 || item != b"hitcount" {
                        result = Err(HistErrno::Inval);
                    }
                    continue;
                }
                looked_at = looked_at.saturating_add(1);
                if item == b"hitcount" && !hitcount {
                    hitcount = true;
                    continue;
                }
                sums = sums.saturating_add(1);
            }
            let node = parser.expression(item, Role::Value)?;
            check_value(node, item, parser)?;
            match values.get_mut(usize::from(count)) {
                Some(place) => *place = node,
                None => return Err(HistErrno::Inval),
            }
            count = count.saturating_add(1);
        }
    }
    if count == 0 && command.no_hitcount {
        (parser.log)(HistErrorKind::ValueNeeded, b"");
        return Err(HistErrno::NoEnt);
    }
    result.map(|()| (values, count))
}

fn check_value(node: u8, item: &[u8], parser: &mut ExprParser<'_, '_>) -> Result<(), HistErrno> {
    let Some(atom) = parser.nodes.atom(node) else {
        return Ok(());
    };
    match (atom.source, atom.modifier) {
        (ExprSource::Stack | ExprSource::StackAt(_), _)
        | (
            _,
            Modifier::Buckets(_)
            | Modifier::Log2
            | Modifier::Sym
            | Modifier::SymOffset
            | Modifier::Syscall,
        ) => Err(parser.refuse(HistErrorKind::BadModifier, item)),
        // ftrace adds up their addresses.
        (source, _) if source.is_text() => Err(parser.refuse(HistErrorKind::StringOperand, item)),
        (ExprSource::HitCount, modifier) if modifier.is_tally() => {
            Err(parser.refuse(HistErrorKind::BadModifier, item))
        }
        _ => Ok(()),
    }
}

impl Plan {
    /// Returns one of nothing, for [`Self::resolve`].
    pub(crate) const fn new() -> Self {
        const KEY: KeyField = KeyField {
            node: 0,
            at: 0,
            words: 0,
            bytes: 0,
        };
        const VARIABLE: HistVariable = HistVariable {
            name: NameSpan::NONE,
            node: 0,
            load: NumberLoad::NONE,
            text: 0,
            words: 0,
        };
        const SORT: SortKey = SortKey {
            field: SortField::HitCount,
            descending: false,
            top: None,
        };
        Self {
            nodes: Nodes::new(),
            references: References::new(),
            variables: [VARIABLE; MOST_VARIABLES],
            variable_count: 0,
            linked: false,
            actions: [NameSpan::NONE; MOST_ACTIONS],
            kept: KeptFields::new(),
            keys: [KEY; MOST_KEYS],
            key_count: 0,
            values: [0; MOST_VALUES],
            value_count: 0,
            sum_count: 0,
            tallies: Tallies::new(),
            sorts: [SORT; MOST_SORTS],
            sort_count: 1,
            key_loads: [NumberLoad::NONE; MOST_KEYS],
            value_loads: [NumberLoad::NONE; MOST_SUMS],
            key_words: 0,
            variable: false,
            execname: false,
            usecs: false,
            timestamps: false,
            size_bits: 0,
            grows: false,
            no_hitcount: false,
            clock: None,
            name: None,
        }
    }

    /// Resolves a command, whose parts are parts of `text`, for the event with these fields. With `remove` its
    /// variables may be there.
    ///
    /// It is called once, for a new plan. A plan is large: it is made where it stays.
    ///
    /// # Errors
    ///
    /// Those of [`HistErrorKind`], with ftrace's numbers.
    pub(crate) fn resolve(
        &mut self,
        command: &HistCommand<'_>,
        text: &[u8],
        fields: &dyn NamedFields,
        remove: bool,
        log: &mut Log<'_>,
    ) -> Result<(), HistErrno> {
        self.no_hitcount = command.no_hitcount;
        self.clock = command.clock.map(|clock| NameSpan::of(text, clock));
        self.name = command.name.map(|name| NameSpan::of(text, name));
        for (place, item) in self.actions.iter_mut().zip(command.actions()) {
            HistAction::parse(item, &|system, event| fields.has_event(system, event), log)?;
            *place = NameSpan::of(text, item);
        }
        let own = command.variables(log)?;
        let matched = MatchedEvents::of(&self.actions, text);
        let added = (&mut self.nodes, &mut self.references);
        let mut parser = ExprParser::new(text, fields, log, added, (&own, matched));
        (self.values, self.value_count) = values(command, &mut parser)?;
        for (place, own) in self.variables.iter_mut().zip(named(&own)) {
            *place = variable(own, remove, &mut parser)?;
            self.variable_count = self.variable_count.saturating_add(1);
        }
        let keys = Keys::parse(command.keys, &mut parser)?;
        (self.keys, self.key_count) = (keys.keys, keys.count);
        (self.key_words, self.variable) = (keys.words, keys.variable);
        self.execname = keys.execname;
        self.number_texts()?;
        self.tallies = Tallies::of(&self.nodes, self.values());
        self.size_bits = command.size_bits.unwrap_or(self.tallies.usual_bits());
        self.see_times();
        self.linked = self.variable_count != 0
            || !self.references.all().is_empty()
            || self.actions.iter().any(|item| !item.is_empty());
        self.grows = command.grows;
        // A variable is set in the entry that a key has by then.
        if self.grows && self.linked {
            return Err(HistErrno::Inval);
        }
        if let Some(sort) = command.sort {
            self.add_sorts(sort, text, log)?;
        }
        for (place, key) in self.key_loads.iter_mut().zip(&self.keys) {
            *place = NumberLoad::of(&self.nodes, key.node);
        }
        for (place, node) in self.value_loads.iter_mut().zip(&self.values) {
            *place = NumberLoad::of(&self.nodes, *node);
        }
        // Else the tallies have them.
        if self.tallies.is_empty() {
            self.sum_count = self.value_count;
        }
        Ok(())
    }

    /// Numbers the variables that are strings and stacks.
    ///
    /// # Errors
    ///
    /// `Inval` for too many.
    fn number_texts(&mut self) -> Result<(), HistErrno> {
        let mut texts = 0u8;
        let mut at = 0usize;
        while let Some(variable) = self.variables().get(at).copied() {
            if self.nodes.shape(variable.node).is_text() {
                texts = texts.saturating_add(1);
                let words = self.value_words(variable.node) as u8;
                if let Some(place) = self.variables.get_mut(at) {
                    (place.text, place.words) = (texts, words);
                }
            }
            at = at.saturating_add(1);
        }
        match usize::from(texts) > MOST_TEXTS {
            true => Err(HistErrno::Inval),
            false => Ok(()),
        }
    }

    /// Returns its variables that are strings and stacks.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &HistVariable> {
        self.variables()
            .iter()
            .filter(|variable| variable.text != 0)
    }

    /// Returns how many of its references are to strings and stacks.
    pub(crate) fn referred_texts(&self) -> u8 {
        self.references.texts()
    }

    /// Notes how its expressions use times.
    pub(super) fn see_times(&mut self) {
        let nodes = &self.nodes;
        let atoms = || (0..nodes.len()).filter_map(|at| nodes.atom(at));
        let times = || atoms().filter(|atom| atom.source == ExprSource::Timestamp);
        self.timestamps = times().next().is_some();
        self.usecs = times().any(|atom| atom.modifier == Modifier::Usecs);
    }

    /// Returns which one of its variables is called `name`.
    pub(crate) fn own_variable(&self, text: &[u8], name: &[u8]) -> Option<u8> {
        let is_it = |own: &HistVariable| own.name.text(text) == name;
        let at = self.variables().iter().position(is_it)?;
        u8::try_from(at).ok()
    }

    /// Returns the number that a variable is for all events, if it is one.
    pub(crate) fn variable_constant(&self, at: u8) -> Option<u64> {
        let variable = self.variables().get(usize::from(at))?;
        self.nodes.constant(variable.node)
    }

    /// Returns the events that its actions wait for.
    pub(super) fn matched<'t>(&self, text: &'t [u8]) -> MatchedEvents<'t> {
        MatchedEvents::of(&self.actions, text)
    }

    /// Returns what is known of the numbers of a variable.
    pub(crate) fn variable_shape(&self, at: u8) -> VariableShape {
        let variable = self.variables().get(usize::from(at));
        self.nodes
            .shape(variable.map_or(0, |variable| variable.node))
    }

    /// Returns its variables.
    pub(crate) fn variables(&self) -> &[HistVariable] {
        let all = self.variables.get(..usize::from(self.variable_count));
        all.unwrap_or_default()
    }

    /// Returns its references, in the order in which they are resolved.
    pub(crate) fn references(&self) -> &[Reference] {
        self.references.all()
    }

    /// Returns its actions, whose texts are parts of `text`.
    pub(crate) fn actions<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = HistAction<'t>> {
        (0..MOST_ACTIONS).map_while(|at| self.action(at, text))
    }

    /// Returns one of them.
    pub(crate) fn action<'t>(&self, at: usize, text: &'t [u8]) -> Option<HistAction<'t>> {
        HistAction::parsed(*self.actions.get(at)?, text)
    }

    /// Returns whether it has variables, references or actions.
    #[inline(always)]
    pub(crate) fn is_linked(&self) -> bool {
        self.linked
    }

    /// Returns whether entries are those of tasks by name, and have nothing but sums.
    pub(crate) fn is_by_name(&self) -> bool {
        let is_name = match self.keys() {
            [key] => matches!(self.nodes.source(key.node), Some(ExprSource::Comm)),
            _ => false,
        };
        is_name && self.has_sums_alone()
    }

    /// Returns whether entries have nothing but sums.
    pub(super) fn has_sums_alone(&self) -> bool {
        self.variables().is_empty() && self.tallies.is_empty()
    }

    /// Returns how writers get the keys, if the key is not variable.
    #[inline(always)]
    pub(crate) fn key_loads(&self) -> &[NumberLoad] {
        let loads = self.key_loads.get(..usize::from(self.key_count));
        loads.unwrap_or_default()
    }

    /// Returns how writers get the values, if all of them are sums.
    #[inline(always)]
    pub(crate) fn value_loads(&self) -> &[NumberLoad] {
        let loads = self.value_loads.get(..usize::from(self.sum_count));
        loads.unwrap_or_default()
    }

    /// Returns the keys.
    pub(crate) fn keys(&self) -> &[KeyField] {
        self.keys
            .get(..usize::from(self.key_count))
            .unwrap_or_default()
    }

    /// Returns the nodes of the values.
    pub(crate) fn values(&self) -> &[u8] {
        self.values
            .get(..usize::from(self.value_count))
            .unwrap_or_default()
    }

    /// Returns what entries are sorted by.
    pub(crate) fn sorts(&self) -> &[SortKey] {
        self.sorts
            .get(..usize::from(self.sort_count))
            .unwrap_or_default()
    }

    /// Returns the number of words of the key of an entry.
    pub(crate) fn key_words(&self) -> usize {
        self.key_words.into()
    }

    /// Returns whether a key may be one of another plan.
    pub(crate) fn has_keys_like(&self, other: &Self) -> bool {
        (self.key_words, self.variable) == (other.key_words, other.variable)
    }

    /// Returns whether the first word of a key is the number of its words.
    pub(crate) fn is_variable(&self) -> bool {
        self.variable
    }

    /// Returns the number of words of the name of a task in an entry.
    pub(crate) fn note_words(&self) -> usize {
        match self.execname {
            true => COMM / 8,
            false => 0,
        }
    }

    /// Returns the number of sums of an entry, the count of events included.
    pub(crate) fn sums(&self) -> usize {
        match self.tallies.is_empty() {
            true => usize::from(self.value_count).saturating_add(1),
            false => self.tallies.words(),
        }
    }

    /// Returns how many of them, after the count of events, are raised instead of added to.
    pub(crate) fn raised(&self) -> usize {
        self.tallies.raised()
    }

    /// Returns the number of words that a row has of them.
    pub(crate) fn row_sums(&self) -> usize {
        match self.tallies.is_empty() {
            true => self.sums(),
            false => self.tallies.row_words(),
        }
    }

    /// Returns whether one of its values is no sum.
    pub(crate) fn has_tallies(&self) -> bool {
        !self.tallies.is_empty()
    }

    /// Returns what a row has of a value.
    pub(super) fn row_value<'r>(&self, row: SortRow<'r>, value: usize) -> &'r [u64] {
        let at = match self.tallies.shown(value) {
            Some((_, at)) => at,
            None => value.saturating_add(1),
        };
        row.sums.get(at..).unwrap_or_default()
    }

    /// Returns how many of the entries are shown, of so many.
    pub(crate) fn most_shown(&self, entries: usize) -> usize {
        let most = self.sorts().iter().find_map(|key| key.top);
        most.map_or(entries, |most| entries.min(most as usize))
    }
}
