// SPDX-License-Identifier: GPL-2.0

//! The first two words of a definition of a watchpoint, `w[:[GROUP/][EVENT]] [r|w|rw]@PLACE[:LENGTH]`, where PLACE is
//! an address or `[MODULE:]SYMBOL[+-OFFSET]`.
//!
//! Grammar and texts are those that ftrace has for it after Linux 7.3, but for the name of a module.

use super::{
    command::{
        words,
        LineWord,
        ProbeNames, //
    },
    error::{
        Code,
        ProbeError,
        ProbeRefusal, //
    },
    number, //
};
use core::fmt::{
    self,
    Write, //
};

/// The group of an event that names none.
pub(crate) const GROUP: &str = "wprobes";

/// A name has fewer bytes.
const LONGEST_NAME: usize = 64;

/// Bytes that are watched unless the line says how many.
const USUAL_LENGTH: u8 = 4;

/// Which accesses hit a watchpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchedAccess {
    Read,
    Write,
    Any,
}

impl WatchedAccess {
    /// Returns how a line names it.
    fn text(self) -> &'static str {
        match self {
            Self::Read => "r",
            Self::Write => "w",
            Self::Any => "rw",
        }
    }
}

/// Where a watchpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchPlace<'a> {
    Address(u64),
    Symbol { name: &'a str, offset: i32 },
}

/// What a watchpoint is put on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchHead<'a> {
    /// The part of the first word after the colon.
    names: Option<LineWord<'a>>,
    pub(crate) access: WatchedAccess,
    /// Offset of the access in the line.
    pub(crate) access_at: usize,
    pub(crate) place: WatchPlace<'a>,
    /// Offset of the place in the line.
    pub(crate) place_at: usize,
    /// 1, 2, 4 or 8 bytes.
    pub(crate) len: u8,
}

impl<'a> WatchHead<'a> {
    /// Parses the first two words of a definition. `None` when it is one of another kind.
    pub(crate) fn parse(line: &'a str) -> Result<Option<Self>, ProbeRefusal> {
        let mut all = words(line);
        let Some(rest) = all.next().and_then(|first| first.text.strip_prefix('w')) else {
            return Ok(None);
        };
        let Some(second) = all.next() else {
            return Err(ProbeRefusal::new(ProbeError::ArgumentBodyMissing, 0));
        };
        let names = match (rest, rest.strip_prefix(':')) {
            ("", _) => None,
            (_, Some(text)) => Some(LineWord { at: 2, text }),
            _ => return Err(ProbeRefusal::new(ProbeError::WatchMaxActive, 1)),
        };
        let refuse = |error| Err(ProbeRefusal::new(error, second.at));
        let Some((access, rest)) = second.text.split_once('@') else {
            return refuse(ProbeError::AccessFormat);
        };
        let place_at = second
            .at
            .saturating_add(access.len())
            .saturating_add("@".len());
        let access = match access {
            "r" => WatchedAccess::Read,
            "w" => WatchedAccess::Write,
            "" | "rw" => WatchedAccess::Any,
            _ => return refuse(ProbeError::AccessType),
        };
        let (place, len) = split_length(rest);
        let len = match len {
            None => USUAL_LENGTH,
            Some(text) => {
                let begin = rest.len().saturating_sub(text.len());
                let at = place_at.saturating_add(begin);
                match number::signed(text) {
                    Ok(len @ (1 | 2 | 4 | 8)) => len as u8,
                    _ => return Err(ProbeRefusal::new(ProbeError::AccessLength, at)),
                }
            }
        };
        Ok(Some(Self {
            names,
            access,
            access_at: second.at,
            place: parse_place(place, place_at)?,
            place_at,
            len,
        }))
    }

    /// Parses the names of the event.
    pub(crate) fn names(&self) -> Result<ProbeNames<'a>, ProbeRefusal> {
        ProbeNames::given(self.names)
    }

    /// Returns the address that is watched. `symbol` returns those of symbols; none below `lowest` can be watched.
    pub(crate) fn address(
        &self,
        symbol: impl FnOnce(&str) -> Option<u64>,
        lowest: u64,
    ) -> Result<u64, ProbeRefusal> {
        let refuse = |code| ProbeRefusal::with(ProbeError::AccessAddress, self.place_at, code);
        let address = match self.place {
            WatchPlace::Address(address) => address,
            WatchPlace::Symbol { name, offset } => symbol(name)
                .ok_or(refuse(Code::Missing))?
                .wrapping_add_signed(offset.into()),
        };
        let is_aligned = address & u64::from(self.len).wrapping_sub(1) == 0;
        match address >= lowest && is_aligned {
            true => Ok(address),
            false => Err(refuse(Code::Invalid)),
        }
    }

    /// Writes the name of an event that has none of its own. Fails when `w` does.
    pub(crate) fn write_default_name(&self, w: &mut dyn Write) -> fmt::Result {
        match self.place {
            WatchPlace::Address(address) => write!(w, "w_{address:#x}"),
            WatchPlace::Symbol { name, .. } => {
                // As in ftrace, not at the beginning, and no more than there is room for.
                for (c, number) in name.chars().zip(1usize..LONGEST_NAME) {
                    w.write_char(match c {
                        ':' | '.' | '*' if number != 1 => '_',
                        other => other,
                    })?;
                }
                Ok(())
            }
        }
    }

    /// Writes the second word as the list of definitions has it. Fails when `w` does.
    pub(crate) fn write_place(&self, w: &mut dyn Write) -> fmt::Result {
        write!(w, "{}@", self.access.text())?;
        match self.place {
            WatchPlace::Address(address) => write!(w, "{address:#x}")?,
            WatchPlace::Symbol { name, offset: 0 } => w.write_str(name)?,
            WatchPlace::Symbol { name, offset } => write!(w, "{name}{offset:+}")?,
        }
        write!(w, ":{}", self.len)
    }
}

/// Splits what follows the at sign into the place and the length, if there is one: after the last colon, unless a name
/// follows that, which is the symbol of a module.
fn split_length(text: &str) -> (&str, Option<&str>) {
    let is_name = |c: char| c.is_ascii_alphabetic() || c == '_';
    match text.rsplit_once(':') {
        Some((place, len)) if !len.starts_with(is_name) => (place, Some(len)),
        _ => (text, None),
    }
}

/// Parses the place, which is at `at`.
fn parse_place(text: &str, at: usize) -> Result<WatchPlace<'_>, ProbeRefusal> {
    if let Ok(address) = number::unsigned(text) {
        return Ok(WatchPlace::Address(address));
    }
    let end = text.find(['+', '-']).unwrap_or(text.len());
    let (name, offset) = text.split_at_checked(end).unwrap_or((text, ""));
    let number = match offset {
        "" => Ok(0),
        offset => number::signed(offset).and_then(|n| i32::try_from(n).map_err(|_| Code::Range)),
    };
    match number {
        Ok(offset) => Ok(WatchPlace::Symbol { name, offset }),
        Err(_) => {
            let at = at.saturating_add(name.len());
            Err(ProbeRefusal::new(ProbeError::ProbeAddress, at))
        }
    }
}

/// Returns what the second word of a line says: the access, the place and the length.
fn parts(word: &str) -> Option<(&str, WatchPlace<'_>, i64)> {
    let (access, rest) = word.split_once('@')?;
    let access = if access.is_empty() { "rw" } else { access };
    let (place, len) = split_length(rest);
    let len = len.map_or(Ok(USUAL_LENGTH.into()), number::signed).ok()?;
    Some((access, parse_place(place, 0).ok()?, len))
}

/// Returns whether the second word `given` of a line is the same place as `own`, a word of the list.
pub(crate) fn is_same_place(own: &str, given: &str) -> bool {
    match (parts(own), parts(given)) {
        (Some(own), Some(given)) => own == given,
        _ => false,
    }
}
