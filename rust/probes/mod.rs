// SPDX-License-Identifier: GPL-2.0

//! Where events come in: what a probe in C calls, and what Rust calls to record.
//!
//! The functions here run in every context, NMI included, with preemption disabled. They take no
//! lock, allocate nothing and cannot panic.

pub(crate) mod action;
mod chosen;
mod entry;
mod file;
mod filter;
mod given;
mod pids;
mod sink;
mod steps;
mod ways;

pub(crate) use self::{
    action::{
        Action,
        ActionList,
        Hit, //
    },
    entry::{
        rtrace_commit,
        rtrace_reserve,
        OWN, //
    },
    file::EventFile,
    filter::Filter,
    pids::{
        PidFilter,
        PidList,
        PidSet, //
    },
    sink::Sink,
    steps::{
        for_c,
        give_up,
        leave,
        parts,
        token,
        ForC, //
    },
    ways::{
        reserve_by_other,
        reserve_in,
        Caller, //
    }, //
};

use self::{
    file::Choice,
    given::fill_common,
    steps::NOTHING, //
};

/// Bytes of the common fields that every record begins with.
pub(crate) const COMMON: usize = 8;

/// Most bytes of a record.
pub(crate) const MOST_PAYLOAD: usize = 4072;
