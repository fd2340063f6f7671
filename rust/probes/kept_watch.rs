// SPDX-License-Identifier: GPL-2.0

//! Watching tasks for something that is counted.

use crate::tasks::{
    attached::Probe,
    watch::TaskWatch, //
};
use core::ops::Deref;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A watcher that is told while this exists, and kept as long.
pub(crate) struct KeptWatch<T> {
    // In this order: the watch uses the watcher.
    _watch: TaskWatch,
    watcher: Arc<T>,
}

impl<T: Sync> KeptWatch<T> {
    /// Tells `watcher` what `probes` are about.
    ///
    /// # Errors
    ///
    /// Those of [`TaskWatch::new`].
    pub(crate) fn new(watcher: Arc<T>, probes: &[Probe<T>]) -> Result<Self> {
        // SAFETY: It stays where it is until the result has dropped the watch.
        let watch = unsafe { TaskWatch::new(&*watcher, probes) }?;
        Ok(Self {
            _watch: watch,
            watcher,
        })
    }
}

impl<T> Deref for KeptWatch<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.watcher
    }
}
