// SPDX-License-Identifier: GPL-2.0
//! The ring buffer of one CPU. `core` only: no allocation, no kernel, no file.
//!
//! Actors: one CPU writes, from task, softirq, hardirq and NMI context, each interrupting writer
//! running to its end inside the interrupted one; one reader at a time, on any CPU, consumes; any
//! number of viewers copy under the reader's lock.
//!
//! A ring is an array of N slots over N + 1 sub-buffers. Sub-buffer number `seq` is in slot
//! `seq % N`. One word, the position, says where the next event goes; a writer moves it by one
//! local `cmpxchg`. One word per slot is where writers and reader meet.
//!
//! # Invariants
//!
//! - I1: only the owning CPU writes.
//! - I2: writers nest like a stack; the position only grows, except that a discard returns it to
//!   the start of its own reservation.
//! - I3: every sub-buffer from `closing` to the position's is Open, and an Open slot keeps its
//!   sub-buffer.
//! - I4: `commit` of a sub-buffer moves only by the outermost writer and is tagged with the number
//!   of the slot that holds it.
//! - I5: a Full slot has its final commit and no writer.
//! - I6: DETACH is on at most one slot, the reader's current one, and is set once.
//! - I7: a sub-buffer is in exactly one slot, or the spare, or the reader's current one.
//! - I8: while writers are in the reader's current sub-buffer, the reader touches no byte of it
//!   after its commit; no writer touches a byte up to its commit.
//! - I9: `base` of the next sub-buffer is `base` plus the events of this one.
//! - I10: when the position is in `own`, the event that ends there has the time of level 0; when it
//!   is in `inner`, that of the level there.
//! - I11: written = read + overrun + remaining, whenever no writer is active.
//! - I12: the reader never makes a writer refuse.
//! - I13: a writer that interrupted no other finds in `live_subbuf` and `live_base` the sub-buffer
//!   of the position and its memory, or the fast paths are not free.
//! - I14: while no writer is active and the fast paths are free, the position is in `own`, all is
//!   published up to it, all sub-buffers before are closed, and no event of its sub-buffer became
//!   padding.
//!
//! # Memory order
//!
//! | edge | store | load | else |
//! |---|---|---|---|
//! | event bytes, stamp, base to reader | commit, release | commit, acquire | torn event |
//! | final commit to reader | Open to Full, CAS | slot, acquire | last events missed |
//! | reader's last reads, `spare` to writer | reader's CAS | slot, acquire | overwritten under copy |
//! | reuse of a sub-buffer to viewer | writer's CAS | copy, read barrier, slot | torn copy accepted |
//! | writers of one CPU | program order | same CPU | a wrong delta |

pub(crate) mod check;
pub(crate) mod cpu;
pub(crate) mod cursor;
pub(crate) mod give;
pub(crate) mod idle;
#[cfg(test)]
mod inspect;
pub(crate) mod lend;
#[cfg(any(test, CONFIG_KUNIT = "y"))]
pub(crate) mod lines;
pub(crate) mod nest;
pub(crate) mod packed;
pub(crate) mod port;
pub(crate) mod pos;
pub(crate) mod reader;
pub(crate) mod reservation;
pub(crate) mod resize;
mod slot;
#[cfg(any(test, CONFIG_KUNIT = "y"))]
pub(crate) mod spoil;
pub(crate) mod subbuf;
pub(crate) mod time;
pub(crate) mod view;
pub(crate) mod violation;
pub(crate) mod watermark;
pub(crate) mod wire;
pub(crate) mod writer;
