// SPDX-License-Identifier: GPL-2.0

//! The subcommands, each in a module.

pub mod doctor;
pub mod export;
pub mod flame;
pub mod graph;
pub mod hist;
pub mod latency;
pub mod pages;
pub mod probe;
pub mod record;
pub mod screen;
pub mod snapshot;
pub mod timerlat;
pub mod top;

use crate::instance::Instance;
use crate::output::tell;
use crate::parse::counts::Losses;
use anyhow::Result;

/// Tells on stderr of events that the buffers of an instance lost.
pub fn report_losses(instance: &Instance<'_>) -> Result<u64> {
    let mut lost = 0;
    let cpus = instance.tree().names(&instance.file("per_cpu"));
    for cpu in cpus {
        let stats = instance.get(&format!("per_cpu/{cpu}/stats"))?;
        lost += Losses::of(&stats).all();
    }
    if lost > 0 {
        tell(&format!(
            "rtrace: {lost} events were lost: fewer events, a filter, or larger buffers"
        ));
    }
    Ok(lost)
}
