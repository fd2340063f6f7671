// SPDX-License-Identifier: GPL-2.0
//! The schedules: the answers that `choose` gives, one after the other, depth first.
//!
//! A schedule is replayed from its start. A set of schedules is named by the choices that they
//! begin with, so that several threads can share one exploration, and a sample is made of whole
//! subtrees, so that all samples together are the exploration.

use std::cell::RefCell;

/// A choice and how many there were.
pub type Choice = (u8, u8);

/// The choices of one schedule, and how to get to the next.
struct Trail {
    taken: Vec<Choice>,
    at: usize,
    /// Choices that stay.
    fixed: usize,
}

thread_local! {
    static TRAIL: RefCell<Trail> = const { RefCell::new(Trail { taken: Vec::new(), at: 0, fixed: 0 }) };
}

/// Choices other than 0 at the root of a subtree that a sample has or has not.
const DEPTH: usize = 4;
/// The same of a sample of a test, which has fewer of them.
const SHALLOW: usize = 2;

/// Which subtrees are explored: part `part` of `one_in` parts, chosen by a hash. A schedule with
/// fewer than `depth` choices other than 0 is in every part.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    one_in: u64,
    part: u64,
    depth: usize,
}

/// The sample without a gap: no subtree is left out.
pub const ALL: Sample = Sample::new(1, 0);

impl Sample {
    /// Returns part `part` of `one_in`.
    pub const fn new(one_in: u64, part: u64) -> Self {
        Self {
            one_in,
            part,
            depth: DEPTH,
        }
    }
}

/// Returns the sample that a test explores: part 0 of `one_in`; with `RTRACE_ONE_IN`, one that is so many times thinner,
/// and each `RTRACE_PART` below that another one.
pub fn sample(one_in: u64) -> Sample {
    let (less, part) = share();
    Sample {
        one_in: one_in * less,
        part,
        depth: if less > 1 { SHALLOW } else { DEPTH },
    }
}

/// Returns `RTRACE_ONE_IN`, which is 1 if the tests run as a whole, and which of so many parts this run has.
pub fn share() -> (u64, u64) {
    let less = number_of("RTRACE_ONE_IN", 1);
    (less, number_of("RTRACE_PART", 0) % less)
}

/// Returns how much of `least`, which tests that run as a whole see at the least, this run has to see.
pub fn least(least: u64) -> u64 {
    least / share().0
}

/// Returns the number in an environment variable, or what else is meant.
pub fn number_of(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => default,
    }
}

/// Stirs all bits.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The choices other than 0 of a list, as a sample sees them: it can be added to and taken from.
#[derive(Clone, Copy)]
struct Print {
    others: usize,
    hash: u64,
}

impl Print {
    fn toggled(self, at: usize, choice: u8, others: usize) -> Self {
        let place = ((at as u64) << 8) | u64::from(choice);
        Print {
            others,
            hash: self.hash ^ mix(place),
        }
    }

    fn with(self, at: usize, choice: u8) -> Self {
        match choice {
            0 => self,
            _ => self.toggled(at, choice, self.others + 1),
        }
    }

    fn without(self, at: usize, choice: u8) -> Self {
        match choice {
            0 => self,
            _ => self.toggled(at, choice, self.others - 1),
        }
    }

    fn is_in(self, sample: Sample) -> bool {
        self.others != sample.depth || mix(self.hash) % sample.one_in == sample.part
    }
}

impl Trail {
    /// Sets out for the next schedule of the sample.
    fn next(&mut self, sample: Sample) -> bool {
        let nothing = Print { others: 0, hash: 0 };
        let all = self.taken.iter().enumerate();
        let mut print = all.fold(nothing, |print, (at, (c, _))| print.with(at, *c));
        while self.taken.len() > self.fixed {
            let Some((mut choice, of)) = self.taken.pop() else {
                return false;
            };
            let at = self.taken.len();
            print = print.without(at, choice);
            while choice + 1 < of {
                choice += 1;
                if print.with(at, choice).is_in(sample) {
                    self.taken.push((choice, of));
                    return true;
                }
            }
        }
        false
    }
}

/// One of `0..options`: as recorded, or 0 at a new place.
pub fn choose(options: u8) -> u8 {
    if options < 2 {
        return 0;
    }
    TRAIL.with_borrow_mut(|t| {
        let at = t.at;
        t.at += 1;
        if let Some(&(choice, of)) = t.taken.get(at) {
            assert!(
                of == options || of == ANY,
                "the schedule is not deterministic"
            );
            return choice;
        }
        t.taken.push((0, options));
        0
    })
}

/// Stands for an unknown number of choices in a schedule that a user typed.
const ANY: u8 = 0;

fn start(prefix: &[Choice]) {
    TRAIL.with_borrow_mut(|t| {
        t.taken.clear();
        t.taken.extend_from_slice(prefix);
        t.fixed = prefix.len();
        t.at = 0;
    });
}

/// Runs `world` once for every schedule of `sample` that begins with `prefix`; returns how often.
pub fn explore(prefix: &[Choice], sample: Sample, mut world: impl FnMut()) -> u64 {
    start(prefix);
    let mut runs = 0;
    loop {
        TRAIL.with_borrow_mut(|t| t.at = 0);
        world();
        runs += 1;
        let more = TRAIL.with_borrow_mut(|t| {
            assert_eq!(t.at, t.taken.len(), "the schedule is not deterministic");
            t.next(sample)
        });
        if !more {
            return runs;
        }
    }
}

/// Divides the schedules that begin with `prefix`: those where all further choices are 0, of which
/// there is one, and those that differ from it first at some place. Runs `world` once.
pub fn split(prefix: &[Choice], mut world: impl FnMut()) -> Vec<Vec<Choice>> {
    start(prefix);
    world();
    let path = TRAIL.with_borrow(|t| t.taken.clone());
    let mut sets = vec![path.clone()];
    for (k, &(_, of)) in path.iter().enumerate().skip(prefix.len()) {
        for choice in 1..of {
            let mut set = path[..k].to_vec();
            set.push((choice, of));
            sets.push(set);
        }
    }
    sets
}

/// Returns the choices of the schedule that is running, to print with a failure.
pub fn schedule() -> String {
    TRAIL.with_borrow(|t| {
        let taken = t.taken.iter().take(t.at);
        taken.map(|(c, _)| char::from(b'0' + c)).collect()
    })
}

/// What [`schedule`] printed.
pub fn parse(schedule: &str) -> Vec<Choice> {
    schedule.bytes().map(|b| (b - b'0', ANY)).collect()
}

mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Three things may happen in six places, with an answer each.
    fn tree() {
        let mut left = 3;
        for _ in 0..6 {
            if left > 0 && choose(3) != 0 {
                left -= 1;
                choose(2);
            }
        }
    }

    fn schedules(prefix: &[Choice], sample: Sample) -> Vec<String> {
        let mut all = Vec::new();
        explore(prefix, sample, || {
            tree();
            all.push(schedule());
        });
        all
    }

    #[test]
    fn every_schedule_comes_once() {
        // Of six places k are taken, each in 2 * 2 ways.
        let all = schedules(&[], ALL);
        assert_eq!(all.len(), 1 + 6 * 4 + 15 * 16 + 20 * 64);
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }

    #[test]
    fn sets_are_the_whole_without_overlap() {
        let mut whole = schedules(&[], ALL);
        let mut parts = Vec::new();
        let (leaf, sets) = split(&[], tree)
            .split_first()
            .map(|(a, b)| (a.clone(), b.to_vec()))
            .unwrap();
        parts.extend(schedules(&leaf, ALL));
        for set in sets {
            for set in split(&set, tree) {
                parts.extend(schedules(&set, ALL));
            }
        }
        whole.sort();
        parts.sort();
        assert_eq!(whole, parts);
    }

    #[test]
    fn samples_are_the_whole_and_share_only_shallow_schedules() {
        let whole: HashSet<_> = schedules(&[], ALL).into_iter().collect();
        for depth in [SHALLOW, DEPTH] {
            let mut union = HashSet::new();
            for part in 0..7 {
                let one_in = 7;
                for s in schedules(
                    &[],
                    Sample {
                        one_in,
                        part,
                        depth,
                    },
                ) {
                    let shallow = s.bytes().filter(|b| *b != b'0').count() < depth;
                    assert!(union.insert(s.clone()) || shallow, "{s} twice");
                }
            }
            assert_eq!(whole, union);
        }
    }

    #[test]
    fn a_printed_schedule_can_be_run_again() {
        for s in schedules(&[], ALL).iter().step_by(17) {
            assert_eq!(schedules(&parse(s), ALL), [s.as_str()]);
        }
    }
}
