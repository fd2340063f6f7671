// SPDX-License-Identifier: GPL-2.0

//! What an action gives to the fields of a synthetic event.

use super::{
    error::{
        refuse,
        HistErrno,
        HistErrorKind,
        LateErrors,
        Log, //
    },
    expr::{
        ExprParser,
        NamedFields, //
    },
    plan::Plan,
    variable::{
        divide,
        EventPath,
        NamedVariable,
        VariableShape, //
    }, //
};

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

/// What a parameter in the text of an action stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamedParameter<'a> {
    Here(Parameter),
    /// A field of another event, which a histogram of that event has to keep.
    Elsewhere(OtherField<'a>),
}

/// A field of another event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OtherField<'a> {
    pub(crate) event: EventPath<'a>,
    pub(crate) name: &'a [u8],
}

impl Plan {
    /// Resolves a parameter of an action: a field of the event, a variable of the plan, or one of another plan; the
    /// latter is of the event `matched`, if the action has one, unless the parameter names another. So is a field
    /// that the event has not, which `log` notes if it might have been one.
    ///
    /// # Errors
    ///
    /// Those of [`HistErrorKind`], and those of [`LateErrors::note`].
    pub(crate) fn parameter<'a>(
        &mut self,
        item: &'a [u8],
        matched: Option<EventPath<'a>>,
        text: &[u8],
        fields: &dyn NamedFields,
        log: &mut dyn LateErrors<'a>,
    ) -> Result<NamedParameter<'a>, HistErrno> {
        let (event, last) = divide(item);
        if event.is_none() && item.contains(&b'.') {
            return Err(HistErrno::Inval);
        }
        if let Some(name) = last.strip_prefix(b"$") {
            let own = self.own_variable(text, name);
            let is_here = event.is_none_or(|event| fields.is_event(event));
            let parameter = match own.filter(|_| is_here) {
                Some(own) => self.own_parameter(own),
                None => {
                    let event = event.or(matched);
                    let mut log = |kind, word: &[u8]| log.tell(kind, word);
                    self.reference_to(event, name, text, fields, &mut log)?
                }
            };
            return Ok(NamedParameter::Here(parameter));
        }
        let elsewhere = event.or(matched);
        if event.is_none_or(|event| fields.is_event(event)) {
            let mut noted = Ok(());
            // Only what is nowhere else is an error.
            let mut log = |kind, word: &[u8]| match elsewhere {
                None => log.tell(kind, word),
                Some(_) if noted.is_ok() => noted = log.note(kind, last),
                Some(_) => {}
            };
            let events = self.matched(text);
            let added = (&mut self.nodes, &mut self.references);
            let mut parser = ExprParser::new(text, fields, &mut log, added, (&[], events));
            let node = parser.expression_of_field(last);
            self.see_times();
            let node = match node {
                Ok(_) if self.is_taken(last, text, fields) => {
                    log(HistErrorKind::NoVariableMade, last);
                    Err(HistErrno::Inval)
                }
                Ok(node) => Ok(node),
                Err(why) => {
                    log(HistErrorKind::NoFieldVariable, last);
                    Err(why)
                }
            };
            match (node, elsewhere) {
                (Ok(node), _) => return Ok(NamedParameter::Here(Parameter::Node(node))),
                (Err(_), Some(_)) => noted?,
                (Err(why), None) => return Err(why),
            }
        }
        Ok(NamedParameter::Elsewhere(OtherField {
            event: elsewhere.ok_or(HistErrno::Inval)?,
            name: last,
        }))
    }

    /// Returns whether a variable for a field would have the name of another one of the event.
    pub(super) fn is_taken(&self, field: &[u8], text: &[u8], fields: &dyn NamedFields) -> bool {
        self.own_variable(text, field).is_some() || fields.has_variable(field)
    }

    /// Returns what a variable of its own is for an action: strings are as the event has them.
    fn own_parameter(&self, own: u8) -> Parameter {
        let variable = self.variables().get(usize::from(own));
        let text = variable.filter(|variable| variable.text != 0);
        text.map_or(Parameter::Variable(own), |text| Parameter::Node(text.node))
    }

    /// Returns the parameter that is the variable called `name` of `event`, or of any.
    ///
    /// # Errors
    ///
    /// `Inval` if there is none, which `log` is told, and for too many references.
    pub(crate) fn reference_to(
        &mut self,
        event: Option<EventPath<'_>>,
        name: &[u8],
        text: &[u8],
        fields: &dyn NamedFields,
        log: &mut Log<'_>,
    ) -> Result<Parameter, HistErrno> {
        let variable = self.matched(text).variable(fields, event, name);
        if variable == NamedVariable::Ambiguous {
            log(HistErrorKind::VariableNotUnique, name);
        }
        let NamedVariable::Known(found) = variable else {
            return Err(refuse(log, HistErrorKind::ParameterNotFound, name));
        };
        let at = self.references.add(found).ok_or(HistErrno::Inval)?;
        Ok(Parameter::Reference(at, found.shape))
    }
}
