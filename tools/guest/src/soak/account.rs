// SPDX-License-Identifier: GPL-2.0

//! Checks that what was written, what came back and what was counted agree, to the last event.
//!
//! Of one CPU of one instance, when nothing is written any more and all was read:
//!
//! - recorded = read + overrun
//! - read = events of the readers = `read events`; each event once
//! - attempts - read = overrun + refused, context by context no more than was written
//! - refused because full = `dropped events`, refused by a commit overrun = `commit overrun`
//! - losses that the readers were told of = overrun
//!
//! An event of the tracepoint counts as recorded when its record was being filled. Why it was refused
//! only the ring knows: in the instance that has it on, `dropped events` and `commit overrun` are at
//! least what the other writers count, and at most what the tracepoint's refusals add.

use super::readers::Counts;
use super::record::{CONTEXTS, RINGS};
use super::seen::Seen;
use super::writers::{Tally, Written, COMMIT_OVERRUN, FULL};
use crate::check::{Check, Report};
use crate::tree::{number_in, Tree};

/// The numbers of `stats` of a CPU.
pub struct Stats {
    pub entries: u64,
    pub overrun: u64,
    pub commit_overrun: u64,
    pub dropped: u64,
    pub read: u64,
}

pub fn stats(tree: &Tree, cpu: usize) -> Check<Stats> {
    let file = format!("per_cpu/cpu{cpu}/stats");
    let number = |label| tree.number(&file, label);
    Ok(Stats {
        entries: number("entries")?,
        overrun: number("overrun")?,
        commit_overrun: number("commit overrun")?,
        dropped: number("dropped events")?,
        read: number("read events")?,
    })
}

/// The numbers of `totals` of a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ledger {
    pub recorded: u64,
    pub entries: u64,
    pub read: u64,
    pub overrun: u64,
    pub cleared: u64,
    pub commit_overrun: u64,
    pub dropped: u64,
}

/// Reads `totals` of a CPU: all numbers of one moment.
pub fn ledger(tree: &Tree, cpu: usize) -> Check<Ledger> {
    let text = tree.get(&format!("per_cpu/cpu{cpu}/totals"))?;
    let number = |label| number_in(&text, label).map_err(|e| format!("totals: {e}"));
    Ok(Ledger {
        recorded: number("recorded events")?,
        entries: number("entries")?,
        read: number("read events")?,
        overrun: number("overrun")?,
        cleared: number("cleared events")?,
        commit_overrun: number("commit overrun")?,
        dropped: number("dropped events")?,
    })
}

impl Ledger {
    /// Returns what was counted since.
    pub fn since(&self, before: &Ledger) -> Ledger {
        Ledger {
            recorded: self.recorded - before.recorded,
            entries: self.entries,
            read: self.read - before.read,
            overrun: self.overrun - before.overrun,
            cleared: self.cleared - before.cleared,
            commit_overrun: self.commit_overrun - before.commit_overrun,
            dropped: self.dropped - before.dropped,
        }
    }

    /// Adds another.
    pub fn add(&mut self, other: &Ledger) {
        self.recorded += other.recorded;
        self.entries += other.entries;
        self.read += other.read;
        self.overrun += other.overrun;
        self.cleared += other.cleared;
        self.commit_overrun += other.commit_overrun;
        self.dropped += other.dropped;
    }
}

/// Sums for the log.
#[derive(Default)]
pub struct Totals {
    pub recorded: u64,
    pub read: u64,
    pub overrun: u64,
    pub refused: u64,
    pub dropped: u64,
    pub commit_overrun: u64,
    pub recursion: u64,
    pub uncounted: u64,
}

impl Totals {
    pub fn told(&self) -> String {
        format!(
            "recorded {}, read {}, overrun {}, refused {} (full {}, commit overrun {}, \
             recursion {}), losses told without their number {}",
            self.recorded,
            self.read,
            self.overrun,
            self.refused,
            self.dropped,
            self.commit_overrun,
            self.recursion,
            self.uncounted
        )
    }
}

/// One CPU of an instance, and what is known of it.
pub struct Of<'a> {
    pub tree: &'a Tree,
    pub seen: &'a Seen,
    /// The instance's place.
    pub ring: usize,
    pub cpu: usize,
    pub written: &'a Written,
    pub counts: &'a Counts,
}

/// Compares all numbers.
pub fn check(of: &Of<'_>, totals: &mut Totals, report: &mut Report) -> Check {
    let Of {
        tree,
        seen,
        ring,
        cpu,
        written,
        counts,
    } = *of;
    let stats = stats(tree, cpu)?;
    let own = written.of_stream(cpu, ring);
    let event = match ring {
        0 => written.of_stream(cpu, RINGS),
        _ => Tally::default(),
    };
    let who = tree.shown(&format!("per_cpu/cpu{cpu}"));
    let mut expect = |holds: bool, what: &dyn Fn() -> String| {
        report.expect(holds, || format!("{who}: {}", what()));
    };

    let recorded = own.recorded + event.recorded;
    expect(stats.entries == 0, &|| {
        format!("{} entries are left", stats.entries)
    });
    expect(counts.read == stats.read, &|| {
        format!("readers got {}, {} are counted", counts.read, stats.read)
    });
    expect(recorded == counts.read + stats.overrun, &|| {
        format!(
            "recorded {recorded}, read {} + overrun {}",
            counts.read, stats.overrun
        )
    });

    let refused = own.refused.iter().sum::<u64>();
    let refused_event = event.attempts - event.recorded;
    expect(own.attempts == own.recorded + refused, &|| {
        format!("{} attempts, {} + {refused}", own.attempts, own.recorded)
    });
    let mut missing = 0;
    for stream in [ring, RINGS] {
        if stream == RINGS && ring != 0 {
            continue;
        }
        for (context, name) in CONTEXTS.iter().enumerate() {
            let tally = written.tally(cpu, stream, context);
            let came = seen.count(cpu, stream, context);
            expect(came <= tally.recorded, &|| {
                format!("stream {stream}, {name}: {came} of {}", tally.recorded)
            });
            missing += tally.attempts - came.min(tally.attempts);
        }
    }
    expect(missing == stats.overrun + refused + refused_event, &|| {
        format!(
            "{missing} numbers are missing, overrun {}, refused {refused} + {refused_event}",
            stats.overrun
        )
    });

    let counted = [
        ("dropped events", stats.dropped, own.refused[FULL]),
        (
            "commit overrun",
            stats.commit_overrun,
            own.refused[COMMIT_OVERRUN],
        ),
    ];
    let mut rest = refused_event;
    for (name, counted, told) in counted {
        expect((told..=told + rest).contains(&counted), &|| {
            format!("{name} {counted}, the writers saw {told} of it, the event {rest}")
        });
        rest -= counted.saturating_sub(told).min(rest);
    }

    let exact = counts.uncounted == 0 && counts.lost == stats.overrun;
    let some = counts.uncounted > 0 && counts.lost < stats.overrun;
    expect(exact || some, &|| {
        format!(
            "readers were told of {} lost and of {} losses without number, overrun {}",
            counts.lost, counts.uncounted, stats.overrun
        )
    });

    totals.recorded += recorded;
    totals.read += counts.read;
    totals.overrun += stats.overrun;
    totals.refused += refused + refused_event;
    totals.dropped += stats.dropped;
    totals.commit_overrun += stats.commit_overrun;
    totals.recursion += own.refused[super::writers::RECURSION];
    totals.uncounted += counts.uncounted;
    Ok(())
}
