// SPDX-License-Identifier: GPL-2.0

//! Histograms that have names: those of one name count together, whatever their events and instances are.

use super::hist::Hist;
use crate::kapi::global::free_if_empty;
use kernel::{
    prelude::*,
    sync::Arc, //
};

crate::kapi::global::global_mutex! {
    static NAMED: Mutex<KVec<Arc<Hist>>> = KVec::new();
}

/// A histogram among those of its name, as long as it is there.
pub(crate) struct NamedHist(Arc<Hist>);

impl NamedHist {
    /// Has `make` return the histogram called `name`, which gets the oldest one of that name. Process context.
    ///
    /// # Errors
    ///
    /// Those of `make`, and `ENOMEM`.
    pub(crate) fn join(
        name: &[u8],
        make: impl FnOnce(Option<&Hist>) -> Result<Arc<Hist>>,
    ) -> Result<Self> {
        let mut all = NAMED.lock();
        all.reserve(1, GFP_KERNEL)?;
        let first = all.iter().find(|hist| hist.name() == Some(name));
        let hist = make(first.map(|hist| &**hist))?;
        all.push(hist.clone(), GFP_KERNEL)?;
        Ok(Self(hist))
    }

    /// Returns it.
    pub(crate) fn hist(&self) -> &Arc<Hist> {
        &self.0
    }
}

impl Drop for NamedHist {
    fn drop(&mut self) {
        let mut all = NAMED.lock();
        all.retain(|hist| !Arc::ptr_eq(hist, &self.0));
        free_if_empty(&mut all);
    }
}
