// SPDX-License-Identifier: GPL-2.0
//! Hooks of several CPUs that take one of the times that a command of a function will still act, and the task
//! that takes the command away, in every order of their steps.
//!
//! The count is the shipped one (rust/probes/times_left.rs).

use crate::functions::commands::{CommandKind, CommandVerb, ENDLESS};
use crate::threads::{race, Racy};
use crate::times_left::TimesLeft;
use crate::trail::{explore, schedule, ALL};

const fn counted(verb: CommandVerb) -> CommandKind {
    CommandKind {
        verb,
        counted: true,
    }
}

/// One that a negative count makes act without end, and one that it makes never act.
const KINDS: [CommandKind; 2] = [
    counted(CommandVerb::Stacktrace),
    counted(CommandVerb::TraceOff),
];

/// Every order in which `takers` hooks take from `left`, beside a task that clears it if `clears`; `check` sees what is
/// left and how many have got one.
fn all(kind: CommandKind, left: i64, takers: usize, clears: bool, check: impl Fn(i64, usize)) {
    let runs = explore(&[], ALL, || {
        let times = TimesLeft::<Racy>::new(left);
        let take = || times.take(kind);
        let clear = || {
            times.clear();
            false
        };
        let mut threads: Vec<&dyn Fn() -> bool> = vec![&take; takers];
        if clears {
            threads.push(&clear);
        }
        let taken = race(&threads).into_iter().filter(|taken| *taken).count();
        check(times.get(), taken);
    });
    println!("{runs} schedules");
}

#[test]
fn each_time_is_taken_once() {
    for kind in KINDS {
        for (left, takers) in [(1, 2), (2, 2), (1, 3)] {
            all(kind, left, takers, false, |now, taken| {
                let at = schedule();
                assert_eq!(
                    taken,
                    takers.min(left as usize),
                    "{kind:?}, {left} times, in {at}"
                );
                assert_eq!(now, left - taken as i64, "{kind:?}, {left} times, in {at}");
            });
        }
    }
}

#[test]
fn what_was_cleared_stays_so() {
    for kind in KINDS {
        for left in [1, 2, 5] {
            all(kind, left, 2, true, |now, _| {
                assert_eq!(now, 0, "{kind:?}, {left} times, in {}", schedule());
            });
        }
    }
}

#[test]
fn without_end_nothing_is_counted() {
    let [endless, never] = KINDS;
    all(endless, ENDLESS, 2, false, |now, taken| {
        assert_eq!((now, taken), (ENDLESS, 2));
    });
    all(never, ENDLESS, 2, false, |now, taken| {
        assert_eq!((now, taken), (ENDLESS, 0));
    });
}
