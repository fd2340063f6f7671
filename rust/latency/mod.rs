// SPDX-License-Identifier: GPL-2.0

//! What latency tracers make of the times that they read.
//!
//! | file | what it has |
//! |---|---|
//! | `gap` | times in which a CPU did nothing that it was asked to |
//! | `hwlat` | the settings, the record and the text of the tracer `hwlat` |

pub(crate) mod gap;
pub(crate) mod hwlat;
