// SPDX-License-Identifier: GPL-2.0

//! `rtrace export`: what `trace_pipe_json` says, in a format that other programs read.
//!
//! | module | what it knows |
//! |---|---|
//! | `perfetto` | JSON trace events |
//! | `ctf` | the folder of a Common Trace Format trace |
//! | `stream`, `packet` | the events and losses of a CPU in one of its files; a packet of that |
//! | `shape`, `tsdl` | which types the fields of an event have; how the metadata say so |
//!
//! `packet`, `shape` and `tsdl` are pure.

mod ctf;
mod packet;
mod perfetto;
mod shape;
mod stream;
mod tsdl;

use crate::args::{Export, ExportFormat};
use crate::commands::report_losses;
use crate::fault::{fault, of_file, Status};
use crate::instance::Instance;
use crate::job::{code, Job, Pipe, Watch};
use crate::output::Output;
use crate::parse::record::Record;
use crate::tree::Tree;
use anyhow::{Context, Result};
use serde_json::json;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What is recorded unless something else is asked for: which task runs where, and interrupts.
const USUAL: &[&str] = &["sched:sched_switch", "sched:sched_waking", "irq"];

/// How many events were written, and how many the recording lost.
#[derive(Debug, PartialEq, Eq)]
struct Written {
    events: u64,
    lost: u64,
}

/// A trace that is being written.
trait TraceFormat {
    /// Adds an event, or a loss.
    fn add(&mut self, record: &Record) -> Result<()>;

    /// Writes what is left.
    fn finish(self: Box<Self>) -> Result<Written>;
}

/// Where a trace goes, and as what.
struct Target<'a> {
    format: ExportFormat,
    path: &'a Path,
}

impl<'a> Target<'a> {
    /// Returns the one that the command line names.
    ///
    /// # Errors
    ///
    /// [`Status::Usage`] for a folder on stdout.
    fn of(export: &'a Export) -> Result<Self> {
        let format = export.format;
        let usual = Path::new(match format {
            ExportFormat::Json => "trace.json",
            ExportFormat::Ctf => "trace.ctf",
        });
        let target = Self {
            format,
            path: export.output.as_deref().unwrap_or(usual),
        };
        if format == ExportFormat::Ctf && target.is_stdout() {
            let text = "--output -: with --format ctf it is a folder, which cannot go to stdout";
            return Err(fault(Status::Usage, text));
        }
        Ok(target)
    }

    fn is_stdout(&self) -> bool {
        self.path == Path::new("-")
    }

    /// Begins the trace.
    fn create(&self) -> Result<Box<dyn TraceFormat>> {
        let file: Box<dyn Write> = match self.format {
            ExportFormat::Ctf => return Ok(Box::new(ctf::TraceFolder::create(self.path)?)),
            ExportFormat::Json if self.is_stdout() => Box::new(std::io::stdout()),
            ExportFormat::Json => Box::new(of_file(self.path, File::create(self.path))?),
        };
        Ok(Box::new(perfetto::EventList::new(BufWriter::new(file))?))
    }

    /// Tells what was written, unless that is on stdout.
    fn report(&self, out: Output, written: &Written) -> Result<()> {
        if self.is_stdout() {
            return Ok(());
        }
        let Written { events, lost } = written;
        let path = self.path.display().to_string();
        if out.json {
            return out.object(&json!({"file": path, "events": events, "lost": lost}));
        }
        let next = match self.format {
            ExportFormat::Json => "open it in https://ui.perfetto.dev".to_string(),
            ExportFormat::Ctf => format!("show it with babeltrace2 {path}"),
        };
        out.line(&format!("{path}: {events} events, {lost} lost; {next}"))
    }
}

/// Adds a line of `trace_pipe_json`.
fn add_line(trace: &mut dyn TraceFormat, line: &str) -> Result<()> {
    let record =
        Record::of(line).with_context(|| format!("not a line of trace_pipe_json: {line}"))?;
    trace.add(&record)
}

/// Records and writes. Returns the exit status.
pub fn run(tree: &Tree, out: Output, export: &Export) -> Result<u8> {
    let target = Target::of(export)?;
    let instance = Instance::new(tree, "export")?;
    if let Some(size) = export.size {
        instance.put("buffer_size_kb", &size.to_string())?;
    }
    instance.put("options/record-tgid", "1")?;
    let mut job = Job::prepare(&export.span, &instance, Watch::Events)?;
    let mut pipe = Pipe::open(&instance, "trace_pipe_json")?;
    let mut trace = target.create()?;
    match export.events.is_empty() {
        true => instance.enable(
            &USUAL
                .iter()
                .map(|name| name.to_string())
                .collect::<Vec<_>>(),
        )?,
        false => instance.enable(&export.events)?,
    }
    job.begin()?;
    job.read(&mut pipe, &mut |line| add_line(&mut *trace, line))?;
    job.read_rest(&mut pipe, &mut |line| add_line(&mut *trace, line))?;
    report_losses(&instance)?;
    target.report(out, &trace.finish()?)?;
    Ok(code(job.end()?))
}

/// Writes what was kept. Returns the exit status.
pub fn convert(out: Output, export: &Export) -> Result<u8> {
    let target = Target::of(export)?;
    let input = export.input.as_deref().unwrap_or(Path::new("-"));
    let file = match input == Path::new("-") {
        true => File::from(std::io::stdin().as_fd().try_clone_to_owned()?),
        false => {
            let mut options = OpenOptions::new();
            options.read(true);
            // The writer of a FIFO is waited for where a signal can end that.
            options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
            of_file(input, options.open(input))?
        }
    };
    let mut trace = target.create()?;
    Pipe::over(file).read_all(&mut |line| add_line(&mut *trace, line))?;
    target.report(out, &trace.finish()?)?;
    Ok(code(None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{CommandLine, Subcommand};
    use crate::fault::exit_status;
    use clap::Parser;

    fn parsed(words: &[&str]) -> Export {
        let line = CommandLine::parse_from([&["rtrace", "export"], words].concat());
        let Subcommand::Export(export) = line.subcommand else {
            panic!("another subcommand");
        };
        export
    }

    #[test]
    fn each_format_has_a_usual_place() {
        let rows = [
            (&[][..], ExportFormat::Json, "trace.json"),
            (&["-o", "-"], ExportFormat::Json, "-"),
            (&["--format", "ctf"], ExportFormat::Ctf, "trace.ctf"),
            (&["--format", "ctf", "-o", "x"], ExportFormat::Ctf, "x"),
        ];
        for (words, format, path) in rows {
            let export = parsed(words);
            let target = Target::of(&export).expect("a target");
            assert_eq!((target.format, target.path), (format, Path::new(path)));
        }
    }

    #[test]
    fn a_folder_on_stdout_is_a_wrong_command_line() {
        let export = parsed(&["--format", "ctf", "-o", "-"]);
        let error = Target::of(&export).err().expect("a refusal");
        assert_eq!(exit_status(&error), (2, true));
    }

    #[test]
    fn nonsense_is_an_error_that_shows_it() {
        let mut list = perfetto::EventList::new(Vec::new()).expect("a list");
        let error = add_line(&mut list, "nonsense").expect_err("an error");
        assert!(error.to_string().ends_with("trace_pipe_json: nonsense"));
    }
}
