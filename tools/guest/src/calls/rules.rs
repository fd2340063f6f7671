// SPDX-License-Identifier: GPL-2.0

//! Differences that are known: each has a row in Documentation/differences.md.

use super::answer::Answer;
use super::{Call, Step, What};

/// A call of both, and their answers.
pub struct Difference<'a> {
    /// The file's name.
    pub file: &'a str,
    /// All steps, of which the call is the last.
    pub steps: &'a [Step],
    pub what: &'a What,
    pub own: &'a Answer,
    pub reference: &'a Answer,
}

impl Difference<'_> {
    fn call(&self) -> Option<&Call> {
        match self.what {
            What::On { call, .. } => Some(call),
            What::Put { .. } => None,
        }
    }

    /// The last part of the file's name.
    fn name(&self) -> &str {
        self.file.rsplit('/').next().unwrap_or_default()
    }

    /// Whether the call may get something of a text.
    fn reads(&self) -> bool {
        use Call::{Read, ReadAt, ReadPieces, Send, Splice};
        let call = self.call();
        call.is_some_and(|call| {
            matches!(
                call,
                Read { .. } | ReadAt { .. } | ReadPieces { .. } | Splice { .. } | Send { .. }
            )
        })
    }

    fn is_text_of_events(&self) -> bool {
        ["trace", "snapshot"].contains(&self.name())
    }

    /// Whether the file's descriptor was used after it was opened.
    fn was_used(&self) -> bool {
        let What::On { slot, .. } = self.what else {
            return false;
        };
        let earlier = self.steps.iter().rev().skip(1);
        let calls = earlier.filter_map(|step| match &step.what {
            What::On { slot: used, call } if used == slot => Some(call),
            What::On {
                call: Call::Dup { to },
                ..
            } if to == slot => Some(&Call::Sync),
            _ => None,
        });
        calls.take(1).any(|call| !matches!(call, Call::Open { .. }))
    }

    /// Whether a buffer was emptied.
    fn was_emptied(&self) -> bool {
        self.steps.iter().any(|step| match &step.what {
            What::Put { file, .. } => file.name.ends_with("trace"),
            What::On { call, .. } => {
                matches!(call, Call::Open { file, flags } if file.name.ends_with("trace") && flags & 0o1000 != 0)
            }
        })
    }

    /// Whether a file whose name ends so was opened.
    fn touched(&self, end: &str) -> bool {
        self.steps.iter().any(|step| match &step.what {
            What::Put { file, .. } => file.name.ends_with(end),
            What::On { call, .. } => {
                matches!(call, Call::Open { file, .. } if file.name.ends_with(end))
            }
        })
    }
}

pub struct Rule {
    pub name: &'static str,
    pub is_it: fn(&Difference<'_>) -> bool,
}

const EPERM: isize = -1;
const EAGAIN: isize = -11;
const EBUSY: isize = -16;
const ENODEV: isize = -19;
const EINVAL: isize = -22;
const ESPIPE: isize = -29;
const EOPNOTSUPP: isize = -95;

/// The largest position of a file of tracefs.
const MOST: i64 = 0x7fff_ffff;

const fn rule(name: &'static str, is_it: fn(&Difference<'_>) -> bool) -> Rule {
    Rule { name, is_it }
}

pub const RULES: &[Rule] = &[
    rule("texts can be spliced", |d| {
        let splices = matches!(d.call(), Some(Call::Splice { .. } | Call::Send { .. }));
        splices && d.reference.result == EINVAL && d.own.result >= 0
    }),
    rule("flags of preadv2 and pwritev2", |d| {
        let flags = match d.call() {
            Some(Call::ReadAt { flags, .. } | Call::WriteAt { flags, .. }) => *flags,
            _ => 0,
        };
        flags != 0 && [d.own.result, d.reference.result].contains(&EOPNOTSUPP)
    }),
    rule("positions above 2 GiB", |d| {
        let far = |at: i64| at >= MOST;
        match d.call() {
            Some(Call::Seek { at, .. }) => far(*at) || far(d.own.result as i64),
            Some(Call::Send { at, .. }) => at.is_some_and(far),
            Some(Call::ReadAt { at, .. } | Call::WriteAt { at, .. }) => far(*at),
            _ => false,
        }
    }),
    rule("SEEK_DATA and SEEK_HOLE", |d| {
        matches!(d.call(), Some(Call::Seek { whence: 3 | 4, .. }))
    }),
    rule("texts in pieces", |d| {
        let whole = ["filter", "header_page", "header_event"].contains(&d.name());
        whole && d.own.result > 0 && d.own.bytes.starts_with(&d.reference.bytes)
    }),
    rule("a buffer that was emptied", |d| {
        d.name().ends_with("_raw") && d.own.result == EAGAIN && d.reference.result == 0
    }),
    rule("what is left of a sub-buffer", |d| {
        let splices = matches!(d.call(), Some(Call::Splice { .. } | Call::Send { .. }));
        let own = match d.own.result {
            EAGAIN => 0,
            result => result,
        };
        let more = own >= 0 && d.reference.result > own && (d.reference.result - own) % 4096 == 0;
        d.name().ends_with("_raw") && splices && more && d.own.bytes == d.reference.bytes
    }),
    rule("a text beside an emptied buffer", |d| {
        d.is_text_of_events() && d.reads() && d.was_used() && d.was_emptied()
    }),
    rule("pieces of tracing_cpumask", |d| {
        d.file == "tracing_cpumask"
            && d.reference.result == EINVAL
            && (0..=3).contains(&d.own.result)
    }),
    rule("pieces of stats", |d| d.name() == "stats" && d.was_used()),
    rule("pieces of a buffer for raw events", |d| {
        let pieces =
            matches!(d.call(), Some(Call::ReadPieces { lens: [first, _] }) if *first < 4096);
        d.name().ends_with("_raw") && pieces
    }),
    rule("a text ends where its reading began", |d| {
        let less = d.reference.bytes.starts_with(&d.own.bytes);
        d.is_text_of_events() && d.own.result >= 0 && less && d.was_used()
    }),
    rule("reads of a text are filled", |d| {
        let more = d.own.bytes.starts_with(&d.reference.bytes) && d.reference.result > 0;
        more && (d.is_text_of_events() || d.name() == "trace_pipe")
    }),
    rule("a text beside an exchange of buffers", |d| {
        let read = d.reads() && d.own.result >= 0 && d.reference.result >= 0;
        d.is_text_of_events() && read && d.touched("snapshot")
    }),
    rule("the rest of a line", |d| {
        let splices = matches!(d.call(), Some(Call::Splice { .. } | Call::Send { .. }));
        d.name() == "trace_pipe" && splices && d.was_used()
    }),
    rule("poll after a part of what there is", |d| {
        let polls = matches!(d.call(), Some(Call::Poll { .. }));
        let more = d.own.result > d.reference.result;
        d.name().starts_with("trace_pipe") && polls && more && d.was_used()
    }),
    rule("a sub-buffer of a snapshot that was not filled", |d| {
        let splices = matches!(d.call(), Some(Call::Splice { .. } | Call::Send { .. }));
        let gives = d.own.result > 0 && [0, EAGAIN].contains(&d.reference.result);
        d.name() == "snapshot_raw" && splices && gives
    }),
    rule("poll of snapshot_raw", |d| {
        d.name() == "snapshot_raw" && matches!(d.call(), Some(Call::Poll { .. }))
    }),
    rule("positions of free_buffer", |d| {
        d.file == "free_buffer" && d.own.result == ESPIPE
    }),
    rule("no file is a program", |d| {
        let executes =
            matches!(d.call(), Some(Call::Map { protection, .. }) if protection & 4 != 0);
        executes && d.own.result == EPERM && d.reference.result == ENODEV
    }),
    rule("a snapshot beside its readers", |d| {
        d.file == "snapshot" && d.reference.result == EBUSY && d.own.result > 0
    }),
    rule("sizes of other sub-buffers", |d| {
        d.file.ends_with("size_kb") && d.own.result > 0 && d.touched("buffer_subbuf_size_kb")
    }),
    rule("freed beside readers", |d| {
        let sizes = d.file.ends_with("size_kb");
        let polls = matches!(d.call(), Some(Call::Poll { .. }));
        (sizes || polls) && d.touched("free_buffer") && d.touched("trace")
    }),
    rule("sizes beside readers", |d| {
        d.file.ends_with("size_kb") && d.reference.result == EBUSY && d.own.result > 0
    }),
];

/// The rule for this difference.
pub fn known(difference: &Difference<'_>) -> Option<&'static Rule> {
    RULES.iter().find(|rule| (rule.is_it)(difference))
}
