// SPDX-License-Identifier: GPL-2.0

//! What latency tracers make of the times that they read.
//!
//! | file | what it has |
//! |---|---|
//! | `gap` | times in which a CPU did nothing that it was asked to |
//! | `hwlat` | the settings, the record and the text of the tracer `hwlat` |
//! | `irqsoff` | the section of a CPU with interrupts off |
//! | `maximum` | the longest latency, and the task that had it |
//! | `noise` | what takes a CPU, told apart |
//! | `osnoise` | the settings, the record and the texts of the tracer `osnoise` |
//! | `sampled` | how long interrupts or preemption were off, as bounds; the record and the text of that |
//! | `timerlat` | the same of the tracer `timerlat` |
//! | `wakeup` | which tasks the tracers `wakeup` follow, their records and texts |

pub(crate) mod gap;
pub(crate) mod hwlat;
pub(crate) mod irqsoff;
pub(crate) mod maximum;
pub(crate) mod noise;
pub(crate) mod osnoise;
pub(crate) mod sampled;
pub(crate) mod timerlat;
pub(crate) mod wakeup;

/// Returns the number of eight bytes at `at`; 0 when the record ends before it.
pub(crate) fn long(record: &[u8], at: usize) -> u64 {
    let bytes = record.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

/// Returns the number of four bytes at `at`; 0 when the record ends before it.
pub(crate) fn int(record: &[u8], at: usize) -> u32 {
    let bytes = record.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
}
