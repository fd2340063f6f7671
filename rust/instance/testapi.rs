// SPDX-License-Identifier: GPL-2.0

//! What only modules of tests ask of an instance (`crate::testapi`).

use super::Instance;
use crate::probes::Sink;

impl Instance {
    /// Returns what a writer uses.
    pub(crate) fn sink(&self) -> &Sink {
        &self.sink
    }
}
