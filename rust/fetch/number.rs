// SPDX-License-Identifier: GPL-2.0

//! Numbers of definitions: in base 16 (`0x`), 8 (`0`) or 10, as the kernel's `kstrtol()` takes them.

use super::error::Code;
use crate::text::{
    errno::Errno,
    number::parse_c, //
};

/// Parses a number without a sign, or with a `+` before it. Fails with `Invalid` or `Range`.
pub(crate) fn unsigned(text: &str) -> Result<u64, Code> {
    parse_c(text.as_bytes()).map_err(|why| match why {
        Errno::Inval => Code::Invalid,
        Errno::Range => Code::Range,
    })
}

/// Parses a number with or without a sign. Fails with `Invalid` or `Range`.
pub(crate) fn signed(text: &str) -> Result<i64, Code> {
    match text.strip_prefix('-') {
        Some(rest) => negated(rest),
        None => i64::try_from(unsigned(text)?).map_err(|_| Code::Range),
    }
}

/// Parses a number without any sign, of which the result is the negative one. Fails with `Invalid` or `Range`.
pub(crate) fn negated(text: &str) -> Result<i64, Code> {
    match text.starts_with('+') {
        true => Err(Code::Invalid),
        false => 0i64
            .checked_sub_unsigned(unsigned(text)?)
            .ok_or(Code::Range),
    }
}

/// Parses an immediate: like [`signed`], but a number without a sign has all 64 bits, and one sign more may follow
/// a `+`. Fails with `Invalid` or `Range`.
pub(crate) fn immediate(text: &str) -> Result<u64, Code> {
    match text.bytes().next() {
        Some(b'0'..=b'9') => unsigned(text),
        Some(b'-') => signed(text).map(|value| value as u64),
        Some(b'+') => {
            let rest = text.strip_prefix('+').unwrap_or_default();
            signed(rest).map(|value| value as u64)
        }
        _ => Err(Code::Invalid),
    }
}
