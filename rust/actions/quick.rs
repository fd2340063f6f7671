// SPDX-License-Identifier: GPL-2.0

//! The fast path of counting an event that is not in the ring: its keys, values and variables are numbers of it,
//! and there is an entry for it.
//!
//! It makes no call, so that it needs no frame. Whatever else there is to do is done by the [`NumberCounter`] that
//! counts other events of the histogram as well.

use super::{
    counts::SharedCounts,
    hist::{
        time_by,
        NumberCounter, //
    }, //
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
        percpu::{
            CpuPin,
            PinRef, //
        },
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
pub(super) struct QuickLoad {
    at: WordAt,
    word: LoadedWord,
}

impl QuickLoad {
    /// Stands for no number.
    const NONE: Self = Self {
        at: WordAt::FIRST,
        word: LoadedWord::NONE,
    };

    /// Returns how these numbers are got; `None` if they are not `LEN`, or one of them is not made of one word.
    pub(super) fn all<const LEN: usize>(loads: &[NumberLoad]) -> Option<[Self; LEN]> {
        let loads: &[NumberLoad; LEN] = loads.try_into().ok()?;
        let mut all = [Self::NONE; LEN];
        for (place, load) in all.iter_mut().zip(loads) {
            *place = Self::of(load)?;
        }
        Some(all)
    }

    /// Returns how this number is got; `None` if it is not made of one word.
    pub(super) fn of(load: &NumberLoad) -> Option<Self> {
        let word = load.word()?;
        Some(Self {
            at: WordAt::new(word.start as usize)?,
            word,
        })
    }

    /// Returns the number. `STEPS` are those that it may need.
    #[inline(always)]
    pub(super) fn read<const STEPS: u8>(
        &self,
        record: RecordToRead<'_>,
        env: &QuickEnv<'_>,
    ) -> u64 {
        match self.word.step {
            WordStep::Cpu if STEPS >= WITH_STEPS => return env.cpu.into(),
            WordStep::Time if STEPS >= WITH_TIME => return time_by(env.file, env.usecs),
            _ => {}
        }
        let number = self.word.number(record.word(self.at));
        match self.word.step {
            WordStep::Log2 if STEPS >= WITH_STEPS => log2(number),
            _ => number,
        }
    }

    /// Returns the numbers. `STEPS` are those that they may need.
    #[inline(always)]
    pub(super) fn read_all<const STEPS: u8, const LEN: usize>(
        loads: &[Self; LEN],
        record: RecordToRead<'_>,
        env: &QuickEnv<'_>,
    ) -> [u64; LEN] {
        let mut numbers = [0; LEN];
        for (place, load) in numbers.iter_mut().zip(loads) {
            *place = load.read::<STEPS>(record, env);
        }
        numbers
    }

    /// Returns which steps these numbers need.
    fn steps(loads: &[Self]) -> u8 {
        let steps = loads.iter().map(|load| match load.word.step {
            WordStep::Plain => PLAIN,
            WordStep::Cpu | WordStep::Log2 => WITH_STEPS,
            WordStep::Time => WITH_TIME,
        });
        steps.fold(PLAIN, u8::max)
    }
}

/// Words as they are.
const PLAIN: u8 = 0;
/// Also those after a step, and the CPU.
pub(super) const WITH_STEPS: u8 = 1;
/// Also the time, for which clocks may be called.
pub(super) const WITH_TIME: u8 = 2;

/// What numbers may need besides the record.
pub(super) struct QuickEnv<'a> {
    pub(super) file: &'a EventFile,
    pub(super) cpu: u32,
    /// Whether times count microseconds.
    pub(super) usecs: bool,
}

/// Counts events as `counter` does, which comes first so that both have one address.
#[repr(C)]
struct QuickCounter<const KEYS: usize, const VALUES: usize, const VARIABLES: usize, const STEPS: u8>
{
    counter: NumberCounter<KEYS, VALUES, VARIABLES>,
    /// Those of `counter`.
    counts: Arc<SharedCounts>,
    usecs: bool,
    keys: [QuickLoad; KEYS],
    values: [QuickLoad; VALUES],
    variables: [QuickLoad; VARIABLES],
}

impl<const KEYS: usize, const VALUES: usize, const VARIABLES: usize, const STEPS: u8> Effect
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
        let env = QuickEnv {
            file,
            cpu,
            usecs: self.usecs,
        };
        let key = QuickLoad::read_all::<STEPS, KEYS>(&self.keys, record, &env);
        let added = QuickLoad::read_all::<STEPS, VALUES>(&self.values, record, &env);
        let Some(entry) = counts.map.count_known(cpu as usize, &key, &added) else {
            return self.act_slowly(file, record, pin);
        };
        let mut at = 0usize;
        for load in &self.variables {
            let number = load.read::<STEPS>(record, &env);
            counts.map.set_variable(entry, at, number);
            at = at.wrapping_add(1);
        }
    }

    fn miss(&self, pin: &CpuPin) {
        self.counter.miss(pin);
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
        QuickLoad::all::<KEYS>(&counter.keys),
        QuickLoad::all::<VALUES>(&counter.values),
        QuickLoad::all::<VARIABLES>(&counter.variables),
    ) else {
        return Ok(KBox::new(counter, GFP_KERNEL)?);
    };
    let all = [&keys[..], &values[..], &variables[..]];
    match all.map(QuickLoad::steps).into_iter().fold(PLAIN, u8::max) {
        PLAIN => boxed::<KEYS, VALUES, VARIABLES, PLAIN>(counter, keys, values, variables),
        WITH_STEPS => {
            boxed::<KEYS, VALUES, VARIABLES, WITH_STEPS>(counter, keys, values, variables)
        }
        _ => boxed::<KEYS, VALUES, VARIABLES, WITH_TIME>(counter, keys, values, variables),
    }
}

fn boxed<const KEYS: usize, const VALUES: usize, const VARIABLES: usize, const STEPS: u8>(
    counter: NumberCounter<KEYS, VALUES, VARIABLES>,
    keys: [QuickLoad; KEYS],
    values: [QuickLoad; VALUES],
    variables: [QuickLoad; VARIABLES],
) -> Result<KBox<dyn Effect>> {
    let quick = QuickCounter::<KEYS, VALUES, VARIABLES, STEPS> {
        counts: counter.counts.clone(),
        usecs: counter.hist.plan().usecs,
        keys,
        values,
        variables,
        counter,
    };
    Ok(KBox::new(quick, GFP_KERNEL)?)
}
