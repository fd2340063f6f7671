// SPDX-License-Identifier: GPL-2.0
//! A user that has a word obeyed or wait for a module, that module while it is loaded, and another one, in every
//! order of their steps.
//!
//! The count of modules is the shipped one (rust/instance/arrivals.rs). The events and the words that wait are
//! words: what is done to theirs with a lock held is one step here.

use crate::arrivals::Arrivals;
use crate::ring::port::SharedWord;
use crate::threads::{race, Racy};
use crate::trail::{explore, schedule, ALL};

struct World {
    arrivals: Arrivals<Racy>,
    /// 1: the module can be found.
    loaded: Racy,
    /// 1: its event can be enabled.
    offered: Racy,
    /// Number of words that wait.
    waiting: Racy,
    /// 1: the event is on.
    on: Racy,
}

/// The word was refused: the module is there and has no such event.
#[derive(Debug, PartialEq, Eq)]
struct NoEvent;

impl World {
    fn new() -> Self {
        World {
            arrivals: Arrivals::of(Racy::new(0)),
            loaded: Racy::new(0),
            offered: Racy::new(0),
            waiting: Racy::new(0),
            on: Racy::new(0),
        }
    }

    /// Takes out a word, if one waits.
    fn take_out(&self) -> bool {
        Racy::locked(|| {
            let waits = self.waiting.peek() != 0;
            if waits {
                self.waiting.poke(self.waiting.peek() - 1);
            }
            waits
        })
    }

    /// Writes the word.
    fn write(&self) -> Result<(), NoEvent> {
        self.arrivals.obey_or_wait(
            || {
                let any = self.offered.load() == 1;
                if any {
                    self.on.store(1);
                }
                Ok(any)
            },
            || {
                if self.loaded.load() == 1 {
                    return Err(NoEvent);
                }
                Racy::locked(|| {
                    self.waiting.poke(self.waiting.peek() + 1);
                    true
                });
                Ok(())
            },
            || self.take_out(),
        )
    }

    /// Loads the module.
    fn load(&self) -> Result<(), NoEvent> {
        self.loaded.store(1);
        self.offered.store(1);
        self.arrivals.count();
        while self.take_out() {
            self.on.store(1);
        }
        Ok(())
    }

    /// Loads a module that the word does not name.
    fn load_other(&self) {
        self.arrivals.count();
    }
}

type Actor<'a> = &'a dyn Fn() -> Result<(), NoEvent>;

#[test]
fn no_word_waits_for_a_module_that_has_come() {
    let runs = explore(&[], ALL, || {
        let w = World::new();
        let other = || {
            w.load_other();
            Ok(())
        };
        let actors: [Actor<'_>; 3] = [&|| w.write(), &|| w.load(), &other];
        let ends = race(&actors);
        let at = schedule();
        assert_eq!(w.waiting.peek(), 0, "a word waits on, in {at}");
        if ends[0].is_ok() {
            assert_eq!(w.on.peek(), 1, "an event stays off, in {at}");
        }
    });
    println!("{runs} schedules");
}

#[test]
fn a_word_waits_for_a_module_that_has_not_come() {
    explore(&[], ALL, || {
        let w = World::new();
        let other = || {
            w.load_other();
            Ok(())
        };
        let actors: [Actor<'_>; 3] = [&|| w.write(), &other, &other];
        assert_eq!(race(&actors)[0], Ok(()));
        assert_eq!((w.waiting.peek(), w.on.peek()), (1, 0), "{}", schedule());
    });
}
