// SPDX-License-Identifier: GPL-2.0

//! The first two words of a definition of a probe on a tracepoint, `t[:[GROUP/][EVENT]] TRACEPOINT`.

use super::{
    command::{
        words,
        LineWord,
        ProbeNames, //
    },
    error::{
        ProbeError,
        ProbeRefusal, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};

/// The group of a probe on a tracepoint that names none.
pub(crate) const TRACEPOINT_GROUP: &str = "tracepoints";

/// What such a probe is put on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FunctionHead<'a> {
    /// The part of the first word after the colon.
    names: Option<LineWord<'a>>,
    /// The name of the tracepoint.
    pub(crate) target: &'a str,
    /// Offset of the second word.
    pub(crate) target_at: usize,
}

/// Returns the offset of a `$retval` in `text` after which the name ends.
fn return_value(text: &str) -> Option<usize> {
    let at = text.find("$retval")?;
    let after = text.get(at..)?.strip_prefix("$retval")?.bytes().next();
    let goes_on = after.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (!goes_on).then_some(at)
}

impl<'a> FunctionHead<'a> {
    /// Parses the first two words of a definition. `None` when it is one of another kind.
    pub(crate) fn parse(line: &'a str) -> Result<Option<Self>, ProbeRefusal> {
        let mut all = words(line);
        let (Some(first), Some(second)) = (all.next(), all.next()) else {
            return Ok(None);
        };
        let Some(rest) = first.text.strip_prefix('t') else {
            return Ok(None);
        };
        let names = match (rest, rest.strip_prefix(':')) {
            ("", _) => None,
            (_, Some(text)) => Some(LineWord { at: 2, text }),
            _ => return Err(ProbeRefusal::new(ProbeError::MaxActive, 1)),
        };
        let refuse = |error, at| {
            let at = second.at.saturating_add(at);
            Err(ProbeRefusal::new(error, at))
        };
        if let Some(at) = second.text.find('%') {
            return refuse(ProbeError::AddressSuffix, at);
        }
        let is_wrong = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        if let Some(at) = second.text.find(is_wrong) {
            return refuse(ProbeError::TracepointName, at);
        }
        for word in all {
            if let Some(at) = return_value(word.text) {
                let at = word.at.saturating_add(at);
                return Err(ProbeRefusal::new(ProbeError::ReturnValueOnProbe, at));
            }
        }
        Ok(Some(Self {
            names,
            target: second.text,
            target_at: second.at,
        }))
    }

    /// Parses the names of the event.
    pub(crate) fn names(&self) -> Result<ProbeNames<'a>, ProbeRefusal> {
        ProbeNames::given(self.names)
    }

    /// Writes the name of an event that has none of its own. Fails when `w` does.
    pub(crate) fn write_default_name(&self, w: &mut dyn Write) -> fmt::Result {
        if self.target.starts_with(|c: char| c.is_ascii_digit()) {
            w.write_char('_')?;
        }
        w.write_str(self.target)
    }
}
