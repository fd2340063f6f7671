// SPDX-License-Identifier: GPL-2.0
//! Parses numbers that users write into control files.
//!
//! [`parse`] is for `tracing_on`, `buffer_size_kb`, the `enable` files and `options/*`. All of them
//! take a decimal number without blanks, with an optional `+` before it and an optional newline
//! after it, and look only at the first [`LOOKED_AT`] bytes of a write.

use super::{
    errno::Errno,
    word, //
};

/// Number of bytes of a write that count: a sign, 64 digits (a number in base 2) and a newline.
///
/// A longer write is cut, not refused, so that 66 zeros followed by garbage are a zero.
const LOOKED_AT: usize = 66;

/// Parses a decimal number.
///
/// # Errors
///
/// `Range` if the digits exceed 64 bits, whatever follows them; `Inval` if there is no digit, or if
/// anything other than one newline follows.
pub(crate) fn parse(input: &[u8]) -> Result<u64, Errno> {
    let seen = word::c_string(input.get(..LOOKED_AT).unwrap_or(input));
    let mut rest = seen.strip_prefix(b"+").unwrap_or(seen);
    let mut value = Some(0u64);
    let mut digits = false;

    while let [digit @ b'0'..=b'9', tail @ ..] = rest {
        let digit = u64::from(digit.wrapping_sub(b'0'));

        value = value
            .and_then(|value| value.checked_mul(10))
            .and_then(|value| value.checked_add(digit));
        digits = true;
        rest = tail;
    }

    match (value, digits, rest) {
        (None, ..) => Err(Errno::Range),
        (Some(value), true, b"" | b"\n") => Ok(value),
        _ => Err(Errno::Inval),
    }
}

/// Parses the number of a file that takes only 0 and 1 (`enable`, `options/*`).
///
/// # Errors
///
/// Those of [`parse`], and `Inval` for any other number.
pub(crate) fn parse_flag(input: &[u8]) -> Result<bool, Errno> {
    match parse(input)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Errno::Inval),
    }
}

/// Parses the number of `tracing_on`, where everything but 0 means on.
///
/// # Errors
///
/// Those of [`parse`].
pub(crate) fn parse_switch(input: &[u8]) -> Result<bool, Errno> {
    Ok(parse(input)? != 0)
}

/// Parses a number as C writes it, in base 16 (`0x`), 8 (`0`) or 10, with an optional `+` before it and an
/// optional newline after it.
///
/// # Errors
///
/// Those of [`parse`].
pub(crate) fn parse_c(input: &[u8]) -> Result<u64, Errno> {
    let text = input.strip_prefix(b"+").unwrap_or(input);
    let (base, mut rest) = match text {
        [b'0', b'x' | b'X', rest @ ..] if rest.first().is_some_and(u8::is_ascii_hexdigit) => {
            (16, rest)
        }
        [b'0', ..] => (8, text),
        _ => (10, text),
    };
    let mut value = Some(0u64);
    let mut any = false;

    while let [first, tail @ ..] = rest {
        let Some(digit) = char::from(*first).to_digit(base) else {
            break;
        };
        value = value
            .and_then(|value| value.checked_mul(u64::from(base)))
            .and_then(|value| value.checked_add(u64::from(digit)));
        any = true;
        rest = tail;
    }
    match (value, any, rest) {
        (None, ..) => Err(Errno::Range),
        (Some(value), true, b"" | b"\n") => Ok(value),
        _ => Err(Errno::Inval),
    }
}

/// Parses an integer as C writes it, in base 16 (`0x`), 8 (`0`) or 10; negative only if `signed`.
/// Returns `None` if it is not an integer or too large.
pub(crate) fn c_integer(text: &[u8], signed: bool) -> Option<u64> {
    let (negative, text) = match text {
        [b'-', rest @ ..] if signed => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let (base, number) = match text {
        [b'0', b'x' | b'X', rest @ ..] => (16, rest),
        [b'0', rest @ ..] if !rest.is_empty() => (8, rest),
        _ => (10, text),
    };
    let value = digits(number, base)?;
    let limit = match (signed, negative) {
        (false, _) => u64::MAX,
        (true, false) => i64::MAX as u64,
        (true, true) => i64::MIN as u64,
    };
    (value <= limit).then_some(if negative {
        value.wrapping_neg()
    } else {
        value
    })
}

/// Parses digits in `base`. Returns `None` without a digit, with other bytes, and for more than 64
/// bits.
pub(crate) fn digits(text: &[u8], base: u32) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, digit| {
        let digit = char::from(*digit).to_digit(base)?;
        value
            .checked_mul(u64::from(base))?
            .checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    type ParsedNumber<T> = Result<T, Errno>;

    const ROWS: &[(&[u8], ParsedNumber<u64>)] = &[
        (b"0", Ok(0)),
        (b"1\n", Ok(1)),
        (b"+7", Ok(7)),
        (b"010\n", Ok(10)),
        (b"18446744073709551615", Ok(u64::MAX)),
        (b"18446744073709551616", Err(Errno::Range)),
        (b"99999999999999999999x", Err(Errno::Range)),
        (b"99999999999999999999 1", Err(Errno::Range)),
        (b"", Err(Errno::Inval)),
        (b"\n", Err(Errno::Inval)),
        (b"+", Err(Errno::Inval)),
        (b"++1", Err(Errno::Inval)),
        (b"-1", Err(Errno::Inval)),
        (b"-0", Err(Errno::Inval)),
        (b" 1", Err(Errno::Inval)),
        (b"1 ", Err(Errno::Inval)),
        (b"1\n\n", Err(Errno::Inval)),
        (b"1\r\n", Err(Errno::Inval)),
        (b"0x10", Err(Errno::Inval)),
        (b"1k", Err(Errno::Inval)),
        (b"on", Err(Errno::Inval)),
        (b"1\0garbage", Ok(1)),
        (b"\x001", Err(Errno::Inval)),
        (b"\xff", Err(Errno::Inval)),
    ];

    #[test]
    fn numbers_of_c() {
        let rows: &[(&[u8], ParsedNumber<u64>)] = &[
            (b"0", Ok(0)),
            (b"010", Ok(8)),
            (b"0x1F", Ok(31)),
            (b"0Xf\n", Ok(15)),
            (b"+12", Ok(12)),
            (b"18446744073709551615", Ok(u64::MAX)),
            (b"0x10000000000000000", Err(Errno::Range)),
            (b"18446744073709551616x", Err(Errno::Range)),
            (b"", Err(Errno::Inval)),
            (b"0x", Err(Errno::Inval)),
            (b"08", Err(Errno::Inval)),
            (b"1x", Err(Errno::Inval)),
            (b"-1", Err(Errno::Inval)),
            (b"1\n\n", Err(Errno::Inval)),
        ];
        for (input, expected) in rows {
            assert_eq!(parse_c(input), *expected, "{}", input.escape_ascii());
        }
    }

    #[test]
    fn numbers() {
        for (input, expected) in ROWS {
            assert_eq!(
                parse(input),
                *expected,
                "{:?}",
                input.escape_ascii().to_string()
            );
        }
    }

    #[test]
    fn only_the_first_66_bytes_count() {
        let mut input = [b'0'; 80];

        input[65] = b'5';
        input[66] = b'x';
        assert_eq!(parse(&input), Ok(5));
        input[65] = b'x';
        assert_eq!(parse(&input), Err(Errno::Inval));
    }

    #[test]
    fn flags_and_switches() {
        let rows: [(&[u8], ParsedNumber<bool>, ParsedNumber<bool>); 6] = [
            (b"0\n", Ok(false), Ok(false)),
            (b"1\n", Ok(true), Ok(true)),
            (b"2\n", Err(Errno::Inval), Ok(true)),
            (b"+00", Ok(false), Ok(false)),
            (b"y", Err(Errno::Inval), Err(Errno::Inval)),
            (
                b"18446744073709551616",
                Err(Errno::Range),
                Err(Errno::Range),
            ),
        ];
        for (input, flag, switch) in rows {
            assert_eq!(parse_flag(input), flag, "{input:?}");
            assert_eq!(parse_switch(input), switch, "{input:?}");
        }
    }

    #[test]
    fn integers_as_the_kernel_reads_them() {
        let rows: &[(&str, bool, Option<u64>)] = &[
            ("0", false, Some(0)),
            ("17", false, Some(17)),
            ("017", false, Some(15)),
            ("0x1F", false, Some(31)),
            ("0X1f", false, Some(31)),
            ("08", false, None),
            ("0x", false, None),
            ("", false, None),
            ("12a", false, None),
            ("-1", false, None),
            ("+1", false, Some(1)),
            ("-+1", true, None),
            ("-1", true, Some(u64::MAX)),
            ("-", true, None),
            ("18446744073709551615", false, Some(u64::MAX)),
            ("18446744073709551616", false, None),
            ("9223372036854775807", true, Some(i64::MAX as u64)),
            ("9223372036854775808", true, None),
            ("-9223372036854775808", true, Some(i64::MIN as u64)),
            ("-9223372036854775809", true, None),
        ];
        for (text, signed, want) in rows {
            assert_eq!(c_integer(text.as_bytes(), *signed), *want, "{text}");
        }
    }
}
