// SPDX-License-Identifier: GPL-2.0

//! Expressions of keys and values: from text to nodes.
//!
//! They are divided at the last operator of the lowest precedence, and so evaluated from left to right.
//! There are no parentheses but those of a minus before all of it, and at most three operators.

use super::{
    error::{
        refuse,
        HistErrno,
        HistErrorKind,
        Log, //
    },
    matched::MatchedEvents,
    variable::{
        divide,
        Assignment,
        EventPath,
        NamedVariable,
        References,
        VariableKind,
        VariableShape, //
    }, //
};
use crate::{
    event::field_type::FieldType,
    text::number, //
};
use core::str;

/// Most operators of an expression.
const MOST_OPERATORS: u32 = 3;
/// Most nodes of a plan: those of seven expressions, each of four atoms and three operators; most are smaller.
pub(crate) const MOST_NODES: usize = 49;

/// What ftrace says of the name of a task.
const COMM_SIZE: u16 = 256;

/// A part of the text of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameSpan {
    at: u16,
    len: u16,
}

impl NameSpan {
    /// Stands for no part.
    pub(crate) const NONE: Self = Self { at: 0, len: 0 };

    /// Returns whether it is no part.
    pub(crate) fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns where `part` is in `text`, of which it is a part.
    pub(crate) fn of(text: &[u8], part: &[u8]) -> Self {
        let at = part.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
        Self {
            at: at as u16,
            len: part.len() as u16,
        }
    }

    /// Returns the part of `text`. Names of histograms and variables are any bytes, as in ftrace.
    pub(crate) fn text(self, text: &[u8]) -> &[u8] {
        let end = usize::from(self.at).saturating_add(self.len.into());
        text.get(self.at.into()..end).unwrap_or_default()
    }
}

/// What a name of an event stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DescribedName {
    pub(crate) ty: FieldType,
    pub(crate) offset: u32,
    pub(crate) size: u32,
    pub(crate) signed: bool,
}

/// The fields of an event, the common ones included.
pub(crate) trait NamedFields {
    /// Returns the field called `name`.
    fn field(&self, name: &str) -> Option<DescribedName>;

    /// Returns the variable called `name`, of this event or of any.
    fn variable(&self, _event: Option<EventPath<'_>>, _name: &[u8]) -> NamedVariable {
        NamedVariable::Unknown
    }

    /// Returns whether this event has that name.
    fn is_event(&self, _event: EventPath<'_>) -> bool {
        false
    }

    /// Returns whether there is an event of that name.
    fn has_event(&self, _system: &[u8], _name: &[u8]) -> bool {
        true
    }

    /// Returns whether this event has a variable called `name`.
    fn has_variable(&self, _name: &[u8]) -> bool {
        false
    }
}

/// A number in a record: one word that is loaded, and shifted twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlacedNumber {
    /// Where the word begins that ends with the number, or at the beginning of the record.
    pub(crate) start: u32,
    pub(crate) up: u8,
    pub(crate) down: u8,
    pub(crate) signed: bool,
    /// Whether it is the address of a string, by which ftrace sorts as if it were that string.
    pub(crate) pointer: bool,
}

impl PlacedNumber {
    /// Stands for no number.
    pub(super) const NONE: Self = Self {
        start: 0,
        up: 0,
        down: 0,
        signed: false,
        pointer: false,
    };

    /// Returns what is known of it.
    fn shape(self) -> VariableShape {
        VariableShape {
            signed: self.signed,
            ..VariableShape::unsigned(8u16.saturating_sub((self.down / 8).into()))
        }
    }
}

/// A string in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlacedText {
    pub(crate) ty: FieldType,
    pub(crate) offset: u32,
    pub(crate) size: u32,
}

/// The source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExprSource {
    Constant(u64),
    /// 1 for each event.
    HitCount,
    Timestamp,
    Cpu,
    Comm,
    /// The callers of the code that the event is in.
    Stack,
    Number(PlacedNumber),
    Text(PlacedText),
    /// The callers that a field at this offset of the record has.
    StackAt(u32),
    /// The reference of the plan that has this place.
    Reference(u8, VariableShape),
}

impl ExprSource {
    /// Returns whether it is a stack.
    pub(super) fn is_stack(self) -> bool {
        match self {
            Self::Stack | Self::StackAt(_) => true,
            Self::Reference(_, shape) => shape.kind == VariableKind::Stack,
            _ => false,
        }
    }

    /// Returns whether it is no number: a string or a stack.
    pub(crate) fn is_text(self) -> bool {
        match self {
            Self::Text(_) | Self::Comm | Self::Stack | Self::StackAt(_) => true,
            Self::Reference(_, shape) => shape.is_text(),
            _ => false,
        }
    }
}

/// How a value is changed before it counts, or how it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modifier {
    None,
    Hex,
    Signed,
    Sym,
    SymOffset,
    Execname,
    Syscall,
    Log2,
    Buckets(u64),
    Usecs,
    Percent,
    Graph,
    Min,
    Max,
    Avg,
    Quantiles,
}

impl Modifier {
    /// Returns its name; nothing for none. The divisor of buckets comes after it.
    pub(crate) const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::None => return None,
            Self::Hex => "hex",
            Self::Signed => "signed",
            Self::Sym => "sym",
            Self::SymOffset => "sym-offset",
            Self::Execname => "execname",
            Self::Syscall => "syscall",
            Self::Log2 => "log2",
            Self::Buckets(_) => "buckets",
            Self::Usecs => "usecs",
            Self::Percent => "percent",
            Self::Graph => "graph",
            Self::Min => "min",
            Self::Max => "max",
            Self::Avg => "avg",
            Self::Quantiles => "quantiles",
        })
    }
}

/// A field or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Atom {
    pub(crate) source: ExprSource,
    pub(crate) modifier: Modifier,
    /// What it is called, as it was written; empty for a number.
    pub(crate) name: NameSpan,
}

/// An operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExprOp {
    Plus,
    Minus,
    Times,
    Over,
}

impl ExprOp {
    /// Returns what it looks like.
    pub(crate) const fn sign(self) -> char {
        match self {
            Self::Plus => '+',
            Self::Minus => '-',
            Self::Times => '*',
            Self::Over => '/',
        }
    }

    /// Returns the result, wrapping. A division by 0 gives what it gives in ftrace.
    pub(crate) fn of(self, left: u64, right: u64) -> u64 {
        match self {
            Self::Plus => left.wrapping_add(right),
            Self::Minus => left.wrapping_sub(right),
            Self::Times => left.wrapping_mul(right),
            Self::Over => left.checked_div(right).unwrap_or(u64::MAX),
        }
    }
}

/// A node of an expression; its operands are nodes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExprNode {
    Atom(Atom),
    Binary(ExprOp, u8, u8),
    Negated(u8),
}

/// The expressions of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nodes {
    nodes: [ExprNode; MOST_NODES],
    used: u8,
}

impl Nodes {
    const UNUSED: ExprNode = ExprNode::Negated(0);

    /// Returns none.
    pub(crate) const fn new() -> Self {
        Self {
            nodes: [Self::UNUSED; MOST_NODES],
            used: 0,
        }
    }

    /// Returns a node.
    pub(crate) fn get(&self, at: u8) -> ExprNode {
        *self.node(at)
    }

    /// Returns a node where it is, for writers: it is large.
    #[inline(always)]
    pub(super) fn node(&self, at: u8) -> &ExprNode {
        self.nodes.get(usize::from(at)).unwrap_or(&Self::UNUSED)
    }

    /// Returns the source of the atom where it is, for writers, if the node is one.
    #[inline(always)]
    pub(crate) fn source(&self, at: u8) -> Option<&ExprSource> {
        match self.node(at) {
            ExprNode::Atom(atom) => Some(&atom.source),
            _ => None,
        }
    }

    /// Returns whether the value of one of them is the stack.
    pub(crate) fn have_stack(&self) -> bool {
        (0..self.used).any(|at| self.source(at) == Some(&ExprSource::Stack))
    }

    /// Returns the number of nodes.
    pub(crate) fn len(&self) -> u8 {
        self.used
    }

    fn push(&mut self, node: ExprNode) -> Result<u8, HistErrno> {
        let at = self.used;
        *self
            .nodes
            .get_mut(usize::from(at))
            .ok_or(HistErrno::Inval)? = node;
        self.used = at.saturating_add(1);
        Ok(at)
    }

    /// Returns the atom, if the node is one.
    pub(crate) fn atom(&self, at: u8) -> Option<Atom> {
        match self.get(at) {
            ExprNode::Atom(atom) => Some(atom),
            _ => None,
        }
    }

    /// Returns the atom with which an expression begins, which it may be itself.
    pub(crate) fn first(&self, at: u8) -> Option<Atom> {
        match self.get(at) {
            ExprNode::Atom(atom) => Some(atom),
            ExprNode::Binary(_, inner, _) | ExprNode::Negated(inner) if inner < at => {
                self.first(inner)
            }
            _ => None,
        }
    }

    /// Returns whether the numbers of an expression are signed: those of its first operand are.
    pub(crate) fn is_signed(&self, at: u8) -> bool {
        match self.get(at) {
            ExprNode::Atom(atom) => match atom.source {
                ExprSource::Number(number) => number.signed,
                ExprSource::Reference(_, shape) => shape.signed,
                _ => false,
            },
            ExprNode::Binary(_, inner, _) | ExprNode::Negated(inner) => {
                inner < at && self.is_signed(inner)
            }
        }
    }

    /// Returns whether it counts microseconds: its first operand does.
    fn is_usecs(&self, at: u8) -> bool {
        match self.get(at) {
            ExprNode::Atom(atom) => match atom.source {
                ExprSource::Reference(_, shape) => shape.usecs,
                _ => atom.modifier == Modifier::Usecs,
            },
            ExprNode::Binary(_, inner, _) | ExprNode::Negated(inner) => {
                inner < at && self.is_usecs(inner)
            }
        }
    }

    /// Returns what is known of the values of an expression: its first operand tells.
    pub(crate) fn shape(&self, at: u8) -> VariableShape {
        match self.get(at) {
            ExprNode::Atom(atom) => match atom.source {
                ExprSource::Number(number) => number.shape(),
                ExprSource::Reference(_, shape) => shape,
                ExprSource::Cpu => VariableShape::unsigned(4),
                ExprSource::Comm => VariableShape::text(VariableKind::String, COMM_SIZE),
                ExprSource::Stack | ExprSource::StackAt(_) => {
                    VariableShape::text(VariableKind::Stack, 0)
                }
                ExprSource::Text(text) => {
                    let size = u16::try_from(text.size).unwrap_or(u16::MAX);
                    VariableShape::text(VariableKind::String, size)
                }
                _ => VariableShape {
                    usecs: atom.modifier == Modifier::Usecs,
                    ..VariableShape::unsigned(8)
                },
            },
            ExprNode::Binary(_, inner, _) | ExprNode::Negated(inner) if inner < at => {
                self.shape(inner)
            }
            _ => VariableShape::unsigned(8),
        }
    }

    /// Returns whether an expression has a reference.
    pub(super) fn refers(&self, at: u8) -> bool {
        match self.get(at) {
            ExprNode::Atom(atom) => matches!(atom.source, ExprSource::Reference(..)),
            ExprNode::Binary(_, left, right) => {
                left.max(right) < at && (self.refers(left) || self.refers(right))
            }
            ExprNode::Negated(inner) => inner < at && self.refers(inner),
        }
    }

    fn is_text(&self, at: u8) -> bool {
        self.atom(at).is_some_and(|atom| atom.source.is_text())
    }

    /// Returns the number that an expression is for all events, if it is one.
    pub(super) fn constant(&self, at: u8) -> Option<u64> {
        match self.atom(at)?.source {
            ExprSource::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Has a node be the name of the task, whatever number it was.
    pub(super) fn name_task(&mut self, at: u8) {
        if let Some(ExprNode::Atom(atom)) = self.nodes.get_mut(usize::from(at)) {
            atom.source = ExprSource::Comm;
        }
    }
}

/// Where an expression stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Key,
    Value,
    Variable,
    Operand,
}

impl Role {
    /// Returns whether it can be shown as a part of all.
    fn has_shares(self) -> bool {
        !matches!(self, Self::Key | Self::Variable)
    }
}

/// Reads expressions.
pub(crate) struct ExprParser<'a, 'l> {
    /// The text that they are parts of.
    pub(crate) text: &'a [u8],
    pub(crate) fields: &'a dyn NamedFields,
    pub(crate) log: &'a mut Log<'l>,
    /// What is parsed is added here.
    pub(crate) nodes: &'a mut Nodes,
    pub(crate) references: &'a mut References,
    /// The variables of the same command, which stand for their texts.
    pub(crate) own: &'a [Assignment<'a>],
    /// The events that the command waits for.
    matched: MatchedEvents<'a>,
    /// Operators of this expression.
    operators: u32,
}

impl<'a, 'l> ExprParser<'a, 'l> {
    /// Returns one for the parts of `text`.
    pub(crate) fn new(
        text: &'a [u8],
        fields: &'a dyn NamedFields,
        log: &'a mut Log<'l>,
        (nodes, references): (&'a mut Nodes, &'a mut References),
        (own, matched): (&'a [Assignment<'a>], MatchedEvents<'a>),
    ) -> Self {
        Self {
            text,
            fields,
            log,
            nodes,
            references,
            own,
            matched,
            operators: 0,
        }
    }

    /// Logs an error of `word`.
    pub(crate) fn refuse(&mut self, kind: HistErrorKind, word: &[u8]) -> HistErrno {
        refuse(self.log, kind, word)
    }

    /// Parses one expression. Returns its node.
    ///
    /// # Errors
    ///
    /// Those of [`HistErrorKind`]; `Inval` for what is none, `Dom` for a division by 0, `NoMem`, which is ftrace's
    /// answer, for an array of numbers.
    pub(crate) fn expression(&mut self, text: &[u8], role: Role) -> Result<u8, HistErrno> {
        self.operators = 0;
        self.inner(text, role)
    }

    /// Parses a field. Returns its node.
    ///
    /// # Errors
    ///
    /// As for [`Self::expression`].
    pub(super) fn expression_of_field(&mut self, text: &[u8]) -> Result<u8, HistErrno> {
        self.atom(text, Role::Variable)
    }

    /// Adds the callers of the code that the event is in, by that name in the command. Returns their node.
    ///
    /// # Errors
    ///
    /// `Inval` for too many nodes.
    pub(super) fn callers(&mut self, name: &[u8]) -> Result<u8, HistErrno> {
        self.nodes.push(ExprNode::Atom(Atom {
            source: ExprSource::Stack,
            modifier: Modifier::None,
            name: NameSpan::of(self.text, name),
        }))
    }

    fn inner(&mut self, text: &[u8], role: Role) -> Result<u8, HistErrno> {
        if self.operators > MOST_OPERATORS {
            return Err(self.refuse(HistErrorKind::TooManySubexpressions, text));
        }
        match root(text) {
            None => self.atom(text, role),
            Some(ExprRoot::Negation) => self.negation(text),
            Some(ExprRoot::Binary(op, at)) => self.binary(text, op, at),
        }
    }

    fn negation(&mut self, text: &[u8]) -> Result<u8, HistErrno> {
        self.operators = self.operators.saturating_add(1);
        if self.operators > MOST_OPERATORS {
            return Err(self.refuse(HistErrorKind::TooManySubexpressions, text));
        }
        let rest = text.get(1..).unwrap_or_default();
        if !rest.contains(&b'(') {
            return Err(HistErrno::Inval);
        }
        let rest = rest.get(1..).unwrap_or_default();
        let end = rest.iter().rposition(|byte| *byte == b')');
        let end = end.ok_or(HistErrno::Inval)?;
        if end.saturating_add(1) != rest.len() {
            return Err(self.refuse(HistErrorKind::MinusInSubexpression, rest));
        }
        let operand = rest.get(..end).unwrap_or_default();
        let node = self.operand(operand)?;
        self.nodes.push(ExprNode::Negated(node))
    }

    /// Parses an operand, which is a number.
    fn operand(&mut self, text: &[u8]) -> Result<u8, HistErrno> {
        let node = self.inner(text, Role::Operand)?;
        if self.nodes.is_text(node) {
            return Err(self.refuse(HistErrorKind::StringOperand, text));
        }
        Ok(node)
    }

    /// Parses an operand of two, which takes the number of a variable.
    fn taken_operand(&mut self, text: &[u8]) -> Result<u8, HistErrno> {
        let node = self.operand(text)?;
        if let Some(ExprSource::Reference(at, _)) = self.nodes.atom(node).map(|atom| atom.source) {
            self.references.take(at);
        }
        Ok(node)
    }

    /// Returns the number that an operand is for all events: written here, or a variable that is one.
    fn constant(&self, node: u8) -> Option<u64> {
        match self.nodes.atom(node)?.source {
            ExprSource::Constant(value) => Some(value),
            ExprSource::Reference(at, _) => self.references.all().get(usize::from(at))?.constant,
            _ => None,
        }
    }

    fn binary(&mut self, text: &[u8], op: ExprOp, at: usize) -> Result<u8, HistErrno> {
        self.operators = self.operators.saturating_add(1);
        let left = text.get(..at).unwrap_or_default();
        let right = text.get(at.saturating_add(1)..).unwrap_or_default();
        if left.is_empty() || right.is_empty() {
            return Err(HistErrno::Inval);
        }
        let one = self.taken_operand(left)?;
        let other = self.taken_operand(right)?;
        if self.nodes.is_usecs(one) != self.nodes.is_usecs(other) {
            return Err(self.refuse(HistErrorKind::UnitsDiffer, b""));
        }
        let constant = self.constant(other);
        if op == ExprOp::Over && constant == Some(0) {
            (self.log)(HistErrorKind::DivisionByZero, right);
            return Err(HistErrno::Dom);
        }
        let node = match (self.constant(one), constant) {
            (Some(one), Some(other)) => ExprNode::Atom(Atom {
                source: ExprSource::Constant(op.of(one, other)),
                modifier: Modifier::None,
                name: NameSpan::default(),
            }),
            _ => ExprNode::Binary(op, one, other),
        };
        self.nodes.push(node)
    }

    fn atom(&mut self, text: &[u8], role: Role) -> Result<u8, HistErrno> {
        if text.first().is_some_and(u8::is_ascii_digit) {
            let Ok(value) = number::parse_c(text) else {
                return Err(self.refuse(HistErrorKind::NumberExpected, text));
            };
            return self.nodes.push(ExprNode::Atom(Atom {
                source: ExprSource::Constant(value),
                modifier: Modifier::None,
                name: NameSpan::default(),
            }));
        }
        // What names system and event is for variables; in ftrace fields may have it as well.
        let (event, last) = divide(text);
        let mut field = last;
        let name = last.strip_prefix(b"$").filter(|name| !name.is_empty());
        if let Some(name) = name {
            // In ftrace references have no modifiers.
            let (name, modifier, cut) = match role {
                Role::Value => split_tally(name),
                _ => (name, Modifier::None, 0),
            };
            if let Some(value) = self.own_value(event, name) {
                if modifier != Modifier::None {
                    return Err(self.refuse(HistErrorKind::BadModifier, text));
                }
                field = value;
            } else if let Some(source) = self.reference(event, name)? {
                let written = text.len().saturating_sub(cut);
                let written = text.get(..written).unwrap_or(text);
                return self.nodes.push(ExprNode::Atom(Atom {
                    source,
                    modifier,
                    name: NameSpan::of(self.text, written),
                }));
            }
        }
        let atom = self.field(field, role)?;
        self.nodes.push(ExprNode::Atom(atom))
    }

    /// Returns the text that a variable of the same command stands for: a field.
    fn own_value(&self, event: Option<EventPath<'_>>, name: &[u8]) -> Option<&'a [u8]> {
        let own = self.own.iter().find(|own| own.name == name)?;
        let is_field = root(own.value).is_none() && !own.value.contains(&b'$');
        let is_here = event.is_none_or(|event| self.fields.is_event(event));
        (is_here && is_field).then_some(own.value)
    }

    /// Returns the source that a variable is; `None` for one that is unknown, which is told.
    ///
    /// # Errors
    ///
    /// `Inval` when there are too many.
    fn reference(
        &mut self,
        event: Option<EventPath<'_>>,
        name: &[u8],
    ) -> Result<Option<ExprSource>, HistErrno> {
        match self.matched.variable(self.fields, event, name) {
            NamedVariable::Known(reference) => {
                let at = self.references.add(reference).ok_or(HistErrno::Inval)?;
                return Ok(Some(ExprSource::Reference(at, reference.shape)));
            }
            NamedVariable::Ambiguous => (self.log)(HistErrorKind::VariableNotUnique, name),
            NamedVariable::Unknown => {}
        }
        (self.log)(HistErrorKind::VariableNotFound, name);
        Ok(None)
    }

    /// Parses a field with its modifier.
    fn field(&mut self, text: &[u8], role: Role) -> Result<Atom, HistErrno> {
        let mut parts = text.splitn(2, |byte| *byte == b'.');
        let (name, word) = (parts.next().unwrap_or_default(), parts.next());
        let mut stack = false;
        let modifier = match word {
            None => Modifier::None,
            Some(b"stacktrace") => {
                stack = true;
                Modifier::None
            }
            Some(word) => modifier(name, word, role)
                .map_err(|word| self.refuse(HistErrorKind::BadModifier, word))?,
        };
        let Some(source) = self.source(name)? else {
            return Err(self.refuse(HistErrorKind::FieldNotFound, name));
        };
        let derived = matches!(modifier, Modifier::Log2 | Modifier::Buckets(_));
        let string = matches!(source, ExprSource::Text(_) | ExprSource::Comm);
        let is_field = matches!(source, ExprSource::StackAt(_));
        // Of strings ftrace would take the address.
        if stack && !is_field || derived && string {
            return Err(self.refuse(HistErrorKind::BadModifier, text));
        }
        let modifier = match source {
            ExprSource::Stack | ExprSource::StackAt(_) => Modifier::None,
            _ => modifier,
        };
        Ok(Atom {
            source,
            modifier,
            name: NameSpan::of(self.text, name),
        })
    }

    /// Returns what a name stands for; `None` for an unknown one.
    fn source(&self, name: &[u8]) -> Result<Option<ExprSource>, HistErrno> {
        let Ok(name) = str::from_utf8(name) else {
            return Ok(None);
        };
        let source = match name {
            "common_timestamp" => ExprSource::Timestamp,
            "common_stacktrace" => ExprSource::Stack,
            "common_cpu" => ExprSource::Cpu,
            "common_comm" => ExprSource::Comm,
            "hitcount" => ExprSource::HitCount,
            _ => match self.fields.field(name).filter(|field| field.size != 0) {
                Some(field) => return located(field).map(Some),
                None => match name {
                    "cpu" | "CPU" => ExprSource::Cpu,
                    "comm" | "COMM" => ExprSource::Comm,
                    "stacktrace" | "STACKTRACE" => ExprSource::Stack,
                    _ => return Ok(None),
                },
            },
        };
        Ok(Some(source))
    }
}

/// Returns the source that a field of an event is.
///
/// # Errors
///
/// `NoMem` for an array of numbers.
fn located(field: DescribedName) -> Result<ExprSource, HistErrno> {
    let DescribedName {
        ty, offset, size, ..
    } = field;
    match ty {
        FieldType::Chars
        | FieldType::OpenChars
        | FieldType::DynamicChars
        | FieldType::RelativeChars => Ok(ExprSource::Text(PlacedText { ty, offset, size })),
        FieldType::Stack => Ok(ExprSource::StackAt(offset)),
        _ if !matches!(size, 1 | 2 | 4 | 8) => Err(HistErrno::NoMem),
        _ => {
            let end = offset.saturating_add(size);
            let beyond = 8u32.saturating_sub(end);
            let unused = 8u32.saturating_sub(size);
            Ok(ExprSource::Number(PlacedNumber {
                start: end.saturating_sub(8),
                up: beyond.saturating_mul(8) as u8,
                down: unused.saturating_mul(8) as u8,
                signed: field.signed,
                pointer: matches!(ty, FieldType::CharPointer | FieldType::UserCharPointer),
            }))
        }
    }
}

/// Parses a modifier of a field called `name`. For a wrong one it returns the word that is wrong.
fn modifier<'w>(name: &[u8], word: &'w [u8], role: Role) -> Result<Modifier, &'w [u8]> {
    Ok(match word {
        b"hex" => Modifier::Hex,
        b"signed" => Modifier::Signed,
        b"sym" => Modifier::Sym,
        b"symXoffset" => Modifier::SymOffset,
        b"execname" if name == b"common_pid" => Modifier::Execname,
        b"syscall" => Modifier::Syscall,
        b"log2" => Modifier::Log2,
        b"usecs" => Modifier::Usecs,
        [b'b', b'u', b'c', b'k', b'e', b't', rest @ ..] => {
            let rest = rest.strip_prefix(b"s").unwrap_or(rest);
            let number = rest.strip_prefix(b"=").ok_or(rest)?;
            match number::parse_c(number) {
                Ok(divisor) if divisor != 0 => Modifier::Buckets(divisor),
                _ => return Err(number),
            }
        }
        // As in ftrace, whatever follows.
        _ if role.has_shares() && word.starts_with(b"percent") => Modifier::Percent,
        _ if role.has_shares() && word.starts_with(b"graph") => Modifier::Graph,
        _ if role == Role::Value => tally(word).ok_or(word)?,
        _ => return Err(word),
    })
}

/// Returns the modifier of this name that says what is kept of a value.
fn tally(word: &[u8]) -> Option<Modifier> {
    let all = [
        Modifier::Min,
        Modifier::Max,
        Modifier::Avg,
        Modifier::Quantiles,
    ];
    let is_it = |modifier: &Modifier| modifier.name().map(str::as_bytes) == Some(word);
    all.into_iter().find(is_it)
}

/// Returns the name before a modifier that says what is kept of a value, that modifier, and the number of bytes that
/// it has with its dot.
pub(super) fn split_tally(name: &[u8]) -> (&[u8], Modifier, usize) {
    let mut parts = name.rsplitn(2, |byte| *byte == b'.');
    let (Some(word), Some(before)) = (parts.next(), parts.next()) else {
        return (name, Modifier::None, 0);
    };
    match tally(word) {
        Some(modifier) => (before, modifier, word.len().saturating_add(1)),
        None => (name, Modifier::None, 0),
    }
}

enum ExprRoot {
    Negation,
    Binary(ExprOp, usize),
}

/// Returns the operator at which an expression is divided, and its place.
fn root(text: &[u8]) -> Option<ExprRoot> {
    let last = |sign: u8| text.iter().rposition(|byte| *byte == sign);
    let (minus, plus) = (last(b'-'), last(b'+'));
    if minus == Some(0) {
        return Some(ExprRoot::Negation);
    }
    let lower = [(minus, ExprOp::Minus), (plus, ExprOp::Plus)];
    let higher = [(last(b'/'), ExprOp::Over), (last(b'*'), ExprOp::Times)];
    [lower, higher].into_iter().find_map(|level| {
        let found = level.into_iter().filter_map(|(at, op)| Some((at?, op)));
        let (at, op) = found.max_by_key(|(at, _)| *at)?;
        Some(ExprRoot::Binary(op, at))
    })
}
