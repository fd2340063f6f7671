// SPDX-License-Identifier: GPL-2.0

//! The entrance of events: what a probe in C calls, and what Rust calls to record.
//!
//! The functions here run in every context, NMI included, with preemption disabled. They take no
//! lock, allocate nothing and cannot panic.
//!
//! An event enters by `rtrace_reserve` and leaves by `rtrace_commit` (`entry`). Eight things are met on the
//! way: the file ([`EventFile`], the cookie of the probe) and its [`Sink`]; the CPU's own ring (`OwnRing`)
//! and its gate (`GateWord`); the clock in the gate (`clock::InlineClock`); the size (`RecordSize`); the
//! reservation; and the two registers of it that C gets ([`CReservation`]).
//!
//! - `entry`: the three functions that C calls, and the fast path.
//! - `fastcall`: their calling convention.
//! - `ways`: reservation by each kind of clock.
//! - `given`: the common fields.
//! - `exit`: leaving a ring and enabling preemption.
//! - `function`: the hook at the beginning of functions, which records them; `manner`: those that are recorded
//!   in other ways than usual; `only`: some of these ways, when there is one instance; `idle`: repeats of them when a
//!   CPU goes idle.
//! - `followed`: the CPU whose functions are recorded for a tracer of latencies.
//! - `deepest`: another such hook, which looks how deep stacks are.
//! - `graph`: the hooks at entry and exit of functions, which record calls; `graph_rules`: which calls;
//!   `graph_places`: those in which they are; `graph_alone`: all of them, for one instance; `graph_closely`: with more than usual.
//! - `profile`: those that count calls and measure their times.
//! - `commands`: what is done when functions are called; `times_left`: how often.
//! - `chosen`, `filter`, `pids`: files that do not record everything.
//! - `trigger`, `triggered`: what an event does besides being recorded; `light`: the end of one that needs no more;
//!   `in_place`: triggers that look at records in the ring; `follower`: what follows one.
//! - `file`, `sink`, `action`: what a probe is told by its instance.

#![allow(improper_ctypes_definitions, reason = "see `fastcall`")]

pub(crate) mod action;
mod called;
mod chosen;
mod commands;
mod deepest;
mod entry;
mod exit;
mod fast_event;
mod fastcall;
mod file;
mod filter;
mod followed;
mod follower;
mod function;
mod given;
mod graph;
mod graph_alone;
mod graph_closely;
mod graph_places;
mod graph_rules;
mod idle;
mod in_place;
mod kept_watch;
mod light;
mod manner;
mod only;
mod pids;
mod profile;
mod record_size;
mod sink;
mod times_left;
mod trigger;
mod triggered;
mod ways;

pub(crate) use self::{
    action::{
        Action,
        ActionList,
        Hit, //
    },
    called::CalledFunctions,
    commands::{
        Commands, //
        FunctionCommand,
    },
    deepest::{
        DeepestStack,
        DEEPEST, //
    },
    entry::{
        rtrace_commit,
        rtrace_reserve,
        OWN, //
    },
    exit::Exit,
    fastcall::{
        for_c,
        parts,
        token,
        CReservation, //
    },
    file::EventFile,
    filter::{
        operand,
        Filter, //
    },
    followed::{
        clear_section_of,
        set_followed_cpu,
        set_in_section,
        set_sections,
        FollowedPart, //
    },
    follower::EventFollower,
    function::{
        Dispatch,
        FunctionTarget,
        FUNCTION_DISPATCH,
        MOST_TARGETS, //
    },
    graph::{
        GraphDispatch,
        GraphTarget,
        GRAPH_DISPATCH,
        MOST_GRAPH_TARGETS, //
    },
    graph_places::GraphPlaces,
    graph_rules::GraphRules,
    idle::IdleRepeats,
    in_place::FilledRecord,
    kept_watch::KeptWatch,
    light::{
        LightEffect,
        LightEnd, //
    },
    manner::{
        Manner,
        Nesting,
        Repeats,
        TracedPids, //
    },
    only::OnlyTarget,
    pids::{
        PidFilter,
        PidList,
        PidSet, //
    },
    profile::{
        ProfileDispatch,
        ProfileRows,
        PROFILE_DISPATCH, //
    },
    record_size::RecordSize,
    sink::{
        Sink,
        WANT_CPU_DUMP,
        WANT_DUMP,
        WANT_MAXIMUM,
        WANT_NEWS,
        WANT_ROOM,
        WANT_SNAPSHOT,
        WANT_TELLING, //
    },
    trigger::{
        Effect,
        Trigger,
        TriggerList, //
    },
    triggered::commit_counted, //
};
#[cfg(rtrace_test)]
pub(crate) use self::{
    exit::give_up,
    fast_event::{
        commit_last,
        EarlyLeave,
        RingPresence,
        UnfinishedCommit, //
    },
    ways::{
        reserve_by_other,
        reserve_in,
        Caller,
        ReservedRecord, //
    }, //
};

use self::{
    file::RecordChoice,
    given::fill_common, //
};

/// What hooks of calls need, started by those who have functions call them.
pub(crate) use crate::tasks::sleep::SleepWatch;

/// Bytes of the common fields that every record begins with.
pub(crate) const COMMON: usize = 8;

/// Most bytes of a record in sub-buffers of any size.
pub(crate) const MOST_PAYLOAD: usize = 4072;
