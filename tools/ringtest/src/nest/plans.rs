// SPDX-License-Identifier: GPL-2.0
//! What an exploration covers.

/// One exploration.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub name: &'static str,
    /// Slots of the ring.
    pub slots: usize,
    /// Writers at the beginning that no actor interrupts; they make the first of all choices.
    pub before: u8,
    /// The reader has read once: it holds the oldest sub-buffer, or is attached to the only one.
    pub has_read: bool,
    /// Outer writers, one after the other.
    pub outer: u8,
    /// Nested writers, at any depth.
    pub nested: u8,
    /// Deepest nesting below the outer writer.
    pub depth: u8,
    /// Calls of the reader.
    pub reads: u8,
    /// A call of the reader may be one that consumes nothing.
    pub views: bool,
    /// Payload sizes to choose from.
    pub sizes: &'static [usize],
    /// Steps of the clock to choose from.
    pub clock: &'static [u64],
    /// Discards are a choice.
    pub discards: bool,
    /// A full ring loses its oldest events.
    pub overwrite: bool,
    /// One in this many subtrees is explored. 1: complete.
    pub one_in: u64,
}

/// Two writers, with two more inside.
pub const PLAN: Plan = Plan {
    name: "",
    slots: 2,
    before: 0,
    has_read: false,
    outer: 2,
    nested: 2,
    depth: 3,
    reads: 0,
    views: false,
    sizes: &[1000],
    clock: &[1],
    discards: false,
    overwrite: true,
    one_in: 1,
};

/// A delta between two events of one sub-buffer that needs a record.
pub const LONG: u64 = (1 << 27) + 5;

/// Three nested writers, without a reader.
const THREE: Plan = Plan { nested: 3, ..PLAN };
/// Four.
const FOUR: Plan = Plan { nested: 4, ..PLAN };
/// Both slots are in use, and the next sub-buffer takes the oldest.
const FULL: Plan = Plan {
    before: 3,
    sizes: &[2000],
    ..PLAN
};

/// Two events fill a sub-buffer, and with a time record they do not fit.
const EDGE: Plan = Plan {
    before: 2,
    sizes: &[2032],
    ..PLAN
};

/// What the long run explores.
pub const LONG_PLANS: &[Plan] = &[
    Plan {
        name: "3 nested; clock 0 or 50",
        clock: &[0, 50],
        ..THREE
    },
    Plan {
        name: "3 nested; clock 1 or 50",
        clock: &[1, 50],
        ..THREE
    },
    Plan {
        name: "3 nested; clock 1 or 2^27+5",
        clock: &[1, LONG],
        ..THREE
    },
    Plan {
        name: "3 nested; discards",
        discards: true,
        ..THREE
    },
    Plan {
        name: "3 nested; discards; clock 0 or 50",
        discards: true,
        clock: &[0, 50],
        ..THREE
    },
    Plan {
        name: "3 nested; discards; clock 1 or 2^27+5",
        one_in: 10,
        discards: true,
        clock: &[1, LONG],
        ..THREE
    },
    Plan {
        name: "3 nested; 3 events or 1 in a sub-buffer",
        sizes: &[1300, 4056],
        ..THREE
    },
    Plan {
        name: "3 nested; 3 events or 1; discards",
        sizes: &[1300, 4056],
        discards: true,
        ..THREE
    },
    Plan {
        name: "3 nested; 3 events or 1; no overwriting; discards",
        one_in: 5,
        sizes: &[1300, 4056],
        discards: true,
        overwrite: false,
        ..THREE
    },
    Plan {
        name: "3 nested; 3 events or 1; discards; clock 0 or 50",
        one_in: 100,
        sizes: &[1300, 4056],
        clock: &[0, 50],
        discards: true,
        ..THREE
    },
    Plan {
        name: "3 nested; full ring; clock 0 or 50",
        nested: 3,
        clock: &[0, 50],
        ..FULL
    },
    Plan {
        name: "3 nested; full ring; discards",
        nested: 3,
        discards: true,
        ..FULL
    },
    Plan {
        name: "3 nested; full ring; no overwriting; discards",
        nested: 3,
        discards: true,
        overwrite: false,
        ..FULL
    },
    Plan {
        name: "2 nested; 8 bytes, 3 events or 1; discards; clock 0 or 50",
        sizes: &[8, 1300, 4056],
        discards: true,
        clock: &[0, 50],
        ..PLAN
    },
    Plan {
        name: "2 nested; 2 events without time records; discards; clock 1 or 2^27+5",
        clock: &[1, LONG],
        discards: true,
        ..EDGE
    },
    Plan {
        name: "2 nested; 1 event, 2 without time records; discards; clock 1 or 2^27+5",
        before: 1,
        clock: &[1, LONG],
        discards: true,
        ..EDGE
    },
    Plan {
        name: "3 nested; 2 events without time records; clock 1 or 2^27+5",
        nested: 3,
        clock: &[1, LONG],
        ..EDGE
    },
    Plan {
        name: "3 nested; 2 events without time records; discards",
        nested: 3,
        discards: true,
        ..EDGE
    },
    Plan {
        name: "1 nested, 1 read; 2 events without time records; discards; clock 1 or 2^27+5",
        nested: 1,
        reads: 1,
        clock: &[1, LONG],
        discards: true,
        ..EDGE
    },
    Plan {
        name: "3 nested, 1 read; 1 event in a sub-buffer",
        sizes: &[4056],
        reads: 1,
        ..THREE
    },
    Plan {
        name: "3 nested, 1 read; full ring",
        nested: 3,
        reads: 1,
        ..FULL
    },
    Plan {
        name: "3 nested, 1 more read; full ring",
        nested: 3,
        reads: 1,
        has_read: true,
        ..FULL
    },
    Plan {
        name: "3 nested, 1 more read; attached; 1 event in a sub-buffer",
        one_in: 5,
        sizes: &[4056],
        before: 1,
        has_read: true,
        reads: 1,
        ..THREE
    },
    Plan {
        name: "2 nested, 1 more read; 1 event in a sub-buffer; discards",
        sizes: &[4056],
        before: 2,
        has_read: true,
        reads: 1,
        discards: true,
        ..PLAN
    },
    Plan {
        name: "2 nested, 1 read; full ring; no overwriting; discards",
        reads: 1,
        discards: true,
        overwrite: false,
        ..FULL
    },
    Plan {
        name: "2 nested, 1 more read; full ring; discards",
        reads: 1,
        has_read: true,
        discards: true,
        ..FULL
    },
    Plan {
        name: "2 nested, 1 read; 2 events or 1; discards; no overwriting",
        one_in: 10,
        sizes: &[2000, 4056],
        discards: true,
        overwrite: false,
        reads: 1,
        ..PLAN
    },
    Plan {
        name: "2 nested, 1 read or view; 2 events or 1; discards",
        one_in: 20,
        sizes: &[2000, 4056],
        discards: true,
        views: true,
        reads: 1,
        ..PLAN
    },
    Plan {
        name: "2 nested, 1 more read; full ring; discards; clock 0 or 50",
        one_in: 20,
        reads: 1,
        has_read: true,
        discards: true,
        clock: &[0, 50],
        ..FULL
    },
    Plan {
        name: "2 nested, 2 reads; 1 event in a sub-buffer",
        sizes: &[4056],
        reads: 2,
        ..PLAN
    },
    Plan {
        name: "2 nested, 2 reads; full ring; discards",
        one_in: 100,
        reads: 2,
        discards: true,
        ..FULL
    },
    Plan {
        name: "2 nested, 2 more reads or views; full ring",
        one_in: 20,
        reads: 2,
        views: true,
        has_read: true,
        ..FULL
    },
    Plan {
        name: "1 nested, 3 reads; 1 event in a sub-buffer",
        nested: 1,
        sizes: &[4056],
        reads: 3,
        ..PLAN
    },
    Plan {
        name: "4 nested",
        ..FOUR
    },
    Plan {
        name: "4 nested; full ring",
        nested: 4,
        ..FULL
    },
    Plan {
        name: "4 nested; full ring; no overwriting",
        nested: 4,
        overwrite: false,
        ..FULL
    },
    Plan {
        name: "4 nested; discards",
        discards: true,
        ..FOUR
    },
    Plan {
        name: "4 nested; clock 0 or 50",
        one_in: 20,
        clock: &[0, 50],
        ..FOUR
    },
    Plan {
        name: "4 nested; 3 events or 1",
        one_in: 20,
        sizes: &[1300, 4056],
        ..FOUR
    },
    Plan {
        name: "4 nested; 3 events or 1; discards; clock 0 or 50",
        one_in: 100_000,
        sizes: &[1300, 4056],
        discards: true,
        clock: &[0, 50],
        ..FOUR
    },
    Plan {
        name: "4 nested; full ring; no overwriting; discards; clock 1 or 2^27+5",
        one_in: 1000,
        nested: 4,
        clock: &[1, LONG],
        discards: true,
        overwrite: false,
        ..FULL
    },
    Plan {
        name: "4 nested, 1 read; full ring; discards",
        one_in: 10_000,
        nested: 4,
        reads: 1,
        discards: true,
        ..FULL
    },
    Plan {
        name: "4 nested, 1 more read; 2 events or 1; discards; clock 0 or 50",
        one_in: 1_000_000,
        nested: 4,
        reads: 1,
        sizes: &[2000, 4056],
        discards: true,
        clock: &[0, 50],
        has_read: true,
        before: 2,
        ..PLAN
    },
];
