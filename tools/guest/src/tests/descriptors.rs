// SPDX-License-Identifier: GPL-2.0

//! Random sequences of system calls get the same answers on both trees (`crate::calls`).
//!
//! `RTRACE_FUZZ_CALLS` says how many calls there are.

use super::{test, Test};
use crate::calls::answer::Answer;
use crate::calls::choose::Chooser;
use crate::calls::files::{File, FILES};
use crate::calls::perform::Side;
use crate::calls::rules::{known, Difference};
use crate::calls::{Step, What};
use crate::chance::{Chance, SEED};
use crate::check::{Check, Report};
use crate::soak::{self, setting};
use crate::tree::{Instance, Tree};
use crate::{sys, Context};
use std::collections::BTreeMap;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

pub const TESTS: &[Test] = &[test("descriptors.same_answers", 20000, same_answers)];

/// Calls of one sequence, which begins with two new instances.
const LENGTH: usize = 60;
/// So many differences are looked into.
const PROBLEMS: usize = 25;

type Sides = Arc<Mutex<[Side; 2]>>;
type Job = (Sides, Step);

/// A task on CPU 1 that makes calls for the test.
struct OtherTask {
    jobs: Sender<Job>,
    answers: Receiver<[Answer; 2]>,
}

/// One call on both trees, at once.
fn perform(sides: &Sides, step: &Step) -> [Answer; 2] {
    let mut sides = sides.lock().unwrap_or_else(|e| e.into_inner());
    sides.each_mut().map(|side| side.perform(&step.what))
}

impl OtherTask {
    fn start() -> Self {
        let (jobs, wanted) = channel::<Job>();
        let (done, answers) = channel();
        thread::spawn(move || {
            sys::pin_to(1);
            for (sides, step) in wanted {
                if done.send(perform(&sides, &step)).is_err() {
                    return;
                }
            }
        });
        OtherTask { jobs, answers }
    }

    fn perform(&self, sides: &Sides, step: &Step) -> Check<[Answer; 2]> {
        let sent = self.jobs.send((sides.clone(), step.clone()));
        sent.map_err(|_| "the other task has died")?;
        let answer = self.answers.recv();
        answer.map_err(|_| "the other task died in a call".to_string())
    }
}

/// How a sequence ended.
enum End {
    Equal,
    /// By a rule of this name.
    Known(&'static str),
    /// The number of the call, and both answers.
    New(usize, String),
}

struct Fuzzer<'a> {
    context: &'a Context,
    other: OtherTask,
}

impl Fuzzer<'_> {
    /// The file that the step is about.
    fn file_of(sides: &Sides, step: &Step) -> &'static File {
        match &step.what {
            What::Put { file, .. } => file,
            What::On { slot, call } => match call {
                crate::calls::Call::Open { file, .. } => file,
                _ => {
                    let sides = sides.lock().unwrap_or_else(|e| e.into_inner());
                    sides[0].file(*slot).unwrap_or(&FILES[0])
                }
            },
        }
    }

    /// Makes the steps on new instances, until the answers differ.
    fn run(&self, steps: impl Iterator<Item = Step>, made: &mut Vec<Step>) -> Check<End> {
        let own = Instance::new(&self.context.root, "rtg-calls")?;
        let reference = Instance::new(&self.context.reference, "rtg-calls")?;
        let trees = [&own, &reference].map(|tree| Side::new(Tree::at(tree.path())));
        let sides: Sides = Arc::new(Mutex::new(trees));
        let mut end = End::Equal;
        for step in steps {
            let file = Self::file_of(&sides, &step);
            made.push(step.clone());
            let answers = match step.task {
                0 => perform(&sides, &step),
                _ => self.other.perform(&sides, &step)?,
            };
            let [own, reference] = answers.map(|answer| answer.comparable(file.contents));
            if own == reference {
                continue;
            }
            let place = made.len();
            let difference = Difference {
                file: file.name,
                steps: made,
                what: &step.what,
                own: &own,
                reference: &reference,
            };
            end = match known(&difference) {
                Some(rule) => End::Known(rule.name),
                None => End::New(place, format!("{}: {}", file.name, own.against(&reference))),
            };
            break;
        }
        // Nothing may be open when the instances go.
        drop(sides);
        own.remove()?;
        reference.remove()?;
        Ok(end)
    }

    /// The same difference by as few steps as can be found.
    fn shortened(&self, mut steps: Vec<Step>, reason: &str) -> Check<Option<Vec<Step>>> {
        let mut again = false;
        // All of them first.
        for at in (0..=steps.len()).rev() {
            let mut fewer = steps.clone();
            if at + 1 < fewer.len() {
                fewer.remove(at);
            }
            let mut made = Vec::new();
            match self.run(fewer.into_iter(), &mut made)? {
                End::New(_, found) if found == reason => steps = made,
                _ => continue,
            }
            again = true;
        }
        Ok(again.then_some(steps))
    }
}

fn same_answers(context: &Context) -> Check {
    let total = setting("RTRACE_FUZZ_CALLS", soak::rounds(3000, 100_000) as u64) as usize;
    let seed = setting("RTRACE_SEED", SEED);
    println!("seed {seed:#x}");
    sys::pin_to(0);
    let fuzzer = Fuzzer {
        context,
        other: OtherTask::start(),
    };
    let mut chance = Chance::new(seed);
    let (mut calls, mut sequences) = (0, 0);
    let mut rules = BTreeMap::<&str, usize>::new();
    let mut report = Report::default();
    let mut problems = 0;
    while calls < total && problems < PROBLEMS {
        let mut chooser = Chooser::default();
        let steps = (0..LENGTH).map(|_| chooser.next(&mut chance));
        let mut made = Vec::new();
        let end = fuzzer.run(steps, &mut made)?;
        calls += made.len();
        sequences += 1;
        match end {
            End::Equal => (),
            End::Known(rule) => *rules.entry(rule).or_default() += 1,
            End::New(place, reason) => {
                problems += 1;
                println!("sequence {sequences}, call {place}: {reason}");
                match fuzzer.shortened(made, &reason)? {
                    Some(steps) => steps.iter().for_each(|step| println!("    {step:?}")),
                    None => println!("    not when it is repeated"),
                }
                report.add(reason);
            }
        }
    }
    println!("{calls} calls in {sequences} sequences; ended by a rule: {rules:?}");
    report.finish()
}
