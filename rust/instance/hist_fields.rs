// SPDX-License-Identifier: GPL-2.0

//! Fields of other events that actions record: a histogram of that event keeps each in a variable. It is made when
//! an action first asks for it, with the keys and the filter of one that is there, and goes with the last
//! reference to it.

use super::{
    hist_links::{
        is_referred_to,
        variable_of, //
    },
    triggers::{
        copied,
        find_with_triggers,
        EventTriggers,
        Row, //
    },
    Instance, //
};
use crate::{
    actions::hist::Hist,
    event::field,
    events::Event,
    hist::{
        error::{
            HistErrorKind,
            Log, //
        },
        expr::{
            Atom,
            ExprSource,
            Modifier, //
        },
        plan::Plan,
        variable::EventPath, //
    },
    kapi::text_buffer::TextBuffer,
    text::writer::ByteWrite, //
};
use core::fmt;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Begins the name of such a variable; the field comes after it.
const BEGIN: &[u8] = b"synthetic_";

/// A plan, the text that it has parts of, and its event.
type PlannedHist<'a> = (&'a Plan, &'a [u8], &'static Event);

/// Returns the name of the variable that keeps `field`.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn variable_name(field: &[u8]) -> Result<KVec<u8>> {
    let mut name = copied(BEGIN)?;
    name.extend_from_slice(field, GFP_KERNEL)?;
    Ok(name)
}

impl Instance {
    /// Has a histogram of the event `path` keep its field called `name`, for an action of a histogram like `wanted`.
    /// `log` is told what is wrong.
    ///
    /// # Errors
    ///
    /// `EINVAL` without such an event, or one with a histogram whose keys are of the same types, and those of making
    /// a histogram. None was made then.
    pub(super) fn keep_field(
        &self,
        all: &mut KVec<EventTriggers>,
        wanted: PlannedHist<'_>,
        (path, name): (EventPath<'_>, &[u8]),
        log: &mut Log<'_>,
    ) -> Result {
        let event = find_with_triggers(path.0, path.1)
            .inspect_err(|_| log(HistErrorKind::NoEventFile, name))?;
        let Some(of) = all.iter().find(|of| of.event.id() == event.id()) else {
            log(HistErrorKind::NoMatchingHistogram, name);
            return Err(EINVAL);
        };
        let mut rows = of.rows.iter();
        let similar = rows.find_map(|row| {
            let hist = row.hist.as_ref()?;
            let there = (hist.plan(), hist.text(), event);
            has_same_types(wanted, there).then_some((hist, row.filter.as_deref()))
        });
        let Some((hist, filter)) = similar else {
            log(HistErrorKind::NoMatchingHistogram, name);
            return Err(EINVAL);
        };
        if variable_of(of, &variable_name(name)?).is_some() {
            return Ok(());
        }
        let mut command = TextBuffer::new();
        write_command(hist, filter, name, &mut command).map_err(|_| ENOMEM)?;
        let result = self.set_hist(all, event, false, command.bytes(), log);
        result.inspect_err(|_| log(HistErrorKind::NoHistogramMade, name))?;
        let mut rows = all.iter_mut().flat_map(|of| of.rows.iter_mut());
        // It is the newest.
        if let Some(row) = rows.rfind(|row| is_of(row, event)) {
            row.for_others = true;
        }
        Ok(())
    }
}

fn is_of(row: &Row, event: &Event) -> bool {
    row.hist
        .as_ref()
        .is_some_and(|hist| hist.event() == event.id())
}

/// Writes the command of the histogram that keeps the field `name`, with the keys of `hist`.
fn write_command(
    hist: &Hist,
    filter: Option<&[u8]>,
    name: &[u8],
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    out.write_str("keys=")?;
    hist.plan().write_keys(hist.text(), out)?;
    out.write_str(":")?;
    for part in [BEGIN, name, b"=", name] {
        out.write_bytes(part)?;
    }
    match filter {
        None => Ok(()),
        Some(filter) => {
            out.write_str(" if ")?;
            out.write_bytes(filter)
        }
    }
}

/// Returns whether the keys of both are of the same types, so that those of the one are found in the other.
fn has_same_types(one: PlannedHist<'_>, other: PlannedHist<'_>) -> bool {
    let (keys, others) = (one.0.keys(), other.0.keys());
    let mut pairs = keys.iter().zip(others);
    keys.len() == others.len() && pairs.all(|(a, b)| is_same_type((one, a.node), (other, b.node)))
}

/// Returns whether two keys are of the same type. As in ftrace an expression is of that of its first operand, and a
/// modifier changes whether a number is signed, and nothing else.
fn is_same_type(
    ((one, text, event), node): (PlannedHist<'_>, u8),
    ((other, other_text, of), other_node): (PlannedHist<'_>, u8),
) -> bool {
    let (Some(a), Some(b)) = (one.nodes.first(node), other.nodes.first(other_node)) else {
        return false;
    };
    is_signed(a) == is_signed(b)
        && with_atom_type(event, text, a, |ty| {
            with_atom_type(of, other_text, b, |other| ty == other)
        })
}

/// Returns whether a key that begins with this is a signed number.
fn is_signed(atom: Atom) -> bool {
    match (atom.source, atom.modifier) {
        (_, Modifier::Log2 | Modifier::Buckets(_)) => false,
        (ExprSource::Number(number), _) => number.signed,
        _ => false,
    }
}

/// Calls `f` with the type that ftrace gives a key which begins with this. Returns what it returns; `false` if there is
/// no such field.
fn with_atom_type(event: &Event, text: &[u8], atom: Atom, f: impl Fn(&str) -> bool) -> bool {
    match atom.source {
        ExprSource::Constant(_) | ExprSource::HitCount | ExprSource::Timestamp => f("u64"),
        ExprSource::Cpu => f("unsigned int"),
        ExprSource::Comm => f("char[]"),
        ExprSource::Stack => f("unsigned long[]"),
        ExprSource::Number(_) | ExprSource::Text(_) | ExprSource::StackAt(_) => {
            with_type(event, atom.name.text(text), f)
        }
        // No key is one.
        ExprSource::Reference(..) => false,
    }
}

/// Calls `f` with the type of a field of `event`, which may be a common one. Returns what it returns; `false` if
/// there is no such field.
fn with_type(event: &Event, name: &[u8], f: impl Fn(&str) -> bool) -> bool {
    let Ok(name) = core::str::from_utf8(name) else {
        return false;
    };
    let own = event.field(name, |field| f(field.declared.ty));
    let mut common = field::COMMON.into_iter();
    let mut of_all = || common.find(|field| field.name == name);
    own.or_else(|| of_all().map(|field| f(field.ty)))
        .unwrap_or(false)
}

/// Returns the trigger of a histogram that keeps a field for others, if none refers to it any more.
pub(super) fn idle(all: &[EventTriggers]) -> Option<&Row> {
    let mut rows = all.iter().flat_map(|of| of.rows.iter());
    rows.find(|row| {
        let unused = |hist: &Arc<Hist>| !is_referred_to(hist, all);
        row.for_others && row.hist.as_ref().is_some_and(unused)
    })
}
