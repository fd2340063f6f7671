// SPDX-License-Identifier: GPL-2.0

//! `function`: records each function of the kernel that is called, and its caller. Which functions those
//! are, `set_ftrace_filter` and `set_ftrace_notrace` say.

use super::{
    Host,
    Tracer, //
};
use crate::{
    hooks::{
        self,
        RecordingRequest, //
    },
    text::options::{
        Opt,
        OptionSet,
        Owner, //
    }, //
};
use kernel::prelude::*;

/// Returns how functions are recorded with these options.
///
/// # Errors
///
/// `EINVAL` for arguments together with stacks or numbers of repeats.
fn how(options: OptionSet) -> Result<RecordingRequest> {
    let how = RecordingRequest {
        stack: options.has(Opt::FunctionStack),
        no_repeats: options.has(Opt::FunctionNoRepeats),
        args: options.has(Opt::FunctionArgs),
        once: options.has(Opt::FunctionOnce),
        of_followed: None,
    };
    match how.args && (how.stack || how.no_repeats) {
        true => Err(EINVAL),
        false => Ok(how),
    }
}

/// The tracer.
pub(super) struct FunctionTracer;

impl Tracer for FunctionTracer {
    fn name(&self) -> &'static str {
        "function"
    }

    fn is_there(&self) -> bool {
        hooks::IS_THERE
    }

    fn records(&self) -> bool {
        true
    }

    fn owner(&self) -> Option<Owner> {
        Some(Owner::Function)
    }

    fn has_options_by_instance(&self) -> bool {
        true
    }

    fn obey(&self, host: &Host<'_>) -> Result {
        host.functions().change(host.sink(), how(host.options())?)
    }

    fn start(&self, host: &Host<'_>) -> Result {
        let how = how(host.options())?;
        host.functions().start(host.sink(), how)
    }

    fn stop(&self, host: &Host<'_>) {
        host.functions().stop(host.sink());
    }
}
