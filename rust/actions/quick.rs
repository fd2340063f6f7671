// SPDX-License-Identifier: GPL-2.0

//! The fast path of counting an event that is not in the ring: its keys, values and variables are numbers of it,
//! and there is an entry for it.
//!
//! It makes no call, so that it needs no frame. Whatever else there is to do is done by the [`NumberCounter`] that
//! counts other events of the histogram as well.

use super::{
    counts::SharedCounts,
    hist::NumberCounter, //
};
use crate::{
    hist::{
        key::log2,
        load::{
            LoadedWord,
            NumberLoad,
            WordStep, //
        }, //
    },
    kapi::{
        percpu::PinRef,
        scratch::{
            RecordToRead,
            WordAt, //
        }, //
    },
    probes::{
        Effect,
        EventFile,
        Hit, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A number of a record.
#[derive(Clone, Copy)]
struct QuickLoad {
    at: WordAt,
    word: LoadedWord,
}

impl QuickLoad {
    /// Stands for no number.
    const NONE: Self = Self {
        at: WordAt::FIRST,
        word: LoadedWord::NONE,
    };

    /// Returns how these numbers are got; `None` if one of them is not made of one word.
    fn all<const LEN: usize>(loads: &[NumberLoad; LEN]) -> Option<[Self; LEN]> {
        let mut all = [Self::NONE; LEN];
        for (place, load) in all.iter_mut().zip(loads) {
            let word = load.word()?;
            *place = Self {
                at: WordAt::new(word.start as usize)?,
                word,
            };
        }
        Some(all)
    }

    /// Returns the number. `STEPS` is set unless it is that of a word as it is.
    #[inline(always)]
    fn read<const STEPS: bool>(&self, record: RecordToRead<'_>, cpu: u32) -> u64 {
        if STEPS && self.word.step == WordStep::Cpu {
            return cpu.into();
        }
        let number = self.word.number(record.word(self.at));
        match self.word.step {
            WordStep::Log2 if STEPS => log2(number),
            _ => number,
        }
    }
}

/// Counts events as `counter` does, which comes first so that both have one address. `STEPS` is not set if all is as
/// words have it.
#[repr(C)]
struct QuickCounter<
    const KEYS: usize,
    const VALUES: usize,
    const VARIABLES: usize,
    const STEPS: bool,
> {
    counter: NumberCounter<KEYS, VALUES, VARIABLES>,
    /// Those of `counter`.
    counts: Arc<SharedCounts>,
    keys: [QuickLoad; KEYS],
    values: [QuickLoad; VALUES],
    variables: [QuickLoad; VARIABLES],
}

impl<const KEYS: usize, const VALUES: usize, const VARIABLES: usize, const STEPS: bool>
    QuickCounter<KEYS, VALUES, VARIABLES, STEPS>
{
    /// Counts an event in any way.
    #[cold]
    #[inline(never)]
    fn act_slowly(&self, file: &EventFile, record: RecordToRead<'_>, pin: PinRef<'_>) {
        let pin = pin.pin();
        self.act(&Hit { pin, file }, record.bytes());
    }
}

impl<const KEYS: usize, const VALUES: usize, const VARIABLES: usize, const STEPS: bool> Effect
    for QuickCounter<KEYS, VALUES, VARIABLES, STEPS>
{
    fn is_hist(&self) -> bool {
        true
    }

    fn is_light(&self) -> bool {
        true
    }

    fn act_lightly(&self, file: &EventFile, record: RecordToRead<'_>, pin: PinRef<'_>) {
        let Some(counts) = self.counts.if_unwatched() else {
            return self.act_slowly(file, record, pin);
        };
        let cpu = pin.pin().number();
        let (mut key, mut added) = ([0; KEYS], [0; VALUES]);
        for (place, load) in key.iter_mut().zip(&self.keys) {
            *place = load.read::<STEPS>(record, cpu);
        }
        for (place, load) in added.iter_mut().zip(&self.values) {
            *place = load.read::<STEPS>(record, cpu);
        }
        let Some(entry) = counts.map.count_known(cpu as usize, &key, &added) else {
            return self.act_slowly(file, record, pin);
        };
        let mut at = 0usize;
        for load in &self.variables {
            let number = load.read::<STEPS>(record, cpu);
            counts.map.set_variable(entry, at, number);
            at = at.wrapping_add(1);
        }
    }

    fn act(&self, hit: &Hit<'_>, record: &[u8]) {
        self.counter.act(hit, record);
    }
}

/// Returns what counts events as `counter` does, and by the fast path if that can be.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn quick_counter<const KEYS: usize, const VALUES: usize, const VARIABLES: usize>(
    counter: NumberCounter<KEYS, VALUES, VARIABLES>,
) -> Result<KBox<dyn Effect>> {
    let (Some(keys), Some(values), Some(variables)) = (
        QuickLoad::all(&counter.keys),
        QuickLoad::all(&counter.values),
        QuickLoad::all(&counter.variables),
    ) else {
        return Ok(KBox::new(counter, GFP_KERNEL)?);
    };
    let is_plain = |loads: &[QuickLoad]| {
        let mut loads = loads.iter();
        loads.all(|load| load.word.step == WordStep::Plain)
    };
    match is_plain(&keys) && is_plain(&values) && is_plain(&variables) {
        true => boxed::<KEYS, VALUES, VARIABLES, false>(counter, keys, values, variables),
        false => boxed::<KEYS, VALUES, VARIABLES, true>(counter, keys, values, variables),
    }
}

fn boxed<const KEYS: usize, const VALUES: usize, const VARIABLES: usize, const STEPS: bool>(
    counter: NumberCounter<KEYS, VALUES, VARIABLES>,
    keys: [QuickLoad; KEYS],
    values: [QuickLoad; VALUES],
    variables: [QuickLoad; VARIABLES],
) -> Result<KBox<dyn Effect>> {
    let quick = QuickCounter::<KEYS, VALUES, VARIABLES, STEPS> {
        counts: counter.counts.clone(),
        keys,
        values,
        variables,
        counter,
    };
    Ok(KBox::new(quick, GFP_KERNEL)?)
}
