// SPDX-License-Identifier: GPL-2.0

//! The files that show and set one property of an instance or of one of its CPUs.
//!
//! Each is a function that prints and a function that obeys; the table of `fs::tree` names them.
//! How a text is parsed and printed is decided in `text`, what happens in `instance`.

use super::{
    file::{
        Arg,
        FileIdentity, //
    },
    text_file::{
        no_memory,
        refused, //
    }, //
};
use crate::{
    buffers::EXPANDED_KB,
    output::Text,
    tasks::names as tasks,
    text::{
        clock,
        cmdlines,
        number,
        options::{
            self,
            Opt, //
        },
        readme,
        size,
        word, //
    },
    tracers, //
};
use core::fmt::Write;
use kernel::prelude::*;

/// The most bytes of a write that `current_tracer` reads.
const LONGEST_TRACER: usize = 100;

fn show_flag(on: bool, text: &mut Text) -> Result {
    text.write_str(if on { "1\n" } else { "0\n" })
        .map_err(no_memory)
}

/// `tracing_on`.
pub(crate) fn show_tracing_on(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    show_flag(at.inst.tracing_on(), text)
}

/// `tracing_on`.
pub(crate) fn store_tracing_on(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    at.inst
        .set_tracing_on(number::parse_switch(command).map_err(refused)?);
    at.inst.tell_tracer()
}

/// `buffer_percent`.
pub(crate) fn show_percent(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", at.inst.buffers().percent()).map_err(no_memory)
}

/// `buffer_percent`.
pub(crate) fn store_percent(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    at.inst
        .buffers()
        .set_percent(number::parse(command).map_err(refused)?)
}

/// `buffer_size_kb` of the instance or of one CPU.
pub(crate) fn show_size(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let later = match at.arg {
        Arg::Whole if !at.inst.buffers().expanded() => Some(EXPANDED_KB),
        _ => None,
    };
    at.inst
        .buffers()
        .size(at.cpus())
        .write_text(later, text)
        .map_err(no_memory)
}

/// `buffer_size_kb` of the instance or of one CPU.
pub(crate) fn store_size(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    at.inst
        .buffers()
        .resize(at.cpus(), size::parse(command).map_err(refused)?)
}

/// `buffer_subbuf_size_kb`.
pub(crate) fn show_subbuf_size(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", at.inst.buffers().subbuf_size() >> 10).map_err(no_memory)
}

/// `buffer_subbuf_size_kb`.
pub(crate) fn store_subbuf_size(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    at.inst
        .buffers()
        .set_order(size::parse_subbuf_order(command).map_err(refused)?)
}

/// `buffer_total_size_kb`.
pub(crate) fn show_total_size(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let cpus = crate::kapi::cpus::possible().count() as u64;
    let later = match at.inst.buffers().expanded() {
        true => None,
        false => Some(EXPANDED_KB.saturating_mul(cpus)),
    };
    size::write_total(at.inst.buffers().total(), later, text).map_err(no_memory)
}

/// `stats` of one CPU.
pub(crate) fn show_stats(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let Arg::Cpu(cpu) = at.arg else {
        return Err(EINVAL);
    };
    at.inst
        .stats(cpu)
        .write_text(at.inst.clock(), text)
        .map_err(no_memory)
}

/// `totals` of one CPU.
pub(crate) fn show_totals(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let Arg::Cpu(cpu) = at.arg else {
        return Err(EINVAL);
    };
    let totals = at.inst.buffers().totals(cpu)?;
    totals.write_text(text).map_err(no_memory)
}

/// `trace_clock`.
pub(crate) fn show_clock(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    at.inst.clock().write_list(text).map_err(no_memory)
}

/// `trace_clock`.
pub(crate) fn store_clock(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    at.inst.set_clock(clock::parse(command).map_err(refused)?)
}

/// `available_tracers`.
pub(crate) fn show_tracers(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    for (place, tracer) in tracers::all().enumerate() {
        let space = if place == 0 { "" } else { " " };
        write!(text, "{space}{}", tracer.name()).map_err(no_memory)?;
    }
    text.write_str("\n").map_err(no_memory)
}

/// `current_tracer`.
pub(crate) fn show_tracer(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", at.inst.tracer_name()).map_err(no_memory)
}

/// `current_tracer`.
pub(crate) fn store_tracer(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    let seen = command.get(..LONGEST_TRACER).unwrap_or(command);
    at.inst
        .set_tracer(tracers::by_name(word::strip(seen)).ok_or(EINVAL)?)
}

/// `tracing_cpumask`.
pub(crate) fn show_cpumask(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    at.inst.show_cpumask(text).map_err(no_memory)
}

/// `tracing_cpumask`.
pub(crate) fn store_cpumask(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    if command.is_empty() {
        return Err(EINVAL);
    }
    at.inst.set_cpumask(command)
}

/// `trace_options`.
pub(crate) fn show_options(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let owner = at.inst.tracer_owner();
    at.inst.options().write_list(owner, text).map_err(no_memory)
}

/// `trace_options`.
pub(crate) fn store_options(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    let (opt, on) = options::parse(command).map_err(refused)?;
    if !opt.is_listed(at.inst.tracer_owner()) {
        return Err(EINVAL);
    }
    at.inst.set_option(opt, on)
}

fn option(at: &FileIdentity<'_>) -> Result<Opt> {
    match at.arg {
        Arg::Option(opt) => Ok(opt),
        _ => Err(EINVAL),
    }
}

/// A file of `options/`.
pub(crate) fn show_option(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    show_flag(at.inst.options().has(option(at)?), text)
}

/// A file of `options/`.
pub(crate) fn store_option(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    let (opt, on) = (option(at)?, number::parse_flag(command).map_err(refused)?);
    // A tracer is asked for a change alone; `trace_options` asks it always.
    if tracers::of_option(opt).is_some() && at.inst.options().has(opt) == on {
        return Ok(());
    }
    at.inst.set_option(opt, on)
}

/// `README`.
pub(crate) fn show_readme(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    text.write_str(readme::README).map_err(no_memory)
}

/// `saved_cmdlines`.
pub(crate) fn show_cmdlines(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let mut result = Ok(());
    tasks::for_each(|task| {
        if let Some(comm) = &task.comm() {
            result = result.and(cmdlines::write_line(task.pid(), comm, text));
        }
    });
    result.map_err(no_memory)
}

/// `saved_cmdlines_size`.
pub(crate) fn show_cmdlines_size(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", tasks::places()).map_err(no_memory)
}

/// `saved_cmdlines_size`.
pub(crate) fn store_cmdlines_size(_at: &FileIdentity<'_>, command: &[u8]) -> Result {
    tasks::resize(cmdlines::parse_size(command).map_err(refused)?)
}

/// `saved_tgids`.
pub(crate) fn show_tgids(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let mut result = Ok(());
    tasks::for_each(|task| {
        if task.tgid() != 0 {
            result = result.and(writeln!(text, "{} {}", task.pid(), task.tgid()));
        }
    });
    result.map_err(no_memory)
}

/// `timestamp_mode`: events carry the time since the one before them.
pub(crate) fn show_timestamp_mode(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    text.write_str("[delta] absolute\n").map_err(no_memory)
}
