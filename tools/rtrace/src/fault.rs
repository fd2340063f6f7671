// SPDX-License-Identifier: GPL-2.0

//! What went wrong, in words that name the file, and the exit status that tells of it.

use std::fmt;
use std::io;
use std::path::Path;

/// The exit statuses of `rtrace`; that of a command that was run is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The kernel refused something, or a file could not be written.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// Tracing does not work here: `rtrace doctor` tells why.
    NoTracing = 3,
    /// The command is there and cannot be run.
    CannotRun = 126,
    /// The command is not there.
    NotFound = 127,
}

/// The names of the statuses for the manual page.
pub const STATUSES: &[(&str, &str)] = &[
    ("0", "it worked; also when Ctrl-C ended a measurement, whose result was shown"),
    ("1", "the kernel refused something, or a file could not be read or written; the reason is on stderr"),
    ("2", "the command line is wrong"),
    ("3", "tracing does not work here: no module, no rtracefs, no permission; rtrace doctor tells what to do"),
    ("125", "rtrace record could not put rtracefs in the place of tracefs; the reason is on stderr"),
    ("126, 127", "CMD cannot be run, or is not there; so with trace-cmd"),
    ("128+N", "signal N (SIGTERM, SIGHUP, SIGQUIT) ended it, after all that it had made was removed"),
    ("others", "what CMD ended with"),
];

/// A reason in words, with its exit status.
#[derive(Debug)]
pub struct Fault {
    pub status: Status,
    pub text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Fault {}

/// Returns an error with that status.
pub fn fault(status: Status, text: impl Into<String>) -> anyhow::Error {
    Fault {
        status,
        text: text.into(),
    }
    .into()
}

/// A file of rtracefs that refused something.
#[derive(Debug)]
pub struct FileFault {
    /// What was tried, as a shell command.
    pub tried: String,
    pub error: io::Error,
    /// The newest entry of `error_log` if it is about this.
    pub log: Option<String>,
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.tried, error_text(&self.error))?;
        if let Some(log) = &self.log {
            for line in log.lines() {
                write!(f, "\n  {line}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for FileFault {}

/// The names of the errors that files of rtracefs give.
const NAMES: &[(i32, &str)] = &[
    (1, "EPERM"),
    (2, "ENOENT"),
    (4, "EINTR"),
    (5, "EIO"),
    (9, "EBADF"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (16, "EBUSY"),
    (17, "EEXIST"),
    (19, "ENODEV"),
    (20, "ENOTDIR"),
    (22, "EINVAL"),
    (28, "ENOSPC"),
    (30, "EROFS"),
    (33, "EDOM"),
    (34, "ERANGE"),
    (36, "ENAMETOOLONG"),
    (95, "EOPNOTSUPP"),
];

/// Returns an error in words, with the name of its number.
pub fn error_text(error: &io::Error) -> String {
    let text = error.to_string();
    let Some(number) = error.raw_os_error() else {
        return text;
    };
    let text = text.split(" (os error").next().unwrap_or(&text).to_string();
    match NAMES.iter().find(|(of, _)| *of == number) {
        Some((_, name)) => format!("{text} ({name})"),
        None => format!("{text} (errno {number})"),
    }
}

/// Returns a result whose error names the file.
pub fn of_file<T>(path: impl AsRef<Path>, result: io::Result<T>) -> anyhow::Result<T> {
    let path = path.as_ref().display();
    result.map_err(|error| anyhow::anyhow!("{path}: {}", error_text(&error)))
}

/// Returns the exit status for an error, and whether it is to be shown: a reader that closed
/// the other end of stdout has seen enough.
pub fn exit_status(error: &anyhow::Error) -> (u8, bool) {
    for cause in error.chain() {
        if let Some(fault) = cause.downcast_ref::<Fault>() {
            return (fault.status as u8, true);
        }
        let closed = |e: &io::Error| e.kind() == io::ErrorKind::BrokenPipe;
        if cause.downcast_ref::<io::Error>().is_some_and(closed) {
            return (0, false);
        }
    }
    (Status::Failed as u8, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_name_of_their_number() {
        let text_of = |n| error_text(&io::Error::from_raw_os_error(n));
        assert_eq!(text_of(22), "Invalid argument (EINVAL)");
        assert!(text_of(84).ends_with("(errno 84)"), "{}", text_of(84));
    }

    #[test]
    fn a_reason_decides_the_status_also_below_a_context() {
        let error = fault(Status::NoTracing, "no module").context("while it began");
        assert_eq!(exit_status(&error), (3, true));
        assert_eq!(exit_status(&anyhow::anyhow!("anything")), (1, true));
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let error = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(exit_status(&error), (0, false));
    }

    #[test]
    fn a_refusal_shows_file_errno_and_caret() {
        let fault = FileFault {
            tried: "echo 'x == 0' > events/a/b/filter".into(),
            error: io::Error::from_raw_os_error(22),
            log: Some("error: Field not found\n  Command: x == 0\n           ^".into()),
        };
        let text = fault.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[0],
            "echo 'x == 0' > events/a/b/filter: Invalid argument (EINVAL)"
        );
        assert_eq!(lines[3], "             ^");
    }
}
