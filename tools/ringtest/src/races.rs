// SPDX-License-Identifier: GPL-2.0
//! Tasks that open, close and remove one instance, and a module that takes its events away, in
//! every order of their steps.
//!
//! The life is the shipped one (rust/instance/life.rs). The list, the probe and the event are
//! words: what `registry` and `enable` do to theirs with a lock held is one step here.

use crate::life::{Life, Refusal};
use crate::ring::port::SharedWord;
use crate::threads::{race, Racy};
use crate::trail::{explore, schedule, ALL};

/// An instance, and an event of another module.
struct World {
    life: Life<Racy>,
    /// 1: on the list of instances.
    listed: Racy,
    /// 1: the event can be enabled.
    offered: Racy,
    /// 1: the instance's probe is on the event.
    probe: Racy,
}

/// What became of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Done,
    Refused(Refusal),
}
use End::{Done, Refused};
use Refusal::{Gone, InUse};

impl World {
    fn new() -> Self {
        World {
            life: Life::new(),
            listed: Racy::new(1),
            offered: Racy::new(1),
            probe: Racy::new(0),
        }
    }

    /// Opens a file of the instance and closes it.
    fn open(&self) -> End {
        self.open_and(|| {})
    }

    /// Enables the event through a file of the instance.
    fn enable(&self) -> End {
        self.open_and(|| {
            Racy::locked(|| {
                let offered = self.offered.peek() == 1;
                if offered {
                    self.probe.poke(1);
                }
                offered
            });
        })
    }

    fn open_and(&self, act: impl Fn()) -> End {
        if let Err(refusal) = self.life.enter() {
            return Refused(refusal);
        }
        // Checked in every turn until this user has left.
        let at = schedule();
        assert_eq!(self.listed.peek(), 1, "removed while it is open, in {at}");
        act();
        self.life.leave();
        Done
    }

    /// Removes the instance.
    fn remove(&self) -> End {
        let off = || self.probe.store(0);
        let unlist = || self.listed.store(0);
        match self.life.remove(off, unlist) {
            Ok(()) => {
                let at = schedule();
                assert_eq!(self.probe.peek(), 0, "removed with its probe on, in {at}");
                Done
            }
            Err(refusal) => Refused(refusal),
        }
    }

    /// The event's module goes away.
    fn forget(&self) -> End {
        self.offered.store(0);
        let still = || self.listed.peek() == 1 && self.probe.peek() == 1;
        while Racy::locked(still) {
            self.probe.store(0);
        }
        let at = schedule();
        assert_eq!(self.probe.peek(), 0, "a probe on what is gone, in {at}");
        Done
    }
}

/// Every order of what `actors` do to a fresh world; `check` sees how each fared.
fn all(actors: &[fn(&World) -> End], check: impl Fn(&World, &[End])) {
    let runs = explore(&[], ALL, || {
        let w = World::new();
        let threads: Vec<_> = actors.iter().map(|actor| || actor(&w)).collect();
        let threads: Vec<&dyn Fn() -> End> = threads.iter().map(|t| t as _).collect();
        check(&w, &race(&threads));
    });
    println!("{runs} schedules");
}

fn count(ends: &[End], end: End) -> usize {
    ends.iter().filter(|e| **e == end).count()
}

#[test]
fn no_file_is_open_on_a_removed_instance() {
    all(&[World::open, World::open, World::remove], |w, ends| {
        let at = schedule();
        match ends[2] {
            Done => assert_eq!(w.life.enter(), Err(Gone), "opened after its end, in {at}"),
            _ => assert_eq!(count(ends, Done), 2, "refused although it stays, in {at}"),
        }
        assert_ne!(ends[2], Refused(Gone));
        assert_eq!(w.listed.peek(), u64::from(ends[2] != Done));
    });
}

#[test]
fn the_last_close_lets_it_go() {
    all(&[World::open, World::open, World::remove], |w, ends| {
        if ends[2] == Refused(InUse) {
            assert_eq!(w.remove(), Done, "a user is left over, in {}", schedule());
        }
    });
}

#[test]
fn one_of_two_removals_removes() {
    all(&[World::remove, World::remove, World::open], |_, ends| {
        let (removed, at) = (count(&ends[..2], Done), schedule());
        assert!(removed < 2, "removed twice, in {at}");
        if removed == 0 {
            assert_eq!(ends, [Refused(InUse), Refused(InUse), Done], "in {at}");
        } else {
            assert!(count(&ends[..2], Refused(Gone)) <= 1, "in {at}");
        }
    });
}

#[test]
fn a_removed_instance_has_no_probe() {
    all(&[World::enable, World::remove, World::open], |w, ends| {
        if ends[1] == Done {
            assert_eq!(w.probe.peek(), 0, "in {}", schedule());
        }
    });
}

#[test]
fn an_event_that_goes_takes_its_probes_along() {
    all(&[World::enable, World::remove, World::forget], |w, _| {
        assert_eq!(w.probe.peek(), 0, "in {}", schedule());
    });
}
