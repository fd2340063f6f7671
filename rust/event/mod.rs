// SPDX-License-Identifier: GPL-2.0
//! What an event is: its context, its fields, its description. Pure; knows no files and no CPUs.

pub(crate) mod context;
