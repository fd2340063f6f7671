// SPDX-License-Identifier: GPL-2.0

//! The functions that are called on the CPU of the task that a tracer of wake-ups follows: with the option
//! `function-trace` they are recorded, as functions or, with `display-graph`, as calls with their times.
//!
//! One instance at a time has such a tracer. All here is called under the lock of its tracer, but for [`are_calls`].

use super::Host;
use crate::{
    hooks::{
        self,
        RecordingRequest, //
    },
    kapi::words::SharedU64,
    probes::FollowedPart,
    ring::port::SharedWord,
    text::options::Opt, //
};
use kernel::prelude::*;

/// Whether functions are recorded.
static ON: SharedU64 = SharedU64::zero();
/// Whether they are calls, as are the functions beside a wake-up and a switch.
static CALLS: SharedU64 = SharedU64::zero();

/// Returns whether functions are recorded as calls. Any context.
#[inline(always)]
pub(super) fn are_calls() -> bool {
    CALLS.load() != 0
}

/// Begins to record functions as `host` selects them, in the present form.
///
/// # Errors
///
/// `ENOSPC` for too many users, `ENOMEM`, and those of the kernel: nothing is recorded.
fn begin(host: &Host<'_>) -> Result {
    let (functions, sink) = (host.functions(), host.sink());
    if are_calls() {
        functions.start_followed_calls(sink)?;
    } else {
        let how = RecordingRequest {
            args: true,
            of_followed: Some(FollowedPart::Task),
            ..RecordingRequest::default()
        };
        functions.start(sink, how)?;
    }
    ON.store(1);
    Ok(())
}

/// Stops what was begun, if anything was. Nothing is recorded any more when this returns.
fn end(host: &Host<'_>) {
    if ON.load() != 0 {
        host.functions().stop(host.sink());
        ON.store(0);
    }
}

/// Records what the options of `host` say. Calls `begin_anew` when functions become calls, or no longer are, while none
/// is recorded: what was recorded until then is no part of the same trace.
///
/// # Errors
///
/// Those of [`begin`]; it obeys the options before, or records no functions where that fails as well.
pub(super) fn obey(host: &Host<'_>, begin_anew: impl Fn()) -> Result {
    let has = |opt| host.options().has(opt);
    let wanted = hooks::IS_THERE && has(Opt::FunctionTrace);
    let calls = hooks::IS_THERE && hooks::GRAPH_IS_THERE && has(Opt::DisplayGraph);
    let (were_on, were_calls) = (ON.load() != 0, are_calls());
    let show = |calls: bool| {
        end(host);
        CALLS.store(u64::from(calls));
        begin_anew();
    };
    if calls != were_calls {
        show(calls);
    }
    if !wanted {
        end(host);
        return Ok(());
    }
    if ON.load() != 0 {
        return Ok(());
    }
    begin(host).inspect_err(|_| {
        if calls != were_calls {
            show(were_calls);
            if were_on && begin(host).is_err() {
                pr_warn!("no memory: no functions are recorded\n");
            }
        }
    })
}

/// Ends all that for an instance whose tracer stops.
pub(super) fn stop(host: &Host<'_>) {
    end(host);
    CALLS.store(0);
}
