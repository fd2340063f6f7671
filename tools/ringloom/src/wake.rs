// SPDX-License-Identifier: GPL-2.0
//! No reader sleeps through an event: what a writer stores and loads against what a sleeper does.
//!
//! A writer publishes with a release, then looks whether a sleeper wants to be woken. A sleeper says
//! that it wants to, then looks for events (`rust/kapi/waker.rs`). The sleeper interrupts the writing CPU
//! in between, and an interrupt is a full barrier on the CPU that takes it, at whatever place it is.
//!
//! C11 has no such barrier, so loom cannot be told of it. What loom can show: with no barrier a wake-up
//! is lost, and with the barrier at each single place of the writer that an interrupt may hit it is not,
//! each taken as a program of its own, with the sleeper waiting for the interrupt's answer as
//! `smp_call_function()` does. tools/litmus/wakeup.pml has the store buffers and the interrupt itself.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::Arc;
use std::time::Instant;

use loom::sync::atomic::{fence, AtomicU64 as Word};
use loom::thread;

use crate::runs::{every, tell};

/// Places of the writer: before it publishes, between, and after its look.
const PLACES: u32 = 3;

/// How an execution ended.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// The interrupt comes at another place, which is another program.
    Elsewhere,
    /// The sleeper finds the event or is woken.
    Well,
    /// Neither.
    Lost,
}

/// One execution. The interrupt comes at `place`, if at all.
fn one(place: Option<u32>) -> End {
    let words = Rc::new([(); 4].map(|()| Word::new(0)));
    let theirs = words.clone();
    let writer = thread::spawn(move || {
        let [published, wanted, asked, answered] = &*theirs;
        let interrupt = |here| {
            // A CPU takes an interrupt only after it was sent.
            if place == Some(here) && asked.load(Acquire) == 1 {
                fence(SeqCst);
                answered.store(1, Release);
            }
        };
        interrupt(0);
        published.store(1, Release);
        interrupt(1);
        let woke = wanted.load(Relaxed) == 1;
        interrupt(2);
        woke
    });
    let [published, wanted, asked, answered] = &*words;
    wanted.store(1, Relaxed);
    if place.is_some() {
        fence(SeqCst);
        asked.store(1, Release);
        if answered.load(Acquire) == 0 {
            writer.join().unwrap();
            return End::Elsewhere;
        }
        fence(SeqCst);
    }
    let found = published.load(Acquire) == 1;
    let woke = writer.join().unwrap();
    if found || woke {
        End::Well
    } else {
        End::Lost
    }
}

/// Whether some execution loses a wake-up; that the others are not all without the interrupt.
fn loses(name: &str, place: Option<u32>) -> bool {
    let began = Instant::now();
    let (well, lost) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (saved, missed) = (well.clone(), lost.clone());
    let runs = every(None, move || match one(place) {
        End::Elsewhere => {}
        End::Well => _ = saved.fetch_add(1, SeqCst),
        End::Lost => _ = missed.fetch_add(1, SeqCst),
    });
    tell(name, runs, began, "without a bound");
    assert_ne!(well.load(SeqCst), 0, "the interrupt never came");
    lost.load(SeqCst) != 0
}

#[test]
fn without_the_interrupt_a_wake_up_is_lost() {
    assert!(loses("no interrupt", None));
}

#[test]
fn an_interrupt_at_any_place_saves_the_wake_up() {
    for place in 0..PLACES {
        assert!(!loses("interrupt", Some(place)), "at place {place}");
    }
}
