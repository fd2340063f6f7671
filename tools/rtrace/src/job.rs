// SPDX-License-Identifier: GPL-2.0

//! How long a measurement lasts: a time, a command, or until Ctrl-C; and what is read meanwhile.

use crate::fault::{error_text, fault, of_file, Status};
use crate::instance::Instance;
use crate::output::tell;
use crate::stop;
use anyhow::Result;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::{fcntl_getfl, OFlags};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// The time between two looks at whether it is over.
const STEP: Duration = Duration::from_millis(20);
/// How often is read after a signal has asked to end: as much as a pipe can hold.
const LAST_READS: usize = 16;
/// How long a command that was asked to end may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long to measure, as the command line says it.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Span {
    /// Measure for so many seconds, and end CMD then; without it and without CMD until Ctrl-C
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds)]
    pub time: Option<Duration>,
    /// With CMD: look at the whole system, not only at CMD and its children
    #[arg(short, long)]
    pub all: bool,
    /// Run this command and measure while it runs
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// The longest time, more than a century. Far beyond it a clock cannot tell when it will be over.
const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);

/// Returns a time in seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text} is no number"))?;
    match Duration::try_from_secs_f64(number) {
        Ok(time) if time > LONGEST => Err(format!("a time is at most {}", LONGEST.as_secs())),
        Ok(time) if time > Duration::ZERO => Ok(time),
        _ => Err("a time is a number more than 0".to_string()),
    }
}

/// Which files decide whose work an instance records.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// Events.
    Events,
    /// Events, and functions that a tracer follows.
    Functions,
    /// None: the tracer looks at the CPUs.
    Everything,
}

/// A number that no task has, which can be in a list of pids all the same.
const NO_TASK: &str = "1073741823";

/// A measurement: what limits it, and the command that runs meanwhile.
pub struct Job<'a> {
    span: &'a Span,
    instance: &'a Instance<'a>,
    /// The lists of pids to which the command adds itself.
    lists: Vec<String>,
    child: Option<Child>,
    status: Option<ExitStatus>,
    until: Option<Instant>,
    ending: Option<Instant>,
}

impl<'a> Job<'a> {
    /// Prepares one: from here on `instance` records what the command and its children do and
    /// nothing else, or what all tasks but this program do. To be called before anything is
    /// enabled there, so that the result has no event of others.
    pub fn prepare(span: &'a Span, instance: &'a Instance<'a>, watch: Watch) -> Result<Self> {
        let kinds: &[(&str, &str)] = match watch {
            Watch::Events => &[("event", "event")],
            Watch::Functions => &[("event", "event"), ("ftrace", "function")],
            Watch::Everything => &[],
        };
        let mut lists = Vec::new();
        for (list, option) in kinds {
            if span.all || span.command.is_empty() {
                let own = std::process::id().to_string();
                instance.add(&format!("set_{list}_notrace_pid"), &own)?;
                continue;
            }
            let file = format!("set_{list}_pid");
            instance.put(&file, NO_TASK)?;
            instance.put(&format!("options/{option}-fork"), "1")?;
            lists.push(instance.file(&file));
        }
        Ok(Self {
            span,
            instance,
            lists,
            child: None,
            status: None,
            until: None,
            ending: None,
        })
    }

    /// Begins: runs the command, and has the time run.
    ///
    /// # Errors
    ///
    /// [`Status::NotFound`] and [`Status::CannotRun`] when there is no such command.
    pub fn begin(&mut self) -> Result<()> {
        self.until = self.span.time.map(|time| Instant::now() + time);
        let Some((program, arguments)) = self.span.command.split_first() else {
            return Ok(());
        };
        let mut command = Command::new(program);
        command.args(arguments);
        if !self.lists.is_empty() {
            self.have_itself_followed(&mut command)?;
        }
        let child = command.spawn().map_err(|error| {
            let status = match error.kind() {
                io::ErrorKind::NotFound => Status::NotFound,
                _ => Status::CannotRun,
            };
            let text = format!("{}: {}", program.to_string_lossy(), error_text(&error));
            fault(status, text)
        })?;
        for list in &self.lists {
            let tree = self.instance.tree();
            tree.log_command(&format!("echo {} >> {list}", child.id()));
        }
        self.child = Some(child);
        Ok(())
    }

    /// Has the command add itself to the lists before it is executed, so that not one event of it
    /// is missing.
    fn have_itself_followed(&self, command: &mut Command) -> Result<()> {
        let open = |list: &String| {
            let path = self.instance.tree().path(list);
            of_file(list, OpenOptions::new().append(true).open(path))
        };
        let files: Vec<File> = self.lists.iter().map(open).collect::<Result<_>>()?;
        let add_itself = move || {
            let pid = format!("{}\n", std::process::id());
            let mut files = files.iter();
            files.try_for_each(|mut file| file.write_all(pid.as_bytes()))
        };
        // SAFETY: This program has no other thread that could hold a lock, the allocator's for
        // one, at the fork; so the child may do what this process may.
        unsafe { command.pre_exec(add_itself) };
        Ok(())
    }

    /// Returns whether the measurement is over: the time, the command, or a signal ended it.
    pub fn is_over(&mut self) -> Result<bool> {
        if let (Some(child), None) = (&mut self.child, self.status) {
            self.status = child.try_wait()?;
            if self.status.is_some() {
                return Ok(true);
            }
        }
        let is_late = self.until.is_some_and(|until| Instant::now() >= until);
        Ok(is_late || self.status.is_some() || stop::asked().is_some())
    }

    /// Waits for the end.
    pub fn wait(&mut self) -> Result<()> {
        while !self.is_over()? {
            std::thread::sleep(STEP);
        }
        Ok(())
    }

    /// Gives `take` the lines that `pipe` has until the measurement is over.
    pub fn read(
        &mut self,
        pipe: &mut Pipe,
        take: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        while !self.is_over()? {
            pipe.wait(STEP)?;
            // Only once, for writers may be faster than this reader for ever.
            pipe.read(take)?;
        }
        Ok(())
    }

    /// Ends the recording, and gives `take` the lines that are left.
    pub fn read_rest(
        &self,
        pipe: &mut Pipe,
        take: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        self.instance.put("tracing_on", "0")?;
        while pipe.read(take)? {}
        Ok(())
    }

    /// Returns the exit status for the command, which is asked to end if it still runs.
    pub fn end(mut self) -> Result<Option<u8>> {
        self.end_child()?;
        let code = self
            .status
            .map(|status| match (status.code(), status.signal()) {
                (Some(code), _) => code,
                (None, signal) => 128 + signal.unwrap_or(0),
            });
        // A command that Ctrl-C or the end of the time has ended did not fail.
        let is_asked = self.ending.is_some() || stop::asked().is_some();
        Ok(code
            .filter(|code| *code != 0 && !is_asked)
            .and_then(|code| u8::try_from(code).ok()))
    }

    /// Asks the command to end, and has it ended when it does not.
    fn end_child(&mut self) -> Result<()> {
        let (Some(child), None) = (&mut self.child, self.status) else {
            return Ok(());
        };
        let pid = rustix::process::Pid::from_child(child);
        let began = *self.ending.get_or_insert_with(Instant::now);
        // The terminal gave it the signal of Ctrl-C, too; it may be on its way out.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        while began.elapsed() < PATIENCE {
            self.status = child.try_wait()?;
            if self.status.is_some() {
                return Ok(());
            }
            std::thread::sleep(STEP);
        }
        child.kill()?;
        self.status = Some(child.wait()?);
        Ok(())
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.end_child() {
            tell(&format!("rtrace: {error:#}"));
        }
    }
}

/// What a read has got.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Got {
    Bytes,
    /// There may be some later.
    NothingYet,
    EndOfFile,
}

/// A stream of lines: `trace_pipe`, `trace_pipe_json`, or what was kept of it.
pub struct Pipe {
    file: File,
    rest: Vec<u8>,
}

impl Pipe {
    /// Opens one of an instance.
    pub fn open(instance: &Instance<'_>, name: &str) -> Result<Self> {
        let file = instance.file(name);
        instance.tree().log_command(&format!("cat {file} &"));
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open(instance.tree().path(&file));
        Ok(Self::over(of_file(&file, opened)?))
    }

    /// Returns one of what is read from an open file.
    pub fn over(file: File) -> Self {
        Self {
            file,
            rest: Vec::new(),
        }
    }

    /// Waits until there is something, or the end, at most so long. Returns whether there is.
    fn wait(&self, time: Duration) -> Result<bool> {
        let time = Timespec {
            tv_sec: time.as_secs() as i64,
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&time)) {
            Ok(count) => Ok(count > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads once, and gives the lines to `take`. Returns whether there was something.
    pub fn read(&mut self, take: &mut dyn FnMut(&str) -> Result<()>) -> Result<bool> {
        Ok(self.read_once(take)? == Got::Bytes)
    }

    /// Gives `take` all lines up to the end of the file; when a signal asks to end, those that are there.
    pub fn read_all(&mut self, take: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        // A FIFO that has no writer yet has the end of a file to read, and others may block for ever: they are
        // read when there is something. A file of rtracefs may have less than its poll waits for.
        let is_file = self.file.metadata()?.is_file();
        let blocks = !fcntl_getfl(&self.file)?.contains(OFlags::NONBLOCK);
        let mut left = LAST_READS;
        loop {
            let is_asked = stop::asked().is_some();
            let is_ready = self.wait(if is_asked { Duration::ZERO } else { STEP })?;
            let is_read = is_ready || (is_file && !(is_asked && blocks));
            if is_asked && (left == 0 || !is_read) {
                break;
            }
            left -= usize::from(is_asked);
            let got = match is_read {
                true => self.read_once(take)?,
                false => Got::NothingYet,
            };
            if got == Got::EndOfFile || (is_asked && got == Got::NothingYet) {
                break;
            }
        }
        let rest = std::mem::take(&mut self.rest);
        // Half a line, of a writer that the same Ctrl-C has ended, is none.
        if rest.is_empty() || stop::asked().is_some() {
            return Ok(());
        }
        take(&String::from_utf8_lossy(&rest))
    }

    /// Reads once, and gives the lines to `take`.
    fn read_once(&mut self, take: &mut dyn FnMut(&str) -> Result<()>) -> Result<Got> {
        let mut bytes = [0; 1 << 16];
        let count = match self.file.read(&mut bytes) {
            Ok(0) => return Ok(Got::EndOfFile),
            Ok(count) => count,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Got::NothingYet),
            // As after bytes, it is read again.
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(Got::Bytes),
            Err(e) => return Err(e.into()),
        };
        self.rest.extend_from_slice(&bytes[..count]);
        if let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') {
            let whole: Vec<u8> = self.rest.drain(..=end).collect();
            let text = String::from_utf8_lossy(&whole);
            text.lines().try_for_each(take)?;
        }
        Ok(Got::Bytes)
    }
}

/// Returns the exit status for a measurement: that of the command, or of the signal that ended it.
pub fn code(of_command: Option<u8>) -> u8 {
    of_command.or_else(stop::status).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_above_0() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(seconds("4294967295"), Ok(LONGEST));
        assert!(seconds("4294967296").is_err() && seconds("1e19").is_err());
        for wrong in ["0", "-1", "x", "", "nan", "inf", "1e300"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn all_lines_of_a_file_are_read_also_the_last_without_a_newline() {
        let path = std::env::temp_dir().join(format!("rtrace-lines-{}", std::process::id()));
        for (text, expected) in [("", vec![]), ("a\nb\r\n\nc", vec!["a", "b", "", "c"])] {
            std::fs::write(&path, text).expect("a file");
            let mut pipe = Pipe::over(File::open(&path).expect("the file"));
            let mut lines = Vec::new();
            let mut take = |line: &str| {
                lines.push(line.to_string());
                Ok(())
            };
            pipe.read_all(&mut take).expect("read");
            assert_eq!(lines, expected);
        }
        std::fs::remove_file(path).expect("removed");
    }
}
