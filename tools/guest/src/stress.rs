// SPDX-License-Identifier: GPL-2.0

//! The writers of stress/rtstress.c at work in the background, until a test has seen enough: how long
//! that takes depends on the machine.

use crate::check::Check;
use crate::module;
use crate::Context;
use std::thread::JoinHandle;
use std::time::Duration;

const NAME: &str = "rtstress";
const HOLD: &str = "/sys/module/rtstress/parameters/hold";

/// Loading the module ends with the writers.
pub struct Stress(Option<JoinHandle<Check>>);

impl Stress {
    /// They write for some `ms` at least, if the parameters say so, and then until `enough`.
    pub fn start(context: &Context, parameters: &str) -> Self {
        let _ = module::unload(NAME);
        let (file, parameters) = (context.stress.clone(), format!("{parameters} hold=1"));
        let loading = std::thread::spawn(move || module::load(&file, &parameters));
        Stress(Some(loading))
    }

    /// Lets them end. Before they began this does nothing.
    pub fn enough(&self) {
        let _ = std::fs::write(HOLD, "0");
    }

    pub fn is_finished(&self) -> bool {
        self.0.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for their end; the module, which has their numbers, stays loaded.
    pub fn end(mut self) -> Check {
        self.wait()
    }

    fn wait(&mut self) -> Check {
        while !self.is_finished() {
            self.enough();
            std::thread::sleep(Duration::from_millis(5));
        }
        let loading = self.0.take().map_or(Ok(Ok(())), JoinHandle::join);
        loading.map_err(|_| "the loading thread died".to_string())?
    }
}

impl Drop for Stress {
    fn drop(&mut self) {
        // A caller that needs the result calls `end`.
        let _ = self.wait();
    }
}
