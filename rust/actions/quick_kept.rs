// SPDX-License-Identifier: GPL-2.0

//! What the fast path of [`super::quick_link`] does beside numbers: strings that are variables, that references give
//! and that synthetic events get, and what `onmax` and `onchange` keep.

use super::{
    counts::Counts,
    hist::SHORT,
    linked::{
        HistDeed,
        KeptExtras,
        LinkedCounter,
        Sequel,
        SyntheticRecorder,
        FEW, //
    },
    quick_link::{
        QuickDeeds,
        QuickSynthetic, //
    },
    quick_number::{
        all_of,
        LinkedHit,
        LinkedNumber, //
    }, //
};
use crate::{
    hist::{
        expr::{
            ExprSource,
            PlacedText, //
        },
        key::name_words,
        parameter::Parameter,
        plan::Plan,
        track::SavedField,
        tracked::Rule,
        value::{
            store_string,
            store_words, //
        },
        variable::VariableKind, //
    },
    kapi::{
        context,
        percpu::PinRef, //
    },
    ring::port::SharedWord,
    sources::synthetic::SyntheticEvent,
    synthetic::record::SyntheticValue, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    transmute::AsBytes, //
};

/// Words of the longest string that a reference gives, after a word.
pub(super) const ROW: usize = SHORT + 1;

/// A hit for which there may be such a string.
type KeptHit<'a> = LinkedHit<'a, ROW>;

/// A string.
#[derive(Clone, Copy)]
enum QuickString {
    /// The name of the task.
    Name,
    Field(PlacedText),
    /// That of the reference that has one.
    Reference,
}

impl QuickString {
    /// Returns that of a node; `None` if it is none.
    fn of(plan: &Plan, node: u8) -> Option<Self> {
        match plan.nodes.atom(node)?.source {
            ExprSource::Comm => Some(Self::Name),
            ExprSource::Text(text) => Some(Self::Field(text)),
            ExprSource::Reference(_, shape) if shape.kind == VariableKind::String => {
                Some(Self::Reference)
            }
            _ => None,
        }
    }

    /// Stores it, as [`Plan::store`] does.
    #[inline(always)]
    fn store(self, hit: &KeptHit<'_>, room: &[impl SharedWord]) {
        match self {
            Self::Name => store_words(&name_words(context::name()), room),
            Self::Field(text) => {
                store_string(text.read(hit.record.bytes()).unwrap_or_default(), room);
            }
            Self::Reference => store_words(referred(hit), room),
        }
    }
}

/// Returns the words of the string that a reference has given.
fn referred<'h>(hit: &'h KeptHit<'_>) -> &'h [u64] {
    hit.text.get(1..).unwrap_or_default()
}

/// What is stored, or given to a field of a synthetic event.
enum QuickValue {
    Number(LinkedNumber),
    String(QuickString),
}

impl QuickValue {
    /// Returns that of a node; `None` if it takes more.
    fn of(plan: &Plan, node: u8) -> Option<Self> {
        match QuickString::of(plan, node) {
            Some(string) => Some(Self::String(string)),
            None => LinkedNumber::of(plan, node).map(Self::Number),
        }
    }

    /// Returns that of a parameter; `None` if it takes more.
    fn of_parameter(plan: &Plan, parameter: &Parameter) -> Option<Self> {
        match *parameter {
            Parameter::Node(node) => Self::of(plan, node),
            Parameter::Reference(_, shape) if shape.kind == VariableKind::String => {
                Some(Self::String(QuickString::Reference))
            }
            _ => LinkedNumber::of_parameter(plan, parameter).map(Self::Number),
        }
    }
}

/// A synthetic event that is recorded, and what it gets.
enum MadeSynthetic {
    Numbers(QuickSynthetic),
    Values(Arc<SyntheticEvent>, KVec<QuickValue>),
}

impl MadeSynthetic {
    /// Returns that of a recorder; `None` if what the event gets takes more.
    fn of(recorder: &SyntheticRecorder, plan: &Plan) -> Result<Option<Self>> {
        if let Some(synthetic) = QuickSynthetic::of(recorder, plan)? {
            return Ok(Some(Self::Numbers(synthetic)));
        }
        if recorder.parameters.len() > FEW {
            return Ok(None);
        }
        let parameters = recorder.parameters.iter();
        let values = all_of(parameters.map(|of| Ok(QuickValue::of_parameter(plan, of))))?;
        Ok(values.map(|values| Self::Values(recorder.synthetic.event(), values)))
    }

    /// Records it for a hit, if it is enabled anywhere. Any context.
    #[inline(always)]
    fn record(&self, hit: &KeptHit<'_>, pin: PinRef<'_>) {
        match self {
            Self::Numbers(synthetic) => synthetic.record(hit, pin),
            Self::Values(event, values) => {
                if event.may_be_recorded() {
                    record_values(event, values, hit, pin);
                }
            }
        }
    }
}

#[inline(never)]
fn record_values(
    event: &SyntheticEvent,
    values: &[QuickValue],
    hit: &KeptHit<'_>,
    pin: PinRef<'_>,
) {
    let name = context::name();
    let mut given = [SyntheticValue::Number(0); FEW];
    for (place, value) in given.iter_mut().zip(values) {
        *place = match value {
            QuickValue::Number(number) => SyntheticValue::Number(number.number(hit)),
            QuickValue::String(string) => SyntheticValue::Text(match string {
                QuickString::Name => AsBytes::as_bytes(&name),
                QuickString::Field(text) => text.read(hit.record.bytes()).unwrap_or_default(),
                QuickString::Reference => AsBytes::as_bytes(referred(hit)),
            }),
        };
    }
    event.write(pin.pin(), given.get(..values.len()).unwrap_or_default());
}

/// What follows when a number takes the place of the one that an entry has.
enum QuickSequel {
    Record(MadeSynthetic),
    Save(KVec<(SavedField, QuickValue)>),
}

impl QuickSequel {
    /// Returns that of an action; `None` if it takes more.
    fn of(sequel: &Sequel, plan: &Plan) -> Result<Option<Self>> {
        match sequel {
            Sequel::Record(recorder) => {
                Ok(MadeSynthetic::of(recorder, plan)?.map(QuickSequel::Record))
            }
            Sequel::Save => {
                let fields = plan.kept.saves().iter();
                let saves = all_of(fields.map(|field| {
                    let value = QuickValue::of(plan, field.node);
                    Ok(value.map(|value| (*field, value)))
                }))?;
                Ok(saves.map(Self::Save))
            }
            Sequel::Snapshot => Ok(None),
        }
    }
}

/// An `onmax` or `onchange`.
struct QuickTrack {
    /// Which track of the plan it is, and its variable.
    at: usize,
    variable: usize,
    rule: Rule,
    sequel: QuickSequel,
}

impl QuickTrack {
    /// Offers the number of a hit to its entry. Any context.
    #[inline(always)]
    fn follow(&self, hit: &KeptHit<'_>, counts: &Counts, entry: usize, pin: PinRef<'_>) {
        let (Some(tracked), Some(number)) =
            (counts.tracked.get(self.at), hit.own.get(self.variable))
        else {
            return;
        };
        let fill = |room: &[_]| {
            if let QuickSequel::Save(saves) = &self.sequel {
                save(saves, hit, room);
            }
        };
        let cpu = pin.pin().number() as usize;
        if !tracked.offer(cpu, (entry, *number), self.rule, fill) {
            return;
        }
        if let QuickSequel::Record(recorder) = &self.sequel {
            recorder.record(hit, pin);
        }
    }
}

/// Stores the fields of `save`.
#[inline(always)]
fn save<W: SharedWord>(saves: &[(SavedField, QuickValue)], hit: &KeptHit<'_>, room: &[W]) {
    for (field, value) in saves {
        let place = field.part(room);
        match value {
            QuickValue::Number(number) => {
                if let Some(word) = place.first() {
                    word.store(number.number(hit));
                }
            }
            QuickValue::String(string) => string.store(hit, place),
        }
    }
}

/// An action.
enum QuickDeed {
    Record(MadeSynthetic),
    Track(QuickTrack),
}

impl QuickDeed {
    /// Returns that of a counter; `None` if it takes more.
    fn of(deed: &HistDeed, plan: &Plan) -> Result<Option<Self>> {
        match deed {
            HistDeed::Record(recorder) => Ok(MadeSynthetic::of(recorder, plan)?.map(Self::Record)),
            HistDeed::Track(at, sequel) => {
                let at = usize::from(*at);
                let (Some(track), Some(sequel)) =
                    (plan.kept.tracks().get(at), QuickSequel::of(sequel, plan)?)
                else {
                    return Ok(None);
                };
                Ok(Some(Self::Track(QuickTrack {
                    at,
                    variable: track.variable.into(),
                    rule: track.kind.rule(),
                    sequel,
                })))
            }
        }
    }
}

/// Strings that are variables, and actions, in the order of the command.
pub(super) struct QuickKept {
    strings: KVec<QuickString>,
    deeds: KVec<QuickDeed>,
}

impl QuickDeeds<ROW> for QuickKept {
    fn of(counter: &LinkedCounter, plan: &Plan) -> Result<Option<Self>> {
        if matches!(counter.more, KeptExtras::Tallies) {
            return Ok(None);
        }
        let texts = plan.texts();
        let strings = all_of(texts.map(|variable| Ok(QuickString::of(plan, variable.node))))?;
        let deeds = all_of(counter.deeds.iter().map(|deed| QuickDeed::of(deed, plan)))?;
        let both = strings.zip(deeds);
        Ok(both.map(|(strings, deeds)| Self { strings, deeds }))
    }

    #[inline(always)]
    fn run(&self, hit: &KeptHit<'_>, counts: &Counts, entry: usize, pin: PinRef<'_>) {
        let cpu = pin.pin().number() as usize;
        for (string, text) in self.strings.iter().zip(&counts.texts) {
            text.offer(cpu, (entry, 1), Rule::Any, |room| string.store(hit, room));
        }
        for deed in &self.deeds {
            match deed {
                QuickDeed::Record(recorder) => recorder.record(hit, pin),
                QuickDeed::Track(track) => track.follow(hit, counts, entry, pin),
            }
        }
    }
}
