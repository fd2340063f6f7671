// SPDX-License-Identifier: GPL-2.0

//! What the texts of files say. Pure: nothing here opens a file.

pub mod counts;
pub mod error_log;
pub mod hist;
pub mod lateness;
pub mod mounts;
pub mod record;
pub mod symbol;
