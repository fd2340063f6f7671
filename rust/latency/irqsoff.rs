// SPDX-License-Identifier: GPL-2.0

//! The section of a CPU between the place that switches interrupts off and the one that switches them on again, as a
//! kernel with tracepoints there tells of both.

use crate::ring::port::LocalWord;

/// A section that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BegunSection {
    /// When, by the clock of the instance.
    pub(crate) since: u64,
    /// Which clock that was, as a number.
    pub(crate) clock: u64,
    /// How often the banks had been exchanged.
    pub(crate) exchanges: u64,
    /// Where interrupts were switched off.
    pub(crate) place: u64,
}

impl BegunSection {
    /// Returns how long it was when it ends at `now`, by the clock of this number; `None` by another one.
    pub(crate) fn until(&self, now: u64, clock: u64) -> Option<u64> {
        (clock == self.clock).then(|| now.saturating_sub(self.since))
    }
}

/// The section of one CPU, if one has begun. Used on that CPU alone, with interrupts off, or while it runs nothing.
pub(crate) struct SectionOfCpu<W> {
    begun: W,
    since: W,
    clock: W,
    exchanges: W,
    place: W,
}

impl<W: LocalWord> SectionOfCpu<W> {
    /// Returns that of a CPU whose section has not begun.
    pub(crate) fn new() -> Self {
        Self {
            begun: W::new(0),
            since: W::new(0),
            clock: W::new(0),
            exchanges: W::new(0),
            place: W::new(0),
        }
    }

    /// Returns whether a section has begun. Also in an NMI of that CPU.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.get() != 0
    }

    /// Notes that a section begins; one that had begun has lost its end.
    pub(crate) fn begin(&self, section: BegunSection) {
        self.since.set(section.since);
        self.clock.set(section.clock);
        self.exchanges.set(section.exchanges);
        self.place.set(section.place);
        self.begun.set(1);
    }

    /// Ends the section. Returns it if its beginning was seen.
    pub(crate) fn end(&self) -> Option<BegunSection> {
        if !self.has_begun() {
            return None;
        }
        self.begun.set(0);
        Some(BegunSection {
            since: self.since.get(),
            clock: self.clock.get(),
            exchanges: self.exchanges.get(),
            place: self.place.get(),
        })
    }
}
