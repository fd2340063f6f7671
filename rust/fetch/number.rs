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
        Some(rest) if rest.starts_with('+') => Err(Code::Invalid),
        Some(rest) => 0i64
            .checked_sub_unsigned(unsigned(rest)?)
            .ok_or(Code::Range),
        None => i64::try_from(unsigned(text)?).map_err(|_| Code::Range),
    }
}

/// Parses an immediate: like [`signed`], but a number without `-` has all 64 bits.
pub(crate) fn immediate(text: &str) -> Result<u64, Code> {
    match text.starts_with('-') {
        true => signed(text).map(|value| value as u64),
        false => unsigned(text),
    }
}
