// SPDX-License-Identifier: GPL-2.0

//! `function`: records each function of the kernel that is called, and its caller. Which functions those
//! are, `set_ftrace_filter` and `set_ftrace_notrace` say.

use super::{
    Host,
    Tracer, //
};
use crate::hooks;
use kernel::prelude::*;

/// The tracer.
pub(super) struct Function;

impl Tracer for Function {
    fn name(&self) -> &'static str {
        "function"
    }

    fn is_there(&self) -> bool {
        hooks::IS_THERE
    }

    fn records(&self) -> bool {
        true
    }

    fn start(&self, host: &Host<'_>) -> Result {
        // SAFETY: The sink is that of the host, which stays until `stop` has returned (invariant).
        unsafe { host.functions().start(host.sink()) }
    }

    fn stop(&self, host: &Host<'_>) {
        host.functions().stop(host.sink());
    }
}
