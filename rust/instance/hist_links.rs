// SPDX-License-Identifier: GPL-2.0

//! What histograms of an instance have to do with each other, and with synthetic events: variables are found,
//! actions get what they record, and a histogram that another one refers to stays.

use super::{
    hist_fields::variable_name,
    hists::error_of,
    triggers::{
        find_with_triggers,
        EventTriggers,
        Row, //
    },
    Instance, //
};
use crate::{
    actions::{
        hist::Hist,
        linked::{
            HistDeed,
            Sequel,
            SyntheticRecorder,
            MOST_PARAMETERS, //
        },
    },
    events::Event,
    expr::fetch::{
        Fetch,
        Operand, //
    },
    hist::{
        action::{
            Deed,
            HistAction, //
            HistHandler,
        },
        error::{
            HistErrno,
            HistErrorKind,
            LateErrors,
            Log, //
        },
        expr::{
            DescribedName,
            NamedFields, //
        },
        parameter::{
            NamedParameter,
            Parameter, //
        },
        plan::Plan,
        variable::{
            divide,
            EventPath,
            NamedVariable,
            Reference,
            VariableKind, //
        }, //
    },
    sources::synthetic::SyntheticRef, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The names that expressions of `event` may have.
pub(super) struct NamedEvent<'a> {
    pub(super) event: &'static Event,
    /// All triggers of the instance.
    pub(super) all: &'a [EventTriggers],
}

/// Returns what tells a histogram from others as long as it is there.
fn identity(hist: &Arc<Hist>) -> u64 {
    core::ptr::from_ref::<Hist>(hist).addr() as u64
}

/// Returns the variable called `name` of one event.
pub(super) fn variable_of(of: &EventTriggers, name: &[u8]) -> Option<Reference> {
    let mut hists = of.hists().filter(|hist| !hist.follows());
    hists.find_map(|hist| {
        let variable = hist.plan().own_variable(hist.text(), name)?;
        Some(Reference {
            hist: identity(hist),
            variable,
            once: false,
            text: 0,
            shape: hist.plan().variable_shape(variable),
            constant: hist.plan().variable_constant(variable),
        })
    })
}

impl NamedFields for NamedEvent<'_> {
    fn field(&self, name: &str) -> Option<DescribedName> {
        let of_event = self.event.field(name, |field| {
            let declared = &field.declared;
            let (offset, size) = (field.offset, declared.size);
            Operand::stored(declared.ty, offset, size, declared.signed)
        });
        let operand = of_event.or_else(|| Operand::common(name))?;
        match operand.fetch {
            Fetch::Field(field) => Some(DescribedName {
                ty: field.ty,
                offset: field.offset,
                size: field.size,
                signed: operand.signed,
            }),
            _ => None,
        }
    }

    fn variable(&self, event: Option<EventPath<'_>>, name: &[u8]) -> NamedVariable {
        let is_wanted = |of: &&EventTriggers| {
            let names = (of.event.system().as_bytes(), of.event.name().as_bytes());
            event.is_none_or(|event| event == names)
        };
        let mut found = self.all.iter().filter(is_wanted);
        let mut found = found.by_ref().filter_map(|of| variable_of(of, name));
        match (found.next(), found.next()) {
            (None, _) => NamedVariable::Unknown,
            (Some(reference), None) => NamedVariable::Known(reference),
            (Some(_), Some(_)) => NamedVariable::Ambiguous,
        }
    }

    fn has_variable(&self, name: &[u8]) -> bool {
        let id = self.event.id();
        let mut own = self.all.iter().filter(|of| of.event.id() == id);
        own.any(|of| variable_of(of, name).is_some())
    }

    fn is_event(&self, event: EventPath<'_>) -> bool {
        event == (self.event.system().as_bytes(), self.event.name().as_bytes())
    }

    fn has_event(&self, system: &[u8], name: &[u8]) -> bool {
        find_with_triggers(system, name).is_ok()
    }
}

/// Returns the histograms that the references of `plan` name.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn sources(plan: &Plan, all: &[EventTriggers]) -> Result<KVec<Arc<Hist>>> {
    let mut sources = KVec::new();
    for reference in plan.references() {
        let mut hists = all.iter().flat_map(EventTriggers::hists);
        let source = hists.find(|hist| identity(hist) == reference.hist);
        sources.push(source.ok_or(EINVAL)?.clone(), GFP_KERNEL)?;
    }
    Ok(sources)
}

/// Returns whether another histogram refers to `hist`.
pub(super) fn is_referred_to(hist: &Arc<Hist>, all: &[EventTriggers]) -> bool {
    let mut hists = all.iter().flat_map(EventTriggers::hists);
    hists.any(|other| {
        other
            .sources()
            .iter()
            .any(|source| Arc::ptr_eq(source.counts(), hist.counts()))
    })
}

/// Returns whether another histogram refers to a variable of one of `event`.
pub(super) fn event_is_referred_to(event: &Event, all: &[EventTriggers]) -> bool {
    let mut own = all.iter().filter(|of| of.event.id() == event.id());
    own.any(|of| of.hists().any(|hist| is_referred_to(hist, all)))
}

/// Returns whether `hist` refers to a variable of `event`.
pub(super) fn refers_to(hist: &Hist, event: &Event) -> bool {
    let mut sources = hist.sources().iter();
    sources.any(|source| source.event() == event.id())
}

/// Returns the trigger of a histogram that refers to one which is not there any more.
pub(super) fn without_source(all: &[EventTriggers]) -> Option<&Row> {
    let is_there = |source: &Arc<Hist>| {
        let mut hists = all.iter().flat_map(EventTriggers::hists);
        hists.any(|hist| Arc::ptr_eq(hist, source))
    };
    let mut rows = all.iter().flat_map(|of| of.rows.iter());
    rows.find(|row| {
        let hist = row.hist.as_ref();
        hist.is_some_and(|hist| !hist.sources().iter().all(is_there))
    })
}

/// An event, and the triggers of its instance.
type EventWithTriggers<'a> = (&'static Event, &'a mut KVec<EventTriggers>);

/// What is told to `log`, and what is noted.
struct LateLog<'l, 't> {
    log: &'l mut Log<'l>,
    notes: KVec<(HistErrorKind, &'t [u8])>,
}

impl<'t> LateErrors<'t> for LateLog<'_, 't> {
    fn tell(&mut self, kind: HistErrorKind, word: &[u8]) {
        for (kind, word) in &self.notes {
            (self.log)(*kind, word);
        }
        self.notes.clear();
        (self.log)(kind, word);
    }

    fn note(&mut self, kind: HistErrorKind, word: &'t [u8]) -> Result<(), HistErrno> {
        let pushed = self.notes.push((kind, word), GFP_KERNEL);
        pushed.map_err(|_| HistErrno::NoMem)
    }
}

impl Instance {
    /// Returns what the actions of `plan` do; `text` is what the plan has parts of.
    ///
    /// # Errors
    ///
    /// Those of ftrace, which `log` is told, and `ENOMEM`. Histograms may have been made then, which keep fields.
    pub(super) fn deeds(
        &self,
        plan: &mut Plan,
        text: &[u8],
        (event, all): EventWithTriggers<'_>,
        log: &mut Log<'_>,
    ) -> Result<KVec<HistDeed>> {
        let mut deeds = KVec::new();
        let mut at = 0usize;
        let mut log = LateLog {
            log,
            notes: KVec::new(),
        };
        // One by one: each may add to the plan.
        loop {
            let Some(action) = plan.action(at, text) else {
                return Ok(deeds);
            };
            at = at.saturating_add(1);
            let deed = match action.handler {
                HistHandler::Match { .. } => HistDeed::Record(self.recorder(
                    plan,
                    action,
                    text,
                    (event, &mut *all),
                    &mut log,
                )?),
                HistHandler::Track { variable, kind } => {
                    let followed = (variable, kind, action.deed);
                    let track =
                        plan.add_track(followed, text, &mut |kind, word| log.tell(kind, word));
                    let track = track.map_err(error_of)?;
                    let sequel = self.sequel(plan, action, text, (event, &mut *all), &mut log)?;
                    HistDeed::Track(track, sequel)
                }
            };
            deeds.push(deed, GFP_KERNEL)?;
        }
    }

    /// Returns what `action` does with an event whose number is kept.
    fn sequel<'t>(
        &self,
        plan: &mut Plan,
        action: HistAction<'t>,
        text: &[u8],
        (event, all): EventWithTriggers<'_>,
        log: &mut LateLog<'_, 't>,
    ) -> Result<Sequel> {
        match action.deed {
            Deed::Record => {
                let recorder = self.recorder(plan, action, text, (event, all), log)?;
                Ok(Sequel::Record(recorder))
            }
            Deed::Save => {
                let named = NamedEvent { event, all };
                for item in action.parameters() {
                    let mut log = |kind, word: &[u8]| log.tell(kind, word);
                    let added = plan.add_save(item, text, &named, &mut log);
                    added.map_err(error_of)?;
                }
                Ok(Sequel::Save)
            }
            // As in ftrace it has the snapshot for itself. The caller keeps a tracer from beginning.
            Deed::Snapshot
                if takes_snapshots(all)
                    || plan.takes_more_snapshots()
                    || self.buffers().allows_exchanges() =>
            {
                Err(EBUSY)
            }
            Deed::Snapshot => Ok(Sequel::Snapshot),
        }
    }

    /// Returns what records the synthetic event that `action` names.
    fn recorder<'t>(
        &self,
        plan: &mut Plan,
        action: HistAction<'t>,
        text: &[u8],
        (event, all): EventWithTriggers<'_>,
        log: &mut LateLog<'_, 't>,
    ) -> Result<SyntheticRecorder> {
        let Some(synthetic) = SyntheticRef::find(action.name) else {
            log.tell(HistErrorKind::NoSuchSynthetic, action.name);
            return Err(EINVAL);
        };
        let matched = action.handler.matched();
        let mut parameters = KVec::new();
        for item in action.parameters() {
            if parameters.len() >= MOST_PARAMETERS {
                return Err(EINVAL);
            }
            let parameter = self.parameter(plan, (item, matched), text, (event, &mut *all), log)?;
            let at = parameters.len();
            if !takes(&synthetic, at, plan, parameter, item, event) {
                log.tell(HistErrorKind::ParameterType, divide(item).1);
                return Err(EINVAL);
            }
            parameters.push(parameter, GFP_KERNEL)?;
        }
        if parameters.len() != synthetic.layout().fields.len() {
            log.tell(HistErrorKind::ParameterCount, action.name);
            return Err(EINVAL);
        }
        Ok(SyntheticRecorder::new(plan, synthetic, parameters))
    }

    /// Resolves a parameter of an action on the event `matched`, if it has one. A field of another event is the
    /// variable of a histogram, which may be made for it.
    fn parameter<'t>(
        &self,
        plan: &mut Plan,
        (item, matched): (&'t [u8], Option<EventPath<'t>>),
        text: &[u8],
        (event, all): EventWithTriggers<'_>,
        log: &mut LateLog<'_, 't>,
    ) -> Result<Parameter> {
        let named = NamedEvent { event, all };
        let parameter = plan.parameter(item, matched, text, &named, log);
        let field = match parameter.map_err(error_of)? {
            NamedParameter::Here(parameter) => return Ok(parameter),
            NamedParameter::Elsewhere(field) => field,
        };
        let (path, name) = (field.event, field.name);
        let mut tell = |kind, word: &[u8]| log.tell(kind, word);
        self.keep_field(all, (plan, text, event), (path, name), &mut tell)?;
        let named = NamedEvent { event, all };
        plan.reference_to(Some(path), &variable_name(name)?, text, &named, &mut tell)
            .map_err(error_of)
    }
}

/// Returns whether a histogram of the instance takes snapshots.
pub(super) fn takes_snapshots(all: &[EventTriggers]) -> bool {
    let mut hists = all.iter().flat_map(EventTriggers::hists);
    hists.any(|hist| hist.counts().taken().is_some())
}

/// Returns whether the field at `at` of a synthetic event takes a parameter, which `item` names.
fn takes(
    synthetic: &SyntheticRef,
    at: usize,
    plan: &Plan,
    parameter: Parameter,
    item: &[u8],
    event: &Event,
) -> bool {
    let layout = synthetic.layout();
    let Some(field) = layout.fields.get(at) else {
        return false;
    };
    let shape = match parameter {
        Parameter::Variable(own) => plan.variable_shape(own),
        Parameter::Reference(_, shape) => shape,
        Parameter::Node(node) => plan.nodes.shape(node),
    };
    let size = (shape.size.into(), shape.signed);
    match shape.kind {
        VariableKind::Stack => field.takes(layout.text, "", (0, false), true),
        VariableKind::String => {
            let size = (size.0, true);
            field.kind.is_string() && field.takes(layout.text, "char[", size, false)
        }
        VariableKind::Number => {
            let name = core::str::from_utf8(item).unwrap_or_default();
            let same_type = |ty: &str| ty == field.ty(layout.text);
            let fits = !field.kind.is_string() && field.takes(layout.text, "", size, false);
            let is_node = matches!(parameter, Parameter::Node(_));
            let named = || event.field(name, |field| same_type(field.declared.ty));
            fits || is_node && named().unwrap_or(false)
        }
    }
}
