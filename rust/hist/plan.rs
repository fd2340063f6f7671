// SPDX-License-Identifier: GPL-2.0

//! A command, checked against an event: what its key, its values and its order are made of.

use super::{
    action::{
        HistAction,
        HistHandler,
        MOST_ACTIONS, //
    },
    command::HistCommand,
    error::{
        refuse,
        HistErrno,
        HistErrorKind,
        Log, //
    },
    expr::{
        ExprNode,
        ExprParser,
        ExprSource,
        Modifier,
        NameSpan,
        NamedFields,
        Nodes,
        NumberAt,
        Role,
        TextAt, //
    },
    track::Kept,
    variable::{
        divide,
        Assignment,
        EventPath,
        NamedVariable,
        Reference,
        References,
        VariableShape,
        MOST_TEXTS,
        MOST_VARIABLES, //
    }, //
};
use crate::event::field_type::FieldType;

/// Most keys.
pub(crate) const MOST_KEYS: usize = 3;
/// Most values, without the count of events.
pub(crate) const MOST_VALUES: usize = 2;
/// Most fields by which entries are sorted.
pub(crate) const MOST_SORTS: usize = 2;
/// Most bytes of a key, as ftrace counts them.
const MOST_BYTES: u32 = 504;
/// What a string without a known length counts there, and has in an entry.
const STRING_BYTES: u32 = 256;
/// Most callers of a key that is a stack.
pub(crate) const DEPTH: usize = 31;
/// Bytes of the name of a task.
pub(crate) const COMM: usize = 16;
/// Most words of a key: those of its bytes, and of its length.
pub(crate) const MOST_WORDS: usize = (MOST_BYTES / 8) as usize + 1;

/// A key.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyField {
    pub(crate) node: u8,
    /// Its first word in the key of an entry, and how many it has.
    pub(crate) at: u16,
    pub(crate) words: u16,
    /// Most bytes of it, for a string.
    pub(crate) bytes: u16,
}

/// What an action gives to a field of a synthetic event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// A variable of the plan itself, as this event sets it.
    Variable(u8),
    /// A reference of the plan.
    Reference(u8, VariableShape),
    /// A node of the plan, which is an atom.
    Node(u8),
}

/// A variable that it sets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HistVariable {
    pub(crate) name: NameSpan,
    pub(crate) node: u8,
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
    pub(crate) kept: Kept,
    keys: [KeyField; MOST_KEYS],
    key_count: u8,
    values: [u8; MOST_VALUES],
    value_count: u8,
    sorts: [SortKey; MOST_SORTS],
    sort_count: u8,
    /// Whether all keys are numbers as records have them: those of `loads`.
    keys_direct: bool,
    /// Whether all keys and values are: the latter are those of `adds`.
    direct: bool,
    /// The one key of a plan that is direct and has nothing else.
    sole: Option<NumberAt>,
    loads: [NumberAt; MOST_KEYS],
    adds: [NumberAt; MOST_VALUES],
    /// Words of the key of an entry.
    key_words: u16,
    /// Whether the first of them is their number: keys differ in length.
    variable: bool,
    /// Whether each entry has the name of a task.
    pub(crate) execname: bool,
    /// Whether times count microseconds.
    pub(crate) usecs: bool,
    pub(crate) timestamps: bool,
    pub(crate) size_bits: u32,
    pub(crate) no_hitcount: bool,
    pub(crate) clock: Option<NameSpan>,
    pub(crate) name: Option<NameSpan>,
}

/// Bytes of a string of a record that count: as in ftrace, the last one of its room is never one of them.
pub(super) fn string_bytes(text: TextAt) -> u32 {
    match text.ty {
        FieldType::Chars => {
            let room = text.size.saturating_add(7) & !7;
            text.size.min(room.saturating_sub(1))
        }
        _ => STRING_BYTES.saturating_sub(1),
    }
}

/// The keys of a plan.
#[derive(Default)]
struct Keys {
    keys: [KeyField; MOST_KEYS],
    count: u8,
    words: u16,
    variable: bool,
    execname: bool,
}

/// Returns those assignments that are there.
fn named<'a>(all: &'a [Assignment<'a>]) -> impl Iterator<Item = &'a Assignment<'a>> {
    all.iter().filter(|own| !own.value.is_empty())
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
    }
    Ok(HistVariable {
        name: NameSpan::of(parser.text, own.name),
        node,
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
        let mut items = text.split(|byte| *byte == b',');
        let most = MOST_VALUES.saturating_add(1);
        // As in ftrace: three items, of which a first `hitcount` is none, or two others.
        for _ in 0..most {
            if usize::from(count) == MOST_VALUES {
                break;
            }
            let Some(item) = items.next() else {
                break;
            };
            if item == b"hitcount" && !hitcount {
                hitcount = true;
                continue;
            }
            let node = parser.expression(item, Role::Value)?;
            check_value(node, item, parser)?;
            if let Some(place) = values.get_mut(usize::from(count)) {
                *place = node;
            }
            count = count.saturating_add(1);
        }
        if items.next().is_some_and(|item| item != b"hitcount") || items.next().is_some() {
            result = Err(HistErrno::Inval);
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
        (ExprSource::Stack, _)
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
        _ => Ok(()),
    }
}

impl Keys {
    fn parse(keys: &[u8], parser: &mut ExprParser<'_, '_>) -> Result<Self, HistErrno> {
        let mut all = Self::default();
        let mut total = 0u32;
        for (index, item) in keys.split(|byte| *byte == b',').enumerate() {
            if index >= MOST_KEYS {
                return Err(HistErrno::Inval);
            }
            let node = parser.expression(item, Role::Key)?;
            if parser.nodes.refers(node) {
                return Err(parser.refuse(HistErrorKind::ReferenceInKey, item));
            }
            let atom = parser.nodes.atom(node);
            let (counted, bytes) = match atom.map(|atom| atom.source) {
                Some(ExprSource::Text(text)) => {
                    let counted = match text.ty {
                        FieldType::Chars => text.size.saturating_add(7) & !7,
                        _ => STRING_BYTES,
                    };
                    (counted, string_bytes(text))
                }
                Some(ExprSource::Comm) => (STRING_BYTES, COMM as u32),
                Some(ExprSource::Stack) => ((DEPTH * 8) as u32, (DEPTH * 8) as u32),
                _ => (8, 8),
            };
            total = total.saturating_add(counted);
            if total > MOST_BYTES {
                return Err(HistErrno::Inval);
            }
            all.variable |= atom.is_some_and(|atom| atom.source.is_text());
            all.execname |= atom.is_some_and(|atom| atom.modifier == Modifier::Execname);
            let words = (bytes.saturating_add(7) / 8) as u16;
            if let Some(place) = all.keys.get_mut(index) {
                *place = KeyField {
                    node,
                    at: all.words,
                    words,
                    bytes: bytes as u16,
                };
            }
            all.words = all.words.saturating_add(words);
            all.count = all.count.saturating_add(1);
        }
        if all.variable {
            // The length comes first.
            all.words = all.words.saturating_add(1);
            for key in &mut all.keys {
                key.at = key.at.saturating_add(1);
            }
        }
        Ok(all)
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
            text: 0,
            words: 0,
        };
        const SORT: SortKey = SortKey {
            field: SortField::HitCount,
            descending: false,
        };
        Self {
            nodes: Nodes::new(),
            references: References::new(),
            variables: [VARIABLE; MOST_VARIABLES],
            variable_count: 0,
            linked: false,
            actions: [NameSpan::NONE; MOST_ACTIONS],
            kept: Kept::new(),
            keys: [KEY; MOST_KEYS],
            key_count: 0,
            values: [0; MOST_VALUES],
            value_count: 0,
            sorts: [SORT; MOST_SORTS],
            sort_count: 1,
            keys_direct: false,
            direct: false,
            sole: None,
            loads: [NumberAt::NONE; MOST_KEYS],
            adds: [NumberAt::NONE; MOST_VALUES],
            key_words: 0,
            variable: false,
            execname: false,
            usecs: false,
            timestamps: false,
            size_bits: 0,
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
        self.size_bits = command.size_bits;
        self.no_hitcount = command.no_hitcount;
        self.clock = command.clock.map(|clock| NameSpan::of(text, clock));
        self.name = command.name.map(|name| NameSpan::of(text, name));
        for (place, item) in self.actions.iter_mut().zip(command.actions()) {
            let action = HistAction::parse(item, log)?;
            if let HistHandler::Match { system, event } = action.handler {
                if !fields.has_event(system, event) {
                    return Err(refuse(log, HistErrorKind::NoSuchEvent, event));
                }
            }
            *place = NameSpan::of(text, item);
        }
        let own = command.variables(log)?;
        let added = (&mut self.nodes, &mut self.references);
        let mut parser = ExprParser::new(text, fields, log, added, &own);
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
        self.see_times();
        self.linked = self.variable_count != 0
            || !self.references.all().is_empty()
            || self.actions.iter().any(|item| !item.is_empty());
        if let Some(sort) = command.sort {
            self.add_sorts(sort, text, log)?;
        }
        self.keys_direct = self.find_keys().is_some();
        self.direct = !self.linked && self.keys_direct && self.find_values().is_some();
        if self.direct && (self.key_count, self.value_count) == (1, 0) {
            self.sole = self.loads.first().copied();
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

    /// Resolves a parameter of an action: a field of the event, a variable of the plan, or one of another plan; it
    /// is of the event `matched`, if the action has one, unless the parameter names another.
    ///
    /// # Errors
    ///
    /// Those of [`HistErrorKind`].
    pub(crate) fn parameter(
        &mut self,
        item: &[u8],
        matched: Option<EventPath<'_>>,
        text: &[u8],
        fields: &dyn NamedFields,
        log: &mut Log<'_>,
    ) -> Result<Parameter, HistErrno> {
        let (event, last) = divide(item);
        if event.is_none() && item.contains(&b'.') {
            return Err(HistErrno::Inval);
        }
        if let Some(name) = last.strip_prefix(b"$") {
            let own = self.own_variable(text, name);
            if let (None, Some(own)) = (event, own) {
                let variable = self.variables().get(usize::from(own));
                let text = variable.filter(|variable| variable.text != 0);
                // It is as the event has it.
                return Ok(text.map_or(Parameter::Variable(own), |text| Parameter::Node(text.node)));
            }
            let NamedVariable::Known(found) = fields.variable(event.or(matched), name) else {
                return Err(refuse(log, HistErrorKind::ParameterNotFound, name));
            };
            let at = self.references.add(found).ok_or(HistErrno::Inval)?;
            return Ok(Parameter::Reference(at, found.shape));
        }
        if event.is_some() {
            // Fields of other events are not kept.
            return Err(HistErrno::Inval);
        }
        let added = (&mut self.nodes, &mut self.references);
        let mut parser = ExprParser::new(text, fields, log, added, &[]);
        let node = parser.expression_of_field(item);
        self.see_times();
        match node {
            Ok(node) => Ok(Parameter::Node(node)),
            Err(why) => {
                log(HistErrorKind::NoFieldVariable, item);
                // In ftrace it may be a field of the other event, which a histogram of the same keys keeps.
                if matched.is_some() {
                    log(HistErrorKind::NoMatchingHistogram, item);
                }
                Err(why)
            }
        }
    }

    /// Returns which one of its variables is called `name`.
    pub(crate) fn own_variable(&self, text: &[u8], name: &[u8]) -> Option<u8> {
        let is_it = |own: &HistVariable| own.name.text(text).as_bytes() == name;
        let at = self.variables().iter().position(is_it)?;
        u8::try_from(at).ok()
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
        let item = self.actions.get(at).filter(|item| !item.is_empty())?;
        // It was parsed before, when errors were told.
        HistAction::parse(item.text(text).as_bytes(), &mut |_, _| {}).ok()
    }

    /// Returns whether it has variables, references or actions.
    #[inline(always)]
    pub(crate) fn is_linked(&self) -> bool {
        self.linked
    }

    /// Finds the numbers that keys are. `None` if one is something else.
    fn find_keys(&mut self) -> Option<()> {
        let keys = self.keys.iter().take(self.key_count.into());
        for (place, key) in self.loads.iter_mut().zip(keys) {
            *place = self.nodes.number(key.node)?;
        }
        Some(())
    }

    /// Finds the numbers that values are. `None` if one is something else.
    fn find_values(&mut self) -> Option<()> {
        let values = self.values.iter().take(self.value_count.into());
        for (place, node) in self.adds.iter_mut().zip(values) {
            *place = self.nodes.number(*node)?;
        }
        Some(())
    }

    /// Returns the keys if they are numbers as records have them.
    #[inline(always)]
    pub(super) fn key_numbers(&self) -> Option<&[NumberAt]> {
        let loads = self.loads.get(..usize::from(self.key_count));
        loads.filter(|_| self.keys_direct)
    }

    /// Returns whether keys and values are numbers as records have them.
    #[inline(always)]
    pub(crate) fn is_direct(&self) -> bool {
        self.direct
    }

    /// Returns the key of such a plan that has one and no values.
    #[inline(always)]
    pub(crate) fn sole_key(&self) -> Option<NumberAt> {
        self.sole
    }

    /// Returns the numbers of such a plan: keys, values.
    #[inline(always)]
    pub(super) fn numbers(&self) -> (&[NumberAt], &[NumberAt]) {
        let loads = self.loads.get(..usize::from(self.key_count));
        let adds = self.adds.get(..usize::from(self.value_count));
        (loads.unwrap_or_default(), adds.unwrap_or_default())
    }

    fn add_sorts(&mut self, sort: &[u8], text: &[u8], log: &mut Log<'_>) -> Result<(), HistErrno> {
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
        usize::from(self.value_count).saturating_add(1)
    }

    /// Returns whether both make the same histogram: ftrace takes the second one for the first. Sizes do not
    /// matter, nor do names for the same thing.
    pub(crate) fn is_same(&self, text: &[u8], other: &Self, other_text: &[u8]) -> bool {
        let same = |(one, two): (&u8, &u8)| self.is_same_node(*one, other, *two);
        let variables = self.variables().len() == other.variables().len();
        let mut pairs = self.variables().iter().zip(other.variables());
        let same_variables = pairs.all(|(one, two)| {
            one.name.text(text) == two.name.text(other_text)
                && self.is_same_node(one.node, other, two.node)
        });
        let same_actions = self.actions(text).eq(other.actions(other_text));
        let keys = self.keys().len() == other.keys().len();
        let values = self.values().len() == other.values().len();
        variables
            && same_variables
            && same_actions
            && keys
            && values
            && self.sorts() == other.sorts()
            && self.values().iter().zip(other.values()).all(same)
            && self
                .keys()
                .iter()
                .zip(other.keys())
                .all(|(one, two)| self.is_same_node(one.node, other, two.node))
    }

    fn is_same_node(&self, at: u8, other: &Self, other_at: u8) -> bool {
        match (self.nodes.get(at), other.nodes.get(other_at)) {
            (ExprNode::Atom(one), ExprNode::Atom(two)) => {
                self.is_same_source(one.source, other, two.source) && one.modifier == two.modifier
            }
            (ExprNode::Binary(op, a, b), ExprNode::Binary(other_op, c, d)) => {
                op == other_op && self.is_same_node(a, other, c) && self.is_same_node(b, other, d)
            }
            (ExprNode::Negated(a), ExprNode::Negated(b)) => self.is_same_node(a, other, b),
            _ => false,
        }
    }

    fn is_same_source(&self, one: ExprSource, other: &Self, two: ExprSource) -> bool {
        let variable = |plan: &Self, at: u8| {
            let reference = plan.references().get(usize::from(at)).copied();
            reference.map(|reference| (reference.hist, reference.variable))
        };
        match (one, two) {
            (ExprSource::Reference(one, _), ExprSource::Reference(two, _)) => {
                variable(self, one) == variable(other, two)
            }
            _ => one == two,
        }
    }
}
